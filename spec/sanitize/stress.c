/* Host threads that use CUDA's functions all at once, for ThreadSanitizer: make config=tsan stress
 *
 * Each thread has buffers of its own and gives random work to streams that all threads share: allocations of every kind,
 * copies, fills, launches, events that other streams wait for, stream-ordered memory, graphs. The expected
 * final contents of each buffer are computed as well; events order the work of a buffer. */
#include <cuda_runtime.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STREAMS = 8, THREADS = 6, BUFFERS = 3, SIZE = 1000 };

static const char kernels[] = "__device__ int total;\n"
                              "__global__ void add(int *p, int n, int value) {\n"
                              "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                              "  if (i < n) p[i] += value;\n"
                              "}\n"
                              "__global__ void reverse(int *p, int n) {\n"
                              "  extern __shared__ int cell[];\n"
                              "  for (int i = threadIdx.x; i < n; i += blockDim.x) cell[i] = p[i];\n"
                              "  __syncthreads();\n"
                              "  for (int i = threadIdx.x; i < n; i += blockDim.x) p[i] = cell[n - 1 - i];\n"
                              "}\n"
                              "__global__ void count(int n) { if (threadIdx.x == 0) atomicAdd(&total, n); }\n";

enum { CHAIN = 5 };

/* A graph of a buffer: kernels, copies and a fill one after the other, which run as one command. */
typedef struct chain {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphNode_t adds[CHAIN];
  int *between, sum; /* what a launch adds */
} chain;

typedef struct buffer {
  int *device, wanted;
  cudaEvent_t ready; /* of its last work */
  chain chain;       /* exec NULL: none now */
} buffer;

typedef struct worker {
  unsigned seed;
  int rounds, counted;
} worker;

static cudaStream_t streams[STREAMS];

static void check(cudaError_t error, const char *call, int line) {
  if (error == cudaSuccess) return;
  printf("%d: %s: %s: %s\n", line, call, cudaGetErrorName(error), mwCudaErrorMessage());
  exit(1);
}
#define CHECK(call) check(call, #call, __LINE__)

static int draw(worker *w, int below) { return (int)(rand_r(&w->seed) / 7 % (unsigned)below); }

static void launch(const char *name, void **arguments, unsigned blocks, unsigned threads, size_t shared,
                   cudaStream_t stream) {
  dim3 grid = {blocks, 1, 1}, block = {threads, 1, 1};
  CHECK(cudaLaunchKernel(name, grid, block, arguments, shared, stream));
}

static void add(buffer *b, int value, cudaStream_t stream) {
  int n = SIZE;
  launch("add", (void *[]){&b->device, &n, &value}, (SIZE + 127) / 128, 128, 0, stream);
  b->wanted += value;
}

/* The same number everywhere, read back in the stream. */
static void read_back(buffer *b, cudaStream_t stream) {
  int *pinned;
  CHECK(cudaMallocHost((void **)&pinned, SIZE * sizeof(int)));
  CHECK(cudaMemcpyAsync(pinned, b->device, SIZE * sizeof(int), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  for (int i = 0; i < SIZE; i++) {
    if (pinned[i] == b->wanted) continue;
    printf("element %d is %d, and has to be %d\n", i, pinned[i], b->wanted);
    exit(1);
  }
  CHECK(cudaFreeHost(pinned));
}

static void through_pool(buffer *b, cudaStream_t stream) {
  int *between;
  CHECK(cudaMallocAsync((void **)&between, SIZE * sizeof(int), stream));
  CHECK(cudaMemcpyAsync(between, b->device, SIZE * sizeof(int), cudaMemcpyDeviceToDevice, stream));
  CHECK(cudaMemsetAsync(b->device, 0, SIZE * sizeof(int), stream));
  CHECK(cudaMemcpyAsync(b->device, between, SIZE * sizeof(int), cudaMemcpyDeviceToDevice, stream));
  CHECK(cudaFreeAsync(between, stream));
}

/* ---- graphs ---- */

static struct cudaKernelNodeParams add_params(void **arguments) {
  struct cudaKernelNodeParams params = {0};
  params.func = (void *)"add";
  params.gridDim = (dim3){(SIZE + 127) / 128, 1, 1};
  params.blockDim = (dim3){128, 1, 1};
  params.kernelParams = arguments;
  return params;
}

/* Out to another place and back, with that filled in between, and additions around it. */
static void make_chain(worker *w, buffer *b) {
  chain *c = &b->chain;
  cudaGraphNode_t before = NULL, node;
  CHECK(cudaMalloc((void **)&c->between, SIZE * sizeof(int)));
  CHECK(cudaGraphCreate(&c->graph, 0));
  c->sum = 0;
  for (int i = 0; i < CHAIN; i++) {
    int n = SIZE, value = draw(w, 50);
    const struct cudaKernelNodeParams params = add_params((void *[]){&b->device, &n, &value});
    CHECK(cudaGraphAddKernelNode(&c->adds[i], c->graph, before ? &before : NULL, before != NULL, &params));
    before = c->adds[i];
    c->sum += value;
    if (i % 2) continue;
    const size_t bytes = SIZE * sizeof(int);
    CHECK(
        cudaGraphAddMemcpyNode1D(&node, c->graph, &before, 1, c->between, b->device, bytes, cudaMemcpyDeviceToDevice));
    before = node;
    const struct cudaMemsetParams fill = {.dst = b->device, .value = 0, .elementSize = 4, .width = SIZE, .height = 1};
    CHECK(cudaGraphAddMemsetNode(&node, c->graph, &before, 1, &fill));
    before = node;
    CHECK(
        cudaGraphAddMemcpyNode1D(&node, c->graph, &before, 1, b->device, c->between, bytes, cudaMemcpyDeviceToDevice));
    before = node;
  }
  CHECK(cudaGraphInstantiate(&c->exec, c->graph, NULL, NULL, 0));
}

/* Its runs in flight continue; its memory is freed in the stream after them. */
static void end_chain(buffer *b, cudaStream_t stream) {
  if (!b->chain.exec) return;
  CHECK(cudaGraphExecDestroy(b->chain.exec));
  CHECK(cudaGraphDestroy(b->chain.graph));
  CHECK(cudaFreeAsync(b->chain.between, stream));
  b->chain.exec = NULL;
}

/* Other numbers from the next launch on. */
static void change_chain(worker *w, buffer *b) {
  chain *c = &b->chain;
  c->sum = 0;
  for (int i = 0; i < CHAIN; i++) {
    int n = SIZE, value = draw(w, 50);
    const struct cudaKernelNodeParams params = add_params((void *[]){&b->device, &n, &value});
    CHECK(cudaGraphExecKernelNodeSetParams(c->exec, c->adds[i], &params));
    c->sum += value;
  }
}

static void replay(worker *w, buffer *b, cudaStream_t stream) {
  if (!b->chain.exec)
    make_chain(w, b);
  else if (draw(w, 4) == 0)
    change_chain(w, b);
  for (int i = draw(w, 4); i >= 0; i--) {
    CHECK(cudaGraphLaunch(b->chain.exec, stream));
    b->wanted += b->chain.sum;
  }
  if (draw(w, 8) == 0) end_chain(b, stream);
}

/* A device allocation of another's lifetime in between: cudaFree waits for the device. */
static void replace(buffer *b, cudaStream_t stream) {
  int *fresh;
  CHECK(cudaMalloc((void **)&fresh, SIZE * sizeof(int)));
  CHECK(cudaMemcpyAsync(fresh, b->device, SIZE * sizeof(int), cudaMemcpyDeviceToDevice, stream));
  CHECK(cudaStreamSynchronize(stream));
  end_chain(b, stream); /* which knows the old address */
  CHECK(cudaFree(b->device));
  b->device = fresh;
}

static void step(worker *w, buffer *b) {
  cudaStream_t stream = streams[draw(w, STREAMS)];
  int n = SIZE, one = 1;
  CHECK(cudaStreamWaitEvent(stream, b->ready));
  switch (draw(w, 15)) {
  case 0: read_back(b, stream); break;
  case 1: through_pool(b, stream); break;
  case 2: replace(b, stream); break;
  case 3:
    CHECK(cudaMemsetAsync(b->device, 1, SIZE * sizeof(int), stream));
    b->wanted = 0x01010101;
    break;
  case 4:
    launch("count", (void *[]){&one}, 1, 32, 0, stream);
    w->counted++;
    break;
  case 5: launch("reverse", (void *[]){&b->device, &n}, 1, 64, SIZE * sizeof(int), stream); break;
  case 6:
  case 7:
  case 8: replay(w, b, stream); break;
  default: add(b, draw(w, 100), stream);
  }
  CHECK(cudaEventRecord(b->ready, stream));
}

static void *work(void *argument) {
  worker *w = argument;
  buffer buffers[BUFFERS] = {{0}};
  for (int i = 0; i < BUFFERS; i++) {
    CHECK(cudaMalloc((void **)&buffers[i].device, SIZE * sizeof(int)));
    CHECK(cudaMemset(buffers[i].device, 0, SIZE * sizeof(int)));
    CHECK(cudaEventCreate(&buffers[i].ready));
  }
  for (int i = 0; i < w->rounds; i++) step(w, &buffers[draw(w, BUFFERS)]);
  for (int i = 0; i < BUFFERS; i++) {
    CHECK(cudaEventSynchronize(buffers[i].ready));
    read_back(&buffers[i], streams[i]);
    end_chain(&buffers[i], streams[i]);
    CHECK(cudaEventDestroy(buffers[i].ready));
    CHECK(cudaFree(buffers[i].device));
  }
  return NULL;
}

int main(int count, char **arguments) {
  int rounds = count > 1 ? atoi(arguments[1]) : 2000, total, counted = 0;
  unsigned seed = count > 2 ? (unsigned)atoi(arguments[2]) : 1;
  pthread_t threads[THREADS];
  worker workers[THREADS];
  printf("seed %u\n", seed);
  CHECK(mwCudaSource(kernels, NULL));
  for (int i = 0; i < STREAMS; i++) CHECK(cudaStreamCreateWithFlags(&streams[i], i % 2));
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (worker){seed * 1000 + (unsigned)i, rounds, 0};
    if (pthread_create(&threads[i], NULL, work, &workers[i])) return 1;
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    counted += workers[i].counted;
  }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpyFromSymbol(&total, "total", sizeof total));
  for (int i = 0; i < STREAMS; i++) CHECK(cudaStreamDestroy(streams[i]));
  printf("%d threads, %d operations each, counted %d of %d\n", THREADS, rounds, total, counted);
  return total != counted;
}
