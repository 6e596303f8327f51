-- The CUDA C of reductions (reduction.lua), after the types and functions of accumulators.lua.
--
-- $T element, $A accumulator, $R result. Four kinds of kernels: one output for each thread; a block along a line; a
-- block along rows whose threads stay in their column of `inner`; a block of columns.
return [[
#include <moonwarp/algorithms/last_block.h>
$SPEC
// Of line o of N elements, which neighbours read together.
template <int N> __device__ inline A_ line_(const T_ *x, long long o) {
  A_ a = init_();
#pragma unroll
  for (int k = 0; k < N; k++) a = combine_(a, map_(x[o * N + k], k));
  return a;
}

// The elements first..end of a line by a block; thread t takes elements t, t + blockDim.x, …. The result: mine[0].
__device__ inline void chunk_(const T_ *from, long long first, long long end, A_ *mine) {
  int t = threadIdx.x, step = blockDim.x;
  long long k = first + t;
  A_ a = init_();
#if defined __MW_NVPTX__ || defined __MW_NVRTC__ // more loads in flight
  for (; k + 7 * step < end; k += 8 * step) {
    T_ some[8];
#pragma unroll
    for (int u = 0; u < 8; u++) some[u] = from[k + u * step];
#pragma unroll
    for (int u = 0; u < 8; u++) a = fold_(a, some[u], k + u * step);
  }
  T_ rest[7];
#pragma unroll
  for (int u = 0; u < 7; u++)
    if (k + u * step < end) rest[u] = from[k + u * step];
#pragma unroll
  for (int u = 0; u < 7; u++)
    if (k + u * step < end) a = fold_(a, rest[u], k + u * step);
#else // as many for each thread, which needs no masks, and one more for the first
  for (long long each = (end - first) / step; each > 0; each--, k += step) a = fold_(a, from[k], k);
  if (k < end) a = fold_(a, from[k], k);
#endif
  mine[t] = a;
  __syncthreads();
  for (int half = step / 2; half > 0; half /= 2) {
    if (t < half) mine[t] = combine_(mine[t], mine[t + half]);
    __syncthreads();
  }
}
// The accumulators of `chunks` chunks by a block of $THREADS threads. The result is in mine[0].
__device__ inline void join_(const A_ *from, long long chunks, A_ *mine) {
  int t = threadIdx.x;
  A_ a = init_();
  long long k = t;
#if defined __MW_NVPTX__ || defined __MW_NVRTC__ // more loads in flight
  for (; k + 7 * $THREADS < chunks; k += 8 * $THREADS) {
    A_ some[8];
#pragma unroll
    for (int u = 0; u < 8; u++) some[u] = from[k + u * $THREADS];
#pragma unroll
    for (int u = 0; u < 8; u++) a = combine_(a, some[u]);
  }
#endif
  for (; k < chunks; k += $THREADS) a = combine_(a, from[k]);
  mine[t] = a;
  __syncthreads();
  for (int half = $THREADS / 2; half > 0; half /= 2) {
    if (t < half) mine[t] = combine_(mine[t], mine[t + half]);
    __syncthreads();
  }
}

// The chunks' accumulators of one output, `step` apart, in their order.
__device__ inline A_ join_few_(const A_ *from, long long chunks, long long step) {
  A_ a = from[0];
  for (long long k = 1; k < chunks; k++) a = combine_(a, from[k * step]);
  return a;
}
// Rows first..end of a column, `inner` apart.
__device__ inline A_ column_(const T_ *from, long long first, long long end, long long inner) {
  A_ a = init_();
  long long k = first;
#if defined __MW_NVPTX__ || defined __MW_NVRTC__ // more loads in flight
  for (; k + 7 < end; k += 8) {
    T_ some[8];
#pragma unroll
    for (int u = 0; u < 8; u++) some[u] = from[(k + u) * inner];
#pragma unroll
    for (int u = 0; u < 8; u++) a = combine_(a, map_(some[u], k + u));
  }
#endif
  for (; k < end; k++) a = combine_(a, map_(from[k * inner], k));
  return a;
}

// kernels
// One thread for each output: for short lengths.
extern "C" __global__ void each(long long outputs, long long length, long long inner, const T_ *x, R_ *y) {
  long long o = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (o >= outputs) return;
  const T_ *first = x + o / inner * length * inner + o % inner;
  A_ a = init_();
  for (long long k = 0; k < length; k++) a = combine_(a, map_(first[k * inner], k));
  y[o] = finish_(a, length);
}

// The same for lines one after the other.
extern "C" __global__ void few(long long outputs, long long length, const T_ *x, R_ *y) {
  long long o = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (o >= outputs) return;
  A_ a = init_();
  if (length == 2) a = line_<2>(x, o);
  else if (length == 3) a = line_<3>(x, o);
  else if (length == 4) a = line_<4>(x, o);
  else
    for (long long k = 0; k < length; k++) a = combine_(a, map_(x[o * length + k], k));
  y[o] = finish_(a, length);
}

// The same for many outputs side by side: x counts them, y the outer elements.
extern "C" __global__ void down(long long length, long long inner, const T_ *x, R_ *y) {
  long long c = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= inner) return;
  const T_ *from = x + blockIdx.y * length * inner + c;
  A_ a = init_();
  for (long long k = 0; k < length; k++) a = combine_(a, map_(from[k * inner], k));
  y[blockIdx.y * inner + c] = finish_(a, length);
}

// A block takes a chunk of a line. If one chunk is all, the result goes to y.
extern "C" __global__ void lines(long long length, long long chunk, const T_ *x, void *parts_, R_ *y) {
  // Idle lanes read past the block: on CPUs a masked load from a page that is not there is slow.
  __shared__ A_ mine[sizeof(A_) <= 64 ? 2 * $THREADS : $THREADS];
  long long first = blockIdx.x * chunk, end = first + chunk < length ? first + chunk : length;
  chunk_(x + blockIdx.y * length, first, end, mine);
  if (threadIdx.x > 0) return;
  if (gridDim.x == 1) y[blockIdx.y] = finish_(mine[0], length);
  else ((A_ *)parts_)[blockIdx.y * (long long)gridDim.x + blockIdx.x] = mine[0];
}

// A single line, in one launch: the last block to finish joins the chunks, in the order of join and join_one. *flag, if
// there is one, becomes `ticket` when the result is there.
extern "C" __global__ void whole(long long length, long long chunk, const T_ *x, unsigned long long *done, void *parts_,
    R_ *y, unsigned *flag, unsigned ticket) {
  __shared__ A_ mine[$THREADS];
  A_ *parts = (A_ *)parts_;
  long long first = blockIdx.x * chunk, end = first + chunk < length ? first + chunk : length;
  chunk_(x, first, end, mine);
  if (threadIdx.x == 0) parts[blockIdx.x] = mine[0];
  if (!moonwarp::is_last_block(done, gridDim.x, ticket)) return;
  if (gridDim.x > $FEW) {
    join_(parts, gridDim.x, mine);
  } else if (threadIdx.x == 0) {
    mine[0] = join_few_(parts, gridDim.x, 1);
  }
  if (threadIdx.x > 0) return;
  y[0] = finish_(mine[0], length);
  if (!flag) return;
  __threadfence_system();
  *(volatile unsigned *)flag = ticket;
}

// A block takes a chunk of an outer element's rows; thread t takes elements t, t + step, …, all of column t % inner.
// One chunk is all: the result goes to y.
extern "C" __global__ void rows(long long length, int inner, int step, long long chunk, const T_ *x, void *parts_,
    R_ *y) {
  A_ *parts = (A_ *)parts_;
  // Idle lanes read past the step, as in `lines`.
  __shared__ A_ mine[sizeof(A_) <= 64 ? 2 * $THREADS : $THREADS];
  int t = threadIdx.x;
  long long all = length * inner, first = blockIdx.x * chunk, end = first + chunk < all ? first + chunk : all;
  const T_ *from = x + blockIdx.y * all;
  A_ a = init_();
  if (t < step) {
    long long k = first + t, row = k / inner, down = step / inner;
#if defined __MW_NVPTX__ || defined __MW_NVRTC__ // more loads in flight
    for (; k + 7 * step < end; k += 8 * step, row += 8 * down) {
      T_ some[8];
#pragma unroll
      for (int u = 0; u < 8; u++) some[u] = from[k + u * step];
#pragma unroll
      for (int u = 0; u < 8; u++) a = combine_(a, map_(some[u], row + u * down));
    }
    for (; k < end; k += step, row += down) a = combine_(a, map_(from[k], row));
#else // as many for each thread
    for (long long each = (end - first) / step; each > 0; each--, k += step, row += down)
      a = combine_(a, map_(from[k], row));
    if (k < end) a = combine_(a, map_(from[k], row));
#endif
  }
  mine[t] = a;
  __syncthreads();
  for (int left = step / inner; left > 1;) { // rows of accumulators
    int half = (left + 1) / 2;
    if (t < (left - half) * inner) mine[t] = combine_(mine[t], mine[t + half * inner]);
    left = half;
    __syncthreads();
  }
  if (t >= inner) return;
  if (gridDim.x == 1) y[blockIdx.y * (long long)inner + t] = finish_(mine[t], length);
  else parts[(blockIdx.y * (long long)gridDim.x + blockIdx.x) * inner + t] = mine[t];
}

// A thread for each column, down a chunk of rows.
extern "C" __global__ void columns(long long length, long long inner, long long chunk, const T_ *x, void *parts_) {
  A_ *parts = (A_ *)parts_;
  long long c = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  long long first = blockIdx.y * chunk, end = first + chunk < length ? first + chunk : length;
  const T_ *from = x + blockIdx.z * length * inner + c;
#if defined __MW_NVPTX__ || defined __MW_NVRTC__
  A_ a = c < inner ? column_(from, first, end, inner) : init_();
#else // a few rows at a time, so that the block reads memory nearly in its order
  A_ a = init_();
  for (long long k = first; k < end; k += 16) {
    long long to = k + 16 < end ? k + 16 : end;
    if (c < inner)
      for (long long j = k; j < to; j++) a = combine_(a, map_(from[j * inner], j));
    __syncthreads();
  }
#endif
  if (c < inner) parts[(blockIdx.z * (long long)gridDim.y + blockIdx.y) * inner + c] = a;
}

// The same in one launch: the last block of each block of columns joins their chunks, in the order of join.
extern "C" __global__ void columns_whole(long long length, long long inner, long long chunk, const T_ *x,
    unsigned long long *done, void *parts_, R_ *y, unsigned ticket) {
  long long c = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  long long first = blockIdx.y * chunk, end = first + chunk < length ? first + chunk : length;
  A_ *parts = (A_ *)parts_ + blockIdx.z * (long long)gridDim.y * inner + c;
  if (c < inner) parts[blockIdx.y * inner] = column_(x + blockIdx.z * length * inner + c, first, end, inner);
  if (!moonwarp::is_last_block(done + blockIdx.z * gridDim.x + blockIdx.x, gridDim.y, ticket) || c >= inner) return;
  y[blockIdx.z * inner + c] = finish_(join_few_(parts, gridDim.y, inner), length);
}

// The chunks' accumulators, in their order.
extern "C" __global__ void join(long long outputs, long long chunks, long long inner, long long length,
    const void *parts_, R_ *y) {
  const A_ *parts = (const A_ *)parts_;
  long long o = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (o >= outputs) return;
  const A_ *first = parts + o / inner * chunks * inner + o % inner;
  y[o] = finish_(join_few_(first, chunks, inner), length);
}

// The same for one output of many chunks, by a block.
extern "C" __global__ void join_one(long long chunks, long long length, const void *parts_, R_ *y) {
  __shared__ A_ mine[$THREADS];
  join_((const A_ *)parts_ + blockIdx.x * chunks, chunks, mine);
  if (threadIdx.x == 0) y[blockIdx.x] = finish_(mine[0], length);
}
$DESCRIBE]]
