-- Speed on an NVIDIA GPU: memory-bound kernels compared with a device-to-device copy, launches compared with
-- cuLaunchKernel from C (bench/peers/gpu_launch.c), copies in each direction, compiling. Lines of name, figure and
-- unit; the best of several runs.
--   lua5.4 bench/gpu.lua            all
--   luajit bench/gpu.lua launch     launches only

local mw = require "moonwarp"
local only = ...

local function say(name, figure, unit, note) print(("%-44s %10.3f %-6s %s"):format(name, figure, unit, note or "")) end

-- Seconds for each of `count` calls, including their completion.
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
template <int Per> __global__ void saxpy_n(int n, float a, const float *x, float *y) {
  int first = blockIdx.x * blockDim.x * Per + threadIdx.x;
  float u[Per], v[Per];
  for (int k = 0; k < Per; k++) {
    int i = first + k * blockDim.x;
    if (i < n) u[k] = x[i], v[k] = y[i];
  }
  for (int k = 0; k < Per; k++) {
    int i = first + k * blockDim.x;
    if (i < n) y[i] = a * u[k] + v[k];
  }
}
__global__ void busy(int n, int rounds, const float *from, float *to) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = from[i];
  for (int k = 0; k < rounds; k++) v = v * 0.999f + 0.5f;
  to[i] = v;
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
for _, block in ipairs { 256, 512, 1024 } do
  bandwidth("saxpy, blocks of " .. block, 12 * n, m.saxpy1(mw.cdiv(n, block), block):bind(n, 2, x, y), copy)
end
for _, per in ipairs { 2, 4, 8 } do
  bandwidth("saxpy, " .. per .. " floats a thread", 12 * n,
    m["saxpy_n<" .. per .. ">"](mw.cdiv(n, 256 * per), 256):bind(n, 2, x, y), copy)
end
local x4, y4 = x:as "float4", y:as "float4"
bandwidth("saxpy by float4", 12 * n, m.saxpy(mw.cdiv(n / 4, 256), 256):bind(n / 4, 2, x4, y4), copy)
for _, per in ipairs { 4, 8, 16, 32 } do
  bandwidth("sum, " .. per .. " blocks a multiprocessor", 4 * n,
    m.sum(mw.properties().multiprocessors * per, 256):bind(n / 4, x:as "float4", out), copy)
end
do -- the kernel of examples/reduce.lua, on more
  local file = assert(io.open "examples/reduce.lua")
  local example = mw.compile(file:read "*a":match "%[%[(.-)%]%]")
  file:close()
  for _, per in ipairs { 8, 16, 32 } do
    local blocks = mw.properties().multiprocessors * per
    local total = mw.zeros(1, "int")
    bandwidth("sum of examples/reduce.lua, " .. per .. " blocks a multiprocessor", 4 * n,
      example.sum(blocks, 256):bind(n / 4, x:as "int4", total), copy)
  end
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

-- Copy in, compute, copy out: piece by piece in one stream, and alternately in two, of which one copies while the other
-- computes or copies in the other direction.
do
  local pieces, piece = 16, 2 ^ 22
  local input, output = mw.pinned(pieces * piece), mw.pinned(pieces * piece)
  local function pass(streams, rounds)
    local from, to, run = {}, {}, {}
    for i = 1, #streams do
      from[i], to[i] = mw.zeros(piece), mw.zeros(piece)
      run[i] = m.busy(mw.cdiv(piece, 256), 256):bind(piece, rounds, from[i], to[i])
    end
    local ins, outs = {}, {}
    for p = 1, pieces do
      ins[p], outs[p] = input:sub((p - 1) * piece + 1, p * piece), output:sub((p - 1) * piece + 1, p * piece)
    end
    local step = {}
    for i = 1, #streams do
      step[i] = function(p) from[i]:copy_from(ins[p]) run[i]() outs[p]:copy_from(to[i]) end
    end
    return best(5, 1, function()
      for p = 1, pieces do
        local i = p % #streams + 1
        mw.with(streams[i], step[i], p)
      end
    end)
  end
  local one, two, three = mw.stream(), mw.stream(), mw.stream()
  for _, rounds in ipairs { 2000, 20000 } do
    local alone = pass({ one }, rounds)
    local name = ("copy, compute (%d), copy: "):format(rounds)
    say(name .. "one stream", alone * 1e3, "ms")
    for count, streams in pairs { [2] = { one, two }, [3] = { one, two, three } } do
      local time = pass(streams, rounds)
      say(name .. count .. " streams", time * 1e3, "ms", ("%.2f times as fast"):format(alone / time))
    end
  end
end

-- A graph of 20 launches, compared with the launches themselves.
do
  local s = mw.stream()
  local launches = m.busy(1, 256):bind(256, 1, x, y)
  local function twenty() for _ = 1, 20 do launches() end end
  local graph = mw.capture(s, twenty):instantiate()
  say("20 launches", best(5, 50, function() mw.with(s, twenty) end) * 1e6, "us")
  say("a graph of 20 launches", best(5, 50, function() graph:launch(s) end) * 1e6, "us")
end

local count = 0
local function source()
  count = count + 1
  return ("__global__ void k(float *p) { p[threadIdx.x] = %d; }"):format(count + os.time() * 1000)
end
say("compile, cold", best(5, 1, function() mw.compile(source()) end) * 1e3, "ms")
local fixed = source()
say("compile, cached", best(5, 1, function() mw.compile(fixed) end) * 1e3, "ms")
