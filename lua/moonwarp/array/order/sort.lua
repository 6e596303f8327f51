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
$TILES
// kernels
]]

local tiles_head = "typedef onesweep_scratch<K, %s, %s> S;\ntypedef onesweep_tile<K, %s> T;"

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

-- Elements are given as void *, so that an array needs no view of its elements' bits.
local tile_counts = [[
extern "C" __global__ void begin(long long n, void *scratch, const void *x, unsigned long long *done, unsigned ticket) {
  onesweep_begin<O>((const K *)x, n, S(scratch, n), done, ticket);
}
extern "C" __global__ void count(long long n, void *scratch, const void *x) {
  onesweep_count<O>((const K *)x, n, S(scratch, n).bases(0));
}
extern "C" __global__ void bases(long long n, void *scratch) {
  S s(scratch, n);
  onesweep_bases(s.bases(blockIdx.x), n, s.skipped(blockIdx.x));
}
extern "C" __global__ __launch_bounds__(T::threads, T::blocks) void pass(long long n, int pass, void *scratch,
    const void *x, void *y) {
  onesweep_pass<O>(n, pass, S(scratch, n), (const K *)x, (K *)y, (long long *)y);
}
]]

-- onesweep.h's
local COUNTED, PARTS = 8192, 64
local COUNTING = 1056 -- the most blocks that count, eight for each multiprocessor of an H100

-- onesweep_tile: the threads of a pass and the keys of a tile, by a key's bytes
local function tile_of(size, positions)
  local threads = positions and 512 or 384
  local items = size == 8 and (positions and 8 or 11) or size == 4 and (positions and 14 or 18) or 14
  return threads, threads * items
end

local kinds = { bool = "RADIX_UNSIGNED", uint = "RADIX_UNSIGNED", int = "RADIX_SIGNED", float = "RADIX_FLOAT" }
local made = {}

-- The names of the passes over keys of a size, in their order.
local function passes_of(size)
  local names = { size == 1 and "only" or "first" }
  for k = 2, size do names[k] = k == size and "last" or "next" end
  return names
end

-- The kernels for one way, "lines", "chunks" or "tiles", as a function of a device.
local function module_of(way, of, size, positions, descending, wide)
  local fields = { K = words[size], KIND = of.name == "bfloat16" and "RADIX_BFLOAT" or kinds[of.kind],
    DESCENDING = tostring(descending), POSITIONS = tostring(positions), TILES = "", HEADER = "radix_sort" }
  if way == "tiles" then
    local word = wide and "unsigned long long" or "unsigned"
    fields.HEADER, fields.TILES = "onesweep", tiles_head:format(word, fields.POSITIONS, fields.POSITIONS)
  end
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
  return kernels.module(table.concat(parts):gsub("%$(%u+)", fields), "sort")
end

local ways = { lines = 0, chunks = 8, tiles = 16 }

-- A device's kernels for one way. They are kept by numbers, which take less time to make than strings.
local function kernels_of(device, way, of, size, positions, descending, wide)
  local known = made[of]
  if not known then
    known = {}
    made[of] = known
  end
  local key = ways[way] + (positions and 4 or 0) + (descending and 2 or 0) + (wide and 1 or 0)
  local module = known[key]
  if not module then
    module = module_of(way, of, size, positions, descending, wide)
    known[key] = module
  end
  return module(device)
end

local cdiv = kernels.blocks

-- The arrays that passes over n keys of a size write alternately: keys, and positions if those are sorted too.
local function buffers(n, size, positions)
  local dtype, to, places = dtypes[size], {}, {}
  for k = 1, math.min(2, size - 1) do to[k] = raw.array_new(dtype, n) end
  for k = 1, positions and math.min(2, size - 1) or 0 do places[k] = raw.array_new("uint", n) end
  return to, places
end

local function report(k, size, n)
  if raw.progress and n >= settings.TOLD then
    raw.synchronize() -- passes are only queued
    raw.progress("sorting", k, size)
  end
end

-- Sort one line of n elements by chunks.
local function sort_chunks(m, site, x, n, size, positions, y)
  local chunk = math.max(16384, cdiv(n, 64))
  local blocks = cdiv(n, chunk)
  local counts = raw.array_new("uint", 256 * blocks)
  local to, places = buffers(n, size, positions)
  local launch, from, was = raw.kernel_run, nil, nil
  for k, name in ipairs(passes_of(size)) do
    local at, last, shift = (k - 1) % 2 + 1, k == size, 8 * (k - 1)
    local keys = not last and to[at] or not positions and y or nil
    launch(m["count_" .. name], site, blocks, 1, 1, 1, from or x, n, chunk, shift, counts)
    launch(m.scan, site, 1, 1, 1, 256, counts, 256 * blocks)
    launch(m["move_" .. name], site, blocks, 1, 1, 1, from or x, was, n, chunk, shift, counts, keys,
      not last and places[at] or nil, last and positions and y or nil)
    report(k, size, n)
    from, was = keys, places[at]
  end
  kernels.release(counts, to[1], to[2], places[1], places[2])
end

local function whole(bytes) return math.floor((bytes + 255) / 256) * 256 end

-- Sort one line of n elements by tiles. The kernels skip passes that would move nothing, so they choose the arrays.
local function sort_tiles(m, site, wide, x, n, size, positions, y)
  local threads, tile = tile_of(size, positions)
  local blocks, counting = cdiv(n, tile), cdiv(n, COUNTED)
  local zeros = whole(4 * (16 + 256 * size * (1 + blocks * (wide and 2 or 1))))
  local arrays, parts = math.min(2, size - 1), counting <= PARTS and 1024 * size * counting or 0
  local scratch = raw.array_beside(x, "uchar",
    zeros + parts + arrays * (whole(n * size) + (positions and whole(n * 4) or 0)))
  local launch, pass = raw.kernel_run, m.pass
  local joint = parts > 0 and kernels.joint(m, x, 0, 1)
  if joint then
    launch(m.begin, site, counting, 1, 1, 256, n, scratch, x, joint.done, joint.ticket)
  else
    scratch:sub(1, zeros):fill(0)
    launch(m.count, site, math.min(counting, COUNTING), 1, 1, 256, n, scratch, x)
    launch(m.bases, site, size, 1, 1, 256, n, scratch)
  end
  for k = 1, size do
    launch(pass, site, blocks, 1, 1, threads, n, k - 1, scratch, x, y)
    report(k, size, n)
  end
  kernels.release(scratch)
end

-- Sort the lines of x, which is contiguous with the axis last, into y. The device is in use.
local function sort_lines(device, x, count, n, of, positions, descending, y)
  local size = math.max(1, math.floor(of.bits / 8))
  local tiles = settings.tiles
  if tiles == nil then tiles = not kernels.is_cpu(device) end
  local long = not (n <= settings.ALONE and not (tiles and n > 4096 and count < 64))
  local wide = n >= settings.WIDE
  local way = not long and "lines" or tiles and "tiles" or "chunks"
  local m = kernels_of(device, way, of, size, positions, descending, wide)
  local site = raw.call_site(3) -- above this function and sorted
  if long and tiles and count == 1 then return sort_tiles(m, site, wide, x, n, size, positions, y) end
  local bits = raw.array_view(x, 0, dtypes[size], count * n)
  local target = positions and y or raw.array_view(y, 0, dtypes[size], count * n)
  if not long then
    local blocks = math.min(count, tiles and 65536 or 256)
    local keys = raw.array_new(dtypes[size], blocks * 2 * n)
    local places = raw.array_new("uint", positions and blocks * 2 * n or 1)
    raw.kernel_run(m.lines, site, blocks, 1, 1, 1, count, n, bits, keys, places, not positions and target or nil,
      positions and target or nil)
    kernels.release(keys, places)
    return
  end
  for line = 0, count - 1 do
    local from, to = bits, target
    if count > 1 then
      from, to = bits:sub(line * n + 1, (line + 1) * n), target:sub(line * n + 1, (line + 1) * n)
    end
    if tiles then
      sort_tiles(m, site, wide, from, n, size, positions, to)
    else
      sort_chunks(m, site, from, n, size, positions, to)
    end
  end
end

local NAMES = { "axis", "descending", "keys", "out" }

-- x sorted along an axis, as values or as positions.
local function sorted(what, x, options, positions)
  options = given.options(what, options, NAMES)
  local elements, device, is_contiguous, count, rank, size = raw.array_facts(x)
  local of = promotion.number(elements, what)
  local axis = views.axis(what, options.axis or -1, rank)
  local descending = options.descending or false
  if type(descending) ~= "boolean" then
    usage("%s: descending is true or false, got %s", what, raw.describe(descending))
  end
  local dtype = positions and "longlong" or elements
  local out = options.out and given.out(what, options.out, x, dtype, x.shape)
  if options.keys ~= nil then
    local all = x:argsort { axis = axis, descending = descending }
    local order = raw.part("array.order.segments").order(what, x, axis, options.keys, all)
    local y = positions and order or x:gather(axis, order)
    return out and out:assign(y) or y
  end
  if of.kind == "complex" then
    local order = raw.part("array.complex").order(x, axis, descending)
    local y = positions and order or x:gather(axis, order)
    return out and out:assign(y) or y
  end
  local moved = axis == rank and x or x:transpose(axis, rank)
  local from = is_contiguous and axis == rank and x or kernels.contiguous(moved)
  local shape = rank == 1 and size or moved.shape
  local y, n = raw.array_beside(x, dtype, shape), rank == 1 and size or shape[rank]
  if n >= 2 ^ 32 then usage("%s sorts up to 2^32 - 1 elements along an axis, got %d", what, n) end
  if count > 0 then kernels.on(device, sort_lines, device, from, count / n, n, of, positions, descending, y) end
  if axis ~= rank then y = y:transpose(axis, rank) end
  if out then return out:assign(y) end
  return axis == rank and y or y:contiguous()
end

---The elements in ascending order along an axis, NaN last; complex ones by their real parts, then by the others. With
---`keys`, one for each element along the axis, each run of equal keys is sorted by itself.
---@param options? integer|{ axis?: integer, descending?: boolean, keys?: moonwarp.keys, out?: moonwarp.array }
---or the axis; the last one by default
---@return moonwarp.array
function array:sort(options) return sorted("a:sort", self, options, false) end

---The positions of the elements of a:sort(options), counted from 1 along the axis; equal elements keep their order.
---@param options? integer|{ axis?: integer, descending?: boolean, keys?: moonwarp.keys, out?: moonwarp.array }
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
