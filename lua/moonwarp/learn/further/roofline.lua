local case = require "moonwarp.learn.case"

local PEAK, BANDWIDTH = 12000, 2000 -- of the lesson's machine: Gflop/s, GB/s

local function close(a, b) return type(a) == "number" and math.abs(a - b) < 1e-6 * b end

-- A function of the file that gives something else than a formula, for some x of a list; nil if it is right.
local function differs(f, xs, formula)
  for _, x in ipairs(xs) do
    local ok, got = pcall(f, x)
    if not ok or not close(got, formula(x)) then return x, got, formula(x) end
  end
end

local function intensity(tile) return tile / 4 end
local function attainable(x) return math.min(PEAK, x * BANDWIDTH) end

local function explain_intensity(f, tile, got, wanted)
  local what = ("intensity(%d) is %s and should be %g"):format(tile, tostring(got), wanted)
  if close(got, tile) then return what, "that counts elements: a float has 4 bytes" end
  if close(got, wanted / 2) then return what, "a multiplication and an addition are two operations" end
  if close(got, 2 * wanted) then return what, "two tiles are fetched in each round, one of a and one of b" end
  if close(f(2 * tile), got) then
    return what, "it has to depend on the tile: more threads use each element of a larger one"
  end
  return what, "in a round a block does 2 * tile^3 operations and fetches 2 * tile^2 floats"
end

local function explain_attainable(f, x, got, wanted)
  local what = ("attainable(%g) is %s Gflop/s and should be %g"):format(x, tostring(got), wanted)
  if close(f(12), 12 * BANDWIDTH) and close(f(2), PEAK) then
    return what, "both roofs hold at once: the lower one decides"
  end
  if close(got, x * BANDWIDTH) then
    return what, "the other roof is missing: no machine computes faster than its peak"
  end
  if close(got, PEAK) then
    return what, "the sloping roof is missing: memory delivers data for intensity * BANDWIDTH operations"
  end
  return what, "memory allows intensity * BANDWIDTH, the arithmetic PEAK; the lower of the two holds"
end

-- The roof in characters, with a mark at an intensity: x from 1/2 to 32, doubling.
local function drawn(x)
  local lines = {}
  for row = 5, 1, -1 do
    local cells, level = {}, PEAK / 2 ^ (5 - row)
    for column = 0, 24 do
      local at = 0.5 * 2 ^ (column / 4)
      local roof = attainable(at)
      local on = roof <= level * 2 ^ 0.5 and roof > level * 2 ^ -0.5
      cells[column + 1] = math.abs(math.log(at / x)) < 0.09 and roof >= level * 2 ^ -0.5 and "|" or on and "o" or " "
    end
    lines[#lines + 1] = ("%6.0f Gflop/s %s"):format(level, table.concat(cells):gsub("%s+$", ""))
  end
  lines[#lines + 1] = "               0.5 1   2   4   8   16  32 flop/byte"
  return lines
end

return {
  title = "The roofline of a matrix product",
  idea = [===[
A kernel can be no faster than the arithmetic of its machine, and no faster
than memory delivers. Which of the two holds depends on its intensity: how
many operations it does for each byte that it fetches from global memory.

    Gflop/s            ____________  PEAK
                     /
                   /                 the roof: the lower of PEAK and
                 /                   intensity * BANDWIDTH
               /
             0.5   1   2   4   6   8   16    flop/byte
                               ridge: PEAK / BANDWIDTH

The matrix product of lesson 14 fetches two tiles of tile x tile floats in
each round, 4 bytes each. Each of the block's tile x tile threads then does
tile multiplications and tile additions.

Task: write down intensity(tile), and attainable(intensity) in Gflop/s, for a
machine with 12000 Gflop/s and 2000 GB/s. Then choose a TILE with which its
arithmetic is the limit. A block has 1024 threads at most.]===],
  file = [===[
local mw = require "moonwarp"

local TILE = 8
local PEAK, BANDWIDTH = 12000, 2000          -- Gflop/s, GB/s

local function intensity(tile)               -- operations for each byte fetched
  return 0
end

local function attainable(x)                 -- Gflop/s at intensity x
  return 0
end

local m = mw.compile { options = { "-DTILE=" .. TILE }, source = [==[
__global__ void product(float *out, const float *a, const float *b, int n) {
  __shared__ float ta[TILE][TILE], tb[TILE][TILE];
  int tx = threadIdx.x, ty = threadIdx.y;
  int x = blockIdx.x * TILE + tx, y = blockIdx.y * TILE + ty;
  float sum = 0;
  for (int first = 0; first < n; first += TILE) {
    ta[ty][tx] = y < n && first + tx < n ? a[y * n + first + tx] : 0;
    tb[ty][tx] = first + ty < n && x < n ? b[(first + ty) * n + x] : 0;
    __syncthreads();
    for (int k = 0; k < TILE; k++) sum += ta[ty][k] * tb[k][tx];
    __syncthreads();
  }
  if (x < n && y < n) out[y * n + x] = sum;
}
]==] }

local function launch(n)
  local blocks = mw.cdiv(n, TILE)
  return { blocks, blocks }, { TILE, TILE }
end

return { kernel = m.product, launch = launch, intensity = intensity, attainable = attainable }
]===],
  hints = {
    "A round: 2 * tile operations in each of tile * tile threads, and 2 * tile * tile floats of 4 bytes.",
    "The roof is math.min of two numbers. The ridge is where they are equal, at 6 flop/byte.",
    "intensity(tile) = tile / 4;  attainable(x) = math.min(PEAK, x * BANDWIDTH);  TILE = 32",
  },
  sizes = { 8, 3, 33 },
  race = 33,
  counting = 64,
  make = function(n)
    local a, b = case.numbers(n * n, 29), case.numbers(n * n, 30)
    local x, y, out = case.array(a), case.array(b), case.unwritten(n * n)
    return { launch = { n }, args = { out, x, y, n }, out = out, a = a, n = n,
      inputs = { { name = "a", array = x }, { name = "b", array = y } },
      want = case.list(n * n, function(i)
        local row, column, sum = math.floor(i / n), i % n, 0
        for k = 0, n - 1 do sum = sum + a[row * n + k + 1] * b[k * n + column + 1] end
        return sum
      end),
      place = function(i) return ("out in row %d, column %d"):format(math.floor(i / n), i % n) end }
  end,
  mistakes = {
    { when = function(f) return f.error ~= nil end,
      hint = "a block of TILE x TILE threads has 1024 at most: TILE is 32 at most" },
  },
  program = function(f)
    local given = f.answer.given
    if type(given.intensity) ~= "function" or type(given.attainable) ~= "function" then
      return "the file does not return intensity and attainable", "leave its last line as it was"
    end
    local tile, got, wanted = differs(given.intensity, { 8, 16, 32 }, intensity)
    if tile then return explain_intensity(given.intensity, tile, got, wanted) end
    tile, got, wanted = differs(given.attainable, { 12, 2, 6, 0.5 }, attainable)
    if tile then return explain_attainable(given.attainable, tile, got, wanted) end
    tile = f.block[1]
    if intensity(tile) < PEAK / BANDWIDTH then
      local x = intensity(tile)
      return ("TILE is %d: %g flop/byte, and %g Gflop/s of %d"):format(tile, x, attainable(x), PEAK),
        "that is left of the ridge, where memory is the limit: a larger tile has more operations for each byte"
    end
  end,
  counts = function(figures)
    local measured = figures.flops / figures.global_load_bytes
    if measured < PEAK / BANDWIDTH then
      return ("%.3g flop/byte were measured, and the ridge is at %g"):format(measured, PEAK / BANDWIDTH),
        "the kernel fetches more than its tiles: what is used often has to come from ta and tb"
    end
  end,
  figures = function(figures)
    local measured = figures.flops / figures.global_load_bytes
    local lines = drawn(measured)
    table.insert(lines, 1, ("%g flops for %g bytes: %.3g flop/byte"):format(figures.flops, figures.global_load_bytes,
      measured))
    return lines
  end,
}
