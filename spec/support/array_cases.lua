-- Runs the cases of spec/data/arrays/*.lua: expressions, and what NumPy makes of the same.
--
-- A file has `inputs`, arrays by name as {dtype, shape, elements}, and cases {expression, value…}: in the expression mw
-- and the inputs' names are known; a value is an array or a number.

local assert = require "luassert"
local mw = require "moonwarp"

local load_text = loadstring or load -- luacheck: ignore 143

local cases = {}

local function array_of(it)
  local dtype, shape, elements = it[1], it[2], it[3]
  local count = 1
  for _, size in ipairs(shape) do count = count * size end
  if count == 0 then return mw.empty(shape, dtype) end
  return mw.array(elements, dtype):reshape(shape)
end

local function same(wanted, got, tolerance)
  if wanted ~= wanted or got ~= got then return wanted ~= wanted and got ~= got end
  if type(wanted) == "boolean" or type(got) == "boolean" then return wanted == got end
  if type(wanted) == "table" then
    return same(wanted[1], got[1], tolerance) and same(wanted[2], got[2], tolerance)
  end
  got = tonumber(got)
  if wanted == got then return true end
  return tolerance > 0 and math.abs(wanted - got) <= tolerance * math.max(1, math.abs(wanted))
end

local function check(expression, place, wanted, got, tolerance)
  local what = ("%s, value %d"):format(expression, place)
  if type(wanted) ~= "table" or type(wanted[1]) ~= "string" then
    assert.is_true(same(wanted, got, tolerance), ("%s is %s, not %s"):format(what, tostring(got), tostring(wanted)))
    return
  end
  assert.equal("array", mw.type(got), what)
  assert.equal(wanted[1], got.dtype, what)
  assert.equal(table.concat(wanted[2], " "), table.concat(got.shape, " "), what)
  local elements = got.count > 0 and got:contiguous():reshape(-1):totable() or {}
  for i = 1, #wanted[3] do
    if not same(wanted[3][i], elements[i], tolerance) then
      local n = wanted[3][i]
      error(("%s: element %d is %s, not %s"):format(what, i, tostring(elements[i]), tostring(n)), 2)
    end
  end
end

---Check all cases of a file; each failure names its expression.
---@param path string
---@param options? { tolerance?: number, only?: string } relative, absolute below 1; only expressions with this pattern
---@return integer count how many there were
function cases.run(path, options)
  options = options or {}
  local file = dofile(path)
  local names, inputs = {}, {}
  for name, it in pairs(file.inputs) do
    names[#names + 1], inputs[#inputs + 1] = name, array_of(it)
  end
  local count = 0
  for _, case in ipairs(file) do
    local expression = case[1]
    if not options.only or expression:find(options.only) then
      local text = ("local mw, %s = ... return %s"):format(table.concat(names, ", "), expression)
      local results = { pcall(assert.is_truthy(load_text(text, "=case")), mw, (table.unpack or unpack)(inputs)) }
      if not results[1] then error(("%s: %s"):format(expression, tostring(results[2])), 2) end
      assert.equal(#case, #results, expression .. ": how many values")
      for k = 2, #case do check(expression, k - 1, case[k], results[k], options.tolerance or 0) end
      count = count + 1
    end
  end
  assert.is_true(count > 0)
  return count
end

return cases
