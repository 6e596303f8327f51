-- Random kernels of one pattern, for a mechanism of the compiler: they are compiled with -G --width=1, thread by thread
-- and not optimised, and in other ways. All results must be equal, bit for bit.
--
--   fuzz.check(generate, first, last [, ways])   an error names the first seed that differs, with its kernel
--   lua5.4 spec/support/mechanisms/run.lua NAME FIRST LAST [--ways="--width=8,own"]   by hand: prints all that differ
--
-- spec/support/mechanisms/NAME.lua (or shared/NAME.lua, as shared.NAME) returns the generator of mechanism NAME, a
-- function of `draw`, a source of random numbers, that returns
--   source     CUDA C of one kernel, which is called NAME; it may have __device__ functions named NAME_…
--   launches   list of { grid, block, arguments, [shared] }
-- An argument is a number, or { type = "float", size = n [, values = list] }: an array of random values, or
-- { of = i, first = n [, last = n] }: elements first to last (from 1) of the array that is argument i, for pointers
-- that alias.
--
-- A kernel must not have races, since its results are then not determined. Random floats have 11 significant bits and
-- very different exponents: products are exact, so contracting them into FMAs changes nothing, but the sums are rounded
-- and show the order of the additions.

local mw = require "moonwarp"

local fuzz = { batch = 8 }

---How each kernel is compiled, apart from the reference: options, and whether for the launch's block size.
fuzz.ways = {
  own = {}, general = { general = true },
  ["--width=4"] = { "--width=4" }, ["--width=8"] = { "--width=8" }, ["--width=8x4"] = { "--width=8x4" },
  ["x86-64-v3"] = { "--mcpu=x86-64-v3" },
}

-- ---- random numbers, the same in all versions of Lua

local function source_of_numbers(seed)
  local state = (seed * 7919 + 12345) % 2147483647
  if state == 0 then state = 1 end
  local function step()
    state = state * 16807 % 2147483647
    return state
  end
  for _ = 1, 4 do step() end
  return step
end

---draw(n) is one of 0 … n - 1; draw.pick(list), draw.chance(percent), draw.between(a, b).
function fuzz.draw(seed)
  local step = source_of_numbers(seed)
  local draw = {}
  local function below(n) return math.floor(step() / 2147483647 * n) end
  function draw.pick(list) return list[1 + below(#list)] end
  function draw.chance(percent) return below(100) < percent end
  function draw.between(first, last) return first + below(last - first + 1) end
  return setmetatable(draw, { __call = function(_, n) return below(n) end })
end

local bits_of = { char = 8, uchar = 8, short = 16, ushort = 16, int = 31, uint = 31, int64 = 40, uint64 = 40 }

---@return table values for an array of that type
function fuzz.values(draw, dtype, count)
  local list, bits = {}, bits_of[dtype]
  for i = 1, count do
    if bits then
      local value = draw(draw.chance(50) and 100 or 2 ^ bits)
      list[i] = dtype == "char" and value % 256 - 128 or dtype == "short" and value % 65536 - 32768 or value
    else
      list[i] = (draw(4095) - 2047) * 2 ^ (draw(dtype == "half" and 6 or 24) - 12)
    end
  end
  return list
end

-- ---- running

-- What the arguments are at first, as bytes.
local function initial_bytes(launch, seed)
  local draw, list = fuzz.draw(seed + 1), {}
  for i, argument in ipairs(launch.arguments) do
    if type(argument) == "table" and not argument.of then
      local array = mw.array(argument.values or fuzz.values(draw, argument.type, argument.size), argument.type)
      list[i] = array:bytes()
      array:free()
    end
  end
  return list
end

-- Arrays filled anew, so that each way starts from the same.
local function arguments_of(launch, bytes)
  local list, arrays = {}, {}
  for i, argument in ipairs(launch.arguments) do
    if type(argument) == "table" and not argument.of then
      arrays[i] = mw.from_bytes(bytes[i], argument.type)
      list[i] = arrays[i]
    else
      list[i] = argument
    end
  end
  for i, argument in ipairs(launch.arguments) do
    if type(argument) == "table" and argument.of then
      list[i] = arrays[argument.of]:sub(argument.first, argument.last)
    end
  end
  return list, arrays
end

local function results_of(kernel, launch, initial)
  local list, arrays = arguments_of(launch, initial)
  local ok, why = pcall(function()
    kernel(launch.grid, launch.block, launch.shared)((table.unpack or unpack)(list, 1, #launch.arguments))
    mw.synchronize()
  end)
  local bytes = {}
  for i, array in pairs(arrays) do
    bytes[i] = array:bytes()
    array:free()
  end
  return bytes, not ok and tostring(why) or nil
end

local function first_difference(a, b)
  local at = 1
  while a:sub(at, at + 63) == b:sub(at, at + 63) do at = at + 64 end
  while a:byte(at) == b:byte(at) do at = at + 1 end
  return at - 1
end

local function describe(launch)
  local words = {}
  for i, argument in ipairs(launch.arguments) do
    words[i] = type(argument) ~= "table" and tostring(argument) or
      argument.of and ("argument %d from %d"):format(argument.of, argument.first) or
      ("%s[%d]"):format(argument.type, argument.size)
  end
  local function dim(d) return type(d) == "table" and table.concat(d, "x") or tostring(d) end
  return ("grid %s, block %s, (%s)"):format(dim(launch.grid), dim(launch.block), table.concat(words, ", "))
end

-- The reference's results for each launch, with what the arguments were before it.
local function references(case, reference)
  local list = {}
  for number, launch in ipairs(case.launches) do
    local initial = initial_bytes(launch, case.seed * 16 + number)
    local wanted, wrong = results_of(reference, launch, initial)
    list[number] = { initial = initial, wanted = wanted, wrong = wrong }
  end
  return list
end

local function difference(case, expected, tried)
  for number, launch in ipairs(case.launches) do
    local e = expected[number]
    if e.wrong then return describe(launch) .. ": the reference fails: " .. e.wrong end
    local got, why = results_of(tried, launch, e.initial)
    if why then return describe(launch) .. ": " .. why end
    for i, bytes in pairs(e.wanted) do
      if bytes ~= got[i] then
        return ("%s: argument %d differs from byte %d"):format(describe(launch), i, first_difference(bytes, got[i]))
      end
    end
  end
end

-- ---- kernels

---@param generate function
---@param seed integer
function fuzz.make(generate, seed)
  local case = generate(fuzz.draw(seed))
  case.seed, case.name = seed, "k" .. seed
  case.source = case.source:gsub("%f[%w_]NAME", case.name)
  return case
end

local function compile(cases, options)
  local texts = {}
  for i, case in ipairs(cases) do texts[i] = case.source end
  return mw.compile { source = table.concat(texts, "\n"), options = #options > 0 and options or nil }
end

local function in_way(way, action)
  local before = mw.limit("specialise", way.general and 1e15 or 0)
  local ok, why = pcall(action)
  mw.limit("specialise", before)
  if not ok then error(why, 0) end
end

---Calls found(seed, way, what, case) for each kernel that differs; `ways`: names, all where it is nil.
function fuzz.each_difference(generate, first, last, ways, found)
  if not ways then
    ways = {}
    for name in pairs(fuzz.ways) do ways[#ways + 1] = name end
    table.sort(ways)
  end
  for start = first, last, fuzz.batch do
    local cases = {}
    for seed = start, math.min(start + fuzz.batch - 1, last) do cases[#cases + 1] = fuzz.make(generate, seed) end
    local reference, expected = compile(cases, { "-G", "--width=1" }), {}
    for i, case in ipairs(cases) do expected[i] = references(case, reference[case.name]) end
    for _, name in ipairs(ways) do
      local way = fuzz.ways[name] or { name }
      in_way(way, function()
        local tried = compile(cases, way)
        for i, case in ipairs(cases) do
          local what = difference(case, expected[i], tried[case.name])
          if what then found(case.seed, name, what, case) end
        end
      end)
    end
  end
end

function fuzz.check(generate, first, last, ways)
  fuzz.each_difference(generate, first, last, ways, function(seed, way, what, case)
    error(("seed %d, %s: %s\n%s"):format(seed, way, what, case.source), 0)
  end)
end

return fuzz
