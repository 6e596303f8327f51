/* Transforms by FFTW as commands of a stream: fftw.h.
 *
 * Outer transforms are distributed over the device's workers in pieces of a multiple of 16, so that all pieces are
 * aligned as the first one is and share its plan; transforms side by side in panels of columns (panel.h). Plans are made without measuring, and kept; FFTW's planner runs in one
 * thread at a time, its plans in any number. (FFTW 3 manual, "guru interface", "thread safety") */
#include "fftw.h"
#include "base/shared_library.h"
#include "cpu/schedule/stream.h"
#include "panel.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { ESTIMATE = 64, PRESERVE_INPUT = 16, KEPT = 64 };

typedef struct dimension {
  ptrdiff_t n, from, to;
} dimension;

typedef void *plan_complex(int rank, const dimension *dims, int rest, const dimension *more, void *from, void *to,
                           int sign, unsigned flags);
typedef void *plan_real(int rank, const dimension *dims, int rest, const dimension *more, void *from, void *to,
                        unsigned flags);
typedef void execute(void *plan, void *from, void *to);

/* The functions of one precision: fftw_… or fftwf_…. */
typedef struct fftw {
  mw_library library;
  const char *prefix, *package;
  char *problem;
  plan_complex *plan;
  plan_real *plan_real, *plan_inverse;
  execute *run, *run_real, *run_inverse;
  void (*destroy)(void *plan);
  int (*alignment)(void *address);
} fftw;

static const char *const single_names[] = {"libfftw3f.so.3", NULL}, *const double_names[] = {"libfftw3.so.3", NULL};
static fftw libraries[2] = {
    {.library = {.title = "FFTW (single precision)", .variable = "MOONWARP_FFTWF", .names = single_names},
     .prefix = "fftwf",
     .package = "libfftw3-single3"},
    {.library = {.title = "FFTW (double precision)", .variable = "MOONWARP_FFTW", .names = double_names},
     .prefix = "fftw",
     .package = "libfftw3-double3"},
};
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find(fftw *f, void *handle, const char *name, void *pointer) {
  char *full = mw_format("%s_%s", f->prefix, name);
  void *address = mw_library_find(handle, full);
  if (!address && !f->problem) f->problem = mw_format("%s has no function %s", f->library.path, full);
  memcpy(pointer, &address, sizeof address);
  free(full);
}

static void load_one(fftw *f) {
  void *handle = mw_library_open(&f->library);
  if (!handle) {
    f->problem = f->library.problem ? mw_strdup(f->library.problem)
                                    : mw_format("%s was not found under these names: %s. Install the package %s",
                                                f->library.title, mw_library_tried(&f->library), f->package);
    return;
  }
  find(f, handle, "plan_guru64_dft", &f->plan);
  find(f, handle, "plan_guru64_dft_r2c", &f->plan_real);
  find(f, handle, "plan_guru64_dft_c2r", &f->plan_inverse);
  find(f, handle, "execute_dft", &f->run);
  find(f, handle, "execute_dft_r2c", &f->run_real);
  find(f, handle, "execute_dft_c2r", &f->run_inverse);
  find(f, handle, "destroy_plan", &f->destroy);
  find(f, handle, "alignment_of", &f->alignment);
}

static void load(void) {
  load_one(&libraries[0]);
  load_one(&libraries[1]);
}

/* ---- plans ---- */

typedef struct plan_key {
  mw_fourier_kind kind;
  bool is_double;
  int from_alignment, to_alignment;
  size_t count, n, inner;    /* count transforms in a piece */
  size_t from_line, to_line; /* numbers from one to the next */
} plan_key;

typedef struct kept_plan {
  struct kept_plan *next; /* the one used before */
  plan_key key;
  void *plan;
  int users;
} kept_plan;

static pthread_mutex_t lock = MW_LOCK_INITIALIZER; /* guards the list, and FFTW's planner */
static kept_plan *plans;

static bool same_key(const plan_key *a, const plan_key *b) {
  return a->kind == b->kind && a->is_double == b->is_double && a->from_alignment == b->from_alignment &&
         a->to_alignment == b->to_alignment && a->count == b->count && a->n == b->n && a->inner == b->inner &&
         a->from_line == b->from_line && a->to_line == b->to_line;
}

static void *make_plan(const plan_key *key, void *from, void *to) {
  fftw *f = &libraries[key->is_double];
  ptrdiff_t n = (ptrdiff_t)key->n, inner = (ptrdiff_t)key->inner;
  const dimension line = {n, inner, inner};
  const dimension more[2] = {{(ptrdiff_t)key->count, (ptrdiff_t)key->from_line, (ptrdiff_t)key->to_line},
                             {inner, 1, 1}};
  unsigned flags = ESTIMATE | PRESERVE_INPUT;
  switch (key->kind) {
  case MW_FOURIER_REAL: return f->plan_real(1, &line, 2, more, from, to, flags);
  case MW_FOURIER_REAL_INVERSE: return f->plan_inverse(1, &line, 2, more, from, to, flags);
  default: return f->plan(1, &line, 2, more, from, to, key->kind == MW_FOURIER_FORWARD ? -1 : 1, flags);
  }
}

/* Destroy the plans after the first KEPT that nothing uses. With the lock held. */
static void drop_old(void) {
  int count = 0;
  for (kept_plan **at = &plans; *at;) {
    kept_plan *old = *at;
    if (++count > KEPT && old->users == 0) {
      *at = old->next;
      libraries[old->key.is_double].destroy(old->plan);
      free(old);
    } else {
      at = &old->next;
    }
  }
}

/* A plan for a piece at these addresses; NULL if FFTW has none. Given back by release_plan. */
static kept_plan *plan_for(const plan_key *key, void *from, void *to) {
  mw_lock(&lock);
  kept_plan **at = &plans, *cached;
  while (*at && !same_key(&(*at)->key, key)) at = &(*at)->next;
  cached = *at;
  if (cached) {
    *at = cached->next;
  } else {
    void *plan = make_plan(key, from, to);
    if (plan) {
      cached = mw_alloc(sizeof *cached);
      *cached = (kept_plan){.key = *key, .plan = plan};
    }
  }
  if (cached) {
    cached->users++;
    cached->next = plans;
    plans = cached;
    drop_old();
  }
  mw_unlock(&lock);
  return cached;
}

static void release_plan(kept_plan *plan) {
  if (!plan) return;
  mw_lock(&lock);
  plan->users--;
  mw_unlock(&lock);
}

/* ---- commands ---- */

/* Memory for the lines of a panel, before and after. */
typedef struct scratch {
  struct scratch *next;
  char *from, *to;
} scratch;

typedef struct transform_job {
  mw_transform transform;
  size_t piece;                /* transforms of a block; the last block may have fewer */
  kept_plan *plan, *last;      /* last: NULL if all are alike */
  size_t from_bytes, to_bytes; /* of an outer one */
  bool by_panels;
  size_t panels; /* of an outer one */
  cpu_panel from, to;
  pthread_mutex_t lock; /* guards unused */
  scratch *unused;
  mw_completion completion;
} transform_job;

static execute *function_of(const mw_transform *t) {
  const fftw *f = &libraries[t->is_double];
  return t->kind == MW_FOURIER_REAL ? f->run_real : t->kind == MW_FOURIER_REAL_INVERSE ? f->run_inverse : f->run;
}

static void run_blocks(void *context, uint64_t first, uint64_t last) {
  const transform_job *job = context;
  const mw_transform *t = &job->transform;
  execute *run = function_of(t);
  for (uint64_t block = first; block < last; block++) {
    size_t at = block * job->piece;
    bool is_short = job->last && at + job->piece > t->outer;
    run(is_short ? job->last->plan : job->plan->plan, (char *)(uintptr_t)t->from + at * job->from_bytes,
        (char *)(uintptr_t)t->to + at * job->to_bytes);
  }
}

/* ---- by panels ---- */

static char *new_lines(const cpu_panel *panel) {
  size_t bytes = panel->line * panel->columns * panel->size;
  char *lines = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (lines) memset(lines, 0, bytes); /* the last panel may have fewer columns, and the others are transformed too */
  return lines;
}

static void drop_scratch(scratch *buffers) {
  free(buffers->from);
  free(buffers->to);
  free(buffers);
}

static scratch *new_scratch(const transform_job *job) {
  scratch *buffers = mw_alloc(sizeof *buffers);
  buffers->from = new_lines(&job->from);
  buffers->to = new_lines(&job->to);
  if (buffers->from && buffers->to) return buffers;
  drop_scratch(buffers);
  return NULL;
}

/* The first scratch is there before the command is queued; workers that get no memory wait for a free one. */
static scratch *take_scratch(transform_job *job) {
  mw_lock(&job->lock);
  scratch *buffers = job->unused;
  if (buffers) job->unused = buffers->next;
  mw_unlock(&job->lock);
  while (!buffers && !(buffers = new_scratch(job))) {
    mw_lock(&job->lock);
    buffers = job->unused;
    if (buffers) job->unused = buffers->next;
    mw_unlock(&job->lock);
  }
  return buffers;
}

static void run_panels(void *context, uint64_t first, uint64_t last) {
  transform_job *job = context;
  const mw_transform *t = &job->transform;
  execute *run = function_of(t);
  scratch *room = take_scratch(job);
  for (uint64_t block = first; block < last; block++) {
    size_t outer = block / job->panels, column = block % job->panels * job->from.columns;
    cpu_panel from = job->from, to = job->to;
    if (column + from.columns > t->inner) from.columns = to.columns = t->inner - column;
    cpu_panel_gather(&from, (char *)(uintptr_t)t->from + outer * job->from_bytes + column * from.size, room->from);
    run(job->plan->plan, room->from, room->to);
    cpu_panel_scatter(&to, room->to, (char *)(uintptr_t)t->to + outer * job->to_bytes + column * to.size);
  }
  mw_lock(&job->lock);
  room->next = job->unused;
  job->unused = room;
  mw_unlock(&job->lock);
}

/* ---- queueing ---- */

static void drop_job(transform_job *job) {
  release_plan(job->plan);
  release_plan(job->last);
  for (scratch *buffers = job->unused, *next; buffers; buffers = next) {
    next = buffers->next;
    drop_scratch(buffers);
  }
  pthread_mutex_destroy(&job->lock);
  free(job);
}

static void finish(void *context) {
  transform_job *job = context;
  mw_completion completion = job->completion;
  drop_job(job);
  if (completion.done) completion.done(completion.context);
}

static size_t piece_of(const mw_transform *t, int workers) {
  size_t share = t->outer / (size_t)(4 * workers) + 1, least = 16384 / (t->n * t->inner) + 1;
  size_t piece = share > least ? share : least;
  piece = (piece + 15) / 16 * 16;
  return piece < t->outer ? piece : t->outer;
}

/* Columns of a panel: at least a few cache lines, and enough work for a block. 0: panels are not faster. */
static size_t columns_of(const mw_transform *t) {
  enum { LEAST = 16, WORK = 4096, MOST = 1 << 20 };
  if (t->inner == 1 || t->n > MOST) return 0;
  size_t columns = (WORK / t->n + LEAST - 1) / LEAST * LEAST;
  if (columns < LEAST) columns = LEAST;
  if (columns > t->inner) columns = t->inner;
  return columns * t->n < WORK / 4 ? 0 : columns;
}

static void plan_panels(transform_job *job, size_t columns, size_t from_size, size_t to_size) {
  const mw_transform *t = &job->transform;
  const fftw *f = &libraries[t->is_double];
  size_t half = t->n / 2 + 1, in = t->kind == MW_FOURIER_REAL_INVERSE ? half : t->n;
  size_t out = t->kind == MW_FOURIER_REAL ? half : t->n;
  job->by_panels = true;
  job->panels = (t->inner + columns - 1) / columns;
  job->from = (cpu_panel){from_size, in, columns, t->inner, cpu_panel_line(in, from_size)};
  job->to = (cpu_panel){to_size, out, columns, t->inner, cpu_panel_line(out, to_size)};
  if (!(job->unused = new_scratch(job))) return;
  plan_key key = {
      t->kind,        t->is_double, f->alignment(job->unused->from), f->alignment(job->unused->to), columns, t->n, 1,
      job->from.line, job->to.line};
  job->plan = plan_for(&key, job->unused->from, job->unused->to);
}

static void plan_pieces(transform_job *job, size_t from_size, size_t to_size) {
  const mw_transform *t = &job->transform;
  const fftw *f = &libraries[t->is_double];
  void *from = (void *)(uintptr_t)t->from, *to = (void *)(uintptr_t)t->to;
  plan_key key = {t->kind, t->is_double, f->alignment(from),          f->alignment(to),       job->piece,
                  t->n,    t->inner,     job->from_bytes / from_size, job->to_bytes / to_size};
  job->plan = plan_for(&key, from, to);
  key.count = t->outer % job->piece;
  if (!key.count) return;
  job->last = plan_for(&key, from, to);
  if (job->last) return;
  release_plan(job->plan);
  job->plan = NULL;
}

static int queue_transform(void *stream_handle, const mw_transform *t, mw_completion completion) {
  cpu_stream *stream = stream_handle;
  pthread_once(&once, load);
  if (libraries[t->is_double].problem) return fail(MW_NOT_SUPPORTED, "%s", libraries[t->is_double].problem);
  size_t real = t->is_double ? 8 : 4, columns = columns_of(t);
  size_t line = t->inner * 2 * real, half = (t->n / 2 + 1) * line, full = t->n * line;
  transform_job *job = mw_alloc(sizeof *job);
  *job = (transform_job){.transform = *t, .completion = completion, .piece = piece_of(t, stream->device->workers)};
  mw_lock_init(&job->lock);
  job->from_bytes = t->kind == MW_FOURIER_REAL ? full / 2 : t->kind == MW_FOURIER_REAL_INVERSE ? half : full;
  job->to_bytes = t->kind == MW_FOURIER_REAL ? half : t->kind == MW_FOURIER_REAL_INVERSE ? full / 2 : full;
  size_t from_size = t->kind == MW_FOURIER_REAL ? real : 2 * real;
  size_t to_size = t->kind == MW_FOURIER_REAL_INVERSE ? real : 2 * real;
  if (columns)
    plan_panels(job, columns, from_size, to_size);
  else
    plan_pieces(job, from_size, to_size);
  if (!job->plan) {
    drop_job(job);
    return fail(MW_NOT_SUPPORTED, "FFTW has no plan for %zu numbers", t->n);
  }
  if (job->by_panels)
    return cpu_stream_function(stream, run_panels, job, t->outer * job->panels, (mw_completion){finish, job});
  return cpu_stream_function(stream, run_blocks, job, (t->outer + job->piece - 1) / job->piece,
                             (mw_completion){finish, job});
}

/* ---- names ---- */

static int name(void *device, mw_text *out) {
  (void)device;
  pthread_once(&once, load);
  for (int i = 0; i < 2; i++) {
    if (libraries[i].problem) return fail(MW_NOT_SUPPORTED, "%s", libraries[i].problem);
    mw_text_addf(out, "%s%s", i ? ", " : "FFTW (", libraries[i].library.path);
  }
  mw_text_addf(out, ")");
  return MW_SUCCESS;
}

void cpu_fourier_report(mw_text *out) {
  mw_text words = {0};
  if (name(NULL, &words) == MW_SUCCESS)
    mw_text_addf(out, "Fourier transforms on the CPU: %s\n", words.data);
  else
    mw_text_addf(out, "Fourier transforms on the CPU: moonwarp's own kernels. %s\n", mw_error_last()->message);
  mw_text_free(&words);
  mw_error_clear();
}

const mw_driver_fourier cpu_fourier = {.name = name, .transform = queue_transform};
