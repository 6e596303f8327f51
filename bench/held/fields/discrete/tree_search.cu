// Keys looked up in a sorted array laid out as an implicit binary tree: children of node i are 2i + 1 and 2i + 2.
__global__ void tree_search(int nodes, const unsigned *tree, int queries, const unsigned *keys, int *found) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= queries) return;
  unsigned key = keys[i];
  int node = 0, last = -1;
  while (node < nodes) {
    unsigned here = tree[node];
    if (here <= key) last = node;
    node = 2 * node + (here <= key ? 2 : 1);
  }
  found[i] = last;
}
