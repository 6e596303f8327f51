-- Module objects: compiling and loading them, and finding what is in them by name.
--
-- A module's state caches its kernel and symbol objects by name: m.saxpy is one look-up from the second time on.
-- Methods of the class come before names of the source, so there are few.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local errors = require "moonwarp.ffi.error"
local device = require "moonwarp.ffi.device"
local collect = require "moonwarp.ffi.garbage_collection"
local symbol = require "moonwarp.ffi.module.symbol"
local kernel = require "moonwarp.ffi.module.kernel"
require "moonwarp.ffi.module.launch" -- which makes launches of kernels callable

local methods = class.methods.module
local meta = class.proxy_meta "module"

local function push_module(where, handle)
  return class.proxy("module", { handle = ffi.gc(handle, C.mw_module_release), device = where, names = {} }, meta)
end

local function check(self, what) return class.state(errors.check(self, "module", what)) end

-- Pass the compiler's warnings to the script once: when the module is made, and when an instance added some.
local function tell_warnings(state)
  local log = C.mw_module_log(state.handle)
  if log == state.told then return end
  if log[0] ~= 0 then errors.tell_warnings(ffi.string(log)) end
  state.told = log
end

-- ---- compiling ----

-- The strings of a list as a C array, which points into the list's strings: keep the list.
local function string_list(list, name)
  if type(list) ~= "table" then return ffi.new "const char *[1]", 0 end
  local out = ffi.new("const char *[?]", #list + 1)
  for i = 1, #list do
    if type(list[i]) ~= "string" then errors.usage("%s[%d] is not a string", name, i) end
    out[i - 1] = list[i]
  end
  return out, #list
end

local function header_list(headers)
  local names = {}
  for name, text in pairs(type(headers) == "table" and headers or {}) do
    if type(name) ~= "string" or type(text) ~= "string" then
      errors.refuse "headers"
    end
    names[#names + 1] = name
  end
  local out = ffi.new("mw_header[?]", #names + 1)
  for i, name in ipairs(names) do out[i - 1].name, out[i - 1].text = name, headers[name] end
  return out, #names
end

-- compile(text, {file =, line =, options = {…}, headers = {name = text}}) -> module
local function compile(text, spec)
  local options, option_count = string_list(spec.options, "options")
  local headers, header_count = header_list(spec.headers)
  local source = ffi.new "mw_source"
  source.text, source.length = text, #text
  if type(spec.file) == "string" then source.file = spec.file end
  source.line = spec.line or 0
  source.options, source.option_count = options, option_count
  source.headers, source.header_count = headers, header_count
  local where, out = device.current(), ffi.new "mw_module *[1]"
  errors.must(collect.retry(where, function() return C.mw_module_compile(where._handle, source, out) end))
  -- Up to here the strings had to live: the source points to them.
  local module = push_module(where, out[0])
  tell_warnings(class.state(module))
  return module, text, spec, options, headers
end

-- source_read(path) -> the text of a file to be compiled
local function source_read(path)
  local out, length = ffi.new "char *[1]", ffi.new "size_t[1]"
  errors.must(C.mw_source_text_read(path, out, length))
  local kept = ffi.gc(out[0], C.mw_source_text_release)
  return ffi.string(kept, length[0])
end

-- load(path) -> module
local function load(path)
  local where, out = device.current(), ffi.new "mw_module *[1]"
  errors.must(C.mw_module_load(where._handle, path, out))
  local module = push_module(where, out[0])
  class.state(module).told = C.mw_module_log(out[0]) -- its warnings were shown when it was compiled
  return module
end

-- ---- names ----

-- The object called by a name, from the state or, the first time, from the module. Symbols first: asking for a kernel
-- that is not there may start a compilation.
local function find(self, name)
  local state = class.state(self)
  local known = state.names[name]
  if known then return known end
  local object = symbol.push(self, name)
  if not object then
    object = kernel.push(self, name)
    tell_warnings(state)
  end
  state.names[name] = object
  return object
end

local function check_name(name)
  if type(name) ~= "string" then errors.refuse("name", name) end
end

function meta.__index(self, name)
  local method = methods[name]
  if method ~= nil then return method end
  check_name(name)
  local object = find(self, name)
  if class.is(object, "symbol") then return symbol.get(object) end
  return object
end

function meta.__newindex(self, name, value)
  check_name(name)
  local object = find(self, name)
  if not class.is(object, "symbol") then errors.refuse("assigned_kernel", name) end
  symbol.set(object, value)
end

local function by_name(what, other)
  return function(self, name)
    check(self, what)
    check_name(name)
    local object = find(self, name)
    if not class.is(object, what) then errors.usage("'%s' is a %s, not a %s", name, other, what) end
    return object
  end
end
methods.kernel = by_name("kernel", "symbol")
methods.symbol = by_name("symbol", "kernel")

local function list(handle, name_of)
  local names = {}
  while true do
    local name = name_of(handle, #names)
    if name == nil then return names end
    names[#names + 1] = ffi.string(name)
  end
end

-- m:names() -> kernels, symbols: two sequences of names
function methods.names(self)
  local handle = check(self, "names").handle
  return list(handle, C.mw_module_kernel_name), list(handle, C.mw_module_symbol_name)
end

-- ---- the rest ----

function methods.save(self, path)
  errors.must(C.mw_module_save(check(self, "save").handle, path))
  return self
end

function methods.log(self) return ffi.string(C.mw_module_log(check(self, "log").handle)) end

return {
  raw = {
    compile = function(text, spec) return (compile(text, spec)) end,
    source_read = source_read,
    load = load,
    -- What this process has spent compiling.
    compile_seconds = function() return C.mw_compile_seconds() end,
  },
}
