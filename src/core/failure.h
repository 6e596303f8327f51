/* Failures of kernels that were not reported yet. */
#ifndef MW_FAILURE_H
#define MW_FAILURE_H

#include "core.h"

/* The owner that the calling thread uses (mw_owner_use). */
uint64_t mw_owner_current(void);

/* Move the owner's first failure to the error slot, and forget the owner's others there: of one stream, or (NULL) of
   all streams of the device. MW_SUCCESS if there is none. */
int mw_failure_raise(mw_device *device, const mw_stream *stream, uint64_t owner);
/* Record the error slot's failure, which concerns the device and no kernel: the next wait raises it. */
void mw_failure_defer(mw_device *device);
void mw_failures_open(mw_device *device);
void mw_failures_clear(mw_device *device);
void mw_failures_close(mw_device *device);

#endif
