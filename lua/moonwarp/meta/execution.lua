---@meta
-- luacheck: ignore 212 241
-- Methods that the bindings add: modules, kernels, launches, devices, streams, events, graphs. For editors (LuaLS) and
-- readers; never loaded.
error("moonwarp.meta.execution is for editors; require \"moonwarp\"")

---Compiled CUDA C. Fields are the names of its source: m.kernel, m["fill<float,4>"], m.variable (read or assigned),
---m.texture_reference (a texture, or nil).
---@class moonwarp.module
---@field [string] any
local module = {}

---Write the compiled module to a file, for mw.load.
---@param path string
---@return moonwarp.module self
function module:save(path) end

---The compiler's warnings, or "".
---@return string
function module:log() end

---A kernel by name, for names that a method has as well.
---@param name string
---@return moonwarp.kernel
function module:kernel(name) end

---A variable as an object.
---@param name string
---@return moonwarp.symbol
function module:symbol(name) end

---A struct of its kernels or variables, "Particle" or "ns::box<float>", for arrays of it:
---mw.zeros(n, m:dtype "Particle"), of 32764 bytes at most. Elements are tables by field name, or strings of their bytes
---if the fields are unknown. Names of built-in types stand for themselves. The script has to keep arrays whose
---addresses are in pointer fields.
---@param name string
---@return moonwarp.struct
function module:dtype(name) end

---The names of its kernels and of its variables.
---@return string[] kernels
---@return string[] symbols
function module:names() end

---A kernel. k(grid, block, shared, stream) configures a launch: kernel<<<grid, block, shared, stream>>>.
---@class moonwarp.kernel
---@field name string
---@field linkage string its name in the object file
---@field params moonwarp.place[]
---@field module moonwarp.module
---@field shared_bytes integer static shared memory
---@field local_bytes integer stack of a thread, as far as the compiler knows
---@field max_threads integer threads that a block may have
---@field cluster_dims integer[]? by __cluster_dims__; nil: the launch says
---@field registers integer 0 if the device has none
---@field tier string how the CPU device runs it
---@field tier_reason string
---@field file string where it is defined
---@field line integer
---@overload fun(grid: moonwarp.size, block: moonwarp.size, shared?: integer, stream?: 0): moonwarp.launch
local kernel = {}

---A launch with at least one thread for each of n, nx × ny or nx × ny × nz things, in blocks that moonwarp picks: the
---kernel has to ignore the threads beyond them.
---@param size moonwarp.size
---@return moonwarp.launch
function kernel:each(size) end

---The kernel as its source declares it: "saxpy(int n, float a, const float *x, float *y)".
---@return string
function kernel:signature() end

---A cooperative launch: all blocks of the grid are resident at once, and wait for each other where the kernel calls
---grid.sync() (cooperative_groups.h). A grid larger than the device holds is an error that says how large it may be.
---@param grid moonwarp.size
---@param block moonwarp.size
---@param shared? integer
---@param stream? moonwarp.stream|0
---@return moonwarp.launch
function kernel:cooperative(grid, block, shared, stream) end

---A launch with clusters: the given number of neighbouring blocks along each axis can wait for each other
---(cluster.sync() of cooperative_groups.h) and access each other's shared memory. A cluster has 16 blocks at most, and
---the grid is a multiple. A kernel with __cluster_dims__ needs no such launch.
---@param size moonwarp.size
---@param grid moonwarp.size
---@param block moonwarp.size
---@param shared? integer
---@param stream? moonwarp.stream|0
---@return moonwarp.launch
function kernel:cluster(size, grid, block, shared, stream) end

---A programmatic dependent launch: it may begin as soon as all blocks of the launch before it in the stream have called
---cudaTriggerProgrammaticLaunchCompletion() or ended; cudaGridDependencySynchronize() in the kernel waits for that
---launch's end. On the CPU device it has ended before.
---@param grid moonwarp.size
---@param block moonwarp.size
---@param shared? integer
---@param stream? moonwarp.stream|0
---@return moonwarp.launch
function kernel:dependent(grid, block, shared, stream) end

---A configured launch, called with the kernel's arguments: numbers, arrays for pointers (nil is the null pointer),
---tables for vectors and structs. Returns at once.
---@class moonwarp.launch
---@field grid moonwarp.vector
---@field block moonwarp.vector
---@field shared integer bytes of dynamic shared memory
---@field cooperative boolean whether its blocks are resident at once
---@field cluster? moonwarp.vector the blocks of a cluster along each axis, from kernel:cluster
---@field dependent boolean whether it may begin before the launch before it has ended
---@field kernel moonwarp.kernel
---@field stream? moonwarp.stream the one that it names, if any
---@overload fun(...: any)
local launch = {}

---Bind the arguments as well: the result is called without arguments, any number of times.
---@param ... any
---@return moonwarp.bound
function launch:bind(...) end

---@class moonwarp.bound
---@overload fun()

---A __device__ or __constant__ variable.
---@class moonwarp.symbol
---@field name string
---@field type string as CUDA C spells it
---@field size integer bytes
---@field address integer
local symbol = {}

---The variable's value. Waits for the work before.
---@return any value numbers, tables for vectors, structs and arrays; an array or nil for pointers
function symbol:get() end

---Set the variable's value.
---@param value any as symbol:get returns it
function symbol:set(value) end

---The variable's bytes. Waits for the work before.
---@return string
function symbol:bytes() end

---Overwrite bytes (cudaMemcpyToSymbol).
---@param bytes string
---@param offset? integer from 0
function symbol:set_bytes(bytes, offset) end

---@class moonwarp.device
---@field name string "cpu:0"
---@field resets integer how often it was reset: modules and arrays from before a reset of a GPU are lost
---@field capability string its compute capability, "8.0"
local device = {}

---As mw.synchronize, for this device.
function device:synchronize() end

---Whether kernels of this device can be given access to the memory of another.
---@param other moonwarp.device
---@return boolean
function device:can_access_peer(other) end

---Give kernels of this device access to the memory of another: its arrays may then be arguments of their launches.
---@param other moonwarp.device
function device:enable_peer_access(other) end

---End the access that enable_peer_access gave.
---@param other moonwarp.device
function device:disable_peer_access(other) end

---Reset a GPU: its arrays, modules and textures are lost. After a kernel's fault it is an error if the driver
---gives the process no new context. The CPU device, which faults do not harm, only waits and clears its errors.
function device:reset() end

---As mw.limit, for this device.
---@param name string
---@param value? number
---@return number
function device:limit(name, value) end

---As mw.memory, for this device.
---@return { bytes: integer, count: integer, peak: integer, total: integer }
function device:memory() end

---As mw.properties, for this device.
---@return table
function device:properties() end

---A queue of work. Work in one stream runs in order; work in different streams may overlap.
---@class moonwarp.stream
---@field kind "legacy"|"blocking"|"non-blocking" legacy: the default stream
---@field priority integer smaller runs first
---@field id integer
---@field device moonwarp.device
local stream = {}

---Wait until all work in the stream is done; raises the first failure of a kernel in it, once.
function stream:synchronize() end

---Whether all work in the stream is done. Does not wait.
---@return boolean
function stream:query() end

---Record an event after the work so far.
---@param event? moonwarp.event a new one by default
---@return moonwarp.event
function stream:record(event) end

---Make later work wait for an event's last record, or for the work that another stream has now. The script does not
---wait.
---@param other moonwarp.event|moonwarp.stream
---@return moonwarp.stream self
function stream:wait(other) end

---Call a Lua function when the work so far is done; later work waits until it returns. It is called while the script
---waits for the device, reads an array, queries a stream or an event, or calls mw.poll. It may read arrays.
---@param f function
---@return moonwarp.stream self
function stream:call(f) end

---Release it; the work in it continues.
function stream:free() end

---A position in a stream. later - earlier is the time between two events in milliseconds.
---@class moonwarp.event
---@field device moonwarp.device
---@operator sub(moonwarp.event): number
local event = {}

---Record it after the work so far of a stream: by default the one of mw.with, or the default stream.
---@param where? moonwarp.stream
---@return moonwarp.event self
function event:record(where) end

---Wait until the work before it is done.
function event:synchronize() end

---Whether the work before the event is done. Does not wait.
---@return boolean
function event:query() end

---Release it; what waits for it continues to wait.
function event:free() end

---Work that is described once and launched many times: nodes, numbered from 1 in the order in which they were made.
---@class moonwarp.graph
---@field count integer
local graph = {}

---A description of a node.
---@param i integer its number, from 1
---@return { kind: "kernel"|"copy"|"fill"|"host"|"empty", label: string, after: integer[] }
function graph:node(i) end

---Add a node that does nothing, as a point where others join or fork.
---@param after? integer[]
---@return integer node
function graph:empty(after) end

---Make a node wait for another one.
---@param node integer
---@param on integer a node made before it
function graph:depend(node, on) end

---An executable form of the graph. Later changes of the graph do not affect it.
---@return moonwarp.graph_exec
function graph:instantiate() end

---A graph that is ready to launch (g:instantiate).
---@class moonwarp.graph_exec
local graph_exec = {}

---Run it after its earlier launches; returns at once.
---@param where? moonwarp.stream the one of mw.with or the default one, if none is given
---@return moonwarp.graph_exec self
function graph_exec:launch(where) end

---Give a kernel's node another configuration and arguments, or a copy, fill or function node another of its kind.
---@param node integer
---@param what moonwarp.bound|moonwarp.graph k(grid, block):bind(...) of the same kernel, or a graph of one such node
---@return moonwarp.graph_exec self
function graph_exec:set(node, what) end

---Take the nodes of another graph of the same form.
---@param from moonwarp.graph
---@return moonwarp.graph_exec self
function graph_exec:update(from) end

---Release it when its work is done.
function graph_exec:free() end
