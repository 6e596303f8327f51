/* The thirteen kernels of the first table, for the peers; classics.lua has the same for moonwarp. */
#include "problems.h"

#include <stddef.h>

enum { N = 1 << 24 };

static void make_saxpy(problem *p) {
  add_int(p, N), add_float(p, 2), add_array(p, uniform(N, 1, 0, 1), N);
  add_output(p, 'f', uniform(N, 2, 0, 1), N);
  launch(p, N, 1, 256, 1);
}

static void make_reduce(problem *p) {
  add_int(p, N), add_array(p, uniform(N, 1, 0, 1), N);
  add_output(p, 'f', allocate(1024 * 4), 1024);
  launch(p, 1024 * 256, 1, 256, 1);
}

static void make_scan(problem *p) {
  add_int(p, N), add_array(p, uniform(N, 1, 0, 1), N);
  add_output(p, 'f', allocate(N * 4ul), N);
  launch(p, N, 1, 256, 1);
}

static void make_histogram(problem *p) {
  add_int(p, N), add_array(p, bits(N, 1, 0), N);
  add_output(p, 'u', allocate(256 * 4), 256);
  launch(p, 256 * 256, 1, 256, 1);
}

static void make_transpose(problem *p) {
  add_int(p, 4096), add_array(p, uniform(N, 1, 0, 1), N);
  add_output(p, 'f', allocate(N * 4ul), N);
  launch(p, 4096, 4096, 16, 16);
}

static void make_conv2d(problem *p) {
  const size_t pixels = 2048 * 2048;
  add_int(p, 2048), add_int(p, 2048), add_array(p, uniform(pixels, 1, 0, 1), pixels);
  add_array(p, uniform(49, 2, 0, 1), 49);
  add_output(p, 'f', allocate(pixels * 4), pixels);
  launch(p, 2048, 2048, 16, 16);
}

static void make_sgemm(problem *p) {
  const size_t cells = 1024 * 1024;
  add_int(p, 1024), add_array(p, uniform(cells, 1, -1, 1), cells), add_array(p, uniform(cells, 2, -1, 1), cells);
  add_output(p, 'f', allocate(cells * 4), cells);
  launch(p, 1024, 1024, 16, 16);
}

static void make_nbody(problem *p) {
  const size_t numbers = 8192 * 4;
  add_int(p, 8192), add_array(p, uniform(numbers, 1, -1, 1), numbers);
  add_output(p, 'f', allocate(numbers * 4), numbers);
  launch(p, 8192, 1, 256, 1);
}

static void make_blackscholes(problem *p) {
  const size_t n = 1 << 22;
  add_int(p, (int)n), add_array(p, uniform(n, 1, 5, 30), n), add_array(p, uniform(n, 2, 1, 100), n);
  add_array(p, uniform(n, 3, 0.25f, 10), n);
  add_output(p, 'f', allocate(n * 4), n), add_array(p, allocate(n * 4), n);
  launch(p, n, 1, 256, 1);
}

static void make_mandelbrot(problem *p) {
  add_int(p, 2048), add_int(p, 2048), add_int(p, 256);
  add_output(p, 'i', allocate(2048 * 2048 * 4), 2048 * 2048);
  launch(p, 2048, 2048, 32, 8);
}

static void make_spmv(problem *p) {
  const size_t rows = 1 << 20;
  add_int(p, (int)rows);
  const size_t nonzeros = add_row_starts(p, rows);
  add_array(p, bits(nonzeros, 8, 12), nonzeros), add_array(p, uniform(nonzeros, 9, 0, 1), nonzeros);
  add_array(p, uniform(rows, 10, 0, 1), rows);
  add_output(p, 'f', allocate(rows * 4), rows);
  launch(p, rows, 1, 256, 1);
}

static void make_bitonic(problem *p) {
  add_int(p, N), add_int(p, 64), add_int(p, 1024), add_output(p, 'u', bits(N, 1, 0), N);
  launch(p, N, 1, 256, 1);
}

static void make_empty(problem *p) { launch(p, 32, 1, 32, 1); }

const maker classics[] = {
    {"saxpy", make_saxpy},
    {"reduce", make_reduce},
    {"scan", make_scan},
    {"histogram", make_histogram},
    {"transpose", make_transpose},
    {"conv2d", make_conv2d},
    {"sgemm_naive", make_sgemm},
    {"sgemm_tiled", make_sgemm},
    {"nbody", make_nbody},
    {"blackscholes", make_blackscholes},
    {"mandelbrot", make_mandelbrot},
    {"spmv", make_spmv},
    {"bitonic", make_bitonic},
    {"empty", make_empty},
    {NULL, NULL},
};
