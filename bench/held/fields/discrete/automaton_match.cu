// Occurrences of several words, by a finite automaton whose table is in global memory: a thread has 64 letters, and some
// more as the run-up.
__global__ void automaton_match(int length, const unsigned char *text, const int *next, const int *ends, int longest,
                                int *count) {
  const int piece = 64;
  int begin = (blockIdx.x * blockDim.x + threadIdx.x) * piece;
  if (begin >= length) return;
  int state = 0, found = 0;
  for (int i = max(begin - longest, 0); i < min(begin + piece, length); i++) {
    state = next[state * 4 + text[i]];
    if (i >= begin) found += ends[state];
  }
  count[begin / piece] = found;
}
