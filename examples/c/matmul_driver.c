/* The multiplication of matmul.c with CUDA's driver API, as the 1.1 guide's section 4.5.3 has it: a context, a module, a
 * function, its parameters one by one, and cuLaunchGrid.
 *
 *     make cuda && build/release/bin/c/matmul_driver [module.mwo or kernel.cu] */
#include <cuda.h>
#include <moonwarp_cuda.h>

#include <stdio.h>
#include <stdlib.h>

#define BLOCK_SIZE 16

static const char kernels[] =
    "extern \"C\" __global__ void Muld(const float *A, const float *B, int wA, int wB, float *C) {\n"
    "  extern __shared__ float tiles[];\n"
    "  int size = blockDim.x, tx = threadIdx.x, ty = threadIdx.y;\n"
    "  float *As = tiles, *Bs = tiles + size * size, sum = 0;\n"
    "  int row = blockIdx.y * size + ty, column = blockIdx.x * size + tx;\n"
    "  for (int first = 0; first < wA; first += size) {\n"
    "    As[ty * size + tx] = A[row * wA + first + tx];\n"
    "    Bs[ty * size + tx] = B[(first + ty) * wB + column];\n"
    "    __syncthreads();\n"
    "    for (int k = 0; k < size; k++) sum += As[ty * size + k] * Bs[k * size + tx];\n"
    "    __syncthreads();\n"
    "  }\n"
    "  C[row * wB + column] = sum;\n"
    "}\n";

static void check(CUresult result, const char *call) {
  const char *name;
  if (result == CUDA_SUCCESS) return;
  cuGetErrorName(result, &name);
  printf("%s: %s: %s\n", call, name, mwCudaErrorMessage());
  exit(1);
}
#define CHECK(call) check(call, #call)

/* The next parameter of `bytes` bytes, aligned as C aligns it. */
static void set_parameter(CUfunction function, int *offset, void *value, size_t bytes) {
  *offset = (*offset + (int)bytes - 1) / (int)bytes * (int)bytes;
  CHECK(cuParamSetv(function, *offset, value, (unsigned)bytes));
  *offset += (int)bytes;
}

static CUdeviceptr to_device(const float *values, size_t bytes) {
  CUdeviceptr address;
  CHECK(cuMemAlloc(&address, bytes));
  CHECK(cuMemcpyHtoD(address, values, bytes));
  return address;
}

static void Mul(CUfunction function, const float *A, const float *B, int hA, int wA, int wB, float *C) {
  CUdeviceptr Ad = to_device(A, (size_t)hA * (size_t)wA * sizeof(float));
  CUdeviceptr Bd = to_device(B, (size_t)wA * (size_t)wB * sizeof(float));
  CUdeviceptr Cd = to_device(C, (size_t)hA * (size_t)wB * sizeof(float));
  int offset = 0;
  CHECK(cuFuncSetBlockShape(function, BLOCK_SIZE, BLOCK_SIZE, 1));
  CHECK(cuFuncSetSharedSize(function, 2 * BLOCK_SIZE * BLOCK_SIZE * sizeof(float)));
  set_parameter(function, &offset, &Ad, sizeof Ad);
  set_parameter(function, &offset, &Bd, sizeof Bd);
  CHECK(cuParamSeti(function, offset, (unsigned)wA));
  CHECK(cuParamSeti(function, offset + 4, (unsigned)wB));
  offset += 8;
  set_parameter(function, &offset, &Cd, sizeof Cd);
  CHECK(cuParamSetSize(function, (unsigned)offset));
  CHECK(cuLaunchGrid(function, wB / BLOCK_SIZE, hA / BLOCK_SIZE));
  CHECK(cuMemcpyDtoH(C, Cd, (size_t)hA * (size_t)wB * sizeof(float)));
  CHECK(cuMemFree(Ad));
  CHECK(cuMemFree(Bd));
  CHECK(cuMemFree(Cd));
}

int main(int count, char **arguments) {
  enum { hA = 32, wA = 48, wB = 64 };
  static float A[hA * wA], B[wA * wB], C[hA * wB];
  int wrong = 0;
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction function;
  for (int i = 0; i < hA * wA; i++) A[i] = (float)(i % 11 - 5);
  for (int i = 0; i < wA * wB; i++) B[i] = (float)(i % 7 - 3);

  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuCtxCreate(&context, 0, device));
  CHECK(count > 1 ? cuModuleLoad(&module, arguments[1]) : cuModuleLoadData(&module, kernels));
  CHECK(cuModuleGetFunction(&function, module, "Muld"));
  Mul(function, A, B, hA, wA, wB, C);
  CHECK(cuModuleUnload(module));
  CHECK(cuCtxDetach(context));

  for (int y = 0; y < hA; y++) {
    for (int x = 0; x < wB; x++) {
      float sum = 0;
      for (int k = 0; k < wA; k++) sum += A[y * wA + k] * B[k * wB + x];
      wrong += C[y * wB + x] != sum;
    }
  }
  printf("%d x %d times %d x %d: C[0][0] = %g, %d wrong\n", hA, wA, wA, wB, (double)C[0], wrong);
  return wrong != 0;
}
