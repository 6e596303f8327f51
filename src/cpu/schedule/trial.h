/* Trials (autotuning): a kernel and a candidate, the same kernel compiled for other gangs, run blocks of the same
 * launches by turns, and the faster one runs the launches after that.
 *
 * Both compute the same bits (mwcc's candidates.c) and blocks are independent, so a launch may mix them. */
#ifndef MW_CPU_TRIAL_H
#define MW_CPU_TRIAL_H

#include "command.h"
#include "cpu/execution/worker.h"

/* mw_driver's members of the same names. */
size_t cpu_candidates(void *kernel, uint32_t gangs[MW_CANDIDATES]);
void cpu_ripen(void *kernel, double seconds, mw_completion ripe);
void cpu_compete(void *kernel, void *candidate, mw_completion decided);
void cpu_prefer(void *kernel, void *candidate);
void *cpu_preferred(void *kernel);

/* The kernel to run in place of `kernel` in a launch with that frame, which gets its symbols. */
const cpu_kernel *cpu_trial_winner(const cpu_kernel *kernel, mw_frame *frame);
/* When a unit is unloaded: of one of its kernels. */
void cpu_trial_free(cpu_kernel *kernel);

/* One worker's part in a trial, for a command. */
typedef struct cpu_bout {
  struct cpu_trial *trial;
  struct cpu_round *round; /* the slot's */
  cpu_kernel_work works[2];
  uint64_t chunk; /* blocks that are timed at once, if a worker takes as many */
  uint32_t number;
} cpu_bout;

/* Whether the command's blocks are to be run by cpu_bout_run. */
bool cpu_bout_begin(cpu_bout *bout, const cpu_command *command, int slot);
bool cpu_bout_run(cpu_bout *bout, cpu_worker *worker, const cpu_taken *taken);
/* A worker ran blocks of the command for so long. */
void cpu_trial_ran(const cpu_command *command, double seconds);

#endif
