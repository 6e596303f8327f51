-- Textures and surfaces: memory with sampling options, which are given as words.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local arguments = require "moonwarp.check.arguments"
local memory = require "moonwarp.texture.texture_memory"

local usage = errors.usage
local M = {}

-- The words for the numbers in mw_texture_desc.
local address_modes = { wrap = 0, clamp = 1, mirror = 2, border = 3 }
local filters = { point = 0, linear = 1 }
local reads = { auto = 0, element = 1, normalized = 2 }
local order = { address = { "wrap", "clamp", "mirror", "border" }, filter = { "point", "linear" },
  read = { "element", "normalized" } }
order.mip_filter = order.filter

local function word_of(numbers, wanted)
  for word, number in pairs(numbers) do
    if number == wanted then return word end
  end
end

local function number_of(numbers, word, name)
  local number = numbers[word]
  if number == nil then
    local value = type(word) == "string" and "'" .. word .. "'" or tostring(word)
    usage("a texture's %s is \"%s\", got %s", name, table.concat(order[name], '", "'), value)
  end
  return number
end

-- ---- options: conversion from words to the description and back ----

local known = {}

local function word_option(name, numbers)
  known[name] = {
    set = function(desc, value) desc[name] = number_of(numbers, value, name) end,
    get = function(desc) return word_of(numbers, desc[name]) end,
  }
end

local function flag_option(name)
  known[name] = {
    set = function(desc, value)
      if type(value) ~= "boolean" then usage("a texture's %s is true or false, got %s", name, tostring(value)) end
      desc[name] = value
    end,
    get = function(desc) return desc[name] end,
  }
end

local function number_option(name)
  known[name] = {
    set = function(desc, value)
      if type(value) ~= "number" then usage("a texture's %s is a number, got %s", name, tostring(value)) end
      desc[name] = value
    end,
    get = function(desc) return desc[name] end,
  }
end

word_option("filter", filters)
word_option("mip_filter", filters)
word_option("read", reads)
for _, name in ipairs { "normalized", "srgb", "seamless" } do flag_option(name) end
for _, name in ipairs { "lod_bias", "lod_min", "lod_max", "max_anisotropy" } do number_option(name) end

-- One word for all axes, or one for each: {"wrap", "clamp"}.
known.address = {
  set = function(desc, value)
    local list = type(value) == "table" and value or { value, value, value }
    if #list < 1 or #list > 3 then usage("a texture's address has one word, or a word for each of up to three axes") end
    desc.address = {}
    for i = 1, 3 do desc.address[i] = number_of(address_modes, list[i] or list[#list], "address") end
  end,
  get = function(desc)
    local list = {}
    for i = 1, 3 do list[i] = word_of(address_modes, desc.address[i]) end
    if list[1] == list[2] and list[2] == list[3] then return list[1] end
    return list
  end,
}

-- A number for all components, or up to four.
known.border = {
  set = function(desc, value)
    local list = type(value) == "table" and value or { value, value, value, value }
    desc.border = {}
    for i = 1, 4 do
      desc.border[i] = list[i] or 0
      if type(desc.border[i]) ~= "number" then usage("a texture's border is a number, or up to four of them") end
    end
  end,
  get = function(desc) return desc.border end,
}

local function find_option(name)
  if known[name] then return known[name] end
  local names = {}
  for word in pairs(known) do names[#names + 1] = word end
  table.sort(names)
  return arguments.no_option("a texture", name, names)
end

-- The defaults of the guides' texture references; of a mipmap all levels are read.
local function describe(given)
  local desc = {
    address = { 1, 1, 1 }, filter = 0, read = 0, normalized = false, srgb = false, seamless = false,
    border = { 0, 0, 0, 0 }, mip_filter = 0, lod_bias = 0, lod_min = 0, lod_max = 1000, max_anisotropy = 0,
  }
  for name, value in pairs(given) do
    if name ~= "dtype" then find_option(name).set(desc, value) end
  end
  return desc
end

-- ---- memory ----

-- Reinterpret {height, width, channels} of scalars, as mw.read_image returns it, as {height, width} of vectors.
local function texels_of(array)
  local shape = array.shape
  local channels = shape[3]
  if #shape ~= 3 or raw.type(array) ~= "array" then return array end
  local _, components = raw.dtype_size(array.dtype)
  if components > 0 then return array end
  if channels == 3 then
    usage("texels have 1, 2 or 4 channels, and this array has 3: read pictures with mw.texture(path) or "
      .. "mw.read_image(path, \"uchar4\")")
  end
  if channels ~= 1 and channels ~= 2 and channels ~= 4 then return array end
  local dtype = channels == 1 and array.dtype or array.dtype .. channels
  return raw.array_view(array, 0, dtype, { shape[1], shape[2] })
end

local function open_memory(value, given)
  if type(value) == "string" then
    local picture = raw.image_read(value)
    return memory.cuda_array(raw.image_texels(picture, given.dtype or (#picture.shape == 2 and "uchar" or "uchar4")))
  end
  if given.dtype then usage("mw.texture: dtype is only for a picture's path; memory has a dtype of its own") end
  if type(value) == "table" then return memory.cuda_array(value) end
  return raw.type(value) == "array" and texels_of(value) or value
end

---A texture: memory that kernels read with filtering and addressing options, through a reference (m.img = texture), or
---as a cudaTextureObject_t argument. It retains the memory. Its options can be read and, except read and srgb, assigned
---(texture.filter = "linear"), which takes effect at the next launch.
---@param source moonwarp.array|moonwarp.pitched|moonwarp.cuda_array|table|string linear memory (an array of one
---dimension, for tex1Dfetch), two-dimensional memory, a CUDA array; or a nested table of floats or the path of a
---picture, which become a CUDA array (a picture's dtype: "uchar4", "uchar", "float", "float4")
---@param options? { filter?: "point"|"linear", address?: string|string[], normalized?: boolean,
---read?: "element"|"normalized", border?: number|number[], srgb?: boolean, seamless?: boolean,
---mip_filter?: "point"|"linear", lod_bias?: number, lod_min?: number, lod_max?: number, max_anisotropy?: integer,
---dtype?: string } defaults: filter "point", address "clamp", coordinates in texels, elements as the reference declares
---them
---@return moonwarp.texture
function M.texture(source, options)
  local given = options or {}
  local desc = describe(given)
  return raw.texture_new(open_memory(source, given), desc)
end

---A surface: a CUDA array that kernels read and write, through a reference or as a cudaSurfaceObject_t argument.
---@param array moonwarp.cuda_array
---@param options? { level?: integer } the level of a mipmap, from 1
---@return moonwarp.surface
function M.surface(array, options)
  local level = options and options.level or 1
  if level < 1 then usage("a surface's level is a whole number from 1 on, got %s", tostring(level)) end
  return raw.surface_new(array, level - 1)
end

-- ---- methods ----

local texture, facts = raw.classes.texture, raw.properties.texture

for name, option in pairs(known) do
  facts[name] = function(self) return option.get(self:describe()) end
end

function texture:__newindex(name, value)
  local desc = self:describe()
  find_option(name).set(desc, value)
  self:configure(desc)
end

function raw.classes.surface:__newindex(name) -- luacheck: ignore 212
  usage("a surface has no options, so '%s' cannot be assigned", tostring(name))
end

local function kind_of(object)
  local source = object.memory
  return source and tostring(source):match("^[^\n]*") or "memory"
end

function texture:__tostring()
  if self.freed then return "texture (freed)" end
  return ("texture, filter %s, over %s"):format(self.filter, kind_of(self))
end

function raw.classes.surface:__tostring()
  if self.freed then return "surface (freed)" end
  return ("surface over %s"):format(kind_of(self))
end

return M
