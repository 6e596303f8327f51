/* Fourier transforms by cuFFT: cufft.h.
 *
 * A device keeps the plans of its last transforms. A plan has no memory of its own, so that it may run in several streams
 * at once: each transform allocates its workspace. The lock orders the calls that choose a plan's stream and workspace and
 * queue it.
 *
 * A plan is of transforms at one distance. The core's have two: `outer` ones, each of `inner` side by side. The fewer of
 * them are a loop, and if both are many the caller runs kernels. */
#include "cufft.h"
#include "base/shared_library.h"
#include "cuda/check/check.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT = 16, LOOPS = 64 };

/* X(function, parameters). (cuFFT API, CUDA 12) */
#define CUFFT(X)                                                                                                       \
  X(cufftCreate, (int *plan))                                                                                          \
  X(cufftDestroy, (int plan))                                                                                          \
  X(cufftSetAutoAllocation, (int plan, int automatic))                                                                 \
  X(cufftMakePlanMany64,                                                                                               \
    (int plan, int rank, long long *n, long long *inembed, long long istride, long long idist, long long *onembed,     \
     long long ostride, long long odist, int type, long long batch, size_t *workspace))                                \
  X(cufftSetStream, (int plan, CUstream stream))                                                                       \
  X(cufftSetWorkArea, (int plan, void *workspace))                                                                     \
  X(cufftExecC2C, (int plan, void *from, void *to, int direction))                                                     \
  X(cufftExecZ2Z, (int plan, void *from, void *to, int direction))                                                     \
  X(cufftExecR2C, (int plan, void *from, void *to))                                                                    \
  X(cufftExecD2Z, (int plan, void *from, void *to))                                                                    \
  X(cufftExecC2R, (int plan, void *from, void *to))                                                                    \
  X(cufftExecZ2D, (int plan, void *from, void *to))

static struct {
#define POINTER(name, params) int(*name) params;
  CUFFT(POINTER)
#undef POINTER
} lib;

static const char *const names[] = {"libcufft.so.12", "libcufft.so.11", "libcufft.so.10", NULL};
static const char *const places[] = {"/usr/local/cuda/lib64/libcufft.so.1[0-9]",
                                     "/usr/local/cuda-1*/lib64/libcufft.so.1[0-9]",
                                     "/opt/cuda/lib64/libcufft.so.1[0-9]",
                                     "/usr/lib/python3*/*-packages/nvidia/*/lib/libcufft.so.1[0-9]",
                                     "/usr/local/lib/python3*/*-packages/nvidia/*/lib/libcufft.so.1[0-9]",
                                     NULL};
static mw_library library = {.title = "cuFFT", .variable = "MOONWARP_CUFFT", .names = names, .places = places};
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char *problem;

static void load(void) {
  void *handle = mw_library_open(&library), *address;
  if (!handle) {
    problem = library.problem
                  ? library.problem
                  : mw_format("cuFFT was not found under these names: %s. It is part of the CUDA toolkit (package "
                              "libcufft) and with `pip install nvidia-cufft`; MOONWARP_CUFFT may name it",
                              mw_library_tried(&library));
    return;
  }
#define FIND(name, params)                                                                                             \
  address = mw_library_find(handle, #name);                                                                            \
  memcpy(&lib.name, &address, sizeof address);                                                                         \
  if (!address) problem = mw_format("%s has no function %s: cuFFT 10 or later is needed", library.path, #name);
  CUFFT(FIND)
#undef FIND
}

static int load_library(void) {
  pthread_once(&once, load);
  return problem ? fail(MW_NOT_SUPPORTED, "%s", problem) : MW_SUCCESS;
}

/* ---- plans ---- */

typedef struct plan_key {
  mw_fourier_kind kind;
  bool is_double;
  size_t n, stride, count; /* count transforms, of n numbers `stride` apart */
  size_t from, to;         /* between the first numbers of two transforms */
} plan_key;

typedef struct cuda_plan {
  plan_key key;
  int handle; /* 0 and up; -1: unused */
  size_t workspace;
  uint64_t used;
} cuda_plan;

struct cuda_plans {
  cuda_plan of[KEPT];
  unsigned epoch; /* of the context that they belong to */
  uint64_t clock;
};

static bool is_same(const plan_key *a, const plan_key *b) {
  return a->kind == b->kind && a->is_double == b->is_double && a->n == b->n && a->stride == b->stride &&
         a->count == b->count && a->from == b->from && a->to == b->to;
}

static void forget_plans(struct cuda_plans *plans, bool destroy) {
  for (int i = 0; i < KEPT; i++) {
    if (destroy && plans->of[i].handle >= 0) lib.cufftDestroy(plans->of[i].handle);
    plans->of[i].handle = -1;
  }
}

/* cufftType: real to complex, back, or complex; of double numbers 0x40 more. */
static int type_of(const plan_key *key) {
  int type = key->kind == MW_FOURIER_REAL ? 0x2a : key->kind == MW_FOURIER_REAL_INVERSE ? 0x2c : 0x29;
  return key->is_double ? type + 0x40 : type;
}

enum { ALLOCATION_FAILED = 2 }; /* CUFFT_ALLOC_FAILED */

static int make_plan(const plan_key *key, cuda_plan *out) {
  long long n = (long long)key->n, stride = (long long)key->stride;
  int status = lib.cufftCreate(&out->handle);
  if (status != 0) {
    out->handle = -1;
    return status;
  }
  status = lib.cufftSetAutoAllocation(out->handle, 0);
  if (status == 0)
    status = lib.cufftMakePlanMany64(out->handle, 1, &n, &n, stride, (long long)key->from, &n, stride,
                                     (long long)key->to, type_of(key), (long long)key->count, &out->workspace);
  out->key = *key;
  if (status == 0) return 0;
  lib.cufftDestroy(out->handle);
  out->handle = -1;
  return status;
}

/* The device's plan, with device->fourier_lock held; cuFFT's status. A plan that was destroyed may still be running in a
   stream: cuFFT waits for it. */
static int plan_for(cuda_device *device, const plan_key *key, const cuda_plan **out) {
  if (!device->plans) {
    device->plans = mw_alloc(sizeof *device->plans);
    forget_plans(device->plans, false);
  }
  struct cuda_plans *plans = device->plans;
  if (plans->epoch != device->epoch) forget_plans(plans, false); /* lost with the context */
  plans->epoch = device->epoch;
  cuda_plan *oldest = plans->of;
  for (int i = 0; i < KEPT; i++) {
    cuda_plan *plan = &plans->of[i];
    if (plan->handle >= 0 && is_same(&plan->key, key)) {
      plan->used = ++plans->clock;
      *out = plan;
      return 0;
    }
    if (oldest->handle >= 0 && (plan->handle < 0 || plan->used < oldest->used)) oldest = plan;
  }
  if (oldest->handle >= 0) lib.cufftDestroy(oldest->handle);
  int status = make_plan(key, oldest);
  if (status == ALLOCATION_FAILED && cuda_heap_make_room(device, CUDA_OUT_OF_MEMORY)) status = make_plan(key, oldest);
  oldest->used = ++plans->clock;
  *out = oldest;
  return status;
}

void cuda_fourier_close(cuda_device *device) {
  if (!device->plans) return;
  forget_plans(device->plans, device->plans->epoch == device->epoch);
  free(device->plans);
  device->plans = NULL;
}

/* ---- transforms ---- */

static int execute(const plan_key *key, int plan, void *from, void *to) {
  int sign = key->kind == MW_FOURIER_FORWARD ? -1 : 1;
  switch (key->kind) {
  case MW_FOURIER_REAL: return (key->is_double ? lib.cufftExecD2Z : lib.cufftExecR2C)(plan, from, to);
  case MW_FOURIER_REAL_INVERSE: return (key->is_double ? lib.cufftExecZ2D : lib.cufftExecC2R)(plan, from, to);
  default: return (key->is_double ? lib.cufftExecZ2Z : lib.cufftExecC2C)(plan, from, to, sign);
  }
}

/* A transform as `times` runs of a plan: run i begins i * from_next and to_next bytes after the first. */
typedef struct runs {
  plan_key key;
  size_t times, from_next, to_next;
} runs;

static runs runs_of(const mw_transform *t, bool by_lines) {
  size_t half = t->n / 2 + 1, real = t->is_double ? 8 : 4;
  bool from_real = t->kind == MW_FOURIER_REAL, to_real = t->kind == MW_FOURIER_REAL_INVERSE;
  size_t in = to_real ? half : t->n, out = from_real ? half : t->n;
  size_t from_size = from_real ? real : 2 * real, to_size = to_real ? real : 2 * real;
  runs work = {.key = {t->kind, t->is_double, t->n, t->inner, 0, 0, 0}};
  if (by_lines) {
    work.times = t->inner, work.from_next = from_size, work.to_next = to_size;
    work.key.count = t->outer, work.key.from = in * t->inner, work.key.to = out * t->inner;
  } else {
    work.times = t->outer, work.from_next = in * t->inner * from_size, work.to_next = out * t->inner * to_size;
    work.key.count = t->inner, work.key.from = work.key.to = 1;
  }
  return work;
}

/* With device->fourier_lock held. */
static int queue_runs(cuda_stream *stream, const mw_transform *t, const runs *work, mw_completion *completion) {
  const cuda_plan *plan;
  uint64_t workspace = 0;
  int status = plan_for(stream->device, &work->key, &plan);
  if (status != 0) return fail(MW_NOT_SUPPORTED, "cuFFT has no plan for %zu numbers: its status is %d", t->n, status);
  if (plan->workspace > 0) {
    int code = cuda_scratch_new(stream->device, plan->workspace, 0, completion, &workspace, NULL);
    if (code != MW_SUCCESS) return code;
  }
  status = lib.cufftSetStream(plan->handle, stream->handle);
  if (status == 0) status = lib.cufftSetWorkArea(plan->handle, (void *)(uintptr_t)workspace);
  for (size_t i = 0; i < work->times && status == 0; i++)
    status = execute(&work->key, plan->handle, (void *)(uintptr_t)(t->from + i * work->from_next),
                     (void *)(uintptr_t)(t->to + i * work->to_next));
  if (status == 0) return MW_SUCCESS;
  if (workspace) cuda_scratch_drop(completion);
  return fail(MW_UNKNOWN, "a Fourier transform failed: cuFFT's status is %d", status);
}

/* cuFFT reads and writes real numbers in pairs: its status is 4 (invalid value) where these are not aligned. */
static bool is_aligned(const mw_transform *t, const runs *work) {
  uint64_t pair = t->is_double ? 16 : 8, starts = t->from | t->to;
  if (work->times > 1) starts |= work->from_next | work->to_next;
  return starts % pair == 0;
}

static void tell_checked_run(cuda_stream *stream, const mw_transform *t) {
  size_t element = (t->kind == MW_FOURIER_REAL_INVERSE ? 4 : 8) * (t->is_double ? 2 : 1);
  size_t numbers = t->kind == MW_FOURIER_REAL ? t->n / 2 + 1 : t->n;
  cuda_check_library(stream, t->to, t->outer * numbers * t->inner * element);
}

static int queue_transform(void *stream_handle, const mw_transform *t, mw_completion completion) {
  cuda_stream *stream = stream_handle;
  cuda_device *device = stream->device;
  bool by_lines = t->outer >= t->inner;
  runs work = runs_of(t, by_lines);
  if (!is_aligned(t, &work)) work = runs_of(t, !by_lines);
  int code = load_library();
  if (code == MW_SUCCESS && work.times > LOOPS)
    code =
        fail(MW_NOT_SUPPORTED, "cuFFT cannot transform %zu batches of %zu lines at once", work.times, work.key.count);
  if (code == MW_SUCCESS && !is_aligned(t, &work))
    code = fail(MW_NOT_SUPPORTED, "cuFFT needs real arrays that are aligned to two numbers");
  if (code == MW_SUCCESS) code = cuda_stream_enter(stream);
  if (code != MW_SUCCESS) return code;
  cuda_stream_inherit_holds(stream);
  mw_lock(&device->fourier_lock);
  code = queue_runs(stream, t, &work, &completion);
  mw_unlock(&device->fourier_lock);
  if (code == MW_SUCCESS && device->check) tell_checked_run(stream, t);
  if (code == MW_SUCCESS) cuda_stream_queued(stream, &completion);
  return code;
}

/* ---- names ---- */

static int name(void *device, mw_text *out) {
  (void)device;
  int code = load_library();
  if (code == MW_SUCCESS) mw_text_addf(out, "cuFFT (%s)", library.path);
  return code;
}

void cuda_fourier_report(mw_text *out) {
  if (load_library() == MW_SUCCESS)
    mw_text_addf(out, "Fourier transforms on GPUs: cuFFT (%s)\n", library.path);
  else
    mw_text_addf(out, "Fourier transforms on GPUs: moonwarp's own kernels. %s\n", problem);
}

const mw_driver_fourier cuda_fourier = {.name = name, .transform = queue_transform, .inverse_overwrites = true};
