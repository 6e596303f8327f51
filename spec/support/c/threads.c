/* Captures and graphs of several host threads: which calls a capture forbids, and which thread may end it. */
#include "check.h"

#include <pthread.h>

static const char source[] = "__global__ void add(int *p) { *p += 1; }\n";

static cudaStream_t stream;
static enum cudaStreamCaptureMode mode;
static cudaError_t ended, waited;

/* Another thread waits for the device, and then tries to end the capture. */
static void *intrude(void *unused) {
  cudaGraph_t graph;
  (void)unused;
  waited = cudaDeviceSynchronize();
  ended = cudaStreamEndCapture(stream, &graph);
  if (ended == cudaSuccess) cudaGraphDestroy(graph);
  return NULL;
}

static void in_thread(void *(*f)(void *)) {
  pthread_t thread;
  pthread_create(&thread, NULL, f, NULL);
  pthread_join(thread, NULL);
}

static void test_modes(void) {
  cudaGraph_t graph;
  int *p;
  OK(cudaMalloc((void **)&p, 4));
  OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));

  mode = cudaStreamCaptureModeGlobal;
  OK(cudaStreamBeginCapture(stream, mode));
  OK(cudaMemsetAsync(p, 0, 4, stream));
  in_thread(intrude);
  CODE(cudaErrorStreamCaptureUnsupported, waited);
  CODE(cudaErrorStreamCaptureWrongThread, ended);
  CODE(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph)); /* by the other's waiting */

  mode = cudaStreamCaptureModeThreadLocal;
  OK(cudaStreamBeginCapture(stream, mode));
  OK(cudaMemsetAsync(p, 0, 4, stream));
  in_thread(intrude);
  CODE(cudaSuccess, waited);
  CODE(cudaErrorStreamCaptureWrongThread, ended);
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaGraphDestroy(graph));
  OK(cudaStreamBeginCapture(stream, mode));
  CODE(cudaErrorStreamCaptureUnsupported, cudaDeviceSynchronize()); /* in its own way */
  CODE(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
  OK(cudaDeviceSynchronize());

  mode = cudaStreamCaptureModeRelaxed;
  OK(cudaStreamBeginCapture(stream, mode));
  OK(cudaMemsetAsync(p, 0, 4, stream));
  OK(cudaMemset(p, 1, 4)); /* the default stream does not wait for this one */
  OK(cudaDeviceSynchronize());
  CODE(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
  CODE(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
  OK(cudaStreamBeginCapture(stream, mode));
  OK(cudaMemsetAsync(p, 0, 4, stream));
  in_thread(intrude);
  CODE(cudaSuccess, waited);
  CODE(cudaSuccess, ended);
  CODE(cudaErrorInvalidValue, cudaStreamEndCapture(stream, &graph));

  cudaStream_t blocking;
  OK(cudaStreamCreate(&blocking));
  OK(cudaStreamBeginCapture(blocking, mode));
  CODE(cudaErrorStreamCaptureImplicit, cudaMemsetAsync(p, 1, 4, NULL)); /* it would wait for that stream */
  CODE(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(blocking, &graph));
  OK(cudaStreamDestroy(blocking));
  OK(cudaStreamDestroy(stream));
  OK(cudaFree(p));
}

enum { NODES = 200 };
static int stop;
static int failed;

/* Allocate, copy and wait, while another thread makes a graph by hand. */
static void *wait_on(void *unused) {
  (void)unused;
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    int *q, value = 0;
    int code = (int)cudaMalloc((void **)&q, 4);
    if (!code) code = (int)cudaMemset(q, 3, 4);
    if (!code) code = (int)cudaMemcpy(&value, q, 4, cudaMemcpyDeviceToHost);
    if (!code) code = (int)cudaFree(q);
    if (!code && value != 0x03030303) code = -1;
    if (code) failed = code;
  }
  return NULL;
}

static void test_by_hand(void) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphNode_t node = NULL;
  pthread_t thread;
  int *p, value = 0;
  OK(cudaMalloc((void **)&p, 4));
  OK(cudaMemset(p, 0, 4));
  pthread_create(&thread, NULL, wait_on, NULL);
  OK(cudaGraphCreate(&graph, 0));
  for (int i = 0; i < NODES; i++) {
    void *arguments[] = {&p};
    const struct cudaKernelNodeParams params = {
        .func = (void *)"add", .gridDim = {1, 1, 1}, .blockDim = {1, 1, 1}, .kernelParams = arguments};
    cudaGraphNode_t before = node;
    OK(cudaGraphAddKernelNode(&node, graph, &before, before != NULL, &params));
  }
  OK(cudaGraphInstantiate(&exec, graph, NULL, NULL, 0));
  OK(cudaGraphLaunch(exec, NULL));
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  pthread_join(thread, NULL);
  CODE(cudaSuccess, failed);
  OK(cudaMemcpy(&value, p, 4, cudaMemcpyDeviceToHost));
  EXPECT(value == NODES);
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphDestroy(graph));
  OK(cudaFree(p));
}

int main(void) {
  OK(mwCudaSource(source, NULL));
  test_modes();
  test_by_hand();
  return finish();
}
