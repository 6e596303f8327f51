/* Shared by the examples: a failed call of either API ends the program with the code and the reason, and a product of
 * matrices is compared with that of a plain loop. */
#ifndef CHECK_H
#define CHECK_H

#include <cuda.h>
#include <cuda_runtime.h>

#include <stdio.h>
#include <stdlib.h>

static inline void check_runtime(cudaError_t error, const char *call) {
  if (error == cudaSuccess) return;
  printf("%s: %s: %s\n", call, cudaGetErrorName(error), mwCudaErrorMessage());
  exit(1);
}

static inline void check_driver(CUresult result, const char *call) {
  const char *name;
  if (result == CUDA_SUCCESS) return;
  cuGetErrorName(result, &name);
  printf("%s: %s: %s\n", call, name, mwCudaErrorMessage());
  exit(1);
}

#define CHECK(call)    check_runtime(call, #call)
#define CHECK_CU(call) check_driver(call, #call)

/* Compare C with A * B and print the result; returns the number of wrong elements. A is hA rows of wA, B is wA rows
 * of wB. */
static inline int check_product(const float *A, const float *B, const float *C, int hA, int wA, int wB) {
  int wrong = 0;
  for (int y = 0; y < hA; y++) {
    for (int x = 0; x < wB; x++) {
      float sum = 0;
      for (int k = 0; k < wA; k++) sum += A[y * wA + k] * B[k * wB + x];
      wrong += C[y * wB + x] != sum;
    }
  }
  printf("%d x %d times %d x %d: C[0][0] = %g, %d wrong\n", hA, wA, wA, wB, (double)C[0], wrong);
  return wrong;
}

#endif
