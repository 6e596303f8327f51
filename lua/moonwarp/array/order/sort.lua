-- Sorting along an axis: a:sort and a:argsort, by the radix sorts of src/device/moonwarp/algorithms/radix_sort.h.
--
-- A line is all elements along the axis. Short lines are sorted by one thread each; a long line by many blocks, in
-- passes of eight bits between two arrays of keys.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local views = require "moonwarp.array.views"
local given = require "moonwarp.array.given"
local promotion = require "moonwarp.array.promotion"
local compile = require("moonwarp.module.module").compile

local usage = errors.usage
local array = raw.classes.array

local M = {}

local settings = {}
raw.sort_settings = settings -- tests change them
settings.ALONE = 32768 -- lines of up to so many elements are sorted by one thread on a CPU
settings.tiles = nil -- whether warps rank tiles, as on GPUs; nil: depends on the device

local words = { "unsigned char", "unsigned short", nil, "unsigned" }
words[8] = "unsigned long long"
local dtypes = { "uchar", "ushort", nil, "uint" }
dtypes[8] = "ulonglong"

local head = [[
#include <moonwarp/algorithms/radix_sort.h>
using namespace moonwarp;
typedef $K K;
typedef radix_order<K, $KIND, $DESCENDING, $POSITIONS> O;
]]

local lines = [[
extern "C" __global__ void lines(long long count, long long n, const K *x, K *keys, unsigned *positions, K *y,
    long long *order) {
  K *mine = keys + blockIdx.x * 2 * n;
  unsigned *places = positions + ($POSITIONS ? blockIdx.x * 2 * n : 0);
  for (long long line = blockIdx.x; line < count; line += gridDim.x)
    sort_line<O, K, $POSITIONS>(x + line * n, n, mine, mine + n, places, places + n, y + ($POSITIONS ? 0 : line * n),
      order + ($POSITIONS ? line * n : 0));
}
]]

local scan = [[
extern "C" __global__ void scan(unsigned *counts, int n) { radix_scan<256>(counts, n); }
]]

local pass = [[
extern "C" __global__ void count_$NAME(const K *from, long long n, long long chunk, int shift, unsigned *counts) {
  if ($TILES) radix_count_tile<O, K, $FIRST>(from, n, shift, counts);
  else radix_count_chunk<O, K, $FIRST>(from, n, chunk, shift, counts);
}
extern "C" __global__ void move_$NAME(const K *from, const unsigned *was, long long n, long long chunk, int shift,
    const unsigned *counts, K *keys, unsigned *positions, long long *order) {
  if ($TILES) radix_move_tile<O, K, $POSITIONS, $FIRST, $LAST>(from, was, n, shift, counts, keys, positions, order);
  else radix_move_chunk<O, K, $POSITIONS, $FIRST, $LAST>(from, was, n, chunk, shift, counts, keys, positions, order);
}
]]

local kinds = { bool = "RADIX_UNSIGNED", uint = "RADIX_UNSIGNED", int = "RADIX_SIGNED", float = "RADIX_FLOAT" }
local made = {}

-- The kernels for whole lines, or those for the passes over a long line.
local function module_of(device, of, size, positions, descending, tiles, long)
  local key = table.concat({ device.name, of.name, tostring(positions), tostring(descending), tostring(tiles),
    tostring(long) }, " ")
  if made[key] then return made[key] end
  local fields = { K = words[size], KIND = of.name == "bfloat16" and "RADIX_BFLOAT" or kinds[of.kind],
    DESCENDING = tostring(descending), POSITIONS = tostring(positions), TILES = tostring(tiles) }
  local passes = { head, long and scan or lines }
  local function add(name, first, last)
    fields.NAME, fields.FIRST, fields.LAST = name, tostring(first), tostring(last)
    passes[#passes + 1] = pass:gsub("%$(%u+)", fields)
  end
  if not long then
    fields.NAME = "lines" -- the text has only this one
  elseif size == 1 then
    add("only", true, true)
  else
    add("first", true, false)
    if size > 2 then add("next", false, false) end
    add("last", false, true)
  end
  made[key] = compile { source = (table.concat(passes):gsub("%$(%u+)", fields)), name = "sort" }
  return made[key]
end

local function cdiv(a, b) return math.floor((a + b - 1) / b) end

-- Sort one line of n elements, by many blocks.
local function sort_long(m, x, n, size, positions, tiles, y)
  local chunk = tiles and 4096 or math.max(16384, cdiv(n, 64))
  local blocks, threads = cdiv(n, chunk), tiles and 256 or 1
  local counts = raw.array_new("uint", { 256 * blocks })
  local dtype = dtypes[size]
  local keys = { raw.array_new(dtype, { n }), size > 2 and raw.array_new(dtype, { n }) or nil }
  local places = {}
  for i = 1, positions and math.min(2, size) or 1 do
    places[i] = raw.array_new("uint", { positions and n or 1 })
  end
  local from, was = x, places[1]
  for k = 1, size do
    local name = size == 1 and "only" or k == 1 and "first" or k == size and "last" or "next"
    local at = (k - 1) % 2 + 1
    local to = k == size and not positions and y or keys[at] or keys[1]
    local to_places = places[at] or places[1]
    local shift = 8 * (k - 1)
    m["count_" .. name](blocks, threads)(from, n, chunk, shift, counts)
    m.scan(1, 256)(counts, 256 * blocks)
    m["move_" .. name](blocks, threads)(from, was, n, chunk, shift, counts, to, to_places, positions and y or nil)
    from, was = to, to_places
  end
end

-- Sort the lines of x, which is contiguous with the axis last, into y.
local function sort_lines(x, count, n, of, positions, descending, y)
  local size = raw.dtype_size(x.dtype)
  local tiles = settings.tiles
  if tiles == nil then tiles = not x.device.name:find "^cpu" end
  local long = not (n <= settings.ALONE and not (tiles and n > 4096 and count < 64))
  local m = module_of(x.device, of, size, positions, descending, tiles, long)
  local bits = raw.array_view(x, 0, dtypes[size], { count * n })
  local target = positions and y or raw.array_view(y, 0, dtypes[size], { count * n })
  if not long then
    local blocks = math.min(count, tiles and 65536 or 256)
    local keys = raw.array_new(dtypes[size], { blocks * 2 * n })
    local places = raw.array_new("uint", { positions and blocks * 2 * n or 1 })
    m.lines(blocks, 1)(count, n, bits, keys, places, not positions and target or nil, positions and target or nil)
    return
  end
  for line = 0, count - 1 do
    local first, last = line * n + 1, (line + 1) * n
    sort_long(m, bits:sub(first, last), n, size, positions, tiles, target:sub(first, last))
  end
end

-- x sorted along an axis, as values or as positions.
local function sorted(what, x, options, positions)
  options = given.options(what, options, { "axis", "descending", "out" })
  local of = promotion.number(x.dtype, what)
  local rank = x.rank
  local axis = views.axis(what, options.axis or -1, rank)
  local descending = options.descending or false
  if type(descending) ~= "boolean" then
    usage("%s: descending is true or false, got %s", what, raw.describe(descending))
  end
  local dtype = positions and "longlong" or x.dtype
  local out = options.out and given.out(what, options.out, x, dtype, x.shape)
  if of.kind == "complex" then
    local order = raw.part("array.complex").order(x, axis, descending)
    local y = positions and order or x:gather(axis, order)
    return out and out:assign(y) or y
  end
  local moved = axis == rank and x or x:transpose(axis, rank)
  local from = moved:contiguous()
  local y = given.new(x, dtype, moved.shape)
  local n = moved.shape[rank]
  if n >= 2 ^ 32 then usage("%s sorts up to 2^32 - 1 elements along an axis, got %d", what, n) end
  if x.count > 0 then
    given.on_device_of(x, sort_lines, from, x.count / n, n, of, positions, descending, y)
  end
  if axis ~= rank then y = y:transpose(axis, rank) end
  if out then return out:assign(y) end
  return y:contiguous()
end

---The elements in ascending order along an axis, NaN last; complex ones by their real parts, then by the others.
---@param options? integer|{ axis?: integer, descending?: boolean, out?: moonwarp.array } or the axis; the last one by
---default
---@return moonwarp.array
function array:sort(options) return sorted("a:sort", self, options, false) end

---The positions of the elements of a:sort(options), counted from 1 along the axis; equal elements keep their order.
---@param options? integer|{ axis?: integer, descending?: boolean, out?: moonwarp.array }
---@return moonwarp.array of longlong
function array:argsort(options) return sorted("a:argsort", self, options, true) end

---@param a moonwarp.array
---@param options? integer|table
---@return moonwarp.array see a:sort
function M.sort(a, options) return a:sort(options) end

---@param a moonwarp.array
---@param options? integer|table
---@return moonwarp.array see a:argsort
function M.argsort(a, options) return a:argsort(options) end

return M
