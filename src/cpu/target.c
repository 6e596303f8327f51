/* The part of the cache key that describes this machine and its compiler; the level of its shipped modules. */
#include "core/compile/run_mwcc.h"
#include "cpu/cpu.h"
#include "cpu/processor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t processor_once = PTHREAD_ONCE_INIT;
static char processor[16384]; /* static: at the process's exit the background thread may still read it */

static void describe_processor(void) {
  char name[256];
  mw_text features = {0};
  processor_name(name, sizeof name);
  processor_features(&features);
  snprintf(processor, sizeof processor, "%s %s\n%s", processor_architecture, name, features.data ? features.data : "");
  mw_text_free(&features);
}

/* Shipped modules use features of all capabilities. */
const char *cpu_level(void *argument) {
  const cpu_device *device = argument;
  return device->is_restricted ? NULL : processor_level();
}

int cpu_target(void *argument, mw_text *out) {
  const cpu_device *device = argument;
  char *path;
  int code = compiler_find(&path);
  if (code != MW_SUCCESS) return code;
  pthread_once(&processor_once, describe_processor);
  mw_text_addf(out, "moonwarp %s, format %d\n", MW_VERSION, MW_MWO_VERSION);
  mw_text_add(out, processor, strlen(processor));
  mw_text_add(out, "\n", 1);
  if (device->is_restricted)
    mw_text_addf(out, "capability %d.%d\n", device->capability.major, device->capability.minor);
  mw_text_addf(out, "reach %u, %u\n", device->reach.pointers, device->reach.null);
  compiler_describe(path, out);
  free(path);
  return MW_SUCCESS;
}
