/* What instrument.c and safepoints.c share: calls of the functions of moonwarp/guard_calls.h. */
#ifndef MWCC_GPU_GUARD_H
#define MWCC_GPU_GUARD_H

#include "gpu.h"

LLVMValueRef guard_function(program *p, const char *name);
void guard_call(LLVMBuilderRef b, LLVMValueRef function, LLVMValueRef *arguments, unsigned count);
/* Our own functions, which look and tell. */
bool guard_is_ours(LLVMValueRef function);
/* The builder stands behind what a kernel begins with. */
void guard_position_at_entry(LLVMBuilderRef b, LLVMValueRef function);
/* Of our functions those that nobody calls are dropped, but (keep_look) for the one that loops will call. */
void guard_let_go(program *p, bool keep_look);

#endif
