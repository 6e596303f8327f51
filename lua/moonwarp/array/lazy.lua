-- Lazy expressions, computed in one kernel: mw.lazy and mw.fuse.
--
-- An expression is a tree of nodes. A leaf is an array. An operation (operators.lua) is fused with the operations that
-- are its operands. A step (a slice, a reduction, a scan, a sort) is computed by itself from its arguments. Each
-- structure of an expression with each combination of dtypes has one kernel.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local kernels = require "moonwarp.array.kernels"
local promotion = require "moonwarp.array.promotion"
raw.part "array.operators"

local usage = errors.usage
local unpack = table.unpack or unpack -- luacheck: ignore 143

local M = { public = {} }
local Lazy = {}

-- Whether a value is an expression.
function M.is(value) return type(value) == "table" and getmetatable(value) == Lazy end

-- A node: kind "leaf", "operation" or "step"; dtype; traced, within mw.fuse.
local function node(fields) return setmetatable(fields, Lazy) end

local function leaf(array, traced, slot)
  return node { kind = "leaf", array = array, dtype = array.dtype, traced = traced, slot = slot }
end

-- The expression of an operator applied to arrays, numbers and expressions.
function M.apply(name, arguments, count)
  local list, traced = {}, false
  for k = 1, count do
    local argument = arguments[k]
    list[k] = raw.type(argument) == "array" and leaf(argument) or argument
    traced = traced or M.is(argument) and rawget(argument, "traced")
  end
  return M.operation(name, list, raw.operator_plan(name, raw.operator_rules[name], list, count), traced)
end

-- The expression of an operation with a plan, such as operators.lua makes, for its arguments.
function M.operation(name, list, plan, traced)
  for k, argument in ipairs(list) do
    if raw.type(argument) == "array" then list[k] = leaf(argument) end
    traced = traced or M.is(argument) and rawget(argument, "traced")
  end
  return node { kind = "operation", name = name, arguments = list, plan = plan, dtype = plan.operands[1][3],
    traced = traced }
end

-- ---- computing ----

-- Add an operation and its operands to the kernel in `into`, which collects operands, values, lines, key and
-- preambles; returns the variable that holds the element.
local emit

local function operand(into, kind, dtype, value, same)
  if same and into.seen[same] then return into.seen[same] end
  local name = (kind == "in" and "x" or "s") .. (#into.operands + 1)
  into.operands[#into.operands + 1] = { name, kind, dtype }
  into.values[#into.values + 1] = value
  into.key[#into.key + 1] = kind .. tostring(dtype)
  if same then into.seen[same] = name end
  return name
end

function emit(tree, into, value_of)
  if into.seen[tree] then return into.seen[tree] end
  if tree.kind ~= "operation" then return operand(into, "in", tree.dtype, value_of(tree), tree) end
  local names, plan = {}, tree.plan
  for k, argument in ipairs(tree.arguments) do
    if M.is(argument) then
      names[k] = emit(argument, into, value_of)
    else
      names[k] = operand(into, "scalar", plan.operands[k + 1][3], argument)
    end
  end
  local line, name = {}, "t" .. (#into.lines + 1)
  for k, argument in ipairs(names) do
    local of = plan.operands[k + 1]
    line[k] = ("const %s %s = %s;"):format(promotion.number(of[3], tree.name).C, of[1], argument)
  end
  local C = promotion.number(tree.dtype, tree.name).C
  into.lines[#into.lines + 1] = ("%s %s; { %s y; %s\n  %s %s = y; }"):format(C, name, C, table.concat(line, " "),
    plan.body, name)
  into.key[#into.key + 1] = tree.name .. "(" .. table.concat(names, ",") .. ")" .. tree.dtype
  if plan.preamble then into.preambles[plan.preamble] = true end
  into.seen[tree] = name
  return name
end

local made = {}

-- The function of elements for an operation, and the values of its operands after the output.
local function function_of(tree, value_of, to)
  local into = { operands = {}, values = {}, lines = {}, key = {}, preambles = {}, seen = {} }
  local result = emit(tree, into, value_of)
  local device
  for k, of in ipairs(into.operands) do
    if of[2] == "in" then device = device or into.values[k].device end
  end
  local key = device.name .. " " .. to .. " " .. table.concat(into.key, " ")
  if not made[key] then
    local from, wanted = promotion.number(tree.dtype, "assign"), promotion.number(to, "assign")
    if from.kind == "complex" and wanted.kind ~= "bool" and wanted.kind ~= "complex" then
      promotion.of(tree.dtype, "assign to " .. to)
    end
    local store = ("y = %s;"):format(promotion.converted(result, from, wanted))
    local preamble = {}
    for text in pairs(into.preambles) do preamble[#preamble + 1] = text end
    table.insert(into.operands, 1, { "y", "out", to })
    made[key] = kernels.on(device, raw.elementwise_new, { name = "fused", operands = into.operands,
      preamble = table.concat(preamble, "\n"), body = table.concat(into.lines, "\n  ") .. "\n  " .. store })
  end
  return made[key], into.values
end

-- The array of a node. `memo` holds the nodes whose arrays are known: a trace's leaves, and steps; and perhaps a list
-- for the kernels that run. `out`, if given, is written.
local function compute(tree, memo, out)
  if memo[tree] then return memo[tree] end
  local y
  if rawget(tree, "array") then
    y = tree.array
  elseif tree.kind == "step" then
    local arguments, list = tree.arguments, {}
    for k = 1, tree.count do list[k] = M.is(arguments[k]) and compute(arguments[k], memo) or arguments[k] end
    y = tree.work(unpack(list, 1, tree.count))
  else
    local f, values = function_of(tree, function(of) return compute(of, memo) end, out and out.dtype or tree.dtype)
    y = raw.elementwise_run(f, out, unpack(values))
    if memo.kernels then memo.kernels[#memo.kernels + 1] = f end
    if out then return out end
  end
  memo[tree] = y
  return y
end

-- Compute an expression into an existing array, converting to its dtype.
function M.into(tree, out)
  if tree.kind ~= "operation" then return out:assign(compute(tree, {})) end
  return compute(tree, {}, out)
end

-- ---- expressions as values ----

local methods = {}

local steps = {} -- of the trace being recorded

-- A node that is computed by itself: a method with its arguments, or a slice. Arguments may be expressions. While a
-- function is traced, the arrays of its first call are there to compute with.
local function step(text, work, count, ...)
  local tree = { kind = "step", arguments = { ... }, count = count, work = work, text = text, traced = true }
  local y = compute(tree, {})
  if raw.type(y) ~= "array" then
    usage("mw.fuse: %s gives a number, which is not known while the function is traced; use an operation that "
      .. "returns an array", text)
  end
  tree.array, tree.dtype = y, y.dtype
  steps[#steps + 1] = node(tree)
  return tree
end

-- Reductions and scans: computed at once; in a trace, a step, which keeps the number of dimensions.
local reductions = {}
for name in ("sum prod mean min max argmin argmax any all count_nonzero var std norm median"):gmatch "%S+" do
  reductions[name] = true
end
for name in ("cumsum cumprod diff quantile take gather compress transpose permute squeeze expand flip contiguous "
  .. "reshape broadcast_to real imag sort argsort searchsorted tile repeat_each roll pad tril triu diag trace "
  .. "mm dot outer matvec to as sub copy"):gmatch "%S+" do
  reductions[name] = false
end

local function method_of(name)
  return function(self, ...)
    local arguments, count = { ... }, select("#", ...)
    local traced = rawget(self, "traced")
    for k = 1, count do traced = traced or M.is(arguments[k]) and rawget(arguments[k], "traced") end
    if not traced then
      for k = 1, count do arguments[k] = M.is(arguments[k]) and compute(arguments[k], {}) or arguments[k] end
      local x = compute(self, {})
      return x[name](x, unpack(arguments, 1, count))
    end
    local options = arguments[1]
    local whole = reductions[name] and (options == nil or options.axis == nil and options.keys == nil)
    if whole then -- stays an array, of sizes 1, which broadcasts
      arguments = { { keepdims = true } }
      for key, value in pairs((...) or {}) do arguments[1][key] = value end
      count = 1
    end
    local tree = step(name, function(x, ...) return x[name](x, ...) end, count + 1, self, unpack(arguments, 1, count))
    tree.is_number = whole and not ((...) or {}).keepdims
    return tree
  end
end
for name in pairs(reductions) do methods[name] = method_of(name) end

-- The array of the expression.
function methods:eval() return self.traced and self or compute(self, {}) end

-- The CUDA C of the expression's kernel.
function methods:source()
  if self.kind ~= "operation" then usage "an expression that is only an array has no kernel" end
  return raw.elementwise_text((function_of(self, function(of) return compute(of, {}) end, self.dtype)))
end

function Lazy.__index(self, key)
  if type(key) == "table" then
    if rawget(self, "traced") or M.is(key) and rawget(key, "traced") then
      return step("a slice", function(x, part) return x[part] end, 2, self, key)
    end
    return compute(self, {})[M.is(key) and compute(key, {}) or key]
  end
  if methods[key] then return methods[key] end
  local rule = raw.operator_rules[key]
  if rule then return function(...) return M.apply(key, { ... }, rule.arity or 2) end end
  if key == "shape" or key == "count" then
    if rawget(self, "traced") then
      usage("mw.fuse: %s is unknown, because a function is traced for arrays of any shape", key)
    end
    return compute(self, {})[key]
  end
  if type(raw.classes.array[key]) == "function" then
    if not rawget(self, "traced") then return method_of(key) end
    usage("mw.fuse: a:%s is not known while the function is traced; call it outside", key)
  end
  return nil
end

local function sign_of(name)
  local rule = raw.operator_rules[name]
  return rule and rule.sign
end

-- The expression as text; arrays get names in the order in which they appear.
local function text_of(tree, names)
  if promotion.is_complex(tree) then return "(" .. tostring(tree) .. ")" end
  if not M.is(tree) then return tostring(tree) end
  if tree.kind == "operation" and not names[tree] then
    local parts, sign = {}, sign_of(tree.name)
    for k, argument in ipairs(tree.arguments) do
      parts[k] = text_of(argument, names)
      local is_operation = M.is(argument) and argument.kind == "operation" and not names[argument]
      if sign and is_operation and sign_of(argument.name) then
        parts[k] = "(" .. parts[k] .. ")"
      end
    end
    if sign and #parts == 2 then return parts[1] .. " " .. sign .. " " .. parts[2] end
    if sign then return sign .. parts[1] end
    return tree.name .. "(" .. table.concat(parts, ", ") .. ")"
  end
  if tree.kind == "step" and not names[tree] then
    local parts = {}
    for k = 1, tree.count do
      parts[#parts + 1] = M.is(tree.arguments[k]) and text_of(tree.arguments[k], names) or nil
    end
    return tree.text .. " of " .. table.concat(parts, ", ")
  end
  local key = names[tree] and tree or rawget(tree, "array") or tree
  if not names[key] then
    names.count = (names.count or 0) + 1
    names[key] = "x" .. names.count
  end
  return names[key]
end

function Lazy.__tostring(self) return text_of(self, {}) end

for name, rule in pairs(raw.operator_rules) do
  if rule.operator then Lazy[rule.operator] = function(a, b) return M.apply(name, { a, b }, rule.arity or 2) end end
end
Lazy.__lt, Lazy.__le = raw.operators.__lt, raw.operators.__le

-- ---- mw.fuse ----

local Fused = {}
local fused = {}
Fused.__index = fused

local function trace(self, arguments, count)
  local leaves, list = {}, {}
  for k = 1, count do
    local argument = arguments[k]
    if raw.type(argument) == "array" then
      leaves[k] = leaf(argument, true, k)
      list[k] = leaves[k]
    else
      list[k] = argument
    end
  end
  steps = {}
  local results = { self.f(unpack(list, 1, count)) }
  if #results == 0 then usage "mw.fuse: the function returns nothing" end
  for _, tree in pairs(leaves) do tree.array = nil end -- a trace must not retain arrays
  for _, tree in ipairs(steps) do tree.array = nil end
  steps = {}
  return { leaves = leaves, results = results }
end

local MOST = 256 -- traces that are kept: each number that is passed has its own

-- The key of a call's trace: ranks and dtypes of arrays, and other values.
local function key_of(arguments, count)
  local key = {}
  for k = 1, count do
    local argument = arguments[k]
    key[k] = raw.type(argument) == "array" and argument.rank .. tostring(argument.dtype) .. argument.device.name
      or tostring(argument)
  end
  return table.concat(key, " ")
end

function Fused:__call(...)
  local arguments, count = { ... }, select("#", ...)
  local key = key_of(arguments, count)
  local traced = self.traces[key]
  if not traced then
    traced = trace(self, arguments, count)
    self.kept = self.kept + 1
    if self.kept > MOST then self.traces, self.kept = {}, 1 end
    self.traces[key] = traced
  end
  self.last = traced
  local memo, results = { kernels = {} }, {}
  self.kernels = memo.kernels
  for k, tree in pairs(traced.leaves) do memo[tree] = arguments[k] end
  for k, tree in ipairs(traced.results) do
    results[k] = M.is(tree) and compute(tree, memo) or tree
    if M.is(tree) and tree.is_number then results[k] = results[k]:reshape(-1)[1] end
  end
  return unpack(results, 1, #traced.results)
end

-- The kernels that run and the steps between them, in order.
function fused:explain()
  if not self.last then usage "f:explain() describes the last call: call f first" end
  local lines, names, done = {}, {}, {}
  for k, tree in pairs(self.last.leaves) do names[tree] = "x" .. k end
  local visit
  local function below(tree)
    if not M.is(tree) then return end
    if tree.kind == "step" then visit(tree) end
    for _, argument in ipairs(tree.kind == "operation" and tree.arguments or {}) do below(argument) end
  end
  function visit(tree)
    if done[tree] or tree.kind == "leaf" then return end
    done[tree] = true
    if tree.kind == "step" then
      for k = 1, tree.count do
        if M.is(tree.arguments[k]) then visit(tree.arguments[k]) end
      end
      lines[#lines + 1] = ("%d. its own step: %s"):format(#lines + 1, text_of(tree, names))
    else
      below(tree)
      lines[#lines + 1] = ("%d. one kernel: %s"):format(#lines + 1, text_of(tree, names))
    end
    names[tree] = "r" .. #lines
  end
  for _, tree in ipairs(self.last.results) do if M.is(tree) then visit(tree) end end
  return table.concat(lines, "\n")
end

-- The CUDA C of the kernels that the last call ran, in their order. Steps of their own are not among them.
function fused:source()
  if not self.kernels then usage "f:source() shows the kernels of the last call: call f first" end
  local texts = {}
  for k, f in ipairs(self.kernels) do texts[k] = raw.elementwise_text(f) end
  return table.concat(texts, "\n")
end

---A lazy expression of an array: operators and functions applied to it make expressions, which print their formula and
---are computed in one kernel by e:eval(), y:assign(e) or a reduction such as e:sum { axis = 1 }.
---@param x moonwarp.array
---@return table e
function M.public.lazy(x)
  if M.is(x) then return x end
  if raw.type(x) ~= "array" then usage("mw.lazy wants an array, got %s", raw.describe(x)) end
  return leaf(x)
end

---A function of arrays whose operations are fused. It is called (traced) once for each combination of ranks and dtypes
---with expressions instead of arrays; after that its operations run as few kernels, for arrays of any shape. Slices,
---reductions, scans, sorts and products are steps of their own; f:explain() lists what runs, f:source() its CUDA C.
---@param f function of arrays and numbers
---@return function f
function M.public.fuse(f) return setmetatable({ f = f, traces = {}, kept = 0 }, Fused) end

return M
