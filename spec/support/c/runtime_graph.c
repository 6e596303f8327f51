/* The runtime API's functions on graphs, captured and made node by node: that they do what they are documented to. */
#include "check.h"

static const char source[] = "__global__ void add(int *p, int n, int value) {\n"
                             "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "  if (i < n) p[i] += value;\n"
                             "}\n";

static void launch_add(int *p, int n, int value, cudaStream_t stream) {
  void *arguments[] = {&p, &n, &value};
  OK(cudaLaunchKernel("add", make_dim3((unsigned)(n + 63) / 64, 1, 1), make_dim3(64, 1, 1), arguments, 0, stream));
}

static int calls;

static void note(void *data) { calls += *(int *)data; }

static void test_capture(void) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  enum cudaStreamCaptureStatus status;
  int *p, value = 0;
  OK(cudaStreamCreate(&stream));
  OK(cudaMalloc((void **)&p, 4));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  OK(cudaStreamIsCapturing(stream, &status));
  EXPECT(status == cudaStreamCaptureStatusActive);
  OK(cudaMemsetAsync(p, 0, 4, stream));
  launch_add(p, 1, 3, stream);
  launch_add(p, 1, 4, stream);
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaStreamIsCapturing(stream, &status));
  EXPECT(status == cudaStreamCaptureStatusNone);
  OK(cudaGraphInstantiate(&exec, graph, NULL, NULL, 0));
  for (int i = 0; i < 3; i++) OK(cudaGraphLaunch(exec, stream));
  OK(cudaStreamSynchronize(stream));
  OK(cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost));
  EXPECT(value == 7);
  OK(cudaGraphExecDestroy(exec));
  CODE(cudaErrorInvalidValue, cudaGraphLaunch(exec, stream));
  OK(cudaGraphDestroy(graph));
  CODE(cudaErrorInvalidValue, cudaGraphDestroy(graph));
  OK(cudaStreamDestroy(stream));
  OK(cudaFree(p));
}

static struct cudaKernelNodeParams add_params(void **arguments) {
  return (struct cudaKernelNodeParams){
      .func = (void *)"add", .gridDim = {1, 1, 1}, .blockDim = {32, 1, 1}, .kernelParams = arguments};
}

static void test_graph(const char *folder) {
  cudaGraph_t graph, other;
  cudaGraphExec_t exec;
  cudaGraphNode_t zero, add, empty, host, to_host, box, list[8], wrong;
  enum cudaGraphNodeType type;
  enum cudaGraphExecUpdateResult result;
  size_t count = 8;
  int *p, n = 4, three = 3, five = 5, values[4] = {0}, copy[4] = {0};
  char path[512], line[64] = "";
  calls = 0;
  OK(cudaMalloc((void **)&p, sizeof values));
  OK(cudaGraphCreate(&graph, 0));
  struct cudaMemsetParams fill = {.dst = p, .elementSize = 4, .value = 1, .width = 4, .height = 1};
  OK(cudaGraphAddMemsetNode(&zero, graph, NULL, 0, &fill));
  void *arguments[] = {&p, &n, &three}, *others[] = {&p, &n, &five};
  struct cudaKernelNodeParams kernel = add_params(arguments);
  OK(cudaGraphAddKernelNode(&add, graph, &zero, 1, &kernel));
  OK(cudaGraphAddEmptyNode(&empty, graph, NULL, 0));
  OK(cudaGraphAddMemcpyNode1D(&to_host, graph, &add, 1, values, p, sizeof values, cudaMemcpyDeviceToHost));
  OK(cudaGraphAddDependencies(graph, &empty, &to_host, 1));
  struct cudaHostNodeParams function = {note, &three};
  OK(cudaGraphAddHostNode(&host, graph, &to_host, 1, &function));
  struct cudaMemcpy3DParms parms = {.srcPtr = make_cudaPitchedPtr(p, 16, 16, 1),
                                    .dstPtr = make_cudaPitchedPtr(copy, 16, 16, 1),
                                    .extent = make_cudaExtent(16, 1, 1),
                                    .kind = cudaMemcpyDeviceToHost};
  OK(cudaGraphAddMemcpyNode(&box, graph, &host, 1, &parms));
  OK(cudaGraphGetNodes(graph, NULL, &count));
  EXPECT(count == 6);
  count = 8;
  OK(cudaGraphGetNodes(graph, list, &count));
  EXPECT(count == 6 && list[0] == zero && list[4] == host);
  OK(cudaGraphNodeGetType(add, &type));
  EXPECT(type == cudaGraphNodeTypeKernel);
  OK(cudaGraphNodeGetType(host, &type));
  EXPECT(type == cudaGraphNodeTypeHost);
  count = 8;
  OK(cudaGraphNodeGetDependencies(to_host, list, &count));
  EXPECT(count == 2 && (list[0] == add || list[1] == add) && (list[0] == empty || list[1] == empty));
  snprintf(path, sizeof path, "%s/graph.dot", folder);
  OK(cudaGraphDebugDotPrint(graph, path, 0));
  FILE *file = fopen(path, "r");
  EXPECT(file && fgets(line, sizeof line, file) && strncmp(line, "digraph", 7) == 0);
  if (file) fclose(file);
  OK(cudaGraphInstantiate(&exec, graph, &wrong, line, sizeof line));
  OK(cudaGraphLaunch(exec, NULL));
  OK(cudaDeviceSynchronize());
  EXPECT(values[0] == 4 && values[3] == 4 && copy[2] == 4 && calls == 3);
  kernel = add_params(others);
  OK(cudaGraphExecKernelNodeSetParams(exec, add, &kernel));
  OK(cudaGraphLaunch(exec, NULL));
  OK(cudaDeviceSynchronize());
  EXPECT(values[0] == 6 && calls == 6);
  fill.value = 20, function.userData = &five, parms.extent.width = 4, copy[0] = copy[1] = 0;
  OK(cudaGraphExecMemsetNodeSetParams(exec, zero, &fill));
  OK(cudaGraphExecHostNodeSetParams(exec, host, &function));
  OK(cudaGraphExecMemcpyNodeSetParams(exec, box, &parms));
  OK(cudaGraphExecMemcpyNodeSetParams1D(exec, to_host, values + 1, p, 4, cudaMemcpyDeviceToHost));
  OK(cudaGraphLaunch(exec, NULL));
  OK(cudaDeviceSynchronize());
  EXPECT(values[0] == 6 && values[1] == 25 && calls == 11 && copy[0] == 25 && copy[1] == 0);
  CODE(cudaErrorGraphExecUpdateFailure, cudaGraphExecMemsetNodeSetParams(exec, add, &fill));
  CODE(cudaErrorInvalidValue, cudaGraphExecMemsetNodeSetParams(exec, zero, NULL));
  OK(cudaGraphExecUpdate(exec, graph, &wrong, &result));
  EXPECT(result == cudaGraphExecUpdateSuccess);
  OK(cudaGraphLaunch(exec, NULL));
  OK(cudaDeviceSynchronize());
  EXPECT(values[0] == 4);
  OK(cudaGraphCreate(&other, 0));
  CODE(cudaErrorGraphExecUpdateFailure, cudaGraphExecUpdate(exec, other, &wrong, &result));
  EXPECT(result != cudaGraphExecUpdateSuccess);
  CODE(cudaErrorInvalidValue, cudaGraphAddEmptyNode(&wrong, other, &add, 1));
  OK(cudaGraphDestroy(other));
  OK(cudaGraphDestroy(graph));
  CODE(cudaErrorInvalidValue, cudaGraphNodeGetType(add, &type));
  OK(cudaGraphExecDestroy(exec));
  OK(cudaFree(p));
}

int main(int count, char **arguments) {
  OK(mwCudaSource(source, NULL));
  test_capture();
  test_graph(count > 1 ? arguments[1] : "/tmp");
  return finish();
}
