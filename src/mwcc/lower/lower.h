/* Lowering: built-ins, variables and warp functions in terms of the runtime (mwo.h).
 *
 *   thread_context.c        built-ins in terms of the hidden thread parameter
 *   thread_parameter.c      that parameter
 *   module_variables.c      module variables and shared memory
 *   warp_services.c         warp functions, on fibers
 *   scalar_bounds_check.c   bounds checks in the code itself
 *   barrier_wait.c          waits for cuda::barrier
 *   shared_atomics.c        atomics on shared memory, without locks
 *
 * Before: the device target's intrinsics, and globals. After: loads from the frame and calls of its services; the
 * object holds no state. */
#ifndef MWCC_LOWER_LOWER_H
#define MWCC_LOWER_LOWER_H

#include "mwcc/mwcc.h"

void expand_block_waits(program *p);
/* Atomics on shared memory become plain accesses (shared_atomics.c). */
void unlock_shared(program *p);
/* The value of a warp built-in on fibers, or NULL where it is none; the builder is before the call. */
LLVMValueRef lower_warp(program *p, LLVMBuilderRef b, LLVMValueRef call, LLVMValueRef frame, LLVMValueRef worker);
/* Of __mw_warp_apply (widen/calls/warp_helper.c). `services`: the frame and the worker. */
LLVMValueRef lower_warp_apply(program *p, LLVMBuilderRef b, LLVMValueRef call, const LLVMValueRef services[2],
                              LLVMValueRef thread, LLVMValueRef lane);
/* All threads of the warp that reach this place wait for each other: returns which ones. */
LLVMValueRef lower_converge(program *p, LLVMBuilderRef b, LLVMValueRef frame, LLVMValueRef worker);

/* ---- scalar_bounds_check.c ---- */
/* The addresses at which an access of checked code may begin: `places` of them from `base` on, as numbers. */
typedef struct check_range {
  LLVMValueRef base, places;
} check_range;
/* False: only the runtime can decide. `call`: of CHECK_ACCESS_FUNCTION, for one thread whose object and bytes these
   are. */
bool find_check_range(program *p, LLVMBuilderRef b, LLVMValueRef call, LLVMValueRef object, LLVMValueRef bytes,
                      LLVMValueRef worker, check_range *out);
uint64_t alignment_checked(LLVMValueRef call);
LLVMValueRef shadow_distance(program *p, LLVMBuilderRef b, LLVMValueRef worker);
/* Whether the access at `number` begins elsewhere, or any of the low bits is set; of scalars or vectors. */
LLVMValueRef is_out_of_range(LLVMBuilderRef b, const check_range *where, LLVMValueRef number, LLVMValueRef low_bits);
/* Leave the builder in a cold block, for accesses that are out of bounds, from which the code continues with the
   returned one, whose first instruction is the call. NULL: the check cannot be decided here. */
LLVMBasicBlockRef begin_failed_check(program *p, LLVMBuilderRef b, LLVMValueRef call, LLVMValueRef worker);
/* The same if the condition is true. */
LLVMBasicBlockRef begin_cold(program *p, LLVMBuilderRef b, LLVMValueRef call, LLVMValueRef condition);
/* With checks of initialisation: at the start of each block. */
void report_block(program *p, LLVMBuilderRef b, LLVMValueRef frame, LLVMValueRef worker, const kernel *k);

void lower_variables(program *p);
void lower_threads(program *p);
/* thread_parameter.c: a copy of the function with the parameter in front, which replaces it. */
LLVMValueRef give_parameter(program *p, LLVMValueRef old);
/* A call whose callee has the parameter already (or is called through a pointer) passes the caller's. */
void pass_parameter(program *p, LLVMBuilderRef b, LLVMValueRef call, LLVMValueRef thread);
/* Built-ins that the runtime serves for a single thread: printf, assert, malloc, clocks, traps. The value of the call,
   or NULL where it has none. */
bool is_service_builtin(const char *name);
LLVMValueRef lower_service_builtin(program *p, LLVMBuilderRef b, const char *name, LLVMValueRef const *arguments,
                                   unsigned count, LLVMValueRef thread);
/* Whether the object may import the function: of libm, or a memory function that code generation calls. */
bool is_importable(const char *name);

#endif
