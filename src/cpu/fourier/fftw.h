/* Fourier transforms by FFTW 3, found at run time: MOONWARP_FFTW and MOONWARP_FFTWF name the libraries for double and
 * single precision, or are "off". */
#ifndef CPU_FFTW_H
#define CPU_FFTW_H

#include "core/fourier/fourier.h"
#include "cpu/cpu.h"

extern const mw_driver_fourier cpu_fourier;
/* A line for mw_doctor. */
void cpu_fourier_report(mw_text *out);

#endif
