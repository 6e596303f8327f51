local case = require "moonwarp.learn.case"
local mw = require "moonwarp"

-- Whether the result is what fetches at other places give: `place` of x and of y, perhaps in the wrong order.
local function fetches(f, place, swapped)
  return f:is(function(i)
    local x, y = i % (2 * f.case.w), math.floor(i / (2 * f.case.w))
    if swapped then x, y = y, x end
    return f.case.between(place(x) - 0.5, place(y) - 0.5)
  end)
end

return {
  title = "A texture lookup",
  idea = [===[
A texture is memory that is read at any place, also between its elements: the
hardware fetches the four texels around it and weighs them. The middle of the
first texel is at 0.5, and not at 0.

    x        0       1       2       3
             |   A   |   B   |   C   |          texels
                 .       .       .
                0.5     1.5     2.5             here a fetch gives A, B, C alone
                     ^
                    1.0                         half A, half B

Outside the texels at the edge go on: the address mode is "clamp".

An image is to be magnified by two. The middle of output pixel x is at x +
0.5; in the smaller image that is at half of it.

Task: out, with 2 * w columns and 2 * h rows, becomes the magnified image.
tex2D<float>(image, x, y) is the fetch.]===],
  file = [===[
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void magnify(float *out, cudaTextureObject_t image, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 2 * w && y < 2 * h) {
    // where in the image is the middle of this pixel?
  }
}
]==]

local function launch(w, h)
  return { mw.cdiv(2 * w, 16), mw.cdiv(2 * h, 8) }, { 16, 8 }
end

return { kernel = m.magnify, launch = launch }
]===],
  hints = {
    "The middle of pixel x is x + 0.5 in the large image, and half of that in the small one.",
    "A row of out has 2 * w elements. Write 0.5f: 0.5 is a double in C.",
    "out[y * 2 * w + x] = tex2D<float>(image, (x + 0.5f) / 2, (y + 0.5f) / 2);",
  },
  sizes = { { 4, 3 }, { 1, 1 }, { 3, 7 }, { 17, 9 } },
  race = { 3, 7 },
  make = function(size)
    local w, h = size[1], size[2]
    local a, rows = case.numbers(w * h, 31), {}
    for i = 1, w * h do a[i] = 16 * a[i] end -- the weights are sixteenths
    for y = 1, h do
      rows[y] = {}
      for x = 1, w do rows[y][x] = a[(y - 1) * w + x] end
    end
    local out = case.unwritten(4 * w * h)
    local function at(x, y)
      return rows[math.max(0, math.min(h - 1, y)) + 1][math.max(0, math.min(w - 1, x)) + 1]
    end
    local function between(x, y) -- at the texels' middles x and y are whole
      local left, top = math.floor(x), math.floor(y)
      local u, v = x - left, y - top
      return (1 - v) * ((1 - u) * at(left, top) + u * at(left + 1, top)) +
        v * ((1 - u) * at(left, top + 1) + u * at(left + 1, top + 1))
    end
    local image = mw.texture(rows, { filter = "linear", address = "clamp" })
    return { launch = { w, h }, args = { out, image, w, h }, out = out,
      inputs = {}, w = w, h = h, between = between,
      want = case.list(4 * w * h, function(i)
        local x, y = i % (2 * w), math.floor(i / (2 * w))
        return between((x + 0.5) / 2 - 0.5, (y + 0.5) / 2 - 0.5)
      end),
      place = function(i) return ("out at x = %d, y = %d"):format(i % (2 * w), math.floor(i / (2 * w))) end }
  end,
  mistakes = {
    { when = function(f) return fetches(f, function(x) return x / 2 end) end,
      hint = "the image is shifted: the middle of pixel x is at x + 0.5, before it is halved" },
    { when = function(f) return fetches(f, function(x) return math.floor(x / 2) end) end,
      hint = "x / 2 of an int is an int: the halves are lost, write 0.5f or 2.0f" },
    { when = function(f) return fetches(f, function(x) return math.floor(x / 2) + 0.5 end) end,
      hint = "x / 2 of an int is an int: the halves are lost, and each texel is only repeated" },
    { when = function(f) return fetches(f, function(x) return x / 2 + 0.5 end) end,
      hint = "the half belongs to the large pixel: add 0.5 before the division, and not after it" },
    { when = function(f) return fetches(f, function(x) return x + 0.5 end) end,
      hint = "nothing is magnified: the place in the small image is half of that in the large one" },
    { when = function(f) return fetches(f, function(x) return (x + 0.5) / 2 end, true) end,
      hint = "x and y have changed places in the fetch: x comes first" },
    { when = function(f) return f:has "y*w+x" or f:has "y*2*h+x" end, hint = "a row of out has 2 * w elements" },
    { when = function(f) return f:is(function() return case.UNWRITTEN end) end, hint = "out was not written yet" },
  },
  figures = function(figures)
    return { ("%g writes, and no read but the texture's fetches: one a pixel instead of four"):format(figures.writes) }
  end,
}
