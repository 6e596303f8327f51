-- Searching sorted elements (topk, unique, searchsorted) and counting (bincount, histogram).

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local views = require "moonwarp.array.views"
local given = require "moonwarp.array.given"
local promotion = require "moonwarp.array.promotion"
require "moonwarp.array.order.sort" -- a:sort and a:argsort

local usage = errors.usage
local array = raw.classes.array

local M = {}

-- ---- functions of elements, made once for a device and dtypes ----

local functions = {}

local function run(like, name, what, y, ...)
  local key = { like.device.name, name }
  for _, operand in ipairs(what.operands) do key[#key + 1] = tostring(operand[3]) end
  key = table.concat(key, " ")
  local f = functions[key]
  if not f then
    what.name = name
    f = given.on_device_of(like, raw.elementwise_new, what)
    functions[key] = f
  end
  if y.count > 0 then raw.elementwise_run(f, y, ...) end
  return y
end

-- A comparison of elements of a dtype as a C expression of a and b; NaN sorts last.
local function less(of)
  if of.kind ~= "float" then return "a < b" end
  return "a < b || (a == a && b != b)"
end

local function compute_type(of) return of.kind == "float" and of.compute or of.C end

-- The elements at positions (from 1) along an axis; both arrays have the same shape except along that axis.
local function at_positions(x, positions, axis)
  x, positions = x:contiguous(), positions:contiguous()
  local shape, inner = x.shape, 1
  for d = axis + 1, #shape do inner = inner * shape[d] end
  local y = given.new(x, x.dtype, positions.shape)
  return run(x, "at_positions", { index = true, operands = { { "y", "out", x.dtype }, { "at", "in", "longlong" },
    { "x", "whole", x.dtype }, { "n", "scalar", "longlong" }, { "count", "scalar", "longlong" },
    { "inner", "scalar", "longlong" } },
    body = "y = x[(i / inner / count * n + at - 1) * inner + i % inner];" }, y, positions, x, shape[axis],
    positions.shape[axis], inner)
end

-- ---- the greatest ----

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
  local key = {}
  for d = 1, self.rank do key[d] = {} end
  key[axis] = { 1, k }
  local order = self:argsort { axis = axis, descending = options.largest ~= false }[key]:contiguous()
  return at_positions(self, order, axis), order
end

---@param a moonwarp.array
---@param k integer
---@param options? integer|table
---@return moonwarp.array values
---@return moonwarp.array indices see a:topk
function M.topk(a, k, options) return a:topk(k, options) end

-- ---- positions in sorted arrays ----

-- The number of elements of the vector `sorted` before each value, plus `from`.
local function search(sorted, values, right, from)
  local of, other = promotion.of(sorted.dtype, "searchsorted"), promotion.of(values.dtype, "searchsorted")
  local both = promotion.of(promotion.promote(of.name, other.name), "searchsorted")
  local C, test = compute_type(both), less(both)
  local goes_on = right and "!(" .. test:gsub("%f[%w]a%f[%W]", "v"):gsub("%f[%w]b%f[%W]", "m") .. ")"
    or test:gsub("%f[%w]a%f[%W]", "m"):gsub("%f[%w]b%f[%W]", "v")
  local y = given.new(values, "longlong", values.shape)
  return run(values, "searchsorted" .. tostring(right) .. from, { operands = { { "y", "out", "longlong" },
    { "x", "in", values.dtype }, { "s", "whole", sorted.dtype }, { "n", "scalar", "longlong" } },
    body = ([[const %s v = (%s)x;
  long long low = 0, high = n;
  while (low < high) {
    const long long middle = (low + high) / 2;
    const %s m = (%s)s[middle];
    if (%s) low = middle + 1;
    else high = middle;
  }
  y = low + %d;]]):format(C, C, C, C, goes_on, from) }, y, values, sorted, sorted.count)
end

---The positions at which values would be inserted into a sorted vector to keep it sorted, from 1 to its count + 1:
---before equal elements, or after them with side = "right".
---@param values number|moonwarp.array
---@param options? { side?: "left"|"right" }
---@return integer|moonwarp.array
function array:searchsorted(values, options)
  options = given.options("a:searchsorted", options, { "side" }, { "string" })
  local side = options.side or "left"
  if side ~= "left" and side ~= "right" then
    usage('a:searchsorted: side is "left" or "right", got %s', raw.describe(side))
  end
  if self.rank ~= 1 then usage("a:searchsorted wants a sorted vector, got %s", views.shape_text(self.shape)) end
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
  local values = at_positions(sorted, starts, 1)
  local results = { values }
  if options.counts then
    local counts = given.new(self, "longlong", { count })
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

-- ---- counting ----

-- For positions (longlong, from 1; others are ignored), the number of elements in each of `bins`, or the sum of their
-- weights in the order of the elements. Positions are sorted, so that each bin is a contiguous range.
local function count_bins(at, bins, weights)
  local order = weights and at:argsort()
  local sorted = order and at_positions(at, order, 1) or at:sort()
  local edges = given.new(at, "longlong", { bins + 1 })
  if bins + 1 > 0 then given.on_device_of(at, raw.array_ramp, edges, 1, 1) end
  local starts = search(sorted, edges, false, 0)
  if not weights then
    return run(at, "widths", { index = true, operands = { { "y", "out", "longlong" }, { "s", "whole", "longlong" } },
      body = "y = s[i + 1] - s[i];" }, given.new(at, "longlong", { bins }), starts)
  end
  return run(at, "weigh", { index = true, operands = { { "y", "out", "double" }, { "s", "whole", "longlong" },
    { "order", "whole", "longlong" }, { "w", "whole", weights.dtype } }, body = [[double sum = 0;
  for (long long k = s[i]; k < s[i + 1]; k++) sum += (double)w[order[k] - 1];
  y = sum;]] }, given.new(at, "double", { bins }), starts, order, weights)
end

local function check_weights(what, weights, count)
  if weights == nil then return nil end
  if raw.type(weights) ~= "array" or weights.count ~= count then
    usage("%s: weights are an array of %d numbers, one for each element, got %s", what, count,
      raw.type(weights) == "array" and views.shape_text(weights.shape) or raw.describe(weights))
  end
  local flat = weights:reshape(-1)
  return promotion.of(flat.dtype, what).name == "double" and flat or given.new(flat, "double", flat.shape):assign(flat)
end

---How often each of the values 0, 1, 2, … occurs; the count of value v is at position v + 1. With weights, the sum of
---the elements' weights instead, added in the order of the elements.
---@param options? { weights?: moonwarp.array, minlength?: integer } minlength: how many places there are at least
---@return moonwarp.array of longlong, or double with weights
function array:bincount(options)
  options = given.options("a:bincount", options, { "weights", "minlength" })
  local of = promotion.of(self.dtype, "a:bincount")
  if of.kind == "float" then usage("a:bincount counts whole numbers, not elements of %s; see a:histogram", of.name) end
  local least = given.whole("a:bincount", options.minlength or 0, 0, "minlength")
  local flat = self:reshape(-1)
  local at = given.new(self, "longlong", { flat.count }):assign(flat)
  local bins = least
  if flat.count > 0 then
    local low, high = tonumber(at:min()), tonumber(at:max())
    if low < 0 then usage("a:bincount counts values of at least 0, got %d", low) end
    bins = math.max(bins, high + 1)
    if bins > 2 ^ 31 then usage("a:bincount: the value %d would need as many counters", high) end
  end
  return count_bins(at + 1, bins, check_weights("a:bincount", options.weights, flat.count))
end

---@param a moonwarp.array
---@param options? table
---@return moonwarp.array see a:bincount
function M.bincount(a, options) return a:bincount(options) end

local function edges_of(x, bins, range)
  if raw.type(bins) == "array" or type(bins) == "table" then
    local edges = raw.type(bins) == "array" and bins or given.on_device_of(x, raw.array_from, bins, "double")
    if edges.rank ~= 1 or edges.count < 2 then
      usage("a:histogram: edges are a vector of at least 2, got %s", views.shape_text(edges.shape))
    end
    local list = edges:contiguous():totable()
    for i = 2, #list do
      if list[i - 1] > list[i] or list[i] ~= list[i] then
        usage("a:histogram: edges must ascend, but %s follows %s", tostring(list[i]), tostring(list[i - 1]))
      end
    end
    return given.new(x, "double", edges.shape):assign(edges)
  end
  given.whole("a:histogram", bins, 1, "the number of bins")
  if bins > 2 ^ 24 then usage("a:histogram: at most 2^24 equal bins, got %d; give the edges as an array", bins) end
  local low, high = 0, 1
  if range then
    low, high = range[1], range[2]
    if type(low) ~= "number" or type(high) ~= "number" or low > high or high - low == math.huge then
      usage "a:histogram: a range is {least, greatest}"
    end
  elseif x.count > 0 then
    low, high = tonumber(x:min()), tonumber(x:max())
    if low ~= low or high - low == math.huge then usage "a:histogram wants a range if there are infinities or NaN" end
  end
  if low == high then low, high = low - 0.5, high + 0.5 end
  local edges = {}
  for i = 0, bins do edges[i + 1] = i * ((high - low) / bins) + low end
  edges[bins + 1] = high
  return given.on_device_of(x, raw.array_from, edges, "double")
end

---The number of elements in each of some bins: bins of equal width between the least and the greatest element or over a
---range, or bins between given edges. A bin includes its lower edge, the last bin both edges; NaN and elements outside
---are not counted.
---@param options? integer|{ bins?: integer|number[]|moonwarp.array, range?: number[], weights?: moonwarp.array,
---density?: boolean } or the number of bins, 10 by default; density = true: shares for each unit of length
---@return moonwarp.array counts of longlong, or double with weights or density
---@return moonwarp.array edges of double, one more
function array:histogram(options)
  options = given.options("a:histogram", options, { "bins", "range", "weights", "density" })
  promotion.of(self.dtype, "a:histogram")
  local flat = self:reshape(-1)
  local edges = edges_of(flat, options.bins or 10, options.range)
  local bins = edges.count - 1
  local weights = check_weights("a:histogram", options.weights, flat.count)
  local at = run(flat, "bin_of", { operands = { { "y", "out", "longlong" }, { "x", "in", flat.dtype },
    { "e", "whole", "double" }, { "bins", "scalar", "longlong" } }, body = [[const double v = (double)x;
  long long low = 0, high = bins + 1; // edges that are not greater
  while (low < high) {
    const long long middle = (low + high) / 2;
    if (e[middle] <= v) low = middle + 1;
    else high = middle;
  }
  y = v == e[bins] ? bins : low > bins ? 0 : low;]] }, given.new(flat, "longlong", { flat.count }), flat, edges, bins)
  local counts = count_bins(at, bins, weights)
  if options.density then
    local widths = edges:sub(2) - edges:sub(1, -2)
    local total = counts:sum()
    counts = counts / widths / tonumber(total)
  end
  return counts, edges
end

---@param a moonwarp.array
---@param options? integer|table
---@return moonwarp.array counts
---@return moonwarp.array edges see a:histogram
function M.histogram(a, options) return a:histogram(options) end


return M
