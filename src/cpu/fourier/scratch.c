/* Scratch memory of a command: scratch.h. */
#include "scratch.h"

#include "base/base.h"
#include "base/lock.h"

#include <stdlib.h>
#include <string.h>

static char *new_area(size_t bytes) {
  size_t whole = (bytes + 64) / 64 * 64;
  char *area = aligned_alloc(64, whole);
  if (area) memset(area, 0, whole); /* what is not filled is transformed as well */
  return area;
}

static void drop(cpu_scratch *it) {
  free(it->from);
  free(it->to);
  free(it);
}

static cpu_scratch *new_scratch(const cpu_scratch_pool *pool) {
  cpu_scratch *it = mw_alloc(sizeof *it);
  it->from = new_area(pool->from_bytes);
  it->to = new_area(pool->to_bytes);
  if (it->from && it->to) return it;
  drop(it);
  return NULL;
}

bool cpu_scratch_open(cpu_scratch_pool *pool, size_t from_bytes, size_t to_bytes) {
  *pool = (cpu_scratch_pool){.from_bytes = from_bytes, .to_bytes = to_bytes};
  mw_lock_init(&pool->lock);
  return (pool->unused = new_scratch(pool)) != NULL;
}

cpu_scratch *cpu_scratch_take(cpu_scratch_pool *pool) {
  for (cpu_scratch *it;;) {
    mw_lock(&pool->lock);
    it = pool->unused;
    if (it) pool->unused = it->next;
    mw_unlock(&pool->lock);
    if (it || (it = new_scratch(pool))) return it;
  }
}

void cpu_scratch_give(cpu_scratch_pool *pool, cpu_scratch *it) {
  mw_lock(&pool->lock);
  it->next = pool->unused;
  pool->unused = it;
  mw_unlock(&pool->lock);
}

void cpu_scratch_close(cpu_scratch_pool *pool) {
  for (cpu_scratch *it = pool->unused, *next; it; it = next) {
    next = it->next;
    drop(it);
  }
  pthread_mutex_destroy(&pool->lock);
}
