-- Error objects: the core's failures and the binding's own, as tables with the metatable raw.error. Their fields are
-- listed in src/lua/error.c; what they look like as text is the Lua layer's.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"

local M = { vector = { set = nil } } -- vector.set: makes a vector value; vector.lua fills it

local Error = {}
local own = "\0" -- sources whose names begin so are the Lua layer's: errors do not point into them

-- ---- where the script is ----

-- The innermost function that is the script's: its level as the caller's debug functions count, and what is known of
-- it. C functions have no line.
local function find_caller()
  local level = 2
  while true do
    local info = debug.getinfo(level, "fSl")
    if not info then return nil end
    if info.currentline > 0 and info.source:sub(1, #own) ~= own then return level - 1, info end
    level = level + 1
  end
end

-- A chunk's name as a person would write it: short_src cuts long paths off.
local function source_name(info)
  return info.source:sub(1, 1) == "@" and info.source:sub(2) or info.short_src
end

-- A script's function -> line -> "script.lua:12"; false for a function of the Lua layer. Getting a function and its
-- line takes 10 % of the time of getting its source.
local sites = setmetatable({}, { __mode = "k" })

-- The site of a function that runs at a line; nil if that is not the script's.
local function site_at(at)
  local lines = sites[at.func]
  local site = lines and lines[at.currentline]
  if site or lines == false or at.currentline <= 0 then return site or nil end
  local info = debug.getinfo(at.func, "S")
  if info.source:sub(1, #own) == own then
    sites[at.func] = false
    return nil
  end
  lines = lines or {}
  sites[at.func] = lines
  site = source_name(info) .. ":" .. at.currentline
  lines[at.currentline] = site
  return site
end

---"script.lua:12" of a caller, for the error messages of a launch; nil if there is none.
---@param level? integer the first level that may be the script's, as the caller counts
---@return string?
function M.site(level)
  level = (level or 1) + 1
  local at = debug.getinfo(level, "fl")
  while at do
    local site = site_at(at)
    if site then return site end
    level = level + 1
    at = debug.getinfo(level, "fl")
  end
  return nil
end

-- ---- raising ----

local function raise(err)
  setmetatable(err, Error)
  local level, info = find_caller()
  if info then
    err.where = source_name(info) .. ":" .. info.currentline
    -- Misuse is reported at the script's line. For other kinds, file and line are those of device code, or absent.
    if err.kind == "usage" and err.file == nil then
      err.file = source_name(info)
      err.line = info.currentline
    end
  end
  err.traceback = debug.traceback("", level or 1):gsub("^\n", "")
  error(err, 0)
end

local function text(pointer)
  if pointer == nil then return nil end
  return ffi.string(pointer)
end

local function positive(number) return number > 0 and number or nil end

local function index(words) return M.vector.set { tonumber(words[0]), tonumber(words[1]), tonumber(words[2]) } end

---Raise the thread's last failure as an error object, as another kind of failure than its code says if `kind` is given.
---@param kind? string
function M.raise(kind)
  -- The slot's strings live until the thread's next failure, and a finalizer could cause one.
  local running = collectgarbage("isrunning")
  collectgarbage("stop")
  local last = C.mw_error_last()
  local err
  if last ~= nil then
    err = {
      kind = kind or text(last.kind), code = text(last.name), message = text(last.message), file = text(last.file),
      line = positive(last.line), column = positive(last.column), kernel = text(last.kernel), log = text(last.log),
      block = last.has_block ~= 0 and index(last.block) or nil,
      thread = last.has_thread ~= 0 and index(last.thread) or nil,
    }
  else
    err = { kind = "device", code = "cudaErrorUnknown", message = "the library failed without saying why" }
  end
  if running then collectgarbage("restart") end
  raise(err)
end

---Raise misuse with a message as it is, about the kernel of that name.
---@param message string
---@param kernel? string
function M.misuse(message, kernel)
  raise { kind = "usage", code = "cudaErrorInvalidValue", message = message, kernel = kernel }
end

---Raise misuse.
---@param format string
---@param ... any for its placeholders
function M.usage(format, ...) M.misuse(format:format(...)) end

local refusals -- f(name, …): the sentence by which the Lua layer (check/refusals.lua) refuses values

---That sentence.
---@param name string what was wanted
---@param ... any
---@return string
function M.sentence(name, ...) return refusals(name, ...) end

---Raise it as misuse.
---@param name string
---@param ... any
function M.refuse(name, ...) M.misuse(refusals(name, ...)) end

---Raise unless a result is MW_SUCCESS.
---@param code integer
function M.must(code)
  if code ~= 0 then M.raise() end
end

-- ---- describing values ----

local function article(name) return name:find "^[aeiou]" and "an" or "a" end

local function describe_string(value)
  if #value <= 24 and not value:find("[%z\n]") then return ('the string "%s"'):format(value) end
  return ("a string of %d bytes"):format(#value)
end

---What a value is, in a message: "a table", "the number 3", "an array of float".
---@param value any
---@return string
function M.describe(value)
  local kind = type(value)
  if kind == "nil" then return "nil" end
  if kind == "boolean" then return tostring(value) end
  if kind == "number" then return ("the number %.14g"):format(value) end
  if kind == "string" then return describe_string(value) end
  if class.is(value, "array") then
    if value._handle == nil then return "an array that was closed" end
    return "an array of " .. M.dtype_name(value._type)
  end
  local name = class.type(value)
  if name then return article(name) .. " " .. name end
  if kind == "cdata" then
    if ffi.istype("int64_t", value) or ffi.istype("uint64_t", value) then
      return "the number " .. tostring(value):gsub("U?LL$", "")
    end
  end
  return "a " .. kind
end

---The object, or a usage error: "`what` wants an array, got a table".
---@param value any
---@param name string a class
---@param what string
---@return any
function M.check(value, name, what)
  if class.is(value, name) then return value end
  return M.usage("%s wants %s %s, got %s", what, article(name), name, M.describe(value))
end

---Raise that an object is no longer there: "indexing: this array was closed".
function M.closed(what, noun) M.usage("%s: this %s was closed", what, noun) end

---The same of an object with a handle, which must still be there; `noun` is its name where that is not its class's.
function M.check_open(value, name, what, noun)
  M.check(value, name, what)
  if value._handle == nil then M.closed(what, noun or name) end
  return value
end

-- ---- compilers' warnings ----

local warned -- the function that gets warnings

---Tell the Lua layer what a compiler said.
---@param log string
function M.tell_warnings(log)
  if warned then warned(log) end
end

---Tell the Lua layer of a launch of a kernel that was configured at `site` and never made. For finalizers: never
---raises.
---@param kernel string
---@param site string
function M.tell_unused(kernel, site)
  if warned then pcall(warned, nil, kernel, site) end
end

-- ---- the raw table ----

M.raw = {
  error = Error,
  -- Sources whose names begin with `prefix` are the Lua layer's.
  own = function(prefix)
    own, sites = prefix, setmetatable({}, { __mode = "k" })
  end,
  -- What the Lua layer finds wrong, raised as the rest is.
  raise = raise,
  -- Whether the function that raised err has not been left yet. Only PUC Lua's interpreter makes one ask (error.lua).
  raising = function() return false end,
  -- f(log) is called when a compiler had something to say.
  on_warnings = function(f) warned = f end,
  -- f(name, …) returns the sentence by which values are refused.
  on_refusal = function(f) refusals = f end,
  -- What a value is, in a message.
  describe = M.describe,
  -- Source and line of the script's function that is running, or nil.
  caller = function()
    local _, info = find_caller()
    if info then return info.source, info.currentline end
    return nil
  end,
}

return M
