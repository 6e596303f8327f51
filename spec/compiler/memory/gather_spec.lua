-- Gathers and scatters: by indices of every type, in pairs for neighbouring members of structs, and as whole vectors if
-- the indices of a gang prove contiguous at run time.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local random = require "support.random" "gather_spec"

local text = [==[
struct pair { int a; float b; };
struct four { int a, b, c, d; };

#define KERNEL(NAME, TYPE, BODY) \
  extern "C" __global__ void NAME(int n, const TYPE *index, const int *in, int *out) { \
    int i = blockIdx.x * blockDim.x + threadIdx.x; \
    if (i < n) { BODY } \
  }

KERNEL(by_int, int, out[i] = in[1000 + index[i]];)
KERNEL(by_unsigned, unsigned, out[i] = in[1000 + index[i]];)
KERNEL(by_short, short, out[i] = in[1000 + index[i]];)
KERNEL(by_uchar, unsigned char, out[i] = in[index[i]];)
KERNEL(by_char, signed char, out[i] = (in + 1000)[index[i]];)
KERNEL(by_long, long long, out[i] = (in + 1000)[index[i]];)
KERNEL(to_short, short, (out + 1000)[index[i]] = in[i];)
KERNEL(to_int, int, (out + 1000)[index[i]] = in[i];)

KERNEL(load_pairs, int, const pair *p = (const pair *)in + 500; pair v = p[index[i]]; out[i] = v.a * 3 - (int)v.b;)
KERNEL(load_fours, int, const four *p = (const four *)in + 250; four v = p[index[i]];
       out[i] = v.a + v.b * 2 + v.c * 3 + v.d * 4;)
KERNEL(load_middle, int, const four *p = (const four *)in + 250; out[i] = p[index[i]].b * 5 + p[index[i]].c;)
KERNEL(store_pairs, int, pair *p = (pair *)out + 500; int k = index[i]; p[k].b = in[2 * i]; p[k].a = in[2 * i + 1];)
KERNEL(store_fours, int, four *p = (four *)out + 250; int k = index[i];
       p[k].a = in[i]; p[k].b = i; p[k].c = in[i] + 1; p[k].d = -i;)
KERNEL(update_pairs, int, int2 *p = (int2 *)out + 500; int k = index[i];
       p[k].x += in[i]; p[k].y = p[k].x + p[k].y * 2;)
KERNEL(load_between, int, int2 *p = (int2 *)out + 500; int k = index[i];
       int x = p[k].x; p[k].y = in[i]; out[i] = x + p[k].y;)
KERNEL(store_twice, int, int2 *p = (int2 *)out + 500; int k = index[i];
       p[k].x = i; int y = p[k].y; p[k].x = y + 1; p[k].y = y + in[i];)
]==]

local launches = { { 3, 64 }, { 2, 48 }, { 1, 100 } }

local function filled(n, value)
  local list = {}
  for i = 1, n do list[i] = value end
  return list
end

-- name -> the index's type, its range, whether indices have to be unique, and what thread i does with index k: in(n) is
-- the n-th element, set(n, v) sets one of the result.
local models = {
  by_int = { "int", -1000, 999, function(i, k, at, set) set(i, at(1000 + k)) end },
  by_unsigned = { "uint", 0, 999, function(i, k, at, set) set(i, at(1000 + k)) end },
  by_short = { "short", -1000, 999, function(i, k, at, set) set(i, at(1000 + k)) end },
  by_uchar = { "uchar", 0, 255, function(i, k, at, set) set(i, at(k)) end },
  by_char = { "char", -128, 127, function(i, k, at, set) set(i, at(1000 + k)) end },
  by_long = { "longlong", -1000, 999, function(i, k, at, set) set(i, at(1000 + k)) end },
  to_short = { "short", -700, 999, function(i, k, at, set) set(1000 + k, at(i)) end },
  to_int = { "int", -700, 999, function(i, k, at, set) set(1000 + k, at(i)) end },
  load_fours = { "int", -250, 249, function(i, k, at, set)
    local b = 4 * (250 + k)
    set(i, at(b) + at(b + 1) * 2 + at(b + 2) * 3 + at(b + 3) * 4)
  end },
  load_middle = { "int", -250, 249, function(i, k, at, set)
    local b = 4 * (250 + k)
    set(i, at(b + 1) * 5 + at(b + 2))
  end },
  store_fours = { "int", -150, 249, function(i, k, at, set)
    local b = 4 * (250 + k)
    set(b, at(i)) set(b + 1, i) set(b + 2, at(i) + 1) set(b + 3, -i)
  end },
  update_pairs = { "int", -300, 499, function(i, k, at, set, old)
    local b = 2 * (500 + k)
    local x = old(b) + at(i)
    set(b, x)
    set(b + 1, x + old(b + 1) * 2)
  end },
  load_between = { "int", -300, 499, function(i, k, at, set, old)
    local b = 2 * (500 + k)
    set(i, old(b) + at(i))
    set(b + 1, at(i))
  end },
  store_twice = { "int", -300, 499, function(_, k, at, set, old, i)
    local b = 2 * (500 + k)
    local y = old(b + 1)
    set(b, y + 1)
    set(b + 1, y + at(i))
  end },
}

-- That many different numbers between low and high: scattered, or consecutive.
local function indices(count, low, high, follow)
  local list, seen = {}, {}
  local first = random(low, high - count)
  for i = 1, count do
    local k = first + i
    while not follow and (seen[k] or i == 1 and k == first + 1) do k = random(low, high) end
    list[i], seen[k] = k, true
  end
  return list
end

local function check(name, kernel, model)
  for _, launch in ipairs(launches) do
    local count = launch[1] * launch[2]
    for turn = 1, 2 do
      local n = turn == 1 and count or count - 5
      local list = indices(count, model[2], model[3], turn == 2)
      local input, wanted = {}, filled(2000, 7)
      for i = 1, 2000 do input[i] = random(-50, 50) end
      for i = 0, n - 1 do
        model[4](i, list[i + 1], function(at) return input[at + 1] end, function(at, v) wanted[at + 1] = v end,
          function(at) return wanted[at + 1] end, i)
      end
      local out = mw.array(filled(2000, 7), "int")
      kernel(launch[1], launch[2])(n, mw.array(list, model[1]), mw.array(input, "int"), out)
      for at, v in ipairs(out:totable()) do
        if v ~= wanted[at] then
          error(("%s, %d x %d, %d of them: element %d is %d, not %d"):format(name, launch[1], launch[2], n, at - 1, v,
            wanted[at]), 0)
        end
      end
    end
  end
end

for _, width in ipairs { "1", "4", "8", "16", "8x4" } do
  describe(("elements anywhere, %s lanes:"):format(width), function()
    local m
    setup(function() m = mw.compile { source = text, options = { "--width=" .. width } } end)

    for name, model in pairs(models) do
      it(name, function()
        if width ~= "1" then assert.equal("simd", m[name].tier, m[name].tier_reason) end
        check(name, m[name], model)
      end)
    end

    it("pairs of two types", function()
      local input, wanted, list = mw.zeros(2000, "int"), {}, indices(96, -400, 400)
      local words, numbers = input, input:as("float")
      for at = 0, 999 do words[2 * at + 1], numbers[2 * at + 2] = at * 7, at - 300 end
      for i, k in ipairs(list) do wanted[i] = (500 + k) * 21 - (500 + k - 300) end
      local out = mw.zeros(96, "int")
      m.load_pairs(3, 32)(96, mw.array(list, "int"), input, out)
      assert.same(wanted, out:totable())
      out = mw.zeros(2000, "int")
      m.store_pairs(3, 32)(96, mw.array(list, "int"), input, out)
      words, numbers = out, out:as("float")
      local got = {}
      for i, k in ipairs(list) do got[i] = { words[2 * (500 + k) + 1], numbers[2 * (500 + k) + 2] } end
      local given = {}
      for i = 0, 95 do given[i + 1] = { input[2 * i + 2], input[2 * i + 1] } end
      assert.same(given, got)
    end)
  end)
end

-- ---- the code

local count = mwcc.count

local function code(body, what)
  return mwcc.run(([=[
    extern "C" __global__ void k(int n, const int *index, const float2 *in, float2 *out, unsigned char *bytes) {
      __shared__ float2 tile[256];
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      tile[threadIdx.x] = in[i];
      __syncthreads();
      %s
    }]=]):format(body), "--verify --mcpu=x86-64-v4 --width=16 --emit=" .. (what or "ir"))
end

describe("code for elements anywhere", function()
  it("has one gather for two members", function()
    local output = code "float2 v = tile[index[i] & 255]; out[i] = make_float2(v.y, v.x);"
    assert.is_true(count(output, "call <16 x i64> @llvm.masked.gather") > 0)
    assert.equal(0, count(output, "call <16 x [if][%d%a]+> @llvm.masked.gather.v16[if]%d*32"))
    output = code "float2 v = in[i]; out[index[i]] = make_float2(v.y * 2, v.x);"
    assert.is_true(count(output, "call void @llvm.masked.scatter.v16i64") > 0)
    assert.equal(0, count(output, "call void @llvm.masked.scatter.v16f32"))
  end)

  it("has neither gathers nor branches for lanes on processors with slow gathers", function()
    local function at(cpu, body, what)
      return mwcc.run(([=[
        __global__ void k(const int *index, const int *in, int *out) {
          int i = blockIdx.x * blockDim.x + threadIdx.x;
          %s
        }]=]):format(body), ("--verify --mcpu=%s --emit=%s --launch=_Z1kPKiS0_Pi:256x1x1"):format(cpu, what))
    end
    local some = "if (in[i] > 3) out[index[i]] = in[index[i] + 1];"
    local output = at("x86-64-v4", some, "ir")
    assert.is_true(count(output, "@llvm.masked.gather") > 0 and count(output, "@llvm.masked.scatter") > 0)
    for _, cpu in ipairs { "x86-64-v2", "x86-64-v3", "skylake" } do
      output = at(cpu, some, "ir")
      local calls = count(output, "call [^\n]*@llvm.masked.gather")
      assert.equal(0, calls + count(output, "call [^\n]*@llvm.masked.scatter"))
      assert.equal(0, count(at(cpu, some, "asm"), "gatherd"))
    end
    -- constant strides: offsets from a scalar, no address from a vector
    output = at("x86-64-v3", "out[i] = in[i * 9]; out[i * 7 + 1000] = 3;", "asm")
    assert.equal(0, count(output, "vpextrq"))
  end)

  it("has indices of 32 bits", function()
    local output = code("out[i].x = (&tile[0].x)[index[i] & 255];", "asm")
    assert.is_true(count(output, "vgatherdps") > 0)
    assert.equal(0, count(output, "vgatherqps"))
    output = code("for (int k = 0; k < n; k++) (&out->y)[index[i]] += (&tile[0].x)[(index[i] + k) & 255];", "asm")
    assert.is_true(count(output, "vgatherdps") > 0 and count(output, "vscatterdps") > 0)
    assert.equal(0, count(output, "vgatherqps") + count(output, "vscatterqps"))
  end)

  it("does not unroll a loop of the loop tier that mainly gathers", function()
    local output = mwcc.run([==[
      __global__ void row(const int *start, const int *column, const float *value, const float *x, float *y) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        float sum = 0;
        for (int k = start[i]; k < start[i + 1]; k++) sum += value[k] * x[column[k]];
        y[i] = sum;
      }]==], "--emit=ir")
    assert.equal(1, count(output, "call float @llvm.fma"))
  end)

  it("prefetches the consecutive elements that follow in such a loop", function()
    local function prefetches_of(statement)
      return count(mwcc.run(([==[
        __global__ void row(const int *start, const int *column, const float *value, const float *x, float *y) {
          int i = blockIdx.x * blockDim.x + threadIdx.x;
          float sum = 0;
          for (int k = start[i]; k < start[i + 1]; k++) %s;
          y[i] = sum;
        }]==]):format(statement), "--verify --emit=ir"), "call void @llvm.prefetch")
    end
    assert.equal(2, prefetches_of "sum += value[k] * x[column[k]]")
    assert.equal(1, prefetches_of "sum += x[column[k]]")
    assert.equal(0, prefetches_of "sum += x[column[k * 7]]")
  end)

  it("tests whether the indices of a gang are contiguous, also for stores", function()
    local output = code "out[(i & (n - 1)) + 3] = in[(i & (n - 1)) + 5];"
    assert.is_true(count(output, "\ncontiguous%d*:") >= 2)
    assert.equal(0, count(code "tile[index[i] & 255] = in[i];", "\ncontiguous%d*:"))
  end)

  -- (1048575 * 4096) mod 2^32 is -4096 as a signed number, which times 4 wraps no more.
  it("does not assume that a product is positive because its factors are", function()
    local source = [[
      extern "C" __global__ void wrapped(const unsigned *a, const unsigned *b, const int *in, int *out) {
        int i = threadIdx.x, product = (int)((a[i] & 0xfffff) * (b[i] & 0xfffff)) * 4;
        out[i] = in[(long long)(unsigned)product - 0x100000000LL + 16400];
      }]]
    local a, b, out = mw.full(32, 0xfffff, "uint"), mw.full(32, 4096, "uint"), mw.zeros(32, "int")
    local list = {}
    for i = 1, 17000 do list[i] = i end
    mw.compile({ source = source, options = { "--width=16" } }).wrapped(1, 32)(a, b, mw.array(list, "int"), out)
    for _, v in ipairs(out:totable()) do assert.equal(-16384 + 16400 + 1, v) end
  end)
end)

describe("a value that the rows of a block share", function()
  local source = [==[
    extern "C" __global__ void same(int low, int wide, const int *in, int *out) {
      int x = threadIdx.x, y = threadIdx.y, value = -1, next = -1;
      if (y > low && x > low && y >= x) value = in[x * 17 + wide];
      if (x + 2 * y > wide) next = in[x + wide];
      out[(y * 16 + x) * 2] = value;
      out[(y * 16 + x) * 2 + 1] = next;
    }]==]

  it("is gathered once", function()
    local output = mwcc.run(source, "--mcpu=x86-64-v4 --width=16x16 --launch=same:16x16x1 --emit=ir")
    local together = output:match "define [^\n]+@plane.-\n}\n" -- another function is for single vectors
    assert.equal(1, count(together, "call <16 x i32> @llvm.masked.gather"))
    assert.equal(1, count(together, "= load <16 x i32>"))
  end)

  it("is gathered once if only the position in a vector matters", function()
    local repeated = [==[
      extern "C" __global__ void repeated(int low, const int *in, int *out) {
        int i = threadIdx.x, value = -1;
        if (i > low && i % 5) value = in[(i & 7) * 100 + 3];
        out[i] = value + in[(i & 31) * 50];
      }]==]
    local options = "--mcpu=x86-64-v4 --width=16x4 --without=constant-lanes --launch=repeated:256x1x1 --emit=ir"
    local output = mwcc.run(repeated, options)
    assert.equal(1 + 2, count(output, "call <16 x i32> @llvm.masked.gather")) -- a vector has half of the 32
    local before = mw.limit("specialise", 0)
    local m, list, wanted = mw.compile { source = repeated, options = { "--width=16x4" } }, {}, {}
    for k = 1, 1600 do list[k] = random(0, 1000) end
    local out = mw.zeros(256, "int")
    m.repeated(1, 256)(40, mw.array(list, "int"), out)
    mw.limit("specialise", before)
    for i = 0, 255 do
      wanted[i + 1] = (i > 40 and i % 5 ~= 0 and list[(i & 7) * 100 + 4] or -1) + list[(i & 31) * 50 + 1]
    end
    assert.same(wanted, out:totable())
  end)

  it("is the value that each thread would load", function()
    local before = mw.limit("specialise", 0)
    local m = mw.compile { source = source, options = { "--width=16x16" } }
    local list = {}
    for i = 1, 400 do list[i] = random(0, 1000) end
    local array, out = mw.array(list, "int"), mw.zeros(512, "int")
    for _, case in ipairs { { -1, 0 }, { 3, 7 }, { 14, 40 }, { 15, 60 } } do
      local low, wide, wanted = case[1], case[2], {}
      m.same(1, { 16, 16 })(low, wide, array, out)
      for y = 0, 15 do
        for x = 0, 15 do
          wanted[#wanted + 1] = y > low and x > low and y >= x and list[x * 17 + wide + 1] or -1
          wanted[#wanted + 1] = x + 2 * y > wide and list[x + wide + 1] or -1
        end
      end
      assert.same(wanted, out:totable())
    end
    mw.limit("specialise", before)
  end)
end)

describe("a scatter", function()
  -- Their conditions are constants in code for blocks of one size, and the selects become shuffles.
  local source = [[
    extern "C" __global__ void picked(int **from, int *a, int *b) {
      int *loaded = from[threadIdx.x], *p = threadIdx.x == 0 ? a : loaded;
      *(threadIdx.x < 8 ? p : b + threadIdx.x) = threadIdx.x;
    }
    extern "C" __global__ void one(int *a, int *b, const int *flags) {
      *(flags[threadIdx.x] ? a : b) = threadIdx.x;
    }]]
  local function guards(kernel)
    local output = mwcc.ir(source, kernel .. ":16x1x1")
    assert.matches("call void @llvm.masked.scatter", output)
    return mwcc.count(output, "%%sandboxed = select <16 x i1>")
  end

  it("to loaded addresses stays inside the device's memory, even if some lanes have a parameter's", function()
    assert.equal(1, guards "picked")
    assert.equal(0, guards "one")
  end)

  it("to neighbouring addresses is tested once, and a wild one is reported", function()
    local side = [[
      extern "C" __global__ void fields(int *const *to) {
        for (int i = 0; i < 4; i++) to[0][i] = i;
      }
      extern "C" __global__ void beside(int *const *rows) {
        if (threadIdx.x >= 40) rows[blockIdx.x][threadIdx.x] = threadIdx.x;
      }]]
    local one = "%%sandboxed[%d]* = select i1"
    assert.equal(1, mwcc.count(mwcc.ir(side, "beside:64x1x1"), one))
    local m = mw.compile(side)
    local row, rows = mw.full(100, -1, "int"), mw.zeros(1, "int64")
    local function wild(run)
      local ok, message = pcall(function()
        run()
        mw.synchronize()
      end)
      assert.is_false(ok)
      assert.matches("wrote to an address that no array holds", tostring(message))
    end
    for _, address in ipairs { 4096, 2 ^ 46 | 0 } do
      rows[1] = address
      wild(function() m.fields(1, 1)(rows) end)
      wild(function() m.beside(1, 64)(rows) end)
    end
    rows[1] = row.address
    m.beside(1, 64)(rows)
    m.fields(1, 1)(rows)
    local expected = {}
    for i = 0, 99 do expected[i + 1] = (i < 4 or (i >= 40 and i < 64)) and i or -1 end
    assert.same(expected, row:totable())
  end)

  it("reuses a base after a branch only if it was saved", function()
    local again = [[
      extern "C" __global__ void again(int *out) {
        int t = threadIdx.x + blockDim.x * threadIdx.y, block = blockIdx.x + gridDim.x * blockIdx.y;
        int v = 3 * t + block;
        if (t >= 13) return;
        (out + 1)[block * 512 + t / 4 * 8 + t % 4 * 2] = v + 1;
        (out + block * 512 + t / 4 * 8 + t % 4 * 2)[1] = v + 2;
        if (v & 1) out[block * 512 + t / 4 * 8 + t % 4 * 2 + 1] = v + 5;
        (out + 1)[block * 512 + t / 4 * 8 + t % 4 * 2] = v + 10;
      }]]
    for _, width in ipairs { "1", "4", "8", "16", "16x2", "32" } do
      local out = mw.full(1024, -1, "int")
      mw.compile({ source = again, options = { "--width=" .. width } }).again({ 1, 2 }, { 16, 16 })(out)
      local expected = {}
      for i = 1, 1024 do expected[i] = -1 end
      for block = 0, 1 do
        for t = 0, 12 do expected[block * 512 + t // 4 * 8 + t % 4 * 2 + 2] = 3 * t + block + 10 end
      end
      assert.same(expected, out:totable(), "width " .. width)
    end
  end)
end)
