/* The number of CPU devices (simulated_devices.c). Any thread. */
#ifndef MW_CPU_SIMULATED_H
#define MW_CPU_SIMULATED_H

#include "cpu/cpu.h"

typedef struct cpu_simulated {
  int count;
  mw_capability capabilities[16]; /* major is 0 for a CPU device without a given capability */
} cpu_simulated;

int cpu_simulated_get(cpu_simulated *out);
int cpu_simulate(const char *devices); /* mw_driver.simulate */

#endif
