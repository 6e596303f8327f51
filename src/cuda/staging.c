/* Large copies between host and device memory, staged through pinned memory.
 *
 * The device reads pinned memory only, several times faster than one core can copy into it. So a copy is divided into
 * parts that a few lanes process in turn: each lane has a thread, a stream and two buffers of pinned memory, of which
 * the thread fills (or empties) one while the device accesses the other (double buffering). */
#include "cuda/cuda.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = 8, SLOTS = 2, PART = 2 << 20 };

typedef struct lane {
  CUstream stream;
  unsigned char *slots[SLOTS];
  CUevent done[SLOTS];
} lane;

struct cuda_staging {
  pthread_mutex_t lock; /* one copy at a time */
  lane lanes[LANES];
  int cores;
};

/* One lane's work: the parts first, first + step, … */
typedef struct job {
  cuda_device *device;
  lane *lane;
  uint64_t address;
  unsigned char *host;
  size_t bytes, first, step;
  bool to_device;
  CUresult result;
} job;

struct cuda_staging *cuda_staging_open(void) {
  struct cuda_staging *staging = mw_alloc(sizeof *staging);
  mw_lock_init(&staging->lock);
  staging->cores = mw_processors();
  return staging;
}

void cuda_staging_forget(struct cuda_staging *staging) { memset(staging->lanes, 0, sizeof staging->lanes); }

/* Called with the device's context current. */
void cuda_staging_close(struct cuda_staging *staging) {
  if (!staging) return;
  for (int i = 0; i < LANES; i++) {
    lane *l = &staging->lanes[i];
    for (int k = 0; k < SLOTS; k++) {
      if (l->slots[k]) cu.cuMemFreeHost(l->slots[k]);
      if (l->done[k]) cu.cuEventDestroy(l->done[k]);
    }
    if (l->stream) cu.cuStreamDestroy(l->stream);
  }
  pthread_mutex_destroy(&staging->lock);
  free(staging);
}

static CUresult prepare(const cuda_device *device, lane *l) {
  CUresult result =
      l->stream ? 0 : cu.cuStreamCreateWithPriority(&l->stream, CU_STREAM_FLAG_NON_BLOCKING, device->urgent);
  for (int k = 0; k < SLOTS && result == 0; k++) {
    void *memory = NULL;
    if (!l->slots[k]) result = cu.cuMemHostAlloc(&memory, PART, CU_HOST_PORTABLE);
    if (memory) l->slots[k] = memory;
    if (result == 0 && !l->done[k]) result = cu.cuEventCreate(&l->done[k], CU_EVENT_NO_TIMING);
  }
  return result;
}

/* ---- a lane's work ---- */

static size_t part_at(const job *j, size_t n, size_t *bytes) {
  size_t at = (j->first + n * j->step) * PART;
  *bytes = at >= j->bytes ? 0 : j->bytes - at < PART ? j->bytes - at : PART;
  return at;
}

static CUresult send(job *j) {
  lane *l = j->lane;
  CUresult result = 0;
  size_t bytes;
  for (size_t n = 0, at; result == 0 && (at = part_at(j, n, &bytes), bytes > 0); n++) {
    size_t k = n % SLOTS;
    if (n >= SLOTS) result = cu.cuEventSynchronize(l->done[k]);
    if (result != 0) break;
    memcpy(l->slots[k], j->host + at, bytes);
    result = cu.cuMemcpyHtoDAsync(j->address + at, l->slots[k], bytes, l->stream);
    if (result == 0) result = cu.cuEventRecord(l->done[k], l->stream);
  }
  CUresult waited = cu.cuStreamSynchronize(l->stream);
  return result ? result : waited;
}

static CUresult queue_part(job *j, size_t n) {
  size_t bytes, at = part_at(j, n, &bytes), k = n % SLOTS;
  if (bytes == 0) return 0;
  CUresult result = cu.cuMemcpyDtoHAsync(j->lane->slots[k], j->address + at, bytes, j->lane->stream);
  return result ? result : cu.cuEventRecord(j->lane->done[k], j->lane->stream);
}

static CUresult receive(job *j) {
  lane *l = j->lane;
  CUresult result = 0;
  size_t bytes;
  for (size_t n = 0; n < SLOTS && result == 0; n++) result = queue_part(j, n);
  for (size_t n = 0, at; result == 0 && (at = part_at(j, n, &bytes), bytes > 0); n++) {
    size_t k = n % SLOTS;
    result = cu.cuEventSynchronize(l->done[k]);
    if (result != 0) break;
    memcpy(j->host + at, l->slots[k], bytes);
    result = queue_part(j, n + SLOTS);
  }
  CUresult waited = cu.cuStreamSynchronize(l->stream);
  return result ? result : waited;
}

static void *work(void *argument) {
  job *j = argument;
  j->result = cu.cuCtxSetCurrent(j->device->context);
  if (j->result == 0) j->result = j->to_device ? send(j) : receive(j);
  return NULL;
}

/* A thread costs some tens of microseconds, so an additional lane pays off from 2 parts on. */
static size_t count_lanes(const struct cuda_staging *staging, size_t bytes) {
  size_t parts = (bytes + PART - 1) / PART, most = staging->cores < LANES ? (size_t)staging->cores : LANES;
  size_t lanes = parts / 2;
  return lanes < 1 ? 1 : lanes > most ? most : lanes;
}

int cuda_stage(cuda_device *device, uint64_t address, void *host, size_t bytes, bool to_device) {
  struct cuda_staging *staging = device->staging;
  job jobs[LANES];
  pthread_t threads[LANES];
  bool started[LANES] = {false};
  mw_lock(&staging->lock);
  size_t lanes = count_lanes(staging, bytes);
  CUresult result = 0;
  for (size_t i = 0; i < lanes && result == 0; i++) result = prepare(device, &staging->lanes[i]);
  for (size_t i = 0; i < lanes && result == 0; i++) {
    jobs[i] = (job){device, &staging->lanes[i], address, host, bytes, i, lanes, to_device, 0};
    started[i] = i > 0 && pthread_create(&threads[i], NULL, work, &jobs[i]) == 0;
  }
  /* This thread also processes the parts of lanes that have no thread. */
  if (result == 0)
    for (size_t i = 0; i < lanes; i++)
      if (!started[i]) work(&jobs[i]);
  for (size_t i = 0; i < lanes; i++) {
    if (started[i]) pthread_join(threads[i], NULL);
    if (result == 0) result = jobs[i].result;
  }
  mw_unlock(&staging->lock);
  return cuda_outcome(device, result, to_device ? "writing memory" : "reading memory");
}
