-- Random statements for memory accesses: structs member by member, patterns across lanes, indices that are clamped,
-- mirrored, divided, or about to wrap. For kernels of generate.lua's option `memory`.
--
-- Records are arrays in which each thread has 4 neighbouring elements or less: `rows` elements per block. reference.lua
-- drops stores to elements of other threads.

local types = require "support.kernels.types"
local E = require "support.kernels.expressions"
local int, uint = types.int, types.uint

local M = { rows = 1024 } -- times the blocks of a grid: within a record's size

local pick, chance, random
function M.use(source) pick, chance, random = source.pick, source.chance, source.random end

local function const(v, t) return E.const(v, t) end
local function add(a, b) return E.binary("+", a, b) end
local function times(a, b) return E.binary("*", a, b) end

-- A sum of the list in a random order, sometimes in a wider type that indices may have.
local function sum_of(list)
  local wide = chance(0.3) and pick { uint, types.longlong, types.ulonglong } or nil
  local sum
  while #list > 0 do
    local e = table.remove(list, random(1, #list))
    if wide then e = E.cast(e, wide) end
    sum = sum and add(sum, e) or e
  end
  return sum
end

-- ---- permutations of the thread's index in its block: all results are distinct for indices below 256

local tx = { name = "tx", c = "threadIdx.x", t = uint }
local ty = { name = "ty", c = "threadIdx.y", t = uint }
local tz = { name = "tz", c = "threadIdx.z", t = uint }
local bdx = { name = "bdx", c = "blockDim.x", t = uint }
local bdy = { name = "bdy", c = "blockDim.y", t = uint }

local orders = {
  function(t) return t end,
  function(t) return t end,
  function(t) return E.binary("^", t, const(pick { 1, 2, 3, 4, 7, 8, 15, 16 })) end,
  function(t) return E.binary("-", E.binary("-", E.var { name = "bn", t = int }, const(1)), t) end,
  function(t) return E.binary("-", const(255), t) end,
  function(t) -- eight columns
    return add(times(E.binary("%", t, const(8)), const(32)), E.binary("/", t, const(8)))
  end,
  function(t) -- the last two bits change places
    local low = E.binary("<<", E.binary("&", t, const(1)), const(1))
    local high = E.binary("&", E.binary(">>", t, const(1)), const(1))
    return E.binary("|", E.binary("|", E.binary("&", t, const(-4)), low), high)
  end,
  function(t) return E.binary("%", add(t, const(pick { 1, 5, 16 })), E.var { name = "bn", t = int }) end,
  function() -- down the columns of a block of rows
    local plane = times(E.var(tz), times(E.var(bdx), E.var(bdy)))
    return add(plane, add(times(E.var(tx), E.var(bdy)), E.var(ty)))
  end,
}

-- Halves of every `2 * half` elements, or elements that lie close together.
local function half_order(t, half)
  local low = times(E.binary("/", t, const(half)), const(2 * half))
  if chance(0.4) then low = E.binary("<<", E.binary(">>", t, const(math.tointeger(math.log(half, 2)))),
    const(math.tointeger(math.log(2 * half, 2)))) end
  return add(low, chance(0.5) and E.binary("%", t, const(half)) or E.binary("&", t, const(half - 1)))
end

local function thread(c)
  local t = E.var(c.kernel.thread)
  return chance(0.2) and E.cast(t, uint) or t
end

-- ---- members

-- { index of member 0, …, of the last }: each thread's own.
local function members_of(c, from)
  local t, list = thread(c), {}
  if chance(0.3) then
    local half = pick { 1, 2, 4, 8 }
    local place = half_order(t, half)
    for m = 0, 1 do list[m + 1] = { place, const(m * half) } end
  else
    local count = random(2, 4)
    local place = times(pick(orders)(t), const(chance(0.15) and 4 or count))
    for m = 0, count - 1 do list[m + 1] = { place, const(m) } end
  end
  local shift = chance(0.2) and const(random(1, 3)) or nil
  for m, parts in ipairs(list) do
    if from then parts[#parts + 1] = from end
    if shift then parts[#parts + 1] = shift end
    list[m] = sum_of(parts)
  end
  return list
end

local function shuffled(list)
  for i = #list, 2, -1 do
    local j = random(1, i)
    list[i], list[j] = list[j], list[i]
  end
  return list
end

local function region() return times(E.var { name = "bid", t = int }, const(M.rows)) end

local function read(c, array, index)
  local v = pick(c.assignable)
  return { k = "set", var = v, e = add(E.var(v), E.load(array, index)) }
end

local function write(c, array, index)
  local value = array.t.integer and E.integer(c, 1) or E.floating(c, 1)
  return { k = "store", array = array, via = E.way_to(array), index = index, e = value, id = E.id() }
end

-- rec[4 * t] = …; rec[4 * t + 1] = …; …: rarely one is left out, stored twice, or read in between.
local function store_members(c)
  local array = pick(c.kernel.records)
  local list = { k = "list" }
  local indices = members_of(c, region())
  if chance(0.15) then table.remove(indices) end
  if chance(0.1) then indices[#indices + 1] = pick(indices) end
  if chance(0.5) then shuffled(indices) end
  for _, index in ipairs(indices) do
    if chance(0.15) then list[#list + 1] = read(c, pick { array, pick(c.inputs) }, pick(indices)) end
    list[#list + 1] = write(c, array, index)
  end
  return list
end

local function load_members(c)
  local own = chance(0.3)
  local array = own and pick(c.kernel.records) or pick(c.inputs)
  local list = { k = "list" }
  local indices = members_of(c, own and region() or chance(0.3) and E.uniform(c, 0) or nil)
  if chance(0.5) then shuffled(indices) end
  for i, index in ipairs(indices) do
    if i == 1 or chance(0.85) then list[#list + 1] = read(c, array, index) end
    if chance(0.1) then
      list[#list + 1] = write(c, pick(c.kernel.records), add(region(), times(thread(c), const(4))))
    end
  end
  return list
end

-- Two neighbouring elements at any index: in[2 * x] and in[2 * x + 1].
local function load_pair(c)
  local array, list = pick(c.inputs), { k = "list" }
  local x = E.binary("&", E.cast(E.integer(c, 2), int), const(255))
  local at = times(x, const(pick { 1, 2, 2, 2, 3, 4 }))
  list[1], list[2] = read(c, array, at), read(c, array, add(at, const(1)))
  return chance(0.5) and shuffled(list) or list
end

-- ---- single indices

local edges = {
  function(c) -- clamped to both ends
    local e = add(E.var(pick(c.ids)), E.uniform(c, 0))
    e = E.builtin("min", int, E.cast(e, int), const(pick { 31, 100, 255, 1023 }))
    return E.builtin("max", int, e, const(0))
  end,
  function(c) -- mirrored
    local e, last = add(thread(c), const(random(0, 9))), const(pick { 7, 16, 100 })
    return E.choose(E.compare("<", e, last), e, E.binary("-", times(last, const(2)), e))
  end,
  function(c) -- by a row length that is the same for all
    local rows = add(E.binary("&", E.uniform(c, 0), const(15)), const(1))
    local e = E.cast(E.var(pick(c.ids)), pick { int, uint, uint })
    local column, row = E.binary("%", e, rows), E.binary("/", e, rows)
    return pick { column, row, add(times(column, const(16)), row), add(times(row, const(pick { 8, 17, 20 })), column) }
  end,
  function(c) -- next to where unsigned and signed numbers end
    local k = pick { 0x7fffffff, 0x7fffff00, 0xffffff00, 0xffffffff, 0x80000000, 0xfffffff0 }
    local e = E.cast(E.var(pick(c.ids)), uint)
    if chance(0.5) then e = times(e, const(pick { 3, 16, 0x1000001, 0x10000 }, uint)) end
    e = chance(0.7) and add(e, const(k, uint)) or E.binary("-", const(k, uint), e)
    local t = pick { uint, uint, int, types.longlong, types.ulonglong }
    if chance(0.4) then e = E.cast(e, int) end
    return add(E.binary("/", E.cast(e, t), E.cast(const(0x1000000), t)), const(pick { 0, 128 }))
  end,
  function(c) -- a product that wraps, of numbers that are not negative
    local a, b = E.cast(E.integer(c, 1), uint), E.cast(E.integer(c, 1), uint)
    local e = times(E.binary("&", a, const(0xfffff, uint)), E.binary("&", b, const(0xfffff, uint)))
    e = times(E.cast(e, int), const(pick { 1, 2, 4, 3 }))
    if chance(0.5) then e = E.cast(E.cast(e, uint), pick { types.longlong, types.ulonglong }) end
    return add(E.binary(">>", e, const(24)), const(pick { 0, 128 }))
  end,
  function(c) -- of few bits
    local e = add(E.var(pick(c.ids)), E.uniform(c, 0))
    e = E.cast(e, pick { types.uchar, types.char, types.short, types.ushort })
    return add(e, const(pick { 0, 1, 128 }))
  end,
  function(c) -- down the columns of a tile of fixed size
    local column = chance(0.2) and E.binary("-", const(63, uint), E.var(tx)) or E.var(tx)
    local e = add(times(column, const(pick { 16, 16, 17, 20, 8 }, uint)), E.var(ty))
    return chance(0.3) and add(e, E.uniform(c, 0)) or e
  end,
  function(c) return pick(orders)(thread(c)) end,
  function(c) return half_order(thread(c), pick { 1, 2, 4, 8 }) end,
}

local function load_edge(c) return read(c, pick(c.inputs), pick(edges)(c)) end

-- if ((unsigned)(i - low) < count) … in[i - low], rec[i - low] …
local function within(c)
  local low, i = E.uniform(c, 0), thread(c)
  local shifted = E.binary("-", E.cast(i, pick { int, uint }), low)
  local condition = E.compare("<", E.cast(shifted, uint), chance(0.5) and const(pick { 8, 32, 100 }, uint) or
    E.cast(E.uniform(c, 0), uint))
  local yes = { read(c, pick(c.inputs), shifted) }
  yes[2] = write(c, pick(c.kernel.records), add(region(), shifted))
  return { k = "when", c = condition, yes = yes }
end

M.weights = { 8, store_members, 6, load_members, 4, load_pair, 10, load_edge, 3, within }

-- ---- their arrays

local record_types = { int, int, uint, types.float, types.float, types.uchar, types.short, types.longlong,
  types.double }

function M.records()
  local list = {}
  for i = 1, random(1, 2) do
    local name = "rec" .. i
    list[i] = { name = name, alias = chance(0.4) and name .. "_same" or nil, t = pick(record_types), size = 8 * M.rows,
      space = "rec" }
  end
  return list
end

M.blocks = { { 16, 4 }, { 4, 16 }, { 16, 16 }, { 8, 8 }, { 32, 8 }, { 8, 4, 2 }, { 64, 2 }, { 2, 32 }, { 5, 5 },
  { 256 }, { 128 }, { 64 }, { 32 }, { 16 }, { 100 }, { 33 } }

return M
