-- OpenGL buffers and images of the context that is current in this thread: kernels use their memory while they are
-- mapped.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"

local M = {}

local access_flags = { ["read-write"] = 0, read = 1, write = 2 }
local targets = {
  ["2d"] = 0x0de1, ["3d"] = 0x806f, rectangle = 0x84f5, cubemap = 0x8513, ["2dlayered"] = 0x8c1a, renderbuffer = 0x8d41,
}

-- The OpenGL names and flags, by resource.
local options_of = setmetatable({}, { __mode = "k" })

local function choose(given, known, what)
  if known[given] then return known[given] end
  local names = {}
  for name in pairs(known) do names[#names + 1] = '"' .. name .. '"' end
  table.sort(names)
  errors.usage("%s is one of %s, got %s", what, table.concat(names, ", "), tostring(given))
end

local function flags_of(options)
  return choose(options.access or "read-write", access_flags, "the access to a resource")
end

---An OpenGL buffer for kernels, by its name from glGenBuffers. Its context must be current now and whenever it is
---mapped or unmapped. On an NVIDIA GPU the driver shares the memory if it can; otherwise the mapped memory is a copy.
---@param name integer
---@param options? { dtype?: moonwarp.dtype, access?: "read-write"|"read"|"write" } the element type (float); what
---kernels do with it: of one that is read nothing is taken back, one that is written is written whole
---@return moonwarp.graphics
function M.gl_buffer(name, options)
  options = options or {}
  local buffer = raw.graphics_buffer(name, flags_of(options))
  options_of[buffer] = { dtype = options.dtype or "float" }
  return buffer
end

---An OpenGL texture or renderbuffer for kernels; see mw.gl_buffer. Its texels have one, two or four channels of 8,
---16 or 32 bits (GL_RGBA8, GL_R32F, …).
---@param name integer
---@param target? string|integer "2d" (the default), "3d", "cubemap", "2dlayered", "rectangle", "renderbuffer", or
---OpenGL's number
---@param options? { access?: "read-write"|"read"|"write" }
---@return moonwarp.graphics
function M.gl_image(name, target, options)
  if type(target) ~= "number" then target = choose(target or "2d", targets, "an image's target") end
  local image = raw.graphics_image(name, target, flags_of(options or {}))
  options_of[image] = { image = true }
  return image
end

-- ---- resources ----

local graphics = raw.classes.graphics

local function stream_of(stream) return stream or raw.stream_default(false) end

---Map it for kernels: earlier OpenGL commands are done before later work in the stream. OpenGL must not use it until it
---is unmapped.
---@param stream? moonwarp.stream the default one where absent
---@return moonwarp.array|moonwarp.graphics of a buffer its memory as an array, of an image itself
function graphics:map(stream)
  raw.graphics_map(stream_of(stream), { self })
  local options = options_of[self] or {}
  if options.image then return self end
  local address, bytes = self:pointer()
  local dtype = options.dtype or "float"
  return raw.memory_array(address, dtype, math.floor(bytes / raw.dtype_size(dtype)))
end

---Unmap it for OpenGL after the work in the stream. Arrays of it are freed.
---@param stream? moonwarp.stream
---@return moonwarp.graphics self
function graphics:unmap(stream)
  raw.graphics_unmap(stream_of(stream), { self })
  return self
end

---A part of a mapped image as a CUDA array, for textures, surfaces and copies. Row 1 is OpenGL's first, the lowest.
---@param layer? integer of an array's layers, or of a cubemap's faces (+x -x +y -y +z -z), from 1
---@param level? integer of a mipmap, from 1
---@return moonwarp.cuda_array
function graphics:part(layer, level) return self:array((layer or 1) - 1, (level or 1) - 1) end

function graphics:__tostring()
  local ok, mapped = pcall(function() return self.mapped end)
  if not ok then return "OpenGL's (unregistered)" end
  local noun = (options_of[self] or {}).image and "image" or "buffer"
  return ("OpenGL's %s%s"):format(noun, mapped and ", mapped" or "")
end

return M
