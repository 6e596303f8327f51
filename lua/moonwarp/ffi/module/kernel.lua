-- Kernel objects, and their configurations: k(grid, block[, shared[, stream]]).
--
-- A configuration is an immutable object, so a loop that launches with the same grid and block gets the same object
-- each time and makes no garbage. A kernel's state holds its module and its newest configuration, a configuration's
-- its kernel.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local class = require "moonwarp.ffi.class"
local errors = require "moonwarp.ffi.error"
local value = require "moonwarp.ffi.convert.value"
local device = require "moonwarp.ffi.device"
local streams = require "moonwarp.ffi.stream"
local dtype = require "moonwarp.ffi.convert.dtype"

local M = {}

local meta = class.proxy_meta "kernel"
M.launch_meta = class.proxy_meta "launch" -- launch.lua makes it callable

---The kernel of that name of a module; raises if there is none.
---@param module userdata
---@param name string
---@return userdata
function M.push(module, name)
  local of, out = class.state(module), ffi.new "mw_kernel *[1]"
  errors.must(C.mw_module_kernel(of.handle, name, out))
  local state = { handle = ffi.gc(out[0], C.mw_kernel_release), device = of.device, module = module }
  local object = class.proxy("kernel", state, meta)
  state.info = C.mw_kernel_describe(state.handle)
  state.name = ffi.string(state.info.name) -- for finalizers: when the state closes, the kernel goes before its launches
  return object
end

local function check(self, what) return class.state(errors.check(self, "kernel", what)) end

-- ---- configurations ----

local axes = { "x", "y", "z" }

local function check_size(size, what, given)
  local whole = value.whole(size)
  if whole and whole >= 0 and whole <= 0xffffffff then return whole end
  if given == false then return errors.refuse("launch_size", what) end
  return errors.refuse("launch_size", what, size)
end

-- A number or {x[, y[, z]]}, by place or by name: three numbers, and how many were given.
local function check_sizes(sizes, what, is_given)
  if type(sizes) ~= "table" then return check_size(sizes, what, is_given), 1, 1, 1 end
  local list, given = { 1, 1, 1 }, 0
  for i, axis in ipairs(axes) do
    local size = rawget(sizes, i)
    if size == nil then size = rawget(sizes, axis) end
    if size ~= nil or i == 1 then
      list[i] = check_size(size, what .. "." .. axis)
      given = i
    end
  end
  if #sizes > 3 then errors.refuse("launch_sizes", what) end
  return list[1], list[2], list[3], given
end

local dim3, launch_cell = ffi.typeof "unsigned[3]", ffi.typeof "mw_launch *[1]"

local function same(a, b)
  return a.gx == b.gx and a.gy == b.gy and a.gz == b.gz and a.bx == b.bx and a.by == b.by and a.bz == b.bz and
    a.shared == b.shared and a.empty == b.empty and a.stream == b.stream and a.cooperative == b.cooperative and
    a.dependent == b.dependent and a.cx == b.cx and a.cy == b.cy and a.cz == b.cz
end

---Make it the cooperative, dependent or clustered launch that the configuration says.
---@param launch ffi.cdata*
---@param config table
---@return integer code
function M.attributes(launch, config)
  if config.cooperative then C.mw_launch_cooperate(launch) end
  if config.dependent then C.mw_launch_depend(launch) end
  return config.cx and C.mw_launch_cluster(launch, dim3(config.cx, config.cy, config.cz)) or 0
end

---Configure the kernel's own launch. The core checks it against the device's and the kernel's
---limits.
---@param state table of the kernel
---@param config table
---@return integer code
function M.stand_at(state, config)
  if state.now and same(state.now, config) then return 0 end
  local grid, block = dim3(config.gx, config.gy, config.gz), dim3(config.bx, config.by, config.bz)
  local code
  if state.launch then
    code = C.mw_launch_configure(state.launch, grid, block, config.shared)
  else
    local out = launch_cell()
    code = C.mw_launch_new(state.handle, grid, block, config.shared, out)
    if code == 0 then state.launch = ffi.gc(out[0], C.mw_launch_release) end
  end
  state.now = nil
  if code == 0 then code = M.attributes(state.launch, config) end
  if code == 0 then state.now = config end
  return code
end

---Configure it for one of the library's launches, which has a table of its own.
---@param state table of the kernel
---@param x integer
---@param y integer
---@param z integer
---@param threads integer
function M.stand_at_sizes(state, x, y, z, threads)
  local config = { gx = x, gy = y, gz = z, bx = threads, by = 1, bz = 1, shared = 0, empty = false, cooperative = false,
    dependent = false }
  errors.must(M.stand_at(state, config))
  state.own_config, state.now = config, config
end

local function push_launch(self, state, config)
  if state.last and same(state.last_config, config) then return state.last end
  errors.must(M.stand_at(state, config))
  state.last_config = config
  -- The script is at level 2, because the calls from there are tail calls.
  local launch = { kernel = self, of = state, config = config, site = errors.site(2) }
  state.last = class.proxy("launch", launch, M.launch_meta)
  return state.last
end

-- config: what is set besides grid, block, shared memory and stream
local function configure(self, config, ...)
  local state = check(self, "a launch")
  local grid, block, shared, stream = ...
  if select("#", ...) > 4 then
    errors.refuse("launch_values", select("#", ...))
  end
  config.shared, config.empty, config.cooperative = 0, false, config.cooperative or false
  config.dependent = config.dependent or false
  config.gx, config.gy, config.gz = check_sizes(grid, "grid", select("#", ...) > 0)
  config.bx, config.by, config.bz = check_sizes(block, "block", select("#", ...) > 1)
  if shared ~= nil then
    local bytes = value.whole(shared)
    if not bytes or bytes < 0 then errors.refuse("shared", shared, state.name) end
    config.shared = bytes
  end
  if stream ~= nil and stream ~= 0 then
    if not class.is(stream, "stream") then errors.refuse("launch_stream", stream) end
    config.stream = streams.check(stream, "a launch")
    if stream._device._handle ~= state.device._handle then
      errors.refuse("launch_device", tostring(state.device), tostring(device.object(stream._device)))
    end
  end
  return push_launch(self, state, config)
end

function meta.__call(self, ...) return configure(self, {}, ...) end
function class.methods.kernel.cooperative(self, ...) return configure(self, { cooperative = true }, ...) end
function class.methods.kernel.dependent(self, ...) return configure(self, { dependent = true }, ...) end

-- k:cluster(size, grid, block, …)
function class.methods.kernel.cluster(self, size, ...)
  check(self, "a launch")
  local config = {}
  config.cx, config.cy, config.cz = check_sizes(size, "cluster")
  if config.cx == 0 then errors.refuse("launch_size", "cluster", size) end
  return configure(self, config, ...)
end

-- kernel_launch(k, flags, cluster or nil, grid, block, …): flags 1: cooperative, 2: dependent
function M.launch(self, flags, size, ...)
  check(self, "a launch")
  local config = { cooperative = flags % 2 == 1, dependent = flags >= 2 }
  if size ~= nil then config.cx, config.cy, config.cz = check_sizes(size, "cluster") end
  return configure(self, config, ...)
end

local wanted = { { 256, 1, 1 }, { 32, 8, 1 }, { 32, 4, 2 } }

-- k:each(n), k:each{nx, ny}: at least one thread for each. Blocks of 256 threads, wide rather than tall: threadIdx.x
-- runs along memory.
function class.methods.kernel.each(self, size, ...)
  local state = check(self, "each")
  if select("#", ...) > 0 then
    errors.refuse("each", select("#", ...) + 1)
  end
  if size == state.each_size and type(size) == "number" then return state.each end
  local nx, ny, nz, given = check_sizes(size, "each")
  local counts, grid, blocks, threads = { nx, ny, nz }, {}, {}, 1
  local config = { shared = 0, empty = false, cooperative = false, dependent = false }
  local most = state.info.max_threads
  for i = 1, 3 do
    local count = counts[i]
    local block = math.min(wanted[given][i], math.max(count, 1))
    while block > 1 and most > 0 and threads * block > most do block = math.floor((block + 1) / 2) end
    threads = threads * block
    blocks[i], grid[i] = block, math.ceil(count / block)
    if count == 0 then config.empty = true end
  end
  if config.empty then grid = { 1, 1, 1 } end
  config.gx, config.gy, config.gz = grid[1], grid[2], grid[3]
  config.bx, config.by, config.bz = blocks[1], blocks[2], blocks[3]
  state.each, state.each_size = push_launch(self, state, config), size
  return state.each
end

-- ---- facts ----

local properties = class.properties.kernel

for _, field in ipairs { "name", "linkage", "tier", "tier_reason", "file" } do
  properties[field] = function(self)
    local text = check(self, "a kernel's field").info[field]
    return text ~= nil and ffi.string(text) or nil
  end
end

for _, field in ipairs { "shared_bytes", "local_bytes", "max_threads", "registers", "line" } do
  properties[field] = function(self) return tonumber(check(self, "a kernel's field").info[field]) end
end

-- By __cluster_dims__; nil: the launch says.
function properties.cluster_dims(self)
  local sizes = check(self, "a kernel's field").info.cluster
  if sizes[0] == 0 then return nil end
  return { tonumber(sizes[0]), tonumber(sizes[1]), tonumber(sizes[2]) }
end

---"saxpy(int n, float a, const float *x, float *y)"
---@param info ffi.cdata* a mw_kernel_info
---@return string
function M.signature(info)
  local size = tonumber(C.mw_kernel_signature(info, nil, 0)) + 1
  local text = ffi.new("char[?]", size)
  C.mw_kernel_signature(info, text, size)
  return ffi.string(text)
end

function class.methods.kernel.signature(self) return M.signature(check(self, "signature").info) end

-- A sequence of what dtype.place says.
function properties.params(self)
  local state, list = check(self, "a kernel's field"), {}
  for i = 1, tonumber(state.info.param_count) do
    local param = state.info.params[i - 1]
    list[i] = dtype.place(param.name, param.type, param.offset, C.mw_kernel_module(state.handle))
  end
  return list
end

function properties.module(self) return check(self, "module").module end

return M
