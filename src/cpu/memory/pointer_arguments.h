/* Pointers among a kernel's parameters. */
#ifndef MW_CPU_POINTERS_H
#define MW_CPU_POINTERS_H

#include "cpu/cpu.h"

/* Fill in kernel->pointers. */
void cpu_pointers_find(cpu_kernel *kernel);
/* Whether the launch has what image->separate says. Null pointers point into no allocation. */
bool cpu_pointers_are_separate(const cpu_kernel *kernel, const void *params);
/* Before a launch: MW_INVALID_DEVICE_POINTER if one of them is neither null nor a device address. */
int cpu_pointers_check(const cpu_kernel *kernel, const void *params);

#endif
