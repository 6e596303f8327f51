-- Elementwise functions: a CUDA C body over arrays whose shapes broadcast.
local mw = require "moonwarp"
local raw = require "moonwarp.binding"
local failure = require "support.failure"
local random = require "support.random" "elementwise_spec"

local function message(...) return failure(...).message end

local function make(body, operands, more)
  local what = { name = "f", body = body, operands = operands }
  for key, value in pairs(more or {}) do what[key] = value end
  return raw.elementwise_new(what)
end

local fused = make("y = a * x + b;",
  { { "y", "out", "double" }, { "x", "in", "double" }, { "a", "in", "double" }, { "b", "scalar", "double" } })

local function flat(array) return array:copy():reshape(-1):totable() end

describe("a function of elements", function()
  it("makes its outputs", function()
    local y = raw.elementwise_run(fused, nil, mw.array({ 1, 2, 3 }, "double"), mw.array({ 4, 5, 6 }, "double"), 0.5)
    assert.same({ 4.5, 10.5, 18.5 }, y:totable())
    assert.equal("double", y.dtype)
  end)

  it("writes into given arrays, also in place", function()
    local x, y = mw.array({ 1, 2, 3 }, "double"), mw.zeros(3, "double")
    raw.elementwise_run(fused, y, x, x, 1)
    assert.same({ 2, 5, 10 }, y:totable())
    raw.elementwise_run(fused, x, x, x, 0)
    assert.same({ 1, 4, 9 }, x:totable())
  end)

  it("reads inputs that overlap its output as they were", function()
    local a = mw.arange(10, "double")
    local back = raw.array_strided(a, 72, nil, { 10 }, { -8 })
    raw.elementwise_run(fused, a, back, mw.ones(10, "double"), 0)
    assert.same({ 9, 8, 7, 6, 5, 4, 3, 2, 1, 0 }, a:totable())
  end)

  it("has several outputs, whole arrays and the element's number", function()
    local f = make("twice = 2 * x; looked = table[i % 3];", { { "twice", "out", "int" }, { "looked", "out", "float" },
      { "x", "in", "int" }, { "table", "whole", "float" } }, { index = true })
    local list = mw.array { 0.5, 1.5, 2.5 }
    local twice, looked = raw.elementwise_run(f, nil, nil, mw.arange(6, "int"):reshape(2, 3), list)
    assert.same({ 0, 2, 4, 6, 8, 10 }, flat(twice))
    assert.same({ 0.5, 1.5, 2.5, 0.5, 1.5, 2.5 }, flat(looked))
    local t = raw.array_strided(mw.arange(6, "int"), 0, nil, { 3, 2 }, { 4, 12 })
    assert.same({ 0.5, 1.5, 2.5, 0.5, 1.5, 2.5 }, flat((select(2, raw.elementwise_run(f, nil, nil, t, list)))))
  end)

  it("uses functions and types of its preamble", function()
    local f = make("y = cube(x);", { { "y", "out", "float" }, { "x", "in", "float" } },
      { preamble = "__device__ float cube(float x) { return x * x * x; }" })
    assert.same({ 8, 27 }, raw.elementwise_run(f, nil, mw.array { 2, 3 }):totable())
  end)

  it("knows half, bfloat16 and vectors", function()
    for _, dtype in ipairs { "half", "bfloat16" } do
      local f = make("y = x + x;", { { "y", "out", dtype }, { "x", "in", dtype } })
      assert.same({ 3, -1 }, raw.elementwise_run(f, nil, mw.array({ 1.5, -0.5 }, dtype)):totable())
    end
    local f = make("y = make_float2(x.y, x.x);", { { "y", "out", "float2" }, { "x", "in", "float2" } })
    local y = raw.elementwise_run(f, nil, mw.array({ { 1, 2 }, { 3, 4 } }, "float2"))
    assert.equal(2, y[1].x)
    assert.equal(3, y[2].y)
  end)

  it("does nothing to empty arrays", function()
    assert.equal(0, #raw.elementwise_run(fused, nil, mw.zeros(0, "double"), mw.zeros(1, "double"), 1))
  end)

  it("shows its CUDA C", function()
    local text = raw.elementwise_text(fused)
    assert.matches("__global__ void f_kernel%(unsigned count_, double %*y_, const double %*x_", text)
    assert.matches("y = a %* x %+ b;", text)
  end)

  it("names the shapes that do not fit, and the expected type of an argument", function()
    assert.matches("f: these shapes do not fit together .* x {3}, a {2}",
      message(raw.elementwise_run, fused, nil, mw.zeros(3, "double"), mw.zeros(2, "double"), 1))
    assert.matches("f: these shapes do not fit together .* y {2}, x {3}",
      message(raw.elementwise_run, fused, mw.zeros(2, "double"), mw.zeros(3, "double"), mw.zeros(3, "double"), 1))
    assert.matches("what is written needs the shape of all together: y {1}, x {3}",
      message(raw.elementwise_run, fused, mw.zeros(1, "double"), mw.zeros(3, "double"), mw.zeros(3, "double"), 1))
    assert.matches("x wants an array of double, got one of float",
      message(raw.elementwise_run, fused, nil, mw.zeros(3), mw.zeros(3, "double"), 1))
    local freed = mw.zeros(3, "double")
    freed:free()
    assert.matches("x is an array that was freed",
      message(raw.elementwise_run, fused, nil, freed, mw.zeros(3, "double"), 1))
  end)

  it("reports a mistake in its body at the line of the script", function()
    local f = make("y = nothing;", { { "y", "out", "float" }, { "x", "in", "float" } },
      { file = "mine.lua", line = 70 })
    local ok, err = pcall(raw.elementwise_run, f, nil, mw.zeros(3))
    assert.is_false(ok)
    assert.equal("compile", err.kind)
    assert.equal("mine.lua", err.file)
    assert.equal(70, err.line)
  end)
end)

describe("broadcasting", function()
  -- The value at the indices, of a flat table with a shape that may be smaller.
  local function at(list, shape, index)
    local place = 0
    for d = 1, #shape do
      local i = index[#index - #shape + d]
      place = place * shape[d] + (shape[d] == 1 and 0 or i)
    end
    return list[place + 1]
  end

  it("meets the elements that NumPy's rules say, for random shapes and strides", function()
    for _ = 1, 60 do
      local rank = random(1, 4)
      local shape = {}
      for d = 1, rank do shape[d] = random(1, 5) * (random(1, 8) == 1 and 40 or 1) end
      local function operand()
        local mine, steps, count = {}, {}, 1
        for d = random(1, rank), rank do mine[#mine + 1] = random(1, 3) == 1 and 1 or shape[d] end
        local transposed = random(1, 2) == 1
        for k = 1, #mine do
          local d = transposed and k or #mine - k + 1
          steps[d] = 8 * count
          count = count * mine[d]
        end
        local base = mw.empty(count, "double")
        local numbers = {}
        for i = 1, count do numbers[i] = random(-50, 50) end
        base:copy_from(numbers)
        local array = raw.array_strided(base, 0, nil, mine, steps)
        return array, flat(array), mine
      end
      local x, x_list, x_shape = operand()
      local a, a_list, a_shape = operand()
      local all = {}
      for d = 1, math.max(#x_shape, #a_shape) do
        local i, j = x_shape[#x_shape - d + 1] or 1, a_shape[#a_shape - d + 1] or 1
        table.insert(all, 1, i == 1 and j or i)
      end
      local y = raw.elementwise_run(fused, nil, x, a, 0.25)
      assert.same(all, y.shape)
      local wanted = {}
      local function go(d, index)
        if d > #all then
          wanted[#wanted + 1] = at(a_list, a_shape, index) * at(x_list, x_shape, index) + 0.25
          return
        end
        for i = 0, all[d] - 1 do
          index[d] = i
          go(d + 1, index)
        end
      end
      go(1, {})
      assert.same(wanted, flat(y))
    end
  end)
end)

describe("an operator", function()
  it("calls its function once for each combination of types", function()
    local asked = 0
    local add = raw.array_operator(2, function(a, b)
      asked = asked + 1
      local function kind(x) return raw.type(x) == "array" and "in" or "scalar" end
      local function dtype(x) return raw.type(x) == "array" and x.dtype or "float" end
      return make("y = a + b;", { { "y", "out", "float" }, { "a", kind(a), dtype(a) }, { "b", kind(b), dtype(b) } })
    end)
    for _ = 1, 3 do
      assert.same({ 3, 4 }, add(mw.array { 1, 2 }, 2):totable())
      assert.same({ 2.5, 3.5 }, add(1.5, mw.array { 1, 2 }):totable())
      assert.same({ 2, 4 }, add(mw.array { 1, 2 }, mw.array({ 1, 2 }, "int")):totable())
    end
    assert.equal(3, asked)
  end)

  it("returns values other than functions of elements unchanged", function()
    local what = raw.array_operator(2, function(_, b) return b end)
    assert.equal("other", what(mw.zeros(2), "other"))
  end)
end)

describe("a device's own functions", function()
  it("do not keep it open", function()
    local name = mw.use("cpu@5.0") and mw.device().name
    local a = raw.array_strided(mw.arange(6), 0, nil, { 3, 2 }, { 4, 12 })
    assert.equal(15, a:sum())
    a = nil -- luacheck: ignore
    mw.use "cpu"
    assert.equal("string", type(name))
    collectgarbage()
  end)
end)
