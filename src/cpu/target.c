/* The part of the cache key that describes this machine and its compiler; the level of its shipped modules. */
#include "core/compile/run_mwcc.h"
#include "cpu/cpu.h"
#include "cpu/processor.h"

#include <stdlib.h>

static pthread_once_t processor_once = PTHREAD_ONCE_INIT;
static mw_text processor;

static void describe_processor(void) {
  char name[256];
  processor_name(name, sizeof name);
  mw_text_addf(&processor, "%s %s\n", processor_architecture, name);
  processor_features(&processor);
}

/* The host may unload the library. */
__attribute__((destructor)) static void forget_processor(void) { mw_text_free(&processor); }

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
  mw_text_add(out, processor.data, processor.length);
  mw_text_add(out, "\n", 1);
  if (device->is_restricted)
    mw_text_addf(out, "capability %d.%d\n", device->capability.major, device->capability.minor);
  mw_text_addf(out, "reach %u, %u\n", device->reach.pointers, device->reach.null);
  compiler_describe(path, out);
  free(path);
  return MW_SUCCESS;
}
