// Blocks of a bit stream with a canonical prefix code of at most 8 bits, one thread per block of 64 symbols, by table.
__global__ void huffman_decode(int blocks, const unsigned *bits, const unsigned *begins, const unsigned char *symbol,
                               const unsigned char *length, unsigned char *out) {
  int block = blockIdx.x * blockDim.x + threadIdx.x;
  if (block >= blocks) return;
  unsigned at = begins[block];
  for (int i = 0; i < 64; i++) {
    unsigned word = at / 32, shift = at % 32;
    unsigned long long both = (unsigned long long)bits[word + 1] << 32 | bits[word];
    unsigned window = (unsigned)(both >> shift) & 255;
    out[block * 64 + i] = symbol[window];
    at += length[window];
  }
}
