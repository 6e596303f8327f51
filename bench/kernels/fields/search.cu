// Where a text contains a word: how often, and the sum of the places (modulo 2^32).
__global__ void search(int n, const unsigned char *text, int length, const unsigned char *word, unsigned *found) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > n - length) return;
  int same = 0;
  while (same < length && text[i + same] == word[same]) same++;
  if (same < length) return;
  atomicAdd(&found[0], 1);
  atomicAdd(&found[1], i);
}
