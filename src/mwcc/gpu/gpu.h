/* The GPU backend: PTX for NVIDIA GPUs from the program that was read.
 *
 *   arch.c                       architecture and version of PTX
 *   nvptx.c                      code generation, with LLVM's NVPTX back end
 *   metadata.c                   the description of the module for the host
 *   memory_accesses.c            which instructions access memory
 *   instrument.c, safepoints.c   --check-memory and --stoppable: bounds checks; loops poll for a request to end
 *   checked_run.c                --checks: calls before accesses, barriers and warp functions (mw.check)
 *   followed_arrivals.c, followed_copies.c, followed_stores.c   the same for barriers, copies and stores in inline PTX
 *   measured_run.c               --observe: kernels count what their warps do (mw.measure)
 *   counted_ptx.c                which inline PTX a measured run counts as accesses
 *   convergence.c, waiting_loops.c   where the lanes of a warp come together again */
#ifndef GPU_H
#define GPU_H

#include "mwcc/mwcc.h"

/* instrument.c, before optimisation: give kernels a parameter that identifies the launch, and check accesses. */
void guard_kernels(program *p);
/* checked_run.c, after that, for --checks: report to the runtime of a checked run what kernels do. */
void follow_kernels(program *p);
/* measured_run.c, likewise, for --observe. */
void measure_kernels(program *p);
/* safepoints.c, after optimisation: loops poll whether the host has requested that they end. */
void guard_loops(program *p);
/* Whether the host passes the extent (address and size) of the array that parameter i points to: of pointers. The
   extents follow the launch's number, as two parameters each. */
bool has_passed_extent(const kernel *k, size_t i);
/* memory_accesses.c: an instruction's access to memory that is, or may be, global. */
typedef struct gpu_access {
  LLVMValueRef address, bytes; /* bytes are constant, except in copies and fills */
  unsigned alignment;
  bool is_store;
} gpu_access;
/* Returns their number: 0, 1, or 2 for a copy. */
int find_gpu_accesses(program *p, LLVMValueRef instruction, gpu_access out[2]);
/* counted_ptx.c: an access of an instruction that LLVM does not know; address: NULL if it is by the texture unit. */
typedef struct counted_access {
  mw_site_kind kind;
  LLVMValueRef address;
  uint64_t bytes;
} counted_access;
/* Returns their number. Addresses are made where the builder is. */
int find_counted_ptx(program *p, LLVMBuilderRef b, LLVMValueRef call, counted_access out[2]);
/* checked_run.c: where the builder is, a call for an access outside of all arrays. */
void follow_outside(program *p, LLVMBuilderRef b, LLVMValueRef instruction, const gpu_access *a, const accessed *o);
/* Generate PTX and write the output. */
void make_ptx(program *p);
/* metadata.c: the module's description for the host (types, variables, kernels), as comments in the PTX. */
void add_ptx_facts(const program *p, mw_text *out);
/* Write the description only (--emit=facts). */
void make_facts(const program *p);

#endif
