// Kernels with blocks of few threads, and rows that are shorter than a vector.

// Four threads of a block hold the columns of a state of sixteen bytes, and mix them through shared memory.
__global__ void column_cipher(int rounds, const unsigned *keys, const unsigned *box, const unsigned *plain,
                              unsigned *cipher) {
  __shared__ unsigned state[4];
  int x = threadIdx.x, at = 4 * blockIdx.x + x;
  state[x] = plain[at] ^ keys[x];
  __syncthreads();
  for (int round = 1; round <= rounds; round++) {
    unsigned a = state[x], b = state[(x + 1) & 3], c = state[(x + 2) & 3], d = state[(x + 3) & 3];
    unsigned mixed = box[a & 255] ^ box[256 + (b >> 8 & 255)] ^ box[512 + (c >> 16 & 255)] ^ box[768 + (d >> 24)];
    __syncthreads();
    state[x] = mixed ^ keys[4 * round + x];
    __syncthreads();
  }
  cipher[at] = state[x];
}

// Alignment of two sequences by anti-diagonals: a block of 16 threads fills a tile of 16 x 16 of its own problem.
__global__ void align_tile(int penalty, const int *score, int *table) {
  __shared__ int tile[17][17];
  int x = threadIdx.x, base = blockIdx.x * 256;
  tile[0][x + 1] = -penalty * (x + 1);
  tile[x + 1][0] = -penalty * (x + 1);
  if (x == 0) tile[0][0] = 0;
  __syncthreads();
  for (int d = 0; d < 31; d++) {
    int i = d - x, j = x;
    if (i >= 0 && i < 16) {
      int best = tile[i][j] + score[base + 16 * i + j];
      best = max(best, tile[i][j + 1] - penalty);
      tile[i + 1][j + 1] = max(best, tile[i + 1][j] - penalty);
    }
    __syncthreads();
  }
  for (int i = 0; i < 16; i++) table[base + 16 * i + x] = tile[i + 1][x + 1];
}

// The factors of matrices of 16 x 16, one for each block of 16 threads.
__global__ void factor_tile(const float *in, float *out) {
  __shared__ float a[16][17];
  int x = threadIdx.x, base = blockIdx.x * 256;
  for (int i = 0; i < 16; i++) a[i][x] = in[base + 16 * i + x];
  __syncthreads();
  for (int k = 0; k < 15; k++) {
    if (x > k) {
      float factor = a[x][k] / a[k][k];
      for (int j = k + 1; j < 16; j++) a[x][j] -= factor * a[k][j];
      a[x][k] = factor;
    }
    __syncthreads();
  }
  for (int i = 0; i < 16; i++) out[base + 16 * i + x] = a[i][x];
}

// Rotations of points: blocks of 4 x 4 threads, of which a row has the coordinates of one point.
__global__ void transform_points(const float *matrix, const float *point, float *out) {
  int at = (blockIdx.x * blockDim.y + threadIdx.y) * 4;
  float sum = 0;
  for (int k = 0; k < 4; k++) sum += matrix[4 * threadIdx.x + k] * point[at + k];
  out[at + threadIdx.x] = sum;
}

// Running sums of eight numbers per block, by doubling distances.
__global__ void scan_eight(const int *in, int *out) {
  __shared__ int sum[8];
  int x = threadIdx.x, at = 8 * blockIdx.x + x;
  sum[x] = in[at];
  __syncthreads();
  for (int distance = 1; distance < 8; distance *= 2) {
    int other = x >= distance ? sum[x - distance] : 0;
    __syncthreads();
    sum[x] += other;
    __syncthreads();
  }
  out[at] = sum[x];
}
