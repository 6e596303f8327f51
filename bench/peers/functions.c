/* The kernels of the table of mathematical functions, for the peers; functions.lua has the same for moonwarp. */
#include "problems.h"

#include <stddef.h>

static void make_softmax(problem *p) {
  const size_t rows = 4096, columns = 1024, n = rows * columns;
  add_int(p, (int)columns), add_array(p, uniform(n, 1, -8, 8), n);
  add_output(p, 'f', allocate(n * 4), n);
  launch(p, rows * 256, 1, 256, 1);
}

static void make_gelu(problem *p) {
  const size_t n = 1 << 22;
  add_int(p, (int)n), add_array(p, uniform(n, 1, -6, 6), n);
  add_output(p, 'f', allocate(n * 4), n);
  launch(p, n, 1, 256, 1);
}

static void make_montecarlo(problem *p) {
  const size_t paths = 1 << 17;
  add_int(p, (int)paths), add_int(p, 64), add_float(p, 95);
  add_output(p, 'f', allocate(paths * 4), paths);
  launch(p, paths, 1, 256, 1);
}

const maker functions[] = {
    {"softmax", make_softmax},       {"gelu", make_gelu}, {"gelu_tanh", make_gelu},
    {"montecarlo", make_montecarlo}, {NULL, NULL},
};
