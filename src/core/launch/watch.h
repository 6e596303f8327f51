/* Watching launches: what launch.c needs of watch.c. */
#ifndef MW_WATCH_H
#define MW_WATCH_H

#include "core/core.h"

struct mw_watch {
  mw_refs refs;
  mw_device *device;
  void *state;       /* the driver's */
  unsigned observes; /* of enum mw_observed */
  char *text;        /* mw_watch_result's */
};

/* The watch of the calling thread's launches, or NULL. */
extern _Thread_local mw_watch *mw_watch_current;

/* Prepare the request of a launch that is watched. */
int mw_watch_request(const mw_watch *watch, const mw_kernel *kernel, mw_launch_request *request);

#endif
