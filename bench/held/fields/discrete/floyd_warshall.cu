// All shortest paths: one launch per intermediate node.
__global__ void floyd_warshall(int nodes, int through, int *distance) {
  int to = blockIdx.x * blockDim.x + threadIdx.x, from = blockIdx.y;
  if (to >= nodes) return;
  int direct = distance[from * nodes + to], round = distance[from * nodes + through] + distance[through * nodes + to];
  if (round < direct) distance[from * nodes + to] = round;
}
