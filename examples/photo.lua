-- A photograph on the device: grey, blurred, edges. Each step is a CUDA C kernel in this file; the pictures are written
-- to examples/out/ and shown in the terminal, and a crop of each is checked against a plain Lua loop.
--   lua5.4 examples/photo.lua [picture.ppm|png]

local here = arg[0]:match("^(.*/)") or "./"
package.path = here .. "?.lua;" .. package.path
local mw = require "moonwarp"
local preview = require "support.preview"

local started = mw.time()
local m = mw.compile [==[
#define TILE 16
#define RADIUS 2

__constant__ float weights[2 * RADIUS + 1];

__device__ int clamp(int value, int high) { return min(max(value, 0), high); }

__global__ void grey(int count, const uchar3 *photo, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = 0.299f * photo[i].x + 0.587f * photo[i].y + 0.114f * photo[i].z;
}

// The block's threads fetch their tile and a margin around it into shared memory, wait for each other, and then read
// their 25 neighbours from there. Outside the picture counts its nearest pixel.
__global__ void blur(int width, int height, const float *in, float *out) {
  const int SIDE = TILE + 2 * RADIUS;
  __shared__ float tile[SIDE][SIDE];
  int left = blockIdx.x * TILE - RADIUS, top = blockIdx.y * TILE - RADIUS;
  for (int j = threadIdx.y; j < SIDE; j += TILE)
    for (int i = threadIdx.x; i < SIDE; i += TILE)
      tile[j][i] = in[clamp(top + j, height - 1) * width + clamp(left + i, width - 1)];
  __syncthreads();

  int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0;
  for (int j = 0; j <= 2 * RADIUS; j++)
    for (int i = 0; i <= 2 * RADIUS; i++) sum += weights[j] * weights[i] * tile[threadIdx.y + j][threadIdx.x + i];
  out[y * width + x] = sum;
}

// Sobel: how steep the brightness is, across and down.
__global__ void edges(int width, int height, const float *in, float *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float p[3][3];
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++) p[j][i] = in[clamp(y + j - 1, height - 1) * width + clamp(x + i - 1, width - 1)];
  float across = p[0][2] + 2 * p[1][2] + p[2][2] - p[0][0] - 2 * p[1][0] - p[2][0];
  float down = p[2][0] + 2 * p[2][1] + p[2][2] - p[0][0] - 2 * p[0][1] - p[0][2];
  out[y * width + x] = sqrtf(across * across + down * down);
}

__global__ void to_bytes(int count, const float *in, unsigned char *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = (unsigned char)fminf(in[i] + 0.5f, 255.0f);
}
]==]
print(("compiled in %.0f ms"):format((mw.time() - started) * 1e3))

-- ---- the pictures ----

local photo = mw.read_image(arg[1] or here .. "data/astronaut.ppm")
local height, width = photo.shape[1], photo.shape[2]
local count = width * height
local pixels = photo:as("uchar3")
local grey, blurred, steep = mw.zeros(height, width), mw.zeros(height, width), mw.zeros(height, width)

local weights = { 1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16 }
m.weights = weights

-- The best of five runs, in milliseconds.
local function timed(name, run)
  local best = math.huge
  for _ = 1, 5 do
    local start = mw.time()
    run()
    mw.synchronize()
    best = math.min(best, mw.time() - start)
  end
  print(("%-6s %8.3f ms"):format(name, best * 1e3))
end

local grid, block = { mw.cdiv(width, 16), mw.cdiv(height, 16) }, { 16, 16 }
print(("%d x %d pixels on %s"):format(width, height, mw.properties().name))
timed("grey", m.grey(mw.cdiv(count, 256), 256):bind(count, pixels, grey))
timed("blur", m.blur(grid, block):bind(width, height, grey, blurred))
timed("edges", m.edges(grid, block):bind(width, height, blurred, steep))

-- ---- files and preview ----

os.execute("mkdir -p '" .. here .. "out'")

local function write(name, array)
  local bytes = mw.empty({ height, width }, "uchar")
  m.to_bytes:each(count)(count, array, bytes)
  local path = here .. "out/" .. name .. ".png"
  if not pcall(mw.write_image, path, bytes) then -- fails if built without libpng
    path = here .. "out/" .. name .. ".pgm"
    mw.write_image(path, bytes)
  end
  print("wrote " .. path)
  return { title = name, width = width, height = height, channels = 1, bytes = bytes:bytes() }
end

write("grey", grey)
local pictures = { { title = "photo", width = width, height = height, channels = 3, bytes = photo:bytes() } }
pictures[2] = write("blur", blurred)
pictures[3] = write("edges", steep)
preview.show(pictures)

-- ---- the same by a plain Lua loop, on a crop ----

local function clamp(value, high) return math.max(0, math.min(value, high)) end

-- Functions of a pixel (x and y from 0), each based on the one before.
local rgb = photo:bytes()
local function plain_grey(x, y)
  local r, g, b = rgb:byte((y * width + x) * 3 + 1, (y * width + x) * 3 + 3)
  return 0.299 * r + 0.587 * g + 0.114 * b
end

local function plain_blur(x, y)
  local sum = 0
  for j = -2, 2 do
    for i = -2, 2 do
      sum = sum + weights[j + 3] * weights[i + 3] * plain_grey(clamp(x + i, width - 1), clamp(y + j, height - 1))
    end
  end
  return sum
end

local function plain_edges(x, y)
  local function p(i, j) return plain_blur(clamp(x + i, width - 1), clamp(y + j, height - 1)) end
  local across = p(1, -1) + 2 * p(1, 0) + p(1, 1) - p(-1, -1) - 2 * p(-1, 0) - p(-1, 1)
  local down = p(-1, 1) + 2 * p(0, 1) + p(1, 1) - p(-1, -1) - 2 * p(0, -1) - p(1, -1)
  return math.sqrt(across * across + down * down)
end

-- A crop at the left border, so that the pixels outside are checked too.
local crop = { x = 0, y = math.floor(height / 3), width = math.min(48, width), height = math.min(40, height) }
local function worst_difference(plain, array)
  local rows, worst = array:totable(), 0
  for y = crop.y, crop.y + crop.height - 1 do
    for x = crop.x, crop.x + crop.width - 1 do
      worst = math.max(worst, math.abs(plain(x, y) - rows[y + 1][x + 1]))
    end
  end
  return worst
end

local worst = math.max(
  worst_difference(plain_grey, grey), worst_difference(plain_blur, blurred), worst_difference(plain_edges, steep))
if worst > 0.01 then
  print(("WRONG: a plain Lua loop differs by %g on the crop"):format(worst))
  os.exit(1)
end
print(("checked: a plain Lua loop gives the same on a crop of %d x %d pixels (difference at most %.1e)"):format(
  crop.width, crop.height, worst))
