-- The fetches of spec/data/texture, one configuration after the other, and moonwarp's answer to them.

local mw = require "moonwarp"

local M = {}

local FOLDER = "spec/data/texture/"
local SAMPLES = 256

local function read(name)
  local file = assert(io.open(FOLDER .. name, "rb"))
  local bytes = file:read("*a")
  file:close()
  return bytes
end

local FIELDS = { "kind", "format", "width", "height", "depth", "address", "filter", "normalized", "read", "texels_at",
  "texels_size", "coordinates_at", "results_at" }

local function parse(line)
  local c, n = {}, 0
  for word in line:gmatch("%S+") do
    n = n + 1
    c[FIELDS[n]] = tonumber(word) or word
  end
  assert(n == #FIELDS, "a line of the index has fields of its own")
  c.normalized = c.normalized == 1
  return c
end

-- What a fetch returns: "float4" for four channels of normalized integers, the texels' own type for elements.
local function result_type(c)
  local element, channels = c.format:match("^(%a+)(%d?)$")
  if c.read == "normalized" or element == "half" then element = "float" end
  return element .. (c.kind == "gather" and "4" or channels), element,
    c.kind == "gather" and 4 or tonumber(channels) or 1
end

---@return table[] configurations, each with its texels, coordinates and results as bytes
function M.configurations()
  local list, data = {}, read("data.bin")
  for line in read("index.txt"):gmatch("[^\n]+") do
    local c = parse(line)
    local channels
    c.result, c.element, channels = result_type(c)
    c.texels = data:sub(c.texels_at + 1, c.texels_at + c.texels_size)
    c.coordinates = data:sub(c.coordinates_at + 1, c.coordinates_at + SAMPLES * 16)
    c.results = data:sub(c.results_at + 1, c.results_at + SAMPLES * channels * 4)
    c.name = ("%s %s read as %s, %s, %s, coordinates %s"):format(c.kind, c.format, c.read, c.filter, c.address,
      c.normalized and "normalized" or "in texels")
    list[#list + 1] = c
  end
  return list
end

-- ---- moonwarp's answer ----

local FETCHES = {
  ["1d"] = "tex1D<T>(t, at.x)",
  ["2d"] = "tex2D<T>(t, at.x, at.y)",
  ["3d"] = "tex3D<T>(t, at.x, at.y, at.z)",
  ["1dlayered"] = "tex1DLayered<T>(t, at.x, (int)at.w)",
  ["2dlayered"] = "tex2DLayered<T>(t, at.x, at.y, (int)at.w)",
  cubemap = "texCubemap<T>(t, at.x, at.y, at.z)",
  pitch2d = "tex2D<T>(t, at.x, at.y)",
  gather = "tex2Dgather<T>(t, at.x, at.y)",
  fetch = "tex1Dfetch<T>(t, (int)at.x)",
}

local function source()
  local lines = {}
  for kind, fetch in pairs(FETCHES) do
    lines[#lines + 1] = ([[template <class T>
    __global__ void fetch_%s(cudaTextureObject_t t, const float4 *points, T *out) {
      float4 at = points[threadIdx.x];
      out[threadIdx.x] = %s;
    }]]):format(kind, fetch)
  end
  table.sort(lines)
  return table.concat(lines, "\n")
end

local module

local function kernel_of(c)
  module = module or mw.compile(source())
  return module[("fetch_%s<%s>"):format(c.kind, c.result)]
end

local function memory_of(c)
  if c.kind == "fetch" then return mw.from_bytes(c.texels, c.format) end
  if c.kind == "pitch2d" then
    local pitched = mw.pitched(c.height, c.width, c.format)
    mw.copy_region(pitched, mw.from_bytes(c.texels, c.format):reshape(c.height, c.width))
    return pitched
  end
  local layered, cube = c.kind:match("layered"), c.kind == "cubemap"
  return mw.cuda_array(c.texels, {
    kind = c.kind == "gather" and "2d" or c.kind, dtype = c.format, width = c.width, height = c.height,
    depth = not layered and not cube and c.depth or nil, layers = layered and c.depth or nil,
  })
end

---Fetch all samples of a configuration on the current device.
---@return moonwarp.array results, of scalars
---@return moonwarp.kernel
function M.fetch(c)
  local options = { filter = c.filter, address = c.address, normalized = c.normalized, read = c.read }
  if c.kind == "fetch" then options = { read = c.read } end
  local texture = mw.texture(memory_of(c), options)
  local out, kernel = mw.zeros(SAMPLES, c.result), kernel_of(c)
  kernel(1, SAMPLES)(texture, mw.from_bytes(c.coordinates, "float4"), out)
  return out:as(c.element), kernel
end

---What the hardware returned, as an array of scalars of floats.
function M.expected(c) return mw.from_bytes(c.results, "float") end

return M
