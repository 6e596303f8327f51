-- The operations on arrays whose kernels are compiled beforehand and installed, so that a script's first operations on
-- small arrays do not wait for the compiler. Here they are asked of a library whose compiler only keeps the text that
-- it is given (collect.sh): each operation raises, and its text is left in a folder.
--
-- A kernel is made for element types and a layout class, so what counts is which types meet, not how many elements.

local mw = require "moonwarp"
local kernels = require "moonwarp.array.kernels"

-- Kernels for large arrays and for your own accumulators: what they are used for takes longer than compiling them.
local left_out = { describe = true, columns = true, join_one = true, whole = true, columns_totals = true,
  columns_prefixes = true }

-- Every kernel of a text that has several: the first failure would hide the others.
local module = kernels.module
function kernels.module(...)
  local of, source = module(...), (...)
  return function(device)
    local found = of(device)
    for name in source:gmatch 'extern "C" __global__ void ([%w_]+)' do
      if not left_out[name] then pcall(function() return found[name] end) end
    end
    return found
  end
end

local try = pcall
local function method(a, name, ...) return try(a[name], a, ...) end

local floats, numbers = { "float", "double" }, { "float", "double", "int", "longlong" }
local every = { "float", "double", "int", "longlong", "uchar", "bool" }
local arithmetic = { "add", "subtract", "multiply", "divide" }

for _, dtype in ipairs(numbers) do
  local a, b, mask = mw.zeros(3, dtype), mw.zeros(3, dtype), mw.zeros(3, "bool")
  for _, name in ipairs { "add", "subtract", "multiply", "divide", "maximum", "minimum", "floor_divide", "mod",
    "pow" } do
    try(mw[name], a, b)
    try(mw[name], a, 2)
  end
  for _, name in ipairs(arithmetic) do try(mw[name], 2, a) end
  for _, name in ipairs { "lt", "le", "gt", "ge", "eq", "ne" } do
    method(a, name, b)
    method(a, name, 2)
  end
  for _, name in ipairs { "negative", "abs", "square", "sign", "cumsum", "sort", "argsort", "nonzero" } do
    method(a, name)
  end
  method(a, "clip", 0, 1)
  for _, name in ipairs { "sum", "mean", "min", "max" } do
    method(a, name)
    method(a:reshape(1, 3), name, { axis = 2 })
  end
  method(a, "take", mw.ones(2, "int"))
  method(a, "compress", mask)
  try(mw.where, mask, a, b)
  try(mw.where, mask, a, 0)
  try(mw.where, mask, 1, a)
end

for _, dtype in ipairs(floats) do
  local a, m, column = mw.zeros(3, dtype), mw.zeros({ 2, 3 }, dtype), mw.zeros({ 2, 1 }, dtype)
  for _, name in ipairs(arithmetic) do -- by rows
    try(mw[name], m, a)
    try(mw[name], m, column)
  end
  for _, name in ipairs { "exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "atan", "floor", "ceil", "round", "trunc",
    "isnan", "isfinite", "log2", "log10", "exp2", "expm1", "log1p", "sigmoid", "reciprocal", "rsqrt" } do
    method(a, name)
  end
  for _, name in ipairs { "atan2", "hypot" } do method(a, name, a) end
  for _, name in ipairs { "var", "std", "argmin", "argmax", "any", "all", "prod", "norm", "count_nonzero" } do
    method(a, name)
    if name ~= "norm" then method(m, name, { axis = 2 }) end
  end
end

local mask = mw.zeros(3, "bool")
for _, name in ipairs { "land", "lor", "lxor" } do method(mask, name, mask) end
for _, name in ipairs { "lnot", "sum", "any", "all", "count_nonzero", "nonzero" } do method(mask, name) end

-- Conversions, and copies of views by the size of their words.
for _, dtype in ipairs(every) do
  local a, m = mw.zeros(3, dtype), mw.zeros({ 2, 3 }, dtype)
  for _, to in ipairs(every) do
    if to ~= dtype then try(function() return mw.zeros(3, to):assign(a) end) end
  end
  try(function() return m:transpose():contiguous() end)
  try(function() return m[{ {}, 1 }]:contiguous() end)
  try(function() return m[{ {}, { 1, 2 } }]:contiguous() end)
  try(function() return a[{ { 3, 1, -1 } }]:contiguous() end)
  try(function() m[{ {}, 1 }] = 1 end)
  try(function() m[{ {}, { 1, 2 } }] = mw.ones({ 2, 2 }, dtype) end)
end

-- Types that meet often.
for _, pair in ipairs { { "float", "double" }, { "int", "float" }, { "int", "double" } } do
  local a, b = mw.zeros(3, pair[1]), mw.zeros(3, pair[2])
  for _, name in ipairs(arithmetic) do
    try(mw[name], a, b)
    try(mw[name], b, a)
  end
end
