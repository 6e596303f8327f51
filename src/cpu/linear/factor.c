/* Factorisations by LAPACK, matrix after matrix: mw_array_factor says what each of them writes.
 *
 * LAPACK works on copies. OpenBLAS's kernels may read a few bytes past the end of a matrix (zgemv of 0.3.21 does), and
 * after an array in device memory there may be a page without access. */
#include "blas.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { SLACK = 256, ARRAYS = 5 };

typedef struct job {
  const mw_factorisation *f;
  char letter;
  size_t element, real; /* bytes of an element, and of its real type */
  bool is_complex;
  int m, n, k;
  size_t first, last;
  void *work[ARRAYS]; /* copies of a matrix's part of each array, or NULL */
} job;

static void *place(const job *j, int array, size_t i) {
  return (unsigned char *)(uintptr_t)j->f->at[array] + i * j->f->bytes[array];
}

/* Copy what matrix i has in the arrays; false after the last matrix. */
static bool fetch(const job *j, size_t i) {
  if (i >= j->last) return false;
  for (int k = 0; k < ARRAYS; k++)
    if (j->work[k]) memcpy(j->work[k], place(j, k, i), j->f->bytes[k]);
  return true;
}

/* Copy the results back. */
static void give(const job *j, size_t i) {
  for (int k = 0; k < ARRAYS; k++)
    if (j->work[k]) memcpy(place(j, k, i), j->work[k], j->f->bytes[k]);
}

static cpu_routine_code *routine(const job *j, cpu_routine which) { return cpu_blas_routine(which, j->letter); }

/* The size that a routine asked for in the first element of its workspace. */
static int wished(const job *j, const void *work) {
  double size = j->real == 4 ? *(const float *)work : *(const double *)work;
  return size < 1 ? 1 : size > 0x7ffffff0 ? 0x7ffffff0 : (int)(size + size / 1e6) + 1;
}

typedef union number {
  double z[2];
  float c[2];
} number;

/* ---- LU, Cholesky ---- */

typedef void getrf(const int *, const int *, void *, const int *, int *, int *);
typedef void gesv(const int *, const int *, void *, const int *, int *, void *, const int *, int *);
typedef void potrf(const char *, const int *, void *, const int *, int *);

static void lu(const job *j) {
  getrf *run = (getrf *)routine(j, CPU_GETRF);
  for (size_t i = j->first; fetch(j, i); give(j, i++)) run(&j->n, &j->n, j->work[0], &j->n, j->work[1], j->work[2]);
}

static void solve(const job *j) {
  gesv *run = (gesv *)routine(j, CPU_GESV);
  int right = (int)j->f->right;
  for (size_t i = j->first; fetch(j, i); give(j, i++))
    run(&j->n, &right, j->work[0], &j->n, j->work[2], j->work[1], &j->n, j->work[3]);
}

static void cholesky(const job *j) {
  potrf *run = (potrf *)routine(j, CPU_POTRF);
  for (size_t i = j->first; fetch(j, i); give(j, i++)) run("L", &j->n, j->work[0], &j->n, j->work[1]);
}

/* ---- QR ---- */

typedef void geqrf(const int *, const int *, void *, const int *, void *, void *, const int *, int *);
typedef void orgqr(const int *, const int *, const int *, void *, const int *, const void *, void *, const int *,
                   int *);

static void copy_upper(const job *j, const unsigned char *a, unsigned char *r) {
  memset(r, 0, j->element * (size_t)j->k * (size_t)j->n);
  for (int column = 0; column < j->n; column++) {
    size_t rows = (size_t)(column < j->k ? column + 1 : j->k);
    memcpy(r + j->element * (size_t)column * (size_t)j->k, a + j->element * (size_t)column * (size_t)j->m,
           j->element * rows);
  }
}

static void qr(const job *j) {
  geqrf *reduce = (geqrf *)routine(j, CPU_GEQRF);
  orgqr *expand = (orgqr *)routine(j, CPU_ORGQR);
  number first = {{0}}, second = {{0}};
  int ask = -1, info;
  void *tau = mw_alloc(j->element * (size_t)(j->k + 1));
  reduce(&j->m, &j->n, j->work[0], &j->m, tau, &first, &ask, &info);
  expand(&j->m, &j->k, &j->k, j->work[0], &j->m, tau, &second, &ask, &info);
  int size = wished(j, &first), other = wished(j, &second);
  if (other > size) size = other;
  void *work = mw_alloc(j->element * (size_t)size);
  for (size_t i = j->first; fetch(j, i); give(j, i++)) {
    int *result = j->work[2];
    unsigned char *a = j->work[0];
    reduce(&j->m, &j->n, a, &j->m, tau, work, &size, result);
    copy_upper(j, a, j->work[1]);
    if (*result == 0) expand(&j->m, &j->k, &j->k, a, &j->m, tau, work, &size, result);
  }
  free(work);
  free(tau);
}

/* ---- eigenvalues of symmetric matrices ---- */

typedef void syevd(const char *, const char *, const int *, void *, const int *, void *, void *, const int *, int *,
                   const int *, int *);
typedef void heevd(const char *, const char *, const int *, void *, const int *, void *, void *, const int *, void *,
                   const int *, int *, const int *, int *);

static void eigh(const job *j) {
  cpu_routine_code *run = routine(j, CPU_SYEVD);
  const char *what = j->f->vectors ? "V" : "N";
  number ask_work = {{0}}, ask_real = {{0}};
  int ask = -1, ask_whole = 0, info;
  if (j->is_complex)
    ((heevd *)run)(what, "L", &j->n, j->work[0], &j->n, j->work[1], &ask_work, &ask, &ask_real, &ask, &ask_whole, &ask,
                   &info);
  else
    ((syevd *)run)(what, "L", &j->n, j->work[0], &j->n, j->work[1], &ask_work, &ask, &ask_whole, &ask, &info);
  int size = wished(j, &ask_work), reals = wished(j, &ask_real), wholes = ask_whole < 1 ? 1 : ask_whole;
  void *work = mw_alloc(j->element * (size_t)size), *real = mw_alloc(j->real * (size_t)reals);
  int *whole = mw_alloc(sizeof *whole * (size_t)wholes);
  for (size_t i = j->first; fetch(j, i); give(j, i++)) {
    void *w = j->work[1];
    int *result = j->work[2];
    if (j->is_complex)
      ((heevd *)run)(what, "L", &j->n, j->work[0], &j->n, w, work, &size, real, &reals, whole, &wholes, result);
    else
      ((syevd *)run)(what, "L", &j->n, j->work[0], &j->n, w, work, &size, whole, &wholes, result);
  }
  free(whole);
  free(real);
  free(work);
}

/* ---- singular values ---- */

typedef void gesdd_real(const char *, const int *, const int *, void *, const int *, void *, void *, const int *,
                        void *, const int *, void *, const int *, int *, int *);
typedef void gesdd_complex(const char *, const int *, const int *, void *, const int *, void *, void *, const int *,
                           void *, const int *, void *, const int *, void *, int *, int *);

static void svd(const job *j) {
  cpu_routine_code *run = routine(j, CPU_GESDD);
  size_t k = (size_t)j->k, most = (size_t)(j->m > j->n ? j->m : j->n);
  const char *what = !j->f->vectors ? "N" : j->f->full ? "A" : "S";
  int vt_rows = !j->f->vectors ? 1 : j->f->full ? j->n : j->k, m = j->m, n = j->n;
  int ldu = j->f->vectors ? m : 1;
  number ask_work = {{0}};
  int ask = -1, info, *whole = mw_alloc(sizeof *whole * (8 * k + 1));
  size_t reals = j->is_complex ? 5 * k * k + 7 * k + 2 * most * k + 1 : 1;
  void *real = mw_alloc(j->real * reals), *a = j->work[0];
  void *s = j->work[1], *u = j->work[3], *vt = j->work[4];
  if (j->is_complex)
    ((gesdd_complex *)run)(what, &m, &n, a, &m, s, u, &ldu, vt, &vt_rows, &ask_work, &ask, real, whole, &info);
  else
    ((gesdd_real *)run)(what, &m, &n, a, &m, s, u, &ldu, vt, &vt_rows, &ask_work, &ask, whole, &info);
  int size = wished(j, &ask_work);
  void *work = mw_alloc(j->element * (size_t)size);
  for (size_t i = j->first; fetch(j, i); give(j, i++)) {
    int *result = j->work[2];
    a = j->work[0];
    s = j->work[1];
    u = j->work[3];
    vt = j->work[4];
    if (j->is_complex)
      ((gesdd_complex *)run)(what, &m, &n, a, &m, s, u, &ldu, vt, &vt_rows, work, &size, real, whole, result);
    else
      ((gesdd_real *)run)(what, &m, &n, a, &m, s, u, &ldu, vt, &vt_rows, work, &size, whole, result);
  }
  free(work);
  free(real);
  free(whole);
}

/* ---- eigenvalues of other matrices ---- */

typedef void geev_real(const char *, const char *, const int *, void *, const int *, void *, void *, void *,
                       const int *, void *, const int *, void *, const int *, int *);
typedef void geev_complex(const char *, const char *, const int *, void *, const int *, void *, void *, const int *,
                          void *, const int *, void *, const int *, void *, int *);

/* LAPACK gives real matrices' values as real and imaginary parts, and of a pair of conjugate vectors the real part in
   one column and the imaginary part in the next. */
#define SPREAD(name, type)                                                                                             \
  static void name(int n, const type *re, const type *im, const type *real, type *w, type *v) {                        \
    for (int c = 0; c < n; c++) {                                                                                      \
      w[2 * c] = re[c], w[2 * c + 1] = im[c];                                                                          \
      bool second = c > 0 && im[c] < 0 && im[c - 1] > 0;                                                               \
      const type *x = real + (size_t)(second ? c - 1 : c) * (size_t)n, *y = im[c] != 0 ? x + n : NULL;                 \
      for (int r = 0; v && r < n; r++) {                                                                               \
        type *out = v + 2 * ((size_t)c * (size_t)n + (size_t)r);                                                       \
        out[0] = x[r], out[1] = !y ? 0 : second ? -y[r] : y[r];                                                        \
      }                                                                                                                \
    }                                                                                                                  \
  }
SPREAD(spread_float, float)
SPREAD(spread_double, double)

static void eig_real(const job *j) {
  geev_real *run = (geev_real *)routine(j, CPU_GEEV);
  const char *what = j->f->vectors ? "V" : "N";
  size_t n = (size_t)j->n;
  unsigned char *parts = mw_alloc(j->real * (2 * n + 1)), *vectors = mw_alloc(j->real * (j->f->vectors ? n * n : 1));
  void *im = parts + j->real * n;
  number ask_work = {{0}};
  int ask = -1, info, one = 1;
  run("N", what, &j->n, j->work[0], &j->n, parts, im, NULL, &one, vectors, &j->n, &ask_work, &ask, &info);
  int size = wished(j, &ask_work);
  void *work = mw_alloc(j->element * (size_t)size);
  for (size_t i = j->first; fetch(j, i); give(j, i++)) {
    void *w = j->work[1];
    void *v = j->f->vectors ? j->work[3] : NULL;
    run("N", what, &j->n, j->work[0], &j->n, parts, im, NULL, &one, vectors, &j->n, work, &size, j->work[2]);
    if (j->real == 4)
      spread_float(j->n, (float *)(void *)parts, im, (float *)(void *)vectors, w, v);
    else
      spread_double(j->n, (double *)(void *)parts, im, (double *)(void *)vectors, w, v);
  }
  free(work);
  free(vectors);
  free(parts);
}

static void eig_complex(const job *j) {
  geev_complex *run = (geev_complex *)routine(j, CPU_GEEV);
  const char *what = j->f->vectors ? "V" : "N";
  size_t n = (size_t)j->n;
  number ask_work = {{0}};
  int ask = -1, info, one = 1;
  void *real = mw_alloc(j->real * (2 * n + 1));
  run("N", what, &j->n, j->work[0], &j->n, j->work[1], NULL, &one, j->work[3], &j->n, &ask_work, &ask, real, &info);
  int size = wished(j, &ask_work);
  void *work = mw_alloc(j->element * (size_t)size);
  for (size_t i = j->first; fetch(j, i); give(j, i++))
    run("N", what, &j->n, j->work[0], &j->n, j->work[1], NULL, &one, j->work[3], &j->n, work, &size, real, j->work[2]);
  free(work);
  free(real);
}

static void run(const job *j) {
  switch (j->f->kind) {
  case MW_FACTOR_SOLVE: solve(j); break;
  case MW_FACTOR_LU: lu(j); break;
  case MW_FACTOR_CHOLESKY: cholesky(j); break;
  case MW_FACTOR_QR: qr(j); break;
  case MW_FACTOR_EIGH: eigh(j); break;
  case MW_FACTOR_SVD: svd(j); break;
  case MW_FACTOR_EIG: (j->is_complex ? eig_complex : eig_real)(j); break;
  }
}

/* There was no memory for the copies: info is the least int. */
static void fail_all(const job *j) {
  int info = j->f->kind == MW_FACTOR_SOLVE ? 3 : j->f->kind == MW_FACTOR_CHOLESKY ? 1 : 2;
  const int none = INT_MIN;
  for (size_t i = j->first; i < j->last; i++) memcpy(place(j, info, i), &none, sizeof none);
}

void cpu_factor(const mw_factorisation *f, size_t first, size_t last) {
  job j = {.f = f, .letter = f->letter, .m = (int)f->rows, .n = (int)f->columns, .first = first, .last = last};
  j.k = j.m < j.n ? j.m : j.n;
  j.is_complex = f->letter == 'c' || f->letter == 'z';
  j.real = f->letter == 's' || f->letter == 'c' ? 4 : 8;
  j.element = j.is_complex ? 2 * j.real : j.real;
  bool has_memory = true;
  for (int k = 0; k < ARRAYS && has_memory; k++)
    if (f->at[k]) has_memory = (j.work[k] = mw_try_alloc(f->bytes[k] + SLACK, "a copy of a matrix")) != NULL;
  if (!has_memory)
    fail_all(&j);
  else
    run(&j);
  for (int k = 0; k < ARRAYS; k++) free(j.work[k]);
}
