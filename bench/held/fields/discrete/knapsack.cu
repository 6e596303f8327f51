// The 0/1 knapsack problem: one launch per item, one thread per capacity.
__global__ void knapsack(int capacity, int weight, int value, const int *before, int *after) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c > capacity) return;
  int best = before[c];
  if (c >= weight) best = max(best, before[c - weight] + value);
  after[c] = best;
}
