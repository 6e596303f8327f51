/* Long transforms in four steps: four_step.h.
 *
 * With j = j1 n2 + j2 and k = k1 + n1 k2, the result's number k is the sum over j2 of w2^(j2 k2) w^(j2 k1) times the
 * sum over j1 of w1^(j1 k1) x[j], where w, w1 and w2 are roots of unity of order n, n1 and n2. The first command makes the
 * inner sums, which are transforms of columns, and the products; the second one the outer sums, of rows. */
#include "four_step.h"

#include "base/base.h"
#include "panel.h"
#include "plans.h"
#include "scratch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  COLUMNS = 16, /* of a panel; also the rows of one */
  STRIP = 64,   /* numbers of a column whose roots are one root times those of a table */
  LEAST = 64,   /* of n1 and n2 */
  MOST = 1 << 20,
};

typedef struct root {
  double re, im;
} root;

typedef struct four_step_job {
  mw_transform transform;
  size_t n1, n2, size;   /* size: bytes of a number */
  size_t panels, groups; /* of columns, and of rows, of a transform */
  unsigned bits;         /* w^p is high[p >> bits] low[the other bits of p] */
  root *low, *high;
  cpu_panel from, to, rows; /* columns in x and in the room, and of the result */
  cpu_plan *down, *along;   /* of columns and of rows */
  cpu_scratch_pool scratch;
  mw_completion completion;
} four_step_job;

/* Numbers from a transform in the room to the next one, which has the same alignment. */
static size_t room_of(size_t n) { return (n + 15) / 16 * 16; }

/* The greatest divisor of n that is at most its root. */
static size_t first_factor(size_t n) {
  size_t k = (size_t)sqrt((double)n);
  while (k > 1 && n % k) k--;
  return k;
}

size_t cpu_four_step_room(const mw_transform *t, int workers) {
  enum { LONG = 1 << 20, FEW = 1 << 17 }; /* numbers from which it is faster: in any case, and if workers were idle */
  bool is_complex = t->kind == MW_FOURIER_FORWARD || t->kind == MW_FOURIER_INVERSE;
  if (!is_complex || t->inner != 1 || t->n < (t->outer < (size_t)workers ? FEW : LONG)) return 0;
  size_t n1 = first_factor(t->n), n2 = t->n / n1;
  if (n1 < LEAST || n2 > MOST) return 0;
  /* The last rows are transformed together with some that are not there. */
  return (t->outer * room_of(t->n) + COLUMNS * n2) * (t->is_double ? 16 : 8);
}

/* ---- the products with roots of unity ---- */

static root root_of(size_t p, size_t n, int sign) {
  double angle = 2 * 3.14159265358979323846 * (double)p / (double)n;
  return (root){cos(angle), sign * sin(angle)};
}

static root product(root a, root b) { return (root){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

/* w^p for p < n. */
static root power(const four_step_job *job, size_t p) {
  return product(job->high[p >> job->bits], job->low[p & (((size_t)1 << job->bits) - 1)]);
}

static void make_roots(four_step_job *job) {
  size_t n = job->transform.n;
  int sign = job->transform.kind == MW_FOURIER_FORWARD ? -1 : 1;
  while ((size_t)1 << 2 * job->bits < n) job->bits++;
  size_t count = (size_t)1 << job->bits, more = (n >> job->bits) + 1;
  job->low = mw_alloc(count * sizeof(root));
  job->high = mw_alloc(more * sizeof(root));
  for (size_t p = 0; p < count; p++) job->low[p] = root_of(p, n, sign);
  for (size_t p = 0; p < more; p++) job->high[p] = root_of(p << job->bits, n, sign);
}

/* A line's numbers times w^(step k), a vector of them at a time. A line ends with a whole cache line. */
#define TWIDDLE(real, name, ...)                                                                                       \
  typedef real name##_vector __attribute__((vector_size(32), aligned(32)));                                            \
  enum { name##_WIDE = 32 / sizeof(real) };                                                                            \
  static void name(const four_step_job *job, size_t step, real *line) {                                                \
    name##_vector re[2 * STRIP / name##_WIDE], im[2 * STRIP / name##_WIDE], *x = (name##_vector *)line;                \
    name##_vector re_turned[2 * STRIP / name##_WIDE], im_turned[2 * STRIP / name##_WIDE];                              \
    size_t n = job->transform.n, wide = name##_WIDE, at = 0;                                                           \
    for (size_t k = 0; k < STRIP; k++, at = at + step < n ? at + step : at + step - n) {                               \
      root w = power(job, at);                                                                                         \
      for (size_t part = 0; part < 2; part++) {                                                                        \
        size_t i = 2 * k + part;                                                                                       \
        re[i / wide][i % wide] = (real)w.re, im[i / wide][i % wide] = (real)w.im;                                      \
        re_turned[i / wide][i % wide] = (part ? 1 : -1) * (real)w.re;                                                  \
        im_turned[i / wide][i % wide] = (part ? 1 : -1) * (real)w.im;                                                  \
      }                                                                                                                \
    }                                                                                                                  \
    for (size_t k = 0, base = 0; k < job->n1; k += STRIP, base = (base + at) % n) {                                    \
      root w = power(job, base);                                                                                       \
      real a = (real)w.re, b = (real)w.im;                                                                             \
      size_t count = 2 * (job->n1 - k < STRIP ? job->n1 - k : STRIP);                                                  \
      for (size_t i = 0; i * wide < count; i++, x++) {                                                                 \
        name##_vector turned = __builtin_shufflevector(*x, *x, __VA_ARGS__);                                           \
        *x = *x * (a * re[i] - b * im[i]) + turned * (a * im_turned[i] + b * re_turned[i]);                            \
      }                                                                                                                \
    }                                                                                                                  \
  }
TWIDDLE(float, twiddle_floats, 1, 0, 3, 2, 5, 4, 7, 6)
TWIDDLE(double, twiddle_doubles, 1, 0, 3, 2)

/* ---- the commands ---- */

static char *at(uint64_t address, const four_step_job *job, size_t number) {
  return (char *)(uintptr_t)address + number * job->size;
}

/* Panels of columns: from x into the room, where they are columns again. */
static void run_columns(void *context, uint64_t first, uint64_t last) {
  four_step_job *job = context;
  const mw_transform *t = &job->transform;
  cpu_execute *run = cpu_fftw_function(t->kind, t->is_double);
  cpu_scratch *room = cpu_scratch_take(&job->scratch);
  for (uint64_t block = first; block < last; block++) {
    size_t column = block % job->panels * COLUMNS, outer = block / job->panels;
    cpu_panel from = job->from, to = job->to;
    if (column + COLUMNS > job->n2) from.columns = to.columns = job->n2 - column;
    cpu_panel_gather(&from, at(t->from, job, outer * t->n + column), room->from);
    run(job->down->plan, room->from, room->to);
    for (size_t c = 0; c < to.columns; c++) {
      char *line = room->to + c * to.line * job->size;
      if (t->is_double)
        twiddle_doubles(job, column + c, (double *)line);
      else
        twiddle_floats(job, column + c, (float *)line);
    }
    cpu_panel_scatter(&to, room->to, at(t->room, job, outer * room_of(t->n) + column));
  }
  cpu_scratch_give(&job->scratch, room);
}

/* Groups of rows of the room, into columns of the result. */
static void run_rows(void *context, uint64_t first, uint64_t last) {
  four_step_job *job = context;
  const mw_transform *t = &job->transform;
  cpu_execute *run = cpu_fftw_function(t->kind, t->is_double);
  cpu_scratch *room = cpu_scratch_take(&job->scratch);
  for (uint64_t block = first; block < last; block++) {
    size_t outer = block / job->groups, row = block % job->groups * COLUMNS;
    cpu_panel to = job->rows;
    if (row + COLUMNS > job->n1) to.columns = job->n1 - row;
    run(job->along->plan, at(t->room, job, outer * room_of(t->n) + row * job->n2), room->to);
    cpu_panel_scatter(&to, room->to, at(t->to, job, outer * t->n + row));
  }
  cpu_scratch_give(&job->scratch, room);
}

/* ---- queueing ---- */

static void drop_job(four_step_job *job) {
  cpu_plan_release(job->down);
  cpu_plan_release(job->along);
  cpu_scratch_close(&job->scratch);
  free(job->low);
  free(job->high);
  free(job);
}

static void finish(void *context) {
  four_step_job *job = context;
  mw_completion completion = job->completion;
  drop_job(job);
  if (completion.done) completion.done(completion.context);
}

/* A plan for COLUMNS lines of n numbers, from lines that are from_line numbers apart to those of the scratch memory. */
static cpu_plan *plan_lines(const four_step_job *job, size_t n, void *from, size_t from_line, size_t to_line) {
  const mw_transform *t = &job->transform;
  void *to = job->scratch.unused->to;
  cpu_plan_key key = {.kind = t->kind,
                      .is_double = t->is_double,
                      .from_alignment = cpu_fftw_alignment(t->is_double, from),
                      .to_alignment = cpu_fftw_alignment(t->is_double, to),
                      .count = COLUMNS,
                      .n = n,
                      .inner = 1,
                      .from_line = from_line,
                      .to_line = to_line};
  return cpu_plan_for(&key, from, to);
}

bool cpu_four_step(cpu_stream *stream, const mw_transform *t, mw_completion completion) {
  four_step_job *job = mw_alloc(sizeof *job);
  size_t n1 = first_factor(t->n), n2 = t->n / n1, size = t->is_double ? 16 : 8;
  *job = (four_step_job){.transform = *t, .n1 = n1, .n2 = n2, .size = size, .completion = completion};
  job->panels = (n2 + COLUMNS - 1) / COLUMNS;
  job->groups = (n1 + COLUMNS - 1) / COLUMNS;
  job->from = job->to = (cpu_panel){size, n1, COLUMNS, n2, cpu_panel_line(n1, size)};
  job->rows = (cpu_panel){size, n2, COLUMNS, n1, cpu_panel_line(n2, size)};
  make_roots(job);
  size_t from_bytes = COLUMNS * size * job->from.line, to_bytes = COLUMNS * size * job->rows.line;
  if (cpu_scratch_open(&job->scratch, from_bytes, to_bytes)) {
    job->down = plan_lines(job, n1, job->scratch.unused->from, job->from.line, job->to.line);
    job->along = plan_lines(job, n2, at(t->room, job, 0), n2, job->rows.line);
  }
  if (!job->down || !job->along) {
    drop_job(job);
    return false;
  }
  cpu_stream_function(stream, run_columns, job, t->outer * job->panels, (mw_completion){0});
  cpu_stream_function(stream, run_rows, job, t->outer * job->groups, (mw_completion){finish, job});
  return true;
}
