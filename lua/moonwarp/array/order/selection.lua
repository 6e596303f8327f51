-- Selecting the element of a rank, for quantiles and topk (src/device/moonwarp/algorithms/select.h).

local raw = require "moonwarp.binding"
local promotion = require "moonwarp.array.promotion"
local kernels = require "moonwarp.array.kernels"

local text = [[
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <moonwarp/algorithms/select.h>
typedef $T T_;
// kernels
extern "C" __global__ void select_count(long long length, int shift, const T_ *x, const unsigned long long *keys,
    unsigned *counts) {
  moonwarp::select_count<T_, moonwarp::$KIND, false>(length, shift, x, keys, counts);
}
extern "C" __global__ void select_count_alone(long long length, int shift, const T_ *x,
    const unsigned long long *keys, unsigned *counts) {
  moonwarp::select_count<T_, moonwarp::$KIND, true>(length, shift, x, keys, counts);
}
extern "C" __global__ void select_choose(int lines, int shift, unsigned *counts, unsigned long long *ranks,
    unsigned long long *keys) {
  moonwarp::select_choose(lines, shift, counts, ranks, keys);
}
extern "C" __global__ void select_finish(int lines, const unsigned long long *keys, T_ *y) {
  moonwarp::select_finish<T_, moonwarp::$KIND>(lines, keys, y);
}
extern "C" __global__ void select_short(long long lines, int length, int rank, const T_ *x, T_ *y) {
  moonwarp::select_short<T_, moonwarp::$KIND>(lines, length, rank, x, y);
}
]]

local SHORT = 64 -- the longest lines that one thread searches
local BATCH = 32768 -- lines selected from at a time
local CHUNK = 65536 -- elements for each block

local kinds = { bool = "UNSIGNED", uint = "UNSIGNED", int = "SIGNED", float = "FLOATING" }
local made = {}

local function module_of(dtype, device)
  local of = promotion.of(dtype, "a:quantile")
  if not made[dtype] then
    local source = text:gsub("%$(%u+)", { T = of.C, KIND = kinds[of.kind] })
    made[dtype] = kernels.module(source, "quantile")
  end
  return made[dtype](device)
end

-- Select the elements of a rank (from 0) of some lines x, into y.
local function select_batch(m, x, lines, length, rank, y)
  local device, blocks = x.device, kernels.blocks
  local keys = kernels.empty(device, "ulonglong", { lines }):fill(0)
  local ranks = kernels.empty(device, "ulonglong", { lines }):fill(rank)
  local counts = kernels.empty(device, "uint", { lines * 256 }):fill(0)
  local highest = raw.dtype_size(x.dtype) - 1
  for digit = highest, 0, -1 do
    local alone = digit == highest and device.name:find "^cpu"
    local kernel = alone and m.select_count_alone or m.select_count
    kernel({ math.min(blocks(length, CHUNK), 65535), lines }, alone and 1 or 256)(length, digit * 8, x, keys, counts)
    m.select_choose(blocks(lines, 64), 64)(lines, digit * 8, counts, ranks, keys)
  end
  m.select_finish(blocks(lines, 64), 64)(lines, keys, y)
end

---The elements of a rank in each of some lines, NaN last, found by radix selection without sorting.
---@param x moonwarp.array of lines x length elements, contiguous
---@param rank integer from 0
---@return moonwarp.array {lines}
return function(x, rank)
  local lines, length = x.shape[1], x.shape[2]
  local y, m = kernels.empty(x.device, x.dtype, { lines }), module_of(x.dtype, x.device)
  if length <= SHORT then
    m.select_short(kernels.blocks(lines, 128), 128)(lines, length, rank, x, y)
    return y
  end
  for first = 1, lines, BATCH do
    local count = math.min(BATCH, lines - first + 1)
    select_batch(m, x:sub(first, first + count - 1), count, length, rank, y:sub(first, first + count - 1))
  end
  return y
end
