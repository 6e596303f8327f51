-- Screened launches of checked runs: vector code runs first, and the code that follows threads only if the vector code
-- saw a sign of a mistake. The results are those of one run. CPU device only.

local mw = require "moonwarp"
mw.limit("time", 60)

local function check(text, run, options)
  local m = mw.compile { source = text, name = "case.cu" }
  return mw.check(function() run(m.k) end, options or { checks = "races" })
end

local function elements(array, count)
  local list = {}
  for i = 1, count do list[i] = array[i] end
  return list
end

for _, specialise in ipairs { math.huge, 0 } do
describe(specialise == 0 and "a screened launch of specialised code" or "a screened launch", function()
  local before
  setup(function()
    before = mw.limit "specialise"
    if specialise == 0 then mw.limit("specialise", 0) end
  end)
  teardown(function() mw.limit("specialise", before) end)

  it("has the effects of one run, where it is run again", function()
    local y, z = mw.zeros(64, "int"), mw.zeros(1, "int")
    local report = check([[
__global__ void k(int *y, int *z) {
  y[threadIdx.x] += 1;
  z[0] = threadIdx.x;
  atomicAdd(&y[32 + threadIdx.x % 4], 1);
}]], function(k) k(1, 32)(y, z) end)
    assert.equal(1, #report)
    assert.equal("race", report[1].kind)
    assert.equal(1, y[1])
    assert.same({ 8, 8, 8, 8 }, { y[33], y[34], y[35], y[36] })
  end)

  it("has the effects of one run, where it finds nothing", function()
    local y = mw.zeros(1000, "int")
    local report = check([[
__global__ void k(int n, int *y) {
  __shared__ int s[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i;
  __syncthreads();
  if (i < n) y[i] += s[blockDim.x - 1 - threadIdx.x];
}]], function(k) k(8, 128)(1000, y) end)
    assert.equal(0, #report)
    assert.equal(127, y[1])
    assert.equal(126, y[2])
    assert.equal(1023 - 103, y[1000])
  end)

  -- Lanes that a constant mask leaves out have no cells.
  it("has all of its code where the first threads alone write, and values are followed, too", function()
    for _, checks in ipairs { "races", "all" } do
      local y = mw.zeros(64, "int")
      local report = check([[
__global__ void k(int *y) {
  __shared__ int bins[4];
  if (threadIdx.x < 4) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[threadIdx.x % 4], 1);
  __syncthreads();
  y[threadIdx.x] = bins[threadIdx.x % 4];
}]], function(k) k(1, 64)(y) end, { checks = checks })
      assert.equal("no findings", tostring(report))
      assert.equal(64 * 16, y:sum())
    end
  end)

  it("finds races of blocks that run at the same time", function()
    for _, case in ipairs {
      "y[threadIdx.x] = blockIdx.x;", -- two write
      "if (blockIdx.x == 255) y[threadIdx.x] = 1; else y[n + threadIdx.x + blockIdx.x * 256] = y[threadIdx.x];",
      "y[blockIdx.x * 255 + threadIdx.x] = 1;", -- only at the edges of blocks
      "y[n - 1 - (blockIdx.x * 256 + threadIdx.x) / 512 * 512 - threadIdx.x] = 1;",
    } do
      local y = mw.zeros(2 * 65536, "int")
      local report = check("__global__ void k(int n, int *y) { " .. case .. " }",
        function(k) k(256, 256)(65536, y) end)
      assert.equal(1, #report, case)
      assert.equal("grid", report[1].scope)
    end
  end)

  it("finds races between the lanes of one instruction", function()
    for _, case in ipairs {
      "s[threadIdx.x / 2] = 1;", "s[0] = 1;", "s[threadIdx.x % 16] = 1;", "s[x[threadIdx.x]] = 1;",
      "((char *)s)[threadIdx.x / 2] = 1;", "if (threadIdx.x > 61) s[5] = threadIdx.x;",
    } do
      local report = check("__global__ void k(const int *x) { __shared__ int s[64]; " .. case .. " }",
        function(k) k(3, 64)(mw.zeros(64, "int")) end)
      assert.equal(1, #report, case)
    end
  end)

  it("finds what a reader and a writer between two barriers do", function()
    for _, case in ipairs {
      "s[t] = 1; y[t] = s[t ^ 1];", "y[t] = s[0]; if (t == 9) s[0] = 1;", "if (t == 9) s[0] = 1; y[t] = s[0];",
      "y[t] = s[t]; s[t ^ 17] = 1;", "y[t] = s[t / 2]; if (t % 2) s[t / 2] = 1;",
      "atomicAdd(&s[t % 4], 1); y[t] = s[t];", "y[t] = s[t % 4]; atomicAdd(&s[3], 1);",
      "if (t == 5) s[3] = 1; atomicAdd(&s[3], 1);",
      "for (int i = 0; i < 3; i++) { s[t] = i; __syncthreads(); y[t] = s[63 - t]; }",
    } do
      local report = check("__global__ void k(int *y) { __shared__ int s[64]; int t = threadIdx.x; s[t] = 0; " ..
        "__syncthreads(); " .. case .. " }", function(k) k(2, 64)(mw.zeros(64, "int")) end)
      assert.is_true(#report >= 1, case)
    end
  end)

  it("finds warp functions that not all lanes of a warp call, or name", function()
    for _, block in ipairs { 64, 48 } do
      for _, case in ipairs {
        "if (t % 32 < 16) y[t] = __shfl_down_sync(0xffffffff, t, 1);", "y[t] = __popc(__ballot_sync(0xffff, t > 3));",
        "if (t % 32 == 31) return;\ny[t] = __any_sync(0xffffffff, t > 3);", "if (t > 40) __syncwarp();\ny[t] = t;",
        "y[t] = __shfl_sync(t % 32 < 8 ? 0xff : 0xffffff00, t, 9);",
      } do
        local text = "__global__ void k(int *y) { int t = threadIdx.x;\n" .. case .. "\n}"
        for _, checks in ipairs { "barriers", "all" } do
          local report = check(text, function(k) k(1, block)(mw.zeros(64, "int")) end, { checks = checks })
          assert.is_true(#report >= 1, case)
          for _, found in ipairs(report) do
            assert.equal(case:find("return", 1, true) and 3 or 2, found.line, tostring(report))
          end
        end
      end
    end
  end)

  it("finds races that warp functions and fences do not order", function()
    for _, case in ipairs {
      "y[t] = __shfl_down_sync(0xffffffff, t, 1);\ny[64 + t] = y[t ^ 1];",
      "y[t] = t; __threadfence();\ny[64 + t] = y[t ^ 1];",
      "y[t] = t; __threadfence_block();\ny[64 + t] = y[t ^ 1];", "y[t] = t; __syncwarp();\ny[64 + t] = y[t ^ 32];",
      "if (t == 0) y[0] = __reduce_add_sync(1, 1);\ny[64 + t] = y[0];",
    } do
      local text = "__global__ void k(int *y) { int t = threadIdx.x;\n" .. case .. "\n}"
      for _, checks in ipairs { "races", "all" } do
        local race
        for _, found in ipairs(check(text, function(k) k(1, 64)(mw.zeros(128, "int")) end, { checks = checks })) do
          if found.kind == "race" then race = found end
        end
        assert.is_truthy(race, case)
        assert.same({ 2, 3 }, { math.min(race.line, race.other.line), math.max(race.line, race.other.line) })
      end
    end
  end)

  it("has no findings where warp functions and fences order accesses", function()
    for _, checks in ipairs { "races", "barriers", "initialisation", "all" } do
      local x, out = mw.zeros(1024, "int"), mw.zeros(9, "int")
      x:fill(3)
      local report = check([[
__global__ void k(int n, const int *x, int *out) {
  __shared__ int warps[32], turned[128];
  int t = threadIdx.x, v = x[blockIdx.x * blockDim.x + t];
  turned[t] = v;
  __syncwarp();
  v = turned[t ^ 1];
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
  if (t % 32 == 0) warps[t / 32] = v;
  __syncthreads();
  if (t < 32) {
    v = t < blockDim.x / 32 ? warps[t] : 0;
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
    if (t == 0) out[blockIdx.x] = v + __popc(__ballot_sync(1, 1));
  }
  __threadfence();
  if (t == 0) atomicAdd(&out[n], 1);
}]], function(k) k(8, 128)(8, x, out) end, { checks = checks })
      assert.equal("no findings", tostring(report))
      assert.equal(8 * (128 * 3 + 1) + 8, out:sum())
    end
  end)

  it("finds that two parameters are one array", function()
    local y = mw.zeros(65, "int")
    local text = "__global__ void k(const int *x, int *y) { y[threadIdx.x + 1] = x[threadIdx.x]; }"
    assert.equal(1, #check(text, function(k) k(1, 64)(y, y) end))
    assert.equal(0, #check(text, function(k) k(1, 64)(mw.zeros(65, "int"), y) end))
  end)

  it("finds values that nothing has written once", function()
    local x
    local report = check([[
__global__ void k(int *x, int *y) {
  if (x[threadIdx.x] > 3) y[threadIdx.x] = 1;
  x[threadIdx.x] = 5;
}]], function(k)
      x = mw.empty(64, "int")
      k(1, 64)(x, mw.zeros(64, "int"))
    end, { checks = "all" })
    assert.equal(1, #report)
    assert.equal(64, report[1].count)
    assert.same({ 5, 5 }, elements(x, 2))
  end)

  it("finds values that nothing has written, with the effects of one run", function()
    local x, y, z = mw.empty(64, "int"), mw.zeros(64, "int"), mw.zeros(65, "int")
    local report = check([[
__global__ void k(const int *x, int *y, int *z) {
  int t = threadIdx.x, sum = 0;
  for (int i = 0; i < 4; i++) sum += y[t] + i;
  y[t] = sum;
  if (x[t] > 3) y[t] += 0;
  z[atomicAdd(&z[64], 1)] = t;
}]], function(k)
      x = mw.empty(64, "int")
      k(1, 64)(x, y, z)
    end, { checks = "initialisation" })
    assert.equal(1, #report)
    assert.equal("uninitialised", report[1].kind)
    assert.equal(5, report[1].line)
    assert.equal(64, report[1].count)
    assert.same({ 6, 6 }, elements(y, 2))
    assert.equal(64, z[65])
    assert.equal(63 * 32, z:sum() - 64)
  end)

  it("finds a value that a loop has read from shared memory before it was written", function()
    local report = check([[
__global__ void k(int n, int *y) {
  __shared__ int s[64];
  int t = threadIdx.x, sum = 0;
  if (t < n) s[t] = t;
  __syncthreads();
  for (int i = 0; i < 64; i++) sum += s[(t + i) % 64];
  y[blockIdx.x * 64 + t] = sum;
}]], function(k)
      local y = mw.zeros(256, "int")
      k(4, 64)(64, y)
      assert.equal(63 * 32, y[256])
      k(4, 64)(63, y)
    end, { checks = "initialisation" })
    assert.equal(1, #report)
    assert.equal(6, report[1].line)
    assert.equal(256, report[1].count)
  end)

  it("has no findings where unwritten bytes are moved, and moves them", function()
    local out
    local m = mw.compile { name = "case.cu", source = [[
struct item { char kind; int count; };
__global__ void fill(item *from) { from[threadIdx.x].kind = 1; from[threadIdx.x].count = threadIdx.x; }
__global__ void k(int n, const item *from, item *to, int *out) {
  for (int i = 0; i < n; i++) to[threadIdx.x * 4 + i] = from[i];
  out[threadIdx.x] = to[threadIdx.x * 4 + n - 1].count;
}
__global__ void use(const item *all, int *out) { out[threadIdx.x] = ((const char *)(all + threadIdx.x))[1] + 1; }]] }
    local report = mw.check(function()
      local from, to = mw.empty(4, m:dtype "item"), mw.empty(32 * 4, m:dtype "item")
      out = mw.zeros(32, "int")
      m.fill(1, 4)(from)
      m.k(1, 32)(4, from, to, out)
      assert.equal(3, out[32])
      m.use(1, 32)(to, out)
    end, { checks = "initialisation" })
    assert.equal(1, #report, tostring(report))
    assert.equal("use", report[1].kernel)
  end)

  it("finds races with launches of other streams", function()
    local y, s = mw.zeros(64, "int"), mw.stream { nonblocking = true }
    local report = check("__global__ void k(int *y) { y[threadIdx.x] = 1; }", function(k)
      k(1, 64)(y)
      k(1, 64, 0, s)(y)
    end)
    assert.equal(1, #report)
    assert.equal("launches", report[1].scope)
  end)

  it("has no findings where blocks follow each other by barriers only", function()
    local out = mw.zeros(4096, "int")
    local report = check([[
__global__ void k(int *out) {
  __shared__ int s[256];
  int t = threadIdx.x;
  for (int i = 0; i < 200; i++) {
    s[(t + i) % 256] = i;
    __syncthreads();
    out[blockIdx.x * 256 + t] += s[255 - t];
    __syncthreads();
  }
}]], function(k) k(16, 256)(out) end, { checks = "all" })
    assert.equal("", tostring(report):match "race" or "")
    assert.equal(0, #report)
    assert.equal(199 * 100, out[4096])
  end)
end)
end
