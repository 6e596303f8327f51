-- The heat equation on a grid of processes: each rank has a tile and a border of its neighbours' values (a halo), which
-- is exchanged before each step. The result is the same, bit by bit, on any number of ranks.
--   moonwarp run -n 4 examples/distributed/heat.lua [picture.png]

local mw = require "moonwarp"
local comm = mw.mpi.world()

local N, STEPS = 256, 400
local grid = comm:cartesian { 0, 0 }
local rows, columns = grid.dims[1], grid.dims[2]

-- The part of an axis of N cells that the i-th of n ranks has: its first cell, from 0, and how many.
local function part(i, n)
  local first = math.floor(N * i / n)
  return first, math.floor(N * (i + 1) / n) - first
end

local y0, height = part(grid.coordinates[1], rows)
local x0, width = part(grid.coordinates[2], columns)

local m = mw.compile [==[
__global__ void start(float *u, int height, int width, int y0, int x0, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float dx = (x + x0) / (float)n - 0.3f, dy = (y + y0) / (float)n - 0.4f;
  u[(y + 1) * (width + 2) + x + 1] = dx * dx + dy * dy < 0.02f ? 1 : 0;
}
__global__ void step(const float *u, float *v, int height, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int pitch = width + 2, i = (y + 1) * pitch + x + 1;
  v[i] = u[i] + 0.2f * (u[i - 1] + u[i + 1] + u[i - pitch] + u[i + pitch] - 4 * u[i]);
}
]==]

local u, v = mw.zeros { height + 2, width + 2 }, mw.zeros { height + 2, width + 2 }
local blocks = { mw.cdiv(width, 32), mw.cdiv(height, 8) }
m.start(blocks, { 32, 8 })(u, height, width, y0, x0, N)

-- The cells to send, and the halo, at each of the four sides: views, so nothing is copied by hand.
local function sides(a)
  local h, w = height, width
  return { a[{ 2, { 2, w + 1 } }], a[{ h + 1, { 2, w + 1 } }], a[{ { 2, h + 1 }, 2 }], a[{ { 2, h + 1 }, w + 1 }] },
    { a[{ 1, { 2, w + 1 } }], a[{ h + 2, { 2, w + 1 } }], a[{ { 2, h + 1 }, 1 }], a[{ { 2, h + 1 }, w + 2 }] }
end

for _ = 1, STEPS do
  grid:neighbour_alltoall(sides(u))
  m.step(blocks, { 32, 8 })(u, v, height, width)
  u, v = v, u
end

-- The whole field, on rank 0.
local tile = u[{ { 2, height + 1 }, { 2, width + 1 } }]
local tiles = grid:gather { y0, x0, tile:copy() }
if grid.rank == 0 then
  local field = mw.empty { N, N }
  for _, one in ipairs(tiles) do
    local y, x, a = one[1], one[2], one[3]
    field[{ { y + 1, y + a.shape[1] }, { x + 1, x + a.shape[2] } }] = a
  end
  print(("heat %.3f, hottest %.6f"):format(field:sum(), field:max()))   --> heat 4109.912, hottest 0.983256
  if arg and arg[1] then
    mw.write_image(arg[1], mw.map("(unsigned char)(255 * sqrtf(u))", { u = field }, { dtype = "uchar" }))
  end
end
