// Which of 32 centres is nearest to each point, in 8 dimensions. Coordinate d of point i is points[d * n + i].
__global__ void kmeans(int n, const float *points, const float *centres, int *nearest) {
  __shared__ float centre[32][8];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  centre[threadIdx.x / 8][threadIdx.x % 8] = centres[threadIdx.x];
  __syncthreads();
  if (i >= n) return;
  float point[8], least = 1e30f;
  for (int d = 0; d < 8; d++) point[d] = points[d * n + i];
  int best = 0;
  for (int c = 0; c < 32; c++) {
    float distance = 0;
    for (int d = 0; d < 8; d++) {
      float apart = point[d] - centre[c][d];
      distance += apart * apart;
    }
    if (distance < least) {
      least = distance;
      best = c;
    }
  }
  nearest[i] = best;
}
