-- Speed on an NVIDIA GPU: memory-bound kernels beside a device-to-device copy, launches beside cuLaunchKernel from C
-- (bench/gpu_launch.c), copies in each direction, compiling. Lines of name, figure and unit; the best of some rounds.
--   lua5.4 bench/gpu.lua            all
--   luajit bench/gpu.lua launch     launches only

local mw = require "moonwarp"
local only = ...

local function say(name, figure, unit, note) print(("%-44s %10.3f %-6s %s"):format(name, figure, unit, note or "")) end

-- Seconds for one of `count`, all of them done.
local function best(rounds, count, run)
  run()
  mw.synchronize()
  local least = math.huge
  for _ = 1, rounds do
    mw.synchronize()
    local start = mw.time()
    for _ = 1, count do run() end
    mw.synchronize()
    least = math.min(least, (mw.time() - start) / count)
  end
  return least
end

mw.use "cuda"
print(("%s, %s"):format(mw.properties().name, _VERSION .. (rawget(_G, "jit") and " (LuaJIT)" or "")))

local nothing = mw.compile "__global__ void nothing() {}".nothing
local bound = nothing(1, 1):bind()
say("launch, prepared", best(5, 20000, bound) * 1e6, "us")
say("launch, kernel(grid, block)()", best(3, 20000, function() nothing(1, 1)() end) * 1e6, "us")
say("launch, prepared, and synchronize", best(5, 5000, function() bound() mw.synchronize() end) * 1e6, "us")
if only == "launch" then return end

local m = mw.compile [[
__global__ void saxpy(int n, float a, const float4 *x, float4 *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 u = x[i], v = y[i];
  y[i] = make_float4(a * u.x + v.x, a * u.y + v.y, a * u.z + v.z, a * u.w + v.w);
}
__global__ void saxpy1(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void sum(int n, const float4 *in, float *out) {
  __shared__ float part[32];
  float s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float4 v = in[i];
    s += (v.x + v.y) + (v.z + v.w);
  }
  for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(~0u, s, d);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
  __syncthreads();
  if (threadIdx.x < 32) {
    s = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
    for (int d = 16; d > 0; d /= 2) s += __shfl_down_sync(~0u, s, d);
    if (threadIdx.x == 0) atomicAdd(out, s);
  }
}
__global__ void transpose(int n, const float *in, float *out) {
  __shared__ float tile[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * n + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32 + threadIdx.y;
  for (int k = 0; k < 32; k += 8) out[(y + k) * n + x] = tile[threadIdx.x][threadIdx.y + k];
}
]]

local n = 2 ^ 28 -- floats: 1 GiB
local x, y, out = mw.ones(n), mw.ones(n), mw.zeros(1)
local function bandwidth(name, bytes, run, of)
  local rate = bytes / best(7, 10, run) / 1e12
  say(name, rate, "TB/s", of and ("%.1f %% of the copy"):format(100 * rate / of))
  return rate
end
local copy = bandwidth("copy, device to device", 8 * n, function() y:copy_from(x) end)
bandwidth("saxpy", 12 * n, m.saxpy1(mw.cdiv(n, 256), 256):bind(n, 2, x, y), copy)
local x4, y4 = x:as "float4", y:as "float4"
bandwidth("saxpy by float4", 12 * n, m.saxpy(mw.cdiv(n / 4, 256), 256):bind(n / 4, 2, x4, y4), copy)
for _, per in ipairs { 4, 8, 16, 32 } do
  bandwidth("sum, " .. per .. " blocks a multiprocessor", 4 * n,
    m.sum(mw.properties().multiprocessors * per, 256):bind(n / 4, x:as "float4", out), copy)
end
bandwidth("transpose", 8 * n, m.transpose({ 512, 512 }, { 32, 8 }):bind(16384, x, y), copy)

local size = 2 ^ 28
local bytes = mw.zeros(size, "uchar")
local text = bytes:bytes()
local pinned = mw.pinned(size, "uchar")
local function transfer(name, run) say(name, size / best(5, 1, run) / 1e9, "GB/s") end
local target = mw.zeros(size, "uchar")
transfer("read, pageable (a Lua string)", function() bytes:bytes() end)
transfer("write, pageable (a Lua string)", function() mw.from_bytes(text, "uchar"):free() end)
transfer("host to device, pinned", function() target:copy_from(pinned) end)
transfer("device to host, pinned", function() pinned:copy_from(target) end)

local count = 0
local function source()
  count = count + 1
  return ("__global__ void k(float *p) { p[threadIdx.x] = %d; }"):format(count + os.time() * 1000)
end
say("compile, cold", best(5, 1, function() mw.compile(source()) end) * 1e3, "ms")
local fixed = source()
say("compile, cached", best(5, 1, function() mw.compile(fixed) end) * 1e3, "ms")
