/* Kernels that report failures instead of losing the GPU: the memory shared with the host, and matching reports to
 * launches.
 *
 * Code that fails an assertion or calls __trap() writes a report into pinned memory and ends
 * (device/moonwarp/guard.h); so does code with checks, which mwcc generates for devices with a time limit and for
 * modules with memory checks. Kernels with checks take an additional parameter, the launch number: by it the host
 * knows which launch a report belongs to and which grid it must stop. Other reports may belong to any launch of their
 * unit that is in flight.
 *
 * A waiting thread reads the reports before it removes commands from a stream's queue, since the commands say where a
 * kernel was launched. Locks are taken in the order guard, device, stream. */
#include "cuda/cuda.h"
#include "cuda/check/check.h"
#include "guard.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const double end_timeout = 10; /* seconds that a kernel may take to end after it was stopped */
enum { SITES_LISTED = 4 };            /* source positions in a message where the launch is ambiguous */

void cuda_guard_open(cuda_device *device) {
  device->guard = mw_alloc(sizeof *device->guard);
  mw_lock_init(&device->guard->lock);
}

void cuda_guard_forget(cuda_device *device) {
  cuda_guard *guard = device->guard;
  mw_lock(&guard->lock);
  atomic_store(&guard->host, NULL);
  guard->words = 0;
  guard->taken = 0;
  cuda_guard_table_forget(&guard->table);
  mw_unlock(&guard->lock);
}

void cuda_guard_close(cuda_device *device) {
  cuda_guard *guard = device->guard;
  if (!guard) return;
  cuda_monitor_close(device);
  mw_guard_host *host = atomic_load(&guard->host);
  if (host && cuda_enter_quietly(device)) {
    cu.cuMemFreeHost(host);
    cu.cuMemFree(guard->words);
    cuda_guard_table_free(&guard->table);
  }
  cuda_guard_table_forget(&guard->table);
  pthread_mutex_destroy(&guard->lock);
  free(guard);
  device->guard = NULL;
}

/* ---- memory shared with the host ---- */

CUresult cuda_guard_write(cuda_device *device, uint64_t at, const void *value, size_t bytes) {
  CUresult result = cu.cuMemcpyHtoDAsync(at, value, bytes, device->side);
  return result ? result : cu.cuStreamSynchronize(device->side);
}

static CUresult make_shared(cuda_device *device) {
  cuda_guard *guard = device->guard;
  mw_guard_words *empty = mw_alloc(sizeof *empty);
  void *host = NULL;
  CUdeviceptr words = 0;
  memset(empty, 0, sizeof *empty);
  empty->heap_first = UINT64_MAX;
  CUresult result = cu.cuMemHostAlloc(&host, sizeof(mw_guard_host), CU_HOST_PORTABLE | CU_HOST_MAPPED);
  if (result == 0) result = cuda_heap_unrecorded(device, sizeof *empty, &words);
  if (result == 0) {
    memset(host, 0, sizeof(mw_guard_host));
    result = cuda_guard_write(device, words, empty, sizeof *empty);
  }
  free(empty);
  if (result != 0) {
    if (words) cu.cuMemFree(words);
    if (host) cu.cuMemFreeHost(host);
    return result;
  }
  guard->words = words;
  atomic_store(&guard->host, host);
  return 0;
}

int cuda_guard_unit(cuda_device *device, cuda_unit *unit) {
  cuda_guard *guard = device->guard;
  CUdeviceptr address = 0;
  size_t bytes = 0;
  unit->guarded = false;
  if (cu.cuModuleGetGlobal(&address, &bytes, unit->module, "__mw_guard") != 0 || bytes < sizeof(mw_guard))
    return unit->numbered ? fail(MW_INVALID_KERNEL_IMAGE, "a module with checks lacks the variable __mw_guard")
                          : MW_SUCCESS;
  mw_lock(&guard->lock);
  CUresult result = atomic_load(&guard->host) ? 0 : make_shared(device);
  unit->guard_id = ++guard->units;
  mw_guard at = {.host = (uint64_t)(uintptr_t)atomic_load(&guard->host), .words = guard->words, .unit = unit->guard_id};
  if (result == 0) result = cuda_guard_write(device, address, &at, sizeof at);
  mw_unlock(&guard->lock);
  unit->guarded = result == 0;
  unit->guard = address;
  unit->table = 0;
  return cuda_outcome(device, result, "loading a module");
}

/* ---- launches ---- */

int cuda_guard_number(cuda_device *device, cuda_unit *unit, unsigned *number) {
  cuda_guard *guard = device->guard;
  mw_lock(&guard->lock);
  if (++guard->number == 0) guard->number = 1;
  *number = guard->number;
  CUresult result = unit->checked ? cuda_guard_table_update(device) : 0;
  if (result == 0 && unit->checked && unit->table != guard->table.current) {
    uint64_t table = guard->table.current;
    result = cuda_guard_write(device, unit->guard + offsetof(mw_guard, table), &table, sizeof table);
    unit->table = table;
  }
  mw_unlock(&guard->lock);
  return cuda_outcome(device, result, "a launch");
}

static uint64_t grid_of(cuda_guard *guard, unsigned number) {
  const volatile mw_guard_host *host = atomic_load(&guard->host);
  size_t at = number % MW_GUARD_LAUNCHES;
  return host && host->begun[at].number == number ? host->begun[at].grid : 0;
}

static unsigned number_of(cuda_guard *guard, uint64_t grid) {
  const volatile mw_guard_host *host = atomic_load(&guard->host);
  for (size_t i = 0; host && i < MW_GUARD_LAUNCHES; i++)
    if (host->begun[i].grid == grid && host->begun[i].number) return (unsigned)host->begun[i].number;
  return 0;
}

bool cuda_guard_has_begun(cuda_device *device, unsigned number) { return grid_of(device->guard, number) != 0; }

void cuda_guard_stop(cuda_device *device, unsigned number) {
  uint64_t grid = grid_of(device->guard, number);
  uint32_t mark = (uint32_t)grid << 1 | 1;
  size_t at = offsetof(mw_guard_words, stops) + grid % MW_GUARD_LAUNCHES * sizeof mark;
  if (grid) cuda_guard_write(device, device->guard->words + at, &mark, sizeof mark);
}

/* ---- reports ---- */

/* The launches that a report may belong to. */
typedef struct suspects {
  cuda_stream *stream;
  const mw_kernel_info *kernel; /* NULL: several kernels are possible */
  cuda_unit *unit;
  uint64_t owner;
  mw_text sites; /* "a.lua:3 or a.lua:5" */
  int site_count;
  bool interrupted;
  uint64_t last; /* the latest of them in `stream` */
} suspects;

static void suspect(suspects *s, cuda_stream *stream, const cuda_pending *pending, uint64_t at) {
  if (!s->stream) {
    s->stream = stream;
    s->kernel = pending->kernel;
    s->unit = pending->unit;
    s->owner = pending->owner;
    s->interrupted = pending->interrupted;
  }
  if (s->kernel != pending->kernel) s->kernel = NULL;
  if (pending->site[0] && s->site_count < SITES_LISTED && !(s->sites.length && strstr(s->sites.data, pending->site)))
    mw_text_addf(&s->sites, "%s%s", s->site_count++ ? " or " : "", pending->site);
  if (stream == s->stream) s->last = at;
}

static bool is_letter(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Whether the function that failed, "void fill(T *)" or "fill", may be the kernel itself, "ns::fill<float>". */
static bool may_name(const char *function, const char *kernel) {
  size_t end = strcspn(kernel, "<"), start = end;
  while (start > 0 && kernel[start - 1] != ':') start--;
  for (const char *at = function; (at = memmem(at, strlen(at), kernel + start, end - start)); at++) {
    char before = at > function ? at[-1] : ' ', next = at[end - start];
    if (!is_letter(before) && !is_letter(next)) return true;
  }
  return false;
}

/* Under the device's lock. named: only kernels that have the function's name. */
static void find_suspects(cuda_device *device, const mw_guard_report *report, bool named, suspects *s) {
  unsigned number = number_of(device->guard, report->grid);
  for (cuda_stream *stream = device->streams; stream; stream = stream->next) {
    mw_lock(&stream->lock);
    for (uint64_t i = stream->first; i < stream->end; i++) {
      const cuda_pending *pending = &stream->queue[i & (stream->capacity - 1)];
      if (!pending->kernel || pending->unit->guard_id != report->unit) continue;
      if (named && !may_name(report->function, pending->kernel->name)) continue;
      if (pending->number == number) suspect(s, stream, pending, i);
    }
    mw_unlock(&stream->lock);
  }
}

static void keep_failure(cuda_device *device, const mw_guard_report *report) {
  suspects s = {0};
  mw_lock(&device->lock);
  find_suspects(device, report, report->function[0], &s);
  if (!s.stream) find_suspects(device, report, false, &s);
  if (s.stream) {
    mw_error *error =
        cuda_guard_report(device, report, s.kernel, s.unit, s.sites.length ? s.sites.data : "", s.interrupted);
    mw_lock(&s.stream->lock);
    s.stream->ending = s.last + 1;
    s.stream->ending_since = mw_time();
    mw_unlock(&s.stream->lock);
    if (!cuda_check_keeps(device, report, error)) mw_stream_fail(s.stream->core, s.owner, error);
  }
  mw_unlock(&device->lock);
  mw_text_free(&s.sites);
}

/* Resets a grid barrier at which not all blocks arrived. */
static void clear_barrier(cuda_device *device, uint64_t grid) {
  static const uint32_t none = 0;
  size_t at = offsetof(mw_guard_words, barriers) + grid % MW_GUARD_LAUNCHES * sizeof none;
  cuda_guard_write(device, device->guard->words + at, &none, sizeof none);
}

/* The count in the n-th report's slot: the report is there if that is more than n. */
static unsigned count_of(const mw_guard_host *host, unsigned n) {
  return __atomic_load_n(&host->reports[n % MW_GUARD_REPORTS].count, __ATOMIC_ACQUIRE);
}

static bool is_there(unsigned count, unsigned n) {
  return (int)(count - n) > 0 && (count - n) % MW_GUARD_REPORTS == 1; /* else a later report is being written */
}

/* Copies the n-th report if it is complete; returns its count, or n. Meanwhile the GPU may write a later one, n +
   MW_GUARD_REPORTS, into the same slot. */
static unsigned copy_report(const mw_guard_host *host, unsigned n, mw_guard_report *out) {
  unsigned count = count_of(host, n);
  while (is_there(count, n)) {
    *out = host->reports[n % MW_GUARD_REPORTS];
    atomic_thread_fence(memory_order_acquire);
    unsigned now = count_of(host, n);
    if (now == count) return count;
    count = now;
  }
  return n;
}

void cuda_guard_take(cuda_device *device) {
  cuda_guard *guard = device->guard;
  const mw_guard_host *host = atomic_load_explicit(&guard->host, memory_order_acquire);
  unsigned taken = atomic_load(&guard->taken);
  if (!host || !is_there(count_of(host, taken), taken)) return;
  mw_lock(&guard->lock);
  mw_guard_report report;
  for (unsigned count; (host = atomic_load(&guard->host)) != NULL; guard->taken = count) {
    count = copy_report(host, guard->taken, &report);
    if (count == guard->taken) break; /* if it is more than one further, reports were overwritten */
    keep_failure(device, &report);
    clear_barrier(device, report.grid);
  }
  mw_unlock(&guard->lock);
}

bool cuda_guard_gives_up(cuda_device *device) {
  double now = mw_time();
  bool found = false;
  mw_lock(&device->lock);
  for (cuda_stream *stream = device->streams; stream && !found; stream = stream->next) {
    mw_lock(&stream->lock);
    /* If more was queued after it, a later command may be the one that runs. */
    bool is_last = stream->ending && stream->ending == stream->end && stream->first < stream->end;
    found = is_last && now - stream->ending_since > end_timeout && cu.cuStreamQuery(stream->handle) == CUDA_NOT_READY;
    mw_unlock(&stream->lock);
  }
  mw_unlock(&device->lock);
  return found;
}
