/* Speculative shapes: what their search (speculative_shapes.c) and their run-time test (shape_test.c) share. */
#ifndef SHAPE_TEST_H
#define SHAPE_TEST_H

#include "mwcc/widen/widen.h"

enum { LONG_STEP = 1 << 20 }; /* strides are less */

bool is_extreme(LLVMValueRef call);            /* llvm.smin, smax, umin or umax */
bool is_clamped_difference(LLVMValueRef call); /* llvm.usub.sat */
/* Whether a value is made from ids, parameters and constants by operations that do not trap. */
bool is_known_at_start(const shapes *s, LLVMValueRef value);
/* Emit the value, which is known at the start, and what it is made from. */
void compute_at_start(widener *w, LLVMValueRef value, mask m);

/* ---- clamp_users.c ---- */

bool is_speculated(const speculation *x, LLVMValueRef value);
/* +1: the lesser of two signed numbers, -1: the greater, 0: neither. */
int extreme_sign(LLVMValueRef value);
/* Split the operands into the one that differs between lanes and the one that is uniform. */
bool split_operands(const widener *w, LLVMValueRef value, LLVMValueRef *counting, LLVMValueRef *common);

/* The greatest (sign 1) or least (-1) number that is clamped in a lane that uses the clamp's result; `far`: in any. */
LLVMValueRef farthest_user(widener *w, LLVMValueRef clamp, LLVMValueRef number, int sign, LLVMValueRef far);

/* ---- bounded_sum.c ---- */

/* Whether it extends an unsigned sum of loops' counters and of numbers that are known at the start, so that a test there
   can show that no lane wraps in any iteration. */
bool is_bounded_sum(const shapes *s, LLVMValueRef extension);
/* u: the vector whose lanes are tested, or 0 for all. */
LLVMValueRef build_bound_test(widener *w, LLVMValueRef extension, mask m, int u);

#endif
