-- Discrete distributions: tables of Poisson's and the binomial one, and how a generator's words or normal numbers
-- become Poisson's numbers, as cuRAND's host generators make them.
-- (src/device/moonwarp/random/distributions/discrete_table.h)

local raw = require "moonwarp.binding"
local sources = require "moonwarp.random.sources"

local M = {}

-- cuRAND's numbers of the methods: a squared histogram, sums of probabilities, and normal numbers.
M.HISTOGRAM, M.SEARCH, M.NORMAL = 5, 6, 7

local source = sources.new("discrete", "#include <moonwarp/random/distributions/discrete_table.h>\n", {
  make_table = "MW_DISCRETE_TABLE\n",
  look_up_uint = "MW_DISCRETE_LOOK_UP(look_up_uint, unsigned int)\n",
  look_up_ulonglong = "MW_DISCRETE_LOOK_UP(look_up_ulonglong, unsigned long long)\n",
  round_normals = "MW_DISCRETE_ROUND\n",
})

local HEAD, EACH = 256, 24 -- bytes of a table: the structs', and each value's
local THREADS = 128

---The method of a table that kernels draw from.
---@param variance number
function M.method(variance) return variance < 2000 and M.HISTOGRAM or M.NORMAL end

---The address of a new table: of Poisson's distribution of mean a, or of the binomial one of a trials, which succeed
---with probability b.
---@param method integer
---@param most number the largest value
---@return integer
function M.table_of(method, binomial, a, b, mean, variance, most)
  local deviation = math.sqrt(variance)
  -- room for all values whose probability is not 0 in double precision
  local capacity = method == M.NORMAL and 0 or math.min(most + 1, math.ceil(200 + 114 * deviation))
  local at = raw.memory_new("device", HEAD + EACH * capacity)
  source:kernel "make_table"(1, 1)(binomial and 1 or 0, a, b, mean, deviation, method, capacity, raw.pointer(at))
  return at
end

---A table of Poisson's distribution.
function M.poisson_table(method, lambda) return M.table_of(method, false, lambda, 0, lambda, lambda, 2 ^ 32 - 1) end

---Free a table, after the kernels that use it.
function M.free(at)
  raw.synchronize()
  raw.memory_free(at)
end

---A value by a table for each word.
---@param words moonwarp.array uint, which may be `out`, or ulonglong
---@param most number the largest value
---@param out moonwarp.array uint
function M.look_up(words, at, most, out)
  local kernel = source:kernel("look_up_" .. tostring(words.dtype))
  kernel(math.ceil(out.count / THREADS), THREADS)(words, out.count, most, raw.pointer(at), out)
end

-- By kind: means below the first are drawn by a squared histogram, those up to the second by the inverse of the
-- distribution, and larger ones by rounding a normal number.
local means = {
  philox = { 2000, 0 }, xorwow = { 2000, 0 }, mrg32k3a = { 2000, 0 }, mt19937 = { 2000, 0 }, mtgp32 = { 32, 8000 },
  sobol32 = { 10, 8000 }, scrambled_sobol32 = { 10, 8000 },
  sobol64 = { 0, 1999.9999999999998 }, scrambled_sobol64 = { 0, 1999.9999999999998 },
}

-- The table that was used last, which the next call often wants again.
local kept = {}

local function kept_table(method, lambda)
  local device = raw.device().name
  if kept.method ~= method or kept.lambda ~= lambda or kept.device ~= device then
    if kept.at and kept.device == device then M.free(kept.at) end
    kept = { method = method, lambda = lambda, device = device, at = M.poisson_table(method, lambda) }
  end
  return kept.at
end

---Fill an array with Poisson's numbers.
---@param g moonwarp.generator
---@param fill function(g, what, out, a, b) which draws words and normal numbers
---@param out moonwarp.array uint, contiguous, of one dimension
---@param lambda number
function M.fill_poisson(g, fill, out, lambda)
  local below, most = means[g.kind][1], means[g.kind][2]
  local method = lambda < below and M.HISTOGRAM or lambda <= most and M.SEARCH or M.NORMAL
  if out.count == 0 then return end
  if method == M.NORMAL then
    fill(g, g.stream.singles and "single" or "normal", out:as "float", 0, 1)
    local round = source:kernel "round_normals"(math.ceil(out.count / THREADS), THREADS)
    return round(out.count, lambda, math.sqrt(lambda), g.kind == "mt19937" and 1 or 0, out)
  end
  local at = kept_table(method, lambda)
  local words = g.stream.wide and raw.array_new("ulonglong", { out.count }) or out
  fill(g, "bits", words, 0, 0)
  M.look_up(words, at, 2 ^ 32 - 1, out)
end

return M
