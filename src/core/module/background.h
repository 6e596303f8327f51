/* A device's thread for work in the background: compilations that nothing waits for, one after the other. */
#ifndef MW_BACKGROUND_H
#define MW_BACKGROUND_H

#include "core/core.h"

/* A function to call. Any thread may add one; it is not called, but `drop` is, if the device closes before. */
typedef struct mw_job {
  void (*run)(void *context);
  void (*drop)(void *context);
  void *context;
  bool soon; /* runs before jobs without it; if it runs when the device closes, it may take one more second */
} mw_job;

void mw_background_add(mw_device *device, mw_job job);
/* When the device closes: end a running compilation, and drop the other jobs and all later ones. */
void mw_background_close(mw_device *device);
/* After mw_background_close, when no work is left that may add jobs. */
void mw_background_free(mw_device *device);

#endif
