/* A host whose memory lies near the device's, and at low addresses: a kernel's wild stores must not reach it.
 *
 *     neighbours low            memory of the host at 0x10000000
 *     neighbours near BYTES     an address space limited to so many bytes, and the host's memory wherever an int index leads to
 *     neighbours foreign FILE   as low, with a module that was compiled for other hosts */
#include "moonwarp.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

enum { PAGE = 4096, MOST = 64 };

static const char source[] =
    "__global__ void wild(int *p, int i) { p[i] = 1; }\n"
    "__global__ void row(int *p, int i) { p[i + threadIdx.x] = 1; }\n"
    "struct to { int *p; };\n"
    "__global__ void inside(to t, int i) { t.p[i] = 1; }\n"
    "__global__ void constant(int i) { ((int *)nullptr)[i] = 1; }\n"
    "__global__ void optional(int *p, int *out) { out[threadIdx.x] = p ? p[threadIdx.x] : 7; }\n";

typedef struct host {
  mw_device *device;
  mw_module *module;
  int *victims[MOST];
  int victim_count;
} host;

static void check(int holds, const char *what) {
  if (holds) return;
  printf("%s: %s\n", what, mw_error_last()->message);
  exit(1);
}

static void try_victim(host *h, uint64_t address) {
  void *got = mmap((void *)(uintptr_t)address, PAGE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != MAP_FAILED && h->victim_count < MOST) h->victims[h->victim_count++] = got;
}

static mw_launch *configure(host *h, const char *name, unsigned threads) {
  mw_kernel *kernel;
  mw_launch *launch;
  unsigned one[3] = {1, 1, 1}, block[3] = {threads, 1, 1};
  check(!mw_module_kernel(h->module, name, &kernel), name);
  check(!mw_launch_new(kernel, one, block, 0, &launch), name);
  mw_kernel_release(kernel);
  return launch;
}

/* Stores at the victim, from the address on. */
static void store(host *h, const char *name, unsigned threads, uint64_t from, const int *victim) {
  int64_t index = ((int64_t)(uintptr_t)victim - (int64_t)from) / (int64_t)sizeof(int);
  int constant = strcmp(name, "constant") == 0;
  mw_launch *launch = configure(h, name, threads);
  if (strcmp(name, "inside") == 0)
    check(!mw_launch_bytes(launch, 0, &from, sizeof from), name);
  else if (!constant)
    check(!mw_launch_address(launch, 0, from), name);
  check(!mw_launch_int64(launch, constant ? 0 : 1, index), name);
  int refused = mw_launch_run(launch, NULL) || mw_device_synchronize(h->device);
  if (!refused || *victim) {
    printf("%s stored at %p, from 0x%llx: %s\n", name, (const void *)victim, (unsigned long long)from,
           *victim ? "it is the host's" : "no error");
    exit(1);
  }
  mw_launch_release(launch);
}

static void open_device(host *h, const char *file) {
  mw_source text = {.text = source, .length = sizeof source - 1, .file = "neighbours.cu", .line = 1};
  check(!mw_device_open("cpu", &h->device), "open");
  check(!(file ? mw_module_load(h->device, file, &h->module) : mw_module_compile(h->device, &text, &h->module)),
        "compile");
}

static void reach_low_memory(host *h, const char *file) {
  try_victim(h, 0x10000000);
  check(h->victim_count == 1, "map low memory");
  open_device(h, file);
  store(h, "wild", 1, 0, h->victims[0]);
  store(h, "row", 64, 0, h->victims[0]);
  store(h, "inside", 1, 0, h->victims[0]);
  store(h, "constant", 1, 0, h->victims[0]);
}

/* Null is an argument as any other where nothing is stored through it. */
static void pass_null(host *h) {
  size_t count = 8;
  int got[8];
  mw_array *out;
  mw_launch *launch = configure(h, "optional", 8);
  check(!mw_array_new(h->device, mw_dtype("int"), 1, &count, &out), "make an array");
  check(!mw_launch_address(launch, 0, 0) && !mw_launch_array(launch, 1, out), "set");
  check(!mw_launch_run(launch, NULL) && !mw_array_read(out, 0, count, got), "pass null");
  for (int i = 0; i < 8; i++) check(got[i] == 7, "what null gives");
  mw_launch_release(launch);
  mw_array_release(out);
}

static void reach_neighbours(host *h, unsigned long long bytes) {
  const uint64_t step = (uint64_t)256 << 20;
  struct rlimit limit = {bytes, RLIM_INFINITY};
  size_t count = 4;
  mw_array *array;
  check(!setrlimit(RLIMIT_AS, &limit), "limit the address space");
  open_device(h, NULL);
  check(!mw_array_new(h->device, mw_dtype("int"), 1, &count, &array), "make an array");
  uint64_t from = mw_buffer_address(mw_array_buffer(array)), most = (uint64_t)INT32_MAX * sizeof(int);
  for (uint64_t away = step; away < most; away += step) try_victim(h, (from & -(uint64_t)PAGE) + away);
  for (uint64_t away = step; away < most; away += step) try_victim(h, (from & -(uint64_t)PAGE) - away);
  check(h->victim_count > 0, "map memory near the device's");
  for (int i = 0; i < h->victim_count; i++) {
    store(h, "wild", 1, from, h->victims[i]);
    store(h, "row", 64, from, h->victims[i]);
    store(h, "inside", 1, from, h->victims[i]);
  }
  mw_array_release(array);
}

int main(int count, char **arguments) {
  host h = {0};
  check(count > 1, "an argument is missing");
  if (strcmp(arguments[1], "near") == 0)
    reach_neighbours(&h, strtoull(arguments[2], NULL, 10));
  else
    reach_low_memory(&h, count > 2 ? arguments[2] : NULL);
  if (count == 2) pass_null(&h);
  mw_module_release(h.module);
  mw_device_release(h.device);
  printf("%d neighbours are as they were\n", h.victim_count);
  return 0;
}
