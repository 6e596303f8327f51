/* A C host without Lua: open a device, compile CUDA C from a string, launch it, check the result, read an error.
 *
 *     make embed && build/release/bin/embed [device]
 * or by hand
 *     cc -std=c11 -Isrc examples/embed.c -Lbuild/release/lib -lmoonwarp -Wl,-rpath,$PWD/build/release/lib -o embed */
#include "moonwarp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char source[] = "__global__ void saxpy(int n, float a, const float *x, float *y) {\n"
                             "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                             "  if (i < n) y[i] = a * x[i] + y[i];\n"
                             "}\n"
                             "__global__ void nothing() {}\n";

/* Every function of moonwarp that can fail stores the reason in the error slot. */
static void print_error(const char *doing) {
  const mw_error *error = mw_error_last();
  printf("%s: %s: %s\n", doing, error->name, error->message);
  if (error->file) printf("  at %s:%d:%d\n", error->file, error->line, error->column);
  if (error->log) printf("%s", error->log);
}

static void check(int result, const char *doing) {
  if (result == MW_SUCCESS) return;
  print_error(doing);
  exit(1);
}

static mw_module *compile(mw_device *device, const char *text) {
  mw_source from = {.text = text, .length = strlen(text), .file = "saxpy.cu", .line = 1};
  mw_module *module;
  check(mw_module_compile(device, &from, &module), "compile");
  return module;
}

static mw_array *make_array(mw_device *device, size_t count, float value) {
  mw_array *array;
  check(mw_array_new(device, mw_dtype("float"), 1, &count, &array), "make an array");
  check(mw_array_fill(array, &value), "fill it");
  return array;
}

/* A prepared launch: saxpy<<<grid, 256>>>(n, a, x, y). */
static mw_launch *prepare(mw_kernel *saxpy, size_t n, float a, mw_array *x, mw_array *y) {
  unsigned block[3] = {256, 1, 1}, grid[3] = {(unsigned)((n + 255) / 256), 1, 1};
  mw_launch *launch;
  check(mw_launch_new(saxpy, grid, block, 0, &launch), "configure");
  check(mw_launch_int64(launch, 0, (int64_t)n), "set n");
  check(mw_launch_number(launch, 1, a), "set a");
  check(mw_launch_array(launch, 2, x), "set x");
  check(mw_launch_array(launch, 3, y), "set y");
  return launch;
}

/* y = 2.5 * 1 + 2, everywhere. */
static void run_saxpy(mw_device *device, mw_module *module) {
  const size_t n = 100000;
  mw_array *x = make_array(device, n, 1), *y = make_array(device, n, 2);
  mw_kernel *saxpy;
  check(mw_module_kernel(module, "saxpy", &saxpy), "find saxpy");
  mw_launch *launch = prepare(saxpy, n, 2.5f, x, y);
  check(mw_launch_run(launch, "embed.c"), "launch");

  float *result = malloc(n * sizeof *result);
  size_t wrong = 0;
  if (!result) exit(1);
  check(mw_array_read(y, 0, n, result), "read the result"); /* waits for the kernel */
  for (size_t i = 0; i < n; i++) wrong += result[i] != 4.5f;
  printf("y[0] = %g, y[%zu] = %g, %zu wrong\n", result[0], n - 1, result[n - 1], wrong);
  free(result);
  if (wrong > 0) exit(1);

  /* References may be released in any order: work in flight retains what it uses. */
  mw_array_release(x);
  mw_array_release(y);
  mw_kernel_release(saxpy);
  mw_launch_release(launch);
}

/* A mistake is reported before anything runs, and changes nothing. */
static void show_errors(mw_device *device, mw_module *module) {
  mw_source wrong = {.text = "__global__ void broken(float *x) {\n  x[0] = y;\n}\n", .file = "broken.cu"};
  mw_module *none;
  if (mw_module_compile(device, &wrong, &none) != MW_SUCCESS) print_error("compile broken.cu");

  mw_kernel *kernel;
  if (mw_module_kernel(module, "saxpi", &kernel) != MW_SUCCESS) print_error("find saxpi");

  check(mw_module_kernel(module, "saxpy", &kernel), "find saxpy");
  unsigned one[3] = {1, 1, 1}, many[3] = {64, 64, 1};
  mw_launch *launch;
  if (mw_launch_new(kernel, one, many, 0, &launch) != MW_SUCCESS) print_error("configure");
  check(mw_launch_new(kernel, one, one, 0, &launch), "configure");
  if (mw_launch_number(launch, 0, 0.5) != MW_SUCCESS) print_error("set n");
  if (mw_launch_run(launch, NULL) != MW_SUCCESS) print_error("launch");
  mw_launch_release(launch);
  mw_kernel_release(kernel);
}

/* The time of a prepared launch: for launches queued one after the other, and with a wait after each. */
static void measure(mw_device *device, mw_module *module) {
  enum { LAUNCHES = 100000 };
  unsigned one[3] = {1, 1, 1};
  mw_kernel *nothing;
  mw_launch *launch;
  check(mw_module_kernel(module, "nothing", &nothing), "find nothing");
  check(mw_launch_new(nothing, one, one, 0, &launch), "configure");
  double start = mw_time();
  for (int i = 0; i < LAUNCHES; i++) check(mw_launch_run(launch, NULL), "launch");
  check(mw_device_synchronize(device), "synchronize");
  double queued = mw_time() - start;
  start = mw_time();
  for (int i = 0; i < LAUNCHES / 10; i++) {
    check(mw_launch_run(launch, NULL), "launch");
    check(mw_device_synchronize(device), "synchronize");
  }
  double waited = mw_time() - start;
  printf("a prepared launch: %.2f us; with synchronisation: %.2f us\n", queued / LAUNCHES * 1e6,
         waited / (LAUNCHES / 10.0) * 1e6);
  mw_launch_release(launch);
  mw_kernel_release(nothing);
}

int main(int count, char **arguments) {
  mw_device *device;
  mw_properties properties;
  check(mw_device_open(count > 1 ? arguments[1] : NULL, &device), "open the device");
  check(mw_device_properties(device, &properties), "ask for its properties");
  printf("moonwarp %s on %s\n", mw_version(), properties.name);
  mw_module *module = compile(device, source);
  run_saxpy(device, module);
  show_errors(device, module);
  measure(device, module);
  mw_module_release(module);
  mw_device_release(device);
  return 0;
}
