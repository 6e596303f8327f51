-- A random kernel from a seed: its parameters, arrays, device functions and statements; and launches to try it with.

local types = require "support.kernels.types"
local E = require "support.kernels.expressions"
local S = require "support.kernels.statements"
local M = require "support.kernels.memory"
local int, uint = types.int, types.uint

-- xorshift: a kernel has random numbers of its own, so that a seed gives the same kernel on every machine
local function source_of(seed)
  local state = seed * 0x9e3779b97f4a7c15 ~ 0x2545f4914f6cdd1d
  local source = {}
  local function next_bits()
    state = state ~ state << 13
    state = state ~ state >> 7
    state = state ~ state << 17
    return (state * 0x2545f4914f6cdd1d) >> 11
  end
  for _ = 1, 8 do next_bits() end
  function source.random(low, high) return low + next_bits() % (high - low + 1) end
  function source.chance(p) return next_bits() * 0x1p-53 < p end
  function source.pick(list) return list[source.random(1, #list)] end
  return source
end

local random, chance, pick

local SHARED, INPUT, OUTPUT = 256, 1024, 8192 -- elements; powers of two, as an index may have to be cut

-- ---- parameters

local scalars = {
  { name = "n", t = int }, { name = "m", t = uint }, { name = "q", t = types.longlong },
  { name = "f", t = types.float }, { name = "d", t = types.double },
}
local block_ids = {
  { name = "bdx", c = "blockDim.x", t = uint }, { name = "bx", c = "blockIdx.x", t = uint },
  { name = "by", c = "blockIdx.y", t = uint }, { name = "gdx", c = "gridDim.x", t = uint },
}
local thread_ids = {
  { name = "tx", c = "threadIdx.x", t = uint }, { name = "ty", c = "threadIdx.y", t = uint },
  { name = "tz", c = "threadIdx.z", t = uint },
}
-- variables declared at the top of a kernel: `bn`, threads per block; `t`, the thread's index in its block; `gid`, its
-- index in the grid; `total`, the number of threads in the grid
local places = { bn = { name = "bn", t = int }, t = { name = "t", t = int }, gid = { name = "gid", t = int },
  bid = { name = "bid", t = int }, total = { name = "total", t = int } }

local input_types = { int, int, uint, types.uchar, types.char, types.short, types.ushort, types.longlong,
  types.ulonglong, types.float, types.float, types.double }
local variable_types = { int, int, int, uint, types.char, types.uchar, types.short, types.longlong, types.ulonglong,
  types.float, types.float, types.double }

local function list_of(t, list, name, make)
  for i = 1, #t do list[i] = make(t[i], name .. i) end
  return list
end

-- ---- memory

local constants = { name = "table", t = int, size = 16, space = "constant" }

local function inputs()
  local some = {}
  for i = 1, random(2, 4) do some[i] = pick(input_types) end
  local list = list_of(some, {}, "in", function(t, name) return { name = name, t = t, size = INPUT, space = "in" } end)
  if chance(0.3) then list[#list + 1] = constants end
  return list
end

local function shared_arrays(k)
  local list = {}
  for i = 1, random(0, 2) do
    local t = pick { int, int, uint, types.float, types.longlong, types.uchar, types.double }
    local dynamic = i == 1 and chance(0.3)
    local name = dynamic and "s" .. k.seed or "s" .. i -- one of all kernels, in C
    list[i] = { name = name, t = t, size = SHARED, space = "shared", dynamic = dynamic }
  end
  if chance(0.5) then
    list[#list + 1] = { name = "buf", alias = chance(0.6) and "same" or nil, t = pick { int, types.float },
      size = INPUT, space = "buf",
      region = function(e)
        local at = E.binary("%", E.cast(e, uint), E.cast(E.var(places.bn), uint))
        return E.binary("+", E.binary("*", E.var(places.bid), E.var(places.bn)), at)
      end }
  end
  return list
end

local function owner(array)
  local t, bn, gid = places.t, places.bn, places.gid
  local c = pick { 1, 2, 5, 16 }
  local from = array.region and E.var(places.gid) or E.var(t)
  local ways = {
    function() return from end,
    function() return array.region and E.var(gid) or E.binary("^", E.var(t), E.const(c)) end,
    function()
      local e = E.binary("-", E.binary("-", E.var(bn), E.const(1)), E.var(t))
      return array.region and E.binary("+", E.binary("*", E.var(places.bid), E.var(bn)), e) or e
    end,
    function()
      local e = E.binary("%", E.binary("+", E.var(t), E.const(c)), E.var(bn))
      return array.region and E.binary("+", E.binary("*", E.var(places.bid), E.var(bn)), e) or e
    end,
  }
  return ways[chance(0.5) and 1 or random(1, #ways)]
end

local function new_phase(array, wanted)
  local can_count = not array.region and (array.t == int or array.t == uint)
  array.phase = wanted or pick { "own", "read", "read", can_count and "atomic" or "read" }
  array.own = array.phase == "own" and owner(array) or nil
  array.op = pick { "Add", "Min", "Max", "And", "Or", "Xor" }
end

local function counters()
  local list = {}
  for i = 1, random(0, 2) do
    local t = pick { int, uint, types.ulonglong }
    list[i] = { name = "count" .. i, t = t, size = 64, space = "count", op = pick { "Add", "Add", "Max", "Or", "Xor" } }
  end
  return list
end


-- for (i = 0; i < size; i++) array[i] = …
local function filled(c, array, from, step)
  local v = { name = "k" .. array.name, t = int }
  table.insert(c.frame, v)
  local e = E.binary("+", E.binary("*", E.var(v), E.const(random(1, 7))), array.t.integer and E.integer(c, 1) or
    E.floating(c, 1))
  local body = { { k = "store", array = array, index = E.var(v), e = e, id = E.id() } }
  return S.counting({ k = "each", var = v, from = from, body = body, free = true, id = E.id() }, "<",
    E.const(array.size), step)
end

-- Local arrays of each thread. The code that fills them reads none of them.
local function local_arrays(c, most, body)
  local list = {}
  for i = 1, random(0, most) do
    local t = pick { int, int, types.float, types.short, types.longlong, types.uchar }
    list[i] = { name = c.prefix .. i, t = t, size = pick { 4, 8, 16 }, space = "local" }
    table.insert(body, filled(c, list[i], E.const(0), E.const(1)))
  end
  c.locals = list
end

-- ---- contexts

local function variables(c, least, most, prefix)
  for i = 1, random(least, most) do
    local v = { name = prefix .. i, t = i == 1 and int or pick(variable_types) }
    v.e = S.value_for(c, v.t, 2)
    table.insert(c.frame, v)
    table.insert(c.fresh, v)
  end
  for _, v in ipairs(c.fresh) do
    table.insert(c.vars, v)
    table.insert(c.assignable, v)
    if v.t.integer then table.insert(c.integers, v) end
  end
end

local function new_context(k, fields)
  local c = { kernel = k, depth = 0, frame = {}, fresh = {}, vars = {}, assignable = {}, integers = {}, locals = {},
    shared = {}, inputs = {}, uniforms = {}, free_uniforms = {}, functions = {}, procedures = {} }
  for name, value in pairs(fields) do c[name] = value end
  return c
end

-- ---- device functions

local function device_function(k, number)
  local f = { name = k.name .. "_f" .. number, t = pick { int, int, uint, types.float, types.longlong }, params = {} }
  f.how = pick { "", "", "__noinline__ " }
  local recursive = chance(0.2)
  for i = 1, random(1, 3) do
    f.params[i] = { name = "p" .. i, t = i == 1 and int or pick { int, uint, types.float, types.short } }
  end
  if recursive then f.params[1].most = 3 end
  if not recursive and chance(0.3) then f.array = { name = "a", t = f.t, size = 4, space = "local" } end
  local c = new_context(k, { prefix = "fl", pure = true, result = f.t, ids = {}, inputs = { constants },
    functions = { table.unpack(k.functions) } })
  for _, p in ipairs(f.params) do
    table.insert(c.vars, p)
    if p.t.integer then
      table.insert(c.ids, p)
      if not p.most then table.insert(c.integers, p) end
    end
  end
  variables(c, 1, 2, "w")
  f.body = {}
  local_arrays(c, 1, f.body)
  if f.array then table.insert(c.locals, f.array) end
  if recursive then
    table.insert(f.body, { k = "when", c = E.compare("<=", E.var(f.params[1]), E.const(0)),
      yes = { { k = "finish", e = S.value_for(c, f.t, 1) } } })
    local again = E.call(c, f, 1)
    again.args[1] = E.binary("-", E.var(f.params[1]), E.const(1))
    local v = c.fresh[1]
    table.insert(f.body, { k = "set", var = v, e = E.binary("+", E.var(v), again) })
  end
  for _, s in ipairs(S.block(c, random(1, 3))) do table.insert(f.body, s) end
  table.insert(f.body, { k = "finish", e = S.value_for(c, f.t, 1) })
  f.frame, f.locals = c.frame, c.locals
  table.insert(k.all_functions, f)
  table.insert(f.array and k.procedures or k.functions, f)
end

-- ---- kernels

local function results(k, c)
  local used = {}
  for _, v in ipairs(k.late) do table.insert(c.fresh, v) end
  for _, v in ipairs(c.fresh) do
    local slot = (used[v.t] or 3) + 1
    used[v.t] = slot
    if slot < k.slots then
      table.insert(k.body, { k = "store", array = k.out[v.t.name], index = k.slot(slot), e = E.var(v), id = E.id() })
    end
  end
end

local function outputs(k)
  k.out, k.slots, k.types = {}, 12, {}
  for _, t in ipairs(variable_types) do
    if not k.out[t.name] then
      k.out[t.name] = { name = "out_" .. t.name, t = t, size = OUTPUT, space = "out" }
      k.types[#k.types + 1] = t
    end
  end
  local by_thread, wide = chance(0.5), chance(0.2) and types.ulonglong or int
  function k.slot(i)
    local gid = E.cast(E.var(places.gid), wide)
    if by_thread then return E.binary("+", E.binary("*", gid, E.const(k.slots)), E.const(i)) end
    return E.binary("+", gid, E.binary("*", E.var(places.total), E.const(i)))
  end
end

local blocks = { { 1 }, { 31 }, { 32 }, { 33 }, { 96 }, { 100 }, { 256 }, { 64 }, { 16 }, { 17 }, { 8, 8 }, { 10, 10 },
  { 16, 16 }, { 32, 4 }, { 4, 4, 4 }, { 1, 64 }, { 7, 3, 2 }, { 8, 2, 4 }, { 48 }, { 128 } }
local grids = { { 1 }, { 1 }, { 2 }, { 3 }, { 5 }, { 2, 2 }, { 1, 2 }, { 2, 1, 2 } }

local function product(t)
  local n = 1
  for i = 1, #t do n = n * t[i] end
  return n
end

local function launches(k, budget)
  k.launches = {}
  while #k.launches < 4 and budget > 0 do
    local block, grid = pick(k.memory and chance(0.6) and M.blocks or blocks), pick(grids)
    local count = product(block) * product(grid)
    if count <= 512 and not (k.linear and #block + #grid > 2) then
      budget = budget - count
      local near = pick { count, count - 1, count // 2, product(block), 7, 0 }
      k.launches[#k.launches + 1] = { block = block, grid = grid, count = count, seed = random(0, 1 << 30),
        n = chance(0.9) and near or pick { -1, -5, 0x7fffffff, -0x80000000, 1 << 30 },
        m = chance(0.9) and random(0, 9) or pick { 0xffffffff, 0x80000000, 0x7fffffff },
        q = chance(0.8) and random(-10, 100) or random(-1 << 60, 1 << 60),
        f = pick { 0.0, 1.5, -2.0, 0.1, 1e6 }, d = pick { 0.0, 3.25, -7.0, 1e-3 } }
    end
  end
end

-- `options.threads`: the approximate number of threads of all launches together; `options.warps`: with warp functions;
-- `options.memory`: with many forms of memory access (memory.lua); `options.strides`: threads are independent of each
-- other, in one-dimensional blocks and grids.
return function(seed, options)
  local source = source_of(seed)
  random, chance, pick = source.random, source.chance, source.pick
  E.use(source)
  S.use(source)
  M.use(source)
  E.restart()
  local k = { seed = seed, name = "k" .. seed, names = 0, budget = random(8, 30), late = {}, functions = {},
    procedures = {}, all_functions = {}, new_phase = new_phase, thread = places.t, scalars = scalars,
    flag = {}, drop = {}, warps = options and options.warps,
    memory = options and options.memory, alone = options and options.strides, records = {} }
  outputs(k)
  k.inputs, k.counters = inputs(), counters()
  if k.memory then k.records = M.records() end
  for i = 1, random(0, 2) do device_function(k, i) end
  local c = new_context(k, { prefix = "l", uniform = true, inputs = k.inputs, functions = k.functions,
    procedures = k.procedures })
  c.ids = { thread_ids[1], thread_ids[1], places.t, places.gid, chance(0.3) and thread_ids[2] or places.t,
    chance(0.1) and thread_ids[3] or places.gid }
  c.uniforms = { scalars[1], scalars[2], scalars[3], block_ids[1], block_ids[2], places.bn,
    chance(0.3) and block_ids[3] or block_ids[4] }
  k.linear = chance(0.5) or k.alone -- only for launches in one dimension
  k.shared = k.alone and {} or shared_arrays(k)
  local shared = k.shared
  variables(c, 3, 7, "x")
  k.body = {}
  local_arrays(c, 2, k.body)
  for _, array in ipairs(shared) do
    if array.space == "shared" then
      table.insert(k.body, filled(c, array, E.var(places.t), E.var(places.bn)))
    end
  end
  if #shared > 0 then
    table.insert(k.body, { k = "sync", id = E.id() })
    for _, array in ipairs(shared) do new_phase(array) end
  end
  c.shared, c.sync = shared, not k.alone and (#shared > 0 or chance(0.1) or k.warps)
  for i = 1, random(0, 2) do
    local u = { name = "u" .. i, t = int, e = E.uniform(c, 1) }
    table.insert(c.frame, u)
    table.insert(c.uniforms, u)
    table.insert(c.free_uniforms, u)
  end
  for _, s in ipairs(S.block(c, random(3, 9))) do table.insert(k.body, s) end
  for _, u in ipairs(c.free_uniforms) do table.insert(c.fresh, u) end
  results(k, c)
  k.frame, k.locals = c.frame, c.locals
  launches(k, options and options.threads or 500)
  return k
end
