/* mw_doctor: a report on the devices and their requirements. */
#include "core.h"

#include <string.h>

static void report_device(const char *name, mw_text *out) {
  mw_device *device;
  if (mw_device_open(name, &device) != MW_SUCCESS) {
    mw_text_addf(out, "%s: cannot be used. %s\n", name, mw_error_last()->message);
    return;
  }
  const mw_properties *facts = &device->properties;
  mw_text target = {0};
  mw_text_addf(out, "%s: %s, compute capability %d.%d, %.1f GiB\n", name, facts->name, facts->major, facts->minor,
               (double)facts->total_memory / (1 << 30));
  if (device->driver->target(device->state, &target) != MW_SUCCESS)
    mw_text_addf(out, "  it cannot compile: %s\n", mw_error_last()->message);
  mw_text_free(&target);
  mw_device_release(device);
}

size_t mw_doctor(char *text, size_t size) {
  mw_text out = {0};
  char name[32];
  mw_device *device;
  mw_text_addf(&out, "moonwarp %s\n", mw_version());
  mw_drivers_report(&out);
  for (size_t i = 0; mw_device_list(i, name) == MW_SUCCESS; i++) report_device(name, &out);
  if (mw_device_open(NULL, &device) == MW_SUCCESS) {
    mw_text_addf(&out, "mw.use() takes %s\n", device->name);
    mw_device_release(device);
  } else {
    mw_text_addf(&out, "mw.use() fails: %s\n", mw_error_last()->message);
  }
  mw_error_clear();
  if (size > 0) {
    size_t length = out.length < size ? out.length : size - 1;
    memcpy(text, out.data, length);
    text[length] = '\0';
  }
  size_t length = out.length;
  mw_text_free(&out);
  return length;
}
