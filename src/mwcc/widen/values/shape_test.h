/* Speculative shapes: what their search (speculative_shapes.c) and their run-time test (shape_test.c) share. */
#ifndef SHAPE_TEST_H
#define SHAPE_TEST_H

#include "mwcc/widen/widen.h"

enum { LONG_STEP = 1 << 20 }; /* strides are less */

bool is_extreme(LLVMValueRef call);            /* llvm.smin, smax, umin or umax */
bool is_clamped_difference(LLVMValueRef call); /* llvm.usub.sat */
bool is_launch_id(LLVMValueRef call);          /* threadIdx, blockIdx, blockDim or gridDim */

#endif
