/* The order of commands within a stream and between streams.
 *
 * A command is pushed after `last` and runs as `current`. It is finished when its blocks are done and its completion
 * has been called, and retires (its struct is reused) when all before it have retired. The next command starts before
 * the completion is called, so that freeing memory does not delay the stream. Commands without blocks, records and
 * waits, are executed here: a record lets the streams continue that wait for its mark.
 *
 * The legacy default stream's rule is built from records and waits: work in the legacy stream waits for a mark in each
 * stream that takes part and has work, and work in one of those waits for a mark in the legacy stream. `ordered` and
 * `ordered_legacy` record how far that has been done. The pool's lock is held throughout. */
#include "cpu/fault/fault.h"
#include "pool.h"
#include "stream.h"
#include "cpu/watch/watch.h"

#include <stdlib.h>

/* ---- within a stream ---- */

cpu_command *cpu_stream_command(cpu_stream *stream, cpu_command_kind kind, mw_completion completion) {
  cpu_command *command = stream->unused;
  if (command)
    stream->unused = command->next;
  else
    command = mw_alloc(sizeof *command);
  command->next = NULL;
  command->stream = stream;
  command->completion = completion;
  command->kind = kind;
  atomic_store_explicit(&command->doing, kind, memory_order_relaxed);
  command->deadline = 0;
  command->residents = NULL;
  command->screen = NULL;
  command->drawn = command->awaits_draw = false;
  command->watched = NULL;
  atomic_store_explicit(&command->family, NULL, memory_order_relaxed);
  cpu_command_keep_order(command);
  command->finished = command->timed_out = command->reported = command->interrupted = false;
  atomic_store_explicit(&command->taken, 0, memory_order_relaxed);
  atomic_store_explicit(&command->stop, false, memory_order_relaxed);
  return command;
}

void cpu_stream_push(cpu_stream *stream, cpu_command *command) {
  if (stream->last)
    stream->last->next = command;
  else
    stream->first = command;
  stream->last = command;
  atomic_store_explicit(&stream->issued, stream->issued + 1, memory_order_relaxed);
  if (stream->current) return;
  stream->current = command;
  cpu_stream_advance(stream);
}

static void retire(cpu_stream *stream) {
  uint64_t retired = atomic_load(&stream->retired);
  while (stream->first && stream->first->finished) {
    cpu_command *command = stream->first;
    stream->first = command->next;
    if (!stream->first) stream->last = NULL;
    command->next = stream->unused;
    stream->unused = command;
    retired++;
  }
  atomic_store(&stream->retired, retired);
  if (retired < stream->awaited) return;
  stream->awaited = UINT64_MAX;
  pthread_cond_broadcast(&stream->moved);
}

/* Wake sleeping host threads: the stream that one waits for may be blocked by a hold now, which ends the wait. */
static void wake_waiting(const cpu_device *device) {
  for (cpu_stream *stream = device->streams; stream; stream = stream->next) {
    if (stream->awaited != UINT64_MAX) pthread_cond_broadcast(&stream->moved);
  }
}

static void block(cpu_stream *stream, cpu_mark *mark) {
  stream->blocked = mark;
  stream->next_waiting = mark->waiting;
  mark->waiting = stream;
  if (stream->device->holds > 0) wake_waiting(stream->device);
}

/* Finishing a record's mark may advance other streams, recursively, but never a stream that is being advanced already:
   such a stream does not wait for a mark. */
void cpu_stream_advance(cpu_stream *stream) {
  bool moved = false;
  for (cpu_command *command; (command = stream->current) != NULL; moved = true) {
    if (command->kind < CPU_RECORD) {
      command->awaits_draw = cpu_streams_are_random(stream->device->pool);
      if (!command->awaits_draw) cpu_pool_activate(stream->device->pool, command);
      break;
    }
    if (command->kind == CPU_WAIT && !command->mark->done) {
      block(stream, command->mark);
      break;
    }
    if (command->kind == CPU_RECORD) cpu_mark_finish(command->mark);
    cpu_mark_drop(command->mark);
    command->finished = true;
    stream->current = command->next;
  }
  if (moved) retire(stream);
}

static void complete(cpu_pool *pool, mw_completion completion) {
  if (!completion.done) return;
  cpu_pool_unlock(pool);
  completion.done(completion.context);
  mw_lock(&pool->lock);
}

void cpu_stream_finish(cpu_command *command) {
  cpu_stream *stream = command->stream;
  cpu_pool *pool = stream->device->pool;
  mw_completion completion = command->completion;
  if (command->timed_out && !command->reported) cpu_stream_fail(command, cpu_fault_report(NULL, command));
  if (command->kind == CPU_CALL) complete(pool, completion);
  if (command->watched) {
    cpu_pool_unlock(pool);
    cpu_watched_end(command);
    mw_lock(&pool->lock);
  }
  stream->current = command->next;
  cpu_stream_advance(stream);
  if (command->kind != CPU_CALL) complete(pool, completion);
  command->finished = true;
  retire(stream);
  cpu_random_finish(pool, command);
}

/* ---- between streams ---- */

cpu_mark *cpu_stream_mark(cpu_stream *stream) {
  cpu_command *command = cpu_stream_command(stream, CPU_RECORD, (mw_completion){0});
  cpu_mark *mark = cpu_mark_new(stream);
  mark->number = stream->issued + 1;
  command->mark = cpu_mark_take(mark);
  cpu_stream_push(stream, command);
  return mark;
}

void cpu_stream_wait_for(cpu_stream *stream, cpu_mark *mark) {
  cpu_command *command = cpu_stream_command(stream, CPU_WAIT, (mw_completion){0});
  command->mark = cpu_mark_take(mark);
  cpu_stream_push(stream, command);
}

cpu_mark *cpu_stream_hold_of(cpu_stream *stream) {
  while (stream->blocked && stream->blocked->stream) stream = stream->blocked->stream;
  return stream->blocked;
}

static bool is_blocking(const cpu_stream *stream) {
  return !(stream->flags & (MW_STREAM_NON_BLOCKING | MW_STREAM_LEGACY));
}

static bool has_work(const cpu_stream *stream) { return atomic_load(&stream->retired) != stream->issued; }

/* Work queued in `stream` from now on waits for the work that `other` has now. */
static void wait_for_work_of(cpu_stream *stream, cpu_stream *other) {
  cpu_mark *mark = cpu_stream_mark(other);
  if (!mark->done) cpu_stream_wait_for(stream, mark);
  cpu_mark_drop(mark);
}

void cpu_stream_order(cpu_stream *stream) {
  cpu_device *device = stream->device;
  if (stream->flags & MW_STREAM_NON_BLOCKING) return;
  for (cpu_stream *other = device->streams; other; other = other->next) {
    if (stream->flags & MW_STREAM_LEGACY) {
      if (!is_blocking(other) || !has_work(other) || other->ordered == other->issued) continue;
      wait_for_work_of(stream, other);
      other->ordered = other->issued;
    } else if (other->flags & MW_STREAM_LEGACY) {
      if (!has_work(other) || stream->ordered_legacy == other->issued) continue;
      wait_for_work_of(stream, other);
      stream->ordered_legacy = other->issued;
    }
  }
}

bool cpu_stream_ordered(const cpu_stream *stream) {
  if (stream->flags & MW_STREAM_NON_BLOCKING) return true;
  for (const cpu_stream *other = stream->device->streams; other; other = other->next) {
    bool matters = stream->flags & MW_STREAM_LEGACY ? is_blocking(other) : (other->flags & MW_STREAM_LEGACY) != 0;
    if (matters && has_work(other)) return false;
  }
  return true;
}
