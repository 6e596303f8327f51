/* Reductions of structs and by functions of one's own, a warp for each row of a table. */
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

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
