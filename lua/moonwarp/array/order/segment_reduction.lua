-- Reductions of segments, runs of neighbouring elements along an axis: a thread for each short segment, a block for
-- each longer one. Very long segments are cut into chunks, whose results a thread joins in their order. Which way is
-- taken depends on the segments alone, and so does a result.

local kernels = require "moonwarp.array.kernels"
local accumulators = require "moonwarp.array.accumulators"

local text = [[
$SPEC
#define THREADS_ $THREADS
// The segment of an item, and the item's elements along the axis. An item is a segment; with `items`, the number of
// chunks before each segment, it is a chunk of one.
struct item_ { long long segment, first, end; };
__device__ inline item_ item_of_(long long item, long long segments, long long length, long long chunk,
    const long long *first, const long long *items) {
  item_ r;
  r.segment = item;
  if (items) {
    long long low = 0, high = segments; // the last segment with no more chunks before it than `item`
    while (high - low > 1) {
      long long middle = (low + high) / 2;
      if (items[middle] <= item) low = middle; else high = middle;
    }
    r.segment = low;
  }
  r.first = first[r.segment] - 1;
  r.end = r.segment + 1 < segments ? first[r.segment + 1] - 1 : length;
  if (items) {
    r.first += (item - items[r.segment]) * chunk;
    if (r.end > r.first + chunk) r.end = r.first + chunk;
  }
  return r;
}
// kernels
// A thread for each outer element, item and column of `inner`.
extern "C" __global__ void by_threads(long long outer, long long length, long long inner, long long count,
    long long segments, long long chunk, const long long *first, const long long *items, const T_ *x, void *parts,
    R_ *y) {
  long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= outer * count * inner) return;
  item_ at = item_of_(t / inner % count, segments, length, chunk, first, items);
  const T_ *from = x + t / inner / count * length * inner + t % inner;
  A_ a = map_(from[at.first * inner], at.first);
  for (long long k = at.first + 1; k < at.end; k++) a = combine_(a, map_(from[k * inner], k));
  if (items) ((A_ *)parts)[t] = a; else y[t] = finish_(a, at.end - at.first);
}

// A block for each item (x) and line (y).
extern "C" __global__ void by_blocks(long long lines, long long length, long long segments, long long chunk,
    const long long *first, const long long *items, const T_ *x, void *parts, R_ *y) {
  // Idle lanes read past the block: on CPUs a masked load from a page that is not there is slow.
  __shared__ A_ mine[2 * THREADS_];
  int t = threadIdx.x;
  item_ at = item_of_(blockIdx.x, segments, length, chunk, first, items);
  for (long long line = blockIdx.y; line < lines; line += gridDim.y) {
    const T_ *from = x + line * length;
    long long k = at.first + t;
    A_ a = init_();
    for (long long each = (at.end - at.first) / THREADS_; each > 0; each--, k += THREADS_)
      a = combine_(a, map_(from[k], k));
    if (k < at.end) a = combine_(a, map_(from[k], k));
    mine[t] = a;
    __syncthreads();
    for (int half = THREADS_ / 2; half > 0; half /= 2) {
      if (t < half) mine[t] = combine_(mine[t], mine[t + half]);
      __syncthreads();
    }
    long long to = line * gridDim.x + blockIdx.x;
    if (t == 0) {
      if (items) ((A_ *)parts)[to] = mine[0]; else y[to] = finish_(mine[0], at.end - at.first);
    }
    __syncthreads();
  }
}

// The chunks of each segment, in their order.
extern "C" __global__ void join(long long outer, long long length, long long inner, long long count,
    long long segments, const long long *first, const long long *items, const void *parts, R_ *y) {
  long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= outer * segments * inner) return;
  long long s = t / inner % segments;
  const A_ *from = (const A_ *)parts + t / inner / segments * count * inner + t % inner;
  long long end = s + 1 < segments ? items[s + 1] : count, k = items[s];
  A_ a = from[k * inner];
  for (k++; k < end; k++) a = combine_(a, from[k * inner]);
  y[t] = finish_(a, (s + 1 < segments ? first[s + 1] - 1 : length) - first[s] + 1);
}
$DESCRIBE]]

local THREADS = 128
local BLOCK = 32 -- threads of by_blocks: the lanes of a warp
local SHORT = 24 -- segments shorter on average are reduced by threads
local CHUNK, COLUMN = 16384, 512 -- elements of a chunk, of a line and of a column

local M = {}

-- The kernels for a reduction (an object of reduction.new).
local function kernels_of(reduction)
  if not reduction.of_segments then
    local spec = reduction.spec
    local source = text:gsub("%$(%u+)", { SPEC = accumulators.text(spec), DESCRIBE = accumulators.DESCRIBE,
      THREADS = tostring(BLOCK) })
    reduction.of_segments = { module = kernels.module(source, "reduction", spec), spec = spec }
  end
  return reduction.of_segments
end

---Reduce the segments along an axis of outer x length x inner elements.
---@param reduction table of reduction.new
---@param x moonwarp.array contiguous
---@param outer integer
---@param length integer
---@param inner integer
---@param first moonwarp.array of longlong: the position at which each segment begins, from 1
---@param y moonwarp.array contiguous, of outer x segments x inner elements
function M.run(reduction, x, outer, length, inner, first, y)
  local segments, blocks, device = first.count, kernels.blocks, x.device
  if segments == 0 or y.count == 0 then return end
  local of = kernels_of(reduction)
  local m = of.module(device)
  local in_blocks = inner == 1 and length >= SHORT * segments
  local chunk = in_blocks and CHUNK or COLUMN
  local longest = length - first[segments] + 1
  if segments > 1 then longest = math.max(longest, tonumber(first:diff():max())) end
  local items, parts, count = nil, nil, segments
  if longest > 2 * chunk then
    local lengths = kernels.empty(device, "longlong", { segments })
    lengths:sub(segments):fill(length + 1 - first[segments])
    if segments > 1 then lengths:sub(1, segments - 1):assign(first:diff()) end
    local chunks = (lengths + (chunk - 1)):floor_divide(chunk)
    items = chunks:cumsum() - chunks
    count = tonumber(items[segments] + chunks[segments])
    parts = kernels.empty(device, "uchar", { outer * count * inner * accumulators.describe(of, device).accumulator })
  end
  if in_blocks then
    m.by_blocks({ count, math.min(outer, 65535) }, BLOCK)(outer, length, segments, chunk, first, items, x, parts, y)
  else
    m.by_threads(blocks(outer * count * inner, THREADS), THREADS)(outer, length, inner, count, segments, chunk, first,
      items, x, parts, y)
  end
  if not items then return end
  m.join(blocks(y.count, THREADS), THREADS)(outer, length, inner, count, segments, first, items, parts, y)
  kernels.release(parts)
end

return M
