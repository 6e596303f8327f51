/* The OpenCL peers: the kernels in bench/opencl on one of the machine's OpenCL CPU devices.
 *   opencl PLATFORM NAME...        measure; one line for each problem: name median_ms digest scale
 *   opencl PLATFORM --build NAME   milliseconds from the source to the end of the first launch
 *   opencl PLATFORM --device       the device's name; fails if there is no such platform
 * PLATFORM is a part of its name ("Portable", "Intel"). Buffers use the host's memory, so nothing is copied. A run is
 * one clEnqueueNDRangeKernel with clFinish. */
#define CL_TARGET_OPENCL_VERSION 120
#include "problems.h"

#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cl_device_id device;
static cl_context context;
static cl_command_queue queue;

static void check(cl_int code, const char *what) {
  if (code == CL_SUCCESS) return;
  fprintf(stderr, "opencl: %s: error %d\n", what, code);
  exit(1);
}

static void open_device(const char *part_of_name) {
  cl_platform_id platforms[8];
  cl_uint count = 0;
  check(clGetPlatformIDs(8, platforms, &count), "clGetPlatformIDs");
  for (cl_uint i = 0; i < count && !device; i++) {
    char name[256] = "";
    clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL);
    if (strstr(name, part_of_name)) clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device, NULL);
  }
  if (!device) check(CL_DEVICE_NOT_FOUND, "no such platform has a CPU device here");
  cl_int code;
  context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  check(code, "clCreateContext");
  queue = clCreateCommandQueue(context, device, 0, &code);
  check(code, "clCreateCommandQueue");
}

static char *read_source(const char *name) {
  static const char *const folders[] = {".", "classics", "fields", "functions"};
  char path[512];
  FILE *file = NULL;
  for (size_t i = 0; i < sizeof folders / sizeof *folders && !file; i++) {
    snprintf(path, sizeof path, "bench/opencl/%s/%s.cl", folders[i], name);
    file = fopen(path, "r");
  }
  char *text = calloc(1, 1 << 16);
  if (!file || !text || fread(text, 1, (1 << 16) - 1, file) == 0) {
    fprintf(stderr, "opencl: cannot read %s.cl in a folder of bench/opencl\n", name);
    exit(1);
  }
  fclose(file);
  return text;
}

/* -cl-mad-enable: CUDA's compilers contract multiply-adds by default as well. */
static cl_kernel build(const char *name) {
  char *text = read_source(name);
  cl_int code;
  cl_program program = clCreateProgramWithSource(context, 1, (const char *[]){text}, NULL, &code);
  check(code, "clCreateProgramWithSource");
  if (clBuildProgram(program, 1, &device, "-cl-std=CL1.2 -cl-mad-enable", NULL, NULL) != CL_SUCCESS) {
    static char log[1 << 16];
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log, log, NULL);
    fprintf(stderr, "opencl: %s does not compile:\n%s\n", name, log);
    exit(1);
  }
  cl_kernel kernel = clCreateKernel(program, name, &code);
  check(code, name);
  free(text);
  return kernel;
}

static void set_arguments(cl_kernel kernel, const problem *p) {
  for (int i = 0; i < p->argument_count; i++) {
    const argument *a = &p->arguments[i];
    const void *value = a->kind == ARGUMENT_INT ? (const void *)&a->integer : &a->number;
    size_t size = 4;
    cl_mem memory;
    cl_int code = CL_SUCCESS;
    if (a->kind == ARGUMENT_ARRAY) {
      memory = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, a->bytes, a->data, &code);
      check(code, "clCreateBuffer");
      value = &memory;
      size = sizeof memory;
    }
    check(clSetKernelArg(kernel, (cl_uint)i, size, value), "clSetKernelArg");
  }
}

typedef struct run {
  const problem *problem;
  cl_kernel kernel;
} run;

static void run_once(void *data) {
  run *r = data;
  const problem *p = r->problem;
  check(clEnqueueNDRangeKernel(queue, r->kernel, 3, NULL, p->threads, p->block, 0, NULL, NULL), p->name);
  check(clFinish(queue), p->name);
}

static void print_device(void) {
  char name[256], version[256];
  clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL);
  clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof version, version, NULL);
  printf("%s, %s\n", version, name);
}

int main(int count, char **arguments) {
  if (count < 3) {
    fprintf(stderr, "usage: opencl PLATFORM [--device | --build] NAME...\n");
    return 1;
  }
  open_device(arguments[1]);
  if (strcmp(arguments[2], "--device") == 0) {
    print_device();
    return 0;
  }
  bool build_only = strcmp(arguments[2], "--build") == 0;
  for (int i = build_only ? 3 : 2; i < count; i++) {
    problem p;
    if (!problem_make(arguments[i], &p)) {
      fprintf(stderr, "opencl: no problem is called %s\n", arguments[i]);
      return 1;
    }
    double start = now_ms();
    run r = {&p, build(arguments[i])};
    set_arguments(r.kernel, &p);
    if (build_only) {
      run_once(&r);
      printf("%s %.6f\n", p.name, now_ms() - start);
    } else {
      problem_measure(&p, run_once, &r);
    }
  }
  return 0;
}
