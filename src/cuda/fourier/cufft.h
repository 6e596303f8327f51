/* Fourier transforms by cuFFT, found at run time: MOONWARP_CUFFT names the library or is "off". */
#ifndef CUDA_CUFFT_H
#define CUDA_CUFFT_H

#include "core/fourier/fourier.h"
#include "cuda/cuda.h"

extern const mw_driver_fourier cuda_fourier;
/* A line for mw_doctor. */
void cuda_fourier_report(mw_text *out);
/* Before the device's context is destroyed: release its plans. */
void cuda_fourier_close(cuda_device *device);

#endif
