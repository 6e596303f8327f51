-- Launches: a configuration called with arguments, and bound ones called with none.
--
-- The kernel's one launch object serves every plain launch; it forgets its arguments afterwards and so keeps nothing
-- alive. A bound launch is written for the compiler: a loop that calls it becomes machine code with a call of
-- mw_launch_run in it (spec/lua/jit_spec.lua).

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local errors = require "moonwarp.ffi.error"
local value = require "moonwarp.ffi.convert.value"
local device = require "moonwarp.ffi.device"
local streams = require "moonwarp.ffi.stream"
local kernel = require "moonwarp.ffi.module.kernel"

-- ---- arguments ----

local MAX_SCALAR = value.FLOAT -- kinds up to here are numbers

local function refuse_count(info, given)
  return errors.sentence("arguments", kernel.signature(info), tonumber(info.param_count), given)
end

-- Through the value conversion: structs, vectors, 64-bit integers, and whatever is a mistake.
local function set_value(launch, info, i, given, where)
  local param = info.params[i]
  local size, name = tonumber(param.type.size), ffi.string(param.name)
  local what = ("parameter %d%s of %s"):format(i + 1, name ~= "" and " '" .. name .. "'" or "", ffi.string(info.name))
  local bytes = ffi.new("uint8_t[?]", size)
  local ok, why = value.pack(given, param.type, value.bytes(bytes), value.place(nil, what),
    { device = where, launch = launch })
  if not ok then return nil, why end
  return C.mw_launch_bytes(launch, i, bytes, size)
end

-- A result code, or nil and a sentence.
local function set_argument(launch, info, i, given, where)
  local kind, is = value.kind(info.params[i].type), type(given)
  if kind <= MAX_SCALAR then
    local bits = is == "number" and given < 0 and kind == value.UINT and info.params[i].type.size == 8
    if is == "number" and not bits then return C.mw_launch_number(launch, i, given) end
    -- Not those whose bits are another number as the other kind of 64-bit integer.
    if value.is_int64(given) and ffi.cast("int64_t", given) >= 0 then
      return C.mw_launch_int64(launch, i, given)
    end
  end
  if kind == value.POINTER then
    local memory = class.memory(given)
    if memory and memory._handle ~= nil then return C.mw_launch_array(launch, i, memory._handle) end
    if is == "nil" then return C.mw_launch_address(launch, i, 0) end
  end
  local texture = is == "userdata" and class.texture(given)
  if texture then return C.mw_launch_texture(launch, i, texture.handle) end
  return set_value(launch, info, i, given, where)
end

-- Set all arguments: a result code, or nil and a sentence.
local function set_arguments(launch, info, where, given, ...)
  if given ~= tonumber(info.param_count) then return nil, refuse_count(info, given) end
  for i = 1, given do
    local code, why = set_argument(launch, info, i - 1, (select(i, ...)), where)
    if code ~= 0 then return code, why end
  end
  return 0
end

-- The same, generated for the parameters of one kernel. Plain launches call it, so that loops of them are compiled: a
-- function that walks the signature would be a loop within the loop, which LuaJIT does not compile. Numbers and arrays
-- go directly to the library, all other values through set_argument.
local function write_setter(info)
  local count, names, lines = tonumber(info.param_count), {}, {}
  if count > 100 then return set_arguments end -- of one function's 200 local variables
  for i = 0, count - 1 do
    local kind, name, quick = value.kind(info.params[i].type), "a" .. i, nil
    if kind <= MAX_SCALAR then
      quick = ('type(%s) == "number"'):format(name) .. (kind == value.UINT and (" and %s >= 0"):format(name) or "")
      quick = ("if %s then code = C.mw_launch_number(launch, %d, %s) else "):format(quick, i, name)
    elseif kind == value.POINTER then
      quick = "if istype(array, %s) and %s._handle ~= nil then code = C.mw_launch_array(launch, %d, %s._handle) else "
      quick = quick:format(name, name, i, name)
    end
    names[#names + 1] = ", " .. name
    lines[#lines + 1] = ("%scode, why = set_argument(launch, info, %d, %s, where)%s"):format(quick or "", i, name,
      quick and " end" or "")
    lines[#lines + 1] = "if code ~= 0 then return code, why end"
  end
  return loadstring(([[
    local C, istype, array, type, set_argument, refuse_count = ...
    return function(launch, info, where, given%s)
      if given ~= %d then return nil, refuse_count(info, given) end
      local code, why
      %s
      return 0
    end]]):format(table.concat(names), count, table.concat(lines, "\n")), "=launch")(
    C, ffi.istype, class.ctype "array", type, set_argument, refuse_count)
end

local function setter_of(of)
  of.set = write_setter(of.info)
  return of.set
end

-- ---- configured launches ----

local function check(self)
  local state = class.state(errors.check(self, "launch", "a launch"))
  state.used = true -- called, bound, or a field was read
  return state
end

-- k(grid, block) without the second call launches nothing. That the call is missing is known when the object is
-- collected.
function kernel.launch_meta.__gc(self)
  local state = class.state(self)
  if state.used or not state.site then return end
  state.used = true
  errors.tell_unused(state.of.name, state.site)
end

-- The state of a launch, its kernel ready to be given arguments.
local function begin(self)
  local state = check(self)
  local stream = state.config.stream
  if stream and stream._handle == nil then errors.refuse "stream_closed" end
  errors.must(kernel.stand_at(state.of, state.config))
  return state
end

-- Run the launch if its arguments could be set.
local function finish(state, code, why)
  local of, stream = state.of, state.config.stream
  if code == 0 and not state.config.empty then
    of.device._pending = 1
    local site = errors.site(3) -- above this function and the metamethod
    code = stream and C.mw_launch_run_in(of.launch, stream._handle, site) or C.mw_launch_run(of.launch, site)
  end
  C.mw_launch_clear(of.launch)
  if not code then errors.misuse(why, ffi.string(of.info.name)) end
  if code ~= 0 then errors.raise() end
end

function kernel.launch_meta.__call(self, ...)
  local state = begin(self)
  local of = state.of
  finish(state, (of.set or setter_of(of))(of.launch, of.info, of.device, select("#", ...), ...))
end

-- kernel_run(k, site, x, y, z, threads, arguments…): k({x, y, z}, threads)(arguments…), launched at the line that
-- call_site found. For the library's own kernels: it makes no object, and several may be launched for one line.
local function kernel_run(self, site, x, y, z, threads, ...)
  local of = class.state(self)
  local config = of.own_config
  if not config or of.now ~= config or config.gx ~= x or config.gy ~= y or config.gz ~= z
    or config.bx ~= threads then
    kernel.stand_at_sizes(of, x, y, z, threads)
  end
  local code, why = (of.set or setter_of(of))(of.launch, of.info, of.device, select("#", ...), ...)
  if code == 0 then
    of.device._pending = 1
    code = C.mw_launch_run(of.launch, site)
  end
  C.mw_launch_clear(of.launch)
  if not code then errors.misuse(why, of.name) end
  if code ~= 0 then errors.raise() end
end

-- Parameter i (from 0) of a block, or the value that is given for it: a result code, or nil and a sentence.
local function set_from_block(of, i, block, given)
  if given ~= nil then return set_argument(of.launch, of.info, i, given, of.device) end
  return C.mw_launch_from_block(of.launch, i, block, #block)
end

-- launch_block(launch, block, values): run it with a parameter block as a string, whose bytes hold but for parameters
-- that `values` has a value for, by their numbers from 1. (cuParamSetv, CU_LAUNCH_PARAM_BUFFER_POINTER)
local function launch_block(self, block, values)
  local state = begin(self)
  local code, why = 0, nil
  for i = 0, tonumber(state.of.info.param_count) - 1 do
    code, why = set_from_block(state.of, i, block, values[i + 1])
    if code ~= 0 then break end
  end
  finish(state, code, why)
end

local properties = class.properties.launch

local function sizes(x, y, z) return errors.vector.set { x, y, z } end

function properties.grid(self)
  local config = check(self).config
  return sizes(config.gx, config.gy, config.gz)
end

function properties.block(self)
  local config = check(self).config
  return sizes(config.bx, config.by, config.bz)
end

function properties.shared(self) return check(self).config.shared end
function properties.stream(self) return check(self).config.stream end
function properties.cooperative(self) return check(self).config.cooperative end
function properties.dependent(self) return check(self).config.dependent end

-- nil where the launch sets none
function properties.cluster(self)
  local config = check(self).config
  return config.cx and sizes(config.cx, config.cy, config.cz) or nil
end

function properties.kernel(self) return check(self).kernel end

-- ---- bound launches ----

-- Bound launch -> its configuration, and so its kernel, the module's variables and the stream.
local kept = setmetatable({}, { __mode = "k" })

local bound_type = class.struct("bound", [[struct {
  mw_launch *_handle;
  $ *_device;
  $ *_stream;
  int _empty;
  char _site[500];
}]], {
  __call = function(self, ...)
    if select("#", ...) > 0 then errors.refuse "bound_arguments" end
    if self._handle == nil then errors.refuse "bound_closed" end
    if self._empty ~= 0 then return end
    local stream = self._stream
    if stream == nil then
      self._device._pending = 1
      if C.mw_launch_run(self._handle, self._site) ~= 0 then errors.raise() end
    else
      if stream._handle == nil then errors.refuse "stream_closed" end
      self._device._pending = 1
      if C.mw_launch_run_in(self._handle, stream._handle, self._site) ~= 0 then errors.raise() end
    end
  end,
  __gc = function(self)
    C.mw_launch_release(self._handle)
    self._handle = nil
  end,
}, device.ctype, streams.ctype)

-- launch:bind(arguments) -> an object to call without arguments. Failures of the kernel name the line that bound it,
-- because finding the line of each call would prevent the calls from being compiled.
function class.methods.launch.bind(self, ...)
  local state = check(self)
  local of, config = state.of, state.config
  local grid = ffi.new("unsigned[3]", config.gx, config.gy, config.gz)
  local block = ffi.new("unsigned[3]", config.bx, config.by, config.bz)
  local out = ffi.new "mw_launch *[1]"
  errors.must(C.mw_launch_new(of.handle, grid, block, config.shared, out))
  errors.must(kernel.attributes(out[0], config))
  local bound = bound_type()
  bound._handle, bound._device, bound._empty = out[0], of.device, config.empty and 1 or 0
  ffi.copy(bound._site, (errors.site() or ""):sub(1, 499))
  if config.stream then bound._stream = config.stream end
  kept[bound] = self
  local code, why = set_arguments(out[0], of.info, of.device, select("#", ...), ...)
  if not code then errors.misuse(why, ffi.string(of.info.name)) end
  errors.must(code)
  return bound
end

-- launch_clusters(launch) -> how many of its clusters the device holds, -1: it has no rule of its own
local function launch_clusters(self)
  local launch = check(self)
  local out = ffi.new "int[1]"
  errors.must(kernel.stand_at(launch.of, launch.config))
  errors.must(C.mw_launch_clusters(launch.of.launch, out))
  return out[0]
end

return {
  raw = {
    launch_block = launch_block, launch_clusters = launch_clusters, kernel_launch = kernel.launch,
    kernel_run = kernel_run,
    -- call_site(level) -> "script.lua:12", the script's line that is running, or nil. level: of the first function that
    -- may be the script's, where 1 is the caller's
    call_site = errors.site,
  },
}
