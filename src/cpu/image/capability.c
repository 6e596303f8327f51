/* Whether a unit suits a device. A unit compiled for a compute capability depends on it by __CUDA_ARCH__ and is
 * restricted to its features. As with CUDA's own images, it suits devices of the same generation that are not older. A
 * CPU device opened without a compute capability accepts all units. */
#include "capability.h"

#include <stdio.h>
#include <string.h>

static const char option[] = "--capability=";

/* major * 10 + minor, from the options, one on each line; 0: compiled for no capability. */
static int capability_of(const char *options) {
  for (const char *line = options; line && *line; line += *line == '\n') {
    bool found = strncmp(line, option, strlen(option)) == 0;
    const char *value = line + strlen(option);
    if (found && value[0] && value[1] == '.' && value[2]) return (value[0] - '0') * 10 + (value[2] - '0');
    line += strcspn(line, "\n");
  }
  return 0;
}

int cpu_image_check(const cpu_device *device, const mw_mwo *image) {
  int have = capability_of(image->options);
  const mw_capability *wanted = &device->capability;
  if (!device->is_restricted || (have / 10 == wanted->major && have % 10 <= wanted->minor)) return MW_SUCCESS;
  char what[48] = "no compute capability in particular";
  if (have) snprintf(what, sizeof what, "compute capability %d.%d", have / 10, have % 10);
  return fail(MW_NO_KERNEL_IMAGE_FOR_DEVICE,
              "this module was compiled for %s, and the device is opened as %d.%d: compile its source for this device",
              what, wanted->major, wanted->minor);
}
