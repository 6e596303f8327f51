/* Watching launches: a thread's launches run code that is compiled for watchers, which count accesses or look for
 * mistakes. The driver has the watchers. */
#include "watch.h"
#include "core/module/module.h"

#include <stdlib.h>

_Thread_local mw_watch *mw_watch_current;

int mw_watch_new(mw_device *device, const char *watchers, mw_watch **out) {
  void *state;
  unsigned observes;
  if (!device->driver->watch_new)
    return fail(MW_NOT_SUPPORTED, "launches on %s cannot be watched: use the CPU device, mw.use \"cpu\"", device->name);
  int code = device->driver->watch_new(device->state, watchers, &observes, &state);
  if (code != MW_SUCCESS) return code;
  mw_watch *watch = mw_alloc(sizeof *watch);
  *watch = (mw_watch){.device = mw_device_retain(device), .state = state, .observes = observes};
  mw_refs_init(&watch->refs);
  *out = watch;
  return MW_SUCCESS;
}

void mw_watch_release(mw_watch *watch) {
  if (!watch || !mw_refs_drop(&watch->refs)) return;
  if (mw_watch_current == watch) mw_watch_current = NULL;
  watch->device->driver->watch_free(watch->state);
  mw_device_release(watch->device);
  free(watch->text);
  free(watch);
}

int mw_watch_begin(mw_watch *watch) {
  if (mw_watch_current)
    return fail(MW_INVALID_VALUE,
                "launches are being watched already: measured, checked and recorded runs do not nest");
  mw_watch_current = watch;
  return MW_SUCCESS;
}

void mw_watch_end(mw_watch *watch) {
  if (mw_watch_current == watch) mw_watch_current = NULL;
}

int mw_watch_result(mw_watch *watch, const char **text) {
  mw_text out = {0};
  if (!watch) return fail(MW_INVALID_VALUE, "no launches were watched");
  int code = mw_device_synchronize(watch->device);
  if (code == MW_SUCCESS) code = watch->device->driver->watch_result(watch->state, &out);
  if (code != MW_SUCCESS) {
    mw_text_free(&out);
    return code;
  }
  free(watch->text);
  watch->text = out.data ? out.data : mw_strdup("");
  *text = watch->text;
  return MW_SUCCESS;
}

int mw_watch_request(const mw_watch *watch, const mw_kernel *kernel, mw_launch_request *request) {
  request->watch = watch->state;
  return mw_module_observed(kernel->module, kernel->info, kernel->handle, watch->observes, &request->kernel);
}
