// The nearest neighbour in a balanced k-d tree of points in the plane, with a stack for each thread.
__global__ void kd_nearest(int levels, const float2 *tree, int queries, const float2 *query, int *nearest) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= queries) return;
  float2 q = query[i];
  int nodes = (1 << levels) - 1, stack[32], top = 0, best = -1;
  float least = 1e30f;
  stack[top++] = 0;
  while (top > 0) {
    int node = stack[--top];
    float2 p = tree[node];
    float dx = q.x - p.x, dy = q.y - p.y, distance = dx * dx + dy * dy;
    if (distance < least) {
      least = distance;
      best = node;
    }
    if (2 * node + 1 >= nodes) continue;
    int depth = 31 - __clz(node + 1);
    float apart = depth % 2 ? dy : dx;
    int near = 2 * node + (apart < 0 ? 1 : 2), far = 2 * node + (apart < 0 ? 2 : 1);
    if (apart * apart < least) stack[top++] = far;
    stack[top++] = near;
  }
  nearest[i] = best;
}
