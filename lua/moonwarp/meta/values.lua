---@meta
-- luacheck: ignore 212 241
-- Types of values: dtypes, vectors, sizes, errors and warnings. For editors (LuaLS) and readers; never loaded.
error("moonwarp.meta.values is for editors; require \"moonwarp\"")

---An element type. By name, as CUDA spells it: bool char uchar short ushort int uint long ulong longlong ulonglong half
---bfloat16 float double complex64 complex128, int8 … uint64, and vectors: float4, uchar3, half2. Or a module's struct:
---m:dtype "Particle".
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

---A complex number, from mw.complex(re, im) or an array of complex64 or complex128.
---@class moonwarp.complex
---@field re number
---@field im number

---A number, or up to three of them: {x, y, z}.
---@alias moonwarp.size integer|integer[]

---@class moonwarp.error: table what a function raises when it fails
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
