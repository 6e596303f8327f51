/* Products by cuBLAS: cublas.h.
 *
 * A device has one handle, made at its first product in the device's primary context, which is current whenever a member
 * of the driver's table runs. The lock orders the calls that choose its stream and queue in it. */
#include "cublas.h"
#include "base/shared_library.h"
#include "cuda/check/check.h"
#include "cuda/linear/cusolver.h"

#include <stdlib.h>
#include <string.h>

/* X(function, parameters). (cuBLAS Library, CUDA 12) */
#define CUBLAS(X)                                                                                                      \
  X(cublasCreate_v2, (void **handle))                                                                                  \
  X(cublasDestroy_v2, (void *handle))                                                                                  \
  X(cublasGetVersion_v2, (void *handle, int *version))                                                                 \
  X(cublasSetStream_v2, (void *handle, CUstream stream))                                                               \
  X(cublasGemmEx,                                                                                                      \
    (void *handle, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int a_type, int lda,         \
     const void *b, int b_type, int ldb, const void *beta, void *c, int c_type, int ldc, int compute, int algorithm))  \
  X(cublasGemmStridedBatchedEx,                                                                                        \
    (void *handle, int ta, int tb, int m, int n, int k, const void *alpha, const void *a, int a_type, int lda,         \
     long long a_next, const void *b, int b_type, int ldb, long long b_next, const void *beta, void *c, int c_type,    \
     int ldc, long long c_next, int count, int compute, int algorithm))                                                \
  X(cublasSgemv_v2, (void *handle, int trans, int m, int n, const float *alpha, const float *a, int lda,               \
                     const float *x, int x_step, const float *beta, float *y, int y_step))                             \
  X(cublasDgemv_v2, (void *handle, int trans, int m, int n, const double *alpha, const double *a, int lda,             \
                     const double *x, int x_step, const double *beta, double *y, int y_step))                          \
  LU(X, S) LU(X, D) LU(X, C) LU(X, Z)
#define LU(X, letter)                                                                                                  \
  X(cublas##letter##getrfBatched, (void *handle, int n, void *const *a, int lda, int *pivots, int *info, int count))   \
  X(cublas##letter##getrsBatched, (void *handle, int transposed, int n, int right, void *const *a, int lda,            \
                                   const int *pivots, void *const *b, int ldb, int *info, int count))

enum { NOT_TRANSPOSED, TRANSPOSED };

static struct {
#define POINTER(name, params) int(*name) params;
  CUBLAS(POINTER)
#undef POINTER
} blas;

static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", NULL};
static const char *const places[] = {"/usr/local/cuda/lib64/libcublas.so.1[0-9]",
                                     "/usr/local/cuda-1*/lib64/libcublas.so.1[0-9]",
                                     "/opt/cuda/lib64/libcublas.so.1[0-9]",
                                     "/usr/lib/python3*/*-packages/nvidia/*/lib/libcublas.so.1[0-9]",
                                     "/usr/local/lib/python3*/*-packages/nvidia/*/lib/libcublas.so.1[0-9]",
                                     NULL};
static mw_library library = {.title = "cuBLAS", .variable = "MOONWARP_CUBLAS", .names = names, .places = places};
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char *problem;

static void load(void) {
  void *handle = mw_library_open(&library), *address;
  if (!handle) {
    problem = library.problem
                  ? library.problem
                  : mw_format("cuBLAS was not found under these names: %s. It is part of the CUDA toolkit (package "
                              "libcublas) and with `pip install nvidia-cublas`; MOONWARP_CUBLAS may name it",
                              mw_library_tried(&library));
    return;
  }
#define FIND(name, params)                                                                                             \
  address = mw_library_find(handle, #name);                                                                            \
  memcpy(&blas.name, &address, sizeof address);                                                                        \
  if (!address) problem = mw_format("%s has no function %s: cuBLAS 11 or later is needed", library.path, #name);
  CUBLAS(FIND)
#undef FIND
}

static int load_library(void) {
  pthread_once(&once, load);
  return problem ? fail(MW_NOT_SUPPORTED, "%s", problem) : MW_SUCCESS;
}

/* ---- the handle ---- */

enum { ALLOCATION_FAILED = 3 }; /* CUBLAS_STATUS_ALLOC_FAILED */

static int failed(int status, const char *what) {
  return fail(MW_UNKNOWN, "%s failed: cuBLAS's status is %d", what, status);
}

/* The device's handle, with device->linear_lock held. */
static int handle_of(cuda_device *device, void **out) {
  if (device->linear && device->linear_epoch != device->epoch) device->linear = NULL; /* lost with the context */
  if (!device->linear) {
    int status = blas.cublasCreate_v2(&device->linear);
    if (status == ALLOCATION_FAILED && cuda_heap_make_room(device, CUDA_OUT_OF_MEMORY))
      status = blas.cublasCreate_v2(&device->linear);
    if (status != 0) return failed(status, "starting cuBLAS");
    device->linear_epoch = device->epoch;
  }
  *out = device->linear;
  return MW_SUCCESS;
}

void cuda_linear_close(cuda_device *device) {
  if (device->linear && device->linear_epoch == device->epoch) blas.cublasDestroy_v2(device->linear);
  device->linear = NULL;
}

/* ---- products ---- */

typedef struct element_type {
  char letter;
  int type, compute; /* cudaDataType, cublasComputeType_t */
} element_type;

static const element_type types[] = {{'s', 0, 68}, {'d', 1, 70}, {'c', 4, 68},
                                     {'z', 5, 70}, {'h', 2, 68}, {'b', 14, 68}};

static const void *address_of(const mw_matrices *m) { return (const void *)(uintptr_t)m->address; }

/* A matrix times a vector, of floats or doubles; `status` is cuBLAS's. False: not that. */
static bool multiply_vector(void *handle, const mw_product *p, int *status) {
  bool is_left = p->columns == 1;
  if (p->count > 1 || (!is_left && p->rows > 1) || (p->letter != 's' && p->letter != 'd')) return false;
  static const float one = 1, zero = 0;
  static const double one_double = 1, zero_double = 0;
  const mw_matrices *matrix = is_left ? &p->a : &p->b, *x = is_left ? &p->b : &p->a;
  bool is_flipped = matrix->transposed != is_left; /* the inner dimension is contiguous */
  int inner = (int)p->inner, outer = (int)(is_left ? p->rows : p->columns), leading = (int)matrix->leading;
  int from = x->transposed == is_left ? 1 : (int)x->leading, to = is_left ? (int)p->c.leading : 1;
  int m = is_flipped ? inner : outer, n = is_flipped ? outer : inner;
  void *y = (void *)(uintptr_t)p->c.address;
  if (p->letter == 's')
    *status = blas.cublasSgemv_v2(handle, is_flipped, m, n, &one, address_of(matrix), leading, address_of(x), from,
                                  &zero, y, to);
  else
    *status = blas.cublasDgemv_v2(handle, is_flipped, m, n, &one_double, address_of(matrix), leading, address_of(x),
                                  from, &zero_double, y, to);
  return true;
}

/* In column-major order, as cuBLAS has it, the product of the transposed matrices: transposed c = transposed b,
   transposed a. */
static int multiply(void *handle, const mw_product *p, const element_type *of) {
  static const float one[2] = {1, 0}, zero[2] = {0, 0};
  static const double one_double[2] = {1, 0}, zero_double[2] = {0, 0};
  const void *alpha = of->compute == 70 ? (const void *)one_double : one;
  const void *beta = of->compute == 70 ? (const void *)zero_double : zero;
  int m = (int)p->columns, n = (int)p->rows, k = (int)p->inner, status;
  int ta = p->b.transposed ? TRANSPOSED : NOT_TRANSPOSED, tb = p->a.transposed ? TRANSPOSED : NOT_TRANSPOSED;
  int lda = (int)p->b.leading, ldb = (int)p->a.leading, ldc = (int)p->c.leading, best = -1;
  void *c = (void *)(uintptr_t)p->c.address;
  if (multiply_vector(handle, p, &status)) return status;
  if (p->count == 1)
    return blas.cublasGemmEx(handle, ta, tb, m, n, k, alpha, address_of(&p->b), of->type, lda, address_of(&p->a),
                             of->type, ldb, beta, c, of->type, ldc, of->compute, best);
  return blas.cublasGemmStridedBatchedEx(handle, ta, tb, m, n, k, alpha, address_of(&p->b), of->type, lda, p->b.next,
                                         address_of(&p->a), of->type, ldb, p->a.next, beta, c, of->type, ldc, p->c.next,
                                         (int)p->count, of->compute, best);
}

/* The result's rows, with what is between them. */
static void tell_checked_run(cuda_stream *stream, const mw_product *p) {
  size_t element = p->letter == 'z' ? 16 : p->letter == 's' ? 4 : p->letter == 'h' || p->letter == 'b' ? 2 : 8;
  size_t bytes = ((p->rows - 1) * p->c.leading + p->columns) * element;
  for (size_t i = 0; i < p->count; i++) cuda_check_library(stream, p->c.address + i * p->c.next * element, bytes);
}

static int queue_product(void *stream_handle, const mw_product *p, mw_completion completion) {
  cuda_stream *stream = stream_handle;
  cuda_device *device = stream->device;
  const element_type *of = types;
  void *handle = NULL;
  int code = load_library(), status = 0;
  if (code == MW_SUCCESS && p->count > 0x7fffffff) code = fail(MW_NOT_SUPPORTED, "cuBLAS counts with 32 bits");
  if (code == MW_SUCCESS) code = cuda_stream_enter(stream);
  if (code != MW_SUCCESS) return code;
  while (of->letter != p->letter) of++;
  cuda_stream_inherit_holds(stream);
  mw_lock(&device->linear_lock);
  code = handle_of(device, &handle);
  if (code == MW_SUCCESS) status = blas.cublasSetStream_v2(handle, stream->handle);
  if (code == MW_SUCCESS && status == 0) status = multiply(handle, p, of);
  mw_unlock(&device->linear_lock);
  if (code == MW_SUCCESS && status != 0) code = failed(status, "a product");
  if (code == MW_SUCCESS && device->check) tell_checked_run(stream, p);
  if (code == MW_SUCCESS) cuda_stream_queued(stream, &completion);
  return code;
}

/* ---- LU decompositions ---- */

/* The addresses of a batch's matrices and right sides, in device memory: cuBLAS takes them in lists. */
static int list_addresses(cuda_stream *stream, const mw_factorisation *f, mw_completion *completion, uint64_t *out) {
  size_t bytes = 2 * f->count * sizeof(uint64_t);
  void *host;
  int code = cuda_scratch_new(stream->device, bytes, bytes, completion, out, &host);
  if (code != MW_SUCCESS) return code;
  uint64_t *list = host;
  for (size_t i = 0; i < f->count; i++) {
    list[i] = f->at[0] + i * f->bytes[0];
    list[f->count + i] = f->at[1] + i * f->bytes[1];
  }
  code = cuda_outcome(stream->device, cu.cuMemcpyHtoDAsync(*out, host, bytes, stream->handle), "copying addresses");
  if (code != MW_SUCCESS) cuda_scratch_drop(completion);
  return code;
}

/* What cuBLAS returned, of the functions of a letter. */
#define LU_OF(letter)                                                                                                  \
  status = blas.cublas##letter##getrfBatched(handle, n, a, n, pivots, info, count);                                    \
  if (status == 0 && solves)                                                                                           \
    status = blas.cublas##letter##getrsBatched(handle, NOT_TRANSPOSED, n, right, a, n, pivots, b, n, &wrong, count);

int cuda_linear_lu(cuda_stream *stream, const mw_factorisation *f, mw_completion *completion) {
  bool solves = f->kind == MW_FACTOR_SOLVE;
  uint64_t lists = 0;
  void *handle = NULL;
  int code = load_library();
  if (code == MW_SUCCESS) code = handle_of(stream->device, &handle);
  if (code == MW_SUCCESS) code = list_addresses(stream, f, completion, &lists);
  if (code != MW_SUCCESS) return code;
  int n = (int)f->columns, right = (int)f->right, count = (int)f->count, wrong = 0;
  void **a = (void **)(uintptr_t)lists, **b = a + f->count;
  int *pivots = (int *)(uintptr_t)f->at[solves ? 2 : 1], *info = (int *)(uintptr_t)f->at[solves ? 3 : 2];
  int status = blas.cublasSetStream_v2(handle, stream->handle);
  if (status == 0) {
    switch (f->letter) {
    case 's': LU_OF(S) break;
    case 'd': LU_OF(D) break;
    case 'c': LU_OF(C) break;
    default: LU_OF(Z) break;
    }
  }
  if (status == 0) return MW_SUCCESS;
  cu.cuStreamSynchronize(stream->handle);
  cuda_scratch_drop(completion);
  return failed(status, "a factorisation");
}

/* ---- names ---- */

static int name_products(void *device, mw_text *out) {
  (void)device;
  int code = load_library();
  if (code == MW_SUCCESS) mw_text_addf(out, "cuBLAS (%s)", library.path);
  return code;
}

void cuda_linear_report(mw_text *out) {
  if (load_library() == MW_SUCCESS)
    mw_text_addf(out, "matrix products on GPUs: cuBLAS (%s)\n", library.path);
  else
    mw_text_addf(out, "matrix products on GPUs: moonwarp's own kernels. %s\n", problem);
}

const mw_driver_linear cuda_linear = {
    .products = name_products,
    .factorisations = cuda_solver_name,
    .product = queue_product,
    .factor = cuda_solver_factor,
};
