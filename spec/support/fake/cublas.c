/* A libcublas without GPUs: device memory is the host's (fake/cuda.c), and the CPU's BLAS and LAPACK compute. Products of
 * half and bfloat16 are refused.
 *
 *   FAKE_CUBLAS_LOG  a file for the calls, one a line */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "calls.h"
#include "lapack.h"

enum { NOT_SUPPORTED = 15 };

int cublasCreate_v2(void **handle) { return !(*handle = malloc(1)); }
int cublasDestroy_v2(void *handle) {
  free(handle);
  return 0;
}
int cublasGetVersion_v2(void *handle, int *version) { return (*version = 130000, !handle); }
int cublasSetStream_v2(void *handle, void *stream) { return !handle || !stream; }

static const char *letters(int transposed) { return transposed ? "T" : "N"; }

int cublasGemmEx(void *handle, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int a_type,
                 int lda, const void *b, int b_type, int ldb, const void *beta, void *c, int c_type, int ldc,
                 int compute, int algorithm) {
  static const char *const names[] = {"sgemm_", "dgemm_", NULL, NULL, "cgemm_", "zgemm_"};
  record("FAKE_CUBLAS_LOG", "gemm");
  if (a_type > 5 || !names[a_type]) return NOT_SUPPORTED;
  lapack(names[a_type])(letters(ta), letters(tb), &m, &n, &k, alpha, a, &lda, b, &ldb, beta, c, &ldc);
  return !handle || a_type != b_type || a_type != c_type || compute != (a_type % 2 ? 70 : 68) || algorithm != -1;
}

int cublasGemmStridedBatchedEx(void *handle, int ta, int tb, int m, int n, int k, const void *alpha, const void *a,
                               int a_type, int lda, long long a_next, const void *b, int b_type, int ldb,
                               long long b_next, const void *beta, void *c, int c_type, int ldc, long long c_next,
                               int count, int compute, int algorithm) {
  static const int sizes[] = {4, 8, 2, 0, 8, 16};
  for (long long i = 0; i < count; i++) {
    long long size = a_type > 5 ? 0 : sizes[a_type];
    int status = cublasGemmEx(handle, ta, tb, m, n, k, alpha, (const char *)a + i * a_next * size, a_type, lda,
                              (const char *)b + i * b_next * size, b_type, ldb, beta, (char *)c + i * c_next * size,
                              c_type, ldc, compute, algorithm);
    if (status != 0) return status;
  }
  return 0;
}

#define GEMV(U, l, type)                                                                                               \
  int cublas##U##gemv_v2(void *handle, int transposed, int m, int n, const type *alpha, const type *a, int lda,        \
                         const type *x, int x_step, const type *beta, type *y, int y_step) {                           \
    record("FAKE_CUBLAS_LOG", "gemv");                                                                                 \
    lapack(l "gemv_")(letters(transposed), &m, &n, alpha, a, &lda, x, &x_step, beta, y, &y_step);                      \
    return !handle;                                                                                                    \
  }
GEMV(S, "s", float)
GEMV(D, "d", double)

#define LU(U, l)                                                                                                       \
  int cublas##U##getrfBatched(void *handle, int n, void *const *a, int lda, int *pivots, int *info, int count) {       \
    record("FAKE_CUBLAS_LOG", "getrfBatched %d", count);                                                               \
    for (int i = 0; i < count; i++) lapack(l "getrf_")(&n, &n, a[i], &lda, pivots + i * n, info + i);                  \
    return !handle;                                                                                                    \
  }                                                                                                                    \
  int cublas##U##getrsBatched(void *handle, int transposed, int n, int right, void *const *a, int lda,                 \
                              const int *pivots, void *const *b, int ldb, int *info, int count) {                      \
    for (int i = 0; i < count; i++)                                                                                    \
      lapack(l "getrs_")(letters(transposed), &n, &right, a[i], &lda, pivots + i * n, b[i], &ldb, info);               \
    return !handle;                                                                                                    \
  }
LU(S, "s")
LU(D, "d")
LU(C, "c")
LU(Z, "z")
