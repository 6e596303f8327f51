-- The table of passes: mwcc --passes prints it, and options take its names. Code without an optional pass has the same
-- results.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

-- In their order: { stage =, name =, optional = }.
local function passes()
  local pipe = assert(io.popen(("'%s' --passes"):format(mwcc.program)))
  local list = {}
  for line in pipe:lines() do
    local stage, name, kind = line:match "^(%l+) +([%w-]+) +(%l+) "
    if stage then list[#list + 1] = { stage = stage, name = name, optional = kind == "optional" } end
  end
  pipe:close()
  return list
end

local text = [[
  __global__ void smooth(int n, const float *x, float *o) {
    __shared__ float s[66];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
      int t = threadIdx.x + 1, left = i > 0 ? i - 1 : 0, right = i < n - 1 ? i + 1 : n - 1;
      s[t] = x[left] + 2 * x[i];
      float sum = s[t] + x[right];
      if (sum > 8) sum -= expf(0) * (float)(i % 3);
      o[i] = sum;
    }
  }
  __global__ void sum(int n, const float *x, float *o) {
    float all = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) all += x[i];
    atomicAdd(o, all);
  }]]

local N = 1000

local function input(i) return i % 7 end

local function smoothed(i)
  local left, right = i > 0 and i - 1 or 0, i < N - 1 and i + 1 or N - 1
  local sum = input(left) + 2 * input(i) + input(right)
  return sum > 8 and sum - i % 3 or sum
end

describe("the table of passes", function()
  it("has each name once, by stages, with reading first and code generation last", function()
    local seen, list = {}, passes()
    assert.is_true(#list > 60)
    for _, pass in ipairs(list) do
      assert.is_nil(seen[pass.name], pass.name)
      seen[pass.name] = true
    end
    assert.equal("parse", list[1].name)
    assert.equal("codegen", list[#list].name)
  end)

  it("is the order of --timings", function()
    local output = mwcc.run("__global__ void f() {}", "--timings --emit=ir")
    local position = 0
    for _, pass in ipairs(passes()) do
      local at = output:find("\n  " .. pass.name .. " ", position, true)
      if at then position = at end
    end
    assert.is_true(position > 0 and output:find("\n  codegen ", 1, true) == position, output)
  end)

  local wrong = {
    { "--without=nothing", "there is no pass 'nothing' %(mwcc %-%-passes lists them%)" },
    { "--without=retarget", "the pass 'retarget' is required" },
    { "--stop-after=nothing", "there is no pass 'nothing'" },
    { "--only=prefetch", "the pass 'prefetch' cannot run by itself" },
    { "--only=codegen", "the pass 'codegen' cannot run by itself" },
  }
  for _, case in ipairs(wrong) do
    it("refuses " .. case[1], function()
      local output, status = mwcc.try("__global__ void f() {}", case[1])
      assert.equal(2, status)
      assert.matches(case[2], output)
    end)
  end
end)

describe("code without an optional pass", function()
  local before
  setup(function() before = mw.limit("specialise", 0) end)
  teardown(function() mw.limit("specialise", before) end)

  local function check(options)
    local m = mw.compile { source = text, options = options }
    local x, o, all = mw.zeros(N, "float"), mw.zeros(N, "float"), mw.zeros(1, "float")
    for i = 0, N - 1 do x[i + 1] = input(i) end
    local total = 0
    for i = 0, N - 1 do total = total + input(i) end
    for _ = 1, 3 do
      all:fill(0)
      m.smooth(4, 64)(N, x, o)
      m.sum(4, 64)(N, x, all)
      mw.synchronize()
      assert.equal(total, all[1])
      for i = 0, N - 1 do assert.equal(smoothed(i), o[i + 1], options and options[1]) end
    end
  end

  it("has the expected results with all passes", function() check(nil) end)
  for _, pass in ipairs(passes()) do
    if pass.optional then
      it(("computes the same: %s"):format(pass.name), function() check { "--without=" .. pass.name } end)
    end
  end

  it("is another module to the cache", function()
    local source = "__global__ void f(int *o) { *o = " .. os.time() .. "; }"
    local function was_cached(options)
      local hits = mw.cache.hits
      mw.compile { source = source, options = options }
      return mw.cache.hits > hits
    end
    was_cached(nil)
    assert.is_true(was_cached(nil))
    assert.is_false(was_cached { "--without=prefetch" })
    assert.is_false(was_cached { "--without=prefetch", "--without=permuted-access" })
    assert.is_true(was_cached { "--without=prefetch" })
  end)

  it("is refused if there is no such pass", function()
    local function try(option)
      return function() mw.compile { source = "__global__ void f() {}", options = { option } } end
    end
    assert.error_matches(try "--without=a b", "wants the name of a pass")
    assert.error_matches(try "--without=nothing", "there is no pass 'nothing'")
  end)
end)
