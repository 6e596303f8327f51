-- Tests from the cases in spec/data/arrays/*.lua: expressions with NumPy's results.
--
-- A file has `inputs`, arrays by name as {dtype, {shape}, {elements}}, and cases {expression, value…}. An expression
-- uses mw and the inputs by name. A case may have a tolerance, and inputs of its own (`with`) that it may write to. A
-- value is an array or a number.

local assert = require "luassert"
local mw = require "moonwarp"

local load_text = loadstring or load -- luacheck: ignore 143

local numpy = {}

-- Numbers and lists of numbers are themselves.
local function is_plain(it) return type(it) ~= "table" or type(it[1]) ~= "string" end

local function array_of(it)
  local dtype, shape, elements = it[1], it[2], it[3]
  if #elements == 0 then return mw.zeros(shape, dtype) end
  return mw.array(elements, dtype):reshape(shape)
end

-- Layouts of the same elements: contiguous, with dimensions permuted in memory, every other element.
local layouts = {
  plain = function(a) return a end,
  permuted = function(a) return a:permute():copy():permute() end,
  stepped = function(a)
    local shape, key = a.shape, {}
    for d = 1, #shape do shape[d], key[d] = 2 * shape[d], { -1, 1, -2 } end
    if a.count == 0 then return a end
    local b = mw.zeros(shape, a.dtype)[key]
    return b:assign(a)
  end,
}

-- The error that a tolerance of 1 allows, relative to the value: a few units in its last place.
local digits = { half = 2 ^ -10, bfloat16 = 2 ^ -7, float = 2 ^ -22, double = 2 ^ -50, complex64 = 2 ^ -21,
  complex128 = 2 ^ -49 }

-- The largest difference from an expected value of the dtype: in units of the last place, or relative to the value or
-- to 1, whichever is larger.
local function limit(dtype, tolerance, options)
  if options.error then return function(wanted) return options.error * math.max(1, math.abs(wanted)) end end
  local unit = (digits[dtype] or 0) * tolerance
  return function(wanted) return unit * math.abs(wanted) end
end

local function same_number(wanted, got, most)
  if type(wanted) == "table" then
    return same_number(wanted[1], got[1] or got.x, most) and same_number(wanted[2], got[2] or got.y, most)
  end
  if wanted ~= wanted or got ~= got then return wanted ~= wanted and got ~= got end
  if wanted == got then return true end
  if type(wanted) == "boolean" or type(got) == "boolean" then return false end
  return math.abs(wanted - tonumber(got)) <= most(wanted)
end

local function text_of(value)
  if type(value) ~= "table" then return tostring(value) end
  return ("%s + %si"):format(tostring(value[1] or value.x), tostring(value[2] or value.y))
end

local function type_of(dtype, shape) return ("%s{%s}"):format(dtype, table.concat(shape, ",")) end

local function check(place, wanted, got, tolerance, options)
  if is_plain(wanted) then
    assert.is_true(same_number(wanted, got, limit("double", tolerance, options)),
      ("value %d is %s, not %s"):format(place, text_of(got), text_of(wanted)))
    return
  end
  local dtype, shape, elements = wanted[1], wanted[2], wanted[3]
  assert.equal("array", mw.type(got), "value " .. place)
  assert.equal(type_of(dtype, shape), type_of(got.dtype, got.shape), "value " .. place)
  if got.count == 0 then return end
  local list, most = got:contiguous():reshape(-1):totable(), limit(dtype, tolerance, options)
  for i, value in ipairs(elements) do
    if not same_number(value, list[i], most) then
      error(("value %d: element %d is %s, not %s"):format(place, i, text_of(list[i]), text_of(value)), 0)
    end
  end
end

-- The names in a fixed order, and with their types as text.
local function names_of(inputs, own)
  local names, types = {}, {}
  for name in pairs(inputs) do names[#names + 1] = name end
  for name, it in pairs(own or {}) do
    names[#names + 1] = name
    if not is_plain(it) then types[#types + 1] = (", %s %s"):format(name, type_of(it[1], it[2])) end
  end
  table.sort(types)
  return names, table.concat(types)
end

local function function_of(expression, names)
  local text = ("local mw, %s = ... return %s"):format(table.concat(names, ", "), expression)
  return assert.is_truthy(load_text(text, "=case"))
end

local function is_chosen(expression, only)
  if type(only) == "function" then return only(expression) end
  return not only or expression:find(only) ~= nil
end

-- Makes a file's inputs when a case first needs them, once for each layout.
local function input_maker(inputs)
  local made = {}
  return function(layout, name)
    made[layout] = made[layout] or {}
    made[layout][name] = made[layout][name] or layouts[layout](array_of(inputs[name]))
    return made[layout][name]
  end
end

---A test for each case of a file. describe and it are the suite's. Options:
---  tolerance   of cases without one, in units of the last place; 0 (exact) if nothing is given
---  error       in place of it: the largest error, relative to the value or to 1, whichever is larger
---  layouts     those of the inputs: {"plain"}, or numpy.layouts for all
---  only        a pattern or function: the cases whose expression it matches
---  title       what the tests are called, and what is different in them
---  around      a function that runs each test: around(test)
function numpy.run(noun, describe, it, options)
  options = options or {}
  local file = dofile("spec/data/arrays/" .. noun .. ".lua")
  local input = input_maker(file.inputs)

  local function run(case, names, layout)
    local arguments = {}
    for i, name in ipairs(names) do
      local own = case.with and case.with[name]
      if own == nil then
        arguments[i] = input(layout, name)
      else
        arguments[i] = is_plain(own) and own or layouts[layout](array_of(own))
      end
    end
    local results = { function_of(case[1], names)(mw, (table.unpack or unpack)(arguments)) }
    assert.equal(#case - 1, #results, "how many values")
    for i, got in ipairs(results) do check(i, case[i + 1], got, case.tolerance or options.tolerance or 0, options) end
  end

  local function run_layouts(case, names)
    for _, layout in ipairs(options.layouts or { "plain" }) do
      local ok, why = pcall(run, case, names, layout)
      if not ok then error(("%s: %s"):format(layout, type(why) == "table" and why.message or tostring(why)), 0) end
    end
  end

  local chosen = {}
  for _, case in ipairs(file) do
    if is_chosen(case[1], options.only) then chosen[#chosen + 1] = case end
  end
  assert(#chosen > 0, "no case is chosen")

  local around = options.around or function(test) test() end
  describe((options.title or noun:match "[^/]+$") .. " beside NumPy's:", function()
    for _, case in ipairs(chosen) do
      local names, types = names_of(file.inputs, case.with)
      it(case[1] .. types, function() around(function() run_layouts(case, names) end) end)
    end
  end)
end

-- All cases of a file.
numpy.layouts = { "plain", "permuted", "stepped" }

return numpy
