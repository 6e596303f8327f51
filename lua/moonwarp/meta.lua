---@meta
-- luacheck: ignore 212 241
-- What the binding adds to the Lua layer, for editors (LuaLS) and readers. Never loaded.
error("moonwarp.meta is for editors; require \"moonwarp\"")

---An element type. By name, as CUDA spells it: bool char uchar short ushort int uint long ulong longlong ulonglong half
---bfloat16 float double, int8 … uint64, and vectors: float4, uchar3, half2. Or a module's struct: m:dtype "Particle".
---@alias moonwarp.dtype string|moonwarp.struct

---@class moonwarp.struct
---@field name string
---@field size integer bytes
---@field fields moonwarp.place[] in the order of the source; none if NVRTC compiled without mwcc and does not say them

---A parameter of a kernel, or a field of a struct.
---@class moonwarp.place
---@field name string "" where it has none
---@field type string as CUDA C spells it, "const float *"
---@field offset integer bytes, in the parameters or in the struct
---@field size integer bytes
---@field dtype moonwarp.dtype|nil that of its value, of an array for the pointer, or of an array's elements

---A vector value: {1, 2, 3} with the fields x, y, z and w as well. Any table of the same numbers is accepted.
---@alias moonwarp.vector number[]

---A number, or up to three of them: {x, y, z}.
---@alias moonwarp.size integer|integer[]

---@class moonwarp.error: table what a function raises if it fails
---@field kind "usage"|"memory"|"compile"|"launch"|"kernel"|"device"|"io"
---@field code string CUDA's name, "cudaErrorInvalidValue"
---@field message string
---@field file? string of the CUDA C text, or of the script for misuse
---@field line? integer
---@field column? integer
---@field kernel? string
---@field block? moonwarp.vector blockIdx, from 0
---@field thread? moonwarp.vector threadIdx, from 0
---@field log? string the compiler's output
---@field where? string "script.lua:12", the line of the script that was running
---@field traceback string

---@class moonwarp.warning: table a compiler warning: see mw.warnings
---@field kind "warning"
---@field message string
---@field file string
---@field line integer
---@field column integer
---@field option? string what the compiler calls it, "-Warray-bounds"
---@field log string the compiler's text, with the code and a caret
---@field where? string "script.lua:12", the line of the script that compiled

---An array on a device. a[i] is element i from 1 on, or, of several dimensions, row i as a view.
---@class moonwarp.array
---@field shape integer[] row-major: the last one runs along memory
---@field rank integer how many dimensions
---@field count integer how many elements
---@field nbytes integer
---@field strides integer[] bytes from an element to the next along each dimension
---@field is_contiguous boolean whether elements follow each other in row order
---@field is_read_only boolean whether it repeats elements, as broadcast_to does
---@field dtype moonwarp.dtype
---@field device moonwarp.device
---@field address integer the device address of the first element, 0 once freed
---@field freed boolean
---@field [integer] any
local array = {}

---An element by its indices, as many as there are dimensions.
---@param ... integer
---@return number|boolean|moonwarp.vector
function array:get(...) end

---Set an element: its indices, then the value.
---@param ... any
function array:set(...) end

---Set every element.
---@param value number|boolean|moonwarp.vector
---@return moonwarp.array self
function array:fill(value) end

---A new array with the same shape, dtype and contents.
---@return moonwarp.array
function array:copy() end

---All elements as a nested table. Waits for the work before.
---@return table
function array:totable() end

---All elements as a string of bytes, as string.unpack reads them. Waits for the work before.
---@return string
function array:bytes() end

---The sum: exact for integers, in double or better for floating point. Scalar dtypes. Waits for the work before.
---@param options? { axis?: integer|integer[], keepdims?: boolean, out?: moonwarp.array } axes to reduce; all by default
---@return number|moonwarp.array an array if dimensions are left
function array:sum(options) end

---The least element, ignoring NaN.
---@param options? { axis?: integer|integer[], keepdims?: boolean, out?: moonwarp.array } as for array:sum
---@return number|moonwarp.array
function array:min(options) end

---The greatest element, ignoring NaN.
---@param options? { axis?: integer|integer[], keepdims?: boolean, out?: moonwarp.array } as for array:sum
---@return number|moonwarp.array
function array:max(options) end

---The array's memory without a copy, on devices whose memory is host memory. Kernels that are launched later write to
---it: call mw.synchronize() before reading their results.
---@return moonwarp.host
function array:host() end

---Release the memory now, before the collector does; every view of it is freed as well. Calling it twice is allowed.
function array:free() end

---Two-dimensional memory whose rows begin at aligned addresses (mw.pitched). p[i] is row i, a view; to a kernel it is a
---pointer to its first element.
---@class moonwarp.pitched
---@field shape integer[] {height, width}
---@field pitch integer bytes from a row to the next
---@field dtype moonwarp.dtype
---@field nbytes integer of device memory
---@field address integer the device address of the first row, 0 once freed
---@field device moonwarp.device
---@field freed boolean
---@field [integer] moonwarp.array
local pitched = {}

---Overwrite everything, or a region as in mw.copy_region, with a nested table, bytes or memory.
---@param data table|string|moonwarp.array|moonwarp.pitched|moonwarp.cuda_array
---@param region? table
---@return moonwarp.pitched self
function pitched:copy_from(data, region) end

---A copy as an ordinary array.
---@return moonwarp.array
function pitched:array() end

---@return table
function pitched:totable() end

---@return string
function pitched:bytes() end

---Release the memory now.
function pitched:free() end

---Memory for textures and surfaces, in a layout of the device's own (mw.cuda_array).
---@class moonwarp.cuda_array
---@field kind "1d"|"2d"|"3d"|"1dlayered"|"2dlayered"|"cubemap"|"cubemaplayered"
---@field dtype moonwarp.dtype
---@field shape integer[] as an array's: slices, height, width, as far as the kind has them
---@field width integer
---@field height integer
---@field depth integer slices: depth, layers, six faces a layer
---@field layers integer
---@field levels integer of a mipmap
---@field channels { x: integer, y: integer, z: integer, w: integer, kind: string } bits, as cudaChannelFormatDesc
---@field nbytes integer of device memory
---@field device moonwarp.device
---@field freed boolean
local cuda_array = {}

---Overwrite the first level, or a region as in mw.copy_region.
---@param data table|string|moonwarp.array|moonwarp.pitched|moonwarp.cuda_array
---@param region? table
---@return moonwarp.cuda_array self
function cuda_array:copy_from(data, region) end

---A copy of a level as an ordinary array.
---@param level? integer from 1
---@return moonwarp.array
function cuda_array:array(level) end

---@param level? integer
---@return table
function cuda_array:totable(level) end

---@param level? integer
---@return string
function cuda_array:bytes(level) end

---Release the memory now.
function cuda_array:free() end

---A texture (mw.texture) or surface (mw.surface): m.reference = texture binds it, kernels take it as
---cudaTextureObject_t or cudaSurfaceObject_t. A texture's options are fields, and most can be assigned.
---@class moonwarp.texture
---@field handle integer what kernels take
---@field offset integer bytes from an aligned address to the start of linear or pitched memory
---@field memory any what it reads
---@field device moonwarp.device
---@field freed boolean
---@field filter "point"|"linear"
---@field address string|string[]
---@field normalized boolean
---@field read "auto"|"element"|"normalized"
---@field border number[]
---@field srgb boolean
---@field seamless boolean
---@field mip_filter "point"|"linear"
---@field lod_bias number
---@field lod_min number
---@field lod_max number
---@field max_anisotropy integer
local texture = {}

---Release it now; a module to which it is bound keeps it.
function texture:free() end

---An array's elements in host memory: h[i] from 1 to #h, along the rows, is read and assigned. It retains the array.
---@class moonwarp.host
---@field count integer how many elements
---@field dtype moonwarp.dtype
---@field pointer any the first element's address: with LuaJIT's FFI a typed pointer, from 0, that keeps the memory
---@field [integer] any

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

---A configured launch, called with the kernel's arguments: numbers, arrays for pointers (nil is the null pointer),
---tables for vectors and structs. Returns at once.
---@class moonwarp.launch
---@field grid moonwarp.vector
---@field block moonwarp.vector
---@field shared integer bytes of dynamic shared memory
---@field cooperative boolean whether its blocks are resident at once
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

---@return any value numbers, tables for vectors, structs and arrays; an array or nil for pointers
function symbol:get() end

---@param value any
function symbol:set(value) end

---@return string
function symbol:bytes() end

---Overwrite bytes (cudaMemcpyToSymbol).
---@param bytes string
---@param offset? integer from 0
function symbol:set_bytes(bytes, offset) end

---@class moonwarp.device
---@field name string "cpu:0"
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

---Wait until it is empty; raises the first failure of a kernel in it, once.
function stream:synchronize() end

---@return boolean whether it is done
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

---@return boolean whether it is done
function event:query() end

---Release it; what waits for it continues to wait.
function event:free() end

---A surface over a level of a CUDA array: kernels write through it.
---@class moonwarp.surface
---@field handle integer what kernels take as cudaSurfaceObject_t
---@field offset integer 0
---@field memory moonwarp.cuda_array
---@field device moonwarp.device
---@field freed boolean
local surface = {}

---Release it. A module to which it is bound keeps it.
function surface:free() end

---@class moonwarp.graphics A buffer or an image of OpenGL's; see mw.gl_buffer and mw.gl_image.
---@field device moonwarp.device
---@field mapped boolean
local graphics = {}

---Unregister it. If it is mapped it is unmapped, and what was written to it is lost.
function graphics:free() end

---A whole mapped image as one CUDA array: the levels of a texture, filtered as a mipmap, the layers of an array, or the
---faces of a cubemap. `part` returns the same memory.
---@return moonwarp.cuda_array
function graphics:whole() end

---Work that is described once and launched often: nodes, numbered from 1 in the order in which they were made.
---@class moonwarp.graph
---@field count integer
local graph = {}

---@param i integer
---@return { kind: "kernel"|"copy"|"fill"|"host"|"empty", label: string, after: integer[] }
function graph:node(i) end

---A node that does nothing, to join and fork others.
---@param after? integer[]
---@return integer node
function graph:empty(after) end

---@param node integer
---@param on integer a node made before
function graph:depend(node, on) end

---Make it ready to launch. Later changes of the graph have no effect on the result.
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
