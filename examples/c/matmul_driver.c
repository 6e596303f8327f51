/* The multiplication of matmul.c with CUDA's driver API, as in section 4.5.3 of the 1.1 guide: a context, a module, a
 * function, its parameters one by one, and cuLaunchGrid.
 *
 *     make cuda && build/release/bin/c/matmul_driver [module.mwo or kernel.cu] */
#include "check.h"

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

/* Set the next parameter, of `bytes` bytes, aligned as C aligns it. */
static void set_parameter(CUfunction function, int *offset, void *value, size_t bytes) {
  *offset = (*offset + (int)bytes - 1) / (int)bytes * (int)bytes;
  CHECK_CU(cuParamSetv(function, *offset, value, (unsigned)bytes));
  *offset += (int)bytes;
}

static CUdeviceptr to_device(const float *values, size_t bytes) {
  CUdeviceptr address;
  CHECK_CU(cuMemAlloc(&address, bytes));
  CHECK_CU(cuMemcpyHtoD(address, values, bytes));
  return address;
}

static void Mul(CUfunction function, const float *A, const float *B, int hA, int wA, int wB, float *C) {
  CUdeviceptr Ad = to_device(A, (size_t)hA * (size_t)wA * sizeof(float));
  CUdeviceptr Bd = to_device(B, (size_t)wA * (size_t)wB * sizeof(float));
  CUdeviceptr Cd = to_device(C, (size_t)hA * (size_t)wB * sizeof(float));
  int offset = 0;
  CHECK_CU(cuFuncSetBlockShape(function, BLOCK_SIZE, BLOCK_SIZE, 1));
  CHECK_CU(cuFuncSetSharedSize(function, 2 * BLOCK_SIZE * BLOCK_SIZE * sizeof(float)));
  set_parameter(function, &offset, &Ad, sizeof Ad);
  set_parameter(function, &offset, &Bd, sizeof Bd);
  CHECK_CU(cuParamSeti(function, offset, (unsigned)wA));
  CHECK_CU(cuParamSeti(function, offset + 4, (unsigned)wB));
  offset += 8;
  set_parameter(function, &offset, &Cd, sizeof Cd);
  CHECK_CU(cuParamSetSize(function, (unsigned)offset));
  CHECK_CU(cuLaunchGrid(function, wB / BLOCK_SIZE, hA / BLOCK_SIZE));
  CHECK_CU(cuMemcpyDtoH(C, Cd, (size_t)hA * (size_t)wB * sizeof(float)));
  CHECK_CU(cuMemFree(Ad));
  CHECK_CU(cuMemFree(Bd));
  CHECK_CU(cuMemFree(Cd));
}

int main(int count, char **arguments) {
  enum { hA = 32, wA = 48, wB = 64 };
  static float A[hA * wA], B[wA * wB], C[hA * wB];
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction function;
  for (int i = 0; i < hA * wA; i++) A[i] = (float)(i % 11 - 5);
  for (int i = 0; i < wA * wB; i++) B[i] = (float)(i % 7 - 3);

  CHECK_CU(cuInit(0));
  CHECK_CU(cuDeviceGet(&device, 0));
  CHECK_CU(cuCtxCreate(&context, 0, device));
  CHECK_CU(count > 1 ? cuModuleLoad(&module, arguments[1]) : cuModuleLoadData(&module, kernels));
  CHECK_CU(cuModuleGetFunction(&function, module, "Muld"));
  Mul(function, A, B, hA, wA, wB, C);
  CHECK_CU(cuModuleUnload(module));
  CHECK_CU(cuCtxDetach(context));

  return check_product(A, B, C, hA, wA, wB) != 0;
}
