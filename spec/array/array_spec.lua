-- Arrays: constructors, elements, views, and functions of all elements.

local mw = require "moonwarp"
local suite = require "support.suite"
local random = require "support.random" "array_spec"

-- The message of the error that f(...) raises.
local function message(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok, "no error was raised")
  return err.message
end

-- A nested table of random whole numbers, and the same numbers as a flat list.
local function random_table(shape, low, high)
  local flat = {}
  local function level(depth)
    local list = {}
    for i = 1, shape[depth] do
      if depth < #shape then
        list[i] = level(depth + 1)
      else
        list[i] = random(low, high)
        flat[#flat + 1] = list[i]
      end
    end
    return list
  end
  return level(1), flat
end

describe("an array", function()
  describe("made of a table", function()
    it("holds its numbers, as float by default", function()
      local a = mw.array { 1, 2.5, -3 }
      assert.equal("float", a.dtype)
      assert.same({ 3 }, a.shape)
      assert.same({ 1, 2.5, -3 }, a:totable())
    end)

    it("takes its shape from the table", function()
      for _, shape in ipairs { { 1 }, { 7 }, { 3, 5 }, { 2, 3, 4 }, { 2, 1, 3, 2 } } do
        local nested, flat = random_table(shape, -1000, 1000)
        local a = mw.array(nested, "int")
        assert.same(shape, a.shape)
        assert.equal(#flat, a.count)
        assert.same(nested, a:totable())
        assert.same(flat, a:reshape(#flat):totable())
      end
    end)

    it("may be longer than any block that it is copied in", function()
      local nested = random_table({ 123, 457 }, 0, 255)
      for _, dtype in ipairs { "float", "double", "uchar", "short", "longlong" } do
        assert.same(nested, mw.array(nested, dtype):totable())
      end
    end)

    it("may be empty", function()
      local a = mw.array {}
      assert.equal(0, #a)
      assert.same({}, a:totable())
      assert.equal("", a:bytes())
      assert.equal(0, a:sum())
    end)

    it("cannot become a table if it has too many rows without elements", function()
      assert.same({ {}, {}, {} }, mw.zeros({ 3, 0 }):totable())
      assert.same({}, mw.zeros({ 0, 2 ^ 32 - 1, 2 }):totable())
      assert.equal(
        "totable: an array of 4294967295x0 float has no elements, and more than 1048576 rows of none to list",
        message(mw.zeros({ 2 ^ 32 - 1, 0 }).totable, mw.zeros({ 2 ^ 32 - 1, 0 })))
      assert.matches("^totable: an array of 65536x65536x0x5 int has no elements",
        message(function() mw.zeros({ 65536, 65536, 0, 5 }, "int"):totable() end))
    end)

    it("refuses ragged tables, naming the row", function()
      assert.equal("element [2]: wants a table of 2 elements, this one has 3",
        message(mw.array, { { 1, 2 }, { 1, 2, 3 } }))
      assert.equal("element [3]: wants a table of 2 elements, got the number 5",
        message(mw.array, { { 1, 2 }, { 3, 4 }, 5 }))
    end)

    it("refuses elements that are not numbers, and names them", function()
      assert.matches('^element %[2%]%[1%] wants float, got the string "x"', message(mw.array, { { 1, 2 }, { "x", 4 } }))
      assert.matches("^element %[3%] wants int, got nil", message(mw.array, { 1, 2, nil, 4 }, "int"))
      assert.matches("^element %[1%] wants float, got true", message(mw.array, { true }))
    end)

    it("refuses numbers that its dtype does not hold", function()
      assert.matches("^element %[2%] does not take 256", message(mw.array, { 255, 256 }, "uchar"))
      assert.matches("^element %[1%] does not take %-1", message(mw.array, { -1 }, "uint"))
      assert.matches("^element %[3%] does not take 1.5", message(mw.array, { 1, 2, 1.5 }, "int"))
      assert.matches("^element %[1%] does not take 1e%+39", message(mw.array, { 1e39 }, "float"))
    end)

    it("refuses values other than tables", function()
      assert.matches("mw.array wants a table of numbers", message(mw.array, 5))
      assert.matches("got nil", message(mw.array))
    end)
  end)

  describe("made of nothing", function()
    it("is zeros, ones or any value, in any shape", function()
      assert.same({ 0, 0, 0 }, mw.zeros(3):totable())
      assert.same({ { 1, 1 }, { 1, 1 }, { 1, 1 } }, mw.ones(3, 2):totable())
      assert.same({ { 1, 1 } }, mw.ones({ 1, 2 }, "int"):totable())
      assert.same({ 7, 7 }, mw.full(2, 7, "uchar"):totable())
      assert.same({ { 2.5 } }, mw.full({ 1, 1 }, 2.5, "double"):totable())
      assert.same({ true, true }, mw.full(2, true, "bool"):totable())
    end)

    it("is like another array, in shape and dtype", function()
      local a = mw.array({ { 1, 2, 3 }, { 4, 5, 6 } }, "int")
      local part = a:transpose()[{ { 1, 2 }, {} }] -- a strided view
      assert.same({ { 0, 0 }, { 0, 0 } }, mw.zeros_like(part):totable())
      assert.same({ { 1, 1, 1 }, { 1, 1, 1 } }, mw.ones_like(a):totable())
      assert.same({ { 7, 7 }, { 7, 7 } }, mw.full_like(part, 7):totable())
      assert.same({ 2, 3 }, mw.empty_like(a).shape)
      for _, name in ipairs { "zeros_like", "ones_like", "empty_like" } do
        assert.equal("int", mw[name](part).dtype)
        assert.equal("double", mw[name](a, "double").dtype)
      end
      assert.equal("int", mw.full_like(a, 2).dtype)
      assert.same({ { 0.5, 0.5 }, { 0.5, 0.5 } }, mw.full_like(part, 0.5, "float"):totable())
      assert.same({ { 1, 1 } }, mw.ones_like(mw.zeros(1, "int2")):totable())
      assert.same({ 0 }, mw.zeros_like(mw.zeros(0)).shape)
      assert.equal(21, a:sum()) -- the array is unchanged
      assert.matches("array", message(mw.zeros_like, 3))
      assert.matches("wants an array and a value", message(mw.full_like, a))
    end)

    it("is made on the device of the array that it is like", function()
      local other = mw.device("cpu", { capability = "7.0" })
      local a = mw.with(other, mw.ones, 2)
      assert.is_false(other.name == mw.zeros(1).device.name)
      for _, like in ipairs { mw.zeros_like(a), mw.ones_like(a), mw.full_like(a, 3), mw.empty_like(a) } do
        assert.equal(other.name, like.device.name)
      end
    end)

    it("may be left undefined", function()
      local a = mw.empty(4, 5, "half")
      assert.same({ 4, 5 }, a.shape)
      assert.equal("half", a.dtype)
      assert.equal(40, a.nbytes)
    end)

    it("counts by arange", function()
      assert.same({ 0, 1, 2, 3 }, mw.arange(4):totable())
      assert.same({ 2, 3, 4 }, mw.arange(2, 5, "int"):totable())
      assert.same({ 10, 7, 4 }, mw.arange(10, 1, -3, "int"):totable())
      assert.same({ 0, 0.25, 0.5, 0.75 }, mw.arange(0, 1, 0.25):totable())
      assert.same({}, mw.arange(5, 5):totable())
      assert.matches("step must not be 0", message(mw.arange, 0, 5, 0))
    end)

    it("divides an interval by linspace, both ends exact", function()
      assert.same({ 0, 0.25, 0.5, 0.75, 1 }, mw.linspace(0, 1, 5):totable())
      assert.same({ 3 }, mw.linspace(3, 9, 1):totable())
      local a = mw.linspace(0.1, 0.7, 12345, "double")
      assert.equal(0.1, a[1])
      assert.equal(0.7, a[12345])
      assert.is_true(math.abs(a[6173] - 0.4) < 1e-15)
    end)

    it("refuses invalid shapes", function()
      assert.matches("mw.zeros wants a shape", message(mw.zeros))
      assert.matches("a shape is a whole number", message(mw.zeros, 2.5))
      assert.matches("a shape is a whole number", message(mw.zeros, -1))
      assert.matches("1 to 8 dimensions", message(mw.zeros, { 1, 1, 1, 1, 1, 1, 1, 1, 1 }))
      assert.matches("there is no dtype \"flaot\"", message(mw.zeros, 3, "flaot"))
    end)
  end)

  describe("made of bytes", function()
    it("holds the values that string.pack wrote", function()
      local a = mw.from_bytes(string.pack("<i4i4i4", 1, -2, 2147483647), "int")
      assert.same({ 1, -2, 2147483647 }, a:totable())
      assert.same({ 0.5, -0.25 }, mw.from_bytes(string.pack("<ff", 0.5, -0.25)):totable())
    end)

    it("gives them back", function()
      local bytes = {}
      for i = 1, 50000 do bytes[i] = string.char(random(0, 255)) end
      local text = table.concat(bytes)
      assert.equal(text, mw.from_bytes(text, "uchar"):bytes())
      assert.equal(text, mw.from_bytes(text, "double"):bytes())
    end)

    it("gives them back in long strings", function()
      local text = ("0123456789abcde"):rep(2 ^ 20)
      local a = mw.from_bytes(text, "uchar")
      assert.is_true(text == a:bytes())
      assert.is_true(text == a:bytes())
      assert.is_true(text:sub(2, -2) == a:sub(2, -2):bytes())
    end)

    if not rawget(_G, "jit") then
      it("copies device memory that the host reaches once, into the string", function()
        if suite.on_gpu then return pending "CPU device only: the host does not reach a GPU's memory" end
        local a = mw.zeros(2 ^ 24, "uchar")
        collectgarbage()
        collectgarbage "stop"
        local before = collectgarbage "count"
        local text = a:bytes()
        local taken = collectgarbage "count" - before
        collectgarbage "restart"
        assert.equal(2 ^ 24, #text)
        assert.is_true(taken < 1.1 * 2 ^ 14, taken .. " KiB taken")
      end)
    end

    it("refuses a part of an element", function()
      assert.matches("7 bytes are not a whole number of int", message(mw.from_bytes, "1234567", "int"))
    end)
  end)

  describe("'s elements", function()
    local a = mw.array({ 10, 20, 30 }, "int")

    it("are read and written from 1 on", function()
      local b = mw.zeros(3)
      b[1], b[3] = 1.5, -2
      assert.equal(1.5, b[1])
      assert.same({ 1.5, 0, -2 }, b:totable())
      assert.equal(3, #b)
    end)

    it("end as a sequence does, so that ipairs works", function()
      if rawget(_G, "jit") and mw.binding == "c" then return pending "LuaJIT's ipairs takes tables and cdata" end
      assert.is_nil(a[4])
      local list = {}
      for i, value in ipairs(a) do list[i] = value end
      assert.same({ 10, 20, 30 }, list)
    end)

    it("are not read outside", function()
      assert.equal("0 is outside 1..3 (Lua counts from 1: C's [0] is [1] here)", message(function() return a[0] end))
      assert.matches("^%-1 is outside 1..3", message(function() return a[-1] end))
      assert.matches("^5 is outside 1..3", message(function() return a[5] end))
      assert.matches("an index is a whole number", message(function() return a[1.5] end))
    end)

    it("are not written outside, the end included", function()
      for _, i in ipairs { 0, 4, -1, 1e9 } do
        assert.matches("is outside 1..3", message(function() a[i] = 1 end))
      end
      assert.matches("nothing to assign at the string \"x\"", message(function() a.x = 1 end))
      assert.same({ 10, 20, 30 }, a:totable())
    end)

    it("are rows where there are several dimensions", function()
      local b = mw.array { { 1, 2, 3 }, { 4, 5, 6 } }
      assert.equal(2, #b)
      assert.equal(6, b[2][3])
      b[1][2] = 20
      assert.same({ { 1, 20, 3 }, { 4, 5, 6 } }, b:totable())
      b[2] = { 7, 8, 9 }
      b[1] = b[2]
      assert.same({ { 7, 8, 9 }, { 7, 8, 9 } }, b:totable())
      assert.is_nil(b[3])
      assert.equal("an array of 3 elements wants a table of as many, the table has 2",
        message(function() b[1] = { 1, 2 } end))
      assert.matches("got nil", message(function() b[1] = nil end))
      b[1] = 5
      assert.same({ { 5, 5, 5 }, { 7, 8, 9 } }, b:totable())
    end)

    it("are reached by all their indices", function()
      local nested = random_table({ 3, 4, 5 }, -99, 99)
      local b = mw.array(nested, "short")
      for _ = 1, 50 do
        local i, j, k = random(3), random(4), random(5)
        assert.equal(nested[i][j][k], b:get(i, j, k))
        nested[i][j][k] = random(-99, 99)
        b:set(i, j, k, nested[i][j][k])
      end
      assert.same(nested, b:totable())
      assert.matches("get wants 3 indices, one for each dimension, got 2", message(b.get, b, 1, 1))
      assert.matches("index 2: 5 is outside 1..4", message(b.get, b, 1, 5, 1))
      assert.matches("set wants 3 indices", message(b.set, b, 1, 1))
    end)

    it("are checked against the dtype", function()
      local b = mw.zeros(2, "uchar")
      assert.matches("this element does not take 256", message(function() b[1] = 256 end))
      assert.matches("this element wants .-, got nil", message(function() b[1] = nil end))
      assert.same({ 0, 0 }, b:totable())
    end)
  end)

  describe("'s view", function()
    local function fresh() return mw.array({ { 1, 2, 3 }, { 4, 5, 6 } }, "int") end

    it("has another shape and the same memory", function()
      local a = fresh()
      local b = a:reshape(3, 2)
      assert.same({ { 1, 2 }, { 3, 4 }, { 5, 6 } }, b:totable())
      b[1][1] = 100
      assert.equal(100, a[1][1])
      assert.equal(a.address, b.address)
      assert.same({ 6 }, a:reshape(-1).shape)
      assert.same({ 3, 2 }, a:reshape({ 3, -1 }).shape)
    end)

    it("has as many elements", function()
      assert.equal("a:reshape: {4, 2} has 8 elements, the array has 6", message(fresh().reshape, fresh(), 4, 2))
      assert.matches("do not divide into rows of 4", message(fresh().reshape, fresh(), 4, -1))
      assert.matches("only one size", message(fresh().reshape, fresh(), -1, -1))
    end)

    it("has another dtype and the same bytes", function()
      local a = mw.array({ 1, 2, 3, 4 }, "float")
      local bits = a:as("uint")
      assert.equal(0x3f800000, bits[1])
      bits[2] = 0x40490fdb
      assert.is_true(math.abs(a[2] - math.pi) < 1e-6)
      assert.same({ 2 }, a:as("float2").shape)
      assert.same({ 16 }, a:as("uchar").shape)
      assert.same({ 2, 1 }, mw.zeros({ 2, 2 }, "int"):reshape(2, 2):sub(1, 2):as("longlong"):reshape(2, 1).shape)
      assert.same({ 5, 4 }, mw.zeros({ 5, 4, 3 }, "uchar"):as("uchar3").shape)
      assert.matches("rows of 12 bytes %(3 int%) are not a whole number of double", message(a.as, fresh(), "double"))
    end)

    it("is a run of elements or rows", function()
      local a = mw.arange(10, "int")
      assert.same({ 2, 3, 4 }, a:sub(3, 5):totable())
      assert.same({ 8, 9 }, a:sub(-2):totable())
      assert.same({}, a:sub(3, 2):totable())
      assert.same({ { 4, 5, 6 } }, fresh():sub(2):totable())
      assert.matches("outside 1..10", message(a.sub, a, 0, 3))
      assert.matches("outside 1..10", message(a.sub, a, 3, 11))
    end)

    it("keeps the memory after the array is collected", function()
      local view = mw.full(1000, 7, "int"):sub(500)
      collectgarbage()
      collectgarbage()
      assert.equal(7 * 501, view:sum())
    end)
  end)

  describe("as a whole", function()
    it("is filled", function()
      local a = mw.zeros(2, 3)
      assert.equal(a, a:fill(2.5))
      assert.same({ { 2.5, 2.5, 2.5 }, { 2.5, 2.5, 2.5 } }, a:totable())
      assert.matches("the value to fill with wants float, got nil", message(a.fill, a))
    end)

    it("is copied", function()
      local a = mw.array { { 1, 2 }, { 3, 4 } }
      local b = a:copy()
      b[1][1] = 100
      assert.equal(1, a[1][1])
      assert.same({ { 100, 2 }, { 3, 4 } }, b:totable())
    end)

    it("is overwritten by a table, an array or bytes", function()
      local a = mw.zeros(3, "int")
      assert.same({ 1, 2, 3 }, a:copy_from({ 1, 2, 3 }):totable())
      assert.same({ 4, 5, 6 }, a:copy_from(mw.array({ 4, 5, 6 }, "int")):totable())
      assert.same({ 7, 8, 9 }, a:copy_from(string.pack("<i4i4i4", 7, 8, 9)):totable())
      assert.matches("a string of 5 bytes does not fill an array of 12 bytes", message(a.copy_from, a, "12345"))
      assert.is_string(message(a.copy_from, a, mw.zeros(4, "int")))
      assert.is_string(message(a.copy_from, a, mw.zeros(3, "float")))
      assert.matches("takes a table, another array or a string of bytes, got nil", message(a.copy_from, a))
      assert.same({ 7, 8, 9 }, a:totable())
    end)

    it("is summed, in double or exactly", function()
      local _, flat = random_table({ 10007 }, -100000, 100000)
      local sum, low, high = 0, math.huge, -math.huge
      for _, value in ipairs(flat) do
        sum = sum + value
        low, high = math.min(low, value), math.max(high, value)
      end
      for _, dtype in ipairs { "int", "longlong", "float", "double" } do
        local a = mw.array(flat, dtype)
        assert.equal(sum, a:sum())
        assert.equal(low, a:min())
        assert.equal(high, a:max())
      end
      assert.equal("integer", math.type(mw.array(flat, "int"):sum()))
      if math.type(1.0) == "float" then -- LuaJIT has one type of number
        assert.equal("float", math.type(mw.array(flat, "float"):sum()))
      end
      assert.equal(16777217, mw.array({ 16777216, 1 }, "float"):sum())
      assert.equal((1 << 53) + 1, mw.array({ 1 << 53, 1 }, "longlong"):sum())
    end)

    it("has no least element when it is empty", function()
      assert.is_string(message(mw.zeros(0).min, mw.zeros(0)))
      assert.is_string(message(mw.zeros(2, "float4").sum, mw.zeros(2, "float4")))
    end)

    it("is converted to another dtype where that holds it", function()
      assert.same({ 1, 2, 3 }, mw.array({ 1, 2, 3 }, "uchar"):to("double"):totable())
      assert.same({ { 1, 2 } }, mw.array(mw.array { { 1, 2 } }, "int"):totable())
      assert.same({ -1, math.maxinteger }, mw.array({ -1, math.maxinteger }, "longlong"):to("longlong"):totable())
      assert.equal("float3", mw.zeros(4, "uchar3"):to("float3").dtype)
      assert.matches("element %[2%] does not take 2.5", message(mw.array({ 1, 2.5 }).to, mw.array { 1, 2.5 }, "int"))
      assert.matches("differ in components", message(mw.zeros(1).to, mw.zeros(1), "float2"))
    end)
  end)

  it("has its shape, dtype and device as fields", function()
    local a = mw.zeros(4, 5, "short")
    assert.equal("array", mw.type(a))
    assert.equal(2, a.rank)
    assert.equal(20, a.count)
    assert.equal(40, a.nbytes)
    assert.equal(mw.device(), a.device)
    assert.equal(0, a.address % 256)
  end)

  it("refuses other values as a method's self", function()
    assert.equal("a:totable is a method of an array, called on a table; write a:totable() with a colon",
      message(mw.zeros(1).totable, {}))
  end)
end)
