kernel void bfs(int nodes, global const int *start, global const int *edges, global const int *frontier,
                global const int *visited, global int *next) {
  int node = get_global_id(0);
  if (node >= nodes || !frontier[node]) return;
  for (int k = start[node]; k < start[node + 1]; k++) {
    int neighbour = edges[k];
    if (!visited[neighbour]) next[neighbour] = 1;
  }
}
