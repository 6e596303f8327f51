/* The part of cuda.c with kernels that report failures (device/moonwarp/guard.h), launches and waiting for them. */

static mw_guard *guard; /* of the module that was loaded last */
static uint64_t grids, endless;
static mw_guard_report *unfinished; /* one that is still being written */

static void tell(uint64_t grid, unsigned kind) {
  mw_guard_words *words = (void *)(uintptr_t)guard->words;
  unsigned n = words->reports++;
  mw_guard_report *r = &((mw_guard_host *)(uintptr_t)guard->host)->reports[n % MW_GUARD_REPORTS];
  *r = (mw_guard_report){.grid = grid,
                         .unit = guard->unit,
                         .kind = kind,
                         .line = kind == MW_GUARD_STOPPED ? 0 : 1,
                         .object = 4096,
                         .address = 4096 + (uint64_t)setting("at", 40),
                         .bytes = 4,
                         .size = 40,
                         .is_store = 1,
                         .block = {1, 2, 3},
                         .thread = {4, 5, 6},
                         .function = "void scale()"};
  if (kind != MW_GUARD_STOPPED) strcpy(r->file, "kernel.cu");
  strcpy(r->text, kind == MW_GUARD_ASSERT ? "x > 0" : kind == MW_GUARD_TRAP ? "" : "x");
  r->count = n + 1;
  if (!setting("overwrites", 0)) return;
  r->count = n + MW_GUARD_REPORTS;
  strcpy(r->text, "half of");
  unfinished = r;
}

/* Whether it still is written: until somebody has looked at its stream twice. */
static int is_unfinished(void) {
  static int looks;
  if (!unfinished) return 0;
  if (looks++ == 0) return 1;
  strcpy(unfinished->text, "all of");
  unfinished->count++;
  unfinished = NULL;
  return 0;
}

/* ---- checked runs: a kernel that says what it found ---- */

/* The sites of the kernel's accesses, a store and a load, follow those of the values that it loads. */
enum { SITES_OF_VALUES = 8 };

static mw_follow_end followed_end(const mw_follow_launch *launch, unsigned site, unsigned block, unsigned thread) {
  return (mw_follow_end){.site = launch->first_site + SITES_OF_VALUES + site,
                         .run = launch->base + block,
                         .thread = thread,
                         .step = 1,
                         .flags = site == 1 ? MW_FOLLOW_STORE : 0};
}

/* Two accesses of different blocks, and a log in which the first one's thread releases them, and another learns that. */
static void add_pair(const mw_follow_launch *launch, mw_follow_session *session, unsigned kind) {
  mw_follow_event *log = (void *)(uintptr_t)session->log;
  mw_follow_pair *pair = (mw_follow_pair *)(uintptr_t)session->pairs + session->pair_count++;
  log[0] = (mw_follow_event){.kind = MW_FOLLOW_RELEASED,
                             .run = launch->base + (kind == 100 ? 2 : 1),
                             .thread = 7,
                             .step = 2,
                             .fenced = 3,
                             .fenced_step = {1, 1}};
  log[1] = (mw_follow_event){.kind = MW_FOLLOW_LEARNT, .run = launch->base, .thread = 3, .link = 1};
  session->log_count = 2;
  *pair = (mw_follow_pair){.here = followed_end(launch, 2, 0, 3), .other = followed_end(launch, 1, 1, 7), .logged = 2};
  if (kind >= 103) pair->other.flags |= MW_FOLLOW_ATOMIC, pair->other.step = kind - 101;
}

/* The shadow of the first parameter's first word says that the launch wrote it. */
static void touch_first(const mw_follow_launch *launch, const mw_follow_session *session, uint64_t address) {
  mw_follow_page *pages = (void *)(uintptr_t)session->pages, *page = pages;
  while (page < pages + session->page_room && page->number != address >> MW_FOLLOW_PAGE_SHIFT) page++;
  if (page == pages + session->page_room || !page->cells) return;
  mw_follow_cell *cell = (mw_follow_cell *)(uintptr_t)page->cells + address / 4 % MW_FOLLOW_PAGE_WORDS;
  cell->who[MW_FOLLOW_WRITE] = (uint64_t)launch->base << 32 | 3 << 4 | 15;
  cell->what[MW_FOLLOW_WRITE] = (uint64_t)(launch->first_site + SITES_OF_VALUES + 1) << 44 | 3 << 7 | MW_FOLLOW_STORE;
}

/* finds=kind: of a finding; 100 and 101: a pair that is not ordered, and one that is; 102: of a write that the shadow has;
   103 and 104: the first access is the atomic one that releases, or a later one; 105: the launch's arrays that are
   wholly written or only read are recorded. */
static void run_followed(const unsigned char *params, size_t size) {
  unsigned kind = (unsigned)setting("finds", 0);
  uint64_t address;
  if (!kind || size < 24) return;
  memcpy(&address, params + size - sizeof address, sizeof address);
  const mw_follow_launch *launch = (const void *)(uintptr_t)address;
  if (!launch) return;
  mw_follow_session *session = (void *)(uintptr_t)launch->session;
  if (kind == 102) {
    uint64_t first;
    memcpy(&first, params, sizeof first);
    touch_first(launch, session, first);
    return;
  }
  if (kind == 105) {
    (void)record("followed", "whole %x read only %x", launch->whole, launch->read_only);
    return;
  }
  if (kind >= 100) {
    add_pair(launch, session, kind);
    return;
  }
  mw_follow_finding *f = (mw_follow_finding *)(uintptr_t)session->findings + 5;
  *f = (mw_follow_finding){.key = kind,
                           .kind = kind,
                           .count = 3,
                           .here = followed_end(launch, 2, 0, 3),
                           .other = followed_end(launch, 1, 0, 35),
                           .object = 4096,
                           .address = 4096 + 40,
                           .bytes = 4,
                           .value = (uint64_t)setting("value", 0),
                           .ready = 1};
  session->notes = (unsigned)setting("notes", 0);
}

/* ---- measured runs: a kernel that has counted ---- */

static void count_at(const mw_measured_launch *launch, unsigned copy, unsigned site, unsigned space,
                     mw_measured_sums sums) {
  mw_measured_sums *all = (void *)(uintptr_t)launch->sums;
  all[((uint64_t)copy * launch->site_count + site) * MW_MEASURED_SPACES + space] = sums;
}

/* counts=N: at site N, in global memory, in two copies of the sums; and everything at site 0. */
static void run_measured(const unsigned char *params, size_t size) {
  unsigned site = (unsigned)setting("counts", 0);
  uint64_t address;
  if (!site || size < 24) return;
  memcpy(&address, params + size - sizeof address, sizeof address);
  mw_measured_launch *launch = (void *)(uintptr_t)address;
  if (size != 32 || !launch) return;
  mw_measured_sample *sample = (mw_measured_sample *)(uintptr_t)launch->samples + site;
  count_at(launch, 0, 0, 0, (mw_measured_sums){.executed = 4, .lanes = 100, .full = 3});
  count_at(launch, 0, site, 1,
           (mw_measured_sums){.executed = 3, .lanes = 96, .requests = 3, .sectors = 12, .ideal = 9});
  count_at(launch, 5, site, 1, (mw_measured_sums){.executed = 1, .lanes = 4, .requests = 1, .sectors = 4, .ideal = 1});
  sample->lanes = 3;
  sample->at[0] = 1024, sample->at[1] = 1028;
  launch->steps[0] = (mw_measured_step){0, ~0u};
  launch->step_count = 1 + launch->rules * 1000; /* more than there is room for */
}

/* A launch with a number after 16 bytes of parameters reports that it began, and fails on request. */
static void run_guarded(size_t stream, const unsigned char *params, size_t size) {
  uint64_t number = 0, grid = ++grids;
  if (!guard || !guard->host) return;
  if (size >= 24) memcpy(&number, params + 16, 8);
  if (number && number < 100000) {
    mw_guard_host *host = (void *)(uintptr_t)guard->host;
    host->begun[number % MW_GUARD_LAUNCHES].grid = grid;
    host->begun[number % MW_GUARD_LAUNCHES].number = number;
  }
  long first = setting("tells", 0);
  if (first && (long)grid >= first && (long)grid < first + setting("many", 1))
    tell(grid, (unsigned)setting("kind", MW_GUARD_ASSERT));
  if ((long)grid == setting("endless", 0)) {
    endless = grid;
    busy[stream] = 2;
  }
}

/* An endless one polls for the host's request to end. Two host threads may request it: it reports before it ends. */
static void look_at_stops(size_t stream) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  const mw_guard_words *words = guard ? (void *)(uintptr_t)guard->words : NULL;
  if (busy[stream] == 2 && words && words->stops[endless % MW_GUARD_LAUNCHES] == (uint32_t)endless * 2 + 1) {
    tell(endless, MW_GUARD_STOPPED);
    busy[stream] = 0;
  }
  pthread_mutex_unlock(&lock);
}

static CUresult fake_cuStreamSynchronize(CUstream stream) {
  CALL(cuStreamSynchronize, "%zu", number_of(stream));
  if (lost) return lost;
  if (stream == freed_in) outstanding = 0;
  look_at_stops(number_of(stream));
  if (busy[number_of(stream)] == 2) return 0;
  busy[number_of(stream)] = 0;
  return 0;
}

static CUresult fake_cuStreamQuery(CUstream stream) {
  CALL(cuStreamQuery, "%zu", number_of(stream));
  look_at_stops(number_of(stream));
  return busy[number_of(stream)] || is_unfinished() ? CUDA_NOT_READY : 0;
}

static CUresult fake_cuLaunchHostFunc(CUstream stream, CUhostFn *function, void *context) {
  CALL(cuLaunchHostFunc, "%zu", number_of(stream));
  function(context);
  return 0;
}
