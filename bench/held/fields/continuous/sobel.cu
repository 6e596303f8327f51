// Edges of a picture of bytes through a tile in shared memory with its halo.
__global__ void sobel(int width, int height, const unsigned char *in, unsigned char *out) {
  __shared__ unsigned char tile[18][34];
  int x0 = blockIdx.x * 32 - 1, y0 = blockIdx.y * 16 - 1;
  for (int i = threadIdx.y * 32 + threadIdx.x; i < 18 * 34; i += 32 * 16) {
    int x = min(max(x0 + i % 34, 0), width - 1), y = min(max(y0 + i / 34, 0), height - 1);
    tile[i / 34][i % 34] = in[y * width + x];
  }
  __syncthreads();
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y, tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  if (x >= width || y >= height) return;
  int gx = tile[ty - 1][tx + 1] + 2 * tile[ty][tx + 1] + tile[ty + 1][tx + 1] - tile[ty - 1][tx - 1] -
           2 * tile[ty][tx - 1] - tile[ty + 1][tx - 1];
  int gy = tile[ty + 1][tx - 1] + 2 * tile[ty + 1][tx] + tile[ty + 1][tx + 1] - tile[ty - 1][tx - 1] -
           2 * tile[ty - 1][tx] - tile[ty - 1][tx + 1];
  out[y * width + x] = (unsigned char)min(255, abs(gx) + abs(gy));
}
