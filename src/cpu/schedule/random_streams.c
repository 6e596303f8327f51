/* Random order of streams, in a checked run with a seed (mw.check's schedule = "random"): commands that nothing orders
 * run one after the other, and the next one is drawn at random.
 *
 * A command that could run waits (cpu_stream_advance does not activate it) until the host waits for a stream, an event
 * or memory. Then one command after the other is drawn among those that are first in their streams, until what the host
 * waits for is done. No command runs while the host queues others, so a seed determines the order. A kernel may wait
 * for another kernel: if a command takes long, another one is drawn meanwhile. The pool's lock is held throughout. */
#include "pool.h"
#include "stream.h"
#include "cpu/check/check.h"

#include <time.h>

static const double time_alone = 0.5; /* seconds that a command runs before another one starts beside it */
enum { WAIT_NANOSECONDS = 50000000 };

bool cpu_streams_are_random(const cpu_pool *pool) { return cpu_check_is_random(pool->device); }

static bool could_run(const cpu_stream *stream) {
  const cpu_command *command = stream->current;
  return command && command->kind < CPU_RECORD && !stream->blocked && command->awaits_draw;
}

/* Starts a command, if one could run. */
static cpu_stream *draw(cpu_pool *pool) {
  uint32_t count = 0;
  for (const cpu_stream *s = pool->device->streams; s; s = s->next) count += could_run(s);
  if (!count) return NULL;
  uint32_t left = cpu_check_draw_command(pool->device, count);
  cpu_stream *stream = pool->device->streams;
  while (!could_run(stream) || left-- > 0) stream = stream->next;
  pool->drawn = stream->current;
  pool->drawn_since = mw_time();
  pool->drawn->awaits_draw = false;
  cpu_pool_activate(pool, pool->drawn);
  cpu_pool_wake(pool);
  return stream;
}

cpu_stream *cpu_random_start(cpu_pool *pool) { return pool->drawn ? pool->drawn->stream : draw(pool); }

/* Whether a host thread waits for further commands. */
static bool is_awaited(const cpu_pool *pool) {
  for (const cpu_stream *s = pool->device->streams; s; s = s->next)
    if (s->pins && atomic_load(&s->retired) < s->wanted) return true;
  return false;
}

void cpu_random_finish(cpu_pool *pool, const cpu_command *command) {
  if (pool->drawn == command) pool->drawn = NULL;
  if (!pool->drawn && cpu_streams_are_random(pool) && is_awaited(pool)) draw(pool);
}

void cpu_random_wait(cpu_pool *pool, pthread_cond_t *condition) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += WAIT_NANOSECONDS;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  for (int i = 0; i < pool->wakes; i++) pthread_cond_signal(&pool->wake[i]->work);
  pool->wakes = 0;
  pthread_cond_timedwait(condition, &pool->lock, &until);
  if (pool->drawn && mw_time() - pool->drawn_since > time_alone) draw(pool);
}

void cpu_random_yield(cpu_pool *pool) {
  if (!cpu_streams_are_random(pool)) return;
  while (cpu_check_draw_command(pool->device, 2)) {
    cpu_stream *stream = cpu_random_start(pool);
    if (!stream) return;
    cpu_stream_wait_until(stream, atomic_load(&stream->retired) + 1);
  }
}
