-- Searching sorted elements: topk, unique and searchsorted.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local views = require "moonwarp.array.views"
local given = require "moonwarp.array.call_arguments"
local promotion = require "moonwarp.array.promotion"
local elements = require "moonwarp.array.order.elements"
local count_of = require "moonwarp.array.order.count"
local select_rank = require "moonwarp.array.order.selection"
require "moonwarp.array.order.sort" -- a:sort and a:argsort

local usage = errors.usage
local array = raw.classes.array
local run, search, at_positions, compute_type = elements.run, elements.search, elements.at_positions,
  elements.compute_type

local M = {}

-- ---- the greatest ----

local SELECTED = 32768 -- the shortest lines whose k greatest elements are selected; shorter lines are sorted

local LONG, SHORT = 1024, 64 -- elements of a chunk: most and least

-- The positions of the elements of a line that are as far as the k-th of the chunks' extremes, and so contain the k
-- greatest (or least) of all: only chunks whose extreme is as far are read again. nil if chunks would be short, or
-- these are many, or fewer than k chunks have numbers.
local function candidates_by_chunk(line, n, k, least)
  local size = math.min(LONG, math.floor(n / (16 * k)))
  if size < SHORT then return nil end
  local count = math.floor(n / size)
  local chunks = line:sub(1, count * size):reshape(count, size)
  local extremes = least and chunks:min { axis = 2 } or chunks:max { axis = 2 }
  local last = extremes:sort { descending = not least }:sub(k, k)
  if last[1] ~= last[1] then return nil end
  local function far(x) return least and x:le(last) or x:ge(last) end
  local which = far(extremes):nonzero()
  if which.count > count / 8 then return nil end
  local inside = far(chunks:take(which, { axis = 1 }):reshape(-1)):nonzero()
  local positions = given.new(line, "longlong", { inside.count })
  run(line, "of_chunks", { operands = { { "y", "out", "longlong" }, { "p", "in", "longlong" },
    { "which", "whole", "longlong" }, { "n", "scalar", "longlong" } },
    body = "y = (which[(p - 1) / n] - 1) * n + (p - 1) % n + 1;" }, positions, inside, which, size)
  if n == count * size then return positions end
  local rest = far(line:sub(count * size + 1, n)):nonzero() + count * size
  return raw.part("array.joining").concat { positions, rest }
end

-- The positions of the k greatest or least of all elements, which lie along one axis: those from the k-th on, sorted.
-- nil if fewer are not NaN, or too many equal the k-th.
local function candidates_of(x, line, n, k, least)
  local some = candidates_by_chunk(line, n, k, least)
  if some then return some end
  local missing = promotion.of(x.dtype, "a:topk").kind == "float" and tonumber(line:ne(line):count_nonzero()) or 0
  if n - missing < k then return nil end
  local last = select_rank(line:reshape(1, n), least and k - 1 or n - missing - k)
  local mask = least and line:le(last) or line:ge(last)
  if tonumber(mask:count_nonzero()) > n / 4 then return nil end
  return mask:nonzero()
end

local function select_positions(x, k, options)
  local line, least, n = x:reshape(-1):contiguous(), options.largest == false, x.count
  local candidates = k > 0 and candidates_of(x, line, n, k, least)
  if not candidates then return nil end
  local shape = x.shape
  for d, size in ipairs(shape) do shape[d] = size == n and k or size end
  local order = at_positions(line, candidates, 1):argsort { descending = not least }
  return at_positions(candidates, order:sub(1, k), 1):reshape((table.unpack or unpack)(shape))
end

---The k greatest elements along an axis in descending order, and their positions; NaN counts as less than any number.
---@param k integer
---@param options? integer|{ axis?: integer, largest?: boolean } or the axis; largest = false: the least, ascending
---@return moonwarp.array values
---@return moonwarp.array indices from 1
function array:topk(k, options)
  promotion.of(self.dtype, "a:topk")
  options = given.options("a:topk", options, { "axis", "largest" })
  local axis = views.axis("a:topk", options.axis or -1, self.rank)
  local size = self.shape[axis]
  if k < 0 or k > size then usage("a:topk: k is from 0 to the %d elements along axis %d, got %d", size, axis, k) end
  local order = self.count == size and size >= SELECTED and k <= size / 16 and select_positions(self, k, options)
  if not order then
    local key = {}
    for d = 1, self.rank do key[d] = {} end
    key[axis] = { 1, k }
    order = self:argsort { axis = axis, descending = options.largest ~= false }[key]:contiguous()
  end
  return at_positions(self, order, axis), order
end

---@param a moonwarp.array
---@param k integer
---@param options? integer|table
---@return moonwarp.array values
---@return moonwarp.array indices see a:topk
function M.topk(a, k, options) return a:topk(k, options) end

-- ---- positions in sorted arrays ----

---The positions at which values would be inserted into a sorted vector to keep it sorted, from 1 to its count + 1:
---before equal elements, or after them with side = "right".
---@param values number|number[]|moonwarp.array
---@param options? { side?: "left"|"right" }
---@return integer|moonwarp.array
function array:searchsorted(values, options)
  options = given.options("a:searchsorted", options, { "side" }, { "string" })
  local side = options.side or "left"
  if side ~= "left" and side ~= "right" then
    usage('a:searchsorted: side is "left" or "right", got %s', raw.describe(side))
  end
  if self.rank ~= 1 then usage("a:searchsorted wants a sorted vector, got %s", views.shape_text(self.shape)) end
  if type(values) == "table" and raw.type(values) == nil then
    local dtype = self.dtype
    for _, value in ipairs(values) do
      if type(value) == "number" then dtype = promotion.promote_number(dtype, value) end
    end
    if promotion.of(dtype, "a:searchsorted").kind ~= "float" then dtype = "longlong" end
    values = given.on_device_of(self, raw.array_from, values, dtype)
  end
  if raw.type(values) == "array" then
    return search(self:contiguous(), values:contiguous(), side == "right", 1)
  end
  local one = given.new(self, promotion.promote_number(self.dtype, values), { 1 }):fill(values)
  return tonumber(search(self:contiguous(), one, side == "right", 1)[1])
end

---@param a moonwarp.array
---@param values number|moonwarp.array
---@param options? table
---@return integer|moonwarp.array see a:searchsorted
function M.searchsorted(a, values, options) return a:searchsorted(values, options) end

-- ---- distinct values ----

local RANGE = 2 ^ 20 -- integers of at most this range are counted, not sorted

-- The distinct values of a vector of integers of a small range, and their counts; nil for others.
local function distinct_of_range(x, of)
  if of.kind == "float" or of.kind == "bool" or x.count == 0 then return nil end
  local low, high = tonumber(x:min()), tonumber(x:max())
  if math.abs(low) > 2 ^ 52 or math.abs(high) > 2 ^ 52 or high - low >= math.min(RANGE, 4 * x.count) then return nil end
  local counts = count_of(x, low, high - low + 1)
  local at = counts:nonzero()
  local values = given.new(x, x.dtype, at.shape):assign(at + (low - 1))
  return values, at_positions(counts, at, 1)
end

---The distinct values in ascending order, all NaN as one. With counts = true, also how often each occurs; with
---inverse = true, also the position of each element's value among them.
---@param options? { counts?: boolean, inverse?: boolean }
---@return moonwarp.array values
---@return moonwarp.array? counts
---@return moonwarp.array? inverse
function array:unique(options)
  options = given.options("a:unique", options, { "counts", "inverse" }, { "boolean" })
  local of = promotion.of(self.dtype, "a:unique")
  local flat = self:reshape(-1)
  local n = flat.count
  local values, counts = distinct_of_range(flat, of)
  if values then
    if not options.counts then counts = nil end
    local inverse = options.inverse and search(values, flat:contiguous(), false, 1)
    if counts then return values, counts, inverse or nil end
    return values, inverse or nil
  end
  local sorted = flat:sort()
  local C = compute_type(of)
  -- 1 where a new value begins; the running sums of that number the values: 1, 1, 2, …
  local begins = run(self, "begins", { index = true, operands = { { "y", "out", "longlong" },
    { "s", "whole", self.dtype }, { "none", "scalar", "longlong" } },
    body = ([[const %s m = (%s)s[i], l = (%s)s[i ? i - 1 : 0];
  y = i == 0 || !(m == l || (m != m && l != l)) ? i + 1 : none;]]):format(C, C, C) },
    given.new(self, "longlong", { n }), sorted, n + 1)
  local count = n > 0 and tonumber(begins:le(n):count_nonzero()) or 0
  local starts = begins:sort():sub(1, count)
  values = at_positions(sorted, starts, 1)
  local results = { values }
  if options.counts then
    counts = given.new(self, "longlong", { count })
    if count > 0 then
      run(self, "distances", { index = true, operands = { { "y", "out", "longlong" }, { "s", "whole", "longlong" },
        { "count", "scalar", "longlong" }, { "n", "scalar", "longlong" } },
        body = "y = (i + 1 < count ? s[i + 1] : n + 1) - s[i];" }, counts, starts:contiguous(), count, n)
    end
    results[#results + 1] = counts
  end
  if options.inverse then results[#results + 1] = search(values, flat:contiguous(), false, 1) end
  return (table.unpack or unpack)(results)
end

---@param a moonwarp.array
---@param options? table
---@return moonwarp.array ... see a:unique
function M.unique(a, options) return a:unique(options) end

return M
