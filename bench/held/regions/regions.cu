// Blocks whose threads own rows of shared memory or look up tables between barriers: lanes would gather and scatter.

// Triangular systems of 32 x 32 with 16 added to the diagonal, one for each block of 32 threads: by columns, the right-hand side in shared memory.
__global__ void solve_triangles(const float *matrix, const float *right, float *solution) {
  __shared__ float row[32][33], side[32];
  int x = threadIdx.x, base = blockIdx.x * 1024;
  for (int i = 0; i < 32; i++) row[i][x] = matrix[base + 32 * i + x];
  side[x] = right[32 * blockIdx.x + x];
  __syncthreads();
  for (int k = 0; k < 32; k++) {
    if (x == k) side[k] /= row[k][k] + 16;
    __syncthreads();
    if (x > k) side[x] -= row[x][k] * side[k];
    __syncthreads();
  }
  solution[32 * blockIdx.x + x] = side[x];
}

// A matrix of 8 x 8 for each block of 8 threads, to the power 2^steps, modulo 2^32: thread x owns row x.
__global__ void square_rows(int steps, const unsigned *in, unsigned *out) {
  __shared__ unsigned m[8][9];
  int x = threadIdx.x, base = blockIdx.x * 64;
  for (int j = 0; j < 8; j++) m[j][x] = in[base + 8 * j + x];
  __syncthreads();
  for (int step = 0; step < steps; step++) {
    unsigned row[8];
    for (int j = 0; j < 8; j++) {
      unsigned sum = 0;
      for (int k = 0; k < 8; k++) sum += m[x][k] * m[k][j];
      row[j] = sum;
    }
    __syncthreads();
    for (int j = 0; j < 8; j++) m[x][j] = row[j] ^ step;
    __syncthreads();
  }
  for (int j = 0; j < 8; j++) out[base + 8 * j + x] = m[j][x];
}

// The least cost of warping one sequence of 16 numbers onto another, by anti-diagonals.
__global__ void warp_sequences(const float *first, const float *second, float *cost) {
  __shared__ float table[17][17], other[16];
  int x = threadIdx.x, base = blockIdx.x * 16;
  float own = first[base + x];
  other[x] = second[base + x];
  table[0][x + 1] = table[x + 1][0] = 1e30f;
  if (x == 0) table[0][0] = 0;
  __syncthreads();
  for (int d = 0; d < 31; d++) {
    int j = d - x;
    if (j >= 0 && j < 16) {
      float least = fminf(table[x][j], fminf(table[x][j + 1], table[x + 1][j]));
      table[x + 1][j + 1] = fabsf(own - other[j]) + least;
    }
    __syncthreads();
  }
  cost[base + x] = table[x + 1][16];
}
