-- Grid-stride loops: interchange with the loop over blocks, strip-mining for loops that carry sums, and loops for which
-- neither is correct.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local loops = require "support.compile.grid_stride_loops"

local interchanged, strip_mined, beside, blocks = loops.interchanged, loops.strip_mined, loops.beside, loops.blocks

local parameters = "(int n, unsigned un, long long ln, const int *x, int *o)"

local function source_of(list)
  local text = {}
  for name, body in pairs(list) do
    text[#text + 1] = ("__global__ void %s%s {%s\n}\n"):format(name, parameters, body)
  end
  table.sort(text)
  return table.concat(text)
end

local function report_of(list, name)
  local report = mwcc.run(source_of(list), ("--verify --report --launch=_Z%d%sijxPKiPi:64x1x1"):format(#name, name))
  assert(report:find(("kernel %s: simd"):format(name), 1, true), report)
  return report
end

-- How the loop is transformed: "interchanged", "strip-mined", or nil.
local function transformation_of(list, name)
  local report = report_of(list, name)
  return report:match "grid%-stride loop: (interchanged)" or report:match "grid%-stride loop: (strip%-mined)"
end

local shapes = { { 1, 1 }, { 3, 31 }, { 70, 64 }, { 7, 256 }, { 3, 1000 }, { 4, 16, 4 }, { 9, 16, 64 }, { 5, 1, 256 } }
local lengths = { 0, 1, 30, 257, 4096, 10007 }

-- Loops whose result depends on the order of threads are only compiled. In blocks of several rows, several threads have
-- the same element, so that only bodies that always store the same value have a known result.
local races = { loaded_before = true, counted_down = true }
-- (Nor sums of products, which may be rounded once or twice: once for all rows is twice.)
local same = { sum = true, unsigned_count = true, long_count = true, by_thread = true, pointer = true,
  count_behind = true, last_value = true, tree = true, adds = true }
local function is_known(list, name, shape)
  local each = name == "next_too" or list == strip_mined and same[name] or list == beside and name ~= "table"
  return not races[name] and (not shape[3] or each)
end

-- o after a launch with blocks of shape[2] (by shape[3]) threads.
local function run(m, name, shape, n)
  local values = {}
  for i = 1, n + 64 do values[i] = i * 7919 % 1009 - 300 end
  local x = mw.array(values, "int")
  local o = mw.array(values, "int")
  m[name](shape[1], { shape[2], shape[3] or 1 })(n, n, n, x, o)
  return o:totable()
end

describe("a grid-stride loop", function()
  local before
  setup(function() before = mw.limit "specialise" end)
  teardown(function() mw.limit("specialise", before) end)

  it("is interchanged with the loop over blocks", function()
    for name in pairs(interchanged) do assert.equal("interchanged", transformation_of(interchanged, name), name) end
  end)

  it("is strip-mined if threads have loop-carried values", function()
    for name in pairs(strip_mined) do assert.equal("strip-mined", transformation_of(strip_mined, name), name) end
    for name in pairs(beside) do assert.matches("privatised shared memory", report_of(beside, name), 1, true) end
  end)

  it("is not transformed if it has barriers, much state, or other exits", function()
    for name in pairs(blocks) do assert.is_nil(transformation_of(blocks, name), name) end
  end)

  it("has its atomic additions privatised, unless its blocks observe them", function()
    local added = { shared_by_threads = true, added_as_64_bits = true, sum_and_counts = true, needed_behind = true }
    for name in pairs(beside) do
      assert.equal(added[name] or false, report_of(beside, name):find "privatised atomic" ~= nil, name)
    end
  end)

  it("may have a counter of 128 bits, in the loop tier", function()
    local body = [[
      for (__int128 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) o[i] = x[i];]]
    local report = mwcc.run(source_of { wide_count = body }, "--verify --report --launch=_Z10wide_countijxPKiPi:64x1x1")
    assert.matches("it is not vectorised", report, 1, true)
  end)

  for key, list in pairs { interchanged = interchanged, strip_mined = strip_mined, beside = beside, blocks = blocks } do
    it("has the same results as in the loop tier: " .. key, function()
      local source = source_of(list)
      local one_by_one = mw.compile { source = source, options = { "--width=1" } }
      local m = mw.compile(source)
      for name in pairs(list) do
        for _, shape in ipairs(shapes) do
          for _, n in ipairs(lengths) do
            if is_known(list, name, shape) then
              mw.limit("specialise", 1e15)
              local want = run(one_by_one, name, shape, n)
              mw.limit("specialise", 0)
              local got = run(m, name, shape, n)
              for i = 1, #want do
                if want[i] ~= got[i] then
                  error(("%s: %d, not %d, at %d of %d, %d blocks of %d"):format(name, got[i], want[i], i, n, shape[1],
                    shape[2]))
                end
              end
            end
          end
        end
      end
    end)
  end

  it("has non-temporal stores as other kernels", function()
    local text = mwcc.ir(source_of { copy = interchanged.usual:gsub("%+= 3 %*", "=") }, "_Z4copyijxPKiPi:256x1x1")
    assert(mwcc.count(text, "!nontemporal") > 0, text)
  end)

  it("reports an invalid address of privatised additions, without the block", function()
    local source = [[
      __global__ void add(int n, const int *x, int *o) {
        int sum = 0;
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
        if (threadIdx.x < n - 4999) atomicAdd(&o[threadIdx.x >> 5], sum); // one thread, to NULL
      }]]
    local x, line = mw.zeros(5000, "int"), nil
    for _, enough in ipairs { 0, 1e15 } do
      mw.limit("specialise", enough)
      local ok, failure = pcall(function()
        mw.compile(source).add(12, 64)(5000, x, nil)
        mw.synchronize()
      end)
      assert.is_false(ok)
      assert.equal("cudaErrorIllegalAddress", failure.code)
      assert.matches("a null pointer", failure.message, 1, true)
      line = line or failure.line
      assert.equal(line, failure.line)
      assert.equal(enough == 0, failure.block == nil)
      mw.device "cpu":reset()
      x = mw.zeros(5000, "int")
    end
  end)

  it("ends if a kernel fails, and the next launch works", function()
    mw.limit("specialise", 0)
    local m = mw.compile [[
      __global__ void fill(int n, int *o) {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) o[i] = i;
      }]]
    local o = mw.zeros(5000, "int")
    local ok, failure = pcall(function()
      m.fill(2, 64)(2 ^ 31 - 1, o)
      mw.synchronize()
    end)
    assert.is_false(ok)
    assert.equal("cudaErrorIllegalAddress", failure.code)
    mw.device "cpu":reset()
    o = mw.zeros(5000, "int")
    m = mw.compile "__global__ void one(int *o) { o[threadIdx.x] = 1; }"
    m.one(1, 32)(o)
    assert.equal(1, o[32])
  end)
end)
