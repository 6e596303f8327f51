-- mw.tensor_map: arrays as tensors of which kernels copy boxes (cuTensorMapEncodeTiled) or pixels
-- (cuTensorMapEncodeIm2col).

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"

local M = {}

-- CUDA's numbers.
local types = {
  uchar = 0, ushort = 1, uint = 2, int = 3, ulonglong = 4, ulong = 4, longlong = 5, long = 5, half = 6, float = 7,
  double = 8, bfloat16 = 9, float_ftz = 10, tf32 = 11, tf32_ftz = 12,
}
local swizzles = { [0] = 0, [32] = 1, [64] = 2, [128] = 3 }
local interleaves = { [0] = 0, [16] = 1, [32] = 2 }
local promotions = { [0] = 0, [64] = 1, [128] = 2, [256] = 3 }
local fills = { zero = 0, nan = 1 }

local function choose(of, value, default, what)
  local number = of[value == nil and default or value]
  if not number then errors.usage("mw.tensor_map: %s is %s, which CUDA does not have", what, tostring(value)) end
  return number
end

-- Innermost first, five of them.
local function reversed(list, count, default, what)
  local out = {}
  for d = 1, count do out[d] = list and list[count + 1 - d] or default end
  if list and #list ~= count then
    errors.usage("mw.tensor_map: %s has %d sizes, and the array has %d dimensions", what, #list, count)
  end
  for d = count + 1, 5 do out[d] = 1 end
  return out
end

---@param array moonwarp.array
---@param options table as of mw.tensor_map
---@return string
function M.encode(array, options)
  local shape, strides = array.shape, array.strides
  local count = #shape
  local pixels = options.im2col
  if (options.box == nil) == (pixels == nil) then
    errors.usage "mw.tensor_map wants a box, { box = { rows, columns } }, or pixels, { im2col = { … } }"
  end
  if count > 5 then
    errors.usage("mw.tensor_map: the array has %d dimensions, and a tensor map has 5 at most", count)
  end
  local name = array.dtype
  local sizes, size = reversed(shape, count, 1, "the shape"), (raw.dtype_size(array.dtype))
  local numbers = { choose(types, options.type, name, "the type"), count }
  for d = 1, 5 do numbers[#numbers + 1] = sizes[d] end
  if strides[count] ~= size then errors.usage "mw.tensor_map: the elements of a row are not adjacent" end
  for d = 1, 4 do numbers[#numbers + 1] = d < count and strides[count - d] or 0 end
  local box, step = reversed(options.box, count, 1, "the box"), reversed(options.step, count, 1, "the step")
  if pixels then box[1], box[2] = pixels.channels or 0, pixels.pixels or 0 end
  for d = 1, 5 do numbers[#numbers + 1] = box[d] end
  for d = 1, 5 do numbers[#numbers + 1] = step[d] end
  numbers[#numbers + 1] = choose(interleaves, options.interleave, 0, "the interleave")
  numbers[#numbers + 1] = choose(swizzles, options.swizzle, 0, "the swizzle")
  numbers[#numbers + 1] = choose(promotions, options.promotion, 0, "the promotion")
  numbers[#numbers + 1] = choose(fills, options.fill, "zero", "the fill")
  numbers[#numbers + 1] = pixels and 1 or 0
  for _, corner in ipairs { "lower", "upper" } do
    local list = pixels and reversed(pixels[corner], count - 2, 0, "the corner") or {}
    for d = 1, 3 do numbers[#numbers + 1] = d <= count - 2 and list[d] or 0 end
  end
  return raw.tensor_map(array, numbers)
end

return M
