/* The part of cuda.c with kernels that tell of failures (device/moonwarp/guard.h), launches and waiting for them. */

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
