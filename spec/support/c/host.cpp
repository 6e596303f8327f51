/* The headers in C++: default arguments, typed forms, dim3. */
#include "check.h"

#include <curand.h>

static const char source[] = "__constant__ float gain;\n"
                             "__global__ void scale(float *p, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "  if (i < n) p[i] *= gain; }\n"
                             "__global__ void add(float *p, int n, float value) {\n"
                             "  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) p[i] += value; }\n";

/* As nvcc's stub: its address stands for the kernel. */
__attribute__((noinline)) static void add(float *p, int n, float value) { (void)p, (void)n, (void)value; }

int main() {
  float *p, gain = 3, got[8], data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  int n = 8;
  cudaArray_t array;
  OK(mwCudaSource(source, NULL));
  OK(cudaMalloc(&p, sizeof data));
  OK(cudaMemcpy(p, data, sizeof data, cudaMemcpyHostToDevice));
  OK(cudaMemcpyToSymbol("gain", &gain, sizeof gain));
  void *arguments[] = {&p, &n};
  OK(cudaLaunchKernel("scale", 2, dim3(4), arguments, 0, 0));
  OK(cudaConfigureCall(dim3(1), dim3(8)));
  OK(cudaSetupArgument(p, 0));
  OK(cudaSetupArgument(n, 8));
  OK(cudaLaunch("scale"));
  OK(cudaMemcpyAsync(got, p, sizeof got, cudaMemcpyDeviceToHost));
  OK(cudaDeviceSynchronize());
  EXPECT(got[0] == 9 && got[7] == 72);
  curandGenerator_t generator;
  EXPECT(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT) == CURAND_STATUS_SUCCESS);
  EXPECT(curandGenerateUniform(generator, p, 8) == CURAND_STATUS_SUCCESS);
  EXPECT(curandDestroyGenerator(generator) == CURAND_STATUS_SUCCESS);
  cudaChannelFormatDesc desc = cudaCreateChannelDesc<uchar4>();
  EXPECT(desc.x == 8 && desc.w == 8 && desc.f == cudaChannelFormatKindUnsigned);
  desc = cudaCreateChannelDesc<float>();
  OK(cudaMallocArray(&array, &desc, 16));
  OK(cudaFreeArray(array));
  dim3 grid(2, 3);
  EXPECT(grid.x == 2 && grid.y == 3 && grid.z == 1);
  EXPECT(make_float4(1, 2, 3, 4).w == 4 && sizeof(float4) == 16 && sizeof(uchar4) == 4);
  OK(mwCudaRegister(reinterpret_cast<const void *>(add), "add"));
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = 2, attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(2), config.blockDim = 4, config.attrs = &attribute, config.numAttrs = 1;
  OK(cudaMemcpy(p, data, sizeof data, cudaMemcpyHostToDevice));
  OK(cudaLaunchKernelEx(&config, add, p, 8, 1));
  OK(cudaLaunchKernelEx(&config, "add", p, n, 2.0f));
  OK(cudaMemcpy(got, p, sizeof got, cudaMemcpyDeviceToHost));
  EXPECT(got[0] == 4 && got[7] == 11);
  cudaGraph_t graph;
  cudaGraphNode_t node;
  cudaGraphConditionalHandle handle;
  cudaGraphNodeParams params = {};
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphConditionalHandleCreate(&handle, graph));
  params.type = cudaGraphNodeTypeConditional;
  params.conditional.handle = handle, params.conditional.type = cudaGraphCondTypeIf, params.conditional.size = 1;
  OK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &params));
  OK(cudaGraphDestroy(graph));
  OK(cudaFree(p));
  return finish();
}
