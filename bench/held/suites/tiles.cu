// Shared tiles by two axes, as benchmark suites have them: several steps of a stencil in one launch, where the part
// of the tile that is still right shrinks with every step.

#define SIDE 16

// A plate's heat: `steps` steps in a launch; tiles overlap by as many cells on each side.
__global__ void plate_steps(int steps, const float *power, const float *from, float *to, int columns, int rows,
                            float across, float along, float sink, float ambient, float rate) {
  __shared__ float now[SIDE][SIDE], heat[SIDE][SIDE], next[SIDE][SIDE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int inner = SIDE - 2 * steps;
  int top = inner * blockIdx.y - steps, left = inner * blockIdx.x - steps;
  int y = top + ty, x = left + tx;
  bool inside = y >= 0 && y < rows && x >= 0 && x < columns;
  if (inside) {
    now[ty][tx] = from[y * columns + x];
    heat[ty][tx] = power[y * columns + x];
  }
  __syncthreads();
  int y_first = top < 0 ? -top : 0, x_first = left < 0 ? -left : 0;
  int y_last = top + SIDE - 1 > rows - 1 ? SIDE - 1 - (top + SIDE - rows) : SIDE - 1;
  int x_last = left + SIDE - 1 > columns - 1 ? SIDE - 1 - (left + SIDE - columns) : SIDE - 1;
  int north = ty - 1 < y_first ? y_first : ty - 1, south = ty + 1 > y_last ? y_last : ty + 1;
  int west = tx - 1 < x_first ? x_first : tx - 1, east = tx + 1 > x_last ? x_last : tx + 1;
  bool done = false;
  for (int i = 0; i < steps; i++) {
    done = false;
    if (tx >= i + 1 && tx <= SIDE - 2 - i && ty >= i + 1 && ty <= SIDE - 2 - i && tx >= x_first && tx <= x_last &&
        ty >= y_first && ty <= y_last) {
      done = true;
      next[ty][tx] =
          now[ty][tx] + rate * (heat[ty][tx] + (now[south][tx] + now[north][tx] - 2.0f * now[ty][tx]) * along +
                                (now[ty][east] + now[ty][west] - 2.0f * now[ty][tx]) * across +
                                (ambient - now[ty][tx]) * sink);
    }
    __syncthreads();
    if (i == steps - 1) break;
    if (done) now[ty][tx] = next[ty][tx];
    __syncthreads();
  }
  if (done) to[y * columns + x] = next[ty][tx];
}

// The cheapest way through rows of costs, `steps` rows in a launch.
#define LINE 256
__global__ void ways(int steps, const int *cost, const int *from, int *to, int columns, int first) {
  __shared__ int before[LINE], after[LINE];
  int tx = threadIdx.x;
  int inner = LINE - 2 * steps;
  int left = inner * blockIdx.x - steps, right = left + LINE - 1;
  int x = left + tx;
  int least = left < 0 ? -left : 0, most = right > columns - 1 ? LINE - 1 - (right - columns + 1) : LINE - 1;
  int west = tx - 1 < least ? least : tx - 1, east = tx + 1 > most ? most : tx + 1;
  bool valid = tx >= least && tx <= most;
  if (x >= 0 && x <= columns - 1) before[tx] = from[x];
  __syncthreads();
  bool done = false;
  for (int i = 0; i < steps; i++) {
    done = false;
    if (tx >= i + 1 && tx <= LINE - 2 - i && valid) {
      done = true;
      int shortest = min(before[west], before[tx]);
      shortest = min(shortest, before[east]);
      after[tx] = shortest + cost[columns * (first + i) + x];
    }
    __syncthreads();
    if (i == steps - 1) break;
    if (done) before[tx] = after[tx];
    __syncthreads();
  }
  if (done) to[x] = after[tx];
}

// Speckle-reducing diffusion, first half: derivatives and the coefficient; blocks at a border repeat its row or column.
__global__ void speckle_slopes(const float *image, float *slope_n, float *slope_s, float *slope_w, float *slope_e,
                               float *factor, int columns, int rows, float q0) {
  __shared__ float here[SIDE][SIDE], north[SIDE][SIDE], south[SIDE][SIDE], west[SIDE][SIDE], east[SIDE][SIDE];
  int tx = threadIdx.x, ty = threadIdx.y, bx = blockIdx.x, by = blockIdx.y;
  int at = columns * SIDE * by + SIDE * bx + columns * ty + tx;
  north[ty][tx] = image[by == 0 ? SIDE * bx + tx : columns * (SIDE * by - 1) + SIDE * bx + tx];
  south[ty][tx] = image[by == gridDim.y - 1 ? columns * (rows - 1) + SIDE * bx + tx
                                            : columns * (SIDE * by + SIDE) + SIDE * bx + tx];
  west[ty][tx] = image[bx == 0 ? columns * (SIDE * by + ty) : columns * (SIDE * by + ty) + SIDE * bx - 1];
  east[ty][tx] = image[bx == gridDim.x - 1 ? columns * (SIDE * by + ty) + columns - 1
                                           : columns * (SIDE * by + ty) + SIDE * bx + SIDE];
  here[ty][tx] = image[at];
  __syncthreads();
  float c = here[ty][tx], n, s, w, e;
  if (ty == 0) n = north[ty][tx] - c;
  else n = here[ty - 1][tx] - c;
  if (ty == SIDE - 1) s = south[ty][tx] - c;
  else s = here[ty + 1][tx] - c;
  if (tx == 0) w = west[ty][tx] - c;
  else w = here[ty][tx - 1] - c;
  if (tx == SIDE - 1) e = east[ty][tx] - c;
  else e = here[ty][tx + 1] - c;
  float g2 = (n * n + s * s + w * w + e * e) / (c * c), l = (n + s + w + e) / c;
  float num = 0.5f * g2 - (1.0f / 16.0f) * (l * l), den = 1 + 0.25f * l;
  float qsqr = num / (den * den);
  den = (qsqr - q0) / (q0 * (1 + q0));
  float f = 1.0f / (1.0f + den);
  factor[at] = f < 0 ? 0 : f > 1 ? 1 : f;
  slope_n[at] = n;
  slope_s[at] = s;
  slope_w[at] = w;
  slope_e[at] = e;
}

// Sums of rows' segments: a scan that begins anew at each flag, in shared memory, by doubling distances.
__global__ void segment_sums(const float *value, const int *head, float *out, int n) {
  __shared__ float sum[2][LINE];
  __shared__ int flag[2][LINE];
  int t = threadIdx.x, i = blockIdx.x * LINE + t, side = 0;
  sum[0][t] = i < n ? value[i] : 0;
  flag[0][t] = i < n ? head[i] : 1;
  __syncthreads();
  for (int d = 1; d < LINE; d *= 2) {
    float s = sum[side][t];
    int f = flag[side][t];
    if (t >= d) {
      if (!f) s += sum[side][t - d];
      f |= flag[side][t - d];
    }
    side = 1 - side;
    sum[side][t] = s;
    flag[side][t] = f;
    __syncthreads();
  }
  if (i < n) out[i] = sum[side][t];
}
