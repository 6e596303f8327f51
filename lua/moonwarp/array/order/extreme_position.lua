-- Positions of the least or greatest elements of lines, for argmin and argmax: first the value, then the first place
-- where it stands, by reading a short line again while it is in the cache, and of a long one only a chunk. GPUs, which
-- wait for memory, carry value and place together (reduction.lua), except in the shortest lines.

local kernels = require "moonwarp.array.kernels"

local text = [[
$SPEC
#define THREADS_ $THREADS
// The block's values combined, and the least of its places, in all threads.
__device__ inline A_ best_of_block_(A_ *mine, A_ a) {
  int t = threadIdx.x;
  mine[t] = a;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) mine[t] = combine_(mine[t], mine[t + half]);
    __syncthreads();
  }
  return mine[0];
}
__device__ inline int least_of_block_(int *mine, int at) {
  int t = threadIdx.x;
  mine[t] = at;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (t < half) mine[t] = mine[t] < mine[t + half] ? mine[t] : mine[t + half];
    __syncthreads();
  }
  return mine[0];
}
__device__ inline A_ best_of_(const T_ *x, int count) {
  A_ a = init_();
  for (int k = threadIdx.x; k < count; k += blockDim.x) a = combine_(a, map_(x[k], 0));
  return a;
}
// The thread's first place of the value among `count` elements; count if there is none, as for NaN.
__device__ inline int first_of_(const T_ *x, int count, A_ value) {
  int at = count;
  for (int k = threadIdx.x; k < count; k += blockDim.x) at = ((map_(x[k], 0) == value) & (k < at)) ? k : at;
  return at;
}
__device__ inline long long place_of_(const T_ *x, int length, long long inner) {
  A_ value = init_();
  int at = 0;
  for (int k = 0; k < length; k++) value = combine_(value, map_(x[k * inner], 0));
  for (int k = length; k > 0; k--) at = map_(x[(k - 1) * inner], 0) == value ? k : at;
  return at;
}
// The same of line o of N elements, which neighbours read together.
template <int N> __device__ inline int line_(const T_ *x, long long o) {
  A_ value = init_();
  int at = 0;
#pragma unroll
  for (int k = 0; k < N; k++) value = combine_(value, map_(x[o * N + k], 0));
#pragma unroll
  for (int k = N; k > 0; k--) at = map_(x[o * N + k - 1], 0) == value ? k : at;
  return at;
}
// kernels
// A thread for each line: lines one after the other; or side by side, counted by x, and by y one after the other.
extern "C" __global__ void few(long long lines, int length, const T_ *x, long long *y) {
  long long o = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (o >= lines) return;
  if (length == 2) y[o] = line_<2>(x, o);
  else if (length == 3) y[o] = line_<3>(x, o);
  else if (length == 4) y[o] = line_<4>(x, o);
  else y[o] = place_of_(x + o * length, length, 1);
}
extern "C" __global__ void down(int length, long long inner, const T_ *x, long long *y) {
  long long c = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (c < inner) y[blockIdx.y * inner + c] = place_of_(x + blockIdx.y * length * inner + c, length, inner);
}
// A block for each line.
extern "C" __global__ void place(int length, const T_ *x, long long *y) {
  __shared__ A_ values[THREADS_];
  __shared__ int places[THREADS_];
  const T_ *line = x + (long long)blockIdx.x * length;
  A_ value = best_of_block_(values, best_of_(line, length));
  int at = least_of_block_(places, first_of_(line, length, value));
  if (threadIdx.x == 0) y[blockIdx.x] = at < length ? at + 1 : 0;
}
// A block for each chunk (x) of each line (y).
extern "C" __global__ void chunks(long long length, int chunk, const T_ *x, void *parts_) {
  __shared__ A_ values[THREADS_];
  long long first = (long long)blockIdx.x * chunk, left = length - first;
  A_ value = best_of_block_(values, best_of_(x + blockIdx.y * length + first, left < chunk ? (int)left : chunk));
  if (threadIdx.x == 0) ((A_ *)parts_)[blockIdx.y * (long long)gridDim.x + blockIdx.x] = value;
}
// A block for each line: the first chunk with the value, and the place in it.
extern "C" __global__ void find(long long length, int chunk, int count, const T_ *x, const void *parts_, long long *y) {
  __shared__ A_ values[THREADS_];
  __shared__ int places[THREADS_];
  const A_ *parts = (const A_ *)parts_ + blockIdx.x * (long long)count;
  A_ a = init_();
  for (int k = threadIdx.x; k < count; k += blockDim.x) a = combine_(a, parts[k]);
  A_ value = best_of_block_(values, a);
  int mine = count;
  for (int k = threadIdx.x; k < count; k += blockDim.x) mine = ((parts[k] == value) & (k < mine)) ? k : mine;
  int which = least_of_block_(places, mine);
  __syncthreads();
  if (which == count) {
    if (threadIdx.x == 0) y[blockIdx.x] = 0;
    return;
  }
  long long first = (long long)which * chunk, left = length - first;
  int size = left < chunk ? (int)left : chunk;
  int at = least_of_block_(places, first_of_(x + blockIdx.x * length + first, size, value));
  if (threadIdx.x == 0) y[blockIdx.x] = first + at + 1;
}
]]

local THREADS = 256
local FEW = 32 -- elements of lines that one thread reads
local SHORT = 8192 -- the longest lines that are read twice
local CHUNK = 64 * THREADS

---What finds positions along lines of outer x length x inner elements; false for sizes that it does not take.
---@param spec string the CUDA C of the reduction to the value (accumulators.text)
---@return function f(x, outer, length, inner, y, on_cpu) returns a boolean
return function(spec)
  local source = text:gsub("%$(%u+)", { SPEC = spec, THREADS = tostring(THREADS) })
  local module = kernels.module(source, "reduction")
  local function along(m, x, lines, length, y)
    if length <= FEW then
      m.few(kernels.blocks(lines, THREADS), THREADS)(lines, length, x, y)
      return
    elseif length <= SHORT then
      m.place(lines, length <= 2048 and 32 or THREADS)(length, x, y)
      return
    end
    local chunk = math.max(CHUNK, kernels.blocks(length, 2 ^ 20))
    local count = kernels.blocks(length, chunk)
    for first = 0, lines - 1, 65535 do
      local some = math.min(65535, lines - first)
      local from = first == 0 and x or x:reshape(-1):sub(first * length + 1)
      local to = first == 0 and y or y:reshape(-1):sub(first + 1)
      local parts = kernels.empty(x.device, "uchar", { some * count * 8 }) -- values have at most 8 bytes
      m.chunks({ count, some }, THREADS)(length, chunk, from, parts)
      m.find(some, THREADS)(length, chunk, count, from, parts, to)
    end
  end
  return function(x, outer, length, inner, y, on_cpu)
    if not on_cpu and inner == 1 and length > FEW then return false end
    local m = module(x.device)
    if inner > 1 and (inner <= THREADS or length > 256 or outer > 65535) then return false end
    if inner == 1 then
      along(m, x, outer, length, y)
    else
      m.down({ kernels.blocks(inner, THREADS), outer }, THREADS)(length, inner, x, y)
    end
    return true
  end
end
