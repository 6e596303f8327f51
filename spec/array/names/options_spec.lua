-- Options of array functions, and the errors for misspelt or impossible ones.
local mw = require "moonwarp"
local failure = require "support.failure"

describe("options of arrays", function()
  local a = mw.arange(6):reshape(2, 3)
  local function list(x) return x:copy():reshape(-1):totable() end
  local function message(...) return failure(...).message end

  it("may name no axis: then each element is reduced by itself", function()
    assert.same({ 2, 3 }, a:sum({ axis = {} }).shape)
    assert.same({ 0, 1, 2, 3, 4, 5 }, list(a:sum { axis = {} }))
    assert.same({ 0, 0, 0, 0, 0, 0 }, list(a:var { axis = {}, keepdims = true }))
    assert.equal("longlong", a:argmax({ axis = {} }).dtype)
    assert.same({ 0, 1, 2, 3, 4, 5 }, list(a:median { axis = {} }))
  end)

  it("reduce no elements to no results", function()
    local none = mw.zeros(0, 3)
    for name in ("min max argmin argmax"):gmatch "%S+" do
      assert.same({ 0 }, none[name](none, { axis = 2 }).shape)
      assert.matches(("a:%s of an empty array"):format(name), message(none[name], none, { axis = 1 }))
      assert.matches("of an empty array", message(none[name], none))
    end
  end)

  it("out: may be strided, wider, or what is read", function()
    local m = mw.zeros(3, 2, "double")
    local column = m[{ {}, 2 }]
    assert.equal(column, a:sum { axis = 1, out = column })
    assert.same({ 0, 3, 0, 5, 0, 7 }, list(m))
    assert.same({ 3, 12 }, list(a:sum { axis = 2, out = mw.zeros(2, "double") }))
    assert.same({ 2, 4 }, list(a:to("int"):argmax { axis = 2, out = mw.zeros(2) } + mw.array { -1, 1 }))
    local b = mw.arange(6):reshape(2, 3)
    b:max { axis = 1, out = b[2] }
    assert.same({ 0, 1, 2, 3, 4, 5 }, list(b))
    b:sum { axis = 1, keepdims = true, out = b[{ { 1, 1 } }] }
    assert.same({ 3, 5, 7, 3, 4, 5 }, list(b))
    assert.same({ 0, 1, 3, 6, 10, 15 }, list(a:cumsum { out = mw.zeros(6, "double") }))
    assert.matches("a:sum: out has to be an array of float with the shape {3}, got int {3}",
      message(a.sum, a, { axis = 1, out = mw.zeros(3, "int") }))
    assert.matches("a:var: out is an array, got the number 1", message(a.var, a, { axis = 1, out = 1 }))
    assert.matches("can be read only", message(a.sum, a, { axis = 1, out = mw.zeros(1):broadcast_to(3) }))
  end)

  it("of operators and functions are named when they are misspelt", function()
    assert.matches("mw.sqrt has no option 'oot'; did you mean 'out'%?", message(a.sqrt, a, { oot = a }))
    assert.matches("mw.add has no option 'axis'", message(mw.add, a, 1, { axis = 1 }))
    assert.same(list(a:sqrt()), list(a:sqrt {}))
    assert.same(list(a + 1), list(mw.add(a, 1, {})))
    assert.matches("mw.add takes 2 arguments", message(a.add, a))
    assert.matches("mw.add takes 2 arguments and perhaps {out = y}, got 3", message(a.add, a, 1, 2))
  end)

  it("are lists where NumPy takes lists", function()
    assert.same({ 1, 1, 4 }, list(mw.array({ 1, 3, 5 }):searchsorted { 0, 1, 6 }))
    assert.same({ 2, 3 }, list(mw.array({ 1, 3, 5 }, "uchar"):searchsorted { 1.5, 300 } - mw.array({ 0, 1 }, "int")))
    for _, edges in ipairs { { 0, 2, 9 }, mw.array { 0, 2, 9 }, { bins = { 0, 2, 9 } } } do
      assert.same({ 2, 4 }, list((a:histogram(edges))))
    end
  end)

  it("do not round the sum of all elements, however many there are", function()
    for _, n in ipairs { 3, 4096, 4097, 10000 } do
      for _, dtype in ipairs { "float", "half", "bfloat16" } do
        local x = mw.full(n, 0.1, dtype)
        local sum = n * x[1]
        assert.is_true(math.abs(x:sum() - sum) <= 1e-12 * sum)
        assert.equal(x:sum(), x:sum { axis = 1 })
        assert.equal(x:sum(), x:reshape(1, n):sum { axis = { 1, 2 } })
        assert.equal(dtype, x:sum({ keepdims = true }).dtype)
      end
      assert.equal(n * 100, mw.full(n, 100, "half"):sum())
      assert.equal(2 ^ 24 + n - 1, mw.concat({ mw.full(1, 2 ^ 24), mw.ones(n - 1) }):sum())
    end
    local none = mw.array({ 0 / 0, 1 }, "half"):sum()
    assert.is_true(none ~= none)
    assert.equal(1 / 0, mw.full(5000, 1 / 0, "bfloat16"):sum())
  end)

  it("name both shapes where they do not fit", function()
    local function add() return mw.ones(4, 6) + mw.ones(3) end
    assert.matches("first {4, 6}, second {3}$", message(add))
    assert.matches("first {4, 6}, third {2}$", message(mw.clip, mw.ones(4, 6), 0, mw.ones(2)))
  end)
end)

describe("what a newcomer writes", function()
  local a = mw.arange(6):reshape(2, 3)
  local function message(...) return failure(...).message end

  it("a < b, raises an error that names the method", function()
    local function less() return a < a end
    local function at_most() return a >= a end
    assert.matches("give one boolean, not a mask of elements: write a:lt%(b%)", message(less))
    assert.matches("write a:le%(b%)", message(at_most))
    if jit and os.getenv "MOONWARP_BINDING" == "c" then return end -- Lua 5.1 has no metamethods for mixed operands
    local function number() return a < 3 end
    local function other() return 3 < a end
    assert.matches("write a:lt%(3%)", message(number))
    assert.matches("write b:gt%(3%)", message(other))
  end)

  it("a[{ array, {} }], raises an error that names the method for an axis", function()
    local function take() return a[{ {}, mw.array({ 1 }, "int") }] end
    local function mask() return a[{ {}, mw.array({ true, false, true }, "bool") }] end
    assert.matches("a:take%(…, {axis = 2}%) selects by an array", message(take))
    assert.matches("a:compress%(…, {axis = 2}%) selects by an array", message(mask))
  end)

  it("a[a == 3], raises an error: this is one boolean", function()
    local function read() return a[a == 3] end
    local function write() a[a ~= 3] = 0 end
    assert.matches("not indexed by false: Lua's == gives one boolean; a:eq%(b%) is a mask", message(read))
    assert.matches("not indexed by true", message(write))
  end)

  it("a[1] = 3, fills a row", function()
    local x = mw.arange(6):reshape(2, 3)
    x[1] = 3
    x[{ {}, 1 }][2] = 7
    assert.same({ 3, 3, 3, 7, 4, 5 }, x:reshape(-1):totable())
    local mask = mw.zeros(2, 2, "bool")
    mask[2] = true
    assert.same({ false, false, true, true }, mask:reshape(-1):totable())
    mask:transpose()[1] = true
    assert.same({ true, false, true, true }, mask:reshape(-1):totable())
    local function text() x[1] = "x" end
    local function beyond() x[3] = 1 end
    assert.matches("3 elements", message(text))
    assert.matches("3 is outside 1..2", message(beyond))
  end)

  it("print(a), sees 64-bit integers as they are", function()
    local x = mw.array({ 0, 1, 10 ^ 6, 3 }, "ulonglong") - 5
    assert.matches("{18446744073709551611, 18446744073709551612, 999995, 18446744073709551614}",
      tostring(x):gsub("%s+", " "), 1, true)
    local y = mw.array({ 1, 2 }, "longlong") * 2 ^ 53 * -3
    assert.matches("{-27021597764222976, -54043195528445952}", tostring(y), 1, true)
    assert.matches("{9223372036854775808}", tostring(mw.array({ 2 ^ 63 }, "ulonglong")), 1, true)
    local z = mw.zeros(1, "ulonglong2")
    z[1] = { 1, 2 ^ 63 + 2 ^ 53 }
    assert.matches("(1, 9232379236109516800)", tostring(z), 1, true)
  end)

  it("a:put({}, {}), has changed nothing", function()
    assert.same({ 0, 1, 2 }, mw.arange(3):put({}, {}):totable())
    assert.matches("there are no values for 2 indices", message(a.put, a, { 1, 2 }, {}))
  end)
end)
