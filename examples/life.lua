-- Conway's game of life: each generation is read through a texture, whose coordinates wrap round the edges, and written
-- through a surface over another array. The two arrays are swapped.
--   lua5.4 examples/life.lua [generations]

local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void step(cudaTextureObject_t now, cudaSurfaceObject_t next, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int neighbours = 0;
  for (int j = -1; j <= 1; j++)
    for (int i = -1; i <= 1; i++)
      if (i || j) neighbours += tex2D<unsigned char>(now, (x + i + 0.5f) / width, (y + j + 0.5f) / height);
  bool alive = tex2D<unsigned char>(now, (x + 0.5f) / width, (y + 0.5f) / height);
  alive = neighbours == 3 || (neighbours == 2 && alive);
  surf2Dwrite((unsigned char)alive, next, x, y);  // x counts bytes
}
]==]

local generations = tonumber(arg[1]) or 48
local glider = { { 0, 1, 0 }, { 0, 0, 1 }, { 1, 1, 1 } }
local width, height = 32, 12
local world = mw.zeros(height, width, "uchar")
for y, row in ipairs(glider) do
  for x, cell in ipairs(row) do world[y][x] = cell end
end

local arrays, textures, surfaces = {}, {}, {}
for i = 1, 2 do
  arrays[i] = mw.cuda_array(world)
  textures[i] = mw.texture(arrays[i], { address = "wrap", normalized = true })
  surfaces[i] = mw.surface(arrays[i])
end

local function show(array)
  for _, row in ipairs(array:totable()) do
    local line = {}
    for x, cell in ipairs(row) do line[x] = cell == 1 and "#" or "." end
    print(table.concat(line))
  end
end

local grid, block = { mw.cdiv(width, 16), mw.cdiv(height, 8) }, { 16, 8 }
for _ = 1, generations do
  m.step(grid, block)(textures[1], surfaces[2], width, height)
  arrays[1], arrays[2] = arrays[2], arrays[1]
  textures[1], textures[2] = textures[2], textures[1]
  surfaces[1], surfaces[2] = surfaces[2], surfaces[1]
end

-- A glider moves by one cell down and right in four generations: by 12 in 48, once round the height.
show(arrays[1])
--> .............#..................
--> ..............#.................
--> ............###.................
--> ................................
--> ................................
--> ................................
--> ................................
--> ................................
--> ................................
--> ................................
--> ................................
--> ................................
