/* Measured runs on a GPU (mw.measure): kernels that mwcc compiled with --observe count what their warps do, in memory
 * of the run (device/moonwarp/measured_run), and the host reads that. The result has the form of the CPU device's
 * (src/cpu/watch/counters.c). */
#ifndef MW_CUDA_MEASURE_H
#define MW_CUDA_MEASURE_H

#include "cuda/cuda.h"

/* mw_driver's members: watch_new, watch_result, watch_free and observe. */
int cuda_measure_new(void *device, const char *watchers, unsigned *observes, void **watch);
int cuda_measure_result(void *watch, mw_text *out);
void cuda_measure_free(void *watch);
int cuda_measure_compile(void *unit, const mw_source *source, unsigned observes, const char *path);
/* The address that a launch of a unit that counts passes: 0 if nothing is measured. */
int cuda_measure_launch(const cuda_kernel *kernel, const mw_launch_request *request, uint64_t *address);

#endif
