-- Mipmapped arrays under CUDA's names: moonwarp's CUDA arrays of several levels. Textures read all levels; each level
-- is an array for copies and surfaces.

local raw = require "moonwarp.binding"
local result = require "moonwarp.runtime.result"
local channels = require "moonwarp.runtime.texel_types"
local cuda_array = require "moonwarp.runtime.cuda_array"

local fail, api = result.fail, result.api
local M = {}

local Mipmap = {}
Mipmap.__index = Mipmap

function Mipmap:free() self.array:free() end

function Mipmap:__tostring()
  return self.array.freed and "mipmapped array (freed)" or "mipmapped " .. tostring(self.array)
end

function M.is(value) return getmetatable(value) == Mipmap end

function M.check(value)
  if not M.is(value) or value.array.freed then
    fail("cudaErrorInvalidValue", "this is not a mipmapped array, or it was freed")
  end
  return value
end

---Allocate an array with the wanted number of levels, or as many as its size allows.
function M.new(dtype, width, height, depth, flags, levels)
  if type(levels) ~= "number" or levels < 0 or levels % 1 ~= 0 then
    fail("cudaErrorInvalidValue", "the number of levels is a whole number, got %s", tostring(levels))
  end
  local layered = (flags or 0) % 2 == 1 or (flags or 0) % 8 >= 4
  local size, most = math.max(width or 0, height or 0, layered and 0 or depth or 0), 1
  while size >= 2 do size, most = math.floor(size / 2), most + 1 end
  levels = math.max(1, math.min(levels, most))
  return setmetatable({ array = cuda_array.new(dtype, width, height, depth, flags, levels), levels = {} }, Mipmap)
end

---Register an array that was made elsewhere.
function M.adopt(array) return setmetatable({ array = array, levels = {} }, Mipmap) end

---Level `level`, from 0, as an array; always the same object.
function M.level(mipmap, level)
  M.check(mipmap)
  if type(level) ~= "number" or level < 0 or level % 1 ~= 0 then
    fail("cudaErrorInvalidValue", "a level is a whole number from 0 on, got %s", tostring(level))
  end
  if not mipmap.levels[level] then
    mipmap.levels[level] = cuda_array.keep_flags(raw.cuda_array_level(mipmap.array, level), mipmap.array)
  end
  return mipmap.levels[level]
end

---@param rt table
function M.install(rt)
  rt.cudaMallocMipmappedArray = api(function(desc, extent, levels, flags)
    if type(extent) ~= "table" then fail("cudaErrorInvalidValue", "cudaMallocMipmappedArray wants an extent") end
    return M.new(channels.dtype(desc), extent.width, extent.height, extent.depth, flags, levels)
  end)
  rt.cudaGetMipmappedArrayLevel = api(M.level)
  rt.cudaFreeMipmappedArray = api(function(mipmap)
    if mipmap ~= nil then M.check(mipmap):free() end
  end)
end

return M
