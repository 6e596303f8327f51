/* The resources of a queued command until it is done: uses of buffers, and of the module whose code runs. */
#ifndef MW_COMMAND_H
#define MW_COMMAND_H

#include "core/core.h"
#include "core/module/module.h"

typedef struct mw_command {
  struct mw_command *next; /* in the pool */
  atomic_int runs;         /* the number of its runs in flight: at 0 it releases its uses, and takes no others */
  atomic_int refs;         /* one for all runs in flight, one for each holder */
  mw_module *module;
  size_t count, capacity;
  mw_buffer *buffers[];
} mw_command;

/* A command that will use up to `buffers` buffers, and `module` (NULL: no code). Comes from a pool. */
mw_command *mw_command_new(mw_module *module, size_t buffers);
/* Take a use of `buffer` for the command. Fails if it was freed. */
int mw_command_use(mw_command *command, mw_buffer *buffer);
/* Release everything: called by the completion, or by a caller that could not queue the command. */
void mw_command_end(mw_command *command);
void mw_command_done(void *command);
/* The completion that the driver calls when the command is done. */
static inline mw_completion mw_command_completion(mw_command *command) {
  return (mw_completion){.done = mw_command_done, .context = command};
}

/* Queue a command that is still in flight once more, which is cheap: it already has its uses, and holds them until its
   completion has been called as often as it was queued. The caller must hold the command. False if it is done, or uses
   memory that has been freed since. */
mw_command *mw_command_keep(mw_command *command);
void mw_command_drop(mw_command *command);

static inline bool mw_command_again(mw_command *command) {
  int runs = atomic_load_explicit(&command->runs, memory_order_relaxed);
  while (runs > 0 && !atomic_compare_exchange_weak(&command->runs, &runs, runs + 1)) {}
  if (runs == 0) return false;
  for (size_t i = 0; i < command->count; i++)
    if (atomic_load(&command->buffers[i]->freed)) {
      mw_command_end(command);
      return false;
    }
  return true;
}

#endif
