// The search of an LZ77 compressor: for each position the longest match among the 32 before it.
__global__ void lz_match(int length, const unsigned char *text, int *match) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= length) return;
  int best = 0, where = 0;
  for (int back = 1; back <= 32 && back <= at; back++) {
    int same = 0;
    while (same < 16 && at + same < length && text[at + same] == text[at - back + same]) same++;
    if (same > best) {
      best = same;
      where = back;
    }
  }
  match[at] = best << 8 | where;
}
