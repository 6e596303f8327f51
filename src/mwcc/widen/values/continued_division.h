/* Divisions that continue from one gang to the next: continued_division.c. */
#ifndef CONTINUED_DIVISION_H
#define CONTINUED_DIVISION_H

#include "mwcc/widen/widen.h"

enum { MOST_CONTINUED = 8 };

typedef struct continued {
  LLVMValueRef dividend, divisor; /* the key, with the sign */
  bool is_signed;
  LLVMValueRef last[2];        /* slots: the last quotient times the divisor, and the quotient */
  LLVMValueRef quotient, rest; /* this gang's, if its test has computed them; or NULL */
} continued;

struct continued_divisions {
  continued list[MOST_CONTINUED];
  int count;
  bool testing; /* what is computed now dominates the gang's code */
};

/* The quotient or remainder of scalars, for a division `i` of the kernel; NULL: it must be divided. */
LLVMValueRef continue_division(widener *w, LLVMValueRef i, LLVMOpcode opcode, LLVMValueRef a, LLVMValueRef by);

#endif
