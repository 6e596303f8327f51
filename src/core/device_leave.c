/* Leaving a device: an unreported kernel failure is printed before the script's state is closed. */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Runs at the process's exit, where its status may still be 0. */
static void end_with_failure(void) {
  fflush(NULL);
  _Exit(EXIT_FAILURE);
}

int mw_device_leave(mw_device *device, int fail_process) {
  static atomic_bool failing;
  int code = mw_device_synchronize(device);
  const mw_error *failure = code == MW_SUCCESS ? NULL : mw_error_last();
  if (!failure || strcmp(failure->kind, "kernel") != 0) return MW_SUCCESS;
  fflush(stdout); /* what the script has printed comes first */
  fprintf(stderr, "moonwarp: %s\n  (nothing waited for it while the script ran; mw.synchronize() does)\n",
          failure->message);
  if (fail_process && !atomic_exchange(&failing, true)) atexit(end_with_failure);
  return code;
}
