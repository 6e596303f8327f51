-- Counting: bincount and histogram.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local views = require "moonwarp.array.views"
local given = require "moonwarp.array.call_arguments"
local promotion = require "moonwarp.array.promotion"
local elements = require "moonwarp.array.order.elements"
local count_of = require "moonwarp.array.order.count"

local usage = errors.usage
local array = raw.classes.array

local M = {}

-- For positions (longlong, from 1; others are ignored), the sum of the weights of the elements in each of `bins`, in
-- the order of the elements. Positions are sorted, so that each bin is a contiguous range.
local function weigh(at, bins, weights)
  local order = at:argsort()
  local sorted = elements.at_positions(at, order, 1)
  local edges = given.new(at, "longlong", { bins + 1 })
  given.on_device_of(at, raw.array_ramp, edges, 1, 1)
  local starts = elements.search(sorted, edges, false, 0)
  return elements.run(at, "weigh", { index = true, operands = { { "y", "out", "double" }, { "s", "whole", "longlong" },
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
  local bins = least
  if flat.count > 0 then
    local low, high = tonumber(flat:min()), tonumber(flat:max())
    if of.kind == "bool" then low, high = 0, 1 end
    if low < 0 then usage("a:bincount counts values of at least 0, got %d", low) end
    bins = math.max(bins, high + 1)
    if bins > 2 ^ 31 then usage("a:bincount: the value %d would need as many counters", high) end
  end
  local weights = check_weights("a:bincount", options.weights, flat.count)
  if not weights then return count_of(flat, 0, bins) end
  return weigh(given.new(self, "longlong", { flat.count }):assign(flat) + 1, bins, weights)
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
---@param options? integer|number[]|moonwarp.array|{ bins?: integer|number[]|moonwarp.array, range?: number[],
---weights?: moonwarp.array, density?: boolean } or the number of bins, 10 by default, or their edges; density = true:
---shares for each unit of length
---@return moonwarp.array counts of longlong, or double with weights or density
---@return moonwarp.array edges of double, one more
function array:histogram(options)
  if type(options) == "table" and raw.type(options) == nil and options[1] ~= nil then options = { bins = options } end
  options = given.options("a:histogram", options, { "bins", "range", "weights", "density" }, { "number", "array" })
  promotion.of(self.dtype, "a:histogram")
  local flat = self:reshape(-1)
  local edges = edges_of(flat, options.bins or 10, options.range)
  local bins = edges.count - 1
  local weights = check_weights("a:histogram", options.weights, flat.count)
  local at = elements.run(flat, "bin_of", { operands = { { "y", "out", "longlong" }, { "x", "in", flat.dtype },
    { "e", "whole", "double" }, { "bins", "scalar", "longlong" } }, body = [[const double v = (double)x;
  long long low = 0, high = bins + 1; // edges that are not greater
  while (low < high) {
    const long long middle = (low + high) / 2;
    if (e[middle] <= v) low = middle + 1;
    else high = middle;
  }
  y = v == e[bins] ? bins : low > bins ? 0 : low;]] }, given.new(flat, "longlong", { flat.count }), flat, edges, bins)
  local counts = weights and weigh(at, bins, weights) or count_of(at, 1, bins)
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
