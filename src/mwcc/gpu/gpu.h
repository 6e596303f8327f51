/* What makes PTX for a GPU of the program that was read: what nvptx.c, metadata.c, instrument.c, memory_accesses.c and safepoints.c share. */
#ifndef GPU_H
#define GPU_H

#include "mwcc/mwcc.h"

/* instrument.c: kernels take one parameter more, by which the host knows the launch, and accesses are checked; before the
   module is optimised. Behind that, loops look whether they are to end. */
void guard_kernels(program *p);
void guard_loops(program *p);
/* Whether parameter i is one of those of which the host says at a launch what they lead to: pointers. Behind the number each
   has two parameters more. */
bool is_found_by_host(const kernel *k, size_t i);
/* memory_accesses.c: what an instruction does to memory that a GPU's global memory may be. */
typedef struct gpu_access {
  LLVMValueRef address, bytes; /* a constant, but for copies and fills */
  unsigned alignment;
  bool is_store;
} gpu_access;
/* How many there are: 0, 1, or 2 for a copy. */
int find_gpu_accesses(program *p, LLVMValueRef instruction, gpu_access out[2]);
/* The program that was read becomes PTX, and is written. */
void make_ptx(program *p);
/* What a host has to know of the module to load it, as comments for the PTX: types, variables, kernels. */
void add_ptx_facts(const program *p, mw_text *out);
/* Those facts and nothing else: --emit=facts. */
void make_facts(const program *p);

#endif
