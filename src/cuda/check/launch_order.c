/* Which launches, copies and fills of a checked run happen before which (core/launch/stream_clocks.h). */
#include "session.h"

size_t check_stream_number(check_session *check, const cuda_stream *stream) {
  return mw_clocks_stream(&check->clocks, stream, stream->flags);
}

void check_meet_reads(check_session *check, const check_launch *made) {
  for (const check_launch *l = check->launches; l < made && !check->misses_reads; l++)
    check->misses_reads = l->skips_reads && !mw_happens_before(&l->order, &made->order);
}

static check_session *locked(const cuda_device *device) {
  check_session *check = device->check;
  if (check) mw_lock(&check->lock);
  return check;
}

void cuda_check_recorded(cuda_stream *stream, const void *event) {
  check_session *check = locked(stream->device);
  if (!check) return;
  mw_clocks_record(&check->clocks, check_stream_number(check, stream), event);
  mw_unlock(&check->lock);
}

void cuda_check_waits(cuda_stream *stream, const void *event) {
  check_session *check = locked(stream->device);
  if (!check) return;
  mw_clocks_wait(&check->clocks, check_stream_number(check, stream), event);
  mw_unlock(&check->lock);
}

void cuda_check_synchronized(cuda_stream *stream) {
  check_session *check = locked(stream->device);
  if (!check) return;
  mw_clocks_synchronized(&check->clocks, check_stream_number(check, stream));
  mw_unlock(&check->lock);
}

void cuda_check_passed(cuda_device *device, const void *event) {
  check_session *check = locked(device);
  if (!check) return;
  mw_clocks_passed(&check->clocks, event);
  mw_unlock(&check->lock);
}

void cuda_check_freed(cuda_device *device, const void *stream_or_event) {
  check_session *check = locked(device);
  if (!check) return;
  mw_clocks_forget(&check->clocks, stream_or_event);
  mw_unlock(&check->lock);
}
