// One level of a breadth-first search: marks the neighbours of the frontier that have not been visited.
__global__ void bfs(int nodes, const int *start, const int *edges, const int *frontier, const int *visited, int *next) {
  int node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= nodes || !frontier[node]) return;
  for (int k = start[node]; k < start[node + 1]; k++) {
    int neighbour = edges[k];
    if (!visited[neighbour]) next[neighbour] = 1;
  }
}
