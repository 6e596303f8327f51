/* Generations: which grids run together, and running their blocks. See children.h. */
#include "children.h"

#include <stdlib.h>
#include <string.h>

/* ---- families ---- */

struct cpu_family *cpu_family_of(cpu_command *command) {
  cpu_pool *pool = command->stream->device->pool;
  struct cpu_family *family = atomic_load(&command->family);
  if (family) return family;
  family = mw_alloc(sizeof *family);
  mw_lock_init(&family->lock);
  atomic_init(&family->root.pending, 1);
  mw_lock(&pool->lock);
  struct cpu_family *other = atomic_load(&command->family);
  if (!other) atomic_store(&command->family, family);
  cpu_pool_unlock(pool);
  if (!other) return family;
  pthread_mutex_destroy(&family->lock);
  free(family);
  return other;
}

void cpu_family_free(cpu_command *command) {
  struct cpu_family *family = atomic_load(&command->family);
  if (!family) return;
  atomic_store(&command->family, NULL);
  cpu_cells_free(family);
  pthread_mutex_destroy(&family->lock);
  free(family->objects);
  free(family->generation);
  free(family);
}

/* The ready grids as the next generation, those that became ready first in front. */
static uint64_t collect(struct cpu_family *family) {
  size_t count = 0, i;
  uint64_t blocks = 0;
  for (const cpu_grid *grid = family->rest.ready; grid; grid = grid->next) count++;
  if (count > family->capacity) {
    family->capacity = count * 2;
    family->generation = mw_realloc(family->generation, family->capacity * sizeof *family->generation);
  }
  i = family->count = count;
  for (cpu_grid *grid = family->rest.ready; grid; grid = grid->next) family->generation[--i].grid = grid;
  for (; i < count; i++) {
    family->generation[i].first = blocks;
    blocks += family->generation[i].grid->blocks;
    family->generation[i].last = blocks;
  }
  family->rest.ready = NULL;
  return blocks;
}

bool cpu_family_next(cpu_command *command) {
  struct cpu_family *family = atomic_load(&command->family);
  if (atomic_load(&command->stop)) return false;
  if (!family->started) {
    family->started = true;
    cpu_grid_settle(family, &family->rest, &family->root);
  }
  uint64_t blocks = collect(family);
  if (blocks == 0) return false;
  family->running = true;
  command->blocks = blocks;
  command->grain = command->unit = 1;
  cpu_command_keep_order(command);
  atomic_store_explicit(&command->taken, 0, memory_order_relaxed);
  return true;
}

/* ---- running ---- */

static void leave_scope(cpu_worker *worker) {
  cpu_scope_drop(worker->launching.pile, worker->launching.scope);
  worker->launching.scope = NULL;
}

static bool run_work(cpu_worker *worker, cpu_command *command, cpu_grid *grid, uint64_t first, uint64_t last) {
  if (first == 0) atomic_fetch_sub(&command->family->waiting, 1);
  leave_scope(worker);
  worker->launching.grid = grid;
  bool good = cpu_worker_prepare(worker, command, &grid->work) && cpu_worker_run(worker, first, last);
  leave_scope(worker);
  return good;
}

/* The event is recorded: what waits for it ends, as if it had run. */
static void finish_record(struct cpu_family *family, cpu_pile *pile, cpu_grid *record) {
  cpu_event *event = record->event;
  cpu_spin_take(&event->lock);
  cpu_grid *waiting = event->waiting, *still = NULL;
  if (record->number > event->finished) event->finished = record->number;
  uint64_t finished = event->finished;
  event->waiting = NULL;
  for (cpu_grid *grid = waiting, *next; grid; grid = next) {
    next = grid->next;
    if (grid->number <= finished) {
      cpu_event_drop(pile, event);
      cpu_grid *follower = cpu_grid_settle(family, pile, grid);
      if (follower) cpu_grid_ready(pile, follower);
    } else {
      grid->next = still;
      still = grid;
    }
  }
  event->waiting = still;
  cpu_spin_give(&event->lock);
  cpu_event_drop(pile, event);
}

/* Whether the event is recorded already; else the grid is kept until it is. */
static bool pass_wait(cpu_pile *pile, cpu_grid *grid) {
  cpu_event *event = grid->event;
  cpu_spin_take(&event->lock);
  bool passes = grid->number <= event->finished;
  if (!passes) {
    grid->next = event->waiting;
    event->waiting = grid;
  }
  cpu_spin_give(&event->lock);
  if (passes) cpu_event_drop(pile, event);
  return passes;
}

bool cpu_grid_run(cpu_worker *worker, cpu_command *command, cpu_grid *grid, uint64_t first, uint64_t last) {
  struct cpu_family *family = command->family;
  cpu_pile *pile = worker->launching.pile;
  while (grid && first < last) {
    if (grid->kind == CPU_GRID_WORK && !run_work(worker, command, grid, first, last)) return false;
    if (grid->kind == CPU_GRID_RECORD) finish_record(family, pile, grid);
    if (grid->kind == CPU_GRID_WAIT && !pass_wait(pile, grid)) return true;
    if (atomic_fetch_sub(&grid->left, last - first) != last - first) return true;
    cpu_grid *next = cpu_grid_settle(family, pile, grid);
    if (next && next->blocks > 1) {
      cpu_grid_ready(pile, next);
      return true;
    }
    grid = next, first = 0, last = 1;
  }
  return true;
}

/* The member of the generation that has the block. */
static size_t find(const struct cpu_family *family, uint64_t block) {
  size_t low = 0, high = family->count;
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (family->generation[middle].first <= block)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* After a generation of one block: as long as one grid of one block is ready, no other thread would have any work. */
static bool run_chain(cpu_worker *worker, cpu_command *command) {
  cpu_pile *pile = worker->launching.pile;
  for (cpu_grid *grid; (grid = pile->ready) && !grid->next && grid->blocks == 1 && !atomic_load(&command->stop);) {
    pile->ready = NULL;
    if (!cpu_grid_run(worker, command, grid, 0, 1)) return false;
  }
  return true;
}

bool cpu_family_run(cpu_worker *worker, cpu_command *command, uint64_t first, uint64_t last) {
  const struct cpu_family *family = command->family;
  for (size_t i = find(family, first); first < last; i++) {
    const cpu_member *member = &family->generation[i];
    uint64_t end = member->last < last ? member->last : last;
    if (atomic_load(&command->stop)) return true;
    if (!cpu_grid_run(worker, command, member->grid, first - member->first, end - member->first)) return false;
    first = end;
  }
  return command->blocks > 1 || run_chain(worker, command);
}

void cpu_family_leave(cpu_worker *worker, const cpu_command *command) {
  struct cpu_family *family = atomic_load(&command->family);
  cpu_pile *pile = worker->launching.pile;
  worker->launching.grid = NULL;
  if (!family) return;
  leave_scope(worker);
  cpu_grid *last = pile->ready;
  mw_lock(&family->lock);
  while (last && last->next) last = last->next;
  if (last) {
    last->next = family->rest.ready;
    family->rest.ready = pile->ready;
  }
  cpu_pile_join(&family->rest, pile);
  mw_unlock(&family->lock);
  *pile = (cpu_pile){0};
}
