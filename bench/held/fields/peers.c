/* The held-out kernels in C with OpenMP: what one launch over the whole grid does, with loops in an order for C.
 * `blocks` is the number of the launch's blocks, for kernels that have no parameter for it. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int blocks;

#define PARALLEL  _Pragma("omp parallel for schedule(static)")
#define BALANCED  _Pragma("omp parallel for schedule(dynamic, 16)")
#define SIMD      _Pragma("omp simd")
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

typedef struct {
  float x, y;
} point;
typedef struct {
  float x, y, z;
} vector;
typedef uint8_t byte;

/* One pair at a time would be serial; 64 pairs side by side are not. */
void edit_distance(int pairs, const unsigned char *first, const unsigned char *second, int *distance) {
  enum { LENGTH = 24, SIDE = 64 };
  PARALLEL for (int at = 0; at < pairs; at += SIDE) {
    int row[LENGTH + 1][SIDE];
    byte a[LENGTH][SIDE], b[LENGTH][SIDE];
    for (int p = 0; p < SIDE; p++)
      for (int j = 0; j < LENGTH; j++) {
        a[j][p] = first[(at + p) * LENGTH + j];
        b[j][p] = second[(at + p) * LENGTH + j];
      }
    for (int j = 0; j <= LENGTH; j++)
      for (int p = 0; p < SIDE; p++) row[j][p] = j;
    for (int i = 1; i <= LENGTH; i++) {
      int diagonal[SIDE];
      memcpy(diagonal, row[0], sizeof diagonal);
      for (int p = 0; p < SIDE; p++) row[0][p] = i;
      for (int j = 1; j <= LENGTH; j++) SIMD for (int p = 0; p < SIDE; p++) {
          int substituted = diagonal[p] + (a[i - 1][p] != b[j - 1][p]);
          diagonal[p] = row[j][p];
          int least = MIN(row[j][p] + 1, row[j - 1][p] + 1);
          row[j][p] = MIN(least, substituted);
        }
    }
    memcpy(distance + at, row[LENGTH], sizeof row[LENGTH]);
  }
}

void knapsack(int capacity, int weight, int value, const int *restrict before, int *restrict after) {
  memcpy(after, before, sizeof(int) * MIN(weight, capacity + 1));
  PARALLEL for (int c = weight; c <= capacity; c++) after[c] = MAX(before[c], before[c - weight] + value);
}

void tree_search(int nodes, const unsigned *tree, int queries, const unsigned *keys, int *found) {
  PARALLEL for (int i = 0; i < queries; i++) {
    unsigned key = keys[i];
    int node = 0, last = -1;
    while (node < nodes) {
      unsigned here = tree[node];
      last = here <= key ? node : last;
      node = 2 * node + (here <= key ? 2 : 1);
    }
    found[i] = last;
  }
}

void automaton_match(int length, const unsigned char *text, const int *next, const int *ends, int longest, int *count) {
  PARALLEL for (int begin = 0; begin < length; begin += 64) {
    int state = 0, found = 0, end = MIN(begin + 64, length);
    for (int i = MAX(begin - longest, 0); i < end; i++) {
      state = next[state * 4 + text[i]];
      if (i >= begin) found += ends[state];
    }
    count[begin / 64] = found;
  }
}

void components(int width, int height, const unsigned char *inside, const int *before, int *after) {
  PARALLEL for (int y = 0; y < height; y++) for (int x = 0; x < width; x++) {
    int i = y * width + x, label = before[i];
    if (inside[i]) {
      if (x > 0 && inside[i - 1]) label = MIN(label, before[i - 1]);
      if (x < width - 1 && inside[i + 1]) label = MIN(label, before[i + 1]);
      if (y > 0 && inside[i - width]) label = MIN(label, before[i - width]);
      if (y < height - 1 && inside[i + width]) label = MIN(label, before[i + width]);
      label = MIN(label, before[label]);
    }
    after[i] = label;
  }
}

void conv_layer(int side, const float *input, const float *weights, const float *bias, float *restrict output) {
  PARALLEL for (int to = 0; to < 32; to++) for (int y = 0; y < side; y++) {
    float *restrict out = output + (to * side + y) * side;
    for (int x = 0; x < side; x++) out[x] = bias[to];
    for (int from = 0; from < 16; from++)
      for (int dy = -1; dy <= 1; dy++) {
        if (y + dy < 0 || y + dy >= side) continue;
        const float *in = input + (from * side + y + dy) * side, *w = weights + ((to * 16 + from) * 3 + dy + 1) * 3;
        out[0] += in[0] * w[1] + in[1] * w[2];
        SIMD for (int x = 1; x < side - 1; x++) out[x] += in[x - 1] * w[0] + in[x] * w[1] + in[x + 1] * w[2];
        out[side - 1] += in[side - 2] * w[0] + in[side - 1] * w[1];
      }
    for (int x = 0; x < side; x++) out[x] = fmaxf(out[x], 0);
  }
}

void attention(int tokens, float scale, const float *q, const float *k, const float *v, float *out) {
  enum { WIDTH = 64 };
  PARALLEL for (int row = 0; row < tokens; row++) {
    float score[1024], most = -1e30f, total = 0, value[WIDTH] = {0};
    for (int key = 0; key < tokens; key++) {
      float dot = 0;
      SIMD for (int d = 0; d < WIDTH; d++) dot += q[row * WIDTH + d] * k[key * WIDTH + d];
      score[key] = dot * scale;
      most = fmaxf(most, score[key]);
    }
    for (int key = 0; key < tokens; key++) {
      score[key] = expf(score[key] - most);
      total += score[key];
    }
    for (int key = 0; key < tokens; key++)
      SIMD for (int d = 0; d < WIDTH; d++) value[d] += score[key] * v[key * WIDTH + d];
    for (int d = 0; d < WIDTH; d++) out[row * WIDTH + d] = value[d] / total;
  }
}

void layer_norm(int columns, const float *x, const float *gain, const float *shift, float *y) {
  PARALLEL for (int r = 0; r < blocks; r++) {
    const float *row = x + r * columns;
    float sum = 0, squares = 0;
    for (int i = 0; i < columns; i++) sum += row[i];
    float mean = sum / columns;
    for (int i = 0; i < columns; i++) squares += (row[i] - mean) * (row[i] - mean);
    float inverse = 1 / sqrtf(squares / columns + 1e-5f);
    for (int i = 0; i < columns; i++) y[r * columns + i] = (row[i] - mean) * inverse * gain[i] + shift[i];
  }
}

void lz_match(int length, const unsigned char *text, int *match) {
  PARALLEL for (int at = 0; at < length; at++) {
    int best = 0, where = 0;
    for (int back = 1; back <= 32 && back <= at; back++) {
      int same = 0;
      while (same < 16 && at + same < length && text[at + same] == text[at - back + same]) same++;
      if (same > best) {
        best = same;
        where = back;
      }
    }
    match[at] = best << 8 | where;
  }
}

void huffman_decode(int count, const unsigned *bits, const unsigned *begins, const unsigned char *symbol,
                    const unsigned char *length, unsigned char *out) {
  PARALLEL for (int block = 0; block < count; block++) {
    unsigned at = begins[block];
    for (int i = 0; i < 64; i++) {
      uint64_t both = (uint64_t)bits[at / 32 + 1] << 32 | bits[at / 32];
      unsigned window = (unsigned)(both >> at % 32) & 255;
      out[block * 64 + i] = symbol[window];
      at += length[window];
    }
  }
}

void lu_step(int n, int k, float *a) {
  PARALLEL for (int row = k + 1; row < n; row++) {
    float factor = a[row * n + k] / a[k * n + k];
    SIMD for (int column = k + 1; column < n; column++) a[row * n + column] -= factor * a[k * n + column];
  }
}

void fdtd_electric(int width, int height, float dt, const float *hx, const float *hy, float *restrict ez) {
  PARALLEL for (int y = 1; y < height; y++) SIMD for (int x = 1; x < width; x++) {
    int i = y * width + x;
    ez[i] += dt * ((hy[i] - hy[i - 1]) - (hx[i] - hx[i - width]));
  }
}

void fdtd_magnetic(int width, int height, float dt, const float *ez, float *restrict hx, float *restrict hy) {
  PARALLEL for (int y = 0; y < height - 1; y++) SIMD for (int x = 0; x < width - 1; x++) {
    int i = y * width + x;
    hx[i] -= dt * (ez[i + width] - ez[i]);
    hy[i] += dt * (ez[i + 1] - ez[i]);
  }
}

static float scene(vector p) {
  float qx = fabsf(p.x + 1.2f) - 0.6f, qy = fabsf(p.y) - 0.6f, qz = fabsf(p.z - 4) - 0.6f;
  float mx = fmaxf(qx, 0), my = fmaxf(qy, 0), mz = fmaxf(qz, 0);
  float box = sqrtf(mx * mx + my * my + mz * mz) + fminf(fmaxf(qx, fmaxf(qy, qz)), 0) - 0.1f;
  float rx = p.x - 1.2f, rz = p.z - 4, ring = sqrtf(rx * rx + rz * rz) - 0.8f;
  return fminf(p.y + 1, fminf(box, sqrtf(ring * ring + p.y * p.y) - 0.25f));
}

static float march(vector o, vector d, float far, int steps) {
  float t = 0;
  for (int i = 0; i < steps && t < far; i++) {
    float near = scene((vector){o.x + t * d.x, o.y + t * d.y, o.z + t * d.z});
    if (near < 0.001f) return t;
    t += near;
  }
  return far;
}

void ray_march(int width, int height, float *shade) {
  BALANCED for (int y = 0; y < height; y++) for (int x = 0; x < width; x++) {
    float u = (x - width / 2) / (float)height, v = (height / 2 - y) / (float)height, e = 0.001f;
    float inverse = 1 / sqrtf(u * u + v * v + 1);
    vector eye = {0, 0.5f, 0}, d = {u * inverse, v * inverse, inverse};
    float t = march(eye, d, 20, 96), result = 0.1f;
    if (t < 20) {
      vector p = {eye.x + t * d.x, eye.y + t * d.y, eye.z + t * d.z}, light = {0.48f, 0.8f, -0.36f};
      float here = scene(p), nx = scene((vector){p.x + e, p.y, p.z}) - here;
      float ny = scene((vector){p.x, p.y + e, p.z}) - here, nz = scene((vector){p.x, p.y, p.z + e}) - here;
      float scale = 1 / sqrtf(nx * nx + ny * ny + nz * nz), up = scale * 0.01f;
      float lit = fmaxf((nx * light.x + ny * light.y + nz * light.z) * scale, 0);
      result +=
          march((vector){p.x + nx * up, p.y + ny * up, p.z + nz * up}, light, 8, 48) < 8 ? 0.1f * lit : 0.9f * lit;
    }
    shade[y * width + x] = result;
  }
}

static unsigned scramble(unsigned key) {
  key = (key ^ key >> 16) * 0x7feb352du;
  key = (key ^ key >> 15) * 0x846ca68bu;
  return key ^ key >> 16;
}

void hash_insert(int keys, const unsigned *key, unsigned mask, unsigned *table) {
  PARALLEL for (int i = 0; i < keys; i++) {
    unsigned mine = key[i] | 1, slot = scramble(mine) & mask;
    for (;;) {
      unsigned there = 0;
      if (__atomic_compare_exchange_n(&table[slot], &there, mine, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) break;
      if (there == mine) break;
      slot = (slot + 1) & mask;
    }
  }
}

void hash_find(int queries, const unsigned *query, unsigned mask, const unsigned *table, int *found) {
  PARALLEL for (int i = 0; i < queries; i++) {
    unsigned mine = query[i] | 1, slot = scramble(mine) & mask;
    while (table[slot] != 0 && table[slot] != mine) slot = (slot + 1) & mask;
    found[i] = table[slot] == mine;
  }
}

void kd_nearest(int levels, const point *tree, int queries, const point *query, int *nearest) {
  PARALLEL for (int i = 0; i < queries; i++) {
    point q = query[i];
    int nodes = (1 << levels) - 1, stack[32], top = 0, best = -1;
    float least = 1e30f;
    stack[top++] = 0;
    while (top > 0) {
      int node = stack[--top];
      float dx = q.x - tree[node].x, dy = q.y - tree[node].y, distance = dx * dx + dy * dy;
      if (distance < least) {
        least = distance;
        best = node;
      }
      if (2 * node + 1 >= nodes) continue;
      float apart = (31 - __builtin_clz(node + 1)) % 2 ? dy : dx;
      if (apart * apart < least) stack[top++] = 2 * node + (apart < 0 ? 2 : 1);
      stack[top++] = 2 * node + (apart < 0 ? 1 : 2);
    }
    nearest[i] = best;
  }
}

void sph_density(int particles, int cells, float h, const point *position, const int *begin, float *density) {
  PARALLEL for (int i = 0; i < particles; i++) {
    point p = position[i];
    int cx = MIN((int)(p.x * cells), cells - 1), cy = MIN((int)(p.y * cells), cells - 1);
    float sum = 0, h2 = h * h;
    for (int y = MAX(cy - 1, 0); y <= MIN(cy + 1, cells - 1); y++) {
      int first = begin[y * cells + MAX(cx - 1, 0)], last = begin[y * cells + MIN(cx + 1, cells - 1) + 1];
      for (int j = first; j < last; j++) {
        float dx = p.x - position[j].x, dy = p.y - position[j].y, left = h2 - (dx * dx + dy * dy);
        sum += left > 0 ? left * left * left : 0;
      }
    }
    density[i] = sum * 4 / (3.14159265f * h2 * h2 * h2 * h2);
  }
}

void lbm(int width, int height, float omega, const float *restrict before, float *restrict after) {
  static const int ex[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1}, ey[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
  static const float weight[9] = {4.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 9, 1.f / 36, 1.f / 36, 1.f / 36, 1.f / 36};
  const int cells = width * height;
  PARALLEL for (int y = 0; y < height; y++) {
    const float *row[9];
    for (int d = 0; d < 9; d++) row[d] = before + d * cells + (y - ey[d] + height) % height * width;
    for (int x = 0; x < width; x++) {
      float f[9], rho = 0, ux = 0, uy = 0;
      for (int d = 0; d < 9; d++) {
        int sx = x - ex[d];
        sx = sx < 0 ? sx + width : sx >= width ? sx - width : sx;
        f[d] = row[d][sx];
        rho += f[d];
        ux += f[d] * ex[d];
        uy += f[d] * ey[d];
      }
      ux /= rho;
      uy /= rho;
      float square = 1.5f * (ux * ux + uy * uy);
      for (int d = 0; d < 9; d++) {
        float eu = 3 * (ex[d] * ux + ey[d] * uy), equilibrium = weight[d] * rho * (1 + eu + 0.5f * eu * eu - square);
        after[d * cells + y * width + x] = f[d] + omega * (equilibrium - f[d]);
      }
    }
  }
}

void floyd_warshall(int nodes, int through, int *distance) {
  const int *step = distance + through * nodes;
  PARALLEL for (int from = 0; from < nodes; from++) {
    int *row = distance + from * nodes, first = row[through];
    SIMD for (int to = 0; to < nodes; to++) row[to] = MIN(row[to], first + step[to]);
  }
}

void jacobi(int side, const float *source, const float *before, float *restrict after, int *change) {
  float most = 0;
  _Pragma("omp parallel for reduction(max : most)") for (int y = 1; y < side - 1; y++) for (int x = 1; x < side - 1;
                                                                                            x++) {
    int i = y * side + x;
    float value = 0.25f * (before[i - 1] + before[i + 1] + before[i - side] + before[i + side] - source[i]);
    most = fmaxf(most, fabsf(value - before[i]));
    after[i] = value;
  }
  int bits;
  memcpy(&bits, &most, 4);
  *change = MAX(*change, bits);
}

void gauss_jordan(const float *matrices, const float *right, float *solution) {
  PARALLEL for (int system = 0; system < blocks; system++) {
    float a[16][17];
    for (int row = 0; row < 16; row++) {
      memcpy(a[row], matrices + system * 256 + row * 16, 64);
      a[row][16] = right[system * 16 + row];
    }
    for (int k = 0; k < 16; k++) {
      int best = k;
      for (int i = k + 1; i < 16; i++)
        if (fabsf(a[i][k]) > fabsf(a[best][k])) best = i;
      for (int c = 0; c < 17; c++) {
        float other = a[k][c];
        a[k][c] = a[best][c];
        a[best][c] = other;
      }
      for (int row = 0; row < 16; row++) {
        float factor = row == k ? 0 : a[row][k] / a[k][k];
        for (int c = 0; c < 17; c++) a[row][c] -= factor * a[k][c];
      }
    }
    for (int row = 0; row < 16; row++) solution[system * 16 + row] = a[row][16] / a[row][row];
  }
}

void wavelet(const float *input, float *output) {
  PARALLEL for (int block = 0; block < blocks; block++) {
    float s[512], low[256];
    memcpy(s, input + block * 512, sizeof s);
    for (int half = 256; half > 0; half /= 2) {
      for (int t = 0; t < half; t++) {
        low[t] = (s[2 * t] + s[2 * t + 1]) * 0.70710678f;
        output[block * 512 + half + t] = (s[2 * t] - s[2 * t + 1]) * 0.70710678f;
      }
      memcpy(s, low, half * sizeof(float));
    }
    output[block * 512] = s[0];
  }
}

static inline void order(byte *a, byte *b) {
  byte low = MIN(*a, *b), high = MAX(*a, *b);
  *a = low;
  *b = high;
}

void median_filter(int width, int height, const unsigned char *in, unsigned char *restrict out) {
  static const byte pairs[19][2] = {{1, 2}, {4, 5}, {7, 8}, {0, 1}, {3, 4}, {6, 7}, {1, 2}, {4, 5}, {7, 8}, {0, 3},
                                    {5, 8}, {4, 7}, {3, 6}, {1, 4}, {2, 5}, {4, 7}, {4, 2}, {6, 4}, {4, 2}};
  PARALLEL for (int y = 0; y < height; y++) {
    const byte *rows[3] = {in + MAX(y - 1, 0) * width, in + y * width, in + MIN(y + 1, height - 1) * width};
    for (int begin = 0; begin < width; begin += 64) {
      byte p[9][64];
      int count = MIN(64, width - begin);
      for (int i = 0; i < 9; i++)
        for (int x = 0; x < count; x++) p[i][x] = rows[i / 3][MIN(MAX(begin + x + i % 3 - 1, 0), width - 1)];
      for (int k = 0; k < 19; k++) SIMD for (int x = 0; x < 64; x++) order(&p[pairs[k][0]][x], &p[pairs[k][1]][x]);
      memcpy(out + y * width + begin, p[4], count);
    }
  }
}

void sobel(int width, int height, const unsigned char *in, unsigned char *restrict out) {
  PARALLEL for (int y = 0; y < height; y++) {
    const byte *a = in + MAX(y - 1, 0) * width, *b = in + y * width, *c = in + MIN(y + 1, height - 1) * width;
    for (int x = 0; x < width; x++) {
      int l = MAX(x - 1, 0), r = MIN(x + 1, width - 1);
      int gx = a[r] + 2 * b[r] + c[r] - a[l] - 2 * b[l] - c[l], gy = c[l] + 2 * c[x] + c[r] - a[l] - 2 * a[x] - a[r];
      out[y * width + x] = MIN(255, abs(gx) + abs(gy));
    }
  }
}

void bilateral(int width, int height, float space, float range, const float *in, float *restrict out) {
  PARALLEL for (int y = 0; y < height; y++) for (int x = 0; x < width; x++) {
    float centre = in[y * width + x], sum = 0, total = 0;
    for (int dy = -3; dy <= 3; dy++)
      for (int dx = -3; dx <= 3; dx++) {
        float value = in[MIN(MAX(y + dy, 0), height - 1) * width + MIN(MAX(x + dx, 0), width - 1)];
        float apart = value - centre, weight = expf(-(dx * dx + dy * dy) * space - apart * apart * range);
        sum += weight * value;
        total += weight;
      }
    out[y * width + x] = sum / total;
  }
}

void generator(int streams, unsigned long long seed, float *sums) {
  PARALLEL for (int i = 0; i < streams; i++) {
    uint64_t state = seed + i, increment = 2ull * i + 1;
    float sum = 0;
    for (int k = 0; k < 64; k++) {
      uint64_t old = state;
      state = old * 6364136223846793005ull + increment;
      unsigned mixed = (unsigned)((old >> 18 ^ old) >> 27), turn = (unsigned)(old >> 59);
      sum += (mixed >> turn | mixed << (-turn & 31)) * 2.3283064e-10f;
    }
    sums[i] = sum;
  }
}
