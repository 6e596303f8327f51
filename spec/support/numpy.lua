-- Runs the cases of spec/data/arrays: calls of functions whose results NumPy knows, on arrays in several layouts.
local mw = require "moonwarp"

local M = {}

local function text_of(value)
  if mw.type(value) == "array" then return ("%s{%s}"):format(value.dtype, table.concat(value.shape, ",")) end
  if type(value) ~= "table" then return tostring(value) end
  if value.dtype then return ("%s{%s}"):format(value.dtype, table.concat(value.shape, ",")) end
  local parts = {}
  for key, it in pairs(value) do
    parts[#parts + 1] = (type(key) == "number" and "" or key .. "=") .. text_of(it)
  end
  table.sort(parts)
  return "{" .. table.concat(parts, ",") .. "}"
end

-- An array as a case says it.
function M.array(of)
  if #of.data == 0 then return mw.zeros(of.shape, of.dtype) end
  return mw.array(of.data, of.dtype):reshape(of.shape)
end

-- The same elements at other places: as they are, with dimensions in another order in memory, every other element.
M.layouts = {
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

local digits = { half = 2 ^ -10, bfloat16 = 2 ^ -7, float = 2 ^ -22, double = 2 ^ -50, complex64 = 2 ^ -21,
  complex128 = 2 ^ -49 }

local function parts_of(value)
  if type(value) ~= "table" then return value, 0 end
  return value.x or value[1], value.y or value[2]
end

local function same_number(wanted, got, close)
  if wanted == got then return true end
  if type(wanted) == "boolean" or type(got) == "boolean" then return false end
  local a, b = parts_of(wanted)
  local x, y = parts_of(got)
  if type(wanted) ~= "table" then
    if a ~= a then return x ~= x end
    return close and math.abs(x - a) <= close * math.abs(a) or x == a
  end
  if a ~= a or b ~= b then return x ~= x or y ~= y end
  local size = math.max(math.abs(a), math.abs(b))
  return (a == x and b == y) or math.abs(x - a) <= close * size and math.abs(y - b) <= close * size
end

-- Compare a result with what NumPy says; tolerance in units of the dtype's last place, 1 if it is not given.
function M.compare(wanted, got, tolerance)
  if type(wanted) ~= "table" or not wanted.dtype then
    assert(same_number(wanted, got, digits.double * (tolerance or 1)), ("%s instead of %s"):format(text_of(got),
      text_of(wanted)))
    return
  end
  assert(text_of(wanted) == text_of(got), ("%s instead of %s"):format(text_of(got), text_of(wanted)))
  if got.count == 0 then return end
  local list, close = got:copy():reshape(-1):totable(), digits[wanted.dtype]
  for i, value in ipairs(wanted.data) do
    if not same_number(value, list[i], close and close * (tolerance or 1)) then
      error(("element %d is %s instead of %s"):format(i, text_of(list[i]), text_of(value)), 0)
    end
  end
end

local function arguments_of(case, layout)
  local list = {}
  for i, it in ipairs(case.args) do list[i] = type(it) == "table" and it.dtype and layout(M.array(it)) or it end
  return list
end

-- What is written as an operator, and a method to cases.
local operators = {
  select = function(a, key) return a[key] end,
  assign = function(a, key, value)
    a[key] = value
    return a
  end,
}

local function run(case, layout)
  local a = layout(M.array(case.a))
  local f = operators[case.call] or mw[case.call:match "^mw%.(.*)" or 0] or a[case.call]
  local got = { f(a, (table.unpack or unpack)(arguments_of(case, layout))) }
  assert(#case.gives == #got, ("%d results instead of %d"):format(#got, #case.gives))
  for i, wanted in ipairs(case.gives) do M.compare(wanted, got[i], case.tolerance) end
end

---A test for each case of a file: its function's results, for arrays in each layout. describe and it are the suite's.
function M.run(noun, describe, it)
  local by_call, order = {}, {}
  for _, case in ipairs(dofile("spec/data/arrays/" .. noun .. ".lua")) do
    if not by_call[case.call] then
      by_call[case.call] = {}
      order[#order + 1] = case.call
    end
    table.insert(by_call[case.call], case)
  end
  for _, call in ipairs(order) do
    describe("a:" .. call .. ", beside NumPy's,", function()
      for i, case in ipairs(by_call[call]) do
        it(("case %d: %s %s"):format(i, text_of(case.a), text_of(case.args)), function()
          for name, layout in pairs(M.layouts) do
            local ok, why = pcall(run, case, layout)
            if not ok then error(("%s: %s"):format(name, type(why) == "table" and why.message or tostring(why)), 0) end
          end
        end)
      end
    end)
  end
end

return M
