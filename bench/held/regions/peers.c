/* The kernels of this folder as C with OpenMP: each function does what one launch does, for the numbers of blocks of
   problems.lua. */
#include <math.h>
#include <string.h>

void solve_triangles(float *matrix, float *right, float *solution) {
#pragma omp parallel for
  for (int block = 0; block < 1 << 12; block++) {
    float *a = matrix + 1024 * block, *side = solution + 32 * block;
    memcpy(side, right + 32 * block, 32 * sizeof *side);
    for (int i = 0; i < 32; i++) {
      float sum = side[i];
      for (int k = 0; k < i; k++) sum -= a[32 * i + k] * side[k];
      side[i] = sum / (a[32 * i + i] + 16);
    }
  }
}

void square_rows(int steps, unsigned *in, unsigned *out) {
#pragma omp parallel for
  for (int base = 0; base < 64 << 12; base += 64) {
    unsigned m[8][8], next[8][8];
    memcpy(m, in + base, sizeof m);
    for (int step = 0; step < steps; step++) {
      for (int x = 0; x < 8; x++) {
        for (int j = 0; j < 8; j++) next[x][j] = 0;
        for (int k = 0; k < 8; k++)
          for (int j = 0; j < 8; j++) next[x][j] += m[x][k] * m[k][j];
        for (int j = 0; j < 8; j++) next[x][j] ^= step;
      }
      memcpy(m, next, sizeof m);
    }
    memcpy(out + base, m, sizeof m);
  }
}

void warp_sequences(float *first, float *second, float *cost) {
#pragma omp parallel for
  for (int base = 0; base < 16 << 13; base += 16) {
    float table[17][17];
    for (int x = 0; x < 17; x++) table[0][x] = table[x][0] = x ? 1e30f : 0;
    for (int x = 0; x < 16; x++) {
      for (int j = 0; j < 16; j++) {
        float least = fminf(table[x][j], fminf(table[x][j + 1], table[x + 1][j]));
        table[x + 1][j + 1] = fabsf(first[base + x] - second[base + j]) + least;
      }
      cost[base + x] = table[x + 1][16];
    }
  }
}
