/* Pi by throwing darts, with cuRAND's host functions: a generator writes random points to device memory, and a kernel
 * counts those within the circle.
 *
 *     make cuda && build/release/bin/c/pi */
#include "check.h"

#include <curand.h>

#include <math.h>

enum { DARTS = 1 << 20 };

static const char kernels[] = "__global__ void count(const float *x, const float *y, int n, unsigned *inside) {\n"
                              "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                              "  if (i < n && x[i] * x[i] + y[i] * y[i] <= 1.0f) atomicAdd(inside, 1u);\n"
                              "}\n";

static void check_curand(curandStatus_t status, const char *call) {
  if (status == CURAND_STATUS_SUCCESS) return;
  printf("%s: %d: %s\n", call, (int)status, mwCudaErrorMessage());
  exit(1);
}
#define CHECK_CURAND(call) check_curand(call, #call)

/* An estimate of pi with a type of generator: 4 times the fraction of points within the circle. */
static double pi_by(curandRngType_t type) {
  curandGenerator_t generator;
  float *points;
  unsigned *inside, hits;
  int darts = DARTS;
  CHECK(cudaMalloc((void **)&points, 2 * DARTS * sizeof *points));
  CHECK(cudaMalloc((void **)&inside, sizeof *inside));
  CHECK(cudaMemset(inside, 0, sizeof *inside));
  CHECK_CURAND(curandCreateGenerator(&generator, type));
  if (type == CURAND_RNG_QUASI_SOBOL32) /* its first dimension is x, and its second one y */
    CHECK_CURAND(curandSetQuasiRandomGeneratorDimensions(generator, 2));
  else
    CHECK_CURAND(curandSetPseudoRandomGeneratorSeed(generator, 1234));
  CHECK_CURAND(curandGenerateUniform(generator, points, 2 * DARTS));
  float *x = points, *y = points + DARTS;
  void *arguments[] = {&x, &y, &darts, &inside};
  dim3 grid = {DARTS / 256, 1, 1}, block = {256, 1, 1};
  CHECK(cudaLaunchKernel("count", grid, block, arguments, 0, NULL));
  CHECK(cudaMemcpy(&hits, inside, sizeof hits, cudaMemcpyDeviceToHost));
  CHECK_CURAND(curandDestroyGenerator(generator));
  CHECK(cudaFree(points));
  CHECK(cudaFree(inside));
  return 4.0 * hits / DARTS;
}

int main(void) {
  int wrong = 0;
  CHECK(mwCudaSource(kernels, NULL));
  double pseudo = pi_by(CURAND_RNG_PSEUDO_DEFAULT), quasi = pi_by(CURAND_RNG_QUASI_SOBOL32);
  wrong += fabs(pseudo - 3.14159265358979) > 0.008; /* 5 standard deviations */
  wrong += fabs(quasi - 3.14159265358979) > 0.0005;
  printf("pi is about %.4f, and by a Sobol sequence %.5f; %d wrong\n", pseudo, quasi, wrong);
  return wrong;
}
