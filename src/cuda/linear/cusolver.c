/* Factorisations by cuSOLVER, matrix after matrix: mw_array_factor says what each of them writes. Of many small matrices
 * cuBLAS makes LU decompositions (cublas.c), and cuSOLVER's Jacobi rotations find the eigenvalues, all in one call.
 *
 * A device has one handle, made at its first factorisation. device->linear_lock orders the calls that choose its stream
 * and queue in it. The matrices of a batch share one workspace, since their calls are queued in one stream. */
#include "cusolver.h"
#include "base/shared_library.h"
#include "cuda/check/check.h"
#include "cuda/linear/cublas.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Many small matrices: what has no call for all of them is faster by own kernels, a block each, which the caller runs. */
enum { MANY = 4, SMALL = 128, SMALL_AT_ONCE = 256 };

/* ---- the library ---- */

typedef int potrf_size(void *, int uplo, int n, void *a, int lda, int *size);
typedef int potrf(void *, int uplo, int n, void *a, int lda, void *work, int size, int *info);
typedef int getrf_size(void *, int m, int n, void *a, int lda, int *size);
typedef int getrf(void *, int m, int n, void *a, int lda, void *work, int *pivots, int *info);
typedef int getrs(void *, int op, int n, int right, void *a, int lda, int *pivots, void *b, int ldb, int *info);
typedef int geqrf(void *, int m, int n, void *a, int lda, void *tau, void *work, int size, int *info);
typedef int orgqr_size(void *, int m, int n, int k, void *a, int lda, void *tau, int *size);
typedef int orgqr(void *, int m, int n, int k, void *a, int lda, void *tau, void *work, int size, int *info);
typedef int syevd_size(void *, int vectors, int uplo, int n, void *a, int lda, void *w, int *size);
typedef int syevd(void *, int vectors, int uplo, int n, void *a, int lda, void *w, void *work, int size, int *info);
typedef int syevj_size(void *, int vectors, int uplo, int n, void *a, int lda, void *w, int *size, void *how,
                       int count);
typedef int syevj(void *, int vectors, int uplo, int n, void *a, int lda, void *w, void *work, int size, int *info,
                  void *how, int count);
typedef int gesvd_size(void *, int m, int n, int *size);
typedef int gesvd(void *, signed char u_part, signed char vt_part, int m, int n, void *a, int lda, void *s, void *u,
                  int ldu, void *vt, int ldvt, void *work, int size, void *real, int *info);

/* X(type, member, its name for real elements, for complex ones); before the name cusolverDn and BLAS's letter.
   (cuSOLVER Library, "dense LAPACK functions", CUDA 12) */
#define ROUTINES(X)                                                                                                    \
  X(potrf_size, potrf_size, "potrf_bufferSize", "potrf_bufferSize")                                                    \
  X(potrf, potrf, "potrf", "potrf")                                                                                    \
  X(getrf_size, getrf_size, "getrf_bufferSize", "getrf_bufferSize")                                                    \
  X(getrf, getrf, "getrf", "getrf")                                                                                    \
  X(getrs, getrs, "getrs", "getrs")                                                                                    \
  X(getrf_size, geqrf_size, "geqrf_bufferSize", "geqrf_bufferSize")                                                    \
  X(geqrf, geqrf, "geqrf", "geqrf")                                                                                    \
  X(orgqr_size, orgqr_size, "orgqr_bufferSize", "ungqr_bufferSize")                                                    \
  X(orgqr, orgqr, "orgqr", "ungqr")                                                                                    \
  X(syevd_size, syevd_size, "syevd_bufferSize", "heevd_bufferSize")                                                    \
  X(syevd, syevd, "syevd", "heevd")                                                                                    \
  X(syevj_size, syevj_size, "syevjBatched_bufferSize", "heevjBatched_bufferSize")                                      \
  X(syevj, syevj, "syevjBatched", "heevjBatched")                                                                      \
  X(gesvd_size, gesvd_size, "gesvd_bufferSize", "gesvd_bufferSize")                                                    \
  X(gesvd, gesvd, "gesvd", "gesvd")

typedef struct routines {
#define POINTER(type, member, real, complex) type *member;
  ROUTINES(POINTER)
#undef POINTER
} routines;

/* Eigenvalues of matrices that are not symmetric: of cuSOLVER 11.7 and later, else NULL. */
#define MATRIX int type, void *at, int64_t leading
typedef int geev_size(void *, void *params, int left, int right, int64_t n, MATRIX, int w_type, void *w, int vl_type,
                      void *vl, int64_t ldvl, int vr_type, void *vr, int64_t ldvr, int compute, size_t *device_bytes,
                      size_t *host_bytes);
typedef int geev(void *, void *params, int left, int right, int64_t n, MATRIX, int w_type, void *w, int vl_type,
                 void *vl, int64_t ldvl, int vr_type, void *vr, int64_t ldvr, int compute, void *work,
                 size_t device_bytes, void *host_work, size_t host_bytes, int *info);
#undef MATRIX

static struct {
  int (*create)(void **handle), (*destroy)(void *handle), (*set_stream)(void *handle, CUstream stream);
  int (*create_params)(void **params), (*destroy_params)(void *params);
  int (*create_how)(void **how), (*destroy_how)(void *how); /* syevj's parameters */
  geev_size *geev_size;
  geev *geev;
  routines of[4]; /* s d c z */
} lib;

static const char letters[] = "sdcz";
static const char *const names[] = {"libcusolver.so.12", "libcusolver.so.11", NULL};
static const char *const places[] = {"/usr/local/cuda/lib64/libcusolver.so.1[0-9]",
                                     "/usr/local/cuda-1*/lib64/libcusolver.so.1[0-9]",
                                     "/opt/cuda/lib64/libcusolver.so.1[0-9]",
                                     "/usr/lib/python3*/*-packages/nvidia/*/lib/libcusolver.so.1[0-9]",
                                     "/usr/local/lib/python3*/*-packages/nvidia/*/lib/libcusolver.so.1[0-9]",
                                     NULL};
static mw_library library = {.title = "cuSOLVER", .variable = "MOONWARP_CUSOLVER", .names = names, .places = places};
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char *problem;

static void find(void *handle, const char *name, void *pointer, bool is_needed) {
  void *address = mw_library_find(handle, name);
  memcpy(pointer, &address, sizeof address);
  if (!address && is_needed && !problem)
    problem = mw_format("%s has no function %s: cuSOLVER 11 or later is needed", library.path, name);
}

static void find_routines(void *handle, int letter) {
  char name[64];
#define FIND(type, member, real, complex)                                                                              \
  snprintf(name, sizeof name, "cusolverDn%c%s", "SDCZ"[letter], letter < 2 ? (real) : (complex));                      \
  find(handle, name, &lib.of[letter].member, true);
  ROUTINES(FIND)
#undef FIND
}

static void load(void) {
  void *handle = mw_library_open(&library);
  if (!handle) {
    problem = library.problem
                  ? library.problem
                  : mw_format("cuSOLVER was not found under these names: %s. It is part of the CUDA toolkit (package "
                              "libcusolver) and with `pip install nvidia-cusolver`; MOONWARP_CUSOLVER may name it",
                              mw_library_tried(&library));
    return;
  }
  find(handle, "cusolverDnCreate", &lib.create, true);
  find(handle, "cusolverDnDestroy", &lib.destroy, true);
  find(handle, "cusolverDnSetStream", &lib.set_stream, true);
  find(handle, "cusolverDnCreateParams", &lib.create_params, true);
  find(handle, "cusolverDnDestroyParams", &lib.destroy_params, true);
  find(handle, "cusolverDnCreateSyevjInfo", &lib.create_how, true);
  find(handle, "cusolverDnDestroySyevjInfo", &lib.destroy_how, true);
  find(handle, "cusolverDnXgeev_bufferSize", &lib.geev_size, false);
  find(handle, "cusolverDnXgeev", &lib.geev, false);
  for (int letter = 0; letter < 4; letter++) find_routines(handle, letter);
}

static int load_library(void) {
  pthread_once(&once, load);
  return problem ? fail(MW_NOT_SUPPORTED, "%s", problem) : MW_SUCCESS;
}

/* ---- the handle ---- */

enum { ALLOCATION_FAILED = 2 }; /* CUSOLVER_STATUS_ALLOC_FAILED */

static int failed(int status, const char *what) {
  return fail(MW_UNKNOWN, "%s failed: cuSOLVER's status is %d", what, status);
}

/* The device's handle, with device->linear_lock held. */
static int handle_of(cuda_device *device, void **out) {
  if (device->solver && device->solver_epoch != device->epoch) device->solver = NULL; /* lost with the context */
  if (!device->solver) {
    int status = lib.create(&device->solver);
    if (status == ALLOCATION_FAILED && cuda_heap_make_room(device, CUDA_OUT_OF_MEMORY))
      status = lib.create(&device->solver);
    if (status == 0 && !device->solver_params) status = lib.create_params(&device->solver_params);
    if (status != 0) return failed(status, "starting cuSOLVER");
    device->solver_epoch = device->epoch;
  }
  *out = device->solver;
  return MW_SUCCESS;
}

void cuda_solver_close(cuda_device *device) {
  if (device->solver && device->solver_epoch == device->epoch) lib.destroy(device->solver);
  if (device->solver_params) lib.destroy_params(device->solver_params);
  device->solver = device->solver_params = NULL;
}

/* ---- factorisations ---- */

enum { LOWER = 0, NOT_TRANSPOSED = 0 }; /* cublasFillMode_t, cublasOperation_t */

typedef struct job {
  const mw_factorisation *f;
  const routines *run;
  cuda_device *device;
  void *handle;
  int m, n, k;
  size_t element;           /* bytes */
  int size;                 /* of the workspace, in elements */
  size_t bytes, host_bytes; /* of GEEV's workspaces */
  char *work;               /* the workspace */
  char *tau;                /* QR: k elements */
  int *second;              /* the info of a second routine, which only says whether its arguments are right */
  void *host_work;
  void *how; /* of syevj: all matrices in one call; else NULL */
} job;

static void *place(const job *j, int array, size_t i) {
  return j->f->at[array] ? (void *)(uintptr_t)(j->f->at[array] + i * j->f->bytes[array]) : NULL;
}

/* cudaDataType of the elements: R_32F, R_64F, C_32F, C_64F. */
static int data_type(const job *j) {
  return (int)(strchr(letters, j->f->letter) - letters) % 2 + (j->element == 16 || j->f->letter == 'c' ? 4 : 0);
}

static int geev_sizes(job *j) {
  int type = data_type(j);
  int64_t n = j->n;
  return lib.geev_size(j->handle, j->device->solver_params, 0, j->f->vectors, n, type, place(j, 0, 0), n, type,
                       place(j, 1, 0), type, NULL, n, type, place(j, 3, 0), n, type, &j->bytes, &j->host_bytes);
}

/* Ask how large the workspace is; cuSOLVER's status. */
static int ask_size(job *j) {
  const routines *run = j->run;
  int other = 0, status;
  void *a = place(j, 0, 0);
  switch (j->f->kind) {
  case MW_FACTOR_SOLVE:
  case MW_FACTOR_LU: return run->getrf_size(j->handle, j->n, j->n, a, j->n, &j->size);
  case MW_FACTOR_CHOLESKY: return run->potrf_size(j->handle, LOWER, j->n, a, j->n, &j->size);
  case MW_FACTOR_QR:
    status = run->geqrf_size(j->handle, j->m, j->n, a, j->m, &j->size);
    if (status == 0) status = run->orgqr_size(j->handle, j->m, j->k, j->k, a, j->m, a, &other);
    if (other > j->size) j->size = other;
    return status;
  case MW_FACTOR_EIGH:
    if (j->how)
      return run->syevj_size(j->handle, j->f->vectors, LOWER, j->n, a, j->n, place(j, 1, 0), &j->size, j->how,
                             (int)j->f->count);
    return run->syevd_size(j->handle, j->f->vectors, LOWER, j->n, a, j->n, place(j, 1, 0), &j->size);
  case MW_FACTOR_SVD: return run->gesvd_size(j->handle, j->m, j->n, &j->size);
  case MW_FACTOR_EIG: return geev_sizes(j);
  }
  return 0;
}

/* R is in the upper triangle of a: below it the reflections remain, which are not defined in mw_array_factor's r. */
static int qr(const job *j, void *a, size_t i, CUstream stream) {
  int *info = place(j, 2, i);
  int status = j->run->geqrf(j->handle, j->m, j->n, a, j->m, j->tau, j->work, j->size, info);
  const CUDA_MEMCPY3D upper = {.source_kind = CU_MEMORY_DEVICE,
                               .source_device = (CUdeviceptr)(uintptr_t)a,
                               .source_pitch = j->element * (size_t)j->m,
                               .source_height = (size_t)j->n,
                               .target_kind = CU_MEMORY_DEVICE,
                               .target_device = (CUdeviceptr)(uintptr_t)place(j, 1, i),
                               .target_pitch = j->element * (size_t)j->k,
                               .target_height = (size_t)j->n,
                               .width = j->element * (size_t)j->k,
                               .height = (size_t)j->n,
                               .depth = 1};
  if (status == 0 && cu.cuMemcpy3DAsync(&upper, stream) != 0) return -1;
  if (status == 0) status = j->run->orgqr(j->handle, j->m, j->k, j->k, a, j->m, j->tau, j->work, j->size, info);
  return status;
}

/* Queue the factorisation of matrix i. */
static int queue_matrix(const job *j, size_t i, CUstream stream) {
  const routines *run = j->run;
  const mw_factorisation *f = j->f;
  void *a = place(j, 0, i);
  int n = j->n, type = data_type(j), status;
  signed char part = (signed char)(!f->vectors ? 'N' : f->full ? 'A' : 'S');
  switch (f->kind) {
  case MW_FACTOR_SOLVE:
    status = run->getrf(j->handle, n, n, a, n, j->work, place(j, 2, i), place(j, 3, i));
    if (status != 0) return status;
    return run->getrs(j->handle, NOT_TRANSPOSED, n, (int)f->right, a, n, place(j, 2, i), place(j, 1, i), n, j->second);
  case MW_FACTOR_LU: return run->getrf(j->handle, n, n, a, n, j->work, place(j, 1, i), place(j, 2, i));
  case MW_FACTOR_CHOLESKY: return run->potrf(j->handle, LOWER, n, a, n, j->work, j->size, place(j, 1, i));
  case MW_FACTOR_QR: return qr(j, a, i, stream);
  case MW_FACTOR_EIGH:
    if (j->how)
      return run->syevj(j->handle, f->vectors, LOWER, n, a, n, place(j, 1, i), j->work, j->size, place(j, 2, i), j->how,
                        (int)f->count);
    return run->syevd(j->handle, f->vectors, LOWER, n, a, n, place(j, 1, i), j->work, j->size, place(j, 2, i));
  case MW_FACTOR_SVD:
    return run->gesvd(j->handle, part, part, j->m, n, a, j->m, place(j, 1, i), place(j, 3, i), j->m, place(j, 4, i), n,
                      j->work, j->size, NULL, place(j, 2, i));
  case MW_FACTOR_EIG:
    return lib.geev(j->handle, j->device->solver_params, 0, f->vectors, n, type, a, n, type, place(j, 1, i), type, NULL,
                    n, type, place(j, 3, i), n, type, j->work, j->bytes, j->host_work, j->host_bytes, place(j, 2, i));
  }
  return 0;
}

static size_t rounded(size_t bytes) { return (bytes + 255) / 256 * 256; }

/* Allocate the workspaces, and queue all matrices; with device->linear_lock held. */
static int queue_batch(job *j, cuda_stream *stream, mw_completion *completion) {
  uint64_t memory = 0;
  int status = lib.set_stream(j->handle, stream->handle);
  if (status == 0) status = ask_size(j);
  if (status != 0) return failed(status, "a factorisation");
  size_t work = rounded(j->bytes + j->element * (size_t)j->size), tau = rounded(j->element * (size_t)j->k);
  int code =
      cuda_scratch_new(j->device, work + tau + sizeof *j->second, j->host_bytes, completion, &memory, &j->host_work);
  if (code != MW_SUCCESS) return code;
  j->work = (char *)(uintptr_t)memory;
  j->tau = j->work + work;
  j->second = (int *)(uintptr_t)(memory + work + tau);
  size_t calls = j->how ? 1 : j->f->count;
  for (size_t i = 0; i < calls && status == 0; i++) status = queue_matrix(j, i, stream->handle);
  if (status == 0) return MW_SUCCESS;
  cu.cuStreamSynchronize(stream->handle); /* of earlier matrices, which use the workspace */
  cuda_scratch_drop(completion);
  return failed(status, "a factorisation");
}

static bool is_many(const mw_factorisation *f) {
  return f->count >= MANY && f->rows <= SMALL_AT_ONCE && f->columns <= SMALL_AT_ONCE && f->count <= 0x7fffffff;
}

/* What is left to kernels, or to the CPU. */
static int check(const mw_factorisation *f) {
  size_t most = f->rows > f->columns ? f->rows : f->columns;
  bool is_real = f->letter == 's' || f->letter == 'd';
  if (f->kind == MW_FACTOR_EIG && is_real) return fail(MW_NOT_SUPPORTED, "cuSOLVER's eig needs complex matrices");
  if (f->kind == MW_FACTOR_EIG && !lib.geev) return fail(MW_NOT_SUPPORTED, "%s has no cusolverDnXgeev", library.path);
  if (f->kind == MW_FACTOR_SVD && f->rows < f->columns)
    return fail(MW_NOT_SUPPORTED, "cuSOLVER's svd needs matrices with at least as many rows as columns");
  bool is_by_one = f->kind == MW_FACTOR_CHOLESKY || f->kind == MW_FACTOR_QR || f->kind == MW_FACTOR_SVD;
  if (is_by_one && is_real && f->count >= MANY && most <= SMALL)
    return fail(MW_NOT_SUPPORTED, "cuSOLVER is slower than kernels for many small matrices");
  return MW_SUCCESS;
}

int cuda_solver_factor(void *stream_handle, const mw_factorisation *f, mw_completion completion) {
  cuda_stream *stream = stream_handle;
  cuda_device *device = stream->device;
  job j = {.f = f, .device = device, .m = (int)f->rows, .n = (int)f->columns};
  j.k = j.m < j.n ? j.m : j.n;
  j.element = f->letter == 's' ? 4 : f->letter == 'z' ? 16 : 8;
  j.run = &lib.of[strchr(letters, f->letter) - letters];
  int code = load_library();
  if (code == MW_SUCCESS) code = check(f);
  if (code == MW_SUCCESS) code = cuda_stream_enter(stream);
  if (code != MW_SUCCESS) return code;
  cuda_stream_inherit_holds(stream);
  bool is_lu = f->kind == MW_FACTOR_LU || f->kind == MW_FACTOR_SOLVE;
  mw_lock(&device->linear_lock);
  if (is_lu && is_many(f)) {
    code = cuda_linear_lu(stream, f, &completion);
  } else {
    code = handle_of(device, &j.handle);
    if (code == MW_SUCCESS && f->kind == MW_FACTOR_EIGH && is_many(f) && lib.create_how(&j.how) != 0) j.how = NULL;
    if (code == MW_SUCCESS) code = queue_batch(&j, stream, &completion);
    if (j.how) lib.destroy_how(j.how);
  }
  mw_unlock(&device->linear_lock);
  for (size_t i = 0; i < MW_COUNT(f->at) && code == MW_SUCCESS && device->check; i++)
    if (f->at[i]) cuda_check_library(stream, f->at[i], f->bytes[i] * f->count);
  if (code == MW_SUCCESS) cuda_stream_queued(stream, &completion);
  return code;
}

/* ---- names ---- */

int cuda_solver_name(void *device, mw_text *out) {
  (void)device;
  int code = load_library();
  if (code == MW_SUCCESS) mw_text_addf(out, "cuSOLVER (%s)", library.path);
  return code;
}

void cuda_solver_report(mw_text *out) {
  if (load_library() == MW_SUCCESS)
    mw_text_addf(out, "factorisations on GPUs: cuSOLVER (%s)%s\n", library.path, lib.geev ? "" : ", eig on the CPU");
  else
    mw_text_addf(
        out, "factorisations on GPUs: moonwarp's own kernels, and on the CPU those of complex matrices and eig. %s\n",
        problem);
}
