-- Fourier transforms by FFTW: compared with the library's own kernels, and without it.
local mw = require "moonwarp"
local raw = require "moonwarp.binding"
local failure = require "support.failure"
local child = require "support.child"

local function message(...) return failure(...).message end
local is_there = raw.fourier_library() ~= nil

describe("a library for Fourier transforms", function()
  it("is named, or said to be missing", function()
    local name, why = raw.fourier_library()
    assert.is_truthy(name or why)
  end)

  it("transforms what the own kernels transform", function()
    if not is_there then return pending "no library" end
    local own = raw.part "fourier.kernels"
    for _, dtype in ipairs { "complex64", "complex128" } do
      for _, sizes in ipairs { { 1, 60, 1 }, { 5, 7, 3 }, { 100, 16, 1 }, { 1000, 9, 1 }, { 2, 67, 4 },
        { 40, 1009, 1 }, { 3, 2 * 67, 20 }, { 2, 4091, 1 } } do
        local outer, n, inner = sizes[1], sizes[2], sizes[3]
        local part = dtype == "complex64" and "float" or "double"
        local x = mw.random(2):uniform({ outer * n * inner * 2 }, { dtype = part }):as(dtype)
        local y, z = mw.zeros(x.count, dtype), mw.zeros(x.count, dtype)
        for sign, kind in pairs { [-1] = "forward", [1] = "inverse" } do
          assert.is_true(raw.array_fourier(x, y, kind, n, inner))
          own.transform(x, z, outer, n, inner, sign, 1)
          assert.is_true((y - z):norm() <= (dtype == "complex64" and 2e-6 or 4e-15) * z:norm(), kind .. n)
        end
      end
    end
  end)

  it("transforms columns side by side as it transforms lines", function()
    if not is_there then return pending "no library" end
    for _, dtype in ipairs { "float", "double" } do
      -- outer, n, inner: fewer columns than a panel has, one more than panels have, short and long ones
      for _, sizes in ipairs { { 3, 1024, 1 }, { 2, 1000, 3 }, { 1, 128, 33 }, { 3, 67, 250 }, { 1, 8, 5001 },
        { 2, 1009, 3 }, { 2, 2 * 127, 19 } } do
        local outer, n, inner = sizes[1], sizes[2], sizes[3]
        local x = mw.random(3):uniform({ outer, n, inner }, { dtype = dtype })
        local lines = x:permute(1, 3, 2):contiguous()
        local function same(y, z, what)
          local limit = (dtype == "float" and 1e-6 or 2e-15) * tonumber(z:abs():norm())
          assert.is_true(tonumber((y - z:permute(1, 3, 2)):abs():norm()) <= limit, what .. table.concat(sizes, " "))
        end
        local y, z = mw.fft.rfft(x, { axis = 2 }), mw.fft.rfft(lines)
        same(y, z, "rfft ")
        same(mw.fft.irfft(y, { n = n, axis = 2 }), mw.fft.irfft(z, n), "irfft ")
        same(mw.fft.fft(x, { axis = 2 }), mw.fft.fft(lines), "fft ")
        same(mw.fft.ifft(y, { axis = 2 }), mw.fft.ifft(z), "ifft ")
      end
    end
  end)

  -- In four steps, of factors that are whole panels or not, and that are odd: results beside those of strided plans.
  it("transforms long lines, few or several, with every worker", function()
    if not is_there then return pending "no library" end
    for _, dtype in ipairs { "complex64", "complex128" } do
      for _, sizes in ipairs { { 1, 2 ^ 17 }, { 1, 363 * 365 }, { 3, 1025 * 1027 } } do
        local outer, n, part = sizes[1], sizes[2], dtype == "complex64" and "float" or "double"
        local x = mw.random(5):uniform({ outer * n * 2 }, { dtype = part }):as(dtype):reshape(outer, n)
        local twice = mw.stack({ x, x }, { axis = 3 })
        local y, z = mw.empty({ outer, n }, dtype), mw.empty({ outer, n, 2 }, dtype)
        for _, kind in ipairs { "forward", "inverse" } do
          assert.is_true(raw.array_fourier(x, y, kind, n, 1))
          assert.is_true(raw.array_fourier(twice, z, kind, n, 2))
          local limit = (dtype == "complex64" and 2e-6 or 4e-15) * y:norm()
          assert.is_true((y - z[{ {}, {}, 2 }]):norm() <= limit, ("%s %s of %d"):format(dtype, kind, n))
        end
      end
    end
  end)

  it("takes its place in the stream, and retains what it transforms", function()
    if not is_there then return pending "no library" end
    local y = mw.zeros(4096, "complex64")
    for _ = 1, 30 do
      local x = mw.ones(4096, "complex64")
      assert.is_true(raw.array_fourier(x, y, "forward", 4096, 1))
      x:free()
    end
    assert.is_true(y[1] == mw.complex(4096))
  end)

  it("refuses what does not fit", function()
    local a = mw.zeros(8, "complex64")
    assert.matches("cannot write into its input", message(raw.array_fourier, a, a, "forward", 8, 1))
    local short = mw.zeros(7, "complex64")
    assert.matches("sizes of a transform's arrays", message(raw.array_fourier, a, short, "forward", 8, 1))
    assert.matches("contiguous arrays of complex numbers", message(raw.array_fourier, a, mw.zeros(8), "forward", 8, 1))
    assert.matches("contiguous arrays of complex numbers",
      message(raw.array_fourier, a, mw.zeros(8, "float2"), "forward", 8, 1))
  end)

  it("is left out where MOONWARP_FFT is own, and where it is hidden", function()
    if mw.device().name:sub(1, 3) ~= "cpu" then return pending "for the CPU" end
    local script = [[
      local mw = require "moonwarp"
      print((mw.fft.fft(mw.ones(12))[1].re))
      print(mw.doctor():match "Fourier transforms on the CPU: [^\n]*")]]
    assert.matches("12", child { script, environment = { MOONWARP_FFT = "own" } }.output, 1, true)
    local hidden = child { script, environment = { MOONWARP_FFTW = "off" } }
    assert.matches("12", hidden.output, 1, true)
    assert.matches("Fourier transforms on the CPU: moonwarp's own kernels", hidden.output, 1, true)
  end)
end)
