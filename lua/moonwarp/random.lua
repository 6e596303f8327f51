-- Random numbers: generators with cuRAND's streams, and the methods that fill arrays from them.
--
-- A stream is the sequence of cuRAND's host generator of the same kind, seed and ordering. It depends neither on the
-- device nor on the number of threads nor on how many numbers each call draws. The kinds are files of random/; their
-- streams are objects with draw (whole units of numbers into an array), unit (the number of numbers in one), jump, save
-- and restore. Numbers left over from a unit are kept here for the next call.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local arguments = require "moonwarp.check.arguments"
local signatures = require "moonwarp.check.signatures"
local nearest = require "moonwarp.diagnostics.nearest"
local discrete = require "moonwarp.random.discrete"
local results = require "moonwarp.random.results"
local sampling = require "moonwarp.random.sampling"

local usage, floor = errors.usage, math.floor

local M = {}

local generator = {}
local metatable = { __index = generator, __name = "moonwarp.generator", __made = "mw.random" }

-- ---- making ----

local parts = {
  philox = "columns", xorwow = "columns", mrg32k3a = "columns", mtgp32 = "mtgp32", mt19937 = "mt19937",
  sobol32 = "sobol", scrambled_sobol32 = "sobol", sobol64 = "sobol", scrambled_sobol64 = "sobol",
}
local kinds = {}
for kind in pairs(parts) do kinds[#kinds + 1] = kind end
table.sort(kinds)

-- The lower and upper 32 bits of a seed.
local function halves(seed)
  if not arguments.is_number(seed) or tonumber(seed) % 1 ~= 0 then
    usage("mw.random wants a whole number of up to 64 bits as seed, got %s", raw.describe(seed))
  end
  if type(seed) == "number" and (seed >= 2 ^ 63 or seed < -2 ^ 63) then
    usage("mw.random wants a whole number of up to 64 bits as seed, got %s", raw.describe(seed))
  end
  local hexadecimal = ("%016x"):format(seed)
  return { tonumber(hexadecimal:sub(-8), 16), tonumber(hexadecimal:sub(-16, -9), 16) }
end

local function whole(what, value, least, most)
  if value % 1 ~= 0 or value < least or value > most then
    usage("mw.random: %s is a whole number from %d to %d, got %s", what, least, most, tostring(value))
  end
  return value
end

local function begin(fields)
  local part = raw.part("random." .. parts[fields.kind])
  local orderings = part.orderings(fields.kind)
  if not orderings[fields.ordering] then
    local names = {}
    for name in pairs(orderings) do names[#names + 1] = name end
    table.sort(names)
    usage("mw.random: the orderings of %s are %s; got '%s'", fields.kind, table.concat(names, ", "), fields.ordering)
  end
  fields.stream = part.begin(fields)
  return setmetatable(fields, metatable)
end

local function restore(text)
  local kind, ordering, low, high, dimensions, place, key, spare =
    text:match "^moonwarp random 1 (%S+) (%S+) (%d+) (%d+) (%d+) (%S+) (%S+) (%S+)$"
  if not parts[kind] then usage "mw.random wants a seed, or a text that g:save() returned; this text is not one" end
  local g = begin { kind = kind, ordering = ordering, seed = { tonumber(low), tonumber(high) }, offset = 0,
    dimensions = tonumber(dimensions) }
  g.stream:restore(place)
  if key ~= "-" then
    g.spare = { key = key }
    for number in spare:gmatch "[^,]+" do g.spare[#g.spare + 1] = tonumber(number) end
  end
  return g
end

---A generator of random numbers. Its stream is that of cuRAND's host generator, and the same on every device.
---@param seed integer|string|nil 64 bits, 0 by default; or the text of g:save, to continue that stream
---@param kind? string "philox" by default; xorwow, mrg32k3a, mtgp32, mt19937, sobol32, scrambled_sobol32,
---sobol64, scrambled_sobol64
---@param options? { ordering?: string, offset?: integer, dimensions?: integer } ordering: "default"; "legacy" (not for
---Sobol's sequences), "best" (neither for mt19937), "seeded" (for xorwow) or "quasi" (for Sobol's sequences); offset:
---how many numbers to skip; dimensions: of Sobol's sequences, 1 by default
---@return moonwarp.generator
function M.random(seed, kind, options)
  if type(seed) == "string" then return restore(seed) end
  kind, options = kind or "philox", options or {}
  if not parts[kind] then
    local like = nearest.name(kind, kinds)
    usage("mw.random has no kind '%s'%s has %s", kind, like and ("; did you mean '%s'? It"):format(like) or "; it",
      table.concat(kinds, ", "))
  end
  return begin {
    kind = kind, seed = halves(seed or 0), ordering = options.ordering or "default",
    offset = whole("offset", options.offset or 0, 0, 2 ^ 53),
    dimensions = whole("dimensions", options.dimensions or 1, 1, 20000),
  }
end

-- ---- drawing ----

local MOST = 2 ^ 30 -- numbers that one launch makes

-- Draw whole units, in launches of limited size.
local function draw_units(stream, what, out, count, a, b)
  local unit = stream.unit(stream, what)
  local most = stream.dimensions and count or MOST
  for first = 1, count, most do
    local some = math.min(most, count - first + 1)
    stream:draw(what, floor(some / unit), some == out.count and out or out:sub(first, first + some - 1), a, b)
  end
end

-- Draw a unit of which only some of the first numbers are wanted; the others are kept.
local function begin_unit(g, what, dtype, key, a, b)
  local unit = raw.array_new(dtype, { g.stream:unit(what) })
  g.stream:draw(what, 1, unit, a, b)
  g.spare = unit:totable()
  g.spare.key = key
end

local function take_spare(g, list, most)
  while #g.spare > 0 and #list < most do list[#list + 1] = table.remove(g.spare, 1) end
  if #g.spare == 0 then g.spare = nil end
end

-- Fill a contiguous array of one dimension.
local fill
function fill(g, what, out, a, b)
  if what == "counts" then return discrete.fill_poisson(g, fill, out, a) end
  local stream, count = g.stream, out.count
  if stream.dimensions and count % stream.dimensions ~= 0 then
    usage("g:%s: %d numbers do not make whole points of %d dimensions", what, count, stream.dimensions)
  end
  local key = ("%s,%.17g,%.17g"):format(what, a, b)
  if count == 0 then return end
  if g.spare and g.spare.key ~= key then
    local of = g.spare.key:match "^[^,]+"
    local left = #g.spare
    g.spare = nil
    if stream.undo then stream:undo(of, stream:unit(of) - left) end
  end
  local head, unit = {}, stream:unit(what)
  if stream.skip > 0 then
    begin_unit(g, what, out.dtype, key, a, b)
    for _ = 1, stream.skip do table.remove(g.spare, 1) end
    stream.skip = 0
  end
  if g.spare then take_spare(g, head, count) end
  local units = floor((count - #head) / unit) * unit
  if #head == 0 and units == count then return draw_units(stream, what, out, count, a, b) end
  if #head > 0 then out:sub(1, #head):copy_from(head) end
  if units > 0 then -- units are stored whole, so they need an array that begins with one
    local aligned = #head == 0
    local middle = out:sub(#head + 1, #head + units)
    local into = aligned and middle or raw.array_new(out.dtype, { units })
    draw_units(stream, what, into, units, a, b)
    if not aligned then middle:copy_from(into) end
  end
  local rest = count - #head - units
  if rest > 0 then
    local tail = {}
    begin_unit(g, what, out.dtype, key, a, b)
    take_spare(g, tail, rest)
    out:sub(#head + units + 1, count):copy_from(tail)
  end
end

-- An array of the shape with numbers from `what`; or one number, if no shape is given.
local function drawn(g, what, shape, dtype, options, a, b)
  local name = what:gsub("_double$", "")
  local out = results.array(name, shape, dtype, options)
  fill(g, what, out.rank == 1 and out or out:reshape(-1), a or 0, b or 0)
  return results.given(out, shape, options)
end

---The generator's words: uint; ulonglong for sobol64 and scrambled_sobol64.
---@param shape? integer|integer[] without one: a number
---@param options? { out?: moonwarp.array } an array to fill instead of a new one, as all these methods take
---@return moonwarp.array|integer
function generator:bits(shape, options)
  return drawn(self, "bits", shape, self.stream.wide and "ulonglong" or "uint", options)
end

---Uniform numbers above 0 and up to 1, 1 included.
---@param shape? integer|integer[] without one: a number
---@param options? { dtype?: "float"|"double", out?: moonwarp.array }
---@return moonwarp.array|number
function generator:uniform(shape, options)
  local dtype, suffix = results.real("uniform", options)
  return drawn(self, "uniform" .. suffix, shape, dtype, options)
end

---Normal numbers.
---@param shape? integer|integer[] without one: a number
---@param options? { dtype?: "float"|"double", mean?: number, std?: number, out?: moonwarp.array } mean 0, standard
---deviation 1 by default
---@return moonwarp.array|number
function generator:normal(shape, options)
  local dtype, suffix = results.real("normal", options)
  local mean, std = options and options.mean or 0, options and options.std or 1
  return drawn(self, "normal" .. suffix, shape, dtype, options, mean, std)
end

---Log-normal numbers: e to the power of normal numbers with the given mean and standard deviation.
---@param shape? integer|integer[] without one: a number
---@param options? { dtype?: "float"|"double", mean?: number, std?: number, out?: moonwarp.array } mean 0, standard
---deviation 1 by default
---@return moonwarp.array|number
function generator:lognormal(shape, options)
  local dtype, suffix = results.real("lognormal", options)
  local mean, std = options and options.mean or 0, options and options.std or 1
  return drawn(self, "lognormal" .. suffix, shape, dtype, options, mean, std)
end

---Numbers of the Poisson distribution, from one word each. From a mean of 2000 on, xorwow and mrg32k3a make them in
---pairs.
---@param shape? integer|integer[] without one: a number
---@param options? { lambda?: number, out?: moonwarp.array } the mean, 1 by default
---@return moonwarp.array|integer uint
function generator:poisson(shape, options)
  local lambda = options and options.lambda or 1
  if not (lambda > 0 and lambda <= 400000) then
    usage("g:poisson wants a mean above 0, up to 400000, got %s", tostring(lambda))
  end
  return drawn(self, "counts", shape, "uint", options, lambda)
end

for name, method in pairs(sampling) do generator[name] = method end

-- ---- the stream ----

---Skip n numbers (words) of the stream; of Sobol's sequences n points.
---@param n integer
---@return moonwarp.generator self
function generator:jump(n)
  if n < 0 or n % 1 ~= 0 then usage("g:jump skips a whole number of numbers, got %s", tostring(n)) end
  while n > 0 and self.spare do
    take_spare(self, {}, 1)
    n = n - 1
  end
  self.stream:jump(n)
  return self
end

---Independent generators of the same kind, whose seeds are drawn from this one.
---@param count integer
---@return moonwarp.generator[]
function generator:split(count)
  if self.kind:find "sobol" then usage "g:split: Sobol's sequences have no seeds; see mw.random's dimensions" end
  local words, list = self:bits(2 * count):totable(), {}
  for i = 1, count do
    list[i] = begin { kind = self.kind, ordering = self.ordering, seed = { words[2 * i - 1], words[2 * i] }, offset = 0,
      dimensions = self.dimensions }
  end
  return list
end

---The generator's state as a line of text, from which mw.random makes a generator that continues here.
---@return string
function generator:save()
  local key, numbers = "-", {}
  if self.spare then
    key = self.spare.key
    for i, number in ipairs(self.spare) do numbers[i] = ("%.17g"):format(number) end
  end
  return ("moonwarp random 1 %s %s %.0f %.0f %.0f %s %s %s"):format(self.kind, self.ordering, self.seed[1],
    self.seed[2], self.dimensions, self.stream:save(), key, #numbers > 0 and table.concat(numbers, ",") or "-")
end

function metatable:__tostring() return ("generator %s, %s ordering"):format(self.kind, self.ordering) end

-- ---- numbers without a generator ----

local current

---Set the seed of the stream that mw.rand, mw.randn, mw.randint and mw.randperm draw from.
---@param seed? integer 0 by default, as in the beginning
---@param kind? string "philox" by default
---@return moonwarp.generator
function M.seed(seed, kind)
  current = M.random(seed, kind)
  return current
end

local function in_shape(name, method, ...)
  local shape, dtype = raw.shape_and_dtype(name, ...)
  return (current or M.seed())[method](current, shape, { dtype = dtype })
end

---Uniform numbers above 0 and up to 1, 1 included, from the stream of mw.seed.
---@param ... any a shape (numbers, or one table) and a dtype, "float" by default
---@return moonwarp.array
function M.rand(...) return in_shape("rand", "uniform", ...) end

---Normal numbers of mean 0 and standard deviation 1, from the stream of mw.seed.
---@param ... any a shape (numbers, or one table) and a dtype, "float" by default
---@return moonwarp.array
function M.randn(...) return in_shape("randn", "normal", ...) end

---Whole numbers from low to high, both included, from the stream of mw.seed.
---@param low integer
---@param high integer
---@param ... integer|integer[] a shape
---@return moonwarp.array longlong
function M.randint(low, high, ...)
  local shape, dtype = raw.shape_and_dtype("randint", ...)
  local x = (current or M.seed()):integers(low, high, shape)
  return dtype and x:to(dtype) or x
end

---The numbers 1 to n in random order, from the stream of mw.seed.
---@param n integer
---@return moonwarp.array int
function M.randperm(n) return (current or M.seed()):permutation(n) end

-- For moonwarp.curand, whose functions fill memory.
metatable.__fill = fill

for name, text in pairs(signatures.generator) do
  local f = generator[name]
  if f then generator[name] = arguments.checked_method("g:" .. name, text, f, metatable) end
end

return M
