-- Loops whose lanes walk rows of their own: strips of iterations load tiles of the rows and transpose them. Random
-- kernels of this pattern are in spec/stress/mechanisms.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about its compiler.

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

-- A loop of one block, as widening leaves it: row l begins at %rows + l * 4000.
local function loop(parts)
  local text = ([[
define void @walk(ptr %rows, ptr %x, ptr %out, i32 %n, <8 x i1> %mask, i32 %first) {
entry:
  %begin = getelementptr i8, ptr %rows, <8 x i64> <i64 0, i64 4000, i64 8000, i64 12000, i64 16000, i64 20000,
    i64 24000, i64 28000>
  br label %loop
loop:
  %k = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi <8 x float> [ zeroinitializer, %entry ], [ %more, %loop ]
  INDEX
  %p = getelementptr float, <8 x ptr> %begin, <8 x i64> %index
  %v = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> %p, i32 4, <8 x i1> MASK, <8 x float> poison)
  %more = fadd <8 x float> %sum, %v
  BODY
  %next = add nsw i32 %k, STEP
  %again = icmp CONDITION i32 %next, %n
  br i1 %again, label %loop, label %done
done:
  store <8 x float> %more, ptr %out
  ret void
}
declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, i32, <8 x i1>, <8 x float>)
declare void @other()
]])
  parts.INDEX = parts.INDEX or [[%wide = sext i32 %k to i64
  %one = insertelement <8 x i64> poison, i64 %wide, i64 0
  %index = shufflevector <8 x i64> %one, <8 x i64> poison, <8 x i32> zeroinitializer]]
  parts.MASK = parts.MASK or "splat (i1 true)"
  parts.BODY, parts.STEP, parts.CONDITION = parts.BODY or "", parts.STEP or "1", parts.CONDITION or "slt"
  return (text:gsub("%u%u+", parts))
end

local function tiled(parts)
  local ir, status = mwcc.only(loop(parts), "row-tiles")
  assert(status == 0, ir)
  local strips = ir:match "\nrows%.strips:.-\n\n"
  return strips, ir
end

describe("the pass row-tiles", function()
  it("loads chunks of the rows instead of gathering, and transposes them", function()
    local strips, ir = tiled {}
    assert.is_nil(strips:find "gather")
    assert.equal(0, mwcc.count(strips, "load <8 x float>"))
    assert.equal(32, mwcc.count(strips, "load <4 x float>")) -- 8 rows, 16 columns
    assert.equal(16, mwcc.count(strips, "fadd <8 x float>"))
    assert.equal(1, mwcc.count(ir:gsub("declare[^\n]*", ""), "@llvm.masked.gather"))
  end)

  it("has strips that leave no iteration, where their number is a constant", function()
    for count, strip in pairs { [64] = 16, [24] = 8, [20] = 4, [12] = 4, [18] = 16 } do
      local strips = mwcc.only((loop {}):gsub("i32 %%next, %%n", "i32 %%next, " .. count), "row-tiles")
        :match "\nrows%.strips:.-\n\n"
      assert.equal(strip, mwcc.count(strips, "fadd <8 x float>"), count)
    end
  end)

  it("adds in the order of the loop", function()
    local last
    for sum, a in tiled({}):gmatch "(%%[%w.]+) = fadd <8 x float> (%%[%w.]+)," do
      if last then assert.equal(last, a) end
      last = sum
    end
  end)

  it("compares each lane's last address with its first where an index of 32 bits is extended", function()
    local _, ir = tiled {}
    assert.equal(2, mwcc.count(ir, "icmp eq <8 x i64>")) -- and whether the rows have one distance
    _, ir = tiled { INDEX = [[%wide = phi i64 [ 0, %entry ], [ %wider, %loop ]
  %one = insertelement <8 x i64> poison, i64 %wide, i64 0
  %index = shufflevector <8 x i64> %one, <8 x i64> poison, <8 x i32> zeroinitializer]],
      BODY = "%wider = add i64 %wide, 1" }
    assert.equal(1, mwcc.count(ir, "icmp eq <8 x i64>"))
  end)

  it("gives inactive lanes the row of an active one", function()
    local strips, ir = tiled { MASK = "%mask" }
    assert.truthy(strips)
    assert.matches("@llvm.cttz.i8", ir)
    assert.matches("select <8 x i1> %%mask, <8 x ptr>", ir)
  end)

  it("takes rows by a table as they are", function()
    local text = loop {}:gsub("%%begin = .-\n.-\n", "%%begin = load <8 x ptr>, ptr %%rows\n", 1)
    local ir, status = mwcc.only(text, "row-tiles")
    assert(status == 0, ir)
    assert.matches("rows%.strips", ir)
    assert.equal(1, mwcc.count(ir, "icmp eq <8 x i64>"))
    assert.equal(8, mwcc.count(ir, "extractelement <8 x ptr>"))
  end)

  for name, parts in pairs {
    ["a step of two elements"] = { STEP = "2" },
    ["a step that is not known"] = { STEP = "%first" },
    ["another exit condition"] = { CONDITION = "sgt" },
    ["a call that may write"] = { BODY = "call void @other()" },
    ["a store to an address without a step"] = { BODY = [[%square = mul i32 %k, %k
  %there = getelementptr float, ptr %x, i32 %square
  store float 0.0, ptr %there]] },
    ["a mask of the iteration"] = { MASK = "%odd", BODY = "", INDEX = [[%wide = sext i32 %k to i64
  %one = insertelement <8 x i64> poison, i64 %wide, i64 0
  %index = shufflevector <8 x i64> %one, <8 x i64> poison, <8 x i32> zeroinitializer
  %odd = icmp ugt <8 x i64> %index, <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>]] },
    ["an index that is not linear"] = { INDEX = [[%half = lshr i32 %k, 1
  %wide = sext i32 %half to i64
  %one = insertelement <8 x i64> poison, i64 %wide, i64 0
  %index = shufflevector <8 x i64> %one, <8 x i64> poison, <8 x i32> zeroinitializer]] },
  } do
    it("leaves a loop with " .. name .. " as it is", function() assert.is_nil((tiled(parts))) end)
  end

  it("tests whether stores may change what is loaded too early", function()
    local strips, ir = tiled { BODY = [[%there = getelementptr float, ptr %x, i32 %k
  store float 0.0, ptr %there]] }
    assert.truthy(strips)
    assert.truthy(mwcc.count(ir, "icmp sle <8 x i64>") >= 2)
  end)

  local source = [[extern "C" __global__ void sums(const float *a, int n, int rows, float *y) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      float s = 0;
      if (i < rows) for (int k = 0; k < n; k++) s += a[i * n + k];
      if (i < rows) y[i] = s;
    }]]

  it("can be left out", function()
    assert.matches("rows%.strips", mwcc.after(source, "row-tiles", "--launch=sums:128x1x1"))
    assert.not_matches("rows%.strips", mwcc.after(source, "row-tiles", "--launch=sums:128x1x1 --without=row-tiles"))
  end)

  it("is reported, and makes gangs of one vector", function()
    local report = mwcc.run(source, "--mcpu=x86-64-v4 --report --launch=sums:128x1x1")
    assert.matches("1 x 16 lanes: its lanes walk rows of their own", report)
    assert.matches("gather along a row of each lane, by tiles", report)
    report = mwcc.run(source, "--mcpu=x86-64-v4 --report --launch=sums:128x1x1 --without=row-tiles")
    assert.matches("gather along a row of each lane, without row%-tiles", report)
    report = mwcc.run(source:gsub("k < n", "k < n %% (i + 1)"), "--mcpu=x86-64-v4 --report --launch=sums:128x1x1")
    assert.matches("gather along a row of each lane, not by tiles: lanes leave the loop one by one", report)
  end)
end)

-- Kernels that differ in what the pass has to prove, against thread by thread without optimisation.
describe("a thread that walks its row", function()
  local every
  setup(function() every = mw.limit("specialise", 0) end)
  teardown(function() mw.limit("specialise", every) end)

  local text = [[
    // each element is made from the one before it
    __global__ void recurrence(float *a, const float *b, int n, int shift) {
      int i = threadIdx.x;
      for (int k = 0; k < n - shift; k++) a[i * n + k + shift] = a[i * n + k] * 0.5f + b[i * n + k];
    }
    // the same through another pointer, which may be to the same array
    __global__ void aliases(const float *a, float *b, int n) {
      int i = threadIdx.x;
      for (int k = 0; k < n - 1; k++) b[i * n + k + 1] = a[i * n + k] + 1;
    }
    // an element that is written in the same iteration, forwards and backwards
    __global__ void written_first(float *a, float *sums, int n, int shift) {
      int i = threadIdx.x;
      float s = 0;
      for (int k = 2; k < n - 2; k++) {
        a[i * n + k + shift] = s;
        s = s * 0.5f + a[i * n + k + 1] + a[i * n + k - 1];
      }
      sums[i] = s;
    }
    __global__ void written_first_backwards(float *a, float *sums, int n, int shift) {
      int i = threadIdx.x;
      float s = 0;
      for (int k = n - 3; k > 1; k--) {
        a[i * n + k + shift] = s;
        s = s * 0.5f + a[i * n + k + 1] + a[i * n + k - 1];
      }
      sums[i] = s;
    }
    // a sum in memory, which may be an element of the row
    __global__ void sum_in_row(float *a, float *s, int n) {
      int i = threadIdx.x;
      if (i > 0) return;
      for (int k = 0; k < n; k++) *s = *s * 0.5f + a[i * n + k];
    }]]

  local function same(run)
    local results = {}
    for at, options in ipairs { { "-G", "--width=1" }, {} } do
      results[at] = run(mw.compile { source = text, options = #options > 0 and options or nil }):bytes()
    end
    assert.is_true(results[1] == results[2])
  end

  local function numbers(n)
    local list = {}
    for i = 1, n do list[i] = i * 7 % 64 / 4 end
    return mw.array(list)
  end

  for _, shift in ipairs { 1, 2, 5, 16, 17 } do
    it(("may read what it wrote %d elements before"):format(shift), function()
      same(function(m)
        local a = numbers(64 * 70)
        m.recurrence(1, 64)(a, numbers(64 * 70), 70, shift)
        return a
      end)
    end)
  end

  it("may read what it wrote in the same iteration", function()
    for _, name in ipairs { "written_first", "written_first_backwards" } do
      for shift = -2, 2 do
        same(function(m)
          local a = numbers(64 * 50)
          m[name](1, 64)(a, mw.zeros(64), 50, shift)
          return a
        end)
      end
    end
  end)

  it("may read what it wrote through another pointer", function()
    same(function(m)
      local a = numbers(64 * 50)
      m.aliases(1, 64)(a, a, 50)
      return a
    end)
  end)

  it("may have its sum in the row", function()
    for _, at in ipairs { 1, 5, 40, 64 } do
      same(function(m)
        local a = numbers(64)
        m.sum_in_row(1, 32)(a, a:sub(at, at), 64)
        return a
      end)
    end
  end)
end)

describe("a kernel whose lanes walk rows", function()
  local function vectors(columns, processor)
    local source = [[
      __global__ void distances(const unsigned char *a, int *out) {
        int row[COLUMNS], i = blockIdx.x * blockDim.x + threadIdx.x;
        for (int k = 0; k < COLUMNS; k++) row[k] = k;
        for (int m = 1; m < 30; m++) {
          int last = m;
          for (int k = 0; k < COLUMNS; k++) row[k] = last = min(row[k], last) + (a[i * COLUMNS + k] != m);
        }
        out[i] = row[COLUMNS - 1];
      }]]
    source = source:gsub("COLUMNS", columns)
    local text = mwcc.run(source, "--report --launch=_Z9distancesPKhPi:128x1x1 --mcpu=" .. processor)
    return text:match "gangs of %d x %d+ lanes: [^\n]*"
  end

  it("has one vector in a gang, unless a row is in one cache line and vectors are short", function()
    for _, processor in ipairs { "x86-64-v3", "x86-64-v4" } do
      assert.is_truthy(vectors(200, processor):find "gangs of 1 x .*rows of their own")
    end
    assert.is_nil(vectors(24, "x86-64-v3"):find "rows of their own")
    assert.is_truthy(vectors(24, "x86-64-v4"):find "gangs of 1 x .*rows of their own")
  end)
end)
