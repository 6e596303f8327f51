---@meta
-- luacheck: ignore 212 241
-- Methods that the bindings add: arrays, pitched and CUDA arrays, textures, surfaces, OpenGL's resources. For editors
-- (LuaLS) and readers; never loaded.
error("moonwarp.meta.memory is for editors; require \"moonwarp\"")

---An array on a device. a[i] is element i, from 1; of an array with several dimensions, row i as a view.
---@class moonwarp.array
---@field shape integer[] row-major: the last one runs along memory
---@field rank integer the number of dimensions
---@field count integer the number of elements
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

---The sum: exact for integers, in double or better for floating point. Scalar dtypes. Waits for the work before. With
---`keys`, one for each element (along the axis), each run of equal keys has a sum of its own, in place of the axis.
---@param options? { axis?: integer|integer[], keepdims?: boolean, keys?: moonwarp.keys, out?: moonwarp.array }
---axes to reduce; all by default
---@return number|moonwarp.array an array if dimensions are left
---@return moonwarp.array? keys of the runs, if keys are given
function array:sum(options) end

---The least element, ignoring NaN.
---@param options? { axis?: integer|integer[], keepdims?: boolean, keys?: moonwarp.keys, out?: moonwarp.array }
---as for array:sum
---@return number|moonwarp.array
function array:min(options) end

---The greatest element, ignoring NaN.
---@param options? { axis?: integer|integer[], keepdims?: boolean, keys?: moonwarp.keys, out?: moonwarp.array }
---as for array:sum
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

---All elements as a nested table. Waits for the work before.
---@return table
function pitched:totable() end

---All elements as a string of bytes, without padding between rows. Waits for the work before.
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

---The texels of a level as a nested table. Waits for the work before.
---@param level? integer from 1
---@return table
function cuda_array:totable(level) end

---The texels of a level as a string of bytes. Waits for the work before.
---@param level? integer from 1
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
---@field count integer the number of elements
---@field dtype moonwarp.dtype
---@field pointer any the first element's address: with LuaJIT's FFI a typed pointer, from 0, that keeps the memory
---@field [integer] any

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
