/* moonwarp's additions for CUDA host code: where kernels are, and why a call failed.
 *
 * A program that nvcc builds has its kernels linked in. One that a C compiler builds names them at run time by
 * mwCudaSource or mwCudaFile before the first launch. From then on kernels, variables and texture references are
 * known by their names in the source ("saxpy", "fill<float,4>", "gain") wherever CUDA's runtime API takes a function
 * or a symbol: cudaLaunchKernel("saxpy", …), cudaMemcpyToSymbol("gain", …). They belong to the program, as nvcc's do:
 * each device, and each context, has its own instance of them, made on first use. */
#ifndef MOONWARP_CUDA_H
#define MOONWARP_CUDA_H

#include "driver_types.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Add CUDA C text to the program's kernels, compiled now for the current device. `options` (may be NULL) are the
   compiler's, separated by spaces: "-DN=16 -use_fast_math". Names of later texts hide those of earlier ones.
   cudaErrorInvalidSource: mwCudaErrorMessage has the compiler's messages. */
cudaError_t mwCudaSource(const char *text, const char *options);
/* The same from a file: CUDA C text, or a module that mwcc compiled (k.mwo), which takes no options. */
cudaError_t mwCudaFile(const char *path, const char *options);
/* Let an address in the program stand for a kernel or a variable, as the functions and variables of a .cu file do:
   after mwCudaRegister((const void *)saxpy, "saxpy") the launch may be cudaLaunchKernel((const void *)saxpy, …). A
   textureReference that is registered so is a texture reference of the program. */
cudaError_t mwCudaRegister(const void *address, const char *name);
/* Why the calling thread's last failed call failed: one or more sentences, "" before the first. Valid until the next
   failure on the thread. After cudaErrorInvalidSource the compiler's output follows it. */
const char *mwCudaErrorMessage(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
