/* What the C programs of spec/runtime_api/host_c_spec.lua share: checks that tell where they failed. */
#ifndef CHECK_H
#define CHECK_H

#include <cuda.h>
#include <cuda_runtime.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int checks, failures;

static inline void expect(int holds, const char *what, const char *file, int line) {
  checks++;
  if (holds) return;
  failures++;
  printf("%s:%d: %s\n", file, line, what);
}
/* Whether the process runs on a GPU, which a kernel that fails would lose to it. */
static inline int on_gpu(void) {
  const char *device = getenv("MOONWARP_DEVICE");
  return device && strncmp(device, "cuda", 4) == 0;
}

#define EXPECT(condition) expect((condition) != 0, #condition, __FILE__, __LINE__)

static inline void expect_code(int code, int wanted, const char *call, const char *file, int line) {
  checks++;
  if (code == wanted) return;
  failures++;
  printf("%s:%d: %s is %d, not %d: %s\n", file, line, call, code, wanted, mwCudaErrorMessage());
}
#define CODE(wanted, call) expect_code((int)(call), (int)(wanted), #call, __FILE__, __LINE__)
#define OK(call)           CODE(0, call)

/* A context of device 0, which is current, and a module of CUDA C text in it. */
static inline CUcontext open_module(CUmodule *module, const char *source) {
  CUcontext context = NULL;
  OK(cuInit(0));
  OK(cuCtxCreate(&context, 0, 0));
  OK(cuModuleLoadData(module, source));
  return context;
}

static inline CUfunction function_of(CUmodule module, const char *name) {
  CUfunction function = NULL;
  OK(cuModuleGetFunction(&function, module, name));
  return function;
}

static inline int finish(void) {
  printf("%d checks, %d failed\n", checks, failures);
  return failures != 0;
}

#endif
