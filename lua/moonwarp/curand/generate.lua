-- curandGenerate…: random numbers written to host or device memory.
--
-- A generator of curandCreateGenerator writes device memory, in its stream: an array, or a pointer of moonwarp.runtime.
-- One of curandCreateGeneratorHost writes host memory, and waits: a pointer, a table (from 1), LuaJIT's cdata, or an
-- array.

local raw = require "moonwarp.binding"
local result = require "moonwarp.curand.result"
local generators = require "moonwarp.curand.generator"
local pointer = require "moonwarp.runtime.pointer"
local with = require("moonwarp.stream").with

local api, fail = result.api, result.fail
local M = {}

local ffi = rawget(_G, "jit") and require "ffi"

-- The dtype by which an array's elements are accessed, so that arrays of the other signedness are accepted.
local sizes = { uint = 4, ulonglong = 8, float = 4, double = 8 }

---Fill an array of one dimension with numbers.
function M.draw(g, what, array, a, b)
  local object = generators.object(g)
  getmetatable(object).__fill(object, what, array, a or 0, b or 0)
end

-- The address of an output that is not an array, or nil if it has none.
local function address_of(out)
  if ffi and type(out) == "cdata" and not raw.type(out) then
    return tonumber(ffi.cast("uintptr_t", ffi.cast("const void *", out)))
  end
  return pointer.address(out, "the output")
end

local function check_room(out, count, dtype)
  if out.count < count then
    fail("OUT_OF_RANGE", "%d numbers do not fit into an array of %d", count, out.count)
  end
  if raw.dtype_size(out.dtype) ~= sizes[dtype] then
    fail("TYPE_ERROR", "numbers of %s do not fit into elements of %s", dtype, tostring(out.dtype))
  end
end

-- The array to fill if the output is an array that can be written directly: a contiguous one, as `dtype`.
local function part_of(out, count, dtype)
  check_room(out, count, dtype)
  local flat = out.rank == 1 and out or out:reshape(-1)
  if tostring(flat.dtype) ~= dtype then flat = flat:as(dtype) end
  return flat.count == count and flat or flat:sub(1, count)
end

local function make_in_stream(g, out, count, dtype, f)
  if raw.type(out) == "array" then return f(part_of(out, count, dtype)) end
  local array = raw.array_new(dtype, { count })
  if type(out) == "table" and not pointer.is(out) then
    f(array)
    for i, x in ipairs(array:totable()) do out[i] = x end
    return
  end
  local to = address_of(out)
  if to == 0 then fail("LAUNCH_FAILURE", "the output is the null pointer") end
  f(array)
  raw.memory_copy(g.stream, to, array.address, 4, count * sizes[dtype])
end

---Write `count` > 0 numbers of a dtype, made by f(array) in the generator's stream, to an output.
function M.make(g, out, count, dtype, f)
  local stream = g.stream or raw.stream_default(false)
  with(stream, make_in_stream, g, out, count, dtype, f)
  if g.on_host then stream:synchronize() end
  generators.moved(g, count, g.of.unit or g.dimensions)
end

-- Write `count` numbers of a distribution, by its name in mw.random's kinds.
local function generate(generator, what, out, count, dtype, a, b)
  local g = generators.check(generator)
  if type(count) ~= "number" or count < 0 or count % 1 ~= 0 then
    fail("OUT_OF_RANGE", "the count of numbers is a whole number, got %s", tostring(count))
  end
  local pairs_only = g.of.pairs and what:find "normal"
  if count % (pairs_only and 2 or g.dimensions) ~= 0 then
    fail("LENGTH_NOT_MULTIPLE", "%d numbers are not a multiple of %d", count, pairs_only and 2 or g.dimensions)
  end
  if count == 0 then return end
  M.make(g, out, count, dtype, function(array) M.draw(g, what, array, a, b) end)
  if pairs_only then g.position = g.position - count / 2 end
end

function M.check_lambda(lambda)
  if type(lambda) ~= "number" or not (lambda > 0 and lambda <= 400000) then
    fail("OUT_OF_RANGE", "the mean of a Poisson distribution is above 0 and up to 400000, got %s", tostring(lambda))
  end
end

local function check_number(value, what)
  if type(value) ~= "number" then fail("OUT_OF_RANGE", "%s is a number, got %s", what, tostring(value)) end
end

---Write numbers of the Poisson distribution: by inversion of the distribution if `what` is "poisson", as g:poisson
---makes them if it is "counts".
function M.poisson(generator, out, count, lambda, what)
  generators.check(generator)
  if count ~= 0 then M.check_lambda(lambda) end
  generate(generator, what, out, count, "uint", lambda)
end

---@param curand table
function M.install(curand)
  curand.curandGenerate = api(function(generator, out, count)
    if generators.check(generator).of.wide and count ~= 0 then
      fail("TYPE_ERROR", "words of %s have 64 bits: call curandGenerateLongLong", generator.of.kind)
    end
    generate(generator, "bits", out, count, "uint")
  end)
  curand.curandGenerateLongLong = api(function(generator, out, count)
    if not generators.check(generator).of.wide and count ~= 0 then
      fail("TYPE_ERROR", "words of %s have 32 bits: call curandGenerate", generator.of.kind)
    end
    generate(generator, "bits", out, count, "ulonglong")
  end)
  for name, what in pairs { Uniform = "uniform", Normal = "normal", LogNormal = "lognormal" } do
    for suffix, dtype in pairs { [""] = "float", Double = "double" } do
      local full = dtype == "double" and what .. "_double" or what
      if what == "uniform" then
        curand["curandGenerate" .. name .. suffix] = api(function(generator, out, count)
          generate(generator, full, out, count, dtype)
        end)
      else
        curand["curandGenerate" .. name .. suffix] = api(function(generator, out, count, mean, stddev)
          generators.check(generator)
          check_number(mean, "a mean")
          check_number(stddev, "a standard deviation")
          generate(generator, full, out, count, dtype, mean, stddev)
        end)
      end
    end
  end
  curand.curandGeneratePoisson = api(function(generator, out, count, lambda)
    M.poisson(generator, out, count, lambda, "counts")
  end)
end

return M
