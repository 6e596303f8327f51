-- Expressions that are computed later: mw.lazy and mw.fuse.
local mw = require "moonwarp"
local failure = require "support.failure"
local random = require "support.random" "lazy_spec"

local function message(...) return failure(...).message end
local function flat(array) return array:copy():reshape(-1):totable() end

describe("mw.lazy", function()
  local x, y = mw.array { 1, 2, 3 }, mw.array { 10, 20, 30 }

  it("makes an expression that prints itself and is computed later", function()
    local e = mw.lazy(x) * 2 + y
    assert.equal("(x1 * 2) + x2", tostring(e))
    assert.same({ 12, 24, 36 }, e:eval():totable())
    assert.equal("maximum(x1, exp(x1))", tostring(mw.maximum(mw.lazy(x), mw.exp(mw.lazy(x)))))
    assert.same({ 9, 18, 27 }, (y - mw.lazy(x)):eval():totable())
    assert.same({ -1, -2, -3 }, (-mw.lazy(x)):eval():totable())
  end)

  it("has the dtypes and the bits of operators one by one", function()
    for _, dtypes in ipairs { { "int", "float" }, { "half", "half" }, { "char", "uchar" }, { "double", "int" },
      { "bool", "short" } } do
      local list = {}
      for i = 1, 50 do list[i] = random(0, 1) end
      local a, b = mw.array(list, dtypes[1]), mw.array(list, dtypes[2]):flip()
      local eager = (a + b * 3):sqrt() / 2 + (a % 5):gt(b)
      local later = ((mw.lazy(a) + mw.lazy(b) * 3):sqrt() / 2 + (mw.lazy(a) % 5):gt(b)):eval()
      assert.equal(eager.dtype, later.dtype)
      assert.same(eager:totable(), later:totable())
    end
  end)

  it("is written into an array, also one that it reads", function()
    local a = mw.arange(6, "int")
    a:assign(mw.lazy(a) + a:flip())
    assert.same({ 5, 5, 5, 5, 5, 5 }, a:totable())
    local out = mw.zeros(3, "int")
    out:assign(mw.lazy(x) / 2)
    assert.same({ 0, 1, 1 }, out:totable())
    out[{ { 1, 2 } }] = mw.lazy(x[{ { 2, 3 } }]) * 2
    assert.same({ 4, 6, 1 }, out:totable())
  end)

  it("is reduced, sliced and broadcast", function()
    local e = mw.lazy(mw.arange(6):reshape(2, 3)) + mw.array { { 1 }, { 2 } }
    assert.equal(24, e:sum())
    assert.same({ 6, 15 + 3 }, { e:sum { axis = 2 }[1], e:sum { axis = 2 }[2] })
    assert.same({ 2, 3 }, e.shape)
    assert.same({ 6, 7 }, flat(e[{ 2, { 2, 3 } }]))
  end)

  it("shows its source, and refuses what it cannot hold", function()
    assert.matches("__global__ void fused", (mw.lazy(x) + 1):source())
    assert.equal("where(x1, x1 + 1, 0)", tostring(mw.where(x, mw.lazy(x) + 1, 0)))
    assert.matches("mw.where of an expression wants the elements to choose", message(mw.where, mw.lazy(x)))
    assert.matches("mw.where of expressions has no out", message(mw.where, x, mw.lazy(x), 0, { out = x }))
    assert.matches("mw.lazy wants an array, got", message(mw.lazy, 3))
    assert.matches("do not fit together", message(function() return (mw.lazy(x) + mw.zeros(2)):eval() end))
  end)
end)

describe("mw.fuse", function()
  it("calls a function once for each combination of ranks and dtypes, not for shapes", function()
    local calls = 0
    local f = mw.fuse(function(a, b)
      calls = calls + 1
      return a * b + 1, a - b
    end)
    for n = 1, 5 do
      local a, b = mw.arange(n), mw.full(n, 2)
      local p, q = f(a, b)
      assert.same((a * b + 1):totable(), p:totable())
      assert.same((a - b):totable(), q:totable())
    end
    assert.equal(1, calls)
    assert.equal("double", f(mw.ones(2, "double"), mw.ones(2)).dtype)
    f(mw.ones(2, 2), mw.ones(2))
    assert.equal(3, calls)
  end)

  it("computes reductions, slices and later broadcasts as eager operations do", function()
    local function work(a)
      local centred = a - a:mean { axis = 2, keepdims = true }
      local scaled = centred / (centred * centred):sum { axis = 2, keepdims = true }:sqrt()
      return scaled[{ {}, { 1, 2 } }] * 2, scaled:max(), scaled:cumsum { axis = 1 }
    end
    local f = mw.fuse(work)
    for _ = 1, 4 do
      local rows, columns = random(1, 5), random(2, 9)
      local list = {}
      for i = 1, rows * columns do list[i] = random() end
      local a = mw.array(list):reshape(rows, columns)
      local p, q, r = f(a)
      local u, v, w = work(a)
      assert.same(flat(u), flat(p))
      assert.equal(v, q)
      assert.same(flat(w), flat(r))
    end
  end)

  it("fuses mw.where, and runs sorts, products and selections as steps of their own", function()
    local x, m = mw.array { 3, -1, 2 }, mw.array { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 10 } }
    local function work(a, b)
      local positive = mw.where(a:gt(0), a, 0)
      return positive * 2, positive:sort() + 1, b:mm(positive + 1), a[a:gt(0)] - 1,
        (a + 1):argsort { descending = true }, b:take(2, { axis = 1 }) + a
    end
    local f = mw.fuse(work)
    local eager = { work(x, m) }
    for k, y in ipairs { f(x, m) } do
      assert.equal(eager[k].dtype, y.dtype)
      assert.same(flat(eager[k]), flat(y))
    end
    assert.same({ 5, 8, 3, 2 }, (f(mw.array { 2.5, 4, 1.5, 1 } , mw.eye(4)):totable()))
    assert.same({ 2, 3, 4 }, flat(mw.fuse(function(a) return a:sort() + 1 end)(mw.array { 3, 1, 2 })))
    local product = mw.fuse(function(a, b) return a:mm(b + 1) * 2 end)
    assert.same(flat(m:mm(m + 1) * 2), flat(product(m, m)))
    assert.equal("1. one kernel: x2 + 1\n2. its own step: mm of x1, r1\n3. one kernel: r2 * 2", product:explain())
    local chosen = mw.fuse(function(a) return mw.where(a:lt(2), 2, a) + 1 end)
    assert.same({ 4, 3, 3 }, flat(chosen(x)))
    assert.matches("^1. one kernel: where%(lt%(x1, 2%), 2, x1%) %+ 1$", chosen:explain())
  end)

  it("explains what runs", function()
    local f = mw.fuse(function(a) return (a - a:mean()) * 2 end)
    f(mw.arange(4))
    assert.equal("1. its own step: mean of x1\n2. one kernel: (x1 - r1) * 2", f:explain())
    assert.matches("call f first", message(mw.fuse(function(a) return a end).explain, mw.fuse(print)))
  end)

  it("refuses what depends on shapes and values", function()
    local by_shape = mw.fuse(function(a) return a * a.shape[1] end)
    assert.matches("traced for arrays of any shape", message(by_shape, mw.zeros(2)))
    assert.matches("a slice gives a number", message(mw.fuse(function(a) return a[{ 1 }] end), mw.zeros(2)))
    assert.matches("a:unique is not known while the function is traced",
      message(mw.fuse(function(a) return a:unique() end), mw.zeros(2)))
    assert.matches("give one boolean", message(mw.fuse(function(a) return a < -a and a or -a end), mw.zeros(2)))
    assert.matches("returns nothing", message(mw.fuse(function() end), mw.zeros(2)))
  end)

  it("keeps a bounded number of traces, whatever numbers are passed", function()
    local f = mw.fuse(function(a, k) return a * k + 1 end)
    local a, before = mw.ones(2), nil
    for k = 1, 2000 do
      assert.equal(k + 1, f(a, k)[2])
      if k == 1000 then
        collectgarbage()
        before = collectgarbage "count"
      end
    end
    collectgarbage()
    assert.is_true(collectgarbage "count" < before + 500)
  end)

  it("keeps no array alive", function()
    local f = mw.fuse(function(a) return a + a:sum() end)
    f(mw.ones(1000))
    collectgarbage()
    collectgarbage()
    mw.synchronize()
    local before = mw.memory().bytes
    for _ = 1, 20 do f(mw.ones(1000)) end
    collectgarbage()
    collectgarbage()
    mw.synchronize()
    assert.is_true(mw.memory().bytes <= before)
  end)
end)
