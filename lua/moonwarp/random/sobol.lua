-- Sobol's sequences, of 32 and 64 bits, plain and scrambled. n numbers of d dimensions are n / d elements of the first
-- dimension, then n / d of the second, …

local raw = require "moonwarp.binding"
local sources = require "moonwarp.random.sources"
local vectors = require "moonwarp.random.vectors"

local M = {}
M.__index = M

local made = {}
local function source_of(word)
  if not made[word] then
    local kernels = {}
    for _, name in ipairs {
      "bits", "uniform", "uniform_double", "normal", "normal_double", "lognormal", "lognormal_double", "poisson",
    } do
      kernels[name] = ("MW_SOBOL_FILL(%s, %s)\n"):format(word, name)
    end
    made[word] = sources.new("Sobol", "#include <moonwarp/random/streams/sobol.h>\n", kernels)
  end
  return made[word]
end

local orderings = { default = true, quasi = true }
function M.orderings() return orderings end

---@param g table kind, dimensions, seed = {low, high}, offset
function M.begin(g)
  local wide = g.kind:find "64" ~= nil
  return setmetatable({ kind = g.kind, seed = g.seed, wide = wide, dimensions = g.dimensions, at = g.offset, skip = 0,
    source = source_of(wide and "ull" or "unsigned int") }, M)
end

function M:jump(n) self.at = self.at + n end
function M.unit() return 1 end

local THREADS = 128 -- of a block

-- How many blocks share the elements of a dimension, and the kernel's parameter for it: on GPUs the logarithm to the
-- base 2 of a dimension's threads, of which all dimensions have some 2^17; on the CPU device a block's elements.
local function spread(count, dimensions)
  if raw.properties_of().driver == "cpu" then
    local each = math.ceil(math.max(2048, math.min(count / 32, 2 ^ 17)) / (4 * THREADS)) * 4 * THREADS
    return math.max(1, math.ceil(count / each)), each
  end
  local k = math.max(10, 17 - math.ceil(math.log(dimensions) / math.log(2)))
  while k > 7 and 2 ^ (k - 1) >= count do k = k - 1 end
  return 2 ^ k / THREADS, k
end

function M:draw(what, count, out, a, b)
  if not self.vectors or self.vectors.device.name ~= raw.device().name then
    self.vectors, self.begins = vectors.arrays(self.kind, self.dimensions, self.seed)
  end
  count = math.floor(count / self.dimensions)
  local blocks, parameter = spread(count, self.dimensions)
  local first = self.wide and self.at or self.at % 2 ^ 32 -- after as many points the sequence begins again
  local kernel = self.source:kernel(what)
  kernel({ blocks, self.dimensions }, THREADS)(self.vectors, self.begins, parameter, first, count, a, b, out)
  self.at = self.at + count
end

function M:save() return ("%.0f"):format(self.at) end
function M:restore(saved) self.at = tonumber(saved) end

return M
