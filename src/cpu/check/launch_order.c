/* Which launches, copies and fills of a checked run happen before which (core/launch/stream_clocks.h). */
#include "session.h"

#include "cpu/schedule/stream.h"

#include <stdlib.h>

void check_order_open(cpu_check *check) {
  mw_lock_init(&check->order_lock);
  check->launch_count = 1;
  check->launch_capacity = 16;
  check->launches = mw_alloc(check->launch_capacity * sizeof(check_launch *));
}

void check_order_close(cpu_check *check) {
  mw_clocks_close(&check->clocks);
  for (uint32_t i = 1; i < check->launch_count; i++) {
    mw_clock_free(&check->launches[i]->order.known);
    free(check->launches[i]);
  }
  free(check->launches);
  pthread_mutex_destroy(&check->order_lock);
}

/* The session of a device, locked; NULL: there is none. */
static cpu_check *locked(const cpu_device *device) {
  cpu_check *check = cpu_check_of(device);
  if (check) mw_lock(&check->order_lock);
  return check;
}

static size_t number_of(cpu_check *check, const cpu_stream *stream) {
  return mw_clocks_stream(&check->clocks, stream, stream->flags);
}

uint32_t cpu_check_queued(cpu_stream *stream) {
  cpu_check *check = locked(stream->device);
  if (!check) return 0;
  uint32_t launch = check->launch_count++;
  if (check->launch_count > check->launch_capacity) {
    check->launch_capacity *= 2;
    check->launches = mw_realloc(check->launches, check->launch_capacity * sizeof(check_launch *));
  }
  check->launches[launch] = mw_alloc(sizeof(check_launch));
  mw_clocks_queue(&check->clocks, number_of(check, stream), &check->launches[launch]->order);
  mw_unlock(&check->order_lock);
  return launch;
}

void cpu_check_recorded(cpu_stream *stream, const void *event) {
  cpu_check *check = locked(stream->device);
  if (!check) return;
  mw_clocks_record(&check->clocks, number_of(check, stream), event);
  mw_unlock(&check->order_lock);
}

void cpu_check_waits(cpu_stream *stream, const void *event) {
  cpu_check *check = locked(stream->device);
  if (!check) return;
  mw_clocks_wait(&check->clocks, number_of(check, stream), event);
  mw_unlock(&check->order_lock);
}

void cpu_check_synchronized(cpu_stream *stream) {
  cpu_check *check = locked(stream->device);
  if (!check) return;
  mw_clocks_synchronized(&check->clocks, number_of(check, stream));
  mw_unlock(&check->order_lock);
}

void cpu_check_event_passed(cpu_device *device, const void *event) {
  cpu_check *check = locked(device);
  if (!check) return;
  mw_clocks_passed(&check->clocks, event);
  mw_unlock(&check->order_lock);
}

void cpu_check_freed(cpu_device *device, const void *stream_or_event) {
  cpu_check *check = locked(device);
  if (!check) return;
  mw_clocks_forget(&check->clocks, stream_or_event);
  mw_unlock(&check->order_lock);
}

bool check_launch_before(cpu_check *check, uint32_t first, uint32_t second) {
  mw_lock(&check->order_lock);
  bool before = first == second || mw_happens_before(&check->launches[first]->order, &check->launches[second]->order);
  mw_unlock(&check->order_lock);
  return before;
}

check_launch *check_launch_at(cpu_check *check, uint32_t launch) {
  mw_lock(&check->order_lock);
  check_launch *found = launch && launch < check->launch_count ? check->launches[launch] : NULL;
  mw_unlock(&check->order_lock);
  return found;
}
