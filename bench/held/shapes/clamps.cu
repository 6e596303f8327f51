// Indices that are clamped to an edge, or wrap around it: contiguous in all gangs but a few.

#define STRIP 256

// The cheapest way down a grid of costs: `steps` rows in shared memory, of which each loses a column at both edges.
extern "C" __global__ void cheapest_path(int steps, const int *costs, const int *source, int *best, int columns,
                                         int first) {
  __shared__ int last[STRIP], next[STRIP];
  int tx = threadIdx.x, inner = STRIP - 2 * steps;
  int x = inner * (int)blockIdx.x - steps + tx;
  bool inside = x >= 0 && x < columns;
  if (inside) last[tx] = source[x];
  __syncthreads();
  int left_edge = inner * (int)blockIdx.x - steps < 0 ? steps - inner * (int)blockIdx.x : 0;
  int right_edge = inner * (int)blockIdx.x - steps + STRIP > columns ? columns - 1 - (inner * (int)blockIdx.x - steps)
                                                                     : STRIP - 1;
  int west = tx - 1 < left_edge ? left_edge : tx - 1, east = tx + 1 > right_edge ? right_edge : tx + 1;
  bool computed = false;
  for (int i = 0; i < steps; i++) {
    computed = false;
    if (tx >= i + 1 && tx <= STRIP - 2 - i && inside) {
      computed = true;
      int least = min(last[west], min(last[tx], last[east]));
      next[tx] = least + costs[columns * (first + i) + x];
    }
    __syncthreads();
    if (i == steps - 1) break;
    if (computed) last[tx] = next[tx];
    __syncthreads();
  }
  if (computed) best[x] = next[tx];
}

// Heat in a plate with closed borders: several steps of a tile in shared memory.
#define TILE 16
extern "C" __global__ void heat_tile(int steps, const float *power, const float *from, float *to, int width,
                                     int height, float cx, float cy, float cz) {
  __shared__ float now[TILE][TILE], then[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y, inner = TILE - 2 * steps;
  int row0 = inner * (int)blockIdx.y - steps, column0 = inner * (int)blockIdx.x - steps;
  int y = row0 + ty, x = column0 + tx;
  bool inside = y >= 0 && y < height && x >= 0 && x < width;
  float own = 0;
  if (inside) {
    now[ty][tx] = from[width * y + x];
    own = power[width * y + x];
  }
  __syncthreads();
  int top = row0 < 0 ? -row0 : 0, bottom = row0 + TILE - 1 > height - 1 ? height - 1 - row0 : TILE - 1;
  int first = column0 < 0 ? -column0 : 0, last = column0 + TILE - 1 > width - 1 ? width - 1 - column0 : TILE - 1;
  int n = max(ty - 1, top), s = min(ty + 1, bottom), w = max(tx - 1, first), e = min(tx + 1, last);
  bool computed = false;
  for (int i = 0; i < steps; i++) {
    computed = false;
    if (tx >= i + 1 && tx <= TILE - 2 - i && ty >= i + 1 && ty <= TILE - 2 - i && inside) {
      computed = true;
      float here = now[ty][tx];
      then[ty][tx] = here + cz * own + cy * (now[s][tx] + now[n][tx] - 2.0f * here) +
                     cx * (now[ty][e] + now[ty][w] - 2.0f * here);
    }
    __syncthreads();
    if (i == steps - 1) break;
    if (computed) now[ty][tx] = then[ty][tx];
    __syncthreads();
  }
  if (computed) to[width * y + x] = then[ty][tx];
}

// Anisotropic diffusion, over pixels by number; images by columns.
extern "C" __global__ void diffusion_rates(int rows, int columns, const float *image, float *rate, float q0) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * columns) return;
  int column = i / rows, row = i % rows;
  int north = row == 0 ? 0 : row - 1, south = row == rows - 1 ? rows - 1 : row + 1;
  int west = column == 0 ? 0 : column - 1, east = column == columns - 1 ? columns - 1 : column + 1;
  float here = image[i];
  float dn = image[north + rows * column] - here, ds = image[south + rows * column] - here;
  float dw = image[row + rows * west] - here, de = image[row + rows * east] - here;
  float g2 = (dn * dn + ds * ds + dw * dw + de * de) / (here * here), l = (dn + ds + dw + de) / here;
  float num = 0.5f * g2 - 0.0625f * l * l, den = 1.0f + 0.25f * l;
  float q = num / (den * den);
  float c = 1.0f / (1.0f + (q - q0) / (q0 * (1.0f + q0)));
  rate[i] = c < 0.0f ? 0.0f : c > 1.0f ? 1.0f : c;
}

// A field on a torus: advection, upwind or down by its sign.
extern "C" __global__ void torus_step(int width, int height, const float *u, float *v, float dt) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int east = (x + 1) % width, west = (x + width - 1) % width;
  int south = (y + 1) % height, north = (y + height - 1) % height;
  float here = u[y * width + x];
  float dx = u[y * width + east] - u[y * width + west], dy = u[south * width + x] - u[north * width + x];
  float smooth = u[y * width + east] + u[y * width + west] + u[south * width + x] + u[north * width + x];
  v[y * width + x] = 0.25f * smooth - dt * here * (dx + dy);
}

// A window's mean over bytes, with clamped columns.
extern "C" __global__ void mean_window(int width, int height, int radius, const unsigned char *image,
                                       unsigned char *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int sum = 0, count = 0;
  for (int dy = -radius; dy <= radius; dy++) {
    int row = y + dy < 0 ? 0 : y + dy >= height ? height - 1 : y + dy;
    for (int dx = -radius; dx <= radius; dx++) {
      int column = min(max(x + dx, 0), width - 1);
      sum += image[row * width + column];
      count++;
    }
  }
  out[y * width + x] = (unsigned char)(sum / count);
}
