-- A photograph rotated and scaled by texture fetches, twice from one script: through a texture reference, as in
-- programs of 2008 (toolkits since CUDA 12 do not have them), and through a texture object, as today. The pictures are
-- written to examples/out/ and shown in the terminal; both must be equal, and a crop is checked against a plain Lua
-- loop.
--   lua5.4 examples/texture.lua [picture.ppm|png] [degrees] [scale]

local here = arg[0]:match("^(.*/)") or "./"
package.path = here .. "?.lua;" .. package.path
local mw = require "moonwarp"
local preview = require "support.preview"

local m = mw.compile [==[
// Where pixel (x, y) of the turned picture comes from, in coordinates from 0 to 1: guide 11.2, "texture memory".
__device__ float2 source_of(int x, int y, int width, int height, float theta, float scale) {
  float u = ((x + 0.5f) / width - 0.5f) / scale, v = ((y + 0.5f) / height - 0.5f) / scale;
  float c = cosf(theta), s = sinf(theta);
  return make_float2(u * c - v * s + 0.5f, v * c + u * s + 0.5f);
}
__device__ uchar4 to_bytes(float4 p) {
  return make_uchar4(p.x * 255 + 0.5f, p.y * 255 + 0.5f, p.z * 255 + 0.5f, p.w * 255 + 0.5f);
}

// 2008: the texture stands at file scope; what it reads, and how, is bound to it by the host.
texture<uchar4, 2, cudaReadModeNormalizedFloat> photo;

__global__ void turn_by_reference(uchar4 *out, int width, int height, float theta, float scale) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float2 at = source_of(x, y, width, height, theta, scale);
  out[y * width + x] = to_bytes(tex2D(photo, at.x, at.y));
}

// Today: the texture is an argument.
__global__ void turn_by_object(uchar4 *out, int width, int height, float theta, float scale,
                               cudaTextureObject_t image) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float2 at = source_of(x, y, width, height, theta, scale);
  out[y * width + x] = to_bytes(tex2D<float4>(image, at.x, at.y));
}
]==]

local degrees, scale = tonumber(arg[2]) or 30, tonumber(arg[3]) or 0.6
local theta = math.rad(degrees)

-- From the file to a texture of uchar4 in one line: repeated in all directions, read as floats from 0 to 1.
local texture = mw.texture(arg[1] or here .. "data/astronaut.ppm",
  { filter = "linear", address = "wrap", normalized = true, read = "normalized" })
local height, width = texture.memory.height, texture.memory.width
local first, second = mw.zeros(height, width, "uchar4"), mw.zeros(height, width, "uchar4")
local grid, block = { mw.cdiv(width, 16), mw.cdiv(height, 16) }, { 16, 16 }

m.photo = texture
m.turn_by_reference(grid, block)(first, width, height, theta, scale)
m.turn_by_object(grid, block)(second, width, height, theta, scale, texture)

if first:bytes() ~= second:bytes() then
  print "WRONG: the reference and the object give different pictures"
  os.exit(1)
end

-- ---- files and preview ----

os.execute("mkdir -p '" .. here .. "out'")
local original = texture.memory:array()
local function write(name, array)
  local path = here .. "out/" .. name .. ".png"
  if pcall(mw.write_image, path, array) then print("wrote " .. path) end -- fails if built without libpng
  return { title = name, width = width, height = height, channels = 4, bytes = array:bytes() }
end
local pictures = { { title = "photo", width = width, height = height, channels = 4, bytes = original:bytes() } }
pictures[2] = write("turned", first)
-- The same texture with other options, which take effect at the next launch.
texture.filter, texture.address = "point", "border"
m.turn_by_reference(grid, block)(second, width, height, theta, scale)
pictures[3] = write("turned_by_point", second)
preview.show(pictures)

-- ---- the same by a plain Lua loop, on a crop ----

local bytes = original:bytes()
local function pixel(x, y, channel) return bytes:byte((y % height * width + x % width) * 4 + channel) end

-- The arithmetic of the texture unit (CUDA guide, appendix "texture fetching"), with exact weights.
local function bilinear(u, v, channel)
  local x, y = u * width - 0.5, v * height - 0.5
  local i, j = math.floor(x), math.floor(y)
  local a, b = x - i, y - j
  return (1 - a) * (1 - b) * pixel(i, j, channel) + a * (1 - b) * pixel(i + 1, j, channel)
    + (1 - a) * b * pixel(i, j + 1, channel) + a * b * pixel(i + 1, j + 1, channel)
end

local worst, turned = 0, first:bytes()
for y = 0, 31 do
  for x = 0, 31 do
    local u, v = ((x + 0.5) / width - 0.5) / scale, ((y + 0.5) / height - 0.5) / scale
    local c, s = math.cos(theta), math.sin(theta)
    for channel = 1, 3 do
      local exact = bilinear(u * c - v * s + 0.5, v * c + u * s + 0.5, channel)
      worst = math.max(worst, math.abs(exact - turned:byte((y * width + x) * 4 + channel)))
    end
  end
end
-- Weights have 8 bits on every device: two weights, each off by at most 1/512 of up to 255; and a byte is rounded.
if worst > 1.5 then
  print(("WRONG: a plain Lua loop differs by %g of 255 on the crop"):format(worst))
  os.exit(1)
end
print(("checked: reference and object give the same picture; a plain Lua loop differs by at most %.1f of 255"):format(
  worst))
