/* Shared by instrument.c and safepoints.c: calls of the functions of moonwarp/guard_calls.h. */
#ifndef MWCC_GPU_GUARD_H
#define MWCC_GPU_GUARD_H

#include "gpu.h"

LLVMValueRef guard_function(program *p, const char *name);
void guard_call(LLVMBuilderRef b, LLVMValueRef function, LLVMValueRef *arguments, unsigned count);
/* Whether the function is one of guard_calls.h, which is not instrumented itself. */
bool guard_is_ours(LLVMValueRef function);
/* Position the builder after the entry block's allocas and the call of __mw_guard_begin. */
void guard_position_at_entry(LLVMBuilderRef b, LLVMValueRef function);
/* Make the functions of guard_calls.h internal, so that unused ones are deleted; with keep_poll all except the one that
   loops will call. */
void guard_drop_unused(program *p, bool keep_poll);

#endif
