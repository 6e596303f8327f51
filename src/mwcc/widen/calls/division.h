/* Integer division and remainder on all lanes at once: division.c. */
#ifndef DIVISION_H
#define DIVISION_H

#include "mwcc/widen/widen.h"

typedef enum division_method {
  DIVISION_PLAIN,  /* by LLVM: lane by lane, unless the divisor is a constant */
  DIVISION_FLOAT,  /* all numbers have at most 16 bits */
  DIVISION_DOUBLE, /* at most 32 */
  DIVISION_SHORT,  /* dividends are below 2^48, and lanes share the divisor */
  DIVISION_LONG    /* 64 bits, and lanes share the divisor */
} division_method;

bool is_division(LLVMValueRef instruction);
division_method division_of(const shapes *s, LLVMValueRef division);
/* The results of all vectors; false: DIVISION_PLAIN. */
bool widen_division(widener *w, LLVMValueRef division, vectors *out);
/* For the report: how lanes divide; NULL: not a division, or not by lanes. */
const char *describe_division(const shapes *s, LLVMValueRef instruction);

#endif
