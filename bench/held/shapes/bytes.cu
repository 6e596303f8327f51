// Bytes that stand next to each other, read one by one.

// A hash of strings of one length, four bytes at a time, in any byte order.
extern "C" __global__ void string_hash(int n, const unsigned char *text, int length, unsigned seed, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned char *s = text + (size_t)i * length;
  unsigned h = seed;
  for (int j = 0; j + 4 <= length; j += 4) {
    unsigned k = s[j] | (unsigned)s[j + 1] << 8 | (unsigned)s[j + 2] << 16 | (unsigned)s[j + 3] << 24;
    k *= 0xcc9e2d51u;
    k = k << 15 | k >> 17;
    h ^= k * 0x1b873593u;
    h = (h << 13 | h >> 19) * 5 + 0xe6546b64u;
  }
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  out[i] = h ^ h >> 13;
}

// Records of eight bytes in big-endian order, at places that a table tells.
extern "C" __global__ void read_records(int n, const unsigned char *file, const int *places, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned char *p = file + places[i];
  int a = p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
  int b = p[4] << 8 | p[5], c = (signed char)p[6], d = p[7];
  out[i] = a ^ (b * 31 + c * d);
}

// FNV over rows, in steps of four bytes.
extern "C" __global__ void fnv_rows(int rows, int length, const char *data, unsigned *out) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  unsigned h = 2166136261u;
  for (int j = 0; j < length; j += 4)
    for (int k = 0; k < 4; k++) h = (h ^ (unsigned char)data[row * length + j + k]) * 16777619u;
  out[row] = h;
}

// Colour to grey, from three bytes per pixel.
extern "C" __global__ void grey(int n, const unsigned char *rgb, unsigned char *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int r = rgb[3 * i], g = rgb[3 * i + 1], b = rgb[3 * i + 2];
  out[i] = (unsigned char)((77 * r + 150 * g + 29 * b) >> 8);
}

// Products of rows of signed bytes.
extern "C" __global__ void byte_products(int n, int length, const signed char *a, const signed char *b, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int sum = 0;
  for (int k = 0; k < length; k += 8) {
#pragma unroll
    for (int j = 0; j < 8; j++) sum += a[i * length + k + j] * b[k + j];
  }
  out[i] = sum;
}
