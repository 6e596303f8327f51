-- Sorting along an axis: a:sort and a:argsort, by the radix sorts of src/device/moonwarp/algorithms/radix_sort.h.
--
-- A line is all elements along the axis. Short lines are sorted by one thread each; a long line by many blocks, in
-- passes of eight bits between two arrays of keys: on CPUs a thread walks a chunk, on GPUs a block sorts a tile
-- (onesweep.h).

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local views = require "moonwarp.array.views"
local given = require "moonwarp.array.call_arguments"
local promotion = require "moonwarp.array.promotion"
local kernels = require "moonwarp.array.kernels"

local usage = errors.usage
local array = raw.classes.array

local M = {}

local settings = {}
raw.sort_settings = settings -- tests change them
settings.ALONE = 32768 -- the longest lines that one thread sorts on a CPU
settings.WIDE = 2 ^ 30 -- tiles of lines with at least this many elements count in 64 bits
settings.TOLD = 10 ^ 7 -- lines with at least this many elements report their progress
settings.tiles = nil -- whether blocks sort tiles, as on GPUs; nil: depends on the device

local words = { "unsigned char", "unsigned short", nil, "unsigned" }
words[8] = "unsigned long long"
local dtypes = { "uchar", "ushort", nil, "uint" }
dtypes[8] = "ulonglong"

-- What kernels for lines, for chunks and for tiles begin with.
local head = [[
#include <moonwarp/algorithms/$HEADER.h>
using namespace moonwarp;
typedef $K K;
typedef radix_order<K, $KIND, $DESCENDING, $POSITIONS> O;
// kernels
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

local chunk_scan = [[
extern "C" __global__ void scan(unsigned *counts, int n) { radix_scan<256>(counts, n); }
]]

local chunks_pass = [[
extern "C" __global__ void count_$NAME(const K *from, long long n, long long chunk, int shift, unsigned *counts) {
  radix_count_chunk<O, K, $FIRST>(from, n, chunk, shift, counts);
}
extern "C" __global__ void move_$NAME(const K *from, const unsigned *was, long long n, long long chunk, int shift,
    const unsigned *counts, K *keys, unsigned *positions, long long *order) {
  radix_move_chunk<O, K, $POSITIONS, $FIRST, $LAST>(from, was, n, chunk, shift, counts, keys, positions, order);
}
]]

local tile_counts = [[
extern "C" __global__ void count(const K *x, long long n, void *scratch) {
  onesweep_count<O, K>(x, n, onesweep_scratch<K, $W>(scratch, n).bases(0));
}
extern "C" __global__ void bases(long long n, void *scratch) {
  onesweep_scratch<K, $W> s(scratch, n);
  onesweep_bases(s.bases(blockIdx.x), n, s.skipped(blockIdx.x));
}
extern "C" __global__ __launch_bounds__($THREADS, 2) void pass(long long n, int pass, void *scratch, const K *x,
    K *keys_1, K *keys_2, unsigned *positions_1, unsigned *positions_2, K *y, long long *order) {
  K *keys[] = { keys_1, keys_2 };
  unsigned *positions[] = { positions_1, positions_2 };
  onesweep_pass<O, K, $W, $POSITIONS>(n, pass, onesweep_scratch<K, $W>(scratch, n), x, keys, positions, y, order);
}
]]

local THREADS, TILE = 512, { 8192, 8192, nil, 7168 } -- onesweep.h's
TILE[8] = 4096

local kinds = { bool = "RADIX_UNSIGNED", uint = "RADIX_UNSIGNED", int = "RADIX_SIGNED", float = "RADIX_FLOAT" }
local made = {}

-- The names of the passes over keys of a size, in their order.
local function passes_of(size)
  local names = { size == 1 and "only" or "first" }
  for k = 2, size do names[k] = k == size and "last" or "next" end
  return names
end

-- A device's kernels for one way: "lines", "chunks" or "tiles".
local function kernels_of(device, way, of, size, positions, descending, wide)
  local key = table.concat({ way, of.name, tostring(positions), tostring(descending), tostring(wide) }, " ")
  if not made[key] then
    local fields = { THREADS = tostring(THREADS),
      K = words[size], KIND = of.name == "bfloat16" and "RADIX_BFLOAT" or kinds[of.kind],
      DESCENDING = tostring(descending), POSITIONS = tostring(positions),
      W = wide and "unsigned long long" or "unsigned", HEADER = way == "tiles" and "onesweep" or "radix_sort" }
    local parts = { head, way == "lines" and lines or way == "chunks" and chunk_scan or tile_counts }
    local seen = {}
    for _, name in ipairs(way == "chunks" and passes_of(size) or {}) do
      if not seen[name] then
        fields.NAME, fields.FIRST = name, tostring(name == "first" or name == "only")
        fields.LAST = tostring(name == "last" or name == "only")
        parts[#parts + 1] = chunks_pass:gsub("%$(%u+)", fields)
        seen[name] = true
      end
    end
    made[key] = kernels.module(table.concat(parts):gsub("%$(%u+)", fields), "sort")
  end
  return made[key](device)
end

local cdiv = kernels.blocks

-- The arrays that passes over n keys of a size write alternately: keys, and positions if those are sorted too.
local function buffers(n, size, positions)
  local dtype, to, places = dtypes[size], {}, {}
  for k = 1, math.min(2, size - 1) do to[k] = raw.array_new(dtype, { n }) end
  for k = 1, positions and math.min(2, size - 1) or 0 do places[k] = raw.array_new("uint", { n }) end
  return to, places
end

local function report(k, size, n)
  if raw.progress and n >= settings.TOLD then
    raw.synchronize() -- passes are only queued
    raw.progress("sorting", k, size)
  end
end

-- Sort one line of n elements by chunks.
local function sort_chunks(m, x, n, size, positions, y)
  local chunk = math.max(16384, cdiv(n, 64))
  local blocks = cdiv(n, chunk)
  local counts = raw.array_new("uint", { 256 * blocks })
  local to, places = buffers(n, size, positions)
  local from, was
  for k, name in ipairs(passes_of(size)) do
    local at, last, shift = (k - 1) % 2 + 1, k == size, 8 * (k - 1)
    local keys = not last and to[at] or not positions and y or nil
    m["count_" .. name](blocks, 1)(from or x, n, chunk, shift, counts)
    m.scan(1, 256)(counts, 256 * blocks)
    m["move_" .. name](blocks, 1)(from or x, was, n, chunk, shift, counts, keys, not last and places[at] or nil,
      last and positions and y or nil)
    report(k, size, n)
    from, was = keys, places[at]
  end
  kernels.release(counts, to[1], to[2], places[1], places[2])
end

-- Sort one line of n elements by tiles. The kernels skip passes that would move nothing, so they choose the arrays.
local function sort_tiles(m, wide, x, n, size, positions, y)
  local blocks = cdiv(n, TILE[size])
  local scratch = raw.array_new("uint", { 16 + 256 * size * (1 + blocks * (wide and 2 or 1)) }):fill(0)
  local to, places = buffers(n, size, positions)
  m.count(math.min(cdiv(n, 8192), 528), 256)(x, n, scratch)
  m.bases(size, 256)(n, scratch)
  for k = 1, size do
    m.pass(blocks, THREADS)(n, k - 1, scratch, x, to[1], to[2], places[1], places[2], not positions and y or nil,
      positions and y or nil)
    report(k, size, n)
  end
  kernels.release(scratch, to[1], to[2], places[1], places[2])
end

-- Sort the lines of x, which is contiguous with the axis last, into y.
local function sort_lines(x, count, n, of, positions, descending, y)
  local size = raw.dtype_size(x.dtype)
  local tiles = settings.tiles
  if tiles == nil then tiles = not x.device.name:find "^cpu" end
  local long = not (n <= settings.ALONE and not (tiles and n > 4096 and count < 64))
  local wide = n >= settings.WIDE
  local way = not long and "lines" or tiles and "tiles" or "chunks"
  local m = kernels_of(x.device, way, of, size, positions, descending, wide)
  local bits = raw.array_view(x, 0, dtypes[size], { count * n })
  local target = positions and y or raw.array_view(y, 0, dtypes[size], { count * n })
  if not long then
    local blocks = math.min(count, tiles and 65536 or 256)
    local keys = raw.array_new(dtypes[size], { blocks * 2 * n })
    local places = raw.array_new("uint", { positions and blocks * 2 * n or 1 })
    m.lines(blocks, 1)(count, n, bits, keys, places, not positions and target or nil, positions and target or nil)
    kernels.release(keys, places)
    return
  end
  for line = 0, count - 1 do
    local from, to = bits:sub(line * n + 1, (line + 1) * n), target:sub(line * n + 1, (line + 1) * n)
    if tiles then
      sort_tiles(m, wide, from, n, size, positions, to)
    else
      sort_chunks(m, from, n, size, positions, to)
    end
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
