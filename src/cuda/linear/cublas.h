/* Products by cuBLAS, found at run time: MOONWARP_CUBLAS names the library or is "off". */
#ifndef CUDA_CUBLAS_H
#define CUDA_CUBLAS_H

#include "core/linear/linear.h"
#include "cuda/cuda.h"

extern const mw_driver_linear cuda_linear;
/* LU decompositions of a batch, and for SOLVE the solutions, with device->linear_lock held and the stream entered. The
   caller tells the stream of the command. */
int cuda_linear_lu(cuda_stream *stream, const mw_factorisation *f, mw_completion *completion);
/* A line for mw_doctor. */
void cuda_linear_report(mw_text *out);
/* Before the device's context is destroyed: release its handle. */
void cuda_linear_close(cuda_device *device);

#endif
