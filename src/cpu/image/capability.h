/* Whether a unit suits a device (capability.c). */
#ifndef MW_CPU_IMAGE_CAPABILITY_H
#define MW_CPU_IMAGE_CAPABILITY_H

#include "cpu/cpu.h"

/* Whether the image may run on the device; MW_NO_KERNEL_IMAGE_FOR_DEVICE. */
int cpu_image_check(const cpu_device *device, const mw_mwo *image);

#endif
