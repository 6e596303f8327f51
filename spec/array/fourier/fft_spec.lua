-- mw.fft and mw.convolve: compared with NumPy's values, plain sums, and known transforms.
local mw = require "moonwarp"
local raw = require "moonwarp.binding"
local failure = require "support.failure"
local numpy = require "support.numpy"

local function message(...) return failure(...).message end

-- The transform by its definition, in double precision.
local function by_definition(re, im)
  local n, cos, sin = #re, {}, {}
  for j = 0, n - 1 do cos[j], sin[j] = math.cos(2 * math.pi * j / n), -math.sin(2 * math.pi * j / n) end
  local out = {}
  for k = 0, n - 1 do
    local a, b = 0, 0
    for j = 0, n - 1 do
      local c, s = cos[j * k % n], sin[j * k % n]
      a, b = a + re[j + 1] * c - im[j + 1] * s, b + re[j + 1] * s + im[j + 1] * c
    end
    out[k + 1] = { a, b }
  end
  return out
end

-- The distance of a result from what it should be, relative to its size, in units of epsilon log2 n.
local function distance(got, wanted, n)
  local off, size = 0, 0
  local list = got:totable()
  assert.equal(#wanted, #list)
  for k, z in ipairs(wanted) do
    off = off + (list[k][1] - z[1]) ^ 2 + (list[k][2] - z[2]) ^ 2
    size = size + z[1] ^ 2 + z[2] ^ 2
  end
  local epsilon = got.dtype == "complex64" and 2 ^ -24 or 2 ^ -53
  return math.sqrt(off / size) / epsilon / math.max(1, math.log(n) / math.log(2))
end

local LIMIT = 3

-- Convolutions by transforms, however short they are.
local function by_transforms(test)
  local before = raw.part("fourier.convolve") and raw.convolve_settings.DIRECT
  raw.convolve_settings.DIRECT = 0
  local ok, why = pcall(test)
  raw.convolve_settings.DIRECT = before
  if not ok then error(why, 0) end
end

numpy.run("complex/fft_float", describe, it, { error = 2 ^ -19 })
numpy.run("complex/fft_double", describe, it, { error = 2 ^ -48 })
numpy.run("complex/fft_float", describe, it, { title = "convolutions in single precision by transforms,",
  error = 2 ^ -18, only = "convolve", around = by_transforms })
numpy.run("complex/fft_double", describe, it, { title = "correlations in double precision by transforms,",
  error = 2 ^ -47, only = "correlate", around = by_transforms })

describe("Fourier transforms", function()
  it("are the sums of their definition for every length from 1 to 64, and for primes", function()
    local lengths = { 67, 97, 127, 134 }
    for n = 1, 64 do lengths[#lengths + 1] = n end
    math.randomseed(5)
    for _, n in ipairs(lengths) do
      local re, im, both = {}, {}, {}
      for j = 1, n do
        re[j], im[j] = math.random(-99, 99) / 64, math.random(-99, 99) / 64
        both[j] = { re[j], im[j] }
      end
      local wanted = by_definition(re, im)
      for _, dtype in ipairs { "complex64", "complex128" } do
        local a = mw.array(both, dtype)
        local y = mw.fft.fft(a)
        local off = distance(y, wanted, n)
        assert.is_true(off < LIMIT, ("%s of %d: %.2f"):format(dtype, n, off))
        off = distance(mw.fft.ifft(y), both, n)
        assert.is_true(off < 2 * LIMIT, ("%s back of %d: %.2f"):format(dtype, n, off))
        local x = a:real():copy()
        local half = mw.fft.rfft(x)
        assert.equal(math.floor(n / 2) + 1, half.count)
        local back = mw.fft.irfft(half, n)
        assert.equal(x.dtype, back.dtype)
        local apart = (back - x):norm() / math.max(1e-9, x:norm()) / (dtype == "complex64" and 2 ^ -24 or 2 ^ -53)
        assert.is_true(apart < 2 * LIMIT * math.max(1, math.log(n) / math.log(2)), ("real, %d: %.2f"):format(n, apart))
      end
    end
  end)

  it("of one impulse are roots of unity, for long lengths of any kind", function()
    for _, n in ipairs { 128, 243, 625, 1000, 1009, 2048, 2018, 3 * 5 * 7 * 11 * 13, 16384, 65536, 65537 } do
      for _, dtype in ipairs { "complex64", "complex128" } do
        local a, at = mw.zeros(n, dtype), 5
        a[at + 1] = 1
        local wanted = {}
        for k = 0, n - 1 do
          local angle = -2 * math.pi * (at * k % n) / n
          wanted[k + 1] = { math.cos(angle), math.sin(angle) }
        end
        local off = distance(mw.fft.fft(a), wanted, n)
        assert.is_true(off < LIMIT, ("%s of %d: %.2f"):format(dtype, n, off))
      end
    end
  end)

  it("take batches in any layout, along any axis", function()
    local a = mw.random(3):uniform { 6, 10, 7 }
    for axis = 1, 3 do
      local last = mw.fft.fft(a:transpose(axis, 3):contiguous()):transpose(axis, 3)
      local y = mw.fft.fft(a, { axis = axis })
      assert.is_true((y - last):norm() <= 1e-6 * y:norm())
      local strided = mw.zeros(12, 10, 14)[{ { 12, 1, -2 }, {}, { 1, 14, 2 } }]
      strided:assign(a)
      assert.is_true((mw.fft.fft(strided, { axis = axis }) - y):norm() <= 1e-6 * y:norm())
      local half = mw.fft.rfft(a, { axis = axis })
      assert.is_true((mw.fft.rfft(strided, { axis = axis }) - half):norm() <= 1e-6 * y:norm())
    end
    local long = mw.ones(3000, 4)
    assert.is_true((mw.fft.rfft(long):sum() - 12000):abs() < 0.01)
    assert.same({ 0, 3 }, mw.fft.fft(mw.zeros(0, 3)).shape)
    local part = mw.arange(9):sub(2) -- floats that are not aligned as pairs
    assert.is_true((mw.fft.rfft(part)[1] - 36):abs() < 1e-4)
  end)

  it("have the dtype that NumPy's have", function()
    for from, to in pairs { half = "complex64", bfloat16 = "complex64", float = "complex64", double = "complex128",
      int = "complex128", bool = "complex128", complex64 = "complex64" } do
      assert.equal(to, mw.fft.fft(mw.ones(4, from)).dtype)
    end
    assert.equal("double", mw.fft.irfft(mw.ones(3, "complex128")).dtype)
    assert.equal("complex64", mw.fft.rfft(mw.ones(3, "half")).dtype)
  end)

  it("say what they do not take", function()
    assert.matches("axis 2 of {2, 0} has no elements; n = … pads", message(mw.fft.fft, mw.zeros(2, 0)))
    assert.same({ 2, 3 }, mw.fft.fft(mw.zeros(2, 0), 3).shape)
    assert.matches('norm is "backward", "ortho" or "forward", got the string "none"',
      message(mw.fft.fft, mw.zeros(2), { norm = "none" }))
    assert.matches("rfft takes real numbers, got complex64: see mw.fft.fft",
      message(mw.fft.rfft, mw.zeros(2, "complex64")))
    assert.matches("n is a whole number from 1 on", message(mw.fft.fft, mw.zeros(2), 0))
    assert.matches("at least 2 axes, got {4}", message(mw.fft.fft2, mw.zeros(4)))
    assert.matches("works on numbers, not on elements of float2", message(mw.fft.fft, mw.zeros(4, "float2")))
    assert.matches('mode is "full", "same" or "valid"', message(mw.convolve, mw.ones(2), mw.ones(2), "all"))
    assert.matches("one dimension, or of two; got {2} and {2, 2}", message(mw.convolve, mw.ones(2), mw.ones(2, 2)))
    assert.matches("convolve of an empty array", message(mw.convolve, mw.ones(2), mw.zeros(0)))
  end)

  it("make long convolutions as the sums do", function()
    local a, b = mw.random(8):uniform(3000, { dtype = "double" }), mw.random(9):uniform(700, { dtype = "double" })
    local y = mw.convolve(a, b)
    local p, q = a:totable(), b:totable()
    for _, at in ipairs { 1, 2, 700, 2000, 3699 } do
      local sum = 0
      for j = math.max(1, at - 2999), math.min(700, at) do sum = sum + q[j] * p[at - j + 1] end
      assert.is_true(math.abs(y[at] - sum) < 1e-10, tostring(at))
    end
    assert.equal(2301, mw.convolve(a, b, "valid").count)
  end)
end)
