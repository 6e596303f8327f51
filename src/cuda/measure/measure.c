/* The memory of a measured run on a GPU, and its result. */
#include "measure.h"

#include "core/launch/watch.h"
#include "device/moonwarp/measured_run/layout.h"

#include <stdlib.h>
#include <string.h>

enum { EVERYTHING = 15 /* accesses, synchronisation, branches and basic blocks, of enum mw_observed */ };

/* A kernel that was launched. Its memory has a mw_measured_launch, then samples, then sums. */
typedef struct measured {
  struct measured *next;
  const cuda_kernel *kernel;
  CUdeviceptr memory;
  size_t bytes, samples_at, sums_at;
  uint64_t launches, blocks;
} measured;

typedef struct measurement {
  cuda_device *device;
  unsigned epoch;
  enum mw_rule_set rules;
  pthread_mutex_t lock; /* guards the list */
  measured *kernels;
} measurement;

/* ---- beginning and ending ---- */

int cuda_measure_new(void *handle, const char *watchers, unsigned *observes, void **out) {
  static const char name[] = "counters";
  cuda_device *device = handle;
  size_t length = strcspn(watchers, ":");
  if (length != strlen(name) || strncmp(watchers, name, length) != 0)
    return fail(MW_NOT_SUPPORTED,
                "on cuda:%d launches can be measured, and not recorded access by access or stepped through: use the "
                "CPU device for that, mw.use \"cpu\"",
                device->ordinal);
  int code = cuda_enter(device);
  if (code != MW_SUCCESS) return code;
  if (device->major < 7)
    return fail(MW_NOT_SUPPORTED,
                "measured runs want a GPU of compute capability 7.0, whose warps can compare their lanes' addresses, "
                "and cuda:%d has %d.%d: use the CPU device, mw.use \"cpu\"",
                device->ordinal, device->major, device->minor);
  enum mw_rule_set rules;
  code = mw_watch_rules(watchers + length + (watchers[length] == ':'), &rules);
  if (code != MW_SUCCESS) return code;
  measurement *m = mw_alloc(sizeof *m);
  *m = (measurement){.device = device, .epoch = device->epoch, .rules = rules};
  mw_lock_init(&m->lock);
  *observes = EVERYTHING;
  *out = m;
  return MW_SUCCESS;
}

void cuda_measure_free(void *handle) {
  measurement *m = handle;
  bool has_context = m->epoch == m->device->epoch && cuda_enter_quietly(m->device);
  for (measured *k = m->kernels, *next; k; k = next) {
    next = k->next;
    if (has_context) cu.cuMemFree(k->memory);
    free(k);
  }
  pthread_mutex_destroy(&m->lock);
  free(m);
}

/* ---- launches ---- */

static CUresult prepare(const measurement *m, measured *k) {
  size_t count = k->kernel->unit->place_count;
  k->samples_at = sizeof(mw_measured_launch);
  k->sums_at = k->samples_at + count * sizeof(mw_measured_sample);
  k->bytes = k->sums_at + MW_MEASURED_COPIES * count * MW_MEASURED_SPACES * sizeof(mw_measured_sums);
  CUresult result = cuda_heap_unrecorded(m->device, k->bytes, &k->memory);
  if (result != 0) return result;
  const struct {
    unsigned long long sums, samples;
    unsigned site_count, rules;
  } head = {k->memory + k->sums_at, k->memory + k->samples_at, (unsigned)count, m->rules};
  result = cu.cuMemsetD8Async(k->memory, 0, k->bytes, m->device->side);
  if (result == 0) result = cu.cuMemcpyHtoDAsync(k->memory, &head, sizeof head, m->device->side);
  if (result == 0) result = cu.cuStreamSynchronize(m->device->side);
  if (result != 0) cu.cuMemFree(k->memory);
  return result;
}

static int find_or_add(measurement *m, const cuda_kernel *kernel, measured **out) {
  measured **at = &m->kernels;
  while (*at && (*at)->kernel != kernel) at = &(*at)->next;
  *out = *at;
  if (*at) return MW_SUCCESS;
  measured made = {.kernel = kernel};
  CUresult result = prepare(m, &made);
  if (result == CUDA_OUT_OF_MEMORY)
    return fail(MW_MEMORY_ALLOCATION,
                "cuda:%d has no memory for the counts of %s, %zu bytes: free arrays, or measure on the CPU device",
                m->device->ordinal, kernel->info.name, made.bytes);
  if (result != 0) return cuda_outcome(m->device, result, "a measured launch");
  *at = *out = mw_alloc(sizeof made);
  **at = made;
  return MW_SUCCESS;
}

int cuda_measure_launch(const cuda_kernel *kernel, const mw_launch_request *request, uint64_t *address) {
  measurement *m = request->watch;
  measured *k = NULL;
  *address = 0;
  if (!m) return MW_SUCCESS;
  mw_lock(&m->lock);
  int code = find_or_add(m, kernel, &k);
  if (code == MW_SUCCESS) {
    k->launches++;
    k->blocks += (uint64_t)request->grid[0] * request->grid[1] * request->grid[2];
    *address = k->memory;
  }
  mw_unlock(&m->lock);
  return code;
}

/* ---- the result ---- */

/* The sums of one place and space in all copies. */
static mw_measured_sums total_of(const measured *k, const char *memory, size_t place, unsigned space) {
  const mw_measured_sums *all = (const void *)(memory + k->sums_at);
  size_t count = k->kernel->unit->place_count;
  mw_measured_sums total = {0};
  for (size_t copy = 0; copy < MW_MEASURED_COPIES; copy++) {
    const unsigned long long *from = (const void *)&all[(copy * count + place) * MW_MEASURED_SPACES + space];
    for (size_t n = 0; n < sizeof total / sizeof *from; n++) ((unsigned long long *)&total)[n] += from[n];
  }
  return total;
}

static void begin_line(mw_text *out, const char *what, const cuda_unit *unit, size_t place, unsigned space) {
  mw_watched_site site = *unit->places[place].site;
  site.space = space;
  if (site.file) site.file = cuda_unit_place(unit, site.file, &site.line);
  if (site.outer_file) site.outer_file = cuda_unit_place(unit, site.outer_file, &site.outer_line);
  mw_text_addf(out, "%s\t%zu", what, place);
  mw_watch_add_site(out, &site);
}

static void add_place(mw_text *out, const measured *k, const char *memory, size_t place, unsigned space) {
  const cuda_unit *unit = k->kernel->unit;
  mw_measured_sums s = total_of(k, memory, place, space);
  unsigned with = unit->places[place].issued;
  if (!s.executed) return;
  begin_line(out, "site", unit, place, space);
  mw_watch_add_counts(
      out, &(mw_watched_counts){.executed = s.executed,
                                .lanes = s.lanes,
                                .full = s.full,
                                .divergent = s.divergent,
                                .requests = s.requests,
                                .sectors = s.sectors,
                                .ideal = s.ideal,
                                .wavefronts = s.wavefronts,
                                .least = s.least,
                                .bytes = s.bytes,
                                .used = s.used,
                                .collisions = s.collisions,
                                .moved = s.moved,
                                .issued = with < unit->place_count ? total_of(k, memory, with, 0).executed : s.executed,
                                .rounds = s.rounds,
                                .round_wavefronts = s.round_wavefronts});
}

static void add_drawn(mw_text *out, const measured *k, const char *memory) {
  const mw_measured_launch *launch = (const void *)memory;
  const mw_measured_sample *samples = (const void *)(memory + k->samples_at);
  for (size_t i = 0; i < k->kernel->unit->place_count; i++) {
    uint64_t at[32];
    for (unsigned lane = 0; lane < 32; lane++) at[lane] = samples[i].at[lane];
    if (samples[i].lanes) mw_watch_add_sample(out, i, samples[i].lanes, at);
  }
  unsigned count = launch->step_count < MW_MEASURED_STEPS ? launch->step_count : MW_MEASURED_STEPS;
  for (unsigned i = 0; i < count; i++)
    mw_text_addf(out, "step\t%u\t%u\n", launch->steps[i].site, launch->steps[i].lanes);
}

static void add_kernel(mw_text *out, const measured *k, const char *memory) {
  const cuda_unit *unit = k->kernel->unit;
  mw_measured_sums code = {0};
  mw_text_addf(out, "kernel\t%s\t%llu\t%llu\t\n", k->kernel->info.name, (unsigned long long)k->launches,
               (unsigned long long)k->blocks);
  for (size_t i = 0; i < unit->place_count; i++) {
    const cuda_place *place = &unit->places[i];
    if (place->site->kind == MW_MEASURED_CODE) code = total_of(k, memory, i, 0);
    if (place->site->kind == MW_MEASURED_WORK && code.executed) {
      begin_line(out, "work", unit, i, 0);
      mw_watch_add_work(out, code.executed, code.lanes, place->work, MW_MEASURED_CLASSES, place->flops);
    }
    for (unsigned space = 0; space < MW_MEASURED_SPACES; space++) add_place(out, k, memory, i, space);
  }
  add_drawn(out, k, memory);
}

int cuda_measure_result(void *handle, mw_text *out) {
  measurement *m = handle;
  int code = cuda_enter(m->device);
  if (code == MW_SUCCESS && m->epoch != m->device->epoch)
    code = fail(MW_INVALID_RESOURCE_HANDLE, "what was measured was lost when cuda:%d was reset", m->device->ordinal);
  for (const measured *k = m->kernels; k && code == MW_SUCCESS; k = k->next) {
    char *memory = mw_alloc(k->bytes);
    CUresult result = cu.cuMemcpyDtoHAsync(memory, k->memory, k->bytes, m->device->side);
    if (result == 0) result = cu.cuStreamSynchronize(m->device->side);
    if (result == 0) add_kernel(out, k, memory);
    code = cuda_outcome(m->device, result, "the end of a measured run");
    free(memory);
  }
  return code;
}
