// Kernels whose best number of lanes is not the widest: cursors of their own, tables, long code, local arrays.

// The polynomial hash of each line of a text, by a table of 256 words (as checksums do).
__global__ void line_checksum(int lines, const int *start, const unsigned char *text, const unsigned *step,
                              unsigned *sum) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= lines) return;
  unsigned hash = 0xffffffffu;
  for (int at = start[i]; at < start[i + 1]; at++) hash = step[(hash ^ text[at]) & 255] ^ (hash >> 8);
  sum[i] = ~hash;
}

// Sixteen rounds of a Feistel network with four tables; each thread enciphers a block of 64 bits.
__global__ void feistel(int blocks, const unsigned *keys, const unsigned *boxes, const unsigned *plain,
                        unsigned *cipher) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= blocks) return;
  unsigned left = plain[2 * i], right = plain[2 * i + 1];
  for (int round = 0; round < 16; round++) {
    left ^= keys[round];
    unsigned mixed = boxes[left >> 24] + boxes[256 + (left >> 16 & 255)];
    mixed = (mixed ^ boxes[512 + (left >> 8 & 255)]) + boxes[768 + (left & 255)];
    unsigned next = right ^ mixed;
    right = left;
    left = next;
  }
  cipher[2 * i] = right ^ keys[16];
  cipher[2 * i + 1] = left ^ keys[17];
}

// The longest common subsequence of two strings of 32 letters, a pair for each thread, with one row of the table.
__global__ void common_subsequence(int pairs, const unsigned char *first, const unsigned char *second, int *length) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pairs) return;
  int row[33];
  for (int k = 0; k <= 32; k++) row[k] = 0;
  for (int j = 0; j < 32; j++) {
    int diagonal = 0;
    unsigned char letter = second[32 * i + j];
    for (int k = 1; k <= 32; k++) {
      int above = row[k];
      row[k] = first[32 * i + k - 1] == letter ? diagonal + 1 : max(above, row[k - 1]);
      diagonal = above;
    }
  }
  length[i] = row[32];
}

// The Hadamard transform of rows and columns of tiles of 8 x 8, a tile for each thread.
__global__ void hadamard_tile(int columns, int rows, const short *in, short *out) {
  int x = 8 * (blockIdx.x * blockDim.x + threadIdx.x), y = 8 * (blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= columns || y >= rows) return;
  int tile[64];
  for (int j = 0; j < 8; j++)
    for (int i = 0; i < 8; i++) tile[8 * j + i] = in[(y + j) * columns + x + i];
  for (int j = 0; j < 8; j++)
    for (int half = 4; half; half /= 2)
      for (int i = 0; i < 8; i++)
        if (!(i & half)) {
          int a = tile[8 * j + i], b = tile[8 * j + i + half];
          tile[8 * j + i] = a + b, tile[8 * j + i + half] = a - b;
        }
  for (int i = 0; i < 8; i++)
    for (int half = 4; half; half /= 2)
      for (int j = 0; j < 8; j++)
        if (!(j & half)) {
          int a = tile[8 * j + i], b = tile[8 * (j + half) + i];
          tile[8 * j + i] = a + b, tile[8 * (j + half) + i] = a - b;
        }
  for (int j = 0; j < 8; j++)
    for (int i = 0; i < 8; i++) out[(y + j) * columns + x + i] = (short)(tile[8 * j + i] / 8);
}

// The roots of numbers by bisection of a monotone table, then a walk whose length depends on the data.
__global__ void table_walk(int queries, int entries, const float *table, const float *query, int *steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= queries) return;
  int low = 0, high = entries - 1, count = 0;
  float wanted = query[i];
  while (low < high) {
    int middle = (low + high) / 2;
    if (table[middle] < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  while (low > 1 && count < 64) {
    low = low % 2 ? (3 * low + 1) % entries : low / 2;
    count += table[low] < wanted ? 2 : 1;
  }
  steps[i] = count;
}

// Products of all pairs of rows of a matrix (similarity of vectors), each by one thread.
__global__ void row_similarity(int rows, int length, const float *a, const float *norm, float *result) {
  int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows || j >= rows) return;
  float sum = 0;
  for (int k = 0; k < length; k++) sum += a[i * length + k] * a[j * length + k];
  result[i * rows + j] = sum * norm[i] * norm[j];
}
