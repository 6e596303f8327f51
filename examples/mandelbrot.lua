-- The Mandelbrot set: threads whose loops end at different times, and a picture in a file and in the terminal.

local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void mandelbrot(int width, int height, int most, unsigned char *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float cx = -2.2f + 3.2f * x / width, cy = -1.2f + 2.4f * y / height, zx = 0, zy = 0;
  int i = 0;
  for (; i < most && zx * zx + zy * zy < 4; i++) {
    float next = zx * zx - zy * zy + cx;
    zy = 2 * zx * zy + cy;
    zx = next;
  }
  out[y * width + x] = i == most ? 0 : 255 - 12 * (i % 20);
}
]==]

local width, height = 640, 480
local picture = mw.zeros(height, width, "uchar")
m.mandelbrot:each { width, height } (width, height, 200, picture)
local folder = (arg[0]:match("^(.*/)") or "./") .. "out"
os.execute(("mkdir -p '%s'"):format(folder))
mw.write_image(folder .. "/mandelbrot.pgm", picture)
picture:show()

print(picture:get(240, 400), picture:get(1, 1))       --> 0 243
