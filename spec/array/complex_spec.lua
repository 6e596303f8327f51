-- Complex numbers: elements, parts, arithmetic compared with NumPy's, and as values of Lua.
local mw = require "moonwarp"
local failure = require "support.failure"
local numpy = require "support.numpy"

local function message(...) return failure(...).message end

local function is_single(expression)
  return expression:find "x" or expression:find "single" or expression:find "^f"
end

numpy.run("complex/complex", describe, it)
numpy.run("complex/rounded", describe, it, { title = "complex, single precision,", error = 2 ^ -20, only = is_single })
numpy.run("complex/rounded", describe, it, { title = "complex, double precision,", error = 2 ^ -47,
  only = "^[zidnghu2%(][^x]*$" })

describe("complex arrays", function()
  it("are written from numbers, tables and values, and read as values", function()
    local a = mw.array({ { 1, 2 }, { re = 3, im = -4 }, 5, mw.complex(6, 7) }, "complex64")
    assert.same({ 4 }, a.shape)
    assert.equal("1+2i 3-4i 5+0i 6+7i", table.concat({ tostring(a[1]), tostring(a[2]), tostring(a[3]),
      tostring(a[4]) }, " "))
    a[1], a[2], a[3] = 2, { 0, 1 }, mw.complex(0.5, -1)
    assert.equal(2, a[1].re)
    assert.equal(1, a[2].im)
    assert.is_true(a[3] == mw.complex(0.5, -1))
    assert.is_true(a:fill(mw.complex(1, 1)):totable()[4] == mw.complex(1, 1))
    assert.is_true(mw.ones(2, "complex128")[2] == mw.complex(1))
    assert.is_true(mw.full(2, mw.complex(0, 1), "complex64")[2] == mw.complex(0, 1))
    assert.is_true(mw.full({ 2, 2 }, mw.complex(0, 1))[{ 2, 1 }] == mw.complex(0, 1))
    local i = mw.complex(0, 1)
    local rows = mw.array { { i, 2 * i }, { 3 + i, 4 * i } }
    assert.equal("complex64", rows.dtype)
    assert.is_true(rows.shape[2] == 2 and rows[{ 1, 2 }] == 2 * i and rows[{ 2, 1 }] == 3 + i)
    assert.equal("float", mw.array({ { 1, 2 } }).dtype)
    assert.equal("complex64 {2} on " .. a.device.name .. "\n{0+1i, 0+1i}",
      tostring(mw.full(2, mw.complex(0, 1), "complex64")))
    assert.same({ 2, 2 }, mw.array({ { { 1, 2 }, { 3, 4 } }, { { 5, 6 }, { 7, 8 } } }, "complex64").shape)
    assert.equal("complex", mw.type(a[1]))
  end)

  it("say what they do not take", function()
    local a = mw.zeros(2, "complex64")
    assert.matches("wants complex64, as a number, {re, im} or mw.complex%(re, im%), got the string", message(function()
      a[1] = "1"
    end))
    assert.matches("has no component 'x'", message(function() a[1] = { x = 1 } end))
    assert.matches("%.im is missing: complex64 has 2 components", message(function() a[1] = { 1 } end))
    assert.matches("this one holds more", message(function() a[1] = { 1, 2, 3 } end))
    assert.matches("%[1%]%.im does not take 1e%+300", message(mw.array, { { 1, 1e300 } }, "complex64"))
    for name, other in pairs { lt = a, maximum = a, mod = a, atan2 = a, floor = false, sign = false } do
      assert.matches("works on real numbers, not on complex64: give it a:real%(%), a:imag%(%)",
        message(other and function() mw[name](a, other) end or function() mw[name](a) end), 1, false, name)
    end
    for _, name in ipairs { "max", "argmin", "median", "unique" } do
      assert.matches("works on real numbers, not on complex64", message(a[name], a), 1, false, name)
    end
    assert.matches("topk works on real numbers", message(a.topk, a, 1))
    assert.matches("complex numbers are not float: give it a:real%(%)", message(a.to, a, "float"))
    assert.matches("assign to float works on real numbers", message(function() mw.zeros(2):assign(a) end))
    assert.matches("write_csv works on real numbers, not on complex64: give it a:real%(%)",
      message(mw.write_csv, os.tmpname(), a:reshape(1, 2)))
    assert.matches("wants arrays and numbers, got a table; mw.array.* mw.complex%(re, im%) a number",
      message(function() return a + { 1, 2 } end))
  end)

  it("have their parts as views, which are assigned", function()
    local a = mw.array({ { { 1, 2 }, { 3, 4 } }, { { 5, 6 }, { 7, 8 } } }, "complex128")
    a:real()[{ 2 }] = 0
    a:imag():assign(mw.array { { 9 }, { 10 } })
    assert.same({ 1, 9, 3, 9, 0, 10, 0, 10 }, a:as("double"):reshape(-1):totable())
    a:transpose():real():assign(mw.array { { 1, 2 }, { 3, 4 } })
    assert.same({ 1, 3, 2, 4 }, a:real():copy():reshape(-1):totable())
  end)

  it("are cuComplex.h's types and vectors to kernels, and arrays of vectors stay what they are", function()
    local m = mw.compile [[
      #include <cuComplex.h>
      __global__ void multiply(cuFloatComplex *x, const cuDoubleComplex *y, float2 *z) {
        int i = threadIdx.x;
        x[i] = cuCmulf(x[i], make_cuFloatComplex((float)y[i].x, (float)y[i].y));
        z[i].x += 1;
      }]]
    local x = mw.array({ { 1, 2 }, { 3, 4 } }, "complex64")
    local y, z = mw.array({ { 0, 1 }, { 2, 0 } }, "complex128"), mw.zeros(2, "complex64")
    m.multiply(1, 2)(x, y, z)
    assert.same({ -2, 1, 6, 8 }, x:as("float"):totable())
    assert.is_true(z[2] == mw.complex(1))
    local pairs_ = mw.array({ { 1, 2 } }, "float2")
    m.multiply(1, 1)(pairs_, y, pairs_)
    assert.equal("float2", pairs_.dtype)
    assert.is_nil(rawget(pairs_[1], "re"))
    assert.equal(-1, pairs_[1].x)
    assert.equal("complex64", pairs_:as("complex64").dtype)
    assert.matches("works on numbers, not on elements of float2", message(function() return pairs_ + 1 end))
  end)

  it("are kept by .npy files", function()
    local path = os.tmpname()
    for _, dtype in ipairs { "complex64", "complex128" } do
      mw.save_npy(path, mw.array({ { 1, 2 }, { 3, -4 } }, dtype))
      local back = mw.load_npy(path)
      assert.equal(dtype, back.dtype)
      assert.is_true(back[2] == mw.complex(3, -4))
    end
    os.remove(path)
  end)

  it("are written into out, lazily computed, fused and mapped", function()
    local a = mw.array({ { 1, 2 }, { 3, 4 } }, "complex64")
    local out = mw.zeros(2, "complex128")
    assert.is_true(mw.multiply(a, mw.complex(0, 1), { out = out }) == out)
    assert.is_true(out[2] == mw.complex(-4, 3))
    assert.matches("complex64, which cannot be written into out, an array of float",
      message(mw.add, a, a, { out = mw.zeros(2) }))
    assert.is_true(a:sum { keepdims = true, out = mw.zeros(1, "complex64") }[1] == mw.complex(4, 6))
    local e = mw.lazy(a) * mw.complex(0, 1) + 1
    assert.equal("(x1 * (0+1i)) + 1", tostring(e))
    assert.equal("complex64", e.dtype)
    assert.is_true(e:eval()[1] == mw.complex(-1, 1))
    assert.is_true(mw.fuse(function(x) return x:abs() + x:real() end)(a)[2] == 8)
    local mapped = mw.map("x * x + y", { x = a, y = mw.array { 1, 2 } })
    assert.equal("complex64", mapped.dtype)
    assert.is_true(mapped[1] == mw.complex(-2, 4))
  end)

  it("agree with a plain loop for random shapes and strides", function()
    local seed = os.time()
    math.randomseed(seed)
    local function pick(n) return math.random(1, n) end
    for _ = 1, 20 do
      local n, m = pick(9), pick(9)
      local list, other = {}, {}
      for i = 1, n * m do
        list[i] = mw.complex(math.random(-9, 9), math.random(-9, 9))
        other[i] = mw.complex(math.random(-9, 9), math.random(-9, 9))
      end
      local a = mw.array(list, "complex64"):reshape(n, m):transpose():flip(1)
      local b = mw.array(other, "complex128"):reshape(n, m):transpose()
      local product, total = a * b, mw.complex(0)
      for i = 1, m do
        for k = 1, n do
          local wanted = list[(k - 1) * m + m + 1 - i] * other[(k - 1) * m + i]
          total = total + wanted
          assert.is_true(product[{ i, k }] == wanted, ("seed %d"):format(seed))
        end
      end
      assert.is_true(product:sum() == total, ("seed %d"):format(seed))
    end
  end)
end)

describe("complex numbers", function()
  local z, w = mw.complex(3, 4), mw.complex(1, -2)

  it("compute", function()
    assert.equal("4+2i 2+6i 11-2i -1+2i -3-4i", table.concat({ tostring(z + w), tostring(z - w), tostring(z * w),
      tostring(z / w), tostring(-z) }, " "))
    assert.is_true(z ^ 2 == mw.complex(-7, 24))
    assert.is_true(2 * z + 1 == mw.complex(7, 8))
    assert.equal("0.5+0i", tostring(1 / mw.complex(2)))
    assert.equal(5, z:abs())
    assert.is_true(z:conj() == mw.complex(3, -4))
    assert.is_true(math.abs(mw.complex(0, 2):angle() - math.pi / 2) < 1e-15)
    local root = mw.complex(-4) ^ 0.5
    assert.is_true(math.abs(root.re) < 1e-15 and math.abs(root.im - 2) < 1e-15)
    assert.is_true(z == mw.complex(3, 4) and z ~= w)
    assert.equal("inf", tostring((mw.complex(1) / 0).re))
  end)

  it("have parts that are read and written", function()
    local v = mw.complex(1)
    v.im = 3
    assert.equal(1, v.re)
    assert.equal(3, v.im)
    assert.is_nil(v.x)
    assert.matches("wants numbers and arrays, got the string", message(function() return v + "x" end))
  end)
end)
