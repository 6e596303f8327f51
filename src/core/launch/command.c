/* Commands in flight: see command.h. They are pooled, so that a launch need not call the allocator, and because memory
 * that one thread allocates and another frees fragments over time. The pool holds as many as were ever in flight at
 * once, at most POOL_MAX. */
#include "command.h"

#include <stdlib.h>

#define POOLED_BUFFERS 16 /* commands with more are allocated separately */
#define POOL_MAX       4096

static struct {
  pthread_mutex_t lock;
  mw_command *first;
  size_t count;
} pool = {.lock = MW_LOCK_INITIALIZER};

static mw_command *take_pooled(void) {
  mw_lock(&pool.lock);
  mw_command *command = pool.first;
  if (command) {
    pool.first = command->next;
    pool.count--;
  }
  mw_unlock(&pool.lock);
  return command;
}

static void put_pooled(mw_command *command) {
  mw_lock(&pool.lock);
  bool room = pool.count < POOL_MAX;
  if (room) {
    command->next = pool.first;
    pool.first = command;
    pool.count++;
  }
  mw_unlock(&pool.lock);
  if (!room) free(command);
}

/* When the library is unloaded: no device is open, so no command is in flight. */
__attribute__((destructor)) static void drop_pool(void) {
  for (mw_command *command; (command = take_pooled());) free(command);
}

mw_command *mw_command_new(mw_module *module, size_t buffers) {
  mw_command *command = buffers <= POOLED_BUFFERS ? take_pooled() : NULL;
  if (!command) {
    size_t capacity = buffers <= POOLED_BUFFERS ? POOLED_BUFFERS : buffers;
    command = mw_alloc(sizeof *command + capacity * sizeof *command->buffers);
    command->capacity = capacity;
  }
  atomic_init(&command->runs, 1);
  atomic_init(&command->refs, 1);
  command->module = module;
  command->count = 0;
  if (module) mw_module_use(module);
  return command;
}

int mw_command_use(mw_command *command, mw_buffer *buffer) {
  int code = mw_buffer_use(buffer);
  if (code == MW_SUCCESS) command->buffers[command->count++] = buffer;
  return code;
}

void mw_command_end(mw_command *command) {
  if (atomic_fetch_sub(&command->runs, 1) > 1) return;
  for (size_t i = 0; i < command->count; i++) mw_buffer_unuse(command->buffers[i]);
  if (command->module) mw_module_unuse(command->module);
  mw_command_drop(command);
}

mw_command *mw_command_keep(mw_command *command) {
  atomic_fetch_add(&command->refs, 1);
  return command;
}

void mw_command_drop(mw_command *command) {
  if (!command || atomic_fetch_sub(&command->refs, 1) > 1) return;
  if (command->capacity == POOLED_BUFFERS)
    put_pooled(command);
  else
    free(command);
}

void mw_command_done(void *command) { mw_command_end(command); }
