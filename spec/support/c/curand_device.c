/* cuRAND's generators of device memory, tables and distributions, in C. */
#include "check.h"

#include <curand.h>

#include <math.h>

static const char kernels[] = "#include <curand_kernel.h>\n"
                              "__global__ void discrete(curandDiscreteDistribution_t of, int n, unsigned *out) {\n"
                              "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                              "  curandStatePhilox4_32_10_t s;\n"
                              "  curand_init(1, i, 0, &s);\n"
                              "  if (i < n) out[i] = curand_discrete(&s, of);\n"
                              "}\n"
                              "__global__ void sobol(curandDirectionVectors32_t *vectors, int n, unsigned *out) {\n"
                              "  curandStateSobol32_t s;\n"
                              "  curand_init(vectors[threadIdx.x], 0u, &s);\n"
                              "  for (int i = 0; i < n; i++) out[threadIdx.x * n + i] = curand(&s);\n"
                              "}\n";

enum { COUNT = 20000 };

/* Numbers of the device's memory and of the host's are the same, in a stream too. */
static void check_memory(curandRngType_t type) {
  curandGenerator_t device, host;
  float *p, *of_device = malloc(COUNT * 4), *of_host = malloc(COUNT * 4);
  cudaStream_t stream;
  EXPECT(curandCreateGenerator(&device, type) == CURAND_STATUS_SUCCESS);
  EXPECT(curandCreateGeneratorHost(&host, type) == CURAND_STATUS_SUCCESS);
  EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  EXPECT(cudaMalloc((void **)&p, COUNT * 4) == cudaSuccess);
  EXPECT(curandSetStream(device, stream) == CURAND_STATUS_SUCCESS);
  for (int offset = 0; offset < 2; offset++) { /* an address that is not a multiple of a unit's size */
    EXPECT(curandGenerateUniform(device, p + offset, COUNT - 2) == CURAND_STATUS_SUCCESS);
    EXPECT(curandGenerateUniform(host, of_host, COUNT - 2) == CURAND_STATUS_SUCCESS);
    EXPECT(cudaMemcpyAsync(of_device, p + offset, (COUNT - 2) * 4, cudaMemcpyDeviceToHost, stream) == cudaSuccess);
    EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
    EXPECT(memcmp(of_device, of_host, (COUNT - 2) * 4) == 0);
  }
  EXPECT(curandGenerateUniform(device, NULL, 2) == CURAND_STATUS_LAUNCH_FAILURE);
  EXPECT(strstr(mwCudaErrorMessage(), "null pointer") != NULL);
  EXPECT(curandDestroyGenerator(device) == CURAND_STATUS_SUCCESS);
  EXPECT(curandDestroyGenerator(device) == CURAND_STATUS_NOT_INITIALIZED);
  EXPECT(curandDestroyGenerator(host) == CURAND_STATUS_SUCCESS);
  cudaStreamDestroy(stream);
  cudaFree(p);
  free(of_device);
  free(of_host);
}

/* Pearson's chi-squared of values 0 to `values` - 1 compared with their shares, which is about the number of values. */
static void check_shares(const unsigned *x, const double *share, int values) {
  double sum = 0;
  for (int k = 0; k < values; k++) {
    int seen = 0;
    for (int i = 0; i < COUNT; i++) seen += x[i] == (unsigned)k;
    sum += (seen - share[k] * COUNT) * (seen - share[k] * COUNT) / (share[k] * COUNT);
  }
  EXPECT(sum < values + 5 * sqrt(2.0 * values));
}

static void check_distributions(void) {
  unsigned *p, *x = malloc(COUNT * 4);
  int count = COUNT;
  double share[9] = {exp(-3.0)};
  curandDiscreteDistribution_t distribution;
  curandGenerator_t g;
  EXPECT(cudaMalloc((void **)&p, COUNT * 4) == cudaSuccess);
  EXPECT(curandCreatePoissonDistribution(0, &distribution) == CURAND_STATUS_OUT_OF_RANGE);
  EXPECT(curandCreatePoissonDistribution(3, NULL) == CURAND_STATUS_OUT_OF_RANGE);
  EXPECT(curandCreatePoissonDistribution(3, &distribution) == CURAND_STATUS_SUCCESS);
  void *arguments[] = {&distribution, &count, &p};
  dim3 grid = {(COUNT + 127) / 128, 1, 1}, block = {128, 1, 1};
  EXPECT(cudaLaunchKernel("discrete", grid, block, arguments, 0, NULL) == cudaSuccess);
  EXPECT(cudaMemcpy(x, p, COUNT * 4, cudaMemcpyDeviceToHost) == cudaSuccess);
  for (int k = 1; k < 9; k++) share[k] = share[k - 1] * 3 / k;
  check_shares(x, share, 9);
  EXPECT(curandDestroyDistribution(distribution) == CURAND_STATUS_SUCCESS);
  EXPECT(curandDestroyDistribution(distribution) == CURAND_STATUS_NOT_INITIALIZED);

  EXPECT(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_PHILOX4_32_10) == CURAND_STATUS_SUCCESS);
  EXPECT(curandGenerateBinomial(g, p, COUNT, 8, 0.25) == CURAND_STATUS_SUCCESS);
  EXPECT(cudaMemcpy(x, p, COUNT * 4, cudaMemcpyDeviceToHost) == cudaSuccess);
  share[0] = pow(0.75, 8);
  for (int k = 1; k < 9; k++) share[k] = share[k - 1] * (9 - k) / k / 3;
  check_shares(x, share, 6);
  EXPECT(curandGenerateBinomial(g, p, COUNT, 8, 1.5) == CURAND_STATUS_OUT_OF_RANGE);
  EXPECT(curandGenerateBinomial(NULL, p, COUNT, 8, 0.5) == CURAND_STATUS_NOT_INITIALIZED);
  EXPECT(curandGenerateBinomialMethod(g, p, COUNT, 8, 1, CURAND_DEVICE_API) == CURAND_STATUS_SUCCESS);
  EXPECT(cudaMemcpy(x, p, COUNT * 4, cudaMemcpyDeviceToHost) == cudaSuccess);
  EXPECT(x[0] == 8 && x[COUNT - 1] == 8);
  EXPECT(curandGenerateBinomialMethod(g, p, COUNT, 8, 1, CURAND_M1) == CURAND_STATUS_INTERNAL_ERROR);
  EXPECT(curandDestroyGenerator(g) == CURAND_STATUS_SUCCESS);
  cudaFree(p);
  free(x);
}

/* A kernel's sequence with the library's vectors is the generator's. */
static void check_vectors(void) {
  enum { POINTS = 100, DIMENSIONS = 7 };
  int points = POINTS;
  unsigned *p, x[POINTS * DIMENSIONS], y[POINTS * DIMENSIONS];
  curandDirectionVectors32_t *vectors, *copy;
  curandGenerator_t g;
  EXPECT(curandGetDirectionVectors32(&vectors, CURAND_DIRECTION_VECTORS_32_JOEKUO6) == CURAND_STATUS_SUCCESS);
  EXPECT(cudaMalloc((void **)&copy, DIMENSIONS * sizeof *copy) == cudaSuccess);
  EXPECT(cudaMalloc((void **)&p, sizeof x) == cudaSuccess);
  EXPECT(cudaMemcpy(copy, vectors, DIMENSIONS * sizeof *copy, cudaMemcpyHostToDevice) == cudaSuccess);
  void *arguments[] = {&copy, &points, &p};
  dim3 grid = {1, 1, 1}, block = {DIMENSIONS, 1, 1};
  EXPECT(cudaLaunchKernel("sobol", grid, block, arguments, 0, NULL) == cudaSuccess);
  EXPECT(cudaMemcpy(x, p, sizeof x, cudaMemcpyDeviceToHost) == cudaSuccess);
  EXPECT(curandCreateGeneratorHost(&g, CURAND_RNG_QUASI_SOBOL32) == CURAND_STATUS_SUCCESS);
  EXPECT(curandSetQuasiRandomGeneratorDimensions(g, DIMENSIONS) == CURAND_STATUS_SUCCESS);
  EXPECT(curandGenerate(g, y, POINTS * DIMENSIONS) == CURAND_STATUS_SUCCESS);
  EXPECT(memcmp(x, y, sizeof x) == 0);
  EXPECT(curandDestroyGenerator(g) == CURAND_STATUS_SUCCESS);
  cudaFree(p);
  cudaFree(copy);
}

int main(void) {
  static const curandRngType_t types[] = {CURAND_RNG_PSEUDO_DEFAULT, CURAND_RNG_PSEUDO_MTGP32,
                                          CURAND_RNG_PSEUDO_PHILOX4_32_10, CURAND_RNG_QUASI_DEFAULT};
  curandGenerator_t g;
  EXPECT(mwCudaSource(kernels, NULL) == cudaSuccess);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) check_memory(types[i]);
  check_distributions();
  check_vectors();
  /* Generators go with what else a device has. */
  EXPECT(curandCreateGenerator(&g, CURAND_RNG_PSEUDO_DEFAULT) == CURAND_STATUS_SUCCESS);
  EXPECT(curandGenerateSeeds(g) == CURAND_STATUS_SUCCESS);
  EXPECT(cudaDeviceReset() == cudaSuccess);
  EXPECT(curandDestroyGenerator(g) == CURAND_STATUS_NOT_INITIALIZED);
  return finish();
}
