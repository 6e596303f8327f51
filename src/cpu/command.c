/* Handing out the blocks of a command. */
#include "cpu/command.h"
#include "cpu/list.h"

static const double worth_seconds = 20e-6, grain_seconds = 2e-6;

bool cpu_command_take(cpu_command *command, int workers, uint64_t *first, uint64_t *last, bool *rest) {
  uint64_t taken = atomic_load_explicit(&command->taken, memory_order_relaxed), next;
  do {
    if (taken >= command->blocks || atomic_load(&command->stop)) return false;
    uint64_t left = command->blocks - taken, share = left / (2 * (uint64_t)workers);
    if (share < command->grain) share = command->grain;
    next = taken + (share < left ? share : left);
  } while (!atomic_compare_exchange_weak(&command->taken, &taken, next));
  *first = taken;
  *last = next;
  *rest = next < command->blocks;
  return true;
}

static double block_seconds(const cpu_kernel *kernel) {
  return atomic_load_explicit(&kernel->block_seconds, memory_order_relaxed);
}

uint64_t cpu_kernel_grain(const cpu_kernel *kernel) {
  double each = block_seconds(kernel);
  return each > 0 && each < grain_seconds ? (uint64_t)(grain_seconds / each) : 1;
}

void cpu_command_set_grain(cpu_command *command) {
  command->grain = cpu_command_doing(command) == CPU_KERNEL ? cpu_kernel_grain(command->kernel.kernel) : 1;
}

bool cpu_command_worth(const cpu_command *command) {
  if (command->kind == CPU_LIST && cpu_list_has_more(command)) return true; /* there may be many */
  if (cpu_command_doing(command) != CPU_KERNEL) return command->blocks > 1; /* pieces are large */
  double each = block_seconds(command->kernel.kernel);
  uint64_t left = command->blocks - atomic_load_explicit(&command->taken, memory_order_relaxed);
  return each == 0 || (double)left * each > worth_seconds;
}
