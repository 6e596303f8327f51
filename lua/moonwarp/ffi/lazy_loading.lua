-- Files of the binding that are read on demand, when one of their functions is first called: reading all of them is
-- most of the work of `require "moonwarp"`, and many scripts never make a graph or a texture.
--
-- A state has one set of the binding's objects and ctypes (ffi.lua), even if a script has cleared package.loaded or
-- package.path: a file read late finds the modules of the first time, and is searched in the folder of this one.

local class = require "moonwarp.ffi.class"

local M = {}

local PREFIX = "moonwarp.ffi."
local root = debug.getinfo(1, "S").source:match "^@(.*)moonwarp/ffi/lazy_loading%.lua$"
local known = {} -- the binding's modules, by name
local put_off = {} -- names of files that have not been read

local function note()
  for name, module in pairs(package.loaded) do
    if type(name) == "string" and name:sub(1, #PREFIX) == PREFIX then known[name] = module end
  end
end

---A file of this folder, read now if it was not yet.
---@param name string
---@return table
function M.part(name)
  if known[PREFIX .. name] then return known[PREFIX .. name] end
  for key, module in pairs(known) do package.loaded[key] = module end
  local path = package.path
  if root then package.path = root .. "?.lua;" .. path end
  local ok, part = pcall(require, PREFIX .. name)
  package.path = path
  if not ok then error(part, 0) end
  note()
  if M.added then M.added() end
  return part
end

---Put functions that read a file of this folder first in place of those that it has.
---@param raw table the raw table
---@param name string
---@param functions string[] names in the raw table
---@param methods? table<string, string[]> class -> names of methods that objects of other files have from this one
function M.put_off(raw, name, functions, methods)
  put_off[#put_off + 1] = name
  for _, key in ipairs(functions) do
    local call -- the function itself, once it is there
    local function first(...)
      if not call then
        call = M.part(name).raw[key]
        if raw[key] == first then raw[key] = call end -- unless it was replaced or wrapped meanwhile
      end
      return call(...)
    end
    raw[key] = first
  end
  for of, names in pairs(methods or {}) do
    local list = class.methods[of]
    for _, key in ipairs(names) do
      list[key] = function(...)
        M.part(name)
        return list[key](...)
      end
    end
  end
end

---Remember the files read so far as this state's.
M.settle = note

---Read all files that have not been read.
function M.all()
  for _, name in ipairs(put_off) do M.part(name) end
end

return M
