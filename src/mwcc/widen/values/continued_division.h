/* Divisions that continue from one gang to the next: continued_division.c. */
#ifndef CONTINUED_DIVISION_H
#define CONTINUED_DIVISION_H

#include "mwcc/widen/widen.h"

enum { MOST_CONTINUED = 8, MOST_POSITIVE = 12, MOST_JOINS = 32 };

typedef struct continued {
  LLVMValueRef dividend, divisor; /* the key, with the sign */
  /* the divisor is known to be positive, the dividend not to be negative */
  bool is_signed, positive, natural;
  LLVMValueRef kept[2];        /* in memory, between loops over rows: the row's begin and the quotient */
  LLVMValueRef last[2];        /* slots of the loop: the same */
  LLVMValueRef quotient, rest; /* the last that were emitted, or NULL; available from `at` on */
  LLVMBasicBlockRef at;
  bool tested; /* they were computed by the gang's test, which dominates its code */
} continued;

/* Zeroed at first; then list_positive_divisors, before w->continued is set. */
struct continued_divisions {
  continued list[MOST_CONTINUED];
  int count;
  LLVMValueRef positive[MOST_POSITIVE]; /* parameters, and products of them, that are positive in this loop */
  int positive_count;
  struct join { /* a block, and the one that dominates it */
    LLVMBasicBlockRef block, from;
  } joins[MOST_JOINS];
  int join_count;
  bool testing; /* the gang's test is being emitted */
};

/* The parameters that the kernel divides by, and products of these that it compares with 0. */
void list_positive_divisors(const widener *w, continued_divisions *all);
/* i1: whether they are positive; NULL: there are none. */
LLVMValueRef build_positive_test(widener *w, const continued_divisions *all);
/* From now on comparisons of them with 0 and with -1 are false. */
void assume_positive(widener *w, const continued_divisions *all);
/* Whether lane 0's number is known to be at least 0 and at most BOUND_EXTENT: an index of joined blocks, or a quotient
   or remainder of one. */
bool is_small_natural(const widener *w, LLVMValueRef value);
/* Whether it is a constant that is greater than all of these, or negative: they all compare with it alike. */
bool is_no_small_natural(LLVMValueRef value);
/* The quotient or remainder of scalars, for a division `i` of the kernel; NULL: it must be divided. */
LLVMValueRef continue_division(widener *w, LLVMValueRef i, LLVMOpcode opcode, LLVMValueRef a, LLVMValueRef by);
/* Once the loop over rows is emitted: what has been kept is loaded at the end of `before`, and kept again at the end of
   each block after the loop. */
void keep_quotients(widener *w, const continued_divisions *all, LLVMBasicBlockRef before,
                    const LLVMBasicBlockRef *after, int count);

#endif
