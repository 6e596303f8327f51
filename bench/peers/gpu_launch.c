/* The time of a launch from C on an NVIDIA GPU: cuLaunchKernel with an empty kernel, as bench/gpu.lua measures it from
 * Lua. Prints microseconds: for one of many queued launches, and for a launch with its synchronisation. */
#include "cuda/types.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry nothing()\n{\n  ret;\n}\n";

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* A function of the driver; ends the program if there is none. */
#define FIND(name, ...)                                                                                                \
  CUresult (*name)(__VA_ARGS__) = NULL;                                                                                \
  {                                                                                                                    \
    void *address = dlsym(library, #name);                                                                             \
    if (!address) return fprintf(stderr, "the driver has no " #name "\n"), 1;                                          \
    memcpy(&name, &address, sizeof address);                                                                           \
  }
#define MUST(call)                                                                                                     \
  if ((call) != 0) return fprintf(stderr, #call " failed\n"), 1

int main(void) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
  FIND(cuInit, unsigned);
  FIND(cuDevicePrimaryCtxRetain, CUcontext *, CUdevice);
  FIND(cuCtxSetCurrent, CUcontext);
  FIND(cuModuleLoadData, CUmodule *, const void *);
  FIND(cuModuleGetFunction, CUfunction *, CUmodule, const char *);
  FIND(cuStreamSynchronize, CUstream);
  FIND(cuLaunchKernel, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
       void **, void **);
  CUcontext context;
  CUmodule module;
  CUfunction function;
  MUST(cuInit(0));
  MUST(cuDevicePrimaryCtxRetain(&context, 0));
  MUST(cuCtxSetCurrent(context));
  MUST(cuModuleLoadData(&module, ptx));
  MUST(cuModuleGetFunction(&function, module, "nothing"));
  double many = 1e9, one = 1e9;
  for (int round = 0; round < 5; round++) {
    double start = now();
    for (int i = 0; i < 20000; i++) MUST(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, CU_STREAM_LEGACY, NULL, NULL));
    MUST(cuStreamSynchronize(CU_STREAM_LEGACY));
    double each = (now() - start) / 20000;
    if (each < many) many = each;
    start = now();
    for (int i = 0; i < 5000; i++) {
      MUST(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, CU_STREAM_LEGACY, NULL, NULL));
      MUST(cuStreamSynchronize(CU_STREAM_LEGACY));
    }
    each = (now() - start) / 5000;
    if (each < one) one = each;
  }
  printf("%.2f %.2f\n", many, one);
  return 0;
}
