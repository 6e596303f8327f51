-- Symbols: a module's __device__ and __constant__ variables, read and assigned as fields of the module.

local mw = require "moonwarp"
local random = require "support.random" "symbol_spec"

local function message(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok, "no error was raised")
  return err.message
end

local m = mw.compile [[
__device__ int i = 42;
__constant__ float gain = 1.5f;
__device__ double zero;
__device__ unsigned long long big;
__device__ bool on = true;
__constant__ float4 color = {1, 2, 3, 4};
__constant__ float weights[5] = {1, 2, 3};
__device__ int table[2][3];
struct Pair { short a; double b; };
struct Scene { Pair pairs[2]; int3 size; float *pixels; };
__device__ Scene scene;
__device__ float *pointer;
__device__ char word[8] = "moon";
namespace ns { __device__ int inside = 7; }
__device__ int history[4];

__global__ void read(double *out) {
  out[0] = i; out[1] = gain; out[2] = color.x + 10 * color.y + 100 * color.z + 1000 * color.w;
  for (int k = 0; k < 5; k++) out[3 + k] = weights[k];
  for (int k = 0; k < 6; k++) out[8 + k] = table[k / 3][k % 3];
  out[14] = scene.pairs[1].a; out[15] = scene.pairs[1].b; out[16] = scene.size.z; out[17] = *scene.pixels;
}
__global__ void write() {
  i = -5; color_out: zero = 0.25; big = ~0ull; on = false; table[1][2] = 9;
  scene.pairs[0].b = 2.5; for (int k = 0; k < 4; k++) history[k] = k * k;
}
__global__ void follow(float *out) { *out = pointer ? *pointer : -1; }
]]

describe("a symbol", function()
  it("has the value from the source", function()
    assert.equal(42, m.i)
    assert.equal("integer", math.type(m.i))
    assert.equal(1.5, m.gain)
    assert.equal(0, m.zero)
    assert.equal(true, m.on)
    assert.same({ 1, 2, 3, 4 }, m.color)
    assert.equal(3, m.color.z)
    assert.same({ 1, 2, 3, 0, 0 }, m.weights)
    assert.same({ { 0, 0, 0 }, { 0, 0, 0 } }, m.table)
    assert.is_nil(m.pointer)
    assert.same({ 109, 111, 111, 110, 0, 0, 0, 0 }, m.word)
    assert.equal(7, m["ns::inside"])
  end)

  it("is assigned, and kernels see it", function()
    m.i = 17
    m.gain = 0.5
    m.color = { x = 4, y = 3, z = 2, w = 1 }
    m.weights = { 5, 4, 3, 2, 1 }
    m.table = { { 1, 2, 3 }, { 4, 5, 6 } }
    m.scene = {
      pairs = { { a = 1, b = 2 }, { a = -3, b = 4.5 } },
      size = { 640, 480, 3 },
      pixels = mw.array { 99 },
    }
    collectgarbage()
    collectgarbage() -- the array in the scene is the module's to keep
    local out = mw.zeros(18, "double")
    m.read(1, 1)(out)
    assert.same({ 17, 0.5, 1234, 5, 4, 3, 2, 1, 1, 2, 3, 4, 5, 6, -3, 4.5, 3, 99 }, out:totable())
    assert.equal(17, m.i)
    assert.same({ 5, 4, 3, 2, 1 }, m.weights)
    assert.same({ { a = 1, b = 2 }, { a = -3, b = 4.5 } }, m.scene.pairs)
  end)

  it("is read after the kernels that wrote it", function()
    m.write(1, 1)()
    assert.equal(-5, m.i)
    assert.equal(0.25, m.zero)
    assert.equal(("\255"):rep(8), string.pack("<i8", m.big))
    assert.equal(false, m.on)
    assert.equal(9, m.table[2][3])
    assert.same({ 0, 1, 4, 9 }, m.history)
  end)

  it("of a pointer holds an array, and keeps it", function()
    local out = mw.zeros(1)
    m.follow(1, 1)(out)
    assert.equal(-1, out[1])
    m.pointer = mw.array { 3.5, 4.5 }
    collectgarbage()
    collectgarbage()
    local others = {}
    for k = 1, 10 do others[k] = mw.full(2, k) end
    m.follow(1, 1)(out)
    assert.equal(3.5, out[1])
    assert.same({ 3.5, 4.5 }, m.pointer:totable())
    m.pointer = m.pointer:sub(2)
    m.follow(1, 1)(out)
    assert.equal(4.5, out[1])
    m.pointer = nil
    assert.is_nil(m.pointer)
    m.follow(1, 1)(out)
    assert.equal(-1, out[1])
    assert.equal(10, #others)
  end)

  it("takes an array of its type and size, and text where it is one of char", function()
    local values = {}
    for k = 1, 5 do values[k] = random(-100, 100) end
    m.weights = mw.array(values)
    assert.same(values, m.weights)
    assert.matches("weights wants .-, got an array of 4 float", message(function() m.weights = mw.zeros(4) end))
    m.word = "warp"
    assert.equal("warp\0\0\0\0", m:symbol "word":bytes())
  end)

  it("refuses values of other types, by name, and keeps its value", function()
    m.i = 1
    for _, case in ipairs {
      { "i", 2 ^ 31, "^i does not take 2147483648" },
      { "i", 0.5, "^i does not take 0.5" },
      { "i", "5", '^i wants int, got the string "5"' },
      { "i", nil, "^i wants int, got nil" },
      { "color", { 1, 2, 3 }, "^color.w is missing" },
      { "weights", { 1, 2, 3 }, "^weights wants .-, got a sequence of 3" },
      { "table", { { 1, 2, 3 }, { 4, 5, "x" } }, "^table%[2%]%[3%] wants int, got the string" },
      { "scene", { size = { 0, 0, 0 }, pixels = mw.null }, "^scene lacks the field 'pairs'" },
      { "pointer", 5, "^pointer wants float %*, got the number 5" },
      { "pointer", mw.zeros(1, "int"), "^pointer wants float %*, got an array of int" },
    } do
      assert.matches(case[3], message(function() m[case[1]] = case[2] end))
    end
    assert.equal(1, m.i)
  end)

  it("is distinguished from kernels", function()
    assert.matches("'read' is a kernel; only variables", message(function() m.read = 5 end))
    assert.is_string(message(function() m.nothing = 5 end))
  end)

  it("is also an object", function()
    local s = m:symbol "weights"
    assert.equal("symbol", mw.type(s))
    assert.equal("weights", s.name)
    assert.equal(20, s.size)
    assert.is_true(s.address > 0)
    s:set { 1, 2, 3, 4, 5 }
    assert.same({ 1, 2, 3, 4, 5 }, s:get())
    s:set_bytes(string.pack("<ff", 20, 30), 4)
    assert.equal(string.pack("<fffff", 1, 20, 30, 4, 5), s:bytes())
    assert.is_string(message(s.set_bytes, s, "12345678", 16))
    assert.is_string(message(s.set_bytes, s, "1", -1))
    assert.matches("^variable weights of type float", tostring(s))
  end)

  it("may be given to a kernel as a pointer", function()
    local module = mw.compile [[
      __device__ int cells[4] = {1, 2, 3, 4};
      __global__ void double_all(int *p) { p[threadIdx.x] *= 2; }
    ]]
    module.double_all(1, 4)(module:symbol "cells")
    assert.same({ 2, 4, 6, 8 }, module.cells)
  end)

  it("belongs to its module alone", function()
    local text = "__device__ int v = 1; __global__ void f() { v++; }"
    local a, b = mw.compile(text), mw.compile(text)
    a.f(1, 1)()
    a.f(1, 1)()
    assert.equal(3, a.v)
    assert.equal(1, b.v)
  end)

  it("outlives the module's name", function()
    local s = mw.compile("__device__ int v = 5; __global__ void f() {}"):symbol "v"
    collectgarbage()
    collectgarbage()
    assert.equal(5, s:get())
    s:set(6)
    assert.equal(6, s:get())
  end)
end)
