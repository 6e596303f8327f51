-- CUDA C as OpenCL C, for the OpenCL peers of the held-out kernels: the same text on every side, so that the compilers
-- are compared and not two authors. Plain kernels only: no templates, no warp functions, no dynamic shared memory.

local translate = {}

local PRELUDE = [[
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#define threadIdx ((uint3)((uint)get_local_id(0), (uint)get_local_id(1), (uint)get_local_id(2)))
#define blockIdx ((uint3)((uint)get_group_id(0), (uint)get_group_id(1), (uint)get_group_id(2)))
#define blockDim ((uint3)((uint)get_local_size(0), (uint)get_local_size(1), (uint)get_local_size(2)))
#define gridDim ((uint3)((uint)get_num_groups(0), (uint)get_num_groups(1), (uint)get_num_groups(2)))
#define __syncthreads() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define __ldg(p) (*(p))
#define __brev(x) reverse_bits_(x)
#define __clz(x) clz((int)(x))
#define __popc(x) popcount((uint)(x))
#define __umulhi(a, b) mul_hi((uint)(a), (uint)(b))
#define __float_as_int(x) as_int((float)(x))
#define __float_as_uint(x) as_uint((float)(x))
#define __int_as_float(x) as_float((int)(x))
#define __uint_as_float(x) as_float((uint)(x))
#define __expf(x) native_exp((float)(x))
#define __logf(x) native_log((float)(x))
#define make_float2(x, y) ((float2)((x), (y)))
#define make_float3(x, y, z) ((float3)((x), (y), (z)))
#define make_float4(x, y, z, w) ((float4)((x), (y), (z), (w)))
#define make_int2(x, y) ((int2)((x), (y)))
#define make_double2(x, y) ((double2)((x), (y)))
#undef abs
#define abs(x) ((x) < 0 ? -(x) : (x))
uint reverse_bits_(uint x) {
  x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
  x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
  return (x >> 24) | (x >> 8 & 0xff00u) | (x << 8 & 0xff0000u) | (x << 24);
}
]]

-- Atomic functions, for pointers to global and to shared memory.
local function atomics()
  local lines = {}
  local function define(name, type, parameters, call)
    for space in ("__global __local"):gmatch "%S+" do
      local declaration = ("%s %s(volatile %s %s *p, %s)"):format(type, name, space, type, parameters:gsub("T", type))
      lines[#lines + 1] = ("__attribute__((overloadable)) %s { return %s; }"):format(declaration, call)
    end
  end
  for type in ("int uint"):gmatch "%S+" do
    for cuda, name in pairs { Add = "add", Sub = "sub", Min = "min", Max = "max", And = "and", Or = "or", Xor = "xor",
      Exch = "xchg" } do
      define("atomic" .. cuda, type, "T v", ("atomic_%s(p, v)"):format(name))
    end
    define("atomicCAS", type, "T e, T v", "atomic_cmpxchg(p, e, v)")
  end
  return table.concat(lines, "\n") .. "\n"
end

-- Functions of one and two floats, whose OpenCL names are overloaded, so that an int argument would be ambiguous.
local ONE = "sqrt exp exp2 log log2 log10 sin cos tan asin acos atan sinh cosh tanh fabs floor ceil round trunc rint "
  .. "rsqrt cbrt erf erfc"
local TWO = "fmax fmin pow fmod hypot atan2 copysign"

local function functions()
  local lines = {}
  for name in ONE:gmatch "%S+" do lines[#lines + 1] = ("#define %sf(x) %s((float)(x))"):format(name, name) end
  for name in TWO:gmatch "%S+" do
    lines[#lines + 1] = ("#define %sf(x, y) %s((float)(x), (float)(y))"):format(name, name)
  end
  lines[#lines + 1] = "#define fmaf(x, y, z) fma((float)(x), (float)(y), (float)(z))"
  return table.concat(lines, "\n") .. "\n"
end

-- The parameters of a function's declaration: a list of their texts.
local function parameters(list)
  local all = {}
  for one in list:sub(2, -2):gmatch "[^,]+" do all[#all + 1] = one:match "^%s*(.-)%s*$" end
  return all
end

-- A device function whose parameters are references takes pointers; a macro of its name passes the addresses.
local function references(text)
  return (text:gsub("(__device__[^;{]-)([%w_]+)(%b())(%s*)(%b{})", function(head, name, list, space, body)
    if not list:find "&" then return nil end
    local declared, passed, named = {}, {}, {}
    for i, parameter in ipairs(parameters(list)) do
      local reference = parameter:match "&%s*([%w_]+)$"
      if reference then body = body:gsub("%f[%w_]" .. reference .. "%f[^%w_]", "(*" .. reference .. ")") end
      declared[i] = (parameter:gsub("&%s*", "*"))
      named[i] = "p" .. i
      passed[i] = (reference and "&(p%d)" or "(p%d)"):format(i)
    end
    local function joined(parts) return table.concat(parts, ", ") end
    return ("%s%s_(%s)%s%s\n#define %s(%s) %s_(%s)\n"):format(head, name, joined(declared), space, body, name,
      joined(named), name, joined(passed))
  end))
end

-- Each kernel's parameters: {type =, pointer =}, by the kernel's name.
function translate.signatures(text)
  local kernels = {}
  for name, list in text:gmatch "__global__%s+void%s+([%w_]+)%s*(%b())" do
    local all = {}
    for i, parameter in ipairs(parameters(list)) do
      local type = parameter:gsub("const ", ""):match "^(.-)[%s*]+[%w_]+$"
      all[i] = { type = type, pointer = parameter:find("*", 1, true) ~= nil }
    end
    kernels[name] = all
  end
  return kernels
end

-- The OpenCL C text, or nil and the reason.
function translate.opencl(text)
  text = text:gsub("//[^\n]*", "")
  for _, word in ipairs { "template", "extern __shared__", "_sync%(", "cg::", "asm", "tex2D" } do
    if text:find(word) then return nil, "has " .. word:gsub("%%", "") end
  end
  text = text:gsub("#include[^\n]*", ""):gsub("__launch_bounds__%b()", "")
  text = text:gsub('extern "C"', ""):gsub("__restrict__", "restrict"):gsub("__forceinline__", "inline")
  text = references(text)
  text = text:gsub("(__global__%s+void%s+[%w_]+%s*)(%b())", function(head, list)
    local all = parameters(list)
    for i, parameter in ipairs(all) do
      if parameter:find("*", 1, true) then all[i] = "__global " .. parameter end
    end
    return head .. "(" .. table.concat(all, ", ") .. ")"
  end)
  text = text:gsub("static __device__", "__device__"):gsub("__device__%s+inline", "inline")
  text = text:gsub("__device__%s+const%s", "__constant const "):gsub("__device__ ", ""):gsub("__global__", "__kernel")
  text = text:gsub("__shared__", "__local"):gsub("__constant__", "__constant")
  -- Pointers that a kernel declares point into its parameters: OpenCL C without generic addresses needs their address
  -- space.
  text = text:gsub("([;{]%s*)([%w_ ]-%*%s*[%w_ ]- = )([%w_]+)", function(before, declared, from)
    if text:find("__local[^;]*%f[%w_]" .. from .. "%f[^%w_]") then return nil end
    return before .. "__global " .. declared .. from
  end)
  text = text:gsub("unsigned long long", "ulong"):gsub("long long", "long"):gsub("uint(%d+)_t", function(bits)
    return ({ ["8"] = "uchar", ["16"] = "ushort", ["32"] = "uint", ["64"] = "ulong" })[bits]
  end)
  text = text:gsub("%f[%w_]half%f[^%w_]", "half_"):gsub("%f[%w_]kernel%f[^%w_]", "kernel_")
  text = text:gsub("const int ([%w_]+) = (%d+);", "enum { %1 = %2 };")
  return PRELUDE .. atomics() .. functions() .. text
end

return translate
