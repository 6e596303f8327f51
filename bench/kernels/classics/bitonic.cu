// One step of a bitonic sort: compare with the partner at distance `distance`, within runs of `run`.
__global__ void bitonic(int n, int distance, int run, unsigned *data) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, partner = i ^ distance;
  if (i >= n || partner <= i) return;
  unsigned a = data[i], b = data[partner];
  bool up = (i & run) == 0;
  if ((a > b) == up) {
    data[i] = b;
    data[partner] = a;
  }
}
