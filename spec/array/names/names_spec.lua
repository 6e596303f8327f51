-- Each name of arrays, with an example: NumPy's values where NumPy has the function (spec/data/arrays/names.py).
local mw = require "moonwarp"
local failure = require "support.failure"
local numpy = require "support.numpy"

local function is_transform(expression) return expression:find "mw%.fft" ~= nil end

local function is_other(expression) return not is_transform(expression) end

numpy.run("names", describe, it, { title = "an example of each name", only = is_other })
numpy.run("names", describe, it, { title = "an example of each transform", only = is_transform, error = 1e-6 })

-- What NumPy has no name for: user-defined functions, display, files, and arguments that must be refused.
describe("an example of", function()
  local x, y = mw.array { 1, 2, 3 }, mw.array { 10, 20, 30 }
  local function list(a) return a:totable() end
  local function message(...) return failure(...).message end

  it("mw.map, with numbers, positions, whole arrays, several results and a module's functions", function()
    assert.same({ 12.5, 25, 37.5 }, list(mw.map("a*x + y", { a = 2.5, x = x, y = y })))
    local f = mw.map "x*x + y"
    assert.same({ 11, 24, 39 }, list(f(x, y)))
    assert.same({ 101, 404, 909 }, list(f { x = x, y = y * y }))
    assert.matches("__global__", f:source())
    assert.same({ 0, 1, 2 }, list(mw.map("x * 0 + i", { x = x })))
    assert.same({ 13, 22, 31 }, list(mw.map("y + x[2 - i]", { x = x, y = y })))
    local sum, difference = mw.map("s = x + y; d = y - x", { x = x, y = y })
    assert.same({ 11, 22, 33 }, list(sum))
    assert.same({ 9, 18, 27 }, list(difference))
    local m = mw.compile "__device__ float twice(float x) { return 2 * x; } __global__ void k() {}"
    assert.same({ 2, 4, 6 }, list(mw.map({ "twice(x)", module = m }, { x = x })))
  end)

  it("mw.reduce and mw.scan, with a struct as accumulator", function()
    assert.equal(14, mw.reduce { map = "x * x", combine = "a + b", init = "0.0f" }(x))
    local m = mw.compile [[struct range { float low, high; };
      __device__ range of(float x) { range r = {x, x}; return r; }
      __device__ range both(range a, range b) { range r = {fminf(a.low, b.low), fmaxf(a.high, b.high)}; return r; }
      __global__ void k() {}]]
    local spread = mw.reduce { map = "of(x)", combine = "both(a, b)", init = "of(nanf(\"\"))",
      finish = "a.high - a.low", module = m }
    assert.equal(20, spread(y))
    assert.matches("both", spread:source())
    assert.same({ 1, 3, 6 }, list(mw.scan { combine = "a + b" }(x)))
    assert.same({ 11, 13, 16 }, list(mw.scan { combine = "a + b", init = "10.0f" }(x)))
  end)

  it("mw.lazy: an expression that prints itself, is computed once, and is assigned and reduced", function()
    local e = mw.lazy(x) * 2 + y
    assert.equal("(x1 * 2) + x2", tostring(e):gsub("%.0", ""), nil)
    assert.same({ 12, 24, 36 }, list(e:eval()))
    assert.same({ 12, 24, 36 }, list(mw.zeros(3):assign(e)))
    assert.equal(72, e:sum())
    assert.matches("__global__", e:source())
  end)

  it("mw.fuse: traced once per ranks and dtypes, explained, with its CUDA C", function()
    local traced = 0
    local f = mw.fuse(function(a, b)
      traced = traced + 1
      return (a - a:mean()) * b
    end)
    assert.matches("call f first", message(f.source, f))
    assert.same({ -10, 0, 30 }, list(f(x, y)))
    assert.same({ -0.5, 0.5 }, list(f(mw.array { 1, 2 }, mw.ones(2))))
    assert.equal(1, traced)
    assert.matches("1. its own step: mean of x1\n2. one kernel: %(x1 %- r1%) %* x2", f:explain())
    local _, kernels = f:source():gsub("__global__", "")
    assert.is_true(kernels > 0)
  end)

  it("files: .npy, .npz, CSV and WAV", function()
    local path = os.tmpname()
    mw.save_npy(path, x)
    assert.same(list(x), list(mw.load_npy(path)))
    mw.save_npz(path, { x = x, y = y })
    assert.same(list(y), list(mw.load_npz(path).y))
    mw.write_csv(path, mw.stack({ x, y }, 2), { header = { "x", "y" } })
    local a, names = mw.read_csv(path, { header = true })
    assert.same({ { 1, 10 }, { 2, 20 }, { 3, 30 } }, list(a))
    assert.same({ "x", "y" }, names)
    mw.write_wav(path, x * 0.25, 8000)
    local sound, rate = mw.read_wav(path)
    assert.equal(8000, rate)
    assert.equal(3, sound.count)
    assert.near(0.5, sound:reshape(-1)[2], 1e-4)
    os.remove(path)
  end)

  it("seeing: text with summarised corners, curves and pictures", function()
    assert.matches("%.%.%.", tostring(mw.arange(100000):reshape(10, 100, 100)))
    local path = os.tmpname() .. ".svg"
    mw.arange(64):sin():plot { file = path }
    local file = assert(io.open(path))
    assert.matches("<svg", file:read "*a")
    file:close()
    os.remove(path)
  end)

  it("bfloat16, and fractions that do not widen integers' kind", function()
    assert.equal("float", (mw.ones(2, "bfloat16") * mw.ones(2)).dtype)
    assert.equal("bfloat16", (mw.ones(2, "bfloat16") * 2).dtype)
    assert.equal("char", (mw.ones(2, "char") * 2).dtype)
  end)

  it("the least and greatest of nothing, and the mean of it", function()
    local none = mw.zeros(0)
    assert.matches("empty", message(none.min, none))
    local mean = none:mean()
    assert.is_true(mean ~= mean)
    assert.equal(0, x[{ { 2, 1 } }].count)
    assert.matches("outside", message(function() return x[{ { 2, 4 } }] end))
  end)
end)
