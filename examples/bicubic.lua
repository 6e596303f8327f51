-- A picture enlarged by a bicubic filter with four bilinear fetches instead of sixteen fetches by point: the weights of
-- a cubic B-spline are all positive, so one bilinear fetch, at a position given by the ratio of their weights, reads
-- two neighbours. (Sigg and Hadwiger, "Fast third-order texture filtering", GPU Gems 2, chapter 20) The pictures are
-- written to examples/out/ and shown in the terminal; a crop is checked against sixteen fetches.
--   lua5.4 examples/bicubic.lua [picture.ppm|png]

local here = arg[0]:match("^(.*/)") or "./"
package.path = here .. "?.lua;" .. package.path
local mw = require "moonwarp"
local preview = require "support.preview"

local m = mw.compile [==[
texture<float, 2> image;

// Weights of the four neighbours on an axis, a from 0 to 1 between the middle ones.
__device__ float4 spline(float a) {
  float b = 1 - a;
  return make_float4(b * b * b, 4 - 3 * a * a * (2 - a), 4 - 3 * b * b * (2 - b), a * a * a);
}

// Per axis: the two weights (of the sum) and the two places to fetch at.
struct Pair { float g0, g1, h0, h1; };
__device__ Pair pair_of(float x) {
  x -= 0.5f;
  float i = floorf(x);
  float4 w = spline(x - i);
  Pair p = {(w.x + w.y) / 6, (w.z + w.w) / 6, i - 0.5f + w.y / (w.x + w.y), i + 1.5f + w.w / (w.z + w.w)};
  return p;
}
__device__ float by_four(float x, float y) {
  Pair h = pair_of(x), v = pair_of(y);
  return v.g0 * (h.g0 * tex2D(image, h.h0, v.h0) + h.g1 * tex2D(image, h.h1, v.h0)) +
         v.g1 * (h.g0 * tex2D(image, h.h0, v.h1) + h.g1 * tex2D(image, h.h1, v.h1));
}
__device__ float by_sixteen(float x, float y) {
  float i = floorf(x - 0.5f), j = floorf(y - 0.5f), sum = 0;
  float4 a = spline(x - 0.5f - i), b = spline(y - 0.5f - j);
  const float wx[] = {a.x, a.y, a.z, a.w}, wy[] = {b.x, b.y, b.z, b.w};
  for (int m = 0; m < 4; m++)
    for (int n = 0; n < 4; n++) sum += wy[m] * wx[n] * tex2D(image, i + n - 0.5f, j + m - 0.5f);
  return sum / 36;
}

enum { POINT_OR_LINEAR, FOUR, SIXTEEN };
template <int How> __global__ void enlarge(int width, int height, float left, float top, float step, float *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float u = left + (x + 0.5f) * step, v = top + (y + 0.5f) * step;
  out[y * width + x] = How == FOUR ? by_four(u, v) : How == SIXTEEN ? by_sixteen(u, v) : tex2D(image, u, v);
}
__global__ void to_bytes(int count, const float *in, unsigned char *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = (unsigned char)(fminf(fmaxf(in[i], 0.0f), 1.0f) * 255 + 0.5f);
}
]==]

-- 48 x 48 pixels of a grey float texture, read from the file, enlarged eight times.
m.image = mw.texture(arg[1] or here .. "data/astronaut.ppm", { dtype = "float", address = "clamp" })
local size = 384
local step = 48 / size
local left, top = m.image.memory.width * 0.40, m.image.memory.height * 0.12

local function enlarged(how, filter)
  local out = mw.zeros(size, size)
  m.image.filter = filter
  m["enlarge<" .. how .. ">"]({ size / 16, size / 16 }, { 16, 16 })(size, size, left, top, step, out)
  return out
end

local by_point, by_line = enlarged("POINT_OR_LINEAR", "point"), enlarged("POINT_OR_LINEAR", "linear")
local by_four, by_sixteen = enlarged("FOUR", "linear"), enlarged("SIXTEEN", "point")

os.execute("mkdir -p '" .. here .. "out'")
local function write(name, array)
  local bytes = mw.empty({ size, size }, "uchar")
  m.to_bytes:each(size * size)(size * size, array, bytes)
  local path = here .. "out/" .. name .. ".png"
  if pcall(mw.write_image, path, bytes) then print("wrote " .. path) end -- fails if built without libpng
  return { title = name, width = size, height = size, channels = 1, bytes = bytes:bytes() }
end
preview.show { write("nearest", by_point), write("bilinear", by_line), write("bicubic", by_four) }

-- The weights of bilinear fetches have 8 bits, so each is accurate to 1/512; fetches by point have no weights.
local worst, apart = 0, 0
local function values(array) return array:reshape(-1):totable() end
local four, sixteen, line = values(by_four), values(by_sixteen), values(by_line)
for i = 1, size * size do
  worst = math.max(worst, math.abs(four[i] - sixteen[i]))
  apart = math.max(apart, math.abs(line[i] - sixteen[i]))
end
if worst > 2 / 512 or apart < 4 * worst then
  print(("WRONG: four fetches differ by %g from sixteen"):format(worst))
  os.exit(1)
end
print(("checked: four bilinear fetches differ by at most %.4f from sixteen by point, bilinear alone by %.2f"):format(
  worst, apart))
