/* Reductions of structs and by functions of one's own, a warp for each row of a table. */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

struct extremum {
  float value;
  int index;
};

/* The place of each row's largest element, the first of equal ones. */
extern "C" __global__ void largest_of_rows(const float *table, int rows, int columns, int *place) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (row >= rows) return;
  extremum best = {-3e38f, 0};
  for (int k = warp.thread_rank(); k < columns; k += 32) {
    float value = table[row * columns + k];
    if (value > best.value) best = {value, k};
  }
  best = cg::reduce(warp, best, [](extremum p, extremum q) {
    return p.value > q.value || (p.value == q.value && p.index < q.index) ? p : q;
  });
  if (warp.thread_rank() == 0) place[row] = best.index;
}

struct moments {
  double sum, squares;
  float least;
  int count;
};

/* The variance of each row, divided by 1 and the least element. */
extern "C" __global__ void variance_of_rows(const float *table, int rows, int columns, double *variance) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (row >= rows) return;
  moments own = {0, 0, 3e38f, 0};
  for (int k = warp.thread_rank(); k < columns; k += 32) {
    float value = table[row * columns + k];
    own.sum += value;
    own.squares += (double)value * value;
    own.least = fminf(own.least, value);
    own.count++;
  }
  own = cg::reduce(warp, own, [](const moments &p, const moments &q) {
    return moments{p.sum + q.sum, p.squares + q.squares, fminf(p.least, q.least), p.count + q.count};
  });
  double mean = own.sum / own.count;
  if (warp.thread_rank() == 0) variance[row] = (own.squares / own.count - mean * mean) / (1 + own.least);
}

struct box {
  float low[3], high[3];
};

struct enclosing {
  __device__ box operator()(const box &p, const box &q) const {
    box all;
    for (int k = 0; k < 3; k++) all.low[k] = fminf(p.low[k], q.low[k]), all.high[k] = fmaxf(p.high[k], q.high[k]);
    return all;
  }
};

/* The volume of the box around each group of 64 points; tiles of 8 threads have a group each. */
extern "C" __global__ void volumes(const float *x, const float *y, const float *z, int groups, float *volume) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int group = (blockIdx.x * blockDim.x + threadIdx.x) / 8;
  if (group >= groups) return;
  box own = {{3e38f, 3e38f, 3e38f}, {-3e38f, -3e38f, -3e38f}};
  for (int k = 64 * group + tile.thread_rank(); k < 64 * group + 64; k += 8)
    own = enclosing()(own, box{{x[k], y[k], z[k]}, {x[k], y[k], z[k]}});
  own = cg::reduce(tile, own, enclosing());
  if (tile.thread_rank() == 0)
    volume[group] = (own.high[0] - own.low[0]) * (own.high[1] - own.low[1]) * (own.high[2] - own.low[2]);
}

struct step {
  float factor, summand; /* x -> factor * x + summand */
};

/* y[i] = factor[i] * y[i - 1] + summand[i], from 0 in each row: steps are joined by a scan. */
extern "C" __global__ void recurrences(const float *factor, const float *summand, int rows, int columns, float *y) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  if (row >= rows) return;
  float before = 0;
  for (int k = warp.thread_rank(); k < columns; k += 32) {
    step own = {factor[row * columns + k], summand[row * columns + k]};
    own = cg::inclusive_scan(warp, own, [](const step &p, const step &q) {
      return step{p.factor * q.factor, p.summand * q.factor + q.summand};
    });
    float here = own.factor * before + own.summand;
    y[row * columns + k] = here;
    before = warp.shfl(here, 31);
  }
}

/* The sum and the largest of the amounts of at least 100, for each of 16 kinds. A block combines them in shared memory,
   by one atomic operation for equal kinds in a warp. */
extern "C" __global__ void totals_of_kinds(int n, const unsigned char *kind, const int *amount, int *total, int *most) {
  __shared__ int totals[16], greatest[16];
  int x = threadIdx.x;
  if (x < 16) totals[x] = greatest[x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 2048 + x; i < n && i < (blockIdx.x + 1) * 2048; i += 256) {
    if (amount[i] < 100) continue;
    auto alike = cg::labeled_partition(cg::coalesced_threads(), (int)kind[i]);
    int2 all = cg::reduce(alike, make_int2(amount[i], amount[i]), [](int2 p, int2 q) {
      return make_int2(p.x + q.x, max(p.y, q.y));
    });
    if (alike.thread_rank() > 0) continue;
    atomicAdd(&totals[kind[i]], all.x);
    atomicMax(&greatest[kind[i]], all.y);
  }
  __syncthreads();
  if (x < 16) atomicAdd(&total[x], totals[x]), atomicMax(&most[x], greatest[x]);
}
