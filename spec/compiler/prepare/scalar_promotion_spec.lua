-- Accumulators in memory are in registers while a loop runs, where nothing else can see the difference.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

-- A kernel whose loop has this body; `i` is the thread, `k` the iteration.
local function kernel(body, before)
  local text = ([[
extern "C" __global__ void sums(double *a, double *b, double *c, int *n, double *__restrict__ r) {
  __shared__ double tile[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x, count = n[0];
  BEFORE
  for (int k = 0; k < count; k++) { BODY }
  c[i + 64] = tile[i];
}]]):gsub("%f[%w]BODY", function() return body end):gsub("%f[%w]BEFORE", function() return before or "" end)
  return text
end

-- The stores in blocks that are loops by themselves.
local function stores_in_loop(source, launch)
  local ir = mwcc.after(source, "scalar-promotion", launch or "--launch=sums:64x1x1")
  local stores, loops, block = {}, {}, "entry"
  for line in ir:gmatch "[^\n]+" do
    block = line:match "^([%w._-]+):" or block
    if line:find "^  store" then stores[block] = (stores[block] or 0) + 1 end
    for target in line:gmatch "label %%([%w._-]+)" do loops[block] = loops[block] or target == block end
  end
  local sum = 0
  for name, number in pairs(stores) do sum = sum + (loops[name] and number or 0) end
  return sum, ir
end

-- The loads in blocks that are loops by themselves.
local function loads_in_loop(body, launch)
  local ir = mwcc.after(kernel(body), "scalar-promotion", launch or "--launch=sums:64x1x1")
  local loads, block = {}, "entry"
  for line in ir:gmatch "[^\n]+" do
    block = line:match "^([%w._-]+):" or block
    if line:find " = load " then loads[block] = (loads[block] or 0) + 1 end
    if line:find("label %" .. block .. ",", 1, true) then return loads[block] or 0 end
  end
end

describe("a load in a loop that stores elsewhere", function()
  it("is made once if its address is the same in all iterations", function()
    assert.equal(0, loads_in_loop "tile[(i + k) & 63] = a[i];")
    assert.equal(1, loads_in_loop "tile[(i + k) & 63] = a[i] * b[k];")
    assert.equal(1, loads_in_loop("tile[(i + k) & 63] = a[i];", "--launch=sums:64x1x1 --without=scalar-promotion"))
  end)

  it("is repeated if the loop may write it, or not each execution of the loop reads it", function()
    assert.equal(1, loads_in_loop "c[i + k] = a[i];")
    assert.equal(1, loads_in_loop "tile[(i + k) & 63] = tile[i];")
    assert.equal(1, loads_in_loop "tile[(i + k) & 63] = ((volatile double *)a)[i];")
  end)

  it("is what the program reads", function()
    local m = mw.compile [[
      __global__ void rows(const int *a, int *out, int n) {
        int row[9], i = threadIdx.x;
        for (int k = 0; k < 9; k++) row[k] = k;
        for (int j = 0; j < n; j++)
          for (int k = 1; k < 9; k++) row[k] = row[k - 1] + row[k] * a[3 * i + j];
        out[i] = row[8];
      }]]
    local a, out = {}, mw.zeros(64, "int")
    for i = 1, 200 do a[i] = i % 5 - 2 end
    m.rows(1, 64)(mw.array(a, "int"), out, 3)
    for i = 0, 63 do
      local row = {}
      for k = 0, 8 do row[k] = k end
      for j = 0, 2 do
        for k = 1, 8 do row[k] = row[k - 1] + row[k] * a[3 * i + j + 1] end
      end
      assert.equal(row[8], out[i + 1])
    end
  end)
end)

describe("scalar promotion", function()
  it("keeps an element in a register in a loop that reads other arrays", function()
    assert.equal(0, (stores_in_loop(kernel "c[i] += a[k] * b[k];")))
    local without = "--launch=sums:64x1x1 --without=scalar-promotion"
    assert.equal(1, (stores_in_loop(kernel "c[i] += a[k] * b[k];", without)))
  end)

  it("leaves the store in a loop that may read the element", function()
    assert.equal(1, (stores_in_loop(kernel "c[i] += c[k];")))
    assert.equal(1, (stores_in_loop(kernel "c[i] += c[i + n[k]];")))
  end)

  it("distinguishes fields of one element", function()
    assert.equal(0, (stores_in_loop(kernel "c[2 * i] += a[k]; c[2 * i + 1] += c[2 * i] * b[k];")))
  end)

  it("leaves volatile memory and atomics alone", function()
    assert.equal(1, (stores_in_loop(kernel "*(volatile double *)&c[i] += a[k];")))
    assert.equal(1, (stores_in_loop(kernel "c[i] += a[k]; atomicAdd(n + 1, 1);")))
  end)

  it("assumes nothing about pointers in code for any launch, but uses what the source says", function()
    assert.equal(1, (stores_in_loop(kernel "c[i] += a[k];", "-O2")))
    assert.equal(0, (stores_in_loop(kernel "r[i] += a[k];", "-O2")))
    assert.equal(0, (stores_in_loop(kernel "tile[threadIdx.x] += a[k];", "-O2")))
  end)

  it("does not write what the source does not write", function()
    local _, ir = stores_in_loop(kernel "double v = c[i]; if (a[k] > v) c[i] = a[k];")
    assert.equal(1, mwcc.count(ir, "\npromoted:"))
  end)

  it("is reported", function()
    local text = mwcc.run(kernel "c[i] += a[k];", "--report --launch=sums:64x1x1")
    local said = "kernel sums: 5:%d+ is in a register during the loop, if its array shares memory with no other"
    assert.matches(said, text)
    text = mwcc.run(kernel "c[i] += c[k];", "--report --launch=sums:64x1x1")
    assert.matches("kernel sums: 5:%d+ stays in memory: it may be what 5:%d+ accesses", text)
  end)
end)

describe("a loop that accumulates in memory", function()
  local source = [[
    __global__ void running(int *c, const int *a, int n, int count) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= count) return;
      for (int k = 0; k < n; k++) c[i] = c[i] * 3 + a[k];
    }
    __global__ void most(int *c, const int *a, int n, int count) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= count) return;
      for (int k = 0; k < n; k++) if (a[k] > c[i]) c[i] = a[k];
    }]]
  local before

  setup(function() before = mw.limit("specialise", 0) end)
  teardown(function() mw.limit("specialise", before) end)

  local function expected(c, a, n)
    for k = 1, n do c = (c * 3 + a(k)) % 2 ^ 32 end
    return c >= 2 ^ 31 and c - 2 ^ 32 or c
  end

  it("has the result of a plain loop when its arrays are separate", function()
    local m = mw.compile(source)
    local values = {}
    for k = 1, 50 do values[k] = k * k % 17 end
    local c = mw.array({ 5, 6, 7 }, "int")
    m.running(1, 64)(c, mw.array(values, "int"), 50, 3)
    for i = 1, 3 do assert.equal(expected(4 + i, function(k) return values[k] end, 50), c[i]) end
  end)

  it("reads what it has written when the arrays are one", function()
    local m = mw.compile(source)
    for _, shift in ipairs { 0, 1, 5 } do
      local list, wanted = {}, {}
      for k = 1, 16 do list[k], wanted[k] = k, k end
      for k = 1, 8 do wanted[6] = expected(wanted[6], function() return wanted[k + shift] end, 1) end
      local all = mw.array(list, "int")
      m.running(1, 64)(all:sub(6, 16), all:sub(1 + shift, 16), 8, 1)
      assert.same(wanted, all:totable())
    end
  end)

  it("does nothing without iterations", function()
    local m = mw.compile(source)
    local c = mw.array({ 1, 2 }, "int")
    m.running(1, 64)(c, mw.array({ 9 }, "int"), 0, 2)
    assert.same({ 1, 2 }, c:totable())
  end)

  it("leaves memory alone that no iteration writes", function()
    local m = mw.compile(source)
    local c = mw.array({ 9, 2, 5 }, "int")
    m.most(1, 64)(c, mw.array({ 3, 4, 5 }, "int"), 3, 3)
    assert.same({ 9, 5, 5 }, c:totable())
  end)

  it("keeps what was written before a loop that writes nothing", function()
    local m = mw.compile [[
      __global__ void nest(int *c, const int *a, int n, int m) {
        c[threadIdx.x] = 7;
        for (int k = 0; k < n; k++) for (int j = 0; j < m; j++) c[threadIdx.x] = a[k];
      }]]
    local c = mw.zeros(2, "int")
    m.nest(1, 2)(c, mw.array({ 1, 2, 3 }, "int"), 3, 0)
    assert.same({ 7, 7 }, c:totable())
  end)

  it("takes null pointers that it does not use", function()
    local m = mw.compile [[
      __global__ void optional(int *c, const int *a, const int *b, int n) {
        for (int k = 0; k < n; k++) { c[threadIdx.x] += a[k]; if (b) c[threadIdx.x] += b[k]; }
      }]]
    local c = mw.zeros(32, "int")
    m.optional(1, 32)(c, mw.array({ 1, 2, 3 }, "int"), nil, 3)
    assert.equal(6, c[32])
  end)
end)
