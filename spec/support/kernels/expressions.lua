-- Random expressions: trees that cuda.lua writes as CUDA C and reference.lua as Lua.
--
-- A node has k (its kind), t (its type, from types.lua) and, where an operation may have to be written differently or
-- left out, an id:
--   const v | var name | field name index | unary op a | binary op a b | compare op a b | both a b | either a b | no a
--   | choose c a b | cast a | load array index | call f args | builtin name args
--
-- A context says what may be named: ids and vars (any), uniforms (equal for a whole block), inputs, locals, functions;
-- and `shared` arrays, whose phase says where they can be read (statements.lua).

local types = require "support.kernels.types"
local int, uint = types.int, types.uint

local E = {}

local last_id = 0
function E.id()
  last_id = last_id + 1
  return last_id
end
function E.restart() last_id = 0 end

-- ---- nodes

function E.const(v, t) return { k = "const", v = v, t = t or int } end
function E.var(v) return { k = "var", name = v.name, c = v.c, t = v.t } end
function E.load(array, index)
  return { k = "load", array = array, via = E.way_to(array), index = index, t = array.t, id = E.id() }
end
function E.compare(op, a, b) return { k = "compare", op = op, a = a, b = b, t = int } end
function E.both(a, b) return { k = "both", a = a, b = b, t = int } end
function E.either(a, b) return { k = "either", a = a, b = b, t = int } end
function E.no(a) return { k = "no", a = a, t = int } end
function E.choose(c, a, b)
  return { k = "choose", c = c, a = a, b = b, t = types.common(a.t, b.t) }
end
function E.unary(op, a) return { k = "unary", op = op, a = a, t = types.promoted(a.t), id = E.id() } end
function E.builtin(name, t, ...) return { k = "builtin", name = name, t = t, args = { ... } } end

local function is_constant(e)
  if e.k == "const" then return true end
  if e.k == "var" or e.k == "load" or e.k == "field" or e.k == "call" then return false end
  for _, child in ipairs { e.a or false, e.b or false, e.c or false, table.unpack(e.args or {}) } do
    if child and not is_constant(child) then return false end
  end
  return true
end

-- clang folds the cast of a constant, and its result is undefined if the value does not fit the type.
function E.cast(a, t)
  if a.t == t then return a end
  if t.integer and not a.t.integer and is_constant(a) then return E.const(1, t) end
  return { k = "cast", a = a, t = t, id = E.id() }
end

-- On the CPU device, a division by zero and a shift by too many bits have a value. In C++ they are undefined, and NVRTC
-- optimises accordingly. So kernels for a GPU divide by 1 to 127, and shift by 0 to 31.
local on_gpu = (os.getenv "MOONWARP_DEVICE" or ""):find "^cuda"
local function defined(op, b)
  if op == "<<" or op == ">>" then return E.binary("&", b, E.const(31)) end
  if (op == "/" or op == "%") and b.t.integer then
    return E.binary("|", E.binary("&", b, E.const(127)), E.const(1))
  end
  return b
end

-- clang would fold a division by the constant 0, or a shift by a constant that is too large.
function E.binary(op, a, b)
  if on_gpu and not is_constant(b) then b = defined(op, b) end
  local shift = op == "<<" or op == ">>"
  if shift and is_constant(b) then
    b = E.const(b.v and b.v & 31 or 5)
  elseif (op == "/" or op == "%") and is_constant(b) and (b.k ~= "const" or b.v == 0 or b.v == -1) then
    b = E.const(7)
  end
  local t = shift and types.promoted(a.t) or types.common(a.t, b.t)
  return { k = "binary", op = op, a = a, b = b, t = t, id = E.id() }
end

-- struct fields { int a; float f; long long c; short s; unsigned char b; int v[4]; }
local fields = { a = int, f = types.float, c = types.longlong, s = types.short, b = types.uchar, v = int }
E.fields = fields
function E.field(name, index) return { k = "field", name = name, index = index, t = fields[name], id = E.id() } end

-- ---- choosing

local pick, chance, random -- of the generator: E.use

function E.use(source) pick, chance, random = source.pick, source.chance, source.random end

-- A name for the array; some arrays also have an alias.
function E.way_to(array) return array.alias and chance(0.4) and array.alias or array.name end

local interesting = { 0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 100, 127, 128, 255, 256, 1000, 65535,
  65536, -1, -2, -3, -7, -8, -16, -32, -100, -128, 0x7fffffff, -0x7fffffff - 1, 0x12345678, -0x12345678 }

function E.constant(small)
  if small or chance(0.6) then return E.const(random(0, 9)) end
  local v = pick(interesting)
  local roll = random(1, 10)
  if roll == 1 then return E.const(v & 0xffffffff, uint) end
  if roll == 2 then return E.const(v * 0x9e3779b97f4a7c15, types.longlong) end
  if roll == 3 then return E.const(v * 0x9e3779b97f4a7c15, types.ulonglong) end
  return E.const(v)
end

local floats = { 0.0, 1.0, -1.0, 0.5, 2.0, 3.0, 1.5, -2.5, 0.25, 10.0, 100.0, 1e-3, 0.1, 1e10, -7.75, 65536.0 }

function E.float_constant()
  local t = chance(0.7) and types.float or types.double
  local v = pick(floats)
  return E.const(t == types.float and types.run.to_float(v) or v, t)
end

local function of_class(list, integer)
  local some = {}
  for _, v in ipairs(list) do
    if v.t.integer == (integer or nil) then some[#some + 1] = v end
  end
  return some
end

local function variable(list, integer)
  local some = of_class(list, integer)
  if #some == 0 then return integer and E.constant() or E.float_constant() end
  return E.var(pick(some))
end

-- ---- indices: what indices look like in kernels

local shifts = { "+", "+", "+", "-", "-", "*", "/", "%", "&", "^", "|", ">>", "<<" }
local amounts = { ["*"] = { 2, 3, 4, 5 }, ["/"] = { 2, 3, 4, 8, 10 }, ["%"] = { 2, 3, 4, 7, 8, 10, 16 },
  ["&"] = { 1, 3, 7, 15, 31, 12, 24 }, [">>"] = { 1, 2, 3, 4 }, ["<<"] = { 1, 2, 3 } }

function E.index(c, depth)
  local roll = random(1, 10)
  if roll == 1 then return E.constant(true) end
  if roll == 2 then return E.uniform(c, 1) end
  if roll <= 4 then return E.cast(E.integer(c, depth - 1), pick { int, int, uint, types.longlong, types.uchar }) end
  local e = E.var(pick(c.ids))
  if chance(0.1) then e = E.cast(e, pick { types.longlong, uint, int, types.short, types.uchar }) end
  for _ = 1, random(0, 2) do
    local op = pick(shifts)
    local b = E.const(pick(amounts[op] or { 1, 2, 3, 4, 8, 16, 31, 32 }))
    if chance(0.3) and (op == "+" or op == "-" or op == "*") then b = E.uniform(c, 0) end
    if chance(0.1) and op == "-" then e, b = b, e end
    e = E.binary(op, e, b)
    if chance(0.1) then e = E.cast(e, pick { types.longlong, uint, int, types.ulonglong }) end
  end
  return e
end

-- ---- values

-- The same for all threads of a block.
function E.uniform(c, depth)
  local roll = random(1, 8)
  if depth <= 0 or roll <= 2 then
    return chance(0.35) and E.constant(true) or variable(c.uniforms, true)
  elseif roll == 3 and #c.inputs > 0 then
    local array = pick(c.inputs)
    return E.cast(E.load(array, E.uniform(c, 0)), array.t.integer and array.t or int)
  elseif roll == 4 and not c.pure then
    return E.field("v", E.uniform(c, 0))
  elseif roll == 5 then
    return E.compare(pick { "<", "==", ">" }, E.uniform(c, depth - 1), E.uniform(c, depth - 1))
  end
  local op = pick { "+", "-", "*", "&", "|", "^", ">>", "%", "/" }
  return E.binary(op, E.uniform(c, depth - 1), E.uniform(c, depth - 1))
end

local function readable_array(c, integer)
  local some = of_class(c.inputs, integer)
  for _, array in ipairs(of_class(c.locals, integer)) do some[#some + 1] = array end
  for _, array in ipairs(of_class(c.locals, integer)) do some[#some + 1] = array end
  for _, array in ipairs(of_class(c.shared, integer)) do
    if array.phase == "read" or array.phase == "own" then some[#some + 1] = array end
  end
  return #some > 0 and pick(some) or nil
end

local function array_value(c, depth, integer)
  local array = readable_array(c, integer)
  if not array then return integer and E.constant() or E.float_constant() end
  if array.phase == "own" then return E.load(array, array.own()) end
  if array.region then return E.load(array, array.region(E.index(c, depth))) end
  return E.load(array, E.index(c, depth))
end

local function call(c, depth, integer)
  local some = {}
  for _, f in ipairs(c.functions) do
    if f.t.integer == (integer or nil) then some[#some + 1] = f end
  end
  if #some == 0 then return integer and E.integer(c, depth - 1) or E.floating(c, depth - 1) end
  return E.call(c, pick(some), depth - 2)
end

-- A call of f. Its first argument is the array, if f has one, then the depth of the recursion.
function E.call(c, f, depth, array)
  local args = {}
  for i, p in ipairs(f.params) do
    args[i] = p.t.integer and E.integer(c, depth) or E.floating(c, depth)
    if p.most then args[i] = E.binary("&", args[i], E.const(p.most)) end
  end
  return { k = "call", f = f, array = array, args = args, t = f.t, id = E.id() }
end

local function bits(c, depth)
  local a = E.integer(c, depth - 1)
  local roll = random(1, 8)
  if roll == 1 then return E.builtin("__popc", int, E.cast(a, uint)) end
  if roll == 2 then return E.builtin("__clz", int, E.cast(a, int)) end
  if roll == 3 then return E.builtin("__ffs", int, E.cast(a, int)) end
  if roll == 4 then return E.builtin("__brev", uint, E.cast(a, uint)) end
  if roll == 5 then return E.builtin("__umulhi", uint, E.cast(a, uint), E.cast(E.integer(c, depth - 1), uint)) end
  if roll == 6 then return E.builtin("__popcll", int, E.cast(a, types.ulonglong)) end
  local t = pick { int, uint, types.longlong, types.ulonglong }
  return E.builtin(pick { "min", "max" }, t, E.cast(a, t), E.cast(E.integer(c, depth - 1), t))
end

local integer_ops = { "+", "+", "+", "-", "-", "*", "*", "/", "%", "&", "|", "^", "<<", ">>" }
local all_integers = { types.char, types.uchar, types.short, types.ushort, int, uint, types.longlong, types.ulonglong }

function E.integer(c, depth)
  local roll = random(1, 100)
  if depth <= 0 then
    if roll <= 25 then return E.constant() end
    if roll <= 45 then return E.var(pick(c.ids)) end
    if roll <= 60 then return variable(c.uniforms, true) end
    return variable(c.vars, true)
  end
  if roll <= 45 then return E.binary(pick(integer_ops), E.integer(c, depth - 1), E.integer(c, depth - 1)) end
  if roll <= 60 then return array_value(c, depth - 1, true) end
  if roll <= 65 then return E.unary(pick { "-", "~" }, E.integer(c, depth - 1)) end
  if roll <= 70 then return E.cast(E.integer(c, depth - 1), pick(all_integers)) end
  if roll <= 75 then return E.condition(c, depth - 1) end
  if roll <= 80 then return E.choose(E.condition(c, depth - 1), E.integer(c, depth - 1), E.integer(c, depth - 1)) end
  if roll <= 84 then return E.cast(E.floating(c, depth - 1), pick(all_integers)) end
  if roll <= 88 then return bits(c, depth) end
  if roll <= 92 then return call(c, depth, true) end
  if roll <= 94 and not c.pure then return E.field(pick { "a", "c", "s", "b" }) end
  if roll <= 96 and not c.pure then return E.field("v", E.index(c, depth - 1)) end
  return E.integer(c, 0)
end

local rounding = { float = { "fabsf", "floorf", "ceilf", "truncf", "sqrtf", "rintf" },
  double = { "fabs", "floor", "ceil", "trunc", "sqrt", "rint" } }

function E.floating(c, depth)
  local roll = random(1, 100)
  if depth <= 0 then
    if roll <= 30 then return E.float_constant() end
    return variable(c.vars, false)
  end
  if roll <= 45 then
    return E.binary(pick { "+", "+", "-", "-", "*", "*", "/" }, E.floating(c, depth - 1), E.floating(c, depth - 1))
  end
  if roll <= 65 then return array_value(c, depth - 1, false) end
  if roll <= 70 then return E.unary("-", E.floating(c, depth - 1)) end
  if roll <= 80 then return E.cast(E.integer(c, depth - 1), pick { types.float, types.float, types.double }) end
  if roll <= 84 then return E.choose(E.condition(c, depth - 1), E.floating(c, depth - 1), E.floating(c, depth - 1)) end
  if roll <= 90 then
    local a = E.floating(c, depth - 1)
    return E.builtin(pick(rounding[a.t.name] or rounding.float), a.t, a)
  end
  if roll <= 93 then return call(c, depth, false) end
  if roll <= 95 and not c.pure then return E.field "f" end
  return E.cast(E.floating(c, depth - 1), pick { types.float, types.double })
end

-- ---- conditions

local orders = { "<", "<", "<", "<=", ">", ">=", "==", "!=" }

function E.condition(c, depth)
  local roll = random(1, 12)
  if depth > 0 then
    if roll == 1 then return E.both(E.condition(c, depth - 1), E.condition(c, depth - 1)) end
    if roll == 2 then return E.either(E.condition(c, depth - 1), E.condition(c, depth - 1)) end
    if roll == 3 then return E.no(E.condition(c, depth - 1)) end
    if roll == 4 then return E.compare(pick(orders), E.floating(c, depth - 1), E.floating(c, depth - 1)) end
    if roll == 5 then return E.compare(pick(orders), E.integer(c, depth - 1), E.integer(c, depth - 1)) end
  end
  if roll <= 8 then return E.compare(pick(orders), E.index(c, 1), chance(0.5) and E.constant() or E.uniform(c, 1)) end
  if roll == 9 then return E.binary("&", E.integer(c, 0), E.const(pick { 1, 2, 3, 4, 8 })) end
  if roll == 10 then
    return E.compare(pick { "==", "!=" }, E.binary("&", E.integer(c, 0), E.const(3)), E.const(random(0, 3)))
  end
  return E.compare(pick(orders), E.integer(c, 0), E.integer(c, 0))
end

-- The same for all threads of a block.
function E.uniform_condition(c)
  return E.compare(pick(orders), E.uniform(c, 1), chance(0.6) and E.constant(true) or E.uniform(c, 1))
end

return E
