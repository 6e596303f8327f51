-- The colours of a photograph, reduced to k by k-means with array operations. The picture in k colours is written to
-- examples/out/kmeans_colours.png, beside its palette.
--   lua5.4 examples/arrays/kmeans_colours.lua [picture.ppm|png [k]]

local mw = require "moonwarp"
local examples = (arg[0]:match "^(.*/)" or "./") .. "../"

local photo = mw.read_image(arg[1] or examples .. "data/astronaut.ppm")
local height, width, k = photo.shape[1], photo.shape[2], tonumber(arg[2] or 8)
local pixels = photo[{ {}, {}, { 1, 3 } }]:reshape(-1, 3):to "float" -- without alpha
local n = #pixels

-- Each pixel's nearest centre, and the mean squared distance to it. As |p - c|^2 = |p|^2 - 2 p.c + |c|^2, all distances
-- come from one product of matrices.
local squares = (pixels * pixels):sum { axis = 2, keepdims = true }
local function assign(centres)
  local lengths = (centres * centres):sum { axis = 2 }
  local distances = squares - pixels:mm(centres:transpose()) * 2 + lengths
  return distances:argmin { axis = 2 }, distances:min { axis = 2 }:mean()
end

-- The means of the pixels that share a nearest centre; a centre without pixels stays where it is.
local function means(nearest, centres)
  local counts = nearest:bincount { minlength = k + 1 }:sub(2, k + 1):to("float"):expand(2) -- value v is at v + 1
  local rows = nearest:expand(2):broadcast_to { n, 3 }
  local sums = mw.zeros(k, 3):scatter_add(1, rows, pixels)
  return mw.where(counts:gt(0), sums / counts:maximum(1), centres)
end

-- The first centres are pixels of evenly spaced brightness.
local order = pixels:sum({ axis = 2 }):argsort()
local places = {}
for i = 1, k do places[i] = order[math.floor((i - 0.5) * n / k) + 1] end
local centres = pixels:take(places, { axis = 1 })

local nearest, first, before, loss
local falls = true
for step = 1, 50 do
  nearest, loss = assign(centres)
  first = first or loss
  falls = falls and (step == 1 or loss <= before * (1 + 1e-5)) -- but for rounding
  if step > 1 and before - loss < 1e-3 * before then break end
  before, centres = loss, means(nearest, centres)
end
print(("%d colours: mean squared error %.0f, at first %.0f"):format(k, loss, first))
--> 8 colours: mean squared error 788, at first 1424
print(falls)                                        --> true

-- The picture, and on its right the palette, brightest first.
local ranked = centres:take(centres:sum({ axis = 2 }):argsort { descending = true }, { axis = 1 })
local rows = (mw.arange(height, "int") * k / height):floor():to "int" + 1
local palette = ranked:take(rows, { axis = 1 }):expand(2):broadcast_to { height, math.floor(width / 8), 3 }
local picture = centres:take(nearest, { axis = 1 }):reshape(height, width, 3)
os.execute("mkdir -p '" .. examples .. "out'")
local result, path = (mw.concat({ picture, palette }, 2) + 0.5):floor():to "uchar", examples .. "out/kmeans_colours"
if not mw.try_write_image(path .. ".png", result) then -- built without libpng
  mw.write_image(path .. ".ppm", result)
end
