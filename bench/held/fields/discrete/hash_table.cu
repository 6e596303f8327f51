// A hash table with open addressing: insertion by compare and swap, then counts of the keys that queries find.
__device__ unsigned scramble(unsigned key) {
  key = (key ^ key >> 16) * 0x7feb352du;
  key = (key ^ key >> 15) * 0x846ca68bu;
  return key ^ key >> 16;
}
__global__ void hash_insert(int keys, const unsigned *key, unsigned mask, unsigned *table) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= keys) return;
  unsigned mine = key[i] | 1, slot = scramble(mine) & mask;
  for (;;) {
    unsigned there = atomicCAS(&table[slot], 0u, mine);
    if (there == 0 || there == mine) return;
    slot = (slot + 1) & mask;
  }
}
__global__ void hash_find(int queries, const unsigned *query, unsigned mask, const unsigned *table, int *found) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= queries) return;
  unsigned mine = query[i] | 1, slot = scramble(mine) & mask;
  int hit = 0;
  while (table[slot] != 0) {
    if (table[slot] == mine) {
      hit = 1;
      break;
    }
    slot = (slot + 1) & mask;
  }
  found[i] = hit;
}
