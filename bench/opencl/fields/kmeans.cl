kernel void kmeans(int n, global const float *points, global const float *centres, global int *nearest) {
  local float centre[32][8];
  int i = get_global_id(0), t = get_local_id(0);
  centre[t / 8][t % 8] = centres[t];
  barrier(CLK_LOCAL_MEM_FENCE);
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
