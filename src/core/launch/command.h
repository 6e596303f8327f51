/* What a queued command needs until it is done: uses of buffers, and of the module whose code runs. */
#ifndef MW_COMMAND_H
#define MW_COMMAND_H

#include "core/core.h"
#include "core/module/module.h"

typedef struct mw_command {
  struct mw_command *next; /* in the pool */
  atomic_int runs;         /* how often it is in flight: at 0 its uses end, and it takes no others */
  atomic_int refs;         /* its being in flight, and who keeps it */
  mw_module *module;
  size_t count, capacity;
  mw_buffer *buffers[];
} mw_command;

/* A command that will use up to `buffers` buffers, and `module` (NULL: no code). Comes from a pool. */
mw_command *mw_command_new(mw_module *module, size_t buffers);
/* Take a use of `buffer` for the command. Fails where it is freed. */
int mw_command_use(mw_command *command, mw_buffer *buffer);
/* Let go of everything: the completion does this, and whoever could not queue the command. */
void mw_command_end(mw_command *command);
void mw_command_done(void *command);
/* What the driver calls when the command is done. */
static inline mw_completion mw_command_completion(mw_command *command) {
  return (mw_completion){.done = mw_command_done, .context = command};
}

/* A command that is still in flight may be queued once more, which costs next to nothing: it has its uses already, and
   keeps them until its completion was called as often as it was queued. Whoever wants that keeps the command; false where
   it is done, or uses what was freed since. */
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
