/* Transforms by FFTW as commands of a stream: fftw.h.
 *
 * Outer transforms are distributed over the device's workers in pieces of a multiple of 16, so that all pieces are
 * aligned as the first one is and share its plan; transforms side by side in panels of columns (panel.h); long ones, of
 * which there are few, in four steps (four_step.h); lengths with large prime factors by convolutions (chirp.h). */
#include "fftw.h"

#include "base/base.h"
#include "chirp.h"
#include "cpu/schedule/stream.h"
#include "four_step.h"
#include "panel.h"
#include "plans.h"
#include "scratch.h"

#include <stdlib.h>

/* ---- commands ---- */

typedef struct transform_job {
  mw_transform transform;
  size_t piece;          /* transforms of a block; the last block may have fewer */
  cpu_plan *plan, *last; /* last: NULL if all are alike; both if there is a chirp */
  cpu_chirp *chirp;
  cpu_scratch_pool chirp_areas;
  size_t from_bytes, to_bytes; /* of an outer one */
  bool by_panels;
  size_t panels; /* of an outer one */
  cpu_panel from, to;
  cpu_scratch_pool scratch; /* lines of a panel, before and after; if by_panels */
  mw_completion completion;
} transform_job;

/* Lines whose length has a large prime factor. */
static void run_chirps(void *context, uint64_t first, uint64_t last) {
  transform_job *job = context;
  const mw_transform *t = &job->transform;
  cpu_scratch *areas = cpu_scratch_take(&job->chirp_areas);
  size_t end = last * job->piece < t->outer ? last * job->piece : t->outer;
  for (size_t i = first * job->piece; i < end; i++)
    cpu_chirp_run(job->chirp, areas->from, areas->to, (char *)(uintptr_t)t->from + i * job->from_bytes,
                  (char *)(uintptr_t)t->to + i * job->to_bytes);
  cpu_scratch_give(&job->chirp_areas, areas);
}

static void run_blocks(void *context, uint64_t first, uint64_t last) {
  const transform_job *job = context;
  const mw_transform *t = &job->transform;
  cpu_execute *run = cpu_fftw_function(t->kind, t->is_double);
  for (uint64_t block = first; block < last; block++) {
    size_t at = block * job->piece;
    bool is_short = job->last && at + job->piece > t->outer;
    run(is_short ? job->last->plan : job->plan->plan, (char *)(uintptr_t)t->from + at * job->from_bytes,
        (char *)(uintptr_t)t->to + at * job->to_bytes);
  }
}

/* ---- by panels ---- */

/* The lines of a panel in scratch memory. */
static void run_lines(const transform_job *job, const cpu_scratch *room, const cpu_scratch *areas) {
  if (!job->chirp) {
    cpu_fftw_function(job->transform.kind, job->transform.is_double)(job->plan->plan, room->from, room->to);
    return;
  }
  for (size_t c = 0; c < job->from.columns; c++)
    cpu_chirp_run(job->chirp, areas->from, areas->to, room->from + c * job->from.line * job->from.size,
                  room->to + c * job->to.line * job->to.size);
}

static void run_panels(void *context, uint64_t first, uint64_t last) {
  transform_job *job = context;
  const mw_transform *t = &job->transform;
  cpu_scratch *room = cpu_scratch_take(&job->scratch);
  cpu_scratch *areas = job->chirp ? cpu_scratch_take(&job->chirp_areas) : NULL;
  for (uint64_t block = first; block < last; block++) {
    size_t outer = block / job->panels, column = block % job->panels * job->from.columns;
    cpu_panel from = job->from, to = job->to;
    if (column + from.columns > t->inner) from.columns = to.columns = t->inner - column;
    cpu_panel_gather(&from, (char *)(uintptr_t)t->from + outer * job->from_bytes + column * from.size, room->from);
    run_lines(job, room, areas);
    cpu_panel_scatter(&to, room->to, (char *)(uintptr_t)t->to + outer * job->to_bytes + column * to.size);
  }
  cpu_scratch_give(&job->scratch, room);
  if (areas) cpu_scratch_give(&job->chirp_areas, areas);
}

/* ---- queueing ---- */

static void drop_job(transform_job *job) {
  cpu_plan_release(job->plan);
  cpu_plan_release(job->last);
  if (job->chirp) cpu_scratch_close(&job->chirp_areas);
  cpu_chirp_release(job->chirp);
  if (job->by_panels) cpu_scratch_close(&job->scratch);
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
  size_t half = t->n / 2 + 1, in = t->kind == MW_FOURIER_REAL_INVERSE ? half : t->n;
  size_t out = t->kind == MW_FOURIER_REAL ? half : t->n;
  job->by_panels = true;
  job->panels = (t->inner + columns - 1) / columns;
  job->from = (cpu_panel){from_size, in, columns, t->inner, cpu_panel_line(in, from_size)};
  job->to = (cpu_panel){to_size, out, columns, t->inner, cpu_panel_line(out, to_size)};
  if (!cpu_scratch_open(&job->scratch, job->from.line * columns * from_size, job->to.line * columns * to_size)) return;
  if (job->chirp) return;
  char *from = job->scratch.unused->from, *to = job->scratch.unused->to;
  cpu_plan_key key = {.kind = t->kind,
                      .is_double = t->is_double,
                      .from_alignment = cpu_fftw_alignment(t->is_double, from),
                      .to_alignment = cpu_fftw_alignment(t->is_double, to),
                      .count = columns,
                      .n = t->n,
                      .inner = 1,
                      .from_line = job->from.line,
                      .to_line = job->to.line};
  job->plan = cpu_plan_for(&key, from, to);
}

static void plan_pieces(transform_job *job, size_t from_size, size_t to_size) {
  const mw_transform *t = &job->transform;
  if (job->chirp) return;
  void *from = (void *)(uintptr_t)t->from, *to = (void *)(uintptr_t)t->to;
  cpu_plan_key key = {.kind = t->kind,
                      .is_double = t->is_double,
                      .from_alignment = cpu_fftw_alignment(t->is_double, from),
                      .to_alignment = cpu_fftw_alignment(t->is_double, to),
                      .count = job->piece,
                      .n = t->n,
                      .inner = t->inner,
                      .from_line = job->from_bytes / from_size,
                      .to_line = job->to_bytes / to_size};
  job->plan = cpu_plan_for(&key, from, to);
  key.count = t->outer % job->piece;
  if (!key.count) return;
  job->last = cpu_plan_for(&key, from, to);
  if (job->last) return;
  cpu_plan_release(job->plan);
  job->plan = NULL;
}

static int queue_transform(void *stream_handle, const mw_transform *t, mw_completion completion) {
  cpu_stream *stream = stream_handle;
  const char *problem = cpu_fftw_problem(t->is_double);
  if (problem) return fail(MW_NOT_SUPPORTED, "%s", problem);
  if (t->room && cpu_four_step(stream, t, completion)) return MW_SUCCESS;
  size_t real = t->is_double ? 8 : 4, columns = columns_of(t);
  size_t line = t->inner * 2 * real, half = (t->n / 2 + 1) * line, full = t->n * line;
  transform_job *job = mw_alloc(sizeof *job);
  *job = (transform_job){.transform = *t, .completion = completion, .piece = piece_of(t, stream->device->workers)};
  job->from_bytes = t->kind == MW_FOURIER_REAL ? full / 2 : t->kind == MW_FOURIER_REAL_INVERSE ? half : full;
  job->to_bytes = t->kind == MW_FOURIER_REAL ? half : t->kind == MW_FOURIER_REAL_INVERSE ? full / 2 : full;
  size_t from_size = t->kind == MW_FOURIER_REAL ? real : 2 * real;
  size_t to_size = t->kind == MW_FOURIER_REAL_INVERSE ? real : 2 * real;
  bool in_lines = columns || t->inner == 1;
  if (in_lines && cpu_chirp_suits(t->n)) job->chirp = cpu_chirp_for(t->kind, t->is_double, t->n);
  if (job->chirp && !cpu_scratch_open(&job->chirp_areas, cpu_chirp_area(job->chirp), cpu_chirp_area(job->chirp))) {
    drop_job(job);
    return fail(MW_MEMORY_ALLOCATION, "there is no memory for a transform of %zu numbers", t->n);
  }
  if (columns)
    plan_panels(job, columns, from_size, to_size);
  else
    plan_pieces(job, from_size, to_size);
  if (job->chirp ? job->by_panels && !job->scratch.unused : !job->plan) {
    drop_job(job);
    return fail(MW_NOT_SUPPORTED, "FFTW has no plan for %zu numbers", t->n);
  }
  if (job->by_panels)
    return cpu_stream_function(stream, run_panels, job, t->outer * job->panels, (mw_completion){finish, job});
  return cpu_stream_function(stream, job->chirp ? run_chirps : run_blocks, job,
                             (t->outer + job->piece - 1) / job->piece, (mw_completion){finish, job});
}

/* ---- names ---- */

static int name(void *device, mw_text *out) {
  (void)device;
  for (int i = 0; i < 2; i++) {
    if (cpu_fftw_problem(i)) return fail(MW_NOT_SUPPORTED, "%s", cpu_fftw_problem(i));
    mw_text_addf(out, "%s%s", i ? ", " : "FFTW (", cpu_fftw_path(i));
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

static size_t room(void *device, const mw_transform *t) {
  return cpu_fftw_problem(t->is_double) ? 0 : cpu_four_step_room(t, ((cpu_device *)device)->workers);
}

const mw_driver_fourier cpu_fourier = {.name = name, .transform = queue_transform, .room = room};
