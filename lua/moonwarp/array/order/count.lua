-- The counts of integers of a small range.

local raw = require "moonwarp.binding"
local given = require "moonwarp.array.call_arguments"
local kernels = require "moonwarp.array.kernels"
local promotion = require "moonwarp.array.promotion"

-- Blocks count in shared memory if the bins fit there, else in the result. On CPUs a thread walks a chunk alone, and
-- the kernel does not ask for its number: so all is scalar from the first launch on.
local text = [[
typedef $T T_;
// kernels
extern "C" __global__ void count_shared(const T_ *x, long long n, long long chunk, long long least, int bins,
    unsigned long long *y) {
  __shared__ unsigned count[$SHARED];
  int t = $FIRST, step = $STEP;
  for (int k = t; k < bins; k += step) count[k] = 0;
  __syncthreads();
  long long first = blockIdx.x * chunk, end = first + chunk < n ? first + chunk : n;
  for (long long i = first + t; i < end; i += step) {
    unsigned long long bin = (unsigned long long)x[i] - (unsigned long long)least;
    if (bin >= bins) continue;
    if (step == 1) count[bin]++;
    else atomicAdd(&count[bin], 1u);
  }
  __syncthreads();
  for (int k = t; k < bins; k += step)
    if (count[k] != 0) atomicAdd(&y[k], (unsigned long long)count[k]);
}
extern "C" __global__ void count(const T_ *x, long long n, long long chunk, long long least, long long bins,
    unsigned long long *y) {
  long long first = blockIdx.x * chunk, end = first + chunk < n ? first + chunk : n;
  for (long long i = first + $FIRST; i < end; i += $STEP) {
    unsigned long long bin = (unsigned long long)x[i] - (unsigned long long)least;
    if (bin < bins) atomicAdd(&y[bin], 1ull);
  }
}
]]

local SHARED = 8192 -- bins that fit into a block's shared memory, 32 KiB
local CHUNK = 65536 -- elements of a block; so its counts fit into 32 bits
local made = {}

---How many of the integers x, a vector, are least, least + 1, …; others are not counted.
---@param x moonwarp.array
---@param least integer
---@param bins integer
---@return moonwarp.array of longlong
return function(x, least, bins)
  local of = promotion.of(x.dtype, "counting")
  x = x:contiguous()
  local y = given.new(x, "ulonglong", { bins }):fill(0)
  if x.count > 0 and bins > 0 then
    local alone = not not x.device.name:find "^cpu"
    local key, threads = of.name .. tostring(alone), alone and 1 or 256
    made[key] = made[key] or kernels.module(text:gsub("%$(%u+)", { T = of.C, SHARED = tostring(SHARED),
      FIRST = alone and "0" or "threadIdx.x", STEP = alone and "1" or "blockDim.x" }), "counting")
    local kernel = made[key](x.device)[bins <= SHARED and "count_shared" or "count"]
    kernels.on(x.device, function()
      kernel(kernels.blocks(x.count, CHUNK), threads)(x, x.count, CHUNK, least, bins, y)
    end)
  end
  return raw.array_view(y, 0, "longlong", { bins })
end
