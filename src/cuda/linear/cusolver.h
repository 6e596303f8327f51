/* Factorisations by cuSOLVER, found at run time: MOONWARP_CUSOLVER names the library or is "off". */
#ifndef CUDA_CUSOLVER_H
#define CUDA_CUSOLVER_H

#include "core/linear/linear.h"
#include "cuda/cuda.h"

/* mw_driver_linear's members. */
int cuda_solver_name(void *device, mw_text *out);
int cuda_solver_factor(void *stream, const mw_factorisation *f, mw_completion completion);
/* A line for mw_doctor. */
void cuda_solver_report(mw_text *out);
/* Before the device's context is destroyed: release its handle. */
void cuda_solver_close(cuda_device *device);

#endif
