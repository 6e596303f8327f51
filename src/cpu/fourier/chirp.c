/* Bluestein's algorithm: chirp.h.
 *
 * Let c[k] be w^(k k / 2), where w is the root of unity of order n. Since j k = (j j + k k - (k - j)(k - j)) / 2, the
 * result's number k is c[k] times the sum over j of x[j] c[j] / c[k - j]: a convolution with the numbers 1 / c. It is
 * made by two transforms of m numbers, at least 2 n - 1, which FFTW is good at, and a product with the transform of
 * 1 / c. */
#include "chirp.h"

#include "base/base.h"
#include "base/lock.h"
#include "plans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_PRIME = 64, MOST = 4096, KEPT = 16 }; /* FFTW's way is as fast for longer lines */

typedef struct root {
  double re, im;
} root;

/* Complex factors as vectors of them are multiplied by: each real part twice, and each imaginary part negative, then
   positive. */
typedef struct factors {
  void *re, *im;
} factors;

struct cpu_chirp {
  struct cpu_chirp *next; /* the one used before */
  mw_fourier_kind kind;
  bool is_double;
  size_t n, m;
  int users;
  factors chirp, spectrum; /* c, and the transform of 1 / c divided by m */
  cpu_plan *there, *back;  /* from the first area to the second, and back */
};

bool cpu_chirp_suits(size_t n) {
  if (n > MOST) return false;
  size_t rest = n;
  for (size_t prime = 2; prime < LEAST_PRIME; prime++)
    while (rest % prime == 0) rest /= prime;
  return rest > 1;
}

/* ---- tables ---- */

static const double PI = 3.14159265358979323846;

/* c[k], by the place of k k in the circle of 2 n. */
static root chirp_at(size_t k, size_t n, int sign) {
  double angle = PI * (double)(k * k % (2 * n)) / (double)n;
  return (root){cos(angle), sign * sin(angle)};
}

static root product(root a, root b) { return (root){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

/* The least of some multiples of powers of two that is at least `least`. */
static size_t convolution_length(size_t least) {
  static const size_t multiples[] = {16, 18, 20, 24, 30};
  size_t best = 0;
  for (size_t i = 0; i < MW_COUNT(multiples); i++) {
    size_t m = multiples[i];
    while (m < least) m *= 2;
    if (!best || m < best) best = m;
  }
  return best;
}

/* out[k] = the transform of the m numbers x[0], x[step], …, by the factors 2, 3 and 5 of m; roots[p]: the root of unity
   of order m step to the power p. */
static void transform(const root *x, size_t m, size_t step, const root *roots, root *out) {
  if (m == 1) {
    out[0] = x[0];
    return;
  }
  size_t factor = m % 2 == 0 ? 2 : m % 3 == 0 ? 3 : 5, part = m / factor;
  for (size_t r = 0; r < factor; r++) transform(x + r * step, part, step * factor, roots, out + r * part);
  for (size_t k = 0; k < part; k++) {
    root some[5], sum[5] = {{0}};
    for (size_t r = 0; r < factor; r++) some[r] = out[r * part + k];
    for (size_t j = 0; j < factor; j++)
      for (size_t r = 0; r < factor; r++) {
        root turned = product(some[r], roots[r * (k + j * part) % m * step]);
        sum[j] = (root){sum[j].re + turned.re, sum[j].im + turned.im};
      }
    for (size_t j = 0; j < factor; j++) out[k + j * part] = sum[j];
  }
}

static bool fill(factors *out, const root *from, size_t count, bool is_double) {
  size_t bytes = (2 * count * (is_double ? 8 : 4) + 63) / 64 * 64;
  *out = (factors){aligned_alloc(64, bytes), aligned_alloc(64, bytes)};
  if (!out->re || !out->im) return false;
  for (size_t i = 0; i < 2 * count; i++) {
    double re = from[i / 2].re, im = i % 2 ? from[i / 2].im : -from[i / 2].im;
    if (is_double)
      ((double *)out->re)[i] = re, ((double *)out->im)[i] = im;
    else
      ((float *)out->re)[i] = (float)re, ((float *)out->im)[i] = (float)im;
  }
  return true;
}

static bool make_tables(cpu_chirp *chirp) {
  size_t n = chirp->n, m = chirp->m;
  int sign = chirp->kind == MW_FOURIER_FORWARD || chirp->kind == MW_FOURIER_REAL ? -1 : 1;
  root *c = calloc(n, sizeof *c), *inverse = calloc(m, sizeof *inverse);
  root *roots = calloc(m, sizeof *roots), *spectrum = calloc(m, sizeof *spectrum);
  bool made = c && inverse && roots && spectrum;
  for (size_t k = 0; made && k < m; k++)
    roots[k] = (root){cos(2 * PI * (double)k / (double)m), -sin(2 * PI * (double)k / (double)m)};
  for (size_t k = 0; made && k < n; k++) {
    c[k] = chirp_at(k, n, sign);
    root other = {c[k].re / (double)m, -c[k].im / (double)m};
    inverse[k] = other;
    if (k > 0) inverse[m - k] = other;
  }
  if (made) transform(inverse, m, 1, roots, spectrum);
  made = made && fill(&chirp->chirp, c, n, chirp->is_double) && fill(&chirp->spectrum, spectrum, m, chirp->is_double);
  free(c);
  free(inverse);
  free(roots);
  free(spectrum);
  return made;
}

static cpu_plan *plan_of(const cpu_chirp *chirp, mw_fourier_kind kind, void *from, void *to) {
  cpu_plan_key key = {.kind = kind,
                      .is_double = chirp->is_double,
                      .from_alignment = cpu_fftw_alignment(chirp->is_double, from),
                      .to_alignment = cpu_fftw_alignment(chirp->is_double, to),
                      .count = 1,
                      .n = chirp->m,
                      .inner = 1,
                      .from_line = chirp->m,
                      .to_line = chirp->m};
  return cpu_plan_for(&key, from, to);
}

static void make_plans(cpu_chirp *chirp) {
  size_t bytes = cpu_chirp_area(chirp);
  void *first = aligned_alloc(64, bytes), *second = aligned_alloc(64, bytes);
  if (first && second) {
    chirp->there = plan_of(chirp, MW_FOURIER_FORWARD, first, second);
    chirp->back = plan_of(chirp, MW_FOURIER_INVERSE, second, first);
  }
  free(first);
  free(second);
}

/* ---- the chirps that are kept ---- */

static pthread_mutex_t lock = MW_LOCK_INITIALIZER; /* guards the list */
static cpu_chirp *chirps;

static void drop(cpu_chirp *chirp) {
  cpu_plan_release(chirp->there);
  cpu_plan_release(chirp->back);
  free(chirp->chirp.re);
  free(chirp->chirp.im);
  free(chirp->spectrum.re);
  free(chirp->spectrum.im);
  free(chirp);
}

static cpu_chirp *make(mw_fourier_kind kind, bool is_double, size_t n) {
  cpu_chirp *chirp = mw_alloc(sizeof *chirp);
  *chirp = (cpu_chirp){.kind = kind, .is_double = is_double, .n = n, .m = convolution_length(2 * n - 1)};
  if (make_tables(chirp)) make_plans(chirp);
  if (chirp->there && chirp->back) return chirp;
  drop(chirp);
  return NULL;
}

/* Drop the ones after the first KEPT that nothing uses. With the lock held. */
static void drop_old(void) {
  int count = 0;
  for (cpu_chirp **at = &chirps; *at;) {
    cpu_chirp *kept = *at;
    if (++count > KEPT && kept->users == 0) {
      *at = kept->next;
      drop(kept);
    } else {
      at = &kept->next;
    }
  }
}

cpu_chirp *cpu_chirp_for(mw_fourier_kind kind, bool is_double, size_t n) {
  mw_lock(&lock);
  cpu_chirp **at = &chirps, *found;
  while (*at && ((*at)->kind != kind || (*at)->is_double != is_double || (*at)->n != n)) at = &(*at)->next;
  found = *at;
  if (found)
    *at = found->next;
  else
    found = make(kind, is_double, n);
  if (found) {
    found->users++;
    found->next = chirps;
    chirps = found;
    drop_old();
  }
  mw_unlock(&lock);
  return found;
}

void cpu_chirp_release(cpu_chirp *chirp) {
  if (!chirp) return;
  mw_lock(&lock);
  chirp->users--;
  mw_unlock(&lock);
}

/* ---- transforms ---- */

size_t cpu_chirp_area(const cpu_chirp *chirp) { return chirp->m * (chirp->is_double ? 16 : 8); }

/* to = from times factors, for `count` complex numbers; `name`_real: real ones times factors, into complex ones. */
#define MULTIPLY(real, name, ...)                                                                                      \
  typedef real name##_vector __attribute__((vector_size(32), aligned(sizeof(real)), may_alias));                       \
  static void name(const factors *by, const real *from, size_t count, real *to) {                                      \
    enum { WIDE = 32 / sizeof(real) };                                                                                 \
    const real *re = by->re, *im = by->im;                                                                             \
    size_t i = 0;                                                                                                      \
    for (; i + WIDE <= 2 * count; i += WIDE) {                                                                         \
      name##_vector x = *(const name##_vector *)(from + i), turned = __builtin_shufflevector(x, x, __VA_ARGS__);       \
      *(name##_vector *)(to + i) = x * *(const name##_vector *)(re + i) + turned * *(const name##_vector *)(im + i);   \
    }                                                                                                                  \
    for (; i < 2 * count; i += 2) {                                                                                    \
      real a = from[i], b = from[i + 1];                                                                               \
      to[i] = a * re[i] + b * im[i];                                                                                   \
      to[i + 1] = b * re[i + 1] + a * im[i + 1];                                                                       \
    }                                                                                                                  \
  }                                                                                                                    \
  static void name##_real(const factors *by, const real *from, size_t count, real *to) {                               \
    const real *re = by->re, *im = by->im;                                                                             \
    for (size_t k = 0; k < count; k++) {                                                                               \
      to[2 * k] = from[k] * re[2 * k];                                                                                 \
      to[2 * k + 1] = from[k] * im[2 * k + 1];                                                                         \
    }                                                                                                                  \
  }                                                                                                                    \
  /* The numbers of which the first half, and the one in the middle, are given; the others are their conjugates. */    \
  static void name##_whole(const real *half, size_t n, real *to) {                                                     \
    memcpy(to, half, (n / 2 + 1) * 2 * sizeof(real));                                                                  \
    to[1] = 0;                                                                                                         \
    if (n % 2 == 0) to[n + 1] = 0;                                                                                     \
    for (size_t k = n / 2 + 1; k < n; k++) {                                                                           \
      to[2 * k] = half[2 * (n - k)];                                                                                   \
      to[2 * k + 1] = -half[2 * (n - k) + 1];                                                                          \
    }                                                                                                                  \
  }                                                                                                                    \
  static void name##_line(const cpu_chirp *chirp, real *first, real *second, const real *from, real *to) {             \
    size_t n = chirp->n, m = chirp->m;                                                                                 \
    if (chirp->kind == MW_FOURIER_REAL) {                                                                              \
      name##_real(&chirp->chirp, from, n, first);                                                                      \
    } else {                                                                                                           \
      if (chirp->kind == MW_FOURIER_REAL_INVERSE) name##_whole(from, n, second);                                       \
      name(&chirp->chirp, chirp->kind == MW_FOURIER_REAL_INVERSE ? second : from, n, first);                           \
    }                                                                                                                  \
    memset(first + 2 * n, 0, 2 * (m - n) * sizeof(real));                                                              \
    cpu_fftw_function(MW_FOURIER_FORWARD, chirp->is_double)(chirp->there->plan, first, second);                        \
    name(&chirp->spectrum, second, m, second);                                                                         \
    cpu_fftw_function(MW_FOURIER_INVERSE, chirp->is_double)(chirp->back->plan, second, first);                         \
    if (chirp->kind != MW_FOURIER_REAL_INVERSE) {                                                                      \
      name(&chirp->chirp, first, chirp->kind == MW_FOURIER_REAL ? n / 2 + 1 : n, to);                                  \
      return;                                                                                                          \
    }                                                                                                                  \
    name(&chirp->chirp, first, n, first);                                                                              \
    for (size_t k = 0; k < n; k++) to[k] = first[2 * k];                                                               \
  }
MULTIPLY(float, multiply_floats, 1, 0, 3, 2, 5, 4, 7, 6)
MULTIPLY(double, multiply_doubles, 1, 0, 3, 2)

void cpu_chirp_run(const cpu_chirp *chirp, void *first_area, void *second_area, const void *from, void *to) {
  if (chirp->is_double)
    multiply_doubles_line(chirp, first_area, second_area, from, to);
  else
    multiply_floats_line(chirp, first_area, second_area, from, to);
}
