-- Makes the pictures of docs/use/random.md, of points that generators give, and prints the discrepancies it mentions:
--   lua5.4 docs/use/pictures/random.lua [FOLDER]
-- In each picture a generator to avoid is on the left, and one to use instead on the right.

local mw = require "moonwarp"

local folder = arg[1] or "docs/use/pictures"
local SIDE, GAP = 240, 8

local m = mw.compile [[
// n numbers of RANDU, x = 65539 x mod 2^31, of IBM's library in the 1960s.
__global__ void randu(int n, unsigned x, float *out) {
  for (int i = 0; i < n; i++) {
    x = 65539u * x & 0x7fffffffu;
    out[i] = x * 0x1p-31f;
  }
}
// Numbers `skip` to `skip + n` of a congruential generator whose seed is the thread's number.
__global__ void seeded_by_thread(int skip, int n, float *out) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < skip; i++) x = 1664525u * x + 1013904223u;
  for (int i = 0; i < n; i++) {
    x = 1664525u * x + 1013904223u;
    out[(blockIdx.x * blockDim.x + threadIdx.x) * n + i] = x * 0x1p-32f;
  }
}
// A dark dot for each point of the unit square, from column `left` on.
__global__ void plot(int n, const float *x, const float *y, int side, int left, int width, unsigned char *pixels) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int column = min(side - 1, (int)(x[i] * side)), row = min(side - 1, (int)((1 - y[i]) * side));
  pixels[row * width + left + column] = 0;
}
]]

local function picture(name, ...)
  local width = 2 * SIDE + GAP
  local pixels = mw.full({ SIDE, width }, 255, "uchar")
  pixels[{ {}, { SIDE + 1, SIDE + GAP } }] = 200
  for side, points in ipairs { ... } do
    local n = points.x.count
    m.plot:each(n)(n, points.x, points.y, SIDE, (side - 1) * (SIDE + GAP), width, pixels)
  end
  mw.write_image(folder .. "/" .. name, pixels)
end

-- Points of three successive numbers, seen from where 9x - 6y + z is to the right, between -6 and 10, and y upwards.
local function planes(numbers)
  local points = numbers:reshape(-1, 3)
  local x, y, z = points[{ {}, 1 }], points[{ {}, 2 }], points[{ {}, 3 }]
  return { x = ((x * 9 - y * 6 + z + 6) / 16):contiguous(), y = y:contiguous() }
end

local POINTS = 6000
local randu = mw.zeros(3 * POINTS)
m.randu(1, 1)(3 * POINTS, 1, randu)
picture("planes.png", planes(randu), planes(mw.random(1):uniform(3 * POINTS)))

-- The third numbers of neighbouring threads.
local threads = 4096
local third = mw.zeros(threads)
m.seeded_by_thread(threads / 128, 128)(2, 1, third)
local function neighbours(numbers)
  local n = numbers.count
  return { x = numbers:sub(1, n - 1):contiguous(), y = numbers:sub(2, n):contiguous() }
end
local subsequences = mw.random(1, "xorwow"):uniform(3 * threads):sub(2 * threads + 1, 3 * threads)
picture("neighbours.png", neighbours(third), neighbours(subsequences))

-- The square root of the mean, over rectangles from (0, 0), of the squared difference between the area and the share
-- of the points in it. (Warnock, 1972)
local function discrepancy(points)
  local x, y, n = points.x:totable(), points.y:totable(), points.x.count
  local single, double = 0, 0
  for i = 1, n do
    single = single + (1 - x[i] ^ 2) * (1 - y[i] ^ 2)
    for j = 1, n do double = double + (1 - math.max(x[i], x[j])) * (1 - math.max(y[i], y[j])) end
  end
  return math.sqrt(1 / 9 - single / (2 * n) + double / n ^ 2)
end

local COUNT = 1024
local random = mw.random(1):uniform { 2, COUNT }
local sobol = mw.random(1, "sobol32", { dimensions = 2 }):uniform { 2, COUNT }
local function pairs_of(a) return { x = a[{ 1, {} }]:contiguous(), y = a[{ 2, {} }]:contiguous() } end
picture("discrepancy.png", pairs_of(random), pairs_of(sobol))
print(("discrepancy of %d points: philox %.5f, sobol32 %.5f"):format(COUNT, discrepancy(pairs_of(random)),
  discrepancy(pairs_of(sobol))))
