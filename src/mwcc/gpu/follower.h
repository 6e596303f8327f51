/* Shared by the files that instrument kernels of checked runs on a GPU: checked_run.c, followed_arrivals.c,
 * followed_copies.c, followed_stores.c. */
#ifndef MWCC_GPU_FOLLOWER_H
#define MWCC_GPU_FOLLOWER_H

#include "gpu.h"

typedef struct follower {
  program *p;
  LLVMBuilderRef b;
  unsigned uses; /* mw_follow_uses */
  bool has_copies, has_order;
  LLVMValueRef read_only; /* of the kernel: bits of parameters whose arrays nobody writes; or NULL */
  unsigned order;         /* has_order: of the next atomic access, as the headers report it */
} follower;

/* The number of the instruction's place, for the named array or NULL. */
LLVMValueRef follow_site(follower *f, LLVMValueRef i, const char *name, uint64_t bytes);
LLVMValueRef follow_call_guard(follower *f, const char *name, LLVMValueRef *arguments, unsigned count);
LLVMValueRef generic_pointer(follower *f, LLVMValueRef pointer);
void position_after(follower *f, LLVMValueRef i);
/* Whether barriers are followed. */
bool follows_order(const follower *f);
void follow_barrier(follower *f, LLVMValueRef i);
void follow_unknown(follower *f, LLVMValueRef i, unsigned what);

/* followed_arrivals.c */
/* A barrier in shared memory that counts arrivals. Initialising it is a store. A thread that arrives releases what it
   did, and one that has waited acquires that. */
void follow_word(follower *f, LLVMValueRef i, bool arrives, unsigned flags);
/* bar.sync, barrier.sync, bar.arrive or barrier.arrive NUMBER[, COUNT]; and nothing else. */
void follow_named(follower *f, LLVMValueRef i, const char *text);
/* A number in inline PTX, "1" or "$0"; NULL: it is something else. */
LLVMValueRef number_operand(follower *f, LLVMValueRef i, const char **text);

/* followed_stores.c: what PTX writes that is no access of a known form, for checks of initialisation. */
void follow_stores(follower *f, LLVMValueRef i, const char *text);

/* followed_copies.c: cp.async and the waits for it; false: it is of a form that is not known. */
bool follow_copies(follower *f, LLVMValueRef i, const char *text);

/* read_parameters.c */
/* kernel.written_params of all kernels. */
void find_read_parameters(program *p);
/* The number of the kernel's parameter, a pointer, of those that have bits; -1: it is none. */
int follow_parameter(program *p, LLVMValueRef base);
/* Whether inline PTX has an instruction that begins so. */
bool has_ptx_instruction(const char *text, const char *start);

#endif
