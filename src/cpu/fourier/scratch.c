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

static void drop(cpu_scratch *buffers) {
  free(buffers->from);
  free(buffers->to);
  free(buffers);
}

static cpu_scratch *new_scratch(const cpu_scratch_pool *pool) {
  cpu_scratch *buffers = mw_alloc(sizeof *buffers);
  buffers->from = new_area(pool->from_bytes);
  buffers->to = new_area(pool->to_bytes);
  if (buffers->from && buffers->to) return buffers;
  drop(buffers);
  return NULL;
}

bool cpu_scratch_open(cpu_scratch_pool *pool, size_t from_bytes, size_t to_bytes) {
  *pool = (cpu_scratch_pool){.from_bytes = from_bytes, .to_bytes = to_bytes};
  mw_lock_init(&pool->lock);
  return (pool->unused = new_scratch(pool)) != NULL;
}

cpu_scratch *cpu_scratch_take(cpu_scratch_pool *pool) {
  for (cpu_scratch *buffers;;) {
    mw_lock(&pool->lock);
    buffers = pool->unused;
    if (buffers) pool->unused = buffers->next;
    mw_unlock(&pool->lock);
    if (buffers || (buffers = new_scratch(pool))) return buffers;
  }
}

void cpu_scratch_give(cpu_scratch_pool *pool, cpu_scratch *buffers) {
  mw_lock(&pool->lock);
  buffers->next = pool->unused;
  pool->unused = buffers;
  mw_unlock(&pool->lock);
}

void cpu_scratch_close(cpu_scratch_pool *pool) {
  for (cpu_scratch *buffers = pool->unused, *next; buffers; buffers = next) {
    next = buffers->next;
    drop(buffers);
  }
  pthread_mutex_destroy(&pool->lock);
}
