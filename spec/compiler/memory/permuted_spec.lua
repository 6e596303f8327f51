-- Permuted access: threads access memory at constant, small distances from the first of their vector, as in the steps
-- of a Fourier transform. If all threads are active, that is whole vectors and shuffles; no other memory is accessed.
-- Lua 5.4 only: the compiler is tested.

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local random = require "support.random" "permuted_spec"

-- Each kernel loads element FROM of `in` and stores it, plus 1, as element TO of `out`; `i` is the thread.
local cases = {
  { name = "neighbours", from = "i ^ 1", lua_from = function(i) return i ~ 1 end },
  { name = "flipped", from = "i ^ 5", lua_from = function(i) return i ~ 5 end },
  { name = "halves", from = "2 * i - (i & 3)", lua_from = function(i) return 2 * i - (i & 3) end },
  { name = "other_halves", from = "2 * i - (i & 7) + 8", lua_from = function(i) return 2 * i - (i & 7) + 8 end },
  { name = "fours", from = "i | 3", lua_from = function(i) return i | 3 end },
  { name = "repeated", from = "i & 7", lua_from = function(i) return i & 7 end },
  { name = "spread", from = "(i & 1) * 5 + 3", lua_from = function(i) return (i & 1) * 5 + 3 end },
  { name = "shifted", from = "(i >> 1) + 2 * (i & 1)", lua_from = function(i) return (i >> 1) + 2 * (i & 1) end },
  { name = "backwards", from = "n - 1 - i", lua_from = function(i, n) return n - 1 - i end },
  { name = "turned", from = "(int)(__brev(i & 15) >> 28) + (i & ~15)", lua_from = function(i)
    return (i & ~15) + ((i & 1) << 3 | (i & 2) << 1 | (i & 4) >> 1 | (i & 8) >> 3)
  end },
  { name = "stored_flipped", to = "i ^ 3", lua_to = function(i) return i ~ 3 end },
  { name = "stored_backwards", to = "n - 1 - i", lua_to = function(i, n) return n - 1 - i end },
  { name = "stored_apart", to = "2 * i - (i & 1)", lua_to = function(i) return 2 * i - (i & 1) end }, -- with gaps
  { name = "stored_turned", to = "(int)(__brev(i & 15) >> 28) + (i & ~15)", lua_to = function(i)
    return (i & ~15) + ((i & 1) << 3 | (i & 2) << 1 | (i & 4) >> 1 | (i & 8) >> 3)
  end },
}

local text = [[
extern "C" __global__ void NAME_KIND(int n, const KIND *in, KIND *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (CONDITION) out[TO] = in[FROM] + 1;
}
]]

-- elements of other sizes than four bytes: a few are enough
local others = { neighbours = true, other_halves = true, turned = true, stored_flipped = true, stored_backwards = true }
local all, some = "i < n", "i < n && i % 7 != 3"

local function kinds_of(c) return others[c.name] and { "uchar", "int", "double" } or { "int" } end

local function kernels()
  local texts = { "typedef unsigned char uchar;\n" }
  for _, c in ipairs(cases) do
    for _, kind in ipairs(kinds_of(c)) do
      for suffix, condition in pairs { all = all, some = kind == "int" and some or nil } do
        local words = { KIND = kind, CONDITION = condition, TO = c.to or "i", FROM = c.from or "i" }
        texts[#texts + 1] = text:gsub("NAME_KIND", ("%s_%s_%s"):format(c.name, suffix, kind)):gsub("%u%u+", words)
      end
    end
  end
  return table.concat(texts)
end

local function identity(i) return i end

local function check(kernel, c, dtype, n, block, skips)
  local size, list, wanted = 2 * n + 64, {}, {}
  for k = 1, size do list[k], wanted[k] = random(0, 100), 0 end
  for i = 0, n - 1 do
    local from, to = (c.lua_from or identity)(i, n), (c.lua_to or identity)(i, n)
    if not (skips and i % 7 == 3) then wanted[to + 1] = list[from + 1] + 1 end
  end
  local out = mw.zeros(size, dtype)
  kernel(mw.cdiv(n, block), block)(n, mw.array(list, dtype), out)
  local got = out:totable()
  for k = 1, size do
    if got[k] ~= wanted[k] then
      error(("%d threads in blocks of %d: element %d is %s, not %s"):format(n, block, k - 1, got[k], wanted[k]), 0)
    end
  end
end

describe("permuted accesses", function()
  local m, before
  setup(function()
    before = mw.limit("specialise", 0)
    m = mw.compile(kernels())
  end)
  teardown(function() mw.limit("specialise", before) end)

  for _, c in ipairs(cases) do
    it(c.name, function()
      for _, kind in ipairs(kinds_of(c)) do
        local kernel = m[("%s_all_%s"):format(c.name, kind)]
        for _, n in ipairs { 512, 500 } do check(kernel, c, kind, n, 128, false) end
      end
      check(m[c.name .. "_all_int"], c, "int", 96, 48, false)
      check(m[c.name .. "_some_int"], c, "int", 512, 128, true)
    end)
  end
end)

-- Sums and differences of elements at distance HALF, in shared memory, in each iteration.
local butterflies = [[
extern "C" __global__ void butterflies(const float2 *in, float2 *out) {
  __shared__ float2 data[2 * SIZE];
  int t = threadIdx.x, first = blockIdx.x * 2 * SIZE;
  data[t] = in[first + t];
  data[t + SIZE] = in[first + t + SIZE];
  __syncthreads();
  for (int half = 1; half < 2 * SIZE; half *= 2) {
    int low = 2 * t - t % half;
    float2 a = data[low], b = data[low + half];
    data[low] = make_float2(a.x + b.x, a.y - b.y);
    data[low + half] = make_float2(a.x - b.x, a.y + b.y);
    __syncthreads();
  }
  out[first + t] = data[t];
  out[first + t + SIZE] = data[t + SIZE];
}
]]

describe("butterflies", function()
  for _, size in ipairs { 64, 256 } do
    it(("of %d threads"):format(size), function()
      local before = mw.limit("specialise", 0)
      local m = mw.compile((butterflies:gsub("SIZE", size)))
      local count, blocks, list = 4 * size, 3, {}
      for k = 1, count * blocks do list[k] = random(-8, 8) end
      local out = mw.zeros(count * blocks / 2, "float2")
      m.butterflies(blocks, size)(mw.array(list):as("float2"), out)
      mw.limit("specialise", before)
      for b = 0, blocks - 1 do
        local half = 1
        while half < 2 * size do
          for t = 0, size - 1 do
            local low = (2 * t - t % half) * 2 + b * count
            local high = low + 2 * half
            list[low + 1], list[high + 1] = list[low + 1] + list[high + 1], list[low + 1] - list[high + 1]
            list[low + 2], list[high + 2] = list[low + 2] - list[high + 2], list[low + 2] + list[high + 2]
          end
          half = half * 2
        end
      end
      assert.same(list, out:as("float"):totable())
    end)
  end
end)

-- The same stores may form whole structs and a permutation; the last one stores for all.
local halves = [[
extern "C" __global__ void structs_last(int *out) {
  int i = blockIdx.x * 4 * LANES + 2 * threadIdx.x, *own = out + i;
  out[i + 2 * LANES] = i + 5;
  out[i + 2 * LANES + 1] = i + 7;
  own[0] = i + 1;
  own[1] = i + 2;
}
extern "C" __global__ void structs_first(int *out) {
  int i = blockIdx.x * 4 * LANES + 2 * threadIdx.x, *own = out + i;
  own[0] = i + 1;
  own[1] = i + 2;
  out[i + 2 * LANES] = i + 5;
  out[i + 2 * LANES + 1] = i + 7;
}
]]

describe("stores of structs next to permuted accesses", function()
  for _, lanes in ipairs { 4, 8, 16 } do
    for _, name in ipairs { "structs_last", "structs_first" } do
      it(("%s, of %d lanes"):format(name, lanes), function()
        local before = mw.limit("specialise", 0)
        local m = mw.compile { source = (halves:gsub("LANES", lanes)), options = { "--width=" .. lanes } }
        local blocks, wanted = 3, {}
        local out = mw.zeros(blocks * 4 * lanes, "int")
        m[name](blocks, lanes)(out)
        mw.limit("specialise", before)
        for b = 0, blocks - 1 do
          for t = 0, lanes - 1 do
            local i = b * 4 * lanes + 2 * t
            wanted[i + 1], wanted[i + 2] = i + 1, i + 2
            wanted[i + 2 * lanes + 1], wanted[i + 2 * lanes + 2] = i + 5, i + 7
          end
        end
        assert.same(wanted, out:totable())
      end)
    end
  end
end)

describe("the report", function()
  local function report(body, options)
    local source = ('extern "C" __global__ void turn(float2 *a, float *b) { int i = threadIdx.x; %s }'):format(body)
    return mwcc.run(source, "--mcpu=x86-64-v4 --report --launch=turn:256x1x1 " .. (options or ""))
  end

  it("distinguishes permuted accesses from gathers", function()
    local output = report "b[i + 256] = b[i ^ 3];"
    assert.matches("permuted load", output)
    assert.not_matches("gather", output)
    assert.matches("gather", report "b[i + 256] = b[i * i];")
    assert.matches("gather", report "b[i + 256] = b[(i & 3) * 1000];") -- too far apart
    assert.matches("load of 2 places, by choice", report "b[i + 256] = b[(i & 1) * 1000];")
  end)

  it("has permuted stores if they leave no gaps", function()
    assert.matches("permuted store", report "b[i ^ 3] = i;")
    assert.matches("scatter", report "b[2 * i - (i & 1)] = i;")
    assert.matches("permuted store", report "b[2 * i - (i & 1)] = i; b[2 * i - (i & 1) + 2] = i;")
  end)

  it("has accesses whose members share shuffles of pairs of vectors", function()
    local code = mwcc.run([[
      extern "C" __global__ void turn(float2 *a) {
        int i = threadIdx.x, low = 2 * i - (i & 3);
        float2 x = a[low], y = a[low + 4];
        a[low] = make_float2(x.x + y.y, x.y - y.x);
        a[low + 4] = make_float2(x.x * y.x, x.y * y.y);
      }]], "--mcpu=x86-64-v4 --emit=ir --width=16 --launch=turn:16x1x1")
    -- four vectors are loaded and four stored: each of the eight is a shuffle of two, which are shuffles of two each
    assert.equal(16, mwcc.count(code, "= shufflevector"))
  end)

  it("is deterministic", function()
    local codes, count = {}, 0
    for _ = 1, 12 do
      local code = mwcc.run([[
        extern "C" __global__ void turned(const float2 *turns, const float2 *in, float2 *out) {
          __shared__ float2 data[512];
          int t = threadIdx.x;
          data[t] = in[t];
          data[t + 256] = in[t + 256];
          __syncthreads();
          for (int half = 1; half < 512; half *= 2) {
            int j = t % half, low = 2 * t - j;
            float2 turn = turns[j * (256 / half)], a = data[low], b = data[low + half];
            data[low] = make_float2(a.x + turn.x * b.x, a.y + turn.y * b.y);
            data[low + half] = make_float2(a.x - turn.x * b.x, a.y - turn.y * b.y);
            __syncthreads();
          }
          out[t] = data[t];
        }]], "--mcpu=x86-64-v4 --emit=ir --launch=turned:256x1x1")
      count = count + (codes[code] and 0 or 1)
      codes[code] = true
    end
    assert.equal(1, count)
  end)

  it("has the iterations of a loop with barriers in code for one block size", function()
    local source = butterflies:gsub("SIZE", 256)
    local output = mwcc.run(source, "--mcpu=x86-64-v4 --report --launch=butterflies:256x1x1")
    assert.matches("permuted load", output)
    assert.matches("load with a stride of 8 bytes", output)
    assert.not_matches("gather", output)
    assert.matches("gather", mwcc.run(source, "--mcpu=x86-64-v4 --report"))
  end)
end)
