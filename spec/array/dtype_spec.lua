-- Dtypes: CUDA's names, sizes, ranges, and vectors.

local mw = require "moonwarp"
local random = require "support.random" "dtype_spec"
local suite = require "support.suite"

local function message(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok, "no error was raised")
  return err.message
end

-- name, string.pack format, least and greatest value
local integers = {
  { "char", "<i1", -128, 127 },
  { "uchar", "<I1", 0, 255 },
  { "short", "<i2", -32768, 32767 },
  { "ushort", "<I2", 0, 65535 },
  { "int", "<i4", -2147483648, 2147483647 },
  { "uint", "<I4", 0, 4294967295 },
  { "long", "<i8", math.mininteger, math.maxinteger },
  { "ulong", "<i8", 0, math.maxinteger },
  { "longlong", "<i8", math.mininteger, math.maxinteger },
  { "ulonglong", "<i8", 0, math.maxinteger },
}

describe("a dtype", function()
  it("of integers holds its whole range, bit for bit", function()
    for _, row in ipairs(integers) do
      local name, format, low, high = table.unpack(row)
      local values, packed = { low, high, 0, 1 }, {}
      for i = 5, 40 do values[i] = random(low, high) end
      for i, value in ipairs(values) do packed[i] = string.pack(format, value) end
      local a = mw.array(values, name)
      assert.equal(table.concat(packed), a:bytes(), name)
      assert.same(values, a:totable(), name)
      assert.equal("integer", math.type(a[1]))
      for i, value in ipairs(values) do assert.equal(value, a[i]) end
    end
  end)

  it("of integers refuses the next number on either side", function()
    for _, row in ipairs(integers) do
      local name, _, low, high = table.unpack(row)
      if high < math.maxinteger then
        assert.matches("does not take", message(mw.array, { high + 1 }, name))
        assert.matches("does not take", message(mw.array, { low - 1 }, name))
      end
      assert.matches("does not take 0.5", message(mw.array, { 0.5 }, name))
      assert.matches("does not take", message(mw.array, { 2.0 ^ 64 }, name))
      assert.matches("does not take", message(mw.array, { 0 / 0 }, name))
    end
  end)

  it("of integers takes floats that are whole", function()
    assert.same({ 3, -4 }, mw.array({ 3.0, -4.0 }, "int"):totable())
  end)

  it("of 64 bits unsigned is Lua's integer with the same bits", function()
    local a = mw.array({ -1, 2.0 ^ 63 }, "ulonglong")
    assert.equal(("\255"):rep(8), a:sub(1, 1):bytes())
    assert.equal(("\255"):rep(8), string.pack("<i8", a:totable()[1]))
    assert.equal(("\0"):rep(7) .. "\128", string.pack("<i8", a:totable()[2]))
  end)

  it("of floating point rounds as IEEE 754 says", function()
    for _ = 1, 100 do
      local value = (random() - 0.5) * 2.0 ^ random(-100, 100)
      assert.equal(string.pack("<f", value), mw.array({ value }, "float"):bytes())
      assert.equal(string.pack("<d", value), mw.array({ value }, "double"):bytes())
      assert.equal(value, mw.array({ value }, "double")[1])
    end
    local special = mw.array { math.huge, -math.huge, 0 / 0, -0.0 }
    assert.equal(math.huge, special[1])
    assert.equal(-math.huge, special[2])
    assert.is_true(special[3] ~= special[3])
    assert.equal(-math.huge, 1 / special[4])
  end)

  it("of half precision is IEEE binary16", function()
    -- value, bits: the examples of the format's description (Wikipedia, "Half-precision floating-point format")
    local known = {
      { 0, 0x0000 }, { 2.0 ^ -24, 0x0001 }, { 2.0 ^ -14 * 1023 / 1024, 0x03ff }, { 2.0 ^ -14, 0x0400 },
      { 0.333251953125, 0x3555 }, { 2047 / 2048, 0x3bff }, { 1, 0x3c00 }, { 1 + 2.0 ^ -10, 0x3c01 },
      { 65504, 0x7bff }, { math.huge, 0x7c00 }, { -2, 0xc000 }, { -math.huge, 0xfc00 },
    }
    for _, row in ipairs(known) do
      local a = mw.array({ row[1] }, "half")
      assert.equal(row[2], a:as("ushort")[1])
      assert.equal(row[1], a[1])
    end
    assert.equal(2, mw.zeros(1, "half").nbytes)
  end)

  it("of bfloat16 is a float's upper half, rounded once to nearest even", function()
    local all, values = {}, {}
    for bits = 0, 0xffff do
      all[#all + 1] = string.pack("<I2", bits)
      local is_nan = bits % 0x8000 > 0x7f80 -- LuaJIT keeps no other than its own
      values[#values + 1] = is_nan and 0 / 0 or string.unpack("<f", string.pack("<I2I2", 0, bits))
    end
    local a = mw.from_bytes(table.concat(all), "bfloat16")
    local read = a:totable()
    for i, value in ipairs(values) do
      assert.is_true(read[i] == value or value ~= value and read[i] ~= read[i], ("0x%04x"):format(i - 1))
    end
    assert.equal(values[0x4049 + 1], a[0x4049 + 1])
    assert.equal(3.140625, mw.array({ math.pi }, "bfloat16")[1])
    -- Between two neighbours: below, at and above the middle; the even one of them at the middle.
    local n = 2000
    local numbers, expected = {}, {}
    for i = 1, n do
      local bits = random(0, 0x7f7e)
      local low, high = values[bits + 1], values[bits + 2]
      local middle = low + (high - low) / 2
      local sign = random(0, 1) * 2 - 1
      local which, nudge = i % 3, (high - low) * 2.0 ^ -30
      numbers[i] = sign * (middle + (which - 1) * nudge)
      expected[i] = sign * (which == 0 and low or which == 2 and high or (bits % 2 == 0 and low or high))
    end
    assert.same(expected, mw.array(numbers, "bfloat16"):totable())
    local one = mw.zeros(1, "bfloat16")
    for i = 1, 50 do
      one[1] = numbers[i]
      assert.equal(expected[i], one[1])
    end
    local special = mw.array({ 1 / 0, -1 / 0, 0 / 0, 2.0 ^ -133, -2.0 ^ -134, -2.0 ^ -135 }, "bfloat16")
    assert.equal("\x80\x7f\x80\xff\xff\x7f\1\0\0\x80\0\x80", special:bytes())
    assert.matches("'bfloat16' holds %-3.38953139e%+38 to", message(mw.array, { 3.4e38 }, "bfloat16"))
    local sums = mw.array({ 1, 2, 256 }, "bfloat16")
    assert.equal(259, sums:sum())
    assert.equal(256, sums:max())
    assert.equal("bfloat16", sums.dtype)
    assert.equal(4, #mw.zeros(8, "bfloat16"):as "bfloat162")
    assert.matches("^{1, 2, 256}", tostring(sums):match "[^\n]*$")
  end)

  it("of bfloat16 is a kernel's __nv_bfloat16, alone, in pairs and in structs", function()
    local m = mw.compile [[
#include <cuda_bf16.h>
struct Item { __nv_bfloat16 weight; __nv_bfloat162 range; };
__constant__ __nv_bfloat16 gain;
__global__ void k(nv_bfloat16 x, __nv_bfloat162 v, Item item, const float *in, __nv_bfloat16 *out,
                  nv_bfloat162 *pairs) {
  int i = threadIdx.x;
  out[i] = __float2bfloat16(in[i] * (float)gain);
  __nv_bfloat16 left((float)x + (float)item.weight), right((float)v.y + (float)item.range.y);
  pairs[i] = __nv_bfloat162(left, right);
}]]
    m.gain = 1.5
    assert.equal(1.5, m.gain)
    local input = {}
    for i = 1, 40 do input[i] = random(0, 1000) / 8 end
    local out, pairs_ = mw.zeros(40, "bfloat16"), mw.zeros(40, "bfloat162")
    m.k(1, 40)(2.5, { 1, 7 }, { weight = 0.5, range = { 8, 9 } }, mw.array(input), out, pairs_)
    for i = 1, 40 do input[i] = input[i] * 1.5 end
    assert.same(mw.array(input, "bfloat16"):totable(), out:totable())
    assert.equal(3, pairs_[40].x)
    assert.equal(16, pairs_[40].y)
    assert.matches("parameter 1 'x' of k", message(m.k(1, 1), "no", {}, {}, nil, nil, nil))
    assert.matches("half", message(m.k(1, 1), 1, { 1, 1 }, { weight = 0, range = { 0, 0 } }, nil,
      mw.zeros(1, "half"), nil))
  end)

  it("of truth values holds booleans", function()
    local a = mw.array({ true, false, 1, 0 }, "bool")
    assert.same({ true, false, true, false }, a:totable())
    assert.equal("\1\0\1\0", a:bytes())
    assert.is_string(message(mw.array, { 2 }, "bool"))
    assert.matches("got true; write 1 or 0", message(mw.array, { true }, "int"))
  end)

  it("has CUDA's names, fixed-width names and C's spellings", function()
    for name, size in pairs {
      int8 = 1, uint8 = 1, int16 = 2, uint16 = 2, int32 = 4, uint32 = 4, int64 = 8, uint64 = 8,
      ["unsigned char"] = 1, ["unsigned int"] = 4, ["long long"] = 8, half2 = 4,
    } do
      assert.equal(size, mw.zeros(1, name).nbytes, name)
    end
    for _, wrong in ipairs { "float5", "int0", "string", "", "void", "half3" } do
      assert.matches("there is no dtype", message(mw.zeros, 1, wrong))
    end
    assert.matches("a dtype is a name", message(mw.zeros, 1, {}))
  end)
end)

describe("a vector dtype", function()
  -- sizes as the CUDA C Programming Guide's table of alignments implies them: three components are not padded
  local sizes = { char = 1, uchar = 1, short = 2, ushort = 2, int = 4, uint = 4, longlong = 8, float = 4, double = 8 }

  it("is as large as its components", function()
    for base, size in pairs(sizes) do
      for width = 1, 4 do assert.equal(size * width, mw.zeros(1, base .. width).nbytes, base .. width) end
    end
  end)

  it("takes and gives tables", function()
    local a = mw.array({ { 1, 2, 3 }, { x = 4, y = 5, z = 6 } }, "int3")
    assert.same({ 2 }, a.shape)
    assert.same({ { 1, 2, 3 }, { 4, 5, 6 } }, a:totable())
    a[1] = { 7, 8, z = 9 }
    assert.same({ 7, 8, 9 }, a[1])
    assert.equal(string.pack("<i4i4i4i4i4i4", 7, 8, 9, 4, 5, 6), a:bytes())
  end)

  it("gives values that answer to x, y, z, w and print", function()
    local v = mw.array({ { 1, 2, 3, 4 } }, "float4")[1]
    assert.equal(1, v.x)
    assert.equal(4, v.w)
    v.y = 20
    assert.equal(20, v[2])
    assert.is_nil(v.a)
    assert.equal("(1, 20, 3, 4)", (tostring(v):gsub("%.0", ""))) -- LuaJIT writes 1 for 1.0
  end)

  it("refuses tables that are almost vectors", function()
    local a = mw.zeros(2, "float3")
    assert.matches("this element%.z is missing: float3 has 3 components", message(function() a[1] = { 1, 2 } end))
    assert.matches("wants float3, a table of 3 numbers; this one holds more",
      message(function() a[1] = { 1, 2, 3, 4 } end))
    assert.matches("has no component 'w'", message(function() a[1] = { x = 1, y = 2, z = 3, w = 4 } end))
    assert.matches("this element%.y wants float, got the string", message(function() a[1] = { 1, "2", 3 } end))
    assert.matches("wants float3, as a table of 3 numbers, got the number 5", message(function() a[1] = 5 end))
  end)

  it("is filled, viewed and has several dimensions", function()
    local a = mw.full({ 2, 2 }, { 1, 2 }, "short2")
    assert.same({ { { 1, 2 }, { 1, 2 } }, { { 1, 2 }, { 1, 2 } } }, a:totable())
    assert.same({ { 1, 2, 1, 2 }, { 1, 2, 1, 2 } }, a:as("short"):totable())
    assert.same({ { 0, 0 } }, mw.zeros(1, "double2"):totable())
    assert.same({ { 1, 1, 1 } }, mw.ones(1, "uchar3"):totable())
  end)
end)

describe("a struct of a module", function()
  local m = mw.compile [[
    struct Vec { float x, y; };
    struct Particle { Vec at, speed; int id; bool alive; };
    __global__ void step(int n, Particle *p, float dt) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= n || !p[i].alive) return;
      p[i].at.x += dt * p[i].speed.x;
      p[i].at.y += dt * p[i].speed.y;
    }
    struct Node { int value; Node *next; };
    __device__ Node nodes[2];
    __global__ void first(const Vec *v, float *out) { *out = v[0].x; }
    struct Big { char bytes[40000]; };
    __global__ void big(Big *b) {}
  ]]
  local Particle = m:dtype "Particle"

  local function particle(id)
    return { at = { x = id, y = -id }, speed = { x = 1, y = 2 * id }, id = id, alive = id % 2 == 0 }
  end

  it("is a dtype of arrays, with tables as elements", function()
    local list = {}
    for i = 1, 1000 do list[i] = particle(i) end
    local p = mw.array(list, Particle)
    assert.same({ 1000 }, p.shape)
    assert.equal(24 * 1000, p.nbytes)
    assert.equal(Particle, p.dtype)
    m.step:each(1000)(1000, p, 0.5)
    for i = 1, 1000 do
      if i % 2 == 0 then list[i].at = { x = i + 0.5, y = -i + i } end
    end
    assert.same(list, p:totable())
    assert.same(list[8], p[8])
    p[8] = particle(80)
    assert.same(particle(80), p:sub(8)[1])
    assert.same({ particle(3), particle(3) }, mw.full(2, particle(3), Particle):totable())
    assert.equal(0, mw.zeros(3, Particle)[2].speed.y)
    assert.same({ { x = 0, y = 0 } }, mw.zeros(1, m:dtype "Vec"):totable())
  end)

  it("is named in errors, with the field", function()
    local p = mw.zeros(2, Particle)
    assert.matches("this element%.speed lacks the field 'y'", message(function()
      local bad = particle(1)
      bad.speed = { x = 1 }
      p[1] = bad
    end))
    assert.matches("element %[2%] has no field 'velocity'",
      message(mw.array, { particle(1), { velocity = 1 } }, Particle))
    assert.matches("wants Particle %*, got an array of float", message(m.step(1, 1), 2, mw.zeros(2), 0))
    assert.matches("wants const Vec %*, got an array of Particle", message(m.first(1, 1), p, mw.zeros(1)))
    assert.matches("a struct has fields", message(mw.ones, 2, Particle))
    assert.matches("Particle does not convert to float", message(p.to, p, "float"))
  end)

  it("may be the same struct of another module", function()
    local other = mw.compile "struct Vec { float x, y; }; __global__ void f(Vec *v) { v->y = 7; }"
    local v = mw.array({ { x = 1, y = 2 } }, m:dtype "Vec")
    other.f(1, 1)(v)
    assert.same({ x = 1, y = 7 }, v[1])
    assert.is_false(other:dtype "Vec" == m:dtype "Vec")
  end)

  it("has the name of a typedef where it has none of its own", function()
    local unnamed = mw.compile [[
typedef struct { int a, b; } Pair;
namespace far { typedef struct __align__(16) { Pair p; float f[3]; } Wide; typedef enum { one = 1, two } Count; }
template <class T> __global__ void set(T *out, far::Count n) { out[threadIdx.x] = T{{(int)threadIdx.x, n}}; }
__global__ void put(Pair *out, Pair by) { out[0] = by; }
__global__ void use(far::Wide *w) { w->f[1] = 3; }
]]
    local Wide, Pair = unnamed:dtype "Wide", unnamed:dtype "Pair"
    local a = mw.zeros(2, Wide)
    unnamed["set<far::Wide>"](1, 2)(a, 2)
    assert.same({ a = 1, b = 2 }, { a = a[2].p.a, b = a[2].p.b })
    local b = mw.zeros(1, Pair)
    unnamed.put(1, 1)(b, { a = 7, b = 8 })
    assert.equal(8, b[1].b)
    assert.equal("Pair *", unnamed.put.params[1].type)
    assert.equal("far::Count", unnamed["set<far::Wide>"].params[2].type)
  end)

  it("outlives its module", function()
    local v
    do
      local module = mw.compile "struct Pair { short a; double b; }; __global__ void f(Pair *p) { p->b = p->a; }"
      v = mw.array({ { a = 5, b = 0 } }, module:dtype "Pair")
      module.f(1, 1)(v)
    end
    collectgarbage()
    collectgarbage()
    assert.same({ a = 5, b = 5 }, v[1])
    assert.same({ a = 5, b = 5 }, v:copy():reshape(1, 1)[1][1])
    assert.equal("Pair {1} on " .. mw.device().name .. "\n{{a = 5, b = 5}}", tostring(v))
  end)

  it("may be as large as all of a kernel's parameters, as an argument and as an element", function()
    local big = mw.compile [[
struct Large { int v[8191]; };
struct Most { int v[8188]; };
__global__ void last(const Most m, int *r) { *r = m.v[8187]; }
__global__ void add(Large *list) { list[threadIdx.x].v[8190] += list[threadIdx.x].v[0]; }]]
    local values, r = {}, mw.zeros(1, "int")
    for i = 1, 8191 do values[i] = i end
    local a = mw.array({ { v = values }, { v = values } }, big:dtype "Large")
    big.add(1, 2)(a)
    assert.equal(8192, a[2].v[8191])
    values[1] = 5
    a[1] = { v = values }
    a:fill { v = values }
    big.add(1, 2)(a)
    assert.same({ 8196, 8196, 2 }, { a[1].v[8191], a:totable()[2].v[8191], a[2].v[2] })
    values[8191], values[8190], values[8189] = nil, nil, nil
    big.last(1, 1)({ v = values }, r)
    assert.equal(8188, r[1])
    big.last(1, 1)(("\1\0\0\0"):rep(8188), r)
    assert.equal(1, r[1])
  end)

  it("is found by name", function()
    assert.equal("Particle", Particle.name)
    assert.equal("Particle", tostring(Particle))
    assert.equal(24, Particle.size)
    assert.equal(Particle, m:dtype "Particle")
    assert.equal("dtype", mw.type(Particle))
    assert.equal(16, m:dtype "Node".size)
    assert.equal("float2", m:dtype "float2")
    assert.matches("uses a struct 'Particel'", message(m.dtype, m, "Particel"))
    assert.matches("Big has 40000 bytes", message(m.dtype, m, "Big"))
    assert.matches("or a struct's m:dtype%(name%)", message(mw.zeros, 1, 5.5, {}))
  end)
end)

describe("a NaN of any bits", function()
  -- Those of LuaJIT's own values among them: nil, booleans, strings, tables.
  local tops = {
    float = { "\127\192", "\255\192", "\255\248", "\255\255" },
    double = { "\127\248", "\255\248", "\255\249", "\255\252", "\255\255" },
    half = { "\127\255", "\255\255", "\254\001" }, bfloat16 = { "\127\192", "\255\249", "\255\255" },
  }

  local function check(value)
    assert.equal("number", type(value))
    assert.is_true(value ~= value)
  end

  local function check_bytes(bytes, dtype)
    local a = mw.from_bytes(bytes:rep(3), dtype)
    check(a[2])
    check(a:totable()[3])
    check(a:sum())
    check(a:max())
    if not suite.on_gpu then check(a:host()[1]) end
  end

  for dtype, list in pairs(tops) do
    it("is read as a NaN from " .. dtype, function()
      local size = mw.zeros(1, dtype).nbytes
      for _, top in ipairs(list) do
        for _, fill in ipairs { "\0", "\1", "\255" } do check_bytes((top .. fill:rep(size - 2)):reverse(), dtype) end
      end
    end)
  end

  it("is read as a NaN from a vector", function()
    check(mw.from_bytes(("\255"):rep(16), "float2")[1][2])
  end)
end)
