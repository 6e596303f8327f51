/* Handing out the blocks of a command. */
#include "cpu/command.h"

bool cpu_command_take(cpu_command *command, int workers, uint64_t *first, uint64_t *last, bool *rest) {
  uint64_t taken = atomic_load_explicit(&command->taken, memory_order_relaxed), next;
  do {
    if (taken >= command->blocks || atomic_load(&command->stop)) return false;
    uint64_t share = (command->blocks - taken) / (2 * (uint64_t)workers);
    next = taken + (share ? share : 1);
  } while (!atomic_compare_exchange_weak(&command->taken, &taken, next));
  *first = taken;
  *last = next;
  *rest = next < command->blocks;
  return true;
}
