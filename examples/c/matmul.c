/* Matrix multiplication as in chapter 6 of CUDA's 1.1 guide: each block computes a square of C from squares of A and B
 * in shared memory. The host code is CUDA's runtime API; the kernel is CUDA C that is compiled when the program runs,
 * because a C compiler knows neither __global__ nor <<< >>>.
 *
 *     make cuda && build/release/bin/c/matmul */
#include "check.h"

#define BLOCK_SIZE 16

static const char kernels[] = "#define BLOCK_SIZE 16\n"
                              "__global__ void Muld(const float *A, const float *B, int wA, int wB, float *C) {\n"
                              "  __shared__ float As[BLOCK_SIZE][BLOCK_SIZE], Bs[BLOCK_SIZE][BLOCK_SIZE];\n"
                              "  int tx = threadIdx.x, ty = threadIdx.y;\n"
                              "  int row = blockIdx.y * BLOCK_SIZE + ty, column = blockIdx.x * BLOCK_SIZE + tx;\n"
                              "  float sum = 0;\n"
                              "  for (int first = 0; first < wA; first += BLOCK_SIZE) {\n"
                              "    As[ty][tx] = A[row * wA + first + tx];\n"
                              "    Bs[ty][tx] = B[(first + ty) * wB + column];\n"
                              "    __syncthreads();\n"
                              "    for (int k = 0; k < BLOCK_SIZE; k++) sum += As[ty][k] * Bs[k][tx];\n"
                              "    __syncthreads();\n"
                              "  }\n"
                              "  C[row * wB + column] = sum;\n"
                              "}\n";

/* C = A * B; A is hA rows of wA, B is wA rows of wB. All are multiples of BLOCK_SIZE. */
static void Mul(const float *A, const float *B, int hA, int wA, int wB, float *C) {
  float *Ad, *Bd, *Cd;
  size_t size = (size_t)hA * (size_t)wA * sizeof(float);
  CHECK(cudaMalloc((void **)&Ad, size));
  CHECK(cudaMemcpy(Ad, A, size, cudaMemcpyHostToDevice));
  size = (size_t)wA * (size_t)wB * sizeof(float);
  CHECK(cudaMalloc((void **)&Bd, size));
  CHECK(cudaMemcpy(Bd, B, size, cudaMemcpyHostToDevice));
  size = (size_t)hA * (size_t)wB * sizeof(float);
  CHECK(cudaMalloc((void **)&Cd, size));

  dim3 dimBlock = {BLOCK_SIZE, BLOCK_SIZE, 1};
  dim3 dimGrid = {(unsigned)(wB / BLOCK_SIZE), (unsigned)(hA / BLOCK_SIZE), 1};
  /* Muld<<<dimGrid, dimBlock>>>(Ad, Bd, wA, wB, Cd) */
  void *arguments[] = {&Ad, &Bd, &wA, &wB, &Cd};
  CHECK(cudaLaunchKernel("Muld", dimGrid, dimBlock, arguments, 0, 0));

  CHECK(cudaMemcpy(C, Cd, size, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(Ad));
  CHECK(cudaFree(Bd));
  CHECK(cudaFree(Cd));
}

/* Small whole numbers, so that sums are exact in any order. */
static float *matrix(int rows, int columns, int seed) {
  float *m = malloc((size_t)rows * (size_t)columns * sizeof *m);
  if (!m) exit(1);
  for (int i = 0; i < rows * columns; i++) m[i] = (float)((i * 7 + seed) % 13 - 6);
  return m;
}

int main(void) {
  enum { hA = 48, wA = 80, wB = 64 };
  float *A = matrix(hA, wA, 1), *B = matrix(wA, wB, 5), *C = matrix(hA, wB, 0);
  CHECK(mwCudaSource(kernels, NULL));
  Mul(A, B, hA, wA, wB, C);
  int wrong = check_product(A, B, C, hA, wA, wB);
  free(A);
  free(B);
  free(C);
  return wrong != 0;
}
