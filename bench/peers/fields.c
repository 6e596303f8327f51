/* The kernels of the second table, from different fields, for the peers; fields.lua has the same for moonwarp. */
#include "problems.h"

#include <math.h>
#include <stddef.h>

static void make_stencil(problem *p) {
  const size_t side = 256, cells = side * side * side;
  add_int(p, (int)side), add_float(p, 0.1f), add_array(p, uniform(cells, 1, 0, 1), cells);
  add_output(p, 'f', allocate(cells * 4), cells);
  launch(p, side, side, 32, 4);
  p->threads[2] = side, p->block[2] = 2;
}

static void make_cholesky(problem *p) {
  const size_t matrices = 16384, cells = matrices * 256;
  add_array(p, uniform(cells, 1, 0, 1), cells);
  add_output(p, 'f', allocate(cells * 4), cells);
  launch(p, matrices * 16, 16, 16, 16);
}

static void make_bfs(problem *p) {
  const size_t nodes = 1 << 20;
  add_int(p, (int)nodes);
  const size_t edges = add_row_starts(p, nodes);
  add_array(p, bits(edges, 8, 12), edges);
  add_array(p, bits(nodes, 11, 31), nodes), add_array(p, bits(nodes, 12, 31), nodes);
  add_output(p, 'i', allocate(nodes * 4), nodes);
  launch(p, nodes, 1, 256, 1);
}

static void make_kmeans(problem *p) {
  const size_t points = 1 << 20;
  add_int(p, (int)points), add_array(p, uniform(points * 8, 1, 0, 1), points * 8);
  add_array(p, uniform(256, 2, 0, 1), 256);
  add_output(p, 'i', allocate(points * 4), points);
  launch(p, points, 1, 256, 1);
}

static void make_fft(problem *p) {
  const size_t numbers = 1 << 22;
  float *twiddle = allocate(512 * sizeof *twiddle);
  for (int i = 0; i < 256; i++) {
    double angle = -2 * 3.14159265358979323846 * i / 512;
    twiddle[2 * i] = (float)cos(angle), twiddle[2 * i + 1] = (float)sin(angle);
  }
  add_array(p, uniform(numbers * 2, 1, -1, 1), numbers * 2), add_array(p, twiddle, 512);
  add_output(p, 'f', allocate(numbers * 8), numbers * 2);
  launch(p, numbers / 2, 1, 256, 1);
}

static void make_sha256(problem *p) {
  const size_t messages = 1 << 18;
  add_int(p, (int)messages), add_array(p, bits(messages * 16, 1, 0), messages * 16);
  add_output(p, 'u', allocate(messages * 32), messages * 8);
  launch(p, messages, 1, 256, 1);
}

/* Words of four letters, from an alphabet of four. */
static uint32_t *letters(size_t words, uint32_t seed) {
  uint32_t *out = bits(words, seed, 0);
  for (size_t i = 0; i < words; i++) out[i] &= 0x03030303;
  return out;
}

static void make_search(problem *p) {
  const size_t length = 1 << 24;
  uint32_t *text = letters(length / 4, 1), *word = letters(2, 1);
  add_int(p, (int)length), add_array(p, text, length / 4);
  add_int(p, 8), add_array(p, word, 2);
  add_output(p, 'u', allocate(8), 2);
  launch(p, length, 1, 256, 1);
}

static void make_radix(problem *p) {
  const size_t keys = 1 << 20;
  add_int(p, 4), add_array(p, bits(keys, 1, 0), keys);
  add_output(p, 'u', allocate(keys * 4), keys);
  launch(p, keys, 1, 256, 1);
}

static void make_spheres(problem *p) {
  const size_t side = 1024, count = 32;
  float *spheres = uniform(count * 4, 1, 0, 1);
  for (size_t i = 0; i < count * 4; i += 4) {
    const double x = spheres[i], y = spheres[i + 1], z = spheres[i + 2], radius = spheres[i + 3];
    spheres[i] = (float)(x * 6 - 3), spheres[i + 1] = (float)(y * 2 + 0.2);
    spheres[i + 2] = (float)(z * 6 - 1), spheres[i + 3] = (float)(radius * 0.5 + 0.1);
  }
  add_int(p, (int)side), add_int(p, (int)side), add_int(p, (int)count), add_array(p, spheres, count * 4);
  add_output(p, 'f', allocate(side * side * 4), side * side);
  launch(p, side, side, 16, 16);
}

static void make_warpsum(problem *p) {
  const size_t n = 1 << 22;
  add_int(p, (int)n), add_array(p, uniform(n, 1, 0, 1), n);
  add_output(p, 'f', allocate(1024 * 4), 1024);
  launch(p, 1024 * 256, 1, 256, 1);
}

const maker fields[] = {
    {"stencil", make_stencil},
    {"cholesky", make_cholesky},
    {"bfs", make_bfs},
    {"kmeans", make_kmeans},
    {"fft", make_fft},
    {"sha256", make_sha256},
    {"search", make_search},
    {"radix", make_radix},
    {"spheres", make_spheres},
    {"warpsum", make_warpsum},
    {NULL, NULL},
};
