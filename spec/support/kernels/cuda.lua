-- A kernel of generate.lua as CUDA C. Operations that reference.lua flagged are written so that they are defined: in
-- unsigned arithmetic, with the index limited to the array, with a limit on the iterations, as a product that cannot be
-- contracted. Those that it dropped are left out. `bounds` are those of reference.lua.

local types = require "support.kernels.types"
local warps = require "support.kernels.warps"

local writer = {}
writer.__index = writer

-- ---- expressions

local function constant(v, t)
  if not t.integer then
    local text = ("%.17g"):format(v)
    if not text:find "[.e]" then text = text .. ".0" end
    if t == types.float then text = text .. "f" end
    return v < 0 and "(" .. text .. ")" or text
  end
  if v == math.mininteger then return "(-0x7fffffffffffffffLL - 1)" end
  if v == -0x80000000 and t.bits == 32 then return "(-0x7fffffff - 1)" end
  if t == types.ulonglong then return ("0x%xull"):format(v) end
  local text = v .. (t.bits == 64 and "LL" or t == types.uint and "u" or "")
  if t.bits < 32 then return ("(%s)%s"):format(t.c, text) end
  return v < 0 and "(" .. text .. ")" or text
end

local expression = {}

function writer:e(e) return expression[e.k](self, e) end

expression["const"] = function(_, e) return constant(e.v, e.t) end

function expression:var(e)
  self.used[e.name] = true
  return e.c or e.name
end

function writer:index(e, size)
  local text = self:e(e.index)
  return self.flag[e.id] and ("(%s) & %d"):format(text, size - 1) or text
end

function expression:field(e)
  self.used.p = true
  return e.index and ("p.v[%s]"):format(self:index(e, 4)) or "p." .. e.name
end

function expression:unary(e)
  local a = self:e(e.a)
  if not self.flag[e.id] then return ("(%s%s)"):format(e.op, a) end
  return ("(%s)-(%s)%s"):format(e.t.c, types.unsigned(e.t).c, a)
end

local without_contraction = { float = "__fmul_rn(%s, %s)", double = "__dmul_rn(%s, %s)" }

function expression:binary(e)
  local a, b = self:e(e.a), self:e(e.b)
  if not self.flag[e.id] then return ("(%s %s %s)"):format(a, e.op, b) end
  if not e.t.integer then return without_contraction[e.t.name]:format(a, b) end
  local unsigned = types.unsigned(e.t).c
  return ("(%s)((%s)%s %s (%s)%s)"):format(e.t.c, unsigned, a, e.op, unsigned, b)
end

function expression:compare(e) return ("(%s %s %s)"):format(self:e(e.a), e.op, self:e(e.b)) end
function expression:both(e) return ("(%s && %s)"):format(self:e(e.a), self:e(e.b)) end
function expression:either(e) return ("(%s || %s)"):format(self:e(e.a), self:e(e.b)) end
function expression:no(e) return "!" .. self:e(e.a) end
function expression:choose(e) return ("(%s ? %s : %s)"):format(self:e(e.c), self:e(e.a), self:e(e.b)) end
function expression:cast(e) return ("(%s)%s"):format(e.t.c, self:e(e.a)) end

function expression:load(e)
  if self.drop[e.id] then return constant(e.t.integer and 1 or 1.0, e.t) end
  self.used[e.via] = true
  return ("%s[%s]"):format(e.via, self:index(e, e.array.size))
end

function writer:list(items)
  local texts = {}
  for i, item in ipairs(items) do texts[i] = self:e(item) end
  return table.concat(texts, ", ")
end

function expression:call(e)
  local args = self:list(e.args)
  self.called[e.f] = true
  if e.array then
    self.used[e.array.name] = true
    args = e.array.name .. ", " .. args
  end
  return ("%s(%s)"):format(e.f.name, args)
end

function expression:builtin(e) return ("%s(%s)"):format(e.name, self:list(e.args)) end

-- ---- statements

local statement = {}

function writer:line(format, ...) self.lines[#self.lines + 1] = self.indent .. format:format(...) end

function writer:block(list)
  local outer = self.indent
  self.indent = outer .. "  "
  for _, s in ipairs(list) do statement[s.k](self, s) end
  self.indent = outer
end

function statement:list(s)
  for _, inner in ipairs(s) do statement[inner.k](self, inner) end
end

function statement:set(s)
  self.used[s.var.name] = true
  self:line("%s = %s;", s.var.name, self:e(s.e))
end

function statement:store(s)
  if self.drop[s.id] then return end
  local name = s.via or s.array.name
  self.used[name] = true
  self:line("%s[%s] = %s;", name, self:index(s, s.array.size), self:e(s.e))
end

function statement:atomic(s)
  if self.drop[s.id] then return end
  self.used[s.array.name] = true
  if s.into then self.used[s.into.name] = true end
  self:line("%satomic%s(&%s[%s], %s);", s.into and s.into.name .. " = " or "", s.op, s.array.name,
    self:index(s, s.array.size), self:e(s.e))
end

function statement:when(s)
  self:line("if (%s) {", self:e(s.c))
  self:block(s.yes)
  if s.no then
    self:line("} else {")
    self:block(s.no)
  end
  self:line("}")
end

-- The counter of a loop that was flagged for too many iterations.
function writer:counter(s)
  if not self.flag[s.id] then return nil end
  local name = "r" .. s.id
  self.counters[#self.counters + 1] = name
  self:line("%s = 0;", name)
  return ("%s++ < %d"):format(name, self.bounds(s))
end

function statement:each(s)
  local v = s.var.name
  self.used[v] = true
  local more, c = self:counter(s), self:e(s.c)
  self:line("for (%s = %s; %s; %s = %s) {", v, self:e(s.from), more and ("%s && %s"):format(c, more) or c, v,
    self:e(s.next))
  self:block(s.body)
  self:line("}")
end

function statement:loop(s)
  local more = self:counter(s)
  local c = self:e(s.c)
  self:line("while (%s) {", more and ("(%s) && %s"):format(c, more) or c)
  self:block(s.body)
  self:line("}")
end

function statement:again(s)
  local more = self:counter(s)
  self:line("do {")
  self:block(s.body)
  local c = self:e(s.c)
  self:line("} while (%s);", more and ("(%s) && %s"):format(c, more) or c)
end

function statement:leave() self:line("break;") end
function statement:next() self:line("continue;") end
function statement:finish(s) self:line(s.e and "return %s;" or "return;", s.e and self:e(s.e)) end
function statement:label(s) self:line("%s:;", s.name) end
function statement:jump(s) self:line("goto %s;", s.name) end

function statement:choice(s)
  self:line("switch (%s) {", self:e(s.e))
  for _, case in ipairs(s.cases) do
    self:line(case.label == "default" and "default:" or "case %d:", case.label)
    self:block(case.body)
    if case.ends then self:line("  break;") end
  end
  self:line("}")
end

function statement:sync(s)
  if self.drop[s.id] then return end
  if not s.how then return self:line("__syncthreads();") end
  self.used[s.into.name] = true
  self:line("%s = __syncthreads_%s(%s);", s.into.name, s.how, self:e(s.e))
end

function statement:together(s)
  if self.drop[s.id] then return end
  self.used[s.var.name] = true
  local value, lane = self:e(s.e), s.from and self:e(s.from)
  if warps.shuffles[s.how] then value = ("(%s)%s"):format(s.t.c, value) end -- a comparison would be a bool
  self:line("%s = %s;", s.var.name, warps.text(s.how, value, lane, s.width, self.flag[s.id]))
end

function statement:walk(s)
  local array, element = s.array, s.element.name
  self.used[array.name], self.used[element], self.used[s.var.name] = true, true, true
  local from, step = self:e(s.from), self:e(s.step)
  self:line("{") -- a scope: jumps must not pass a declaration
  self:line("const long long from%d = %s, step%d = %s;", s.id, from, s.id, step) -- what they are made from may change
  if self.flag[s.id] then
    self:line("for (int k = 0; k < %d; k++) {", s.rounds)
    self:line("  %s = %s[(from%d + k * step%d) & %d];", element, array.name, s.id, s.id, array.size - 1)
  else
    self:line("const %s *at%d = %s + from%d;", array.t.c, s.id, array.name, s.id)
    self:line("for (int k = 0; k < %d; k++, at%d += step%d) {", s.rounds, s.id, s.id)
    self:line("  %s = *at%d;", element, s.id)
  end
  self:line("  %s = %s;", s.var.name, self:e(s.e))
  self:line("}")
  self:line("}")
end

-- ---- functions and kernels

local function new_writer(k, bounds)
  return setmetatable({ flag = k.flag, drop = k.drop, bounds = bounds, used = {}, called = {}, counters = {},
    lines = {}, indent = "" }, writer)
end

-- Declarations of what a body names, in front of it. The first line is the head.
function writer:finished(head, frame, locals, more, argument)
  local body, out = self.lines, { head .. " {" }
  self.lines, self.indent = {}, "  "
  for i = #frame, 1, -1 do -- later ones may name earlier ones
    local v = frame[i]
    if self.used[v.name] then
      table.insert(self.lines, 1, ("  %s %s = %s;"):format(v.t.c, v.name, v.e and self:e(v.e) or "0"))
    end
  end
  local arrays = {}
  for _, array in ipairs(locals) do
    if self.used[array.name] and array ~= argument then
      local kind = array.space ~= "shared" and "" or array.dynamic and "extern __shared__ " or "__shared__ "
      arrays[#arrays + 1] = ("  %s%s %s[%s];"):format(kind, array.t.c, array.name, array.dynamic and "" or array.size)
    end
  end
  for _, list in ipairs { arrays, more and more(self.used) or {}, self.lines } do
    table.move(list, 1, #list, #out + 1, out)
  end
  for _, name in ipairs(self.counters) do out[#out + 1] = ("  int %s;"):format(name) end
  table.move(body, 1, #body, #out + 1, out)
  out[#out + 1] = "}"
  return table.concat(out, "\n")
end

local function function_text(k, f, bounds)
  local w = new_writer(k, bounds)
  local params = {}
  if f.array then params[1] = ("%s *%s"):format(f.array.t.c, f.array.name) end
  for _, p in ipairs(f.params) do params[#params + 1] = p.t.c .. " " .. p.name end
  w:block(f.body)
  local head = ("__device__ %s%s %s(%s)"):format(f.how, f.t.c, f.name, table.concat(params, ", "))
  return w:finished(head, f.frame, f.locals, nil, f.array), w.called
end

local linear = { bn = "blockDim.x", t = "threadIdx.x", bid = "blockIdx.x",
  gid = "blockIdx.x * blockDim.x + threadIdx.x", total = "gridDim.x * blockDim.x" }
local general = { bn = "blockDim.x * blockDim.y * blockDim.z",
  t = "threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)",
  bid = "blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)", gid = "bid * bn + t",
  total = "bn * gridDim.x * gridDim.y * gridDim.z" }
local order = { "bn", "t", "bid", "gid", "total" }

local function place_lines(k)
  return function(used)
    local lines = {}
    if not k.linear and (used.gid or used.total) then used.bn, used.t, used.bid = true, true, true end
    for _, name in ipairs(order) do
      if used[name] then lines[#lines + 1] = ("  int %s = %s;"):format(name, (k.linear and linear or general)[name]) end
    end
    return lines
  end
end

local cuda = {}

-- The text before the first kernel.
cuda.table = { 3, 1, 4, 1, 5, 9, 2, 6, -5, 3, 5, -8, 9, 7, 9, 3 }
cuda.prelude = ([[
#pragma clang diagnostic ignored "-Weverything"
struct P { int a; float f; long long c; short s; unsigned char b; int v[4]; };
__constant__ int table[16] = {%s};
]]):format(table.concat(cuda.table, ", "))

-- The text of a kernel, and the names of its parameters in order.
function cuda.write(k, bounds)
  local w = new_writer(k, bounds)
  w:block(k.body)
  local arrays = { table.unpack(k.locals) }
  for _, array in ipairs(k.shared) do
    if array.space == "shared" then arrays[#arrays + 1] = array end
  end
  local body = w:finished("", k.frame, arrays, place_lines(k))
  local out, params, names = {}, {}, {}
  local texts, called = {}, w.called
  for i = #k.all_functions, 1, -1 do -- a function calls only earlier ones
    local f = k.all_functions[i]
    if called[f] then
      local text, more = function_text(k, f, bounds)
      table.insert(texts, 1, text)
      for g in pairs(more) do called[g] = true end
    end
  end
  local function param(name, text)
    if not w.used[name] then return end
    params[#params + 1], names[#names + 1] = text .. name, name
  end
  for _, v in ipairs(k.scalars) do param(v.name, v.t.c .. " ") end
  param("p", "P ")
  for _, array in ipairs(k.inputs) do
    if array.space == "in" then param(array.name, ("const %s *"):format(array.t.c)) end
  end
  for _, t in ipairs(k.types) do param(k.out[t.name].name, t.c .. " *") end
  for _, array in ipairs(k.counters) do param(array.name, array.t.c .. " *") end
  for _, array in ipairs(k.records) do
    param(array.name, array.t.c .. " *")
    param(array.name .. "_same", array.t.c .. " *")
  end
  for _, array in ipairs(k.shared) do
    if array.space == "buf" then
      param("buf", array.t.c .. " *")
      param("same", array.t.c .. " *")
    end
  end
  table.move(texts, 1, #texts, #out + 1, out)
  out[#out + 1] = ("__global__ void %s(%s)%s"):format(k.name, table.concat(params, ", "), body)
  return table.concat(out, "\n") .. "\n", names
end

return cuda
