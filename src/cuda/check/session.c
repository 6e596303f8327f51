/* The session of a checked run on a GPU. */
#include "session.h"

#include <stdlib.h>
#include <string.h>

enum {
  PAGES = 1 << 16,
  FINDINGS = 1 << 13,
  PAIRS = 1 << 16,
  LOG = 1 << 20,
  HEADS = 1 << 18,
  MALLOCS = 1 << 18,
  SPARE = 16,     /* pages of memory of malloc that have shadows */
  RUNS = 1 << 28, /* as many as mw_follow_cell and its companions tell apart */
  SITES = 1 << 20,
  RESERVED = 1 << 10, /* bytes of shared memory that the system takes */
};

/* ---- beginning and ending ---- */

/* One allocation for all, since allocating is slow. */
static bool open_rooms(check_session *check) {
  mw_follow_session *s = &check->at;
  *s = (mw_follow_session){.page_room = PAGES,
                           .finding_room = FINDINGS,
                           .pair_room = PAIRS,
                           .log_room = LOG,
                           .head_room = HEADS,
                           .malloc_room = MALLOCS};
  const struct {
    unsigned long long *at;
    size_t bytes;
  } rooms[] = {{&s->pages, PAGES * sizeof(mw_follow_page)}, {&s->findings, FINDINGS * sizeof(mw_follow_finding)},
               {&s->pairs, PAIRS * sizeof(mw_follow_pair)}, {&s->log, LOG * sizeof(mw_follow_event)},
               {&s->heads, HEADS * sizeof(mw_follow_head)}, {&s->mallocs, MALLOCS * sizeof(mw_follow_malloc)}};
  size_t bytes = sizeof *s;
  for (size_t i = 0; i < MW_COUNT(rooms); i++) bytes += (rooms[i].bytes + 255) & ~(size_t)255;
  CUdeviceptr room = check_room(check, bytes, 0);
  if (!room) return false;
  for (size_t i = 0; i < MW_COUNT(rooms); i++) {
    *rooms[i].at = room;
    room += (rooms[i].bytes + 255) & ~(size_t)255;
  }
  check->session = room;
  s->spare = check->kinds & MW_CHECK_INITIALISATION ? check_room(check, SPARE * MW_FOLLOW_PAGE_WORDS, 15) : 0;
  s->spare_room = s->spare ? SPARE : 0;
  return cu.cuMemcpyHtoDAsync(check->session, s, sizeof *s, check->device->side) == 0 &&
         cu.cuStreamSynchronize(check->device->side) == 0;
}

/* What launches need of this, they do not allocate. */
static void open_pool(check_session *check) {
  size_t bytes = check->kinds & MW_CHECK_RACES            ? (size_t)128 << 20
                 : check->kinds & MW_CHECK_INITIALISATION ? (size_t)16 << 20
                                                          : 0;
  check->pool = bytes ? check_room(check, bytes, 0) : 0;
  check->pool_bytes = check->pool ? bytes : 0;
}

static CUdeviceptr slots_room(check_session *check, size_t bytes) {
  if (bytes > check->pool_bytes) return check_room(check, bytes, 0);
  CUdeviceptr room = check->pool;
  check->pool += bytes;
  check->pool_bytes -= bytes;
  return room;
}

static void free_clocks(check_session *check) {
  for (size_t i = 0; i < check->launch_count; i++) {
    mw_clock_free(&check->launches[i].order.known);
    free(check->launches[i].kernel);
  }
  mw_clocks_close(&check->clocks);
}

/* has_context: its memory is still there. */
static void close_session(check_session *check, bool has_context) {
  for (size_t i = 0; has_context && i < check->owned_count; i++) cu.cuMemFree(check->owned[i]);
  free_clocks(check);
  for (unsigned i = 1; i < check->next_site; i++) {
    free(check->sites[i].file);
    free(check->sites[i].name);
  }
  pthread_mutex_destroy(&check->lock);
  free(check->launches);
  free(check->rooms);
  free(check->units);
  free(check->sites);
  free(check->pages);
  free(check->allocated);
  free(check->freed);
  free(check->commands);
  free(check->owned);
  mw_text_free(&check->notes);
  free(check);
}

static int open_session(cuda_device *device, unsigned kinds) {
  check_session *check = mw_alloc(sizeof *check);
  check->device = device;
  check->kinds = kinds;
  check->next_run = check->next_site = 1;
  check->pages = mw_alloc(PAGES * sizeof *check->pages);
  mw_lock_init(&check->lock);
  if (!open_rooms(check)) {
    close_session(check, true);
    return fail(MW_MEMORY_ALLOCATION, "cuda:%d has no memory for a checked run", device->ordinal);
  }
  open_pool(check);
  int code = check_cover(check);
  if (code != MW_SUCCESS)
    close_session(check, true);
  else
    device->check = check;
  return code;
}

int cuda_check_begin(void *handle, unsigned kinds, uint64_t seed) {
  cuda_device *device = handle;
  int code = cuda_enter(device);
  if (code != MW_SUCCESS) return code;
  if (device->check || device->past)
    return fail(MW_INVALID_VALUE, "a checked run of this device is under way already: checked runs do not nest");
  if (seed)
    return fail(MW_NOT_SUPPORTED, "schedule = \"random\" needs the CPU device: on a GPU the hardware schedules the "
                                  "threads. Write mw.use(\"cpu\") before it");
  if (device->major < 7)
    return fail(MW_NOT_SUPPORTED,
                "checked runs want a GPU of compute capability 7.0, whose threads run independently, "
                "and cuda:%d has %d.%d",
                device->ordinal, device->major, device->minor);
  return open_session(device, kinds);
}

static mw_report *report_of_past(cuda_device *device) {
  struct check_past *past = device->past;
  mw_report *report = mw_report_new(past->findings, past->finding_count);
  mw_report_say(report, past->notes.data);
  free(past);
  device->past = NULL;
  return report;
}

int cuda_check_end(void *handle, mw_report **out) {
  cuda_device *device = handle;
  check_session *check = device->check;
  if (device->past) {
    *out = report_of_past(device);
    return MW_SUCCESS;
  }
  if (!check) return fail(MW_INVALID_VALUE, "no checked run of this device is under way");
  int code = cuda_enter(device);
  if (code == MW_SUCCESS) code = check_collect(check, &check->notes);
  device->check = NULL;
  if (code == MW_SUCCESS) check_give_back(check);
  *out = mw_report_new(check->findings, check->finding_count);
  mw_report_say(*out, check->notes.data);
  check->notes = (mw_text){0};
  if (code != MW_SUCCESS) mw_report_release(*out);
  close_session(check, code == MW_SUCCESS);
  return code;
}

void cuda_check_forget(cuda_device *device) {
  check_session *check = device->check;
  if (device->past) mw_report_release(report_of_past(device));
  if (!check) return;
  device->check = NULL;
  mw_report_release(mw_report_new(check->findings, check->finding_count));
  close_session(check, false);
}

/* ---- a reset of the device ---- */

static void note(mw_text *notes, const char *before, const cuda_device *device, const char *after) {
  mw_text_addf(notes, "%s%s cuda:%d was reset%s", notes->length ? "\n" : "", before, device->ordinal, after);
}

void cuda_check_leave(cuda_device *device) {
  check_session *check = device->check;
  if (!check) return;
  if (cuda_enter(device) != MW_SUCCESS || check_collect(check, &check->notes) != MW_SUCCESS)
    note(&check->notes, "what kernels did before the failure after which", device, "");
  struct check_past *past = device->past = mw_alloc(sizeof *past);
  *past = (struct check_past){check->kinds, check->findings, check->finding_count, check->notes};
  device->check = NULL;
  check->notes = (mw_text){0};
  close_session(check, false);
}

void cuda_check_go_on(cuda_device *device) {
  struct check_past *past = device->past;
  if (!past) return;
  if (open_session(device, past->kinds) != MW_SUCCESS) {
    note(&past->notes, "launches after", device, ", for lack of memory");
    return;
  }
  device->check->findings = past->findings;
  device->check->finding_count = past->finding_count;
  device->check->notes = past->notes;
  free(past);
  device->past = NULL;
}

/* ---- launches ---- */

static char *copy_of(const char *text) { return text && *text ? mw_strdup(text) : NULL; }

static unsigned first_site_of(check_session *check, const cuda_unit *unit) {
  for (size_t i = 0; i < check->unit_count; i++)
    if (check->units[i].unit == unit) return check->units[i].first_site;
  unsigned first = check->next_site - 1;
  check->sites = mw_realloc(check->sites, (check->next_site + unit->site_count) * sizeof *check->sites);
  for (size_t i = 0; i < unit->site_count; i++) {
    const cuda_site *from = &unit->sites[i];
    int line = from->line;
    const char *file = from->file && *from->file ? cuda_unit_place(unit, from->file, &line) : NULL;
    check->sites[check->next_site++] = (check_site){copy_of(file), copy_of(from->name), line, from->bytes};
  }
  check->units = mw_realloc(check->units, (check->unit_count + 1) * sizeof *check->units);
  check->units[check->unit_count++] = (check_unit){unit, first};
  return first;
}

/* The first run of those launches that the latest does not come after. */
static unsigned floor_of(const check_session *check, const check_launch *latest) {
  for (const check_launch *l = check->launches; l < latest; l++)
    if (l->kernel && !mw_happens_before(&l->order, &latest->order)) return l->base;
  return latest->base;
}

/* Blocks that are resident at once, at most. */
static unsigned resident(const cuda_kernel *kernel, const mw_launch_request *r, unsigned threads, unsigned blocks) {
  int each = 0;
  if (cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel->function, (int)threads, r->dynamic_shared) != 0)
    each = 32;
  uint64_t all = (uint64_t)(each ? each : 1) * (unsigned)kernel->unit->device->multiprocessors;
  return all < blocks ? (unsigned)all : blocks;
}

/* What a block needs beside its shared memory; nothing: no slots. */
enum { FROM_THREADS = MW_FOLLOW_RACES | MW_FOLLOW_WARPS | MW_FOLLOW_ARRIVALS };
static void lay_out(const check_session *check, const cuda_kernel *kernel, const mw_launch_request *r,
                    mw_follow_launch *launch) {
  unsigned follows = kernel->unit->follows;
  size_t own = kernel->info.shared_bytes > sizeof(mw_follow_here) ? kernel->info.shared_bytes : 0;
  size_t shared = own || r->dynamic_shared ? kernel->info.shared_bytes + r->dynamic_shared + RESERVED + 64 : 0;
  size_t bytes = offsetof(mw_follow_block, threads);
  if (follows & (MW_FOLLOW_RACES | MW_FOLLOW_ARRIVALS)) bytes += launch->threads * sizeof(mw_follow_thread);
  if (!(follows & FROM_THREADS)) bytes = offsetof(mw_follow_block, warps);
  launch->shared_words = (unsigned)((shared + 3) / 4);
  bytes = (bytes + 63) & ~(size_t)63;
  if (launch->shared_words && check->kinds & MW_CHECK_RACES) {
    launch->cells_at = bytes;
    bytes += launch->shared_words * sizeof(mw_follow_cell) * (follows & MW_FOLLOW_BYTES ? 4 : 1);
  }
  if (launch->shared_words && check->kinds & MW_CHECK_INITIALISATION) {
    launch->written_at = bytes;
    bytes += (launch->shared_words + 3) & ~(size_t)3;
  }
  bool needs_slots = follows & FROM_THREADS || launch->written_at;
  launch->slot_count = needs_slots ? resident(kernel, r, launch->threads, launch->blocks) : 0;
  launch->slot_bytes = (bytes + 255) & ~(size_t)255;
}

static check_stream_room *room_of(check_session *check, const cuda_stream *stream) {
  size_t number = check_stream_number(check, stream);
  if (number >= check->room_count) {
    check->rooms = mw_realloc(check->rooms, (number + 1) * sizeof *check->rooms);
    memset(check->rooms + check->room_count, 0, (number + 1 - check->room_count) * sizeof *check->rooms);
    check->room_count = number + 1;
  }
  return &check->rooms[number];
}

/* Room for the launch and its slots, cleared in the stream. */
static CUresult take_room(check_session *check, cuda_stream *stream, mw_follow_launch *launch, CUdeviceptr *address) {
  check_stream_room *own = room_of(check, stream);
  size_t head = (sizeof *launch + (launch->slot_count + 31) / 32 * sizeof(uint32_t) + 255) & ~(size_t)255;
  size_t bytes = (head + launch->slot_count * launch->slot_bytes + 255) & ~(size_t)255;
  if (bytes > own->bytes) {
    own->at = slots_room(check, bytes);
    own->bytes = own->at ? bytes : 0;
    if (!own->at) return CUDA_OUT_OF_MEMORY;
  }
  *address = own->at;
  launch->slots = own->at + head;
  CUresult result = cu.cuMemsetD8Async(own->at, 0, bytes, stream->handle);
  return result ? result : cu.cuMemcpyHtoDAsync(own->at, launch, sizeof *launch, stream->handle);
}

check_launch *check_add_launch(check_session *check, const char *kernel, const mw_launch_request *r, unsigned blocks) {
  if (check->next_run + (uint64_t)blocks > RUNS) {
    check->has_many = true;
    return NULL;
  }
  check->launches = mw_realloc(check->launches, (check->launch_count + 1) * sizeof *check->launches);
  check_launch *made = &check->launches[check->launch_count++];
  *made = (check_launch){.kernel = kernel ? mw_strdup(kernel) : NULL, .base = check->next_run, .blocks = blocks};
  if (r) memcpy(made->grid, r->grid, sizeof made->grid);
  if (r) memcpy(made->block, r->block, sizeof made->block);
  check->next_run += blocks;
  return made;
}

static cuda_extent extent_of(const cuda_kernel *kernel, const mw_launch_request *r, size_t found) {
  uint64_t address;
  memcpy(&address, (const char *)r->params + kernel->info.params[kernel->found[found]].offset, sizeof address);
  return cuda_heaps_find(address);
}

/* Which of the first parameters point to arrays of which all is written. */
static unsigned find_whole(const check_session *check, const cuda_kernel *kernel, const mw_launch_request *r) {
  enum { BITS = 32 };
  unsigned whole = 0;
  for (size_t i = 0; i < kernel->found_count && check->kinds & MW_CHECK_INITIALISATION; i++)
    if (kernel->found[i] < BITS && check_is_whole(check, extent_of(kernel, r, i))) whole |= 1u << kernel->found[i];
  return whole;
}

static bool are_apart(cuda_extent a, cuda_extent b) {
  return a.bytes && b.bytes && (a.address + a.bytes <= b.address || b.address + b.bytes <= a.address);
}

/* Which of the first parameters point to arrays to which nothing writes while the kernel runs, if there is no other
   stream. */
static unsigned find_read_only(const cuda_kernel *kernel, const mw_launch_request *r) {
  enum { BITS = 32 };
  unsigned read_only = 0;
  for (size_t i = 0; i < kernel->found_count && !r->dependent; i++) {
    if (!kernel->only_read[i] || kernel->found[i] >= BITS) continue;
    bool apart = true;
    for (size_t k = 0; k < kernel->found_count && apart; k++)
      apart = kernel->only_read[k] || are_apart(extent_of(kernel, r, i), extent_of(kernel, r, k));
    if (apart) read_only |= 1u << kernel->found[i];
  }
  return read_only;
}

static bool has_other_streams(cuda_device *device) {
  mw_lock(&device->lock);
  bool has = device->streams && device->streams->next;
  mw_unlock(&device->lock);
  return has;
}

static int follow(check_session *check, cuda_stream *stream, const cuda_kernel *kernel, const mw_launch_request *r,
                  unsigned read_only, uint64_t *address) {
  uint64_t blocks = (uint64_t)r->grid[0] * r->grid[1] * r->grid[2];
  if (blocks + check->next_run > RUNS || check->next_site + kernel->unit->site_count > SITES) {
    check->has_many = true;
    return MW_SUCCESS;
  }
  int code = check_cover(check);
  if (code != MW_SUCCESS) return code;
  mw_follow_launch launch = {.session = check->session,
                             .threads = r->block[0] * r->block[1] * r->block[2],
                             .blocks = (unsigned)blocks,
                             .kinds = check->kinds,
                             .whole = find_whole(check, kernel, r),
                             .read_only = read_only,
                             .first_site = first_site_of(check, kernel->unit)};
  check_launch *made = check_add_launch(check, kernel->info.name, r, launch.blocks);
  mw_clocks_queue(&check->clocks, check_stream_number(check, stream), &made->order);
  made->skips_reads = read_only != 0;
  check_meet_reads(check, made);
  launch.base = made->base;
  launch.floor = floor_of(check, made);
  lay_out(check, kernel, r, &launch);
  CUresult result = take_room(check, stream, &launch, address);
  if (result == CUDA_OUT_OF_MEMORY)
    return fail(MW_MEMORY_ALLOCATION, "cuda:%d has no memory to check %s: launch fewer blocks at a time",
                check->device->ordinal, kernel->info.name);
  return cuda_outcome(check->device, result, "a checked launch");
}

int cuda_check_launch(cuda_stream *stream, const cuda_kernel *kernel, const mw_launch_request *request,
                      uint64_t *address) {
  check_session *check = stream->device->check;
  *address = 0;
  if (!check) return MW_SUCCESS;
  bool may_skip_reads = check->kinds & MW_CHECK_RACES && !has_other_streams(stream->device);
  unsigned read_only = may_skip_reads ? find_read_only(kernel, request) : 0;
  mw_lock(&check->lock);
  int code = follow(check, stream, kernel, request, read_only, address);
  mw_unlock(&check->lock);
  return code;
}

void cuda_check_unfollowed(cuda_stream *stream) {
  check_session *check = stream->device->check;
  if (!check) return;
  mw_lock(&check->lock);
  check_wrote_arrays(check, stream->handle);
  mw_unlock(&check->lock);
}
