-- Random kernels: made from a seed, run by a plain interpreter for the expected results, and by compiled code of every
-- width.
--
--   local k = kernels.make(seed)             nil if the seed gives no kernel that can be tested
--   local m = kernels.compile({k, …}, width)
--   kernels.difference(k, m)                 nil, or the differences as text
--   kernels.text(k)                          CUDA C
--
-- spec/stress/random_kernels_spec.lua uses it; by hand:
--   lua5.4 spec/support/kernels/fuzz.lua FIRST LAST  tries those seeds at all widths
--   lua5.4 spec/support/kernels/fuzz.lua --reduce SEED WIDTH  reduces a failing kernel

local mw = require "moonwarp"
local types = require "support.kernels.types"
local generate = require "support.kernels.generate"
local reference = require "support.kernels.reference"
local cuda = require "support.kernels.cuda"
local strides = require "support.kernels.strides"
local warps = require "support.kernels.warps"

local kernels = { widths = { 1, 4, 8, 16, 32, 64, "4x2", "8x4", "16x4" } }

-- ---- what is in memory at the start

local function numbers_from(seed)
  local state = seed | 1
  return function()
    state = state * 6364136223846793005 + 1442695040888963407
    return state >> 33
  end
end

local function draw(t, next_number)
  local roll = next_number() % 8
  if not t.integer then
    if roll < 4 then return (next_number() % 41 - 20) + 0.0 end
    if roll < 7 then return (next_number() % 4001 - 2000) / 64 end
    return types.run.to_float((next_number() % 100000 - 50000) * 1.7e-3)
  end
  local v = roll < 3 and next_number() % 16 or roll < 5 and next_number() % 512 - 256 or
    next_number() * 0x9e3779b97f4a7c15 >> (roll == 6 and 20 or 0)
  return t.bits == 64 and v or types.run["to_" .. t.name](v)
end

local function filled(array, next_number)
  local data = { t = array.t, size = array.size, seen = {} }
  for i = 0, array.size - 1 do data[i] = next_number and draw(array.t, next_number) or array.t.integer and 0 or 0.0 end
  return data
end

-- By name, as the kernel finds it. What is written is copied, so that every run starts from the same.
local function memory_of(k, launch)
  local next_number = numbers_from(launch.seed)
  local memory = {}
  for _, array in ipairs(k.inputs) do
    if array.space == "in" then memory[array.name] = filled(array, next_number) end
  end
  memory.table = { t = types.int, size = 16, seen = {} }
  for i, v in ipairs(cuda.table) do memory.table[i - 1] = v end
  for _, array in ipairs(k.shared) do
    if array.space == "buf" then memory[array.name] = filled(array, next_number) end
  end
  for _, array in ipairs(k.counters) do memory[array.name] = filled(array) end
  for _, array in ipairs(k.records) do memory[array.name] = filled(array, next_number) end
  for _, t in ipairs(k.types) do memory[k.out[t.name].name] = filled(k.out[t.name]) end
  launch.p = { a = next_number() % 100 - 50, f = 2.5, c = next_number() * 12345, s = next_number() % 1000 - 500,
    b = next_number() % 256, v = { [0] = 3, -1, 17, next_number() % 64 } }
  return memory
end

local function packed(data)
  local pieces, format = {}, data.t.pack
  for i = 0, data.size - 1 do pieces[i + 1] = string.pack(format, data[i]) end
  return table.concat(pieces)
end

-- ---- compiled code

-- The kernel of a seed, run by the reference. `options.strides`: as the body of a grid-stride loop.
function kernels.make(seed, options)
  local k = generate(seed, options)
  local ok, why = kernels.refer(k)
  if not ok then return nil, why end
  k.strides = options and options.strides
  return k
end

function kernels.refer(k) return reference.run(k, function(launch) return memory_of(k, launch) end) end

function kernels.text(k)
  local text, names = cuda.write(k, reference.bounds)
  return k.strides and strides.text(k, text, names) or text
end

function kernels.source(list)
  local texts = { cuda.prelude .. warps.prelude }
  for i, k in ipairs(list) do texts[i + 1] = kernels.text(k) end
  return table.concat(texts, "\n")
end

-- `width` "own": as many lanes and vectors as mwcc itself chooses.
function kernels.compile(list, width)
  return mw.compile { source = kernels.source(list), options = width ~= "own" and { "--width=" .. width } or nil }
end

local function struct(p)
  return { a = p.a, f = p.f, c = p.c, s = p.s, b = p.b, v = { p.v[0], p.v[1], p.v[2], p.v[3] } }
end

local function shared_bytes(k)
  for _, array in ipairs(k.shared) do
    if array.dynamic then return array.size * array.t.bits // 8 end
  end
  return 0
end

-- The first element that differs; NaN is NaN.
local function first_difference(data, bytes)
  local size, format = data.t.bits // 8, data.t.pack
  for i = 0, data.size - 1 do
    local got = string.unpack(format, bytes, i * size + 1)
    local want = data[i]
    local same = got == want and (want ~= 0 or data.t.integer or 1 / got == 1 / want) or got ~= got and want ~= want
    if not same then return i, got, want end
  end
end

local function describe(launch)
  return ("block %s, grid %s, n = %d, m = %d, q = %d, f = %g, d = %g"):format(table.concat(launch.block, "x"),
    table.concat(launch.grid, "x"), launch.n, launch.m, launch.q, launch.f, launch.d)
end

local function launch_difference(k, m, launch)
  local _, names = cuda.write(k, reference.bounds)
  local start, arrays, args = memory_of(k, launch), {}, {}
  for i, name in ipairs(names) do
    local from = name == "same" and "buf" or name:gsub("_same$", "")
    if start[from] then
      arrays[from] = arrays[from] or mw.from_bytes(packed(start[from]), start[from].t.name)
      args[i] = arrays[from]
    else
      args[i] = name == "p" and struct(launch.p) or launch[name]
    end
  end
  local wrong = mw.zeros(1, "int")
  if k.strides then args[#names + 1], args[#names + 2] = launch.grid[1], wrong end
  local ok, why = pcall(function()
    m[k.name](k.strides and strides.grid(launch) or launch.grid, launch.block, shared_bytes(k))(table.unpack(args))
    mw.synchronize()
  end)
  if not ok then return ("%s: %s"):format(describe(launch), tostring(why)) end
  if wrong[1] ~= 0 then return ("%s: %d threads carry other numbers"):format(describe(launch), wrong[1]) end
  for name, array in pairs(arrays) do
    local bytes = array:bytes()
    if bytes ~= packed(launch.result[name]) then
      local i, got, want = first_difference(launch.result[name], bytes)
      if i then
        return ("%s: %s[%d] is %s, should be %s"):format(describe(launch), name, i, tostring(got), tostring(want))
      end
    end
  end
end

function kernels.difference(k, m)
  for _, launch in ipairs(k.launches) do
    local text = launch_difference(k, m, launch)
    if text then return text end
  end
end

return kernels
