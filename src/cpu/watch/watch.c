/* Watched launches: hands the calls of watched code to the launch's watchers. watch.h is the manual. */
#include "watch.h"
#include "cpu/execution/worker.h"

#include <stdlib.h>
#include <string.h>

static const cpu_watcher *const all_watchers[] = {&cpu_counters, &cpu_accesses, &cpu_steps};

struct cpu_watch {
  cpu_device *device;
  size_t count;
  const cpu_watcher *watchers[CPU_WATCHERS_MOST];
  void *states[CPU_WATCHERS_MOST];
  pthread_mutex_t lock; /* held by begin, leave and end */
};

struct cpu_watching {
  cpu_watching *next;
  cpu_watched *launch;
  const void *worker;
  uint64_t block; /* the latest one; UINT64_MAX: none yet */
  void *states[CPU_WATCHERS_MOST];
  mw_tally *tallies, *closed;      /* closed: where no watcher counts in place */
  uint64_t words[CPU_MAX_THREADS]; /* of fibers, by thread */
};

/* ---- watches ---- */

static int add_watcher(cpu_watch *watch, const char *word, size_t length, unsigned *observes) {
  size_t name = strcspn(word, ":,");
  for (size_t i = 0; i < MW_COUNT(all_watchers); i++) {
    const cpu_watcher *w = all_watchers[i];
    if (strlen(w->name) != name || strncmp(w->name, word, name) != 0 || watch->count == CPU_WATCHERS_MOST) continue;
    char *options = mw_format("%.*s", name < length ? (int)(length - name - 1) : 0, word + name + (name < length));
    int code = w->open(watch->device, options, &watch->states[watch->count]);
    free(options);
    if (code != MW_SUCCESS) return code;
    watch->watchers[watch->count++] = w;
    *observes |= w->observes;
    return MW_SUCCESS;
  }
  return fail(MW_INVALID_VALUE, "there is no watcher '%.*s'", (int)length, word);
}

int cpu_watch_new(void *device, const char *watchers, unsigned *observes, void **out) {
  cpu_watch *watch = mw_alloc(sizeof *watch);
  *watch = (cpu_watch){.device = device};
  mw_lock_init(&watch->lock);
  *observes = 0;
  int code = MW_SUCCESS;
  for (const char *at = watchers; *at && code == MW_SUCCESS;) {
    size_t length = strcspn(at, ",");
    code = add_watcher(watch, at, length, observes);
    at += length + (at[length] == ',');
  }
  if (code == MW_SUCCESS)
    *out = watch;
  else
    cpu_watch_free(watch);
  return code;
}

void cpu_watch_free(void *argument) {
  cpu_watch *watch = argument;
  for (size_t i = 0; i < watch->count; i++) watch->watchers[i]->close(watch->states[i]);
  pthread_mutex_destroy(&watch->lock);
  free(watch);
}

int cpu_watch_result(void *argument, mw_text *out) {
  cpu_watch *watch = argument;
  mw_lock(&watch->lock);
  for (size_t i = 0; i < watch->count; i++) watch->watchers[i]->result(watch->states[i], out);
  mw_unlock(&watch->lock);
  return MW_SUCCESS;
}

/* ---- launches ---- */

cpu_watched *cpu_watched_new(cpu_watch *watch, const cpu_kernel *kernel) {
  cpu_watched *launch = mw_alloc(sizeof *launch);
  const mw_mwo *image = kernel->unit->image;
  *launch = (cpu_watched){.watch = watch, .kernel = kernel, .sites = image->sites, .site_count = image->site_count};
  for (size_t i = 0; i < image->site_count; i++) launch->is_stepped |= image->sites[i].kind == MW_SITE_STEP;
  mw_lock_init(&launch->lock);
  mw_lock(&watch->lock);
  for (size_t i = 0; i < watch->count; i++) launch->states[i] = watch->watchers[i]->begin(watch->states[i], launch);
  mw_unlock(&watch->lock);
  return launch;
}

void cpu_watched_begin(cpu_watched *launch, cpu_command *command) {
  launch->command = command;
  command->watched = launch;
}

static cpu_watching *find(cpu_watched *launch, const void *worker) {
  mw_lock(&launch->lock);
  cpu_watching *at = launch->workers;
  while (at && at->worker != worker) at = at->next;
  mw_unlock(&launch->lock);
  return at;
}

cpu_watching *cpu_watched_enter(cpu_watched *launch, const void *worker) {
  cpu_watching *here = find(launch, worker);
  const cpu_watch *watch = launch->watch;
  if (here) return here;
  here = mw_alloc(sizeof *here);
  here->launch = launch;
  here->worker = worker;
  here->block = UINT64_MAX;
  for (size_t i = 0; i < watch->count; i++) here->states[i] = watch->watchers[i]->enter(launch->states[i]);
  if (watch->count == 1 && watch->watchers[0]->tallies)
    here->tallies = watch->watchers[0]->tallies(here->states[0]);
  else
    here->tallies = here->closed = mw_alloc((launch->site_count + 1) * sizeof *here->closed);
  mw_lock(&launch->lock);
  here->next = launch->workers;
  launch->workers = here;
  mw_unlock(&launch->lock);
  return here;
}

mw_tally *cpu_watched_tallies(const cpu_watching *w) { return w->tallies; }

void cpu_watched_first_block(const cpu_watching *w) {
  const cpu_watch *watch = w->launch->watch;
  for (size_t i = 0; i < watch->count; i++)
    if (watch->watchers[i]->first_block) watch->watchers[i]->first_block(w->states[i]);
}

static void end_block(cpu_watching *w) {
  const cpu_watch *watch = w->launch->watch;
  for (size_t i = 0; i < watch->count && w->block != UINT64_MAX; i++)
    if (watch->watchers[i]->block_end) watch->watchers[i]->block_end(w->states[i], w->block);
  w->block = UINT64_MAX;
}

void cpu_watched_end(cpu_command *command) {
  cpu_watched *launch = command->watched;
  cpu_watch *watch = launch->watch;
  mw_lock(&watch->lock);
  for (cpu_watching *w = launch->workers, *next; w; w = next) {
    next = w->next;
    end_block(w);
    for (size_t i = 0; i < watch->count; i++) watch->watchers[i]->leave(launch->states[i], w->states[i]);
    free(w->closed);
    free(w);
  }
  for (size_t i = 0; i < watch->count; i++) watch->watchers[i]->end(launch->states[i], atomic_load(&command->stop));
  mw_unlock(&watch->lock);
  pthread_mutex_destroy(&launch->lock);
  free(launch);
  command->watched = NULL;
}

/* ---- calls ---- */

static void change_block(cpu_watching *w, uint64_t block) {
  const cpu_watch *watch = w->launch->watch;
  end_block(w);
  w->block = block;
  for (size_t i = 0; i < watch->count; i++)
    if (watch->watchers[i]->block_begin) watch->watchers[i]->block_begin(w->states[i], block);
}

void cpu_watch_expand(const cpu_watch_event *e, uint64_t words[32]) {
  unsigned width = 32 / e->run_count;
  for (unsigned run = 0; run < e->run_count; run++)
    for (unsigned lane = 0; lane < width; lane++) words[run * width + lane] = e->bases[run] + lane * e->stride;
}

static void dispatch(cpu_worker *worker, cpu_watch_event *e, uint64_t first) {
  cpu_watching *w = worker->watching;
  const cpu_watched *launch = w->launch;
  const cpu_watch *watch = launch->watch;
  const mw_site *site = e->site = &launch->sites[e->number];
  uint64_t expanded[32];
  e->space = site->space;
  if (site->kind <= MW_SITE_REDUCTION && site->space == MW_SPACE_NONE)
    e->space = cpu_services.memory_kind(&worker->base, (const void *)(uintptr_t)first);
  worker->in_service = 1; /* a cancelled launch ends after this, not in the midst of it */
  atomic_signal_fence(memory_order_seq_cst);
  if (w->block != worker->base.block) change_block(w, worker->base.block);
  for (size_t i = 0; i < watch->count; i++) {
    const cpu_watcher *watcher = watch->watchers[i];
    if (!watcher->on[site->kind]) continue;
    if (e->bases && !e->words && !watcher->takes_runs) {
      cpu_watch_expand(e, expanded);
      e->words = expanded;
    }
    watcher->on[site->kind](w->states[i], e);
  }
  cpu_service_leave(worker);
}

void cpu_watch_call(mw_worker *base, uint32_t site, uint32_t warp, uint32_t lanes, const uint64_t words[32]) {
  cpu_worker *worker = (cpu_worker *)base;
  if (!lanes || !worker->watching) return;
  CPU_SERVICE_ENTER(base);
  bool is_branch = worker->watching->launch->sites[site].kind == MW_SITE_BRANCH;
  cpu_watch_event e = {.worker = base, .number = site, .warp = warp, .lanes = lanes};
  if (is_branch)
    e.takes = (uint32_t)words[0] & lanes;
  else
    e.words = words;
  dispatch(worker, &e, words && !is_branch ? words[__builtin_ctz(lanes)] : 0);
}

void cpu_watch_runs(mw_worker *base, uint32_t site, uint32_t warp, uint32_t lanes, const uint64_t *bases,
                    uint64_t stride, uint32_t count) {
  cpu_worker *worker = (cpu_worker *)base;
  if (!lanes || !worker->watching) return;
  CPU_SERVICE_ENTER(base);
  cpu_watch_event e = {.worker = base,
                       .number = site,
                       .warp = warp,
                       .lanes = lanes,
                       .bases = bases,
                       .stride = stride,
                       .run_count = count};
  unsigned first = (unsigned)__builtin_ctz(lanes), width = 32 / count;
  dispatch(worker, &e, bases[first / width] + first % width * stride);
}

/* Sites of watched code are the lowest first where lanes converge, after those of volatile accesses. */
enum { FIRST_SITE = 1 << 24 };

void cpu_watch_thread(mw_worker *base, uint32_t site, uint64_t word) {
  cpu_worker *worker = (cpu_worker *)base;
  cpu_watching *w = worker->watching;
  if (!w) return;
  uint32_t thread = worker->ring.current->thread, lane = thread % 32;
  w->words[thread] = word;
  bool alone = w->launch->is_stepped && w->launch->sites[site].kind != MW_SITE_STEP;
  uint32_t lanes = alone ? 1u << lane : cpu_warp_converge(base, FIRST_SITE + site);
  CPU_SERVICE_ENTER(base);
  if (lane != (uint32_t)__builtin_ctz(lanes)) return;
  const uint64_t *words = &w->words[thread - lane];
  cpu_watch_event e = {.worker = base, .number = site, .warp = thread / 32, .lanes = lanes, .words = words};
  for (uint32_t rest = lanes; rest; rest &= rest - 1)
    e.takes |= (uint32_t)(words[__builtin_ctz(rest)] & 1) << __builtin_ctz(rest);
  dispatch(worker, &e, words[lane]);
}

/* ---- results ---- */

void cpu_watch_add_site(mw_text *out, const cpu_kernel *kernel, const mw_site *site) {
  int line = (int)site->line, outer_line = (int)site->outer_line;
  const char *file = site->file ? cpu_place_of(kernel->unit, site->file, &line) : NULL;
  const char *outer = site->outer_file ? cpu_place_of(kernel->unit, site->outer_file, &outer_line) : NULL;
  mw_watch_add_site(out, &(mw_watched_site){.kind = site->kind,
                                            .space = site->space,
                                            .bytes = site->bytes,
                                            .detail = site->detail,
                                            .line = line,
                                            .column = site->column,
                                            .outer_line = outer_line,
                                            .file = file,
                                            .outer_file = outer,
                                            .name = site->name,
                                            .function = site->function});
}
