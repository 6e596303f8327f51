/* Built-ins, variables and what warps do, in terms of the runtime. */
#ifndef MWCC_LOWER_LOWER_H
#define MWCC_LOWER_LOWER_H

#include "mwcc/mwcc.h"

void expand_block_waits(program *p);
/* Atomics on shared memory need no lock (shared_atomics.c). */
void unlock_shared(program *p);
/* What stands for a built-in on fibers, or NULL where it is none of these; the builder stands before it. */
LLVMValueRef lower_warp(program *p, LLVMBuilderRef b, LLVMValueRef call, LLVMValueRef frame, LLVMValueRef worker);
/* All threads of the warp that come to a place wait for each other there: returns which they are. */
LLVMValueRef lower_converge(program *p, LLVMBuilderRef b, LLVMValueRef frame, LLVMValueRef worker);
void lower_variables(program *p);
void lower_threads(program *p);
/* Built-ins that the runtime serves, for one thread by itself: printf, assert, malloc, clocks, traps. The value that
   stands for the call, or NULL where there is none. */
bool is_service_builtin(const char *name);
LLVMValueRef lower_service_builtin(program *p, LLVMBuilderRef b, const char *name, LLVMValueRef const *arguments,
                                   unsigned count, LLVMValueRef thread);
/* Whether the object may import the function: of libm, or one of memory that code generation itself calls. */
bool is_importable(const char *name);

#endif
