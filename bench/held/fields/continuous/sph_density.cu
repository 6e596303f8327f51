// Smoothed-particle hydrodynamics: density from the particles in the 3 x 3 cells around, sorted by cell.
__global__ void sph_density(int particles, int cells, float h, const float2 *position, const int *begin, float *density) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= particles) return;
  float2 p = position[i];
  int cx = min((int)(p.x * cells), cells - 1), cy = min((int)(p.y * cells), cells - 1);
  float sum = 0, h2 = h * h;
  for (int y = max(cy - 1, 0); y <= min(cy + 1, cells - 1); y++)
    for (int x = max(cx - 1, 0); x <= min(cx + 1, cells - 1); x++)
      for (int j = begin[y * cells + x]; j < begin[y * cells + x + 1]; j++) {
        float dx = p.x - position[j].x, dy = p.y - position[j].y, r2 = dx * dx + dy * dy;
        if (r2 < h2) sum += (h2 - r2) * (h2 - r2) * (h2 - r2);
      }
  density[i] = sum * 4 / (3.14159265f * h2 * h2 * h2 * h2);
}
