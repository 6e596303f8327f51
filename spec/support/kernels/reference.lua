-- A kernel of generate.lua run by a plain interpreter: as Lua text, thread after thread, each a coroutine that yields
-- at barriers.
--
-- It defines the meaning of a kernel. It also finds out how the text in C must be written to have the same meaning for
-- every compiler (kernel.flag: see cuda.lua), and what must be removed (kernel.drop): accesses that race with another
-- thread's, barriers that not all threads reach. Dropping changes results, so it starts again until nothing is left to
-- drop.

local types = require "support.kernels.types"
local cuda = require "support.kernels.cuda"
local warps = require "support.kernels.warps"
local helpers = require "support.kernels.functions"
local flag = types.run.flag

local MOST_ROUNDS = 3000000 -- of all loops in a launch: a kernel that takes more is given up
local COUNTER = 1 << 40

local reference = {}

-- The largest number of iterations of each loop, by its place.
function reference.bounds(s) return s.bound or 12 end

-- ---- the text

local writer = {}
writer.__index = writer
local expression, statement = {}, {}

function writer:raw(e) return expression[e.k](self, e) end
function writer:e(e, t) return types.convert(self:raw(e), e.t, t) end

local conditions = {}

-- A Lua condition.
function writer:test(e)
  local how = conditions[e.k]
  return how and how(self, e) or ("(%s ~= 0)"):format(self:raw(e))
end

function conditions:compare(e)
  local t = types.common(e.a.t, e.b.t)
  return types.comparison(e.op, t, self:e(e.a, t), self:e(e.b, t))
end
function conditions:both(e) return ("(%s and %s)"):format(self:test(e.a), self:test(e.b)) end
function conditions:either(e) return ("(%s or %s)"):format(self:test(e.a), self:test(e.b)) end
function conditions:no(e) return ("(not %s)"):format(self:test(e.a)) end

local function truth(self, e) return ("(%s and 1 or 0)"):format(self:test(e)) end
expression.compare, expression.both, expression.either, expression.no = truth, truth, truth, truth

function expression:const(e) -- luacheck: no unused args
  if e.t.integer then return e.v == math.mininteger and "(1 << 63)" or ("(%d)"):format(e.v) end
  return ("(%a)"):format(e.v)
end
function expression:var(e) return e.name end -- luacheck: no unused args
function expression:field(e)
  return e.index and ("load(p.v, %s, 3, %d)"):format(self:raw(e.index), e.id) or "p." .. e.name
end
function expression:unary(e)
  local a = self:e(e.a, e.t)
  if e.op == "~" then return types.convert(("(~%s)"):format(a), types.longlong, e.t) end
  return ("%s_neg(%s, %d)"):format(e.t.name, a, e.id)
end
function expression:binary(e)
  local b
  if e.op == "<<" or e.op == ">>" then
    b = self:raw(e.b)
    if e.t.bits == 32 or e.b.t.bits < 64 then b = ("to_uint(%s)"):format(b) end
  else
    b = self:e(e.b, e.t)
  end
  return types.binary(e.op, e.t, self:e(e.a, e.t), b, e.id)
end
function expression:choose(e)
  return ("(%s and %s or %s)"):format(self:test(e.c), self:e(e.a, e.t), self:e(e.b, e.t))
end
function expression:cast(e) return self:e(e.a, e.t) end

local plain = { ["in"] = true, constant = true, ["local"] = true }

function expression:load(e)
  if self.k.drop[e.id] then return e.t.integer and "1" or "1.0" end
  local index, mask = self:raw(e.index), e.array.size - 1
  if plain[e.array.space] then return ("load(%s, %s, %d, %d)"):format(e.array.name, index, mask, e.id) end
  return ("look(%s, %s, %d, %d, block, thread)"):format(e.array.name, index, mask, e.id)
end

function expression:call(e)
  local args = {}
  if e.array then args[1] = e.array.name end
  for i, a in ipairs(e.args) do args[#args + 1] = self:e(a, e.f.params[i].t) end
  return ("%s(%s)"):format(e.f.name, table.concat(args, ", "))
end

function expression:builtin(e)
  local args = {}
  for i, a in ipairs(e.args) do args[i] = self:raw(a) end
  local name = e.name
  if name == "min" or name == "max" then
    local less = types.comparison("<", e.t, "a", "b")
    return ("(function(a, b) return %s and %s end)(%s)"):format(less, name == "min" and "a or b" or "b or a",
      table.concat(args, ", "))
  end
  if not e.t.integer then name = "math_" .. (e.t == types.float and name:sub(1, -2) or name) end
  local text = ("%s(%s)"):format(name, table.concat(args, ", "))
  return e.t == types.float and ("to_float(%s)"):format(text) or text
end

function writer:line(format, ...) self.lines[#self.lines + 1] = format:format(...) end

function writer:new_label()
  self.labels = self.labels + 1
  return "at" .. self.labels
end

function writer:block(list)
  for _, s in ipairs(list) do statement[s.k](self, s) end
end

function statement:list(s) self:block(s) end
function statement:set(s) self:line("%s = %s", s.var.name, self:e(s.e, s.var.t)) end

function statement:store(s)
  if self.k.drop[s.id] then return end
  local index, mask, value = self:raw(s.index), s.array.size - 1, self:e(s.e, s.array.t)
  if plain[s.array.space] then
    self:line("store(%s, %s, %d, %d, %s)", s.array.name, index, mask, s.id, value)
  else
    self:line("put(%s, %s, %d, %d, %s, block, thread)", s.array.name, index, mask, s.id, value)
  end
end

function statement:atomic(s)
  if self.k.drop[s.id] then return end
  self:line("%satomic(%s, %s, %d, %d, %q, %s, block, thread, %s)", s.into and s.into.name .. " = " or "", s.array.name,
    self:raw(s.index), s.array.size - 1, s.id, s.op, self:e(s.e, s.array.t), tostring(s.into ~= nil))
end

function statement:when(s)
  local no, past = self:new_label(), self:new_label()
  self:line("if not %s then goto %s end", self:test(s.c), no)
  self:block(s.yes)
  if s.no then self:line("goto %s", past) end
  self:line("::%s::", no)
  if s.no then
    self:block(s.no)
    self:line("::%s::", past)
  end
end

function writer:body(s)
  local before = self.way_out
  self.way_out = s
  self:block(s.body)
  self.way_out = before
end

-- Flags a loop that has too many iterations, and leaves it.
function writer:count_round(s)
  local bound = s.free and COUNTER or reference.bounds(s)
  self:line("if rounds[%d] >= %d then flag[%d] = true goto %s end", s.id, bound, s.id, s.past)
  self:line("rounds[%d] = rounds[%d] + 1", s.id, s.id)
  self:line("spent = spent + 1 if spent > %d then error('too long', 0) end", MOST_ROUNDS)
end

local function open_loop(self, s)
  s.top, s.again, s.past = self:new_label(), self:new_label(), self:new_label()
  s.outer, self.way_on = self.way_on, s
  self:line("rounds[%d] = 0", s.id)
end

local function close_loop(self, s) self.way_on = s.outer end

function statement:each(s)
  local v = s.var
  open_loop(self, s)
  self:line("%s = %s", v.name, self:e(s.from, v.t))
  self:line("::%s::", s.top)
  self:line("if not %s then goto %s end", self:test(s.c), s.past)
  self:count_round(s)
  self:body(s)
  self:line("::%s::", s.again)
  self:line("%s = %s", v.name, self:e(s.next, v.t))
  self:line("goto %s", s.top)
  self:line("::%s::", s.past)
  close_loop(self, s)
end

function statement:loop(s)
  open_loop(self, s)
  self:line("::%s::", s.top)
  self:line("if not %s then goto %s end", self:test(s.c), s.past)
  self:count_round(s)
  self:body(s)
  self:line("::%s::", s.again)
  self:line("goto %s", s.top)
  self:line("::%s::", s.past)
  close_loop(self, s)
end

function statement:again(s)
  open_loop(self, s)
  self:line("::%s::", s.top)
  self:body(s)
  self:line("::%s::", s.again)
  self:line("if not %s then goto %s end", self:test(s.c), s.past)
  self:count_round(s)
  self:line("goto %s", s.top)
  self:line("::%s::", s.past)
  close_loop(self, s)
end

function statement:leave() self:line("goto %s", self.way_out.past) end
function statement:next() self:line("goto %s", self.way_on.again) end
function statement:finish(s) self:line("do return %s end", s.e and self:e(s.e, self.result) or "") end
function statement:label(s) self:line("::%s::", s.name) end
function statement:jump(s) self:line("goto %s", s.name) end

function statement:choice(s)
  s.past = self:new_label()
  local t = types.promoted(s.e.t)
  self:line("choice = %s", self:e(s.e, t))
  local default = s.past
  for _, case in ipairs(s.cases) do
    case.at = self:new_label()
    if case.label == "default" then default = case.at end
  end
  for _, case in ipairs(s.cases) do
    if case.label ~= "default" then self:line("if choice == %d then goto %s end", case.label, case.at) end
  end
  self:line("goto %s", default)
  local before = self.way_out
  self.way_out = s
  for _, case in ipairs(s.cases) do
    self:line("::%s::", case.at)
    self:block(case.body)
    if case.ends then self:line("goto %s", s.past) end
  end
  self.way_out = before
  self:line("::%s::", s.past)
end

function statement:sync(s)
  if self.k.drop[s.id] then return end
  if not s.how then return self:line("wait(%d)", s.id) end
  self:line("%s = wait(%d, %q, %s)", s.into.name, s.id, s.how, truth(self, s.e))
end

function statement:together(s)
  if self.k.drop[s.id] then return end
  local value = warps.votes[s.how] and truth(self, s.e) or self:e(s.e, warps.shuffles[s.how] and s.t or s.e.t)
  local lane = s.from and self:e(s.from, types.int) or 0
  local answer = ("wait(%d, %q, %s, %s, %d)"):format(s.id, s.how, value, lane, s.width)
  self:line("%s = %s", s.var.name, types.convert(answer, s.t, s.var.t))
end

function statement:walk(s)
  self:line("from, step = %s, %s", self:e(s.from, types.longlong), self:e(s.step, types.longlong))
  for i = 0, s.rounds - 1 do
    self:line("%s = load(%s, from + %d * step, %d, %d)", s.element.name, s.array.name, i, s.array.size - 1, s.id)
    self:line("%s = %s", s.var.name, self:e(s.e, s.var.t))
  end
end

-- ---- the functions of the text

local function declare(self, frame, locals)
  for _, v in ipairs(frame) do
    self:line("local %s = %s", v.name, v.e and self:e(v.e, v.t) or v.t.integer and "0" or "0.0")
  end
  for _, array in ipairs(locals) do
    if array.space == "local" and array.name ~= "a" then self:line("local %s = {}", array.name) end
  end
  self:line("local choice, from, step, rounds = 0, 0, 0, {}")
end

local imports = { "flag", "load", "store", "look", "put", "atomic", "wait", "spent" }

local function text_of(k)
  local w = setmetatable({ k = k, lines = {}, labels = 0 }, writer)
  w:line("local run, launch, memory = ...")
  w:line("local _ENV = setmetatable({ spent = 0 }, { __index = run })")
  w:line("local flag, load, store, look, put, atomic, wait = %s", table.concat(imports, ", ", 1, 7))
  w:line("local table = memory.table")
  for _, array in ipairs(k.inputs) do w:line("local %s = memory.%s", array.name, array.name) end
  for _, array in ipairs(k.counters) do w:line("local %s = memory.%s", array.name, array.name) end
  for _, array in ipairs(k.records) do w:line("local %s = memory.%s", array.name, array.name) end
  w:line("local n, m, q, f, d, p = launch.n, launch.m, launch.q, launch.f, launch.d, launch.p")
  w:line("local bdx, bdy, gdx, bn, total = launch.bdx, launch.bdy, launch.gdx, launch.bn, launch.total")
  for _, f in ipairs(k.all_functions) do
    local params = {}
    if f.array then params[1] = "a" end
    for _, p in ipairs(f.params) do params[#params + 1] = p.name end
    w:line("function %s(%s)", f.name, table.concat(params, ", "))
    w.result = f.t
    declare(w, f.frame, f.locals)
    w:block(f.body)
    w:line("end")
  end
  w:line("return function(tx, ty, tz, bx, by, t, gid, bid, memory, block)")
  w:line("local thread = t")
  for _, array in ipairs(k.shared) do w:line("local %s = memory.%s", array.name, array.name) end
  for _, t in ipairs(k.types) do w:line("local %s = memory.%s", k.out[t.name].name, k.out[t.name].name) end
  declare(w, k.frame, k.locals)
  w:block(k.body)
  w:line("end")
  return table.concat(w.lines, "\n")
end

-- ---- blocks and launches

-- Runs the threads of a block from barrier to barrier.
local function run_block(k, block, threads)
  local alive = #threads
  while alive > 0 do
    local at, votes, count, calls = nil, {}, 0, {}
    for i, thread in ipairs(threads) do
      if thread then
        local answer = block.answers and block.answers[i] or block.vote
        local ok, id, how, vote, lane, width = coroutine.resume(thread, answer)
        if not ok then return id end
        if coroutine.status(thread) == "dead" then
          threads[i], alive = false, alive - 1
        else
          count = count + 1
          votes[count], calls[i] = vote, { vote, lane, width }
          if at and at ~= id then k.drop[at], k.drop[id] = true, true end
          at = at or id
          block.how = how
        end
      end
    end
    if next(k.drop) and block.dropped() then return nil end
    block.answers = nil
    if warps.is_call(block.how) then
      block.answers = warps.answers(block.how, calls, #threads, function() flag[at] = true end)
    else
      local sum = 0
      for _, vote in ipairs(votes) do sum = sum + vote end
      block.vote = block.how == "count" and sum or block.how == "or" and (sum > 0 and 1 or 0) or
        (sum == count and 1 or 0)
      block.epoch = block.epoch + 1
    end
  end
end

local function count_of(t)
  local n = 0
  for _ in pairs(t) do n = n + 1 end
  return n
end

local function run_launch(k, launch, chunk, memory)
  local bx, by, bz = launch.block[1], launch.block[2] or 1, launch.block[3] or 1
  local gx, gy, gz = launch.grid[1], launch.grid[2] or 1, launch.grid[3] or 1
  launch.bdx, launch.bdy, launch.gdx = bx, by, gx
  launch.bn, launch.total = bx * by * bz, bx * by * bz * gx * gy * gz
  local thread_function = chunk(helpers, launch, memory)
  local dropped = count_of(k.drop)
  for bid = 0, gx * gy * gz - 1 do
    local block = { epoch = 0, drop = k.drop, dropped = function() return count_of(k.drop) > dropped end }
    local own = setmetatable({}, { __index = memory })
    for _, array in ipairs(k.shared) do
      if array.space == "shared" then own[array.name] = { t = array.t, seen = {} } end
    end
    local threads = {}
    for t = 0, launch.bn - 1 do
      threads[t + 1] = coroutine.create(function()
        local gid = bid * launch.bn + t
        thread_function(t % bx, t // bx % by, t // (bx * by), bid % gx, bid // gx % gy, t, gid, bid, own, block)
      end)
    end
    local failure = run_block(k, block, threads)
    if failure then return failure end
    if block.dropped() then return nil end
  end
end

-- Fills each launch's `result` (arrays by name, from 0 on), k.flag and k.drop. False, and why: not a kernel to test
-- with. `new_memory(launch)` makes the arrays, each with its t and an empty `seen`.
function reference.run(k, new_memory)
  for _ = 1, 40 do
    local chunk, why = load(text_of(k), k.name, "t")
    if not chunk then return false, why end
    for id in pairs(flag) do flag[id] = nil end
    local dropped = count_of(k.drop)
    for _, launch in ipairs(k.launches) do
      launch.result = new_memory(launch)
      local failure = run_launch(k, launch, chunk, launch.result)
      if failure then return false, failure end
      if count_of(k.drop) > dropped then break end
    end
    if count_of(k.drop) == dropped then
      for id in pairs(flag) do k.flag[id] = true end
      return true
    end
  end
  return false, "too many races"
end

reference.text = text_of
reference.prelude = cuda.prelude

return reference
