-- Operators and functions on all elements of arrays: a + b, a:exp(), mw.maximum(a, 0), a:lt(b).
--
-- Each is a function of elements (raw.elementwise_new), made once for each combination of dtypes; shapes broadcast.
-- One table below defines what each operator computes, as CUDA C over its operands a, b and c.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local checks = require "moonwarp.check.arguments"
local promotion = require "moonwarp.array.promotion"

local usage = errors.usage
local letters = { "a", "b", "c", "d" }
local elements = { "first", "second", "third", "fourth" } -- the operands, before they are converted

-- ---- what each operator computes ----
--
-- A rule has a kind, which determines the result's dtype and the type to compute in, and an expression; where floating
-- point needs a different one than integers, `float`, and complex numbers `complex` (true: the same). In it $f becomes
-- the suffix f of CUDA's single-precision functions, and $C the type to compute in.

local rules = {
  add = { "arithmetic", "a + b", complex = true, operator = "__add", sign = "+" },
  subtract = { "arithmetic", "a - b", complex = true, operator = "__sub", sign = "-" },
  multiply = { "arithmetic", "a * b", complex = true, operator = "__mul", sign = "*" },
  divide = { "real", "a / b", complex = true, operator = "__div", sign = "/" },
  floor_divide = { "signed", "b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0))", float = "floor$f(a / b)",
    operator = "__idiv", sign = "//" },
  mod = { "signed", "b == 0 ? 0 : a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0)",
    float = "fmod$f(a, b) + (fmod$f(a, b) != 0 && (a < 0) != (b < 0) ? b : 0)", operator = "__mod", sign = "%" },
  pow = { "signed", "power(a, b)", float = "pow$f(a, b)", complex = "pow(a, b)", operator = "__pow", sign = "^",
    preamble = [[
template <typename T> __device__ T power(T a, T b) { // wraps as products do
  if (b < 0) return a == 1 ? 1 : a == (T)-1 ? (b % 2 ? a : 1) : 0;
  unsigned long long y = 1, x = a;
  for (; b; b /= 2, x *= x)
    if (b % 2) y *= x;
  return (T)y;
}]] },
  negative = { "arithmetic", "-a", complex = true, operator = "__unm", sign = "-", arity = 1 },

  lt = { "compare", "a < b" }, le = { "compare", "a <= b" }, gt = { "compare", "a > b" },
  ge = { "compare", "a >= b" }, eq = { "compare", "a == b", complex = true },
  ne = { "compare", "a != b", complex = true },

  land = { "logical", "a && b", complex = true }, lor = { "logical", "a || b", complex = true },
  lxor = { "logical", "a != b", complex = true }, lnot = { "logical", "!a", arity = 1, complex = true },
  band = { "bits", "a & b", operator = "__band", sign = "&" },
  bor = { "bits", "a | b", operator = "__bor", sign = "|" },
  bxor = { "bits", "a ^ b" }, bnot = { "bits", "~a", operator = "__bnot", sign = "~", arity = 1 },
  left_shift = { "bits", "b < 8 * sizeof(a) ? a << b : 0", operator = "__shl", sign = "<<" },
  right_shift = { "bits", "b < 8 * sizeof(a) ? a >> b : a < 0 ? -1 : 0", operator = "__shr", sign = ">>" },

  maximum = { "same", "a > b ? a : b", float = "a != a ? a : b != b ? b : a > b ? a : b" },
  minimum = { "same", "a < b ? a : b", float = "a != a ? a : b != b ? b : a < b ? a : b" },
  fmax = { "same", "a > b ? a : b", float = "fmax$f(a, b)" },
  fmin = { "same", "a < b ? a : b", float = "fmin$f(a, b)" },
  clip = { "same", "a < b ? b : a > c ? c : a", arity = 3 },
  abs = { "size", "a < 0 ? -a : a", float = "fabs$f(a)", arity = 1, complex = "abs(a)" },
  angle = { "angle", "a != a ? a : a < 0 ? ($C)3.14159265358979323846 : 0", arity = 1, complex = "angle(a)" },
  conj = { "same", "a", arity = 1, complex = "conj(a)" },
  sign = { "same", "(a > 0) - (a < 0)", float = "a > 0 ? 1 : a < 0 ? -1 : a", arity = 1 },
  square = { "arithmetic", "a * a", arity = 1, complex = true },

  isnan = { "predicate", "a != a", arity = 1, complex = true },
  isinf = { "predicate", "fabs$f(a) == HUGE_VAL", arity = 1, complex = "is_infinite(a)" },
  isfinite = { "predicate", "fabs$f(a) < HUGE_VAL", arity = 1, complex = "is_finite(a)" },
  signbit = { "predicate", "signbit(a)", arity = 1 },

  reciprocal = { "real", "1 / a", arity = 1, complex = true },
  rsqrt = { "real", "rsqrt$f(a)", arity = 1 },
  sigmoid = { "real", "1 / (1 + exp$f(-a))", arity = 1 },
  degrees = { "real", "a * ($C)57.295779513082320876798", arity = 1 },
  radians = { "real", "a * ($C)0.017453292519943295769237", arity = 1 },
  hypot = { "real", "hypot$f(a, b)" }, atan2 = { "real", "atan2$f(a, b)" }, fmod = { "real", "fmod$f(a, b)" },
  remainder = { "real", "remainder$f(a, b)" }, copysign = { "real", "copysign$f(a, b)" },
  nextafter = { "real", "nextafter$f(a, b)" }, fdim = { "real", "fdim$f(a, b)" },
  rhypot = { "real", "rhypot$f(a, b)" }, ldexp = { "real", "ldexp$f(a, (int)b)" },
  scalbn = { "real", "scalbn$f(a, (int)b)" }, scalbln = { "real", "scalbln$f(a, (long)b)" },
  jn = { "real", "jn$f((int)a, b)" }, yn = { "real", "yn$f((int)a, b)" },
  fma = { "real", "fma$f(a, b, c)", arity = 3 },
  norm3d = { "real", "norm3d$f(a, b, c)", arity = 3 }, norm4d = { "real", "norm4d$f(a, b, c, d)", arity = 4 },
  rnorm3d = { "real", "rnorm3d$f(a, b, c)", arity = 3 }, rnorm4d = { "real", "rnorm4d$f(a, b, c, d)", arity = 4 },
  ilogb = { "integer", "ilogb$f(a)", arity = 1, result = "int" },
}
-- Functions of CUDA's math library, by their names there.
for name in ([[exp exp2 exp10 expm1 log log2 log10 log1p sqrt cbrt rcbrt sin cos tan asin acos atan sinh cosh tanh asinh
  acosh atanh sinpi cospi erf erfc erfinv erfcinv erfcx tgamma lgamma j0 j1 y0 y1 normcdf normcdfinv cyl_bessel_i0
  cyl_bessel_i1 logb fabs]]):gmatch "%S+" do
  rules[name] = { "real", name .. "$f(a)", arity = 1 }
end
for name in ("exp log sqrt sin cos tan sinh cosh tanh"):gmatch "%S+" do rules[name].complex = true end
-- Rounding leaves integers unchanged. rint rounds to nearest even, as NumPy's round does.
for name, f in pairs { floor = "floor", ceil = "ceil", trunc = "trunc", round = "rint", rint = "rint",
  nearbyint = "nearbyint" } do
  rules[name] = { "same", "a", float = f .. "$f(a)", arity = 1 }
end

for name in ("lrint llrint lround llround"):gmatch "%S+" do
  rules[name] = { "integer", name .. "$f(a)", arity = 1, result = "longlong" }
end

-- ---- the functions of elements ----

-- By kind: the dtype to compute in and that of the result, from the arguments' dtypes.
local kinds = {}
function kinds.arithmetic(dtype) return dtype, dtype end
kinds.signed, kinds.same = kinds.arithmetic, kinds.arithmetic
function kinds.size(dtype)
  local of = promotion.complex(dtype)
  return dtype, of and of.part or dtype
end
function kinds.angle(dtype)
  if promotion.complex(dtype) then return kinds.size(dtype) end
  return kinds.real(dtype)
end
function kinds.real(dtype, name)
  if promotion.complex(dtype) then return dtype, dtype end
  local integers = promotion.of(dtype, name).kind ~= "float"
  local real = name == "divide" and integers and "double" or promotion.real(dtype)
  return real, real
end
function kinds.integer(dtype, name) return kinds.real(dtype, name), rules[name].result end
function kinds.predicate(dtype) return promotion.complex(dtype) and dtype or promotion.real(dtype), "bool" end
function kinds.compare(dtype) return dtype, "bool" end
function kinds.logical() return "bool", "bool" end
function kinds.bits(dtype, name)
  if promotion.of(dtype, name).kind == "float" then
    usage("%s works on integers and booleans, not on %s", name, dtype)
  end
  return dtype, dtype
end

local is_array = promotion.is_array

-- The expression to compute for a type.
local function expression(rule, of)
  if type(rule.complex) == "string" and of.kind == "complex" then return rule.complex end
  return (of.kind == "float" or of.kind == "complex") and rule.float or rule[2]
end

-- What raw.elementwise_new needs for a function of elements: for arrays and numbers, or tables with a dtype that stand
-- for arrays.
local function plan(name, rule, arguments, count, wanted)
  local dtype = promotion.together(name, arguments, count)
  if promotion.complex(dtype) and not rule.complex then promotion.of(dtype, name) end
  local compute, result = kinds[rule[1]](dtype, name)
  if wanted and wanted ~= result then
    if not promotion.may_become(promotion.number(result, name), promotion.number(wanted, name)) then
      usage("%s gives %s, which cannot be written into out, an array of %s; out:assign(…) converts", name, result,
        wanted)
    end
    result = wanted
  end
  local of = promotion.number(compute, name)
  local is_float, to = of.kind == "float" or of.kind == "complex", promotion.number(result, name)
  local C = of.C
  if is_float then C = of.compute elseif rule[1] == "arithmetic" then C = of.compute end
  if of.kind == "bool" and rule[1] ~= "logical" and rule[1] ~= "compare" and rule[1] ~= "bits" then C = "int" end
  local body, operands, lines = expression(rule, of), { { "y", "out", result } }, {}
  body = body:gsub("%$f", C == "float" and "f" or ""):gsub("%$C", C)
  for i = 1, count do
    local letter = letters[i]
    if is_array(arguments[i]) then
      operands[i + 1] = { elements[i], "in", arguments[i].dtype }
    else
      -- Comparisons take any number: one that the elements' type cannot represent equals no element.
      local scalar = rule[1] == "compare" and not is_float and "longlong" or compute
      if rule[1] == "logical" then scalar = promotion.is_complex(arguments[i]) and "complex128" or "bool" end
      operands[i + 1] = { elements[i], "scalar", scalar }
      if scalar == "longlong" and of.kind ~= "uint" then C = "long long" end
    end
    lines[i] = letter
  end
  for i, letter in ipairs(lines) do
    lines[i] = rule[1] == "logical" and ("const bool %s = %s != (%s)0;"):format(letter, elements[i],
      promotion.number(operands[i + 1][3], name).compute) or ("const %s %s = (%s)%s;"):format(C, letter, C, elements[i])
  end
  if to.kind == "bool" and compute ~= "bool" and result ~= compute then body = "(" .. body .. ") != 0" end
  if to.kind == "complex" then body = ("(%s)(%s)"):format(to.compute, body) end
  return {
    name = name, preamble = rule.preamble, operands = operands,
    body = ("%s\n  y = (%s)(%s);"):format(table.concat(lines, "\n  "), to.C, body),
  }
end

local function make(...) return raw.elementwise_new(plan(...)) end

-- The rules, and their evaluation for given dtypes, for lazy expressions (lazy.lua).
raw.operator_rules, raw.operator_plan = rules, plan

local M = {}

-- The expression, if one of the arguments is a lazy expression; or the operator's results for the parts of distributed
-- arrays; else nil.
local function instead(name, count, ...)
  local distributed = package.loaded["moonwarp.dist.array"]
  if distributed then
    for i = 1, count do
      if distributed.is(select(i, ...)) then return distributed.apply("mw." .. name, M[name], count, ...) end
    end
  end
  local later = package.loaded["moonwarp.array.lazy"]
  if later then
    for i = 1, count do
      if later.is(select(i, ...)) then return later.apply(name, { ... }, count) end
    end
  end
end

-- The function of elements for arguments, or the results.
local function resolve(name, rule, count, ...)
  local elsewhere = instead(name, count, ...)
  if elsewhere ~= nil then return elsewhere end
  return make(name, rule, { ... }, count)
end

-- ---- as functions and methods ----

local metamethods = {}
local array = raw.classes.array

-- What decides, with the others' and out's, which kernel computes with an argument.
local function kind_of(value)
  if raw.type(value) == "array" then return tostring(value.dtype) end
  if type(value) == "number" then return value % 1 == 0 and "whole" or "number" end
  return promotion.is_complex(value) and "complex" or type(value)
end

for name, rule in pairs(rules) do
  local count = rule.arity or 2
  local shown = "mw." .. name
  local operate = count <= 3 and raw.array_operator(count, function(...) return resolve(name, rule, count, ...) end)
    or function(a, b, c, d)
      local elsewhere = instead(name, count, a, b, c, d)
      if elsewhere ~= nil then return elsewhere end
      return raw.elementwise_run(make(name, rule, { a, b, c, d }, count), nil, a, b, c, d)
    end
  if rule.operator then metamethods[rule.operator] = operate end
  local by_kinds = {} -- device -> out's dtype -> the kind of each argument, in turn -> the function
  local function find(device, dtype, a, b, c, d)
    local of = by_kinds[device]
    of = of and of[dtype]
    of = of and of[kind_of(a)]
    if count > 1 then of = of and of[kind_of(b)] end
    if count > 2 then of = of and of[kind_of(c)] end
    if count > 3 then of = of and of[kind_of(d)] end
    return of
  end
  local function keep(f, device, dtype, ...)
    local of, last = by_kinds, { device, dtype, ... }
    for k = 1, count + 2 do
      local key = k > 2 and kind_of(last[k]) or last[k]
      of[key] = k == count + 2 and f or of[key] or {}
      of = of[key]
    end
  end
  -- Compute into out. Makes no tables or texts of arguments, which take longer than a small operation.
  local function into(out, a, b, c, d)
    if raw.type(out) ~= "array" then usage("%s: out is the array to write into, got %s", shown, raw.describe(out)) end
    local device, dtype = out.device, tostring(out.dtype)
    local f = find(device, dtype, a, b, c, d)
    if not f then
      f = make(name, rule, { a, b, c, d }, count, out.dtype)
      keep(f, device, dtype, a, b, c, d)
    end
    if count == 1 then raw.elementwise_run(f, out, a)
    elseif count == 2 then raw.elementwise_run(f, out, a, b)
    elseif count == 3 then raw.elementwise_run(f, out, a, b, c)
    else raw.elementwise_run(f, out, a, b, c, d) end
    return out
  end
  -- With an options table at the end: {out = y} is written.
  local function call(...)
    local given = select("#", ...)
    local a, b, c, d = ...
    local options = select(count + 1, ...)
    if given == count + 1 and type(options) == "table" and raw.type(options) == nil then
      for key in next, options do
        if key ~= "out" then checks.no_option(shown, key, { "out" }) end
      end
      if options.out ~= nil then return into(options.out, a, b, c, d) end
      given = count
    end
    if given ~= count then
      usage("%s takes %d argument%s and perhaps {out = y}, got %d", shown, count, count == 1 and "" or "s", given)
    end
    if count == 1 then return operate(a) elseif count == 2 then return operate(a, b) end
    if count == 3 then return operate(a, b, c) end
    return operate(a, b, c, d)
  end
  M[name] = call
  array[name] = call
end

-- ---- functions with two results ----

-- The results p and q in floating point, or q in whole numbers, of a and b.
local pairs_of = {
  sincos = { "sincos$f(a, &p, &q);" }, sincospi = { "sincospi$f(a, &p, &q);" }, modf = { "p = modf$f(a, &q);" },
  frexp = { "p = frexp$f(a, &q);", second = "int" }, remquo = { "p = remquo$f(a, b, &q);", arity = 2, second = "int" },
}

-- The function of elements for arrays and numbers, and dtypes to write where these are given.
local function make_pair(name, rule, given, count, wanted)
  local dtype = kinds.real(promotion.of(promotion.together(name, given, count), name).name, name)
  local second = rule.second or dtype
  for k, computed in ipairs { dtype, second } do
    local out = wanted[k]
    if out and not promotion.may_become(promotion.number(computed, name), promotion.number(out, name)) then
      usage("%s gives %s, which cannot be written into out, an array of %s", name, computed, out)
    end
  end
  local C = promotion.of(dtype, name).compute
  local operands, lines = { { "u", "out", wanted[1] or dtype }, { "v", "out", wanted[2] or second } }, {}
  for i = 1, count do
    operands[i + 2] = is_array(given[i]) and { elements[i], "in", given[i].dtype } or { elements[i], "scalar", dtype }
    lines[i] = ("const %s %s = (%s)%s;\n  "):format(C, letters[i], C, elements[i])
  end
  local work = rule[1]:gsub("%$f", C == "float" and "f" or "")
  return raw.elementwise_new { name = name, operands = operands, body = ("%s%s p; %s q;\n  %s\n  u = (%s)p; v = (%s)q;")
    :format(table.concat(lines), C, rule.second or C, work, promotion.number(operands[1][3], name).C,
      promotion.number(operands[2][3], name).C) }
end

for name, rule in pairs(pairs_of) do
  local count, made = rule.arity or 1, {}
  local function call(...)
    local given, options = { ... }, select(count + 1, ...)
    options = options == nil and {} or options
    if select("#", ...) < count or select("#", ...) > count + 1 or type(options) ~= "table" or raw.type(options) then
      usage("mw.%s takes %d argument%s and perhaps {out = {y, z}}, got %d", name, count, count == 1 and "" or "s",
        select("#", ...))
    end
    for key in next, options do
      if key ~= "out" then checks.no_option("mw." .. name, key, { "out" }) end
    end
    local outs, wanted, key, device = options.out or {}, {}, {}, nil
    for k = 1, 2 do
      local out = raw.type(outs) == nil and outs[k]
      if options.out ~= nil and raw.type(out) ~= "array" then usage("mw.%s: out has two arrays, {y, z}", name) end
      wanted[k] = out and out.dtype or nil
      key[k] = tostring(wanted[k])
    end
    for k = 1, count do
      if raw.type(given[k]) == "array" then device = device or given[k].device end
      key[k + 2] = kind_of(given[k])
    end
    if not device then usage("%s wants an array, got %s", name, raw.describe(given[1])) end
    key = device.name .. " " .. table.concat(key, " ")
    made[key] = made[key] or make_pair(name, rule, given, count, wanted)
    local y, z = raw.elementwise_run(made[key], outs[1], outs[2], given[1], given[2])
    if options.out ~= nil then return outs[1], outs[2] end
    return y, z
  end
  M[name] = call
  array[name] = call
end

-- Lua makes a boolean of what its comparisons return, so that masks are functions.
for event, sign in pairs { __lt = "lt", __le = "le" } do
  metamethods[event] = function(a, b)
    local first, second = is_array(a) and "a" or tostring(a), is_array(b) and "b" or tostring(b)
    local other = sign == "lt" and "gt" or "ge"
    usage("Lua's comparisons give one boolean, not a mask of elements: write %s", first == "a"
      and ("a:%s(%s)"):format(sign, second) or ("b:%s(%s)"):format(other, first))
  end
end

raw.array_metamethods(metamethods)
raw.operators = metamethods

return M
