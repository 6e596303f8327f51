/* Streams as in the 1.1 guide's section 4.5.1.5: each of two streams copies its half of the input to the device, runs a
 * kernel on it and copies the result back, from and to pinned memory, so one half's copies overlap with the other
 * half's kernel. Events measure the time, and that of the same work in one stream.
 *
 *     make cuda && build/release/bin/c/overlap */
#include "check.h"

enum { STREAMS = 2, SIZE = 1 << 20 }; /* floats of a stream */

static const char kernels[] = "__global__ void myKernel(float *out, const float *in, int size) {\n"
                              "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                              "  if (i >= size) return;\n"
                              "  float x = in[i];\n"
                              "  for (int k = 0; k < 64; k++) x = x * 0.5f + 1.0f;\n"
                              "  out[i] = x + in[i];\n"
                              "}\n";

static float *hostIn, *hostOut, *inputDev, *outputDev;

/* Run the work in `count` streams; returns milliseconds. */
static float run(cudaStream_t *stream, int count) {
  const size_t bytes = SIZE * sizeof(float);
  cudaEvent_t start, stop;
  float milliseconds;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  CHECK(cudaEventRecord(start, 0));
  for (int i = 0; i < STREAMS; i++)
    CHECK(cudaMemcpyAsync(inputDev + i * SIZE, hostIn + i * SIZE, bytes, cudaMemcpyHostToDevice, stream[i % count]));
  for (int i = 0; i < STREAMS; i++) {
    dim3 grid = {SIZE / 256, 1, 1}, block = {256, 1, 1};
    float *out = outputDev + i * SIZE, *in = inputDev + i * SIZE;
    int size = SIZE;
    void *arguments[] = {&out, &in, &size};
    CHECK(cudaLaunchKernel("myKernel", grid, block, arguments, 0, stream[i % count]));
  }
  for (int i = 0; i < STREAMS; i++)
    CHECK(cudaMemcpyAsync(hostOut + i * SIZE, outputDev + i * SIZE, bytes, cudaMemcpyDeviceToHost, stream[i % count]));
  CHECK(cudaEventRecord(stop, 0));
  CHECK(cudaEventSynchronize(stop));
  CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
  CHECK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(stop));
  return milliseconds;
}

int main(void) {
  const size_t bytes = STREAMS * SIZE * sizeof(float);
  cudaStream_t stream[STREAMS];
  int wrong = 0;
  CHECK(mwCudaSource(kernels, NULL));
  for (int i = 0; i < STREAMS; i++) CHECK(cudaStreamCreate(&stream[i]));
  CHECK(cudaMallocHost((void **)&hostIn, bytes));
  CHECK(cudaMallocHost((void **)&hostOut, bytes));
  CHECK(cudaMalloc((void **)&inputDev, bytes));
  CHECK(cudaMalloc((void **)&outputDev, bytes));
  for (int i = 0; i < STREAMS * SIZE; i++) hostIn[i] = (float)(i % 1000);

  run(stream, STREAMS); /* warm */
  float one = run(stream, 1);
  for (int i = 0; i < STREAMS * SIZE; i++) hostOut[i] = 0;
  float two = run(stream, STREAMS);
  for (int i = 0; i < STREAMS * SIZE; i++) {
    float x = hostIn[i];
    for (int k = 0; k < 64; k++) x = x * 0.5f + 1.0f;
    wrong += hostOut[i] != x + hostIn[i];
  }
  printf("one stream %.2f ms, %d streams %.2f ms, %d wrong\n", (double)one, STREAMS, (double)two, wrong);

  for (int i = 0; i < STREAMS; i++) CHECK(cudaStreamDestroy(stream[i]));
  CHECK(cudaFreeHost(hostIn));
  CHECK(cudaFreeHost(hostOut));
  CHECK(cudaFree(inputDev));
  CHECK(cudaFree(outputDev));
  return wrong != 0;
}
