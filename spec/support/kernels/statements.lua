-- Random statements: structured control flow around assignments, and barriers where all threads of a block arrive.
--
--   set var e | store array index e | atomic op array index e into | when c yes no | each var from c next body
--   | loop c body | again body c | leave | next | finish e | choice e cases | label name | jump name | sync how e into
--   | walk array from step rounds element e var | together var how e from width t | list
--
-- Kernels have no races by construction. Each shared array is in a phase: "own" (a thread touches the one element that
-- is its own), "read" (everybody reads anything), "atomic" (one kind of atomic function, results unused). Phases change
-- at barriers alone, and are at the end of a body what they were at its start. reference.lua checks them nevertheless.

local types = require "support.kernels.types"
local E = require "support.kernels.expressions"
local M = require "support.kernels.memory"
local C = require "support.kernels.contexts"
local int, uint = types.int, types.uint
local inside, fresh, with, value_for = C.inside, C.fresh, C.with, C.value_for
local remember, restore, differs = C.remember, C.restore, C.differs

local S = {}

local pick, chance, random
function S.use(source) pick, chance, random = source.pick, source.chance, source.random end

local block -- (context, how many statements): a list

-- ---- assignments and stores

local function set(c)
  local v = pick(c.assignable)
  local e = value_for(c, v.t, random(1, 3))
  if chance(0.35) then
    local op = v.t.integer and pick { "+", "+", "-", "^", "*", "|" } or pick { "+", "-", "*" }
    e = E.binary(op, E.var(v), e)
  end
  return { k = "set", var = v, e = e }
end

local function store_local(c)
  if #c.locals == 0 then return set(c) end
  local array = pick(c.locals)
  return { k = "store", array = array, index = E.index(c, 1), e = value_for(c, array.t, 2), id = E.id() }
end

local function store_own(c)
  local some = {}
  for _, array in ipairs(c.shared) do
    if array.phase == "own" then some[#some + 1] = array end
  end
  if #some == 0 or c.pure then return store_local(c) end
  local array = pick(some)
  return { k = "store", array = array, index = array.own(), e = value_for(c, array.t, 2), id = E.id() }
end

local function store_out(c)
  if c.pure then return set(c) end
  local t = pick(c.kernel.types)
  return { k = "store", array = c.kernel.out[t.name], index = c.kernel.slot(random(0, 3)), e = value_for(c, t, 2),
    id = E.id() }
end

-- Swap two variables of each lane: t = a; a = b; b = t
local function swap(c)
  local a, b = pick(c.assignable), pick(c.assignable)
  local t = fresh(c, a.t)
  return { k = "list", { k = "set", var = t, e = E.var(a) }, { k = "set", var = a, e = E.var(b) },
    { k = "set", var = b, e = E.var(t) } }
end

local function atomic(c)
  local some = {}
  for _, array in ipairs(c.shared) do
    if array.phase == "atomic" or array.phase == "own" and array.t == int then some[#some + 1] = array end
  end
  for _, array in ipairs(c.kernel.counters) do some[#some + 1] = array end
  if #some == 0 or c.pure then return set(c) end
  local array = pick(some)
  local own = array.phase == "own"
  local into = own and chance(0.5) and fresh(c, array.t) or nil
  if into then table.insert(c.kernel.late, into) end
  return { k = "atomic", op = own and pick { "Add", "Max", "Xor", "Exch" } or array.op, array = array, into = into,
    index = own and array.own() or E.index(c, 1), e = E.cast(E.integer(c, 2), array.t), id = E.id() }
end

-- if (low <= i && i < high) … a[i - low] …: an index that other lanes would take out of the array
local function guarded(c)
  local array = pick(c.inputs)
  local i, low = pick(c.ids), E.uniform(c, 0)
  local shifted = E.binary("-", E.cast(E.var(i), pick { int, uint, i.t }), low)
  local limit = chance(0.5) and E.const(array.size) or E.uniform(c, 0)
  local condition = E.compare(">=", E.var(i), low)
  if chance(0.5) then condition = E.both(condition, E.compare("<", E.var(i), limit)) end
  if chance(0.3) then condition = E.compare("<", E.cast(shifted, uint), E.const(pick { 4, 16, 100 }, uint)) end
  local v = pick(c.assignable)
  local e = E.binary("+", E.var(v), E.load(array, shifted))
  return { k = "when", c = condition, yes = with({ { k = "set", var = v, e = e } }, block(c, random(0, 1))) }
end

-- for (p = array + from; rounds; p += step) v += *p
local function walk(c)
  local array, v = pick(c.inputs), pick(c.assignable)
  local element = fresh(c, array.t, "el")
  return { k = "walk", array = array, var = v, element = element, e = E.binary("+", E.var(v), E.var(element)),
    from = E.index(c, 1), rounds = random(1, 6), id = E.id(),
    step = chance(0.7) and E.const(pick { 1, 1, 2, 3, -1, 16 }) or E.uniform(c, 0) }
end

-- A function that may change a local array.
local function procedure(c)
  if #c.procedures == 0 or #c.locals == 0 then return set(c) end
  local f, array, v = pick(c.procedures), pick(c.locals), pick(c.assignable)
  if f.t ~= array.t then return set(c) end
  return { k = "set", var = v, e = E.call(c, f, 2, array) }
end

-- ---- branches

local function when(c, uniform)
  local condition = uniform and E.uniform_condition(c) or E.condition(c, random(0, 2))
  local inner = inside(c, { depth = c.depth + 1, uniform = uniform and c.uniform, sync = false })
  local yes = block(inner, random(1, 3))
  local no = chance(0.45) and block(inner, random(1, 3)) or nil
  return { k = "when", c = condition, yes = yes, no = no }
end

local function choice(c)
  local uniform = chance(0.3)
  local e = uniform and E.uniform(c, 1) or E.integer(c, 1)
  local count = random(2, 5)
  if chance(0.5) then
    e = E.binary("&", E.cast(e, int), E.const(7))
  else
    e = E.binary("%", E.cast(e, uint), E.const(count + 1, uint))
  end
  local s = { k = "choice", e = e, cases = {} }
  local inner = inside(c, { depth = c.depth + 1, breakable = "choice", uniform = false, sync = false })
  local default = random(0, count)
  for i = 1, count do
    s.cases[i] = { label = i == default and "default" or random(0, 1) + 2 * i - 2, body = block(inner, random(0, 2)),
      ends = chance(0.65) }
  end
  return s
end

-- ---- loops

local bounds = { 16, 8, 4, 3 }

local function loop_context(c, s)
  local loops = (c.loops or 0) + 1
  s.bound = bounds[loops] or 2
  return inside(c, { depth = c.depth + 1, in_loop = true, breakable = "loop", uniform = false, sync = false,
    loops = loops })
end

-- for (var = from; var op to; var = var + step)
local function counting(s, op, to, step)
  s.c = E.compare(op, E.var(s.var), to)
  s.next = step == "half" and E.binary(">>", E.var(s.var), E.const(1)) or E.binary("+", E.var(s.var), step)
  return s
end
S.counting = counting

local function each(c)
  local s = { k = "each", var = fresh(c, pick { int, int, int, uint, types.short, types.longlong }, "i"), id = E.id() }
  local roll = random(1, 6)
  s.from = E.const(0)
  if roll <= 2 then
    counting(s, "<", chance(0.5) and E.const(random(0, 6)) or E.binary("&", E.uniform(c, 0), E.const(7)), E.const(1))
  elseif roll == 3 then
    counting(s, "<", E.binary("&", E.integer(c, 1), E.const(pick { 3, 7 })), E.const(1))
  elseif roll == 4 then
    s.from = E.var(pick(c.ids))
    counting(s, "<", E.const(pick { 64, 100, 256 }), E.const(pick { 16, 32, 64 }))
  elseif roll == 5 then
    s.from = E.binary("&", E.integer(c, 1), E.const(7))
    counting(s, ">", E.const(0), E.const(-1))
  else
    s.from = E.uniform(c, 0)
    counting(s, "<", E.index(c, 1), E.const(1))
  end
  local inner = loop_context(c, s)
  inner.ids = with(c.ids, { s.var })
  s.body = block(inner, random(1, 3))
  return s
end

local function progress(c, v)
  return { k = "set", var = v,
    e = pick { function() return E.binary(">>", E.var(v), E.const(1)) end,
      function() return E.binary("-", E.var(v), E.const(random(1, 3))) end,
      function() return E.binary("/", E.var(v), E.const(3)) end,
      function() -- Collatz
        return E.choose(E.binary("&", E.var(v), E.const(1)),
          E.binary("+", E.binary("*", E.var(v), E.const(3)), E.const(1)), E.binary("/", E.var(v), E.const(2)))
      end,
      function() return E.binary("+", E.binary("*", E.var(v), E.const(5)), E.uniform(c, 0)) end }() }
end

local function data_loop(c)
  local v = pick(c.integers)
  local s = { k = chance(0.6) and "loop" or "again", id = E.id() }
  s.c = pick { function() return E.compare(">", E.var(v), E.constant(true)) end,
    function() return E.compare("!=", E.binary("&", E.var(v), E.const(pick { 3, 7, 12 })), E.const(1)) end,
    function() return E.condition(c, 1) end }()
  local inner = loop_context(c, s)
  s.body = block(inner, random(1, 3))
  table.insert(s.body, random(1, #s.body + 1), progress(c, v))
  return s
end

-- An endless loop that is left from inside.
local function endless(c)
  local s = { k = "loop", c = E.const(1), id = E.id() }
  local inner = loop_context(c, s)
  s.body = block(inner, random(1, 3))
  local way_out = { k = "when", c = E.condition(c, 1), yes = with(block(inner, random(0, 1)), { { k = "leave" } }) }
  table.insert(s.body, random(1, #s.body + 1), way_out)
  return s
end

-- ---- jumps

local function leave(c)
  if not c.breakable then return set(c) end
  local yes = block(inside(c, { depth = c.depth + 1 }), random(0, 1))
  yes[#yes + 1] = { k = (c.breakable == "loop" and chance(0.5)) and "leave" or c.in_loop and "next" or "leave" }
  return { k = "when", c = E.condition(c, 1), yes = yes }
end

local function finish(c)
  local yes = block(inside(c, { depth = c.depth + 1, sync = false, uniform = false }), random(0, 1))
  yes[#yes + 1] = { k = "finish", e = c.result and value_for(c, c.result, 1) }
  local condition = chance(0.4) and E.compare(">=", E.var(pick(c.ids)), E.uniform(c, 1)) or E.condition(c, 1)
  return { k = "when", c = condition, yes = yes }
end

local function label(c)
  c.kernel.names = c.kernel.names + 1
  return "L" .. c.kernel.names
end

-- Statements, some of which jump to the end of the list, out of any nesting.
local function jump_out(c)
  local name = label(c)
  local inner = inside(c, { depth = c.depth + 1, out = name, sync = false, uniform = false })
  local list = block(inner, random(2, 3))
  list.k = "list"
  list[#list + 1] = { k = "label", name = name }
  return list
end

local function jump(c)
  if not c.out then return finish(c) end
  local yes = block(inside(c, { depth = c.depth + 1 }), random(0, 1))
  yes[#yes + 1] = { k = "jump", name = c.out }
  return { k = "when", c = E.condition(c, 1), yes = yes }
end

-- A loop made of a backward jump, or one that is entered in its middle.
local function jump_back(c)
  local top, middle, rounds = label(c), label(c), fresh(c, int, "g")
  local inner = inside(c, { depth = c.depth + 1, in_loop = false, breakable = false, sync = false, uniform = false })
  local list = { k = "list", { k = "set", var = rounds, e = E.const(0) } }
  if chance(0.4) then
    list[#list + 1] = { k = "when", c = E.condition(c, 1), yes = { { k = "jump", name = middle } } }
  end
  list[#list + 1] = { k = "label", name = top }
  for _, s in ipairs(block(inner, random(1, 2))) do list[#list + 1] = s end
  list[#list + 1] = { k = "label", name = middle }
  for _, s in ipairs(block(inner, random(1, 2))) do list[#list + 1] = s end
  list[#list + 1] = { k = "set", var = rounds, e = E.binary("+", E.var(rounds), E.const(1)) }
  local more = E.both(E.compare("<", E.var(rounds), E.const(random(2, 5))), E.condition(c, 1))
  list[#list + 1] = { k = "when", c = more, yes = { { k = "jump", name = top } } }
  return list
end

-- ---- barriers

local function sync(c)
  local roll = random(1, 8)
  if roll > 3 or #c.free_uniforms == 0 then return { k = "sync", id = E.id() } end
  return { k = "sync", how = pick { "count", "and", "or" }, e = E.condition(c, 1), into = pick(c.free_uniforms),
    id = E.id() }
end

-- A barrier that gives shared arrays new phases.
local function change(c)
  local s = sync(c)
  for _, array in ipairs(c.shared) do c.kernel.new_phase(array) end
  return s
end

-- Values that are written between barriers and read by other threads after them.
local function exchange(c)
  if #c.shared == 0 then return sync(c) end
  local array = pick(c.shared)
  local list = { k = "list" }
  if array.phase ~= "own" then list[1] = change(c) end
  array.phase = array.phase == "own" and "own" or nil
  if not array.phase then c.kernel.new_phase(array, "own") end
  list[#list + 1] = { k = "store", array = array, index = array.own(), e = value_for(c, array.t, 2), id = E.id() }
  for _, s in ipairs(block(c, random(0, 1))) do list[#list + 1] = s end
  list[#list + 1] = change(c)
  for _, a in ipairs(c.shared) do if a == array then c.kernel.new_phase(a, "read") end end
  local v
  for _ = 1, 4 do v = pick(c.assignable) end
  local index = array.region and array.region(E.index(c, 1)) or E.index(c, 2)
  list[#list + 1] = { k = "set", var = v, e = E.binary("+", E.var(v), E.load(array, index)) }
  return list
end

local function tree(c)
  local array
  for _, a in ipairs(c.shared) do if not a.region and a.t.integer then array = a end end
  if not array then return exchange(c) end
  local before = remember(c)
  local half = fresh(c, int, "h")
  local t = c.kernel.thread
  local sum = E.binary(pick { "+", "^" }, E.load(array, E.var(t)), E.load(array, E.binary("+", E.var(t), E.var(half))))
  local body = { { k = "when", c = E.compare("<", E.var(t), E.var(half)),
    yes = { { k = "store", array = array, index = E.var(t), e = sum, id = E.id() } } }, { k = "sync", id = E.id() } }
  local loop = counting({ k = "each", var = half, from = E.const(pick { 16, 32, 64, 128 }), body = body, id = E.id() },
    ">", E.const(0), "half")
  local list = { k = "list", { k = "sync", id = E.id() }, loop }
  restore(c, before)
  list[#list + 1] = change(c)
  return list
end

-- A warp function, where all threads arrive: v = __shfl_down_sync(…)
local function together(c)
  local v = pick(c.assignable)
  local roll = random(1, 10)
  local s = { k = "together", var = v, id = E.id(), width = 32 }
  if roll <= 6 then
    s.how, s.t = pick { "idx", "up", "down", "xor" }, types.promoted(v.t)
    s.e = E.cast(value_for(c, s.t, 1), s.t)
    s.width = chance(0.6) and 32 or pick { 2, 4, 8, 16 }
    s.from = chance(0.6) and E.const(random(0, 31)) or E.binary("&", E.cast(E.integer(c, 1), int), E.const(31))
    return s
  end
  for _ = 1, 4 do
    if not s.var.t.integer then s.var = pick(c.assignable) end
  end
  if roll <= 8 then
    s.how = pick { "ballot", "any", "all" }
    s.t, s.e = s.how == "ballot" and uint or int, E.condition(c, 1)
  elseif roll == 9 then
    s.how, s.t, s.e = pick { "add", "min", "max" }, int, E.cast(E.integer(c, 1), int)
  else
    s.how, s.t, s.e = "match", uint, E.binary("&", E.cast(E.integer(c, 1), int), E.const(pick { 1, 3, 7 }))
  end
  return s
end

local function sync_loop(c)
  local before = remember(c)
  local s = { k = "each", var = fresh(c, int, "i"), from = E.const(0), id = E.id() }
  counting(s, "<", chance(0.5) and E.const(random(1, 4)) or E.binary("&", E.uniform(c, 0), E.const(3)), E.const(1))
  local inner = inside(c, { depth = c.depth + 1, in_loop = false, breakable = false, out = false })
  inner.uniforms = with(c.uniforms, { s.var })
  inner.ids = with(c.ids, { s.var })
  s.body = block(inner, random(2, 4))
  if differs(c, before) then s.body[#s.body + 1] = { k = "sync", id = E.id() } end
  restore(c, before)
  if chance(0.25) and #c.free_uniforms > 0 then -- the way of a breadth-first search
    local u = pick(c.free_uniforms)
    local how = pick { "or", "and", "count" }
    s.body[#s.body + 1] = { k = "sync", how = how, e = E.condition(c, 1), into = u, id = E.id() }
    s.body[#s.body + 1] = { k = "when", c = E.compare(pick { "==", "!=", ">" }, E.var(u), E.constant(true)),
      yes = { { k = pick { "leave", "next" } } } }
  end
  return s
end

local function sync_when(c)
  local before = remember(c)
  local inner = inside(c, { depth = c.depth + 1 })
  local s = { k = "when", c = E.uniform_condition(c) }
  for _, way in ipairs(chance(0.5) and { "yes", "no" } or { "yes" }) do
    s[way] = block(inner, random(1, 3))
    if differs(c, before) then s[way][#s[way] + 1] = { k = "sync", id = E.id() } end
    restore(c, before)
  end
  return s
end

local function set_uniform(c)
  if #c.free_uniforms == 0 then return set(c) end
  return { k = "set", var = pick(c.free_uniforms), e = E.uniform(c, 2) }
end

-- ---- all of them

local function weighted(list)
  local total = 0
  for i = 1, #list, 2 do total = total + list[i] end
  local roll = random(1, total)
  for i = 1, #list, 2 do
    roll = roll - list[i]
    if roll <= 0 then return list[i + 1] end
  end
end

local plain = { 20, set, 6, store_local, 8, store_own, 8, store_out, 3, swap, 4, atomic, 4, guarded, 3, walk,
  3, procedure }
local shaped = { 12, function(c) return when(c, false) end, 5, function(c) return when(c, true) end, 5, choice, 7, each,
  6, data_loop, 3, endless, 3, jump_out, 2, jump_back }
local ways_out = { 6, leave, 2, finish, 3, jump }
local waiting = { 5, change, 6, exchange, 3, tree, 4, sync_loop, 4, sync_when, 4, set_uniform }
local in_warps = { 14, together, 2, change, 3, exchange, 1, tree, 4, sync_loop, 4, sync_when, 4, set_uniform }

local function statement(c)
  c.kernel.budget = c.kernel.budget - 1
  if c.sync and c.depth < 3 and chance(0.4) then
    return weighted(c.kernel.warps and in_warps or waiting)(c)
  end
  if c.uniform and not c.sync and chance(0.1) then return set_uniform(c) end
  if c.depth < 4 and c.kernel.budget > 0 and chance(0.4) then return weighted(shaped)(c) end
  if c.kernel.memory and not c.pure and chance(0.4) then return weighted(M.weights)(c) end
  if chance(c.in_loop and 0.25 or 0.08) then
    if c.in_loop or c.out then return weighted(ways_out)(c) end
    if c.depth > 0 or not c.sync or chance(0.5) then return finish(c) end
  end
  return weighted(plain)(c)
end

function block(c, count)
  local list = {}
  for i = 1, count do list[i] = statement(c) end
  return list
end

S.block, S.inside, S.value_for = block, inside, value_for
return S
