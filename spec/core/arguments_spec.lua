-- Arguments: each is converted to the signature's type, or refused with the expected type.

local mw = require "moonwarp"
local collect = require("support.lifetime").collect
local random = require "support.random" "arguments_spec"

local function message(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok, "no error was raised")
  return err.message
end

local m = mw.compile [[
template <typename T> __global__ void put(T value, T *out) { out[0] = value; }

struct Matrix { int width, height, stride; float *elements; };

__global__ void sum(Matrix a, float *out) {
  float total = 0;
  for (int y = 0; y < a.height; y++)
    for (int x = 0; x < a.width; x++) total += a.elements[y * a.stride + x];
  *out = total;
}

struct Vec { float x, y; };
struct Inner { char tag; double value; short list[3]; };
struct Outer { Vec a; Inner b[2]; union { int i; float f; }; float4 v; bool on; };

__global__ void take(Outer o, double *out) {
  out[0] = o.a.x; out[1] = o.a.y;
  for (int k = 0; k < 2; k++) {
    out[2 + 5 * k] = o.b[k].tag; out[3 + 5 * k] = o.b[k].value;
    for (int j = 0; j < 3; j++) out[4 + 5 * k + j] = o.b[k].list[j];
  }
  out[12] = o.i; out[13] = o.f;
  out[14] = o.v.x; out[15] = o.v.y; out[16] = o.v.z; out[17] = o.v.w;
  out[18] = o.on;
}

__global__ void scalars(char c, unsigned char uc, short s, unsigned short us, int i, unsigned u, long long l,
                        unsigned long long ul, float f, double d, bool b, double *out) {
  out[0] = c; out[1] = uc; out[2] = s; out[3] = us; out[4] = i; out[5] = u; out[6] = l; out[7] = ul; out[8] = f;
  out[9] = d; out[10] = b;
}

__global__ void is_null(const float *p, int *out) { *out = p == nullptr; }
__global__ void is_null_inside(Matrix a, int *out) { *out = a.elements == nullptr; }
__global__ void copy(const void *from, unsigned char *to, int bytes) {
  for (int i = 0; i < bytes; i++) to[i] = ((const unsigned char *)from)[i];
}
__global__ void vectors(float2 a, int3 b, uchar4 c, float *out) {
  out[0] = a.x; out[1] = a.y; out[2] = b.x; out[3] = b.y; out[4] = b.z;
  out[5] = c.x; out[6] = c.y; out[7] = c.z; out[8] = c.w;
}
struct Text { char word[8]; };
__global__ void spell(Text t, char *out) { for (int i = 0; i < 8; i++) out[i] = t.word[i]; }
]]

describe("a scalar argument", function()
  it("arrives with the parameter's type", function()
    local out = mw.zeros(11, "double")
    m.scalars(1, 1)(-128, 255, -32768, 65535, -2147483648, 4294967295, -(1 << 53), 1 << 53, 0.5, 0.1, true, out)
    assert.same({ -128, 255, -32768, 65535, -2147483648, 4294967295, -2.0 ^ 53, 2.0 ^ 53, 0.5, 0.1, 1 },
      out:totable())
    m.scalars(1, 1)(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9, 10, false, out)
    assert.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0 }, out:totable())
  end)

  it("of 64 bits arrives bit for bit", function()
    for _, name in ipairs { "long long", "unsigned long long" } do
      local put = m["put<" .. name .. ">"](1, 1)
      local out = mw.zeros(1, name == "long long" and "longlong" or "ulonglong")
      local values = { math.maxinteger, 0x0123456789abcdef, (1 << 53) + 1, 0, math.mininteger, -1 }
      for i = 7, 20 do values[i] = random(math.mininteger, math.maxinteger) end
      for _, value in ipairs(values) do
        put(value, out)
        assert.equal(string.pack("<i8", value), out:bytes())
      end
    end
  end)

  it("is refused where it does not fit, by name", function()
    local put = m["put<unsigned char>"](1, 1)
    local out = mw.zeros(1, "uchar")
    assert.matches("^parameter 1 'value' of put<unsigned char> does not take 256", message(put, 256, out))
    assert.matches("^parameter 1 'value' of put<unsigned char> does not take %-1", message(put, -1, out))
    assert.matches("does not take 0.5", message(put, 0.5, out))
    assert.matches("does not take", message(put, 0 / 0, out))
    assert.matches("does not take", message(m["put<int>"](1, 1), 2 ^ 31, mw.zeros(1, "int")))
    assert.equal(0, out[1])
  end)

  it("is refused where it is of another kind", function()
    local put = m["put<float>"](1, 1)
    local out = mw.zeros(1)
    for _, case in ipairs {
      { "2", "the string \"2\"" }, { {}, "a table" }, { true, "true" }, { print, "a function" },
      { out, "an array of float" }, { m, "a module" },
    } do
      local text = message(put, case[1], out)
      assert.is_truthy(text:find("parameter 1 'value' of put<float> wants float, got " .. case[2], 1, true), text)
    end
    assert.matches("parameter 1 'value' of put<float> wants float, got nil", message(put, nil, out))
  end)
end)

describe("the arguments", function()
  it("are counted", function()
    local text = "sum(Matrix a, float *out) takes 2 arguments, got "
    assert.equal(text .. "0", message(m.sum(1, 1)))
    assert.equal(text .. "1", message(m.sum(1, 1), {}))
    assert.equal(text .. "3", message(m.sum(1, 1), 1, 2, 3))
  end)

  it("that are refused leave no trace", function()
    collect()
    local before = mw.memory().count
    pcall(m.scalars(1, 1), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, true, "no array")
    pcall(m.is_null(1, 1), mw.zeros(1), mw.zeros(1))
    pcall(m.sum(1, 1), { width = 1, height = 1, stride = 1, elements = mw.zeros(4) }, 5)
    collect()
    assert.equal(before, mw.memory().count)
  end)
end)

describe("a pointer argument", function()
  it("is an array, or a view of one", function()
    local a = mw.from_bytes("abcdefgh", "uchar")
    local out = mw.zeros(3, "uchar")
    m.copy(1, 1)(a:sub(3), out, 3)
    assert.equal("cde", out:bytes())
  end)

  it("is nil for the null pointer", function()
    local out = mw.full(1, -1, "int")
    m.is_null(1, 1)(nil, out)
    assert.equal(1, out[1])
    m.is_null(1, 1)(mw.zeros(1), out)
    assert.equal(0, out[1])
    m.is_null(1, 1)(mw.null, out)
    assert.equal(1, out[1])
  end)

  it("is a texture for void *, as which PTX without types shows its handle", function()
    local fetch = mw.compile([[
      __global__ void fetch(void *handle, float *out) { *out = tex1Dfetch<float>((cudaTextureObject_t)handle, 1); }
    ]]).fetch
    local texture, out = mw.texture(mw.array({ 1.5, 2.5, 3.5 }, "float")), mw.zeros(1)
    fetch(1, 1)(texture, out)
    assert.equal(2.5, out[1])
  end)

  it("has the parameter's element type", function()
    local text = message(m.is_null(1, 1), mw.zeros(1, "int"), mw.zeros(1, "int"))
    assert.matches("parameter 1 'p' of is_null wants const float %*, got an array of int", text)
    assert.matches("\"float\"", text) -- what to write instead
    -- void and bytes accept anything
    local out = mw.zeros(4, "uchar")
    m.copy(1, 1)(mw.array({ 1 }, "float"), out, 4)
    assert.equal(string.pack("<f", 1), out:bytes())
    m.copy(1, 1)(out, mw.zeros(1, "int"), 4)
  end)

  it("has the element type of the rows that the parameter points to", function()
    local rows = mw.compile "__global__ void last(const int (*rows)[3], int n, int *out) { *out = rows[n - 1][2]; }"
    local out = mw.zeros(1, "int")
    rows.last(1, 1)(mw.array({ 1, 2, 3, 4, 5, 6 }, "int"), 2, out)
    assert.equal(6, out[1])
    assert.equal("parameter 1 'rows' of last wants const int[3] *, got an array of float: make it one of int, as " ..
      'mw.array(..., "int") does, or view the same bytes as int with rows:as("int")',
      message(function() rows.last(1, 1)(mw.zeros(6), 2, out) end))
  end)

  it("is refused when it is something else", function()
    local out = mw.zeros(1, "int")
    assert.matches("wants const float %*, got the number 5", message(m.is_null(1, 1), 5, out))
    assert.matches("wants const float %*, got a table: give it an array", message(m.is_null(1, 1), { 1, 2 }, out))
    assert.matches("wants const float %*, got the string", message(m.is_null(1, 1), "x", out))
    local freed = mw.zeros(1)
    freed:free()
    assert.matches("parameter 1 'p' of is_null is an array that was freed", message(m.is_null(1, 1), freed, out))
  end)
end)

describe("a vector argument", function()
  it("is a table", function()
    local out = mw.zeros(9)
    m.vectors(1, 1)({ 1, 2 }, { x = 3, y = 4, z = 5 }, { 6, 7, 8, 255 }, out)
    assert.same({ 1, 2, 3, 4, 5, 6, 7, 8, 255 }, out:totable())
  end)

  it("is checked component by component", function()
    local out = mw.zeros(9)
    local launch = m.vectors(1, 1)
    assert.matches("parameter 1 'a' of vectors%.y is missing", message(launch, { 1 }, { 1, 2, 3 }, { 1, 2, 3, 4 }, out))
    assert.matches("parameter 3 'c' of vectors%.w does not take 256",
      message(launch, { 1, 2 }, { 1, 2, 3 }, { 1, 2, 3, 256 }, out))
    assert.matches("parameter 2 'b' of vectors wants int3", message(launch, { 1, 2 }, 3, { 1, 2, 3, 4 }, out))
  end)
end)

describe("a struct argument", function()
  local function matrix(over)
    local a = { width = 3, height = 2, stride = 4, elements = mw.array { 1, 2, 3, 0, 4, 5, 6, 0 } }
    for key, value in pairs(over or {}) do a[key] = value end
    return a
  end

  it("is a table by field name", function()
    local out = mw.zeros(1)
    m.sum(1, 1)(matrix(), out)
    assert.equal(21, out[1])
  end)

  it("keeps the arrays in it", function()
    local out = mw.zeros(1)
    local run = m.sum(1, 1):bind({ width = 100, height = 10, stride = 100, elements = mw.ones(1000) }, out)
    collectgarbage()
    collectgarbage()
    local others = {}
    for i = 1, 10 do others[i] = mw.full(1000, 99) end
    run()
    assert.equal(1000, out[1])
    assert.equal(10, #others)
  end)

  it("may hold structs, arrays, unions and vectors", function()
    local out = mw.zeros(19, "double")
    m.take(1, 1)({
      a = { x = 1.5, y = -2 },
      b = { { tag = 3, value = 0.1, list = { 4, 5, 6 } }, { tag = -7, value = 8, list = { 9, 10, -11 } } },
      i = 0x3f800000,
      v = { 1, 2, 3, 4 },
      on = true,
    }, out)
    assert.same({ 1.5, -2, 3, 0.1, 4, 5, 6, -7, 8, 9, 10, -11, 0x3f800000, 1, 1, 2, 3, 4, 1 }, out:totable())
  end)

  it("names the field that is missing, unknown or wrong", function()
    local out = mw.zeros(1)
    local launch = m.sum(1, 1)
    local here = "parameter 1 'a' of sum"
    local lacking = matrix()
    lacking.stride = nil
    assert.equal(here .. " lacks the field 'stride' (int); Matrix has width, height, stride, elements",
      message(launch, lacking, out))
    assert.equal(here .. " has no field 'widht'; Matrix has width, height, stride, elements",
      message(launch, matrix { widht = 3 }, out))
    assert.equal(here .. " wants the fields of Matrix by name: width, height, stride, elements",
      message(launch, { 3, 2, 4, mw.zeros(8) }, out))
    assert.equal(here .. ".width wants int, got the string \"3\"", message(launch, matrix { width = "3" }, out))
    assert.matches("'a' of sum%.height does not take 1.5", message(launch, matrix { height = 1.5 }, out))
    assert.matches("'a' of sum%.elements wants float %*, got an array of int",
      message(launch, matrix { elements = mw.zeros(8, "int") }, out))
    assert.equal(here .. " wants Matrix, as a table with the fields width, height, stride, elements, got the number 3",
      message(launch, 3, out))
  end)

  it("names places deep inside", function()
    local function outer()
      local inner = { tag = 0, value = 0, list = { 0, 0, 0 } }
      local other = { tag = 0, value = 0, list = { 0, 0, 0 } }
      return { a = { x = 0, y = 0 }, b = { inner, other }, f = 0, v = { 0, 0, 0, 0 }, on = false }
    end
    local out = mw.zeros(19, "double")
    local launch = m.take(1, 1)
    launch(outer(), out)
    local o = outer()
    o.b[2].list[3] = 70000
    assert.matches("'o' of take%.b%[2%]%.list%[3%] does not take 70000", message(launch, o, out))
    o = outer()
    o.b[1].list = { 1, 2 }
    assert.matches("'o' of take%.b%[1%]%.list wants .-, got a sequence of 2", message(launch, o, out))
    o = outer()
    o.f = nil
    assert.matches("lacks the field '[if]'", message(launch, o, out))
    o = outer()
    o.v = { 1, 2, 3 }
    assert.matches("'o' of take%.v%.w is missing", message(launch, o, out))
  end)

  it("writes the null pointer as mw.null", function()
    local out = mw.full(1, -1, "int")
    local a = { width = 0, height = 0, stride = 0 }
    assert.matches("lacks the field 'elements' %(float %*%), which may be mw.null",
      message(m.is_null_inside(1, 1), a, out))
    a.elements = mw.null
    m.is_null_inside(1, 1)(a, out)
    assert.equal(1, out[1])
  end)

  it("takes text for an array of char", function()
    local out = mw.full(8, 1, "char")
    m.spell(1, 1)({ word = "kernel" }, out)
    assert.equal("kernel\0\0", out:bytes())
    assert.matches("'t' of spell%.word wants .-, got a string of 9 bytes",
      message(m.spell(1, 1), { word = "123456789" }, out))
  end)

  it("is read without its metamethods", function()
    local out = mw.zeros(1)
    local strange = setmetatable(matrix(), { __index = function() error("not to be called") end })
    m.sum(1, 1)(strange, out)
    assert.equal(21, out[1])
  end)

  it("takes the address of a function and an object's handle, by their types and as void *", function()
    local functions = mw.compile [[
      typedef float (*op)(float, float);
      __device__ float plus(float a, float b) { return a + b; }
      __device__ float times(float a, float b) { return a * b; }
      __device__ op one = times, table[2] = { plus, times };
      struct Choice { int n; op f; };
      __global__ void typed(op f, float *o) { o[0] = f(3, 4); }
      __global__ void plain(void *f, float *o) { o[0] = ((op)f)(3, 4); }
      __global__ void inside(Choice c, float *o) { o[0] = c.f(3, c.n); }
      __global__ void look(void *texture, float *o) { o[0] = tex1Dfetch<float>((cudaTextureObject_t)texture, 1); }
    ]]
    local o = mw.zeros(1)
    local function result(launch, argument)
      launch(argument, o)
      return o[1]
    end
    local one, table_of = functions:symbol("one"):get(), functions:symbol("table"):get()
    assert.equal("typed(float (*f)(float, float), float *o)", functions.typed:signature())
    assert.equal(12, result(functions.typed(1, 1), one))
    assert.equal(7, result(functions.typed(1, 1), table_of[1]))
    assert.equal(12, result(functions.plain(1, 1), one))
    assert.equal(15, result(functions.inside(1, 1), { f = one, n = 5 }))
    assert.equal(2, result(functions.look(1, 1), mw.texture(mw.array { 1, 2, 3 })))
  end)
end)
