-- Watched launches: the calls of the runtime at each site, on lanes and on fibers, compared with a loop over threads.
-- CPU device only: no other device can watch launches

local mw = require "moonwarp"
local raw = require "moonwarp.binding"

local fields = { "kind", "space", "bytes", "detail", "line", "column", "outer_line", "file", "outer_file", "name",
  "kernel", "executed", "lanes", "full", "divergent", "requests", "sectors", "ideal", "wavefronts", "least",
  "bytes_all", "used", "collisions", "moved" }
local LOAD, STORE, REDUCTION, BARRIER, WARP, BRANCH = 0, 1, 3, 4, 5, 7

-- The sites of what `f` launches, as tables.
local function watch(f)
  raw.watch_begin "counters"
  local ok, err = pcall(function() f() mw.synchronize() end)
  raw.watch_end()
  local text = raw.watch_result()
  if not ok then error(err, 0) end
  local sites, tier = {}, nil
  for line in text:gmatch "[^\n]+" do
    local words = {}
    for word in (line .. "\t"):gmatch "([^\t]*)\t" do words[#words + 1] = word end
    if words[1] == "kernel" then tier = words[5] end
    if words[1] == "site" then
      local site = {}
      for i, name in ipairs(fields) do site[name] = tonumber(words[i + 2]) or words[i + 2] end
      sites[#sites + 1] = site
    end
  end
  return sites, tier
end

local function of_kind(sites, kind, name)
  local found = {}
  for _, site in ipairs(sites) do
    if site.kind == kind and (not name or site.name == name) then found[#found + 1] = site end
  end
  return found
end

-- `called` makes a kernel that no gang can run: it calls a function that is not inlined.
local function source(called)
  return ([[
%s
__global__ void f(int n, const float *x, float *y) {
  int i = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float s = 0;
  #pragma unroll 1
  for (int k = 0; k < i %% 5; k++) s += x[(i + k) %% n];
  y[i] = %s;
}
]]):format(called and "__device__ __noinline__ float twice(float a) { return a + a; }" or "",
    called and "twice(s)" or "s + s")
end

-- Requests and lanes of the loop's loads, warp by warp.
local function expected(grid, bx, by, n)
  local requests, lanes, stores, stored = 0, 0, 0, 0
  for block = 0, grid - 1 do
    for first = 0, bx * by - 1, 32 do
      local most, any = 0, 0
      for t = first, math.min(first + 31, bx * by - 1) do
        local i = block * bx * by + t
        if i < n then
          most, any = math.max(most, i % 5), any + 1
          lanes = lanes + i % 5
        end
      end
      requests = requests + most
      if any > 0 then stores, stored = stores + 1, stored + any end
    end
  end
  return requests, lanes, stores, stored
end

describe("a watched launch", function()
  for _, called in ipairs { false, true } do
    local where = called and "on fibers" or "on lanes"
    for _, shape in ipairs { { 2, 64, 1, 128 }, { 3, 50, 1, 130 }, { 2, 7, 9, 100 }, { 1, 1, 1, 1 }, { 4, 33, 2, 260 },
      { 2, 32, 8, 512 } } do
      local grid, bx, by, n = shape[1], shape[2], shape[3], shape[4]
      local title = "tells each access of a divergent loop with its lanes, for %d blocks of %d x %d %s"
      it(title:format(grid, bx, by, where), function()
        local m = mw.compile(source(called))
        local x, y = mw.ones(n), mw.zeros(n)
        local sites, tier = watch(function() m.f(grid, { bx, by })(n, x, y) end)
        assert.equal(called and "fiber" or "simd", tier)
        local requests, lanes, stores, stored = expected(grid, bx, by, n)
        local load, store = of_kind(sites, LOAD, "x"), of_kind(sites, STORE, "y")
        assert.equal(requests > 0 and 1 or 0, #load)
        assert.equal(1, #store)
        if load[1] then assert.same({ requests, lanes }, { load[1].executed, load[1].lanes }) end
        assert.same({ stores, stored }, { store[1].executed, store[1].lanes })
        for i = 1, n do assert.equal(2 * ((i - 1) % 5), y[i]) end
      end)
    end
  end

  it("tells of barriers, warp functions, atomics and branches, with the names and lines of the source", function()
    local m = mw.compile [[
__shared__ int sums[2];
__global__ void f(const int *x, int *y) {
  if (threadIdx.x < 2) sums[threadIdx.x] = 0;
  __syncthreads();
  int v = x[threadIdx.x];
  v += __shfl_down_sync(0xffffffffu, v, 16);
  if (threadIdx.x % 32 < 16) atomicAdd(&sums[threadIdx.x / 32], v);
  __syncthreads();
  if (threadIdx.x < 2) y[threadIdx.x] = sums[threadIdx.x];
}]]
    local x, y = mw.full(64, 1, "int"), mw.zeros(2, "int")
    local sites = watch(function() m.f(1, 64)(x, y) end)
    assert.same({ 32, 32 }, y:totable())
    local barriers, shuffles = of_kind(sites, BARRIER), of_kind(sites, WARP)
    assert.same({ 2, 2, 64 }, { #barriers, barriers[1].executed, barriers[1].lanes })
    assert.same({ 1, 2, 64 }, { #shuffles, shuffles[1].executed, shuffles[1].lanes })
    local add = of_kind(sites, REDUCTION, "sums")
    assert.same({ 1, 2, 32, 30 }, { #add, add[1].executed, add[1].lanes, add[1].collisions })
    local first = barriers[1].line
    assert.same({ first + 4, first + 2, first + 3 }, { barriers[2].line, shuffles[1].line, add[1].line })
    for _, branch in ipairs(of_kind(sites, BRANCH)) do
      assert.equal(2, branch.executed)
      if branch.line == first + 3 then assert.equal(2, branch.divergent) end
      if branch.line == first + 5 then assert.equal(1, branch.divergent) end
    end
  end)

  it("sees the members of an aligned struct as one access", function()
    local m = mw.compile [[
__global__ void f(const float4 *x, float4 *y) {
  float4 v = x[threadIdx.x];
  v.x += v.w;
  y[threadIdx.x] = v;
}]]
    local x, y = mw.ones(128), mw.zeros(128)
    local sites = watch(function() m.f(1, 32)(x:as "float4", y:as "float4") end)
    local load, store = of_kind(sites, LOAD), of_kind(sites, STORE)
    assert.same({ 1, 16, 16 }, { #load, load[1].bytes, load[1].sectors })
    assert.same({ 1, 16, 16 }, { #store, store[1].bytes, store[1].sectors })
  end)

  it("shares its variables with launches that are not watched", function()
    local m = mw.compile [[
__device__ int calls;
__global__ void f() { calls += 1; }]]
    m.f(1, 1)()
    watch(function() m.f(1, 1)() end)
    m.f(1, 1)()
    assert.equal(3, m.calls)
  end)

  it("is of this thread's launches between begin and end", function()
    local m = mw.compile "__global__ void f(int *x) { x[threadIdx.x] = 1; }"
    local x = mw.zeros(32, "int")
    m.f(1, 32)(x)
    local sites = watch(function() m.f(1, 32)(x) m.f(1, 32)(x) end)
    m.f(1, 32)(x)
    assert.equal(2, of_kind(sites, STORE)[1].executed)
  end)

  it("does not begin inside another one, and knows its watchers by name", function()
    assert.error_matches(function() raw.watch_begin "nobody" end, "there is no watcher 'nobody'")
    assert.error_matches(function()
      watch(function() raw.watch_begin "counters" end)
    end, "do not nest")
  end)

  it("reports the failure of a launch, and the next one is watched", function()
    local m = mw.compile "__global__ void f(int *x, int bad) { x[threadIdx.x] = 1; if (x[0] == bad) __trap(); }"
    local x = mw.zeros(32, "int")
    assert.error_matches(function() watch(function() m.f(1, 32)(x, 1) end) end, "called __trap")
    assert.equal(1, of_kind(watch(function() m.f(1, 32)(x, 2) end), STORE)[1].executed)
  end)
end)
