-- OpenGL for specs, without a window: Mesa's software renderer, where it is installed.
--   local gl = require "support.gl"
--   if not gl.open "gl" then pending(gl.why) end      "gl", or "es" for OpenGL ES: this thread's current context now
--   gl.call("glBindBuffer", 0x8892, name)             numbers, strings for their bytes, false for NULL
--   local result, bytes = gl.fetch(16, "glGetBufferSubData", 0x8892, 0, 16, true)   true: 16 bytes to write to
--   gl.name "glGenBuffers"                            a new object's name
--   gl.current(false)                                 no context is current

local M = {}

local library = assert(os.getenv "MOONWARP_HOME") .. "/test/libgl.so"

local function load(name) return assert(package.loadlib(library, "gl_" .. name)) end

local opened

---@param kind string "gl" or "es"
---@return boolean
function M.open(kind)
  local ok, why = load "open"(kind)
  opened, M.why = ok == true, why and "no OpenGL context: " .. why
  return opened
end

---A context that is current no more bothers nobody.
function M.current(on)
  if opened then load "current"(on and 1 or 0) end
end

function M.fetch(bytes, name, ...) return load "call"(bytes, name, ...) end

function M.call(name, ...) return (M.fetch(0, name, ...)) end

function M.name(generator) return (string.unpack("I4", (select(2, M.fetch(4, generator, 1, true))))) end

function M.integer(name) return (string.unpack("i4", (select(2, M.fetch(64, "glGetIntegerv", name, true))))) end

---The first error since the last time, 0 for none.
function M.error() return M.call "glGetError" end

---busted's `it` for what needs a context, which is current for that time only: pending where there is none.
function M.spec(it, pending)
  return function(text, f)
    it(text, function()
      if opened == nil then M.open "gl" end
      if not opened then return pending(M.why) end
      M.current(true)
      local worked, err = pcall(f)
      local left = M.error()
      M.current(false)
      if not worked then error(err, 0) end
      assert(left == 0, ("OpenGL's error 0x%x is left"):format(left))
    end)
  end
end

---A texture whose levels (of its parts) are given as
---{ part, level, internal, width, height, depth, format, type, bytes }; bytes stand row by row without gaps.
function M.texture(target, levels)
  local UNPACK_ALIGNMENT = 0x0cf5
  local name = M.name "glGenTextures"
  M.call("glPixelStorei", UNPACK_ALIGNMENT, 1)
  M.call("glBindTexture", target, name)
  for _, l in ipairs(levels) do
    if l[6] then
      M.call("glTexImage3D", l[1], l[2], l[3], l[4], l[5], l[6], 0, l[7], l[8], l[9])
    else
      M.call("glTexImage2D", l[1], l[2], l[3], l[4], l[5], 0, l[7], l[8], l[9])
    end
  end
  M.call("glBindTexture", target, 0)
  M.call("glPixelStorei", UNPACK_ALIGNMENT, 4)
  assert(M.error() == 0)
  return name
end

local ARRAY_BUFFER = 0x8892

---A buffer with these bytes.
function M.buffer(bytes)
  local name = M.name "glGenBuffers"
  M.call("glBindBuffer", ARRAY_BUFFER, name)
  M.call("glBufferData", ARRAY_BUFFER, #bytes, bytes, 0x88e4)
  M.call("glBindBuffer", ARRAY_BUFFER, 0)
  return name
end

---What is in it.
function M.bytes(buffer, count)
  M.call("glBindBuffer", ARRAY_BUFFER, buffer)
  local _, bytes = M.fetch(count, "glGetBufferSubData", ARRAY_BUFFER, 0, count, true)
  M.call("glBindBuffer", ARRAY_BUFFER, 0)
  return bytes
end

return M
