/* A libcusolver without GPUs: device memory is the host's (fake/cuda.c), and the CPU's LAPACK (libopenblas0) computes. It
 * overwrites the whole workspace that it asked for, so that tests find one that overlaps other memory.
 *
 *   FAKE_CUSOLVER_LOG  a file for the calls, one a line */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "calls.h"
#include "lapack.h"
#include <stddef.h>
#include <stdint.h>

enum { WORK = 64 }; /* elements for each column, which LAPACK's routines below are content with */

static int note(const char *name, void *work, size_t bytes) {
  record("FAKE_CUSOLVER_LOG", "%s", name);
  if (work) memset(work, 0xee, bytes);
  return 0;
}

int cusolverDnCreate(void **handle) {
  *handle = malloc(1);
  return note("cusolverDnCreate", NULL, 0);
}
int cusolverDnDestroy(void *handle) {
  free(handle);
  return note("cusolverDnDestroy", NULL, 0);
}
int cusolverDnSetStream(void *handle, void *stream) { return !handle || !stream; }
int cusolverDnCreateSyevjInfo(void **how) {
  *how = malloc(1);
  return 0;
}
int cusolverDnDestroySyevjInfo(void *how) {
  free(how);
  return 0;
}
int cusolverDnCreateParams(void **params) {
  *params = malloc(1);
  return 0;
}
int cusolverDnDestroyParams(void *params) {
  free(params);
  return 0;
}

/* U, l: BLAS's letter; gqr, ev: the routines' names; element: bytes; is_complex: of heev and gesvd, which then want a real
   workspace more. */
#define LETTER(U, l, GQR, gqr, EVD, EVD_ALL, ev, element, is_complex)                                                  \
  int cusolverDn##U##potrf_bufferSize(void *h, int uplo, int n, void *a, int lda, int *size) {                         \
    return (*size = n, !h || uplo || !a || lda < n);                                                                   \
  }                                                                                                                    \
  int cusolverDn##U##potrf(void *h, int uplo, int n, void *a, int lda, void *work, int size, int *info) {              \
    lapack(l "potrf_")("L", &n, a, &lda, info);                                                                        \
    return note("potrf", work, (size_t)size * (element)) || !h || uplo;                                                \
  }                                                                                                                    \
  int cusolverDn##U##getrf_bufferSize(void *h, int m, int n, void *a, int lda, int *size) {                            \
    return (*size = 3 * n, !h || m != n || !a || lda < n);                                                             \
  }                                                                                                                    \
  int cusolverDn##U##getrf(void *h, int m, int n, void *a, int lda, void *work, int *pivots, int *info) {              \
    lapack(l "getrf_")(&m, &n, a, &lda, pivots, info);                                                                 \
    return note("getrf", work, (size_t)(3 * n) * (element)) || !h;                                                     \
  }                                                                                                                    \
  int cusolverDn##U##getrs(void *h, int op, int n, int right, void *a, int lda, int *pivots, void *b, int ldb,         \
                           int *info) {                                                                                \
    lapack(l "getrs_")("N", &n, &right, a, &lda, pivots, b, &ldb, info);                                               \
    return note("getrs", NULL, 0) || !h || op;                                                                         \
  }                                                                                                                    \
  int cusolverDn##U##geqrf_bufferSize(void *h, int m, int n, void *a, int lda, int *size) {                            \
    return (*size = WORK * n, !h || !a || lda < m);                                                                    \
  }                                                                                                                    \
  int cusolverDn##U##geqrf(void *h, int m, int n, void *a, int lda, void *tau, void *work, int size, int *info) {      \
    lapack(l "geqrf_")(&m, &n, a, &lda, tau, work, &size, info);                                                       \
    return note("geqrf", work, (size_t)size * (element)) || !h;                                                        \
  }                                                                                                                    \
  int cusolverDn##U##GQR##_bufferSize(void *h, int m, int n, int k, void *a, int lda, void *tau, int *size) {          \
    return (*size = WORK * n + 1, !h || !a || !tau || lda < m || k != n);                                              \
  }                                                                                                                    \
  int cusolverDn##U##GQR(void *h, int m, int n, int k, void *a, int lda, void *tau, void *work, int size, int *info) { \
    lapack(l gqr)(&m, &n, &k, a, &lda, tau, work, &size, info);                                                        \
    return note("orgqr", work, (size_t)size * (element)) || !h;                                                        \
  }                                                                                                                    \
  int cusolverDn##U##EVD##_bufferSize(void *h, int vectors, int uplo, int n, void *a, int lda, void *w, int *size) {   \
    return (*size = WORK * n, !h || vectors > 1 || uplo || !a || !w || lda < n);                                       \
  }                                                                                                                    \
  int cusolverDn##U##EVD(void *h, int vectors, int uplo, int n, void *a, int lda, void *w, void *work, int size,       \
                         int *info) {                                                                                  \
    void *real = malloc(8 * (size_t)(3 * n + 1));                                                                      \
    if (is_complex)                                                                                                    \
      lapack(l ev)(vectors ? "V" : "N", "L", &n, a, &lda, w, work, &size, real, info);                                 \
    else                                                                                                               \
      lapack(l ev)(vectors ? "V" : "N", "L", &n, a, &lda, w, work, &size, info);                                       \
    free(real);                                                                                                        \
    return note("syevd", work, (size_t)size * (element)) || !h || uplo;                                                \
  }                                                                                                                    \
  int cusolverDn##U##EVD_ALL##_bufferSize(void *h, int vectors, int uplo, int n, void *a, int lda, void *w, int *size, \
                                          void *how, int count) {                                                      \
    return (*size = WORK * n, !h || vectors > 1 || uplo || !a || !w || lda < n || !how || count < 1);                  \
  }                                                                                                                    \
  int cusolverDn##U##EVD_ALL(void *h, int vectors, int uplo, int n, void *a, int lda, void *w, void *work, int size,   \
                             int *info, void *how, int count) {                                                        \
    size_t matrix = (size_t)(lda * n) * (element), values = (size_t)n * (element) / ((is_complex) + 1);                \
    for (int i = 0; i < count; i++)                                                                                    \
      cusolverDn##U##EVD(h, vectors, uplo, n, (char *)a + (size_t)i * matrix, lda, (char *)w + (size_t)i * values,     \
                         work, size, info + i);                                                                        \
    return note("syevjBatched", work, 0) || !how;                                                                      \
  }                                                                                                                    \
  int cusolverDn##U##gesvd_bufferSize(void *h, int m, int n, int *size) {                                              \
    return (*size = WORK * (m + n), !h || m < n);                                                                      \
  }                                                                                                                    \
  int cusolverDn##U##gesvd(void *h, signed char u_part, signed char vt_part, int m, int n, void *a, int lda, void *s,  \
                           void *u, int ldu, void *vt, int ldvt, void *work, int size, void *rest, int *info) {        \
    char parts[] = {(char)u_part, (char)vt_part};                                                                      \
    void *real = malloc(8 * (size_t)(5 * n + 1));                                                                      \
    if (is_complex)                                                                                                    \
      lapack(l "gesvd_")(parts, parts + 1, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &size, real, info);           \
    else                                                                                                               \
      lapack(l "gesvd_")(parts, parts + 1, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &size, info);                 \
    free(real);                                                                                                        \
    return note("gesvd", work, (size_t)size * (element)) || !h || rest;                                                \
  }

LETTER(S, "s", orgqr, "orgqr_", syevd, syevjBatched, "syev_", 4, 0)
LETTER(D, "d", orgqr, "orgqr_", syevd, syevjBatched, "syev_", 8, 0)
LETTER(C, "c", ungqr, "ungqr_", heevd, heevjBatched, "heev_", 8, 1)
LETTER(Z, "z", ungqr, "ungqr_", heevd, heevjBatched, "heev_", 16, 1)

enum { C_32F = 4, C_64F = 5 };
#define GEEV                                                                                                           \
  void *h, void *params, int left, int right, int64_t n, int a_type, void *a, int64_t lda, int w_type, void *w,        \
      int vl_type, void *vl, int64_t ldvl, int vr_type, void *vr, int64_t ldvr, int compute

int cusolverDnXgeev_bufferSize(GEEV, size_t *device_bytes, size_t *host_bytes) {
  *device_bytes = 100, *host_bytes = (size_t)(WORK * n) * 16;
  return !h || !params || left || (right && !vr) || !a || !w || vl || lda < n || ldvl < n || ldvr < n ||
         a_type != w_type || a_type != vl_type || a_type != vr_type || a_type != compute;
}

int cusolverDnXgeev(GEEV, void *work, size_t device_bytes, void *host_work, size_t host_bytes, int *info) {
  int size = (int)host_bytes / 16, order = (int)n;
  void *real = malloc(8 * (size_t)(2 * n + 1));
  if (a_type != C_32F && a_type != C_64F) return 3;
  lapack(a_type == C_32F ? "cgeev_" : "zgeev_")("N", right ? "V" : "N", &order, a, &order, w, vl, &order, vr, &order,
                                                host_work, &size, real, info);
  free(real);
  memset(host_work, 0xee, host_bytes);
  return note("Xgeev", work, device_bytes) || !h || !params || left || lda < n || w_type != a_type ||
         vl_type != a_type || vr_type != a_type || compute != a_type || ldvl < n || ldvr < n;
}
