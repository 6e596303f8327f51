-- Surface reads and writes: every kind in all of CUDA's forms, and every type of element.
-- Lua 5.4 only: it is about a device header.

local mw = require "moonwarp"
local suite = require "support.suite"
local random = require "support.random" "surface_forms_spec"

local m = mw.compile [[
surface<void, cudaSurfaceType1D> s1;
surface<void, cudaSurfaceType2D> s2;
surface<void, cudaSurfaceType3D> s3;
surface<void, cudaSurfaceType1DLayered> l1;
surface<void, cudaSurfaceType2DLayered> l2;
surface<void, cudaSurfaceTypeCubemap> c1;
surface<void, cudaSurfaceTypeCubemapLayered> c2;

// Each kind: write x + 100 y + 10000 z through a reference, read through an object and through the pointer form.
#define VALUE (1 + x + 100 * y + 10000 * z)
#define PLACE int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y; int at = (z * gridDim.x + y) * blockDim.x + x
#define KIND(name, ref, ...)                                                                             \
  __global__ void write_##name() { PLACE; (void)at; name##write(VALUE, ref, __VA_ARGS__); }                \
  __global__ void write_object_##name(cudaSurfaceObject_t s) { PLACE; (void)at; name##write(-VALUE, s, __VA_ARGS__); } \
  __global__ void read_##name(cudaSurfaceObject_t s, int *out) {                                           \
    PLACE; int a, b;                                                                                       \
    name##read(&a, ref, __VA_ARGS__); name##read(&b, s, __VA_ARGS__);                                      \
    int c = name##read<int>(ref, __VA_ARGS__), d = name##read<int>(s, __VA_ARGS__);                        \
    out[at] = a == b && b == c && c == d ? a : 0;                                                          \
  }
KIND(surf1D, s1, x * 4)
KIND(surf2D, s2, x * 4, y)
KIND(surf3D, s3, x * 4, y, z)
KIND(surf1DLayered, l1, x * 4, z)
KIND(surf2DLayered, l2, x * 4, y, z)
KIND(surfCubemap, c1, x * 4, y, z)
KIND(surfCubemapLayered, c2, x * 4, y, z)
]]

local copying = mw.compile [[
template <class T> __global__ void copy(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  surf2Dwrite(surf2Dread<T>(from, threadIdx.x * sizeof(T), blockIdx.x), to, threadIdx.x * sizeof(T), blockIdx.x);
}

]]

describe("surface functions", function()
  local kinds = {
    { name = "surf1D", ref = "s1", kind = "1d", w = 37 },
    { name = "surf2D", ref = "s2", kind = "2d", w = 37, h = 5 },
    { name = "surf3D", ref = "s3", kind = "3d", w = 37, h = 5, d = 3 },
    { name = "surf1DLayered", ref = "l1", kind = "1dlayered", w = 37, d = 4 },
    { name = "surf2DLayered", ref = "l2", kind = "2dlayered", w = 37, h = 5, d = 3 },
    { name = "surfCubemap", ref = "c1", kind = "cubemap", w = 9, h = 9, d = 6 },
    { name = "surfCubemapLayered", ref = "c2", kind = "cubemaplayered", w = 9, h = 9, d = 12 },
  }
  for _, case in ipairs(kinds) do
    it(case.name .. " reads and writes each of its elements, by reference and by object", function()
      local w, h, d = case.w, case.h or 1, case.d or 1
      local expected = {}
      for z = 0, d - 1 do
        for y = 0, h - 1 do
          for x = 0, w - 1 do expected[#expected + 1] = 1 + x + 100 * y + 10000 * z end
        end
      end
      local array = mw.cuda_array(nil, { kind = case.kind, width = w, height = case.h, depth = case.d, dtype = "int" })
      array:copy_from(mw.zeros(w * h * d, "int"):reshape(array.shape))
      local surface = mw.surface(array)
      m[case.ref] = surface
      m["write_" .. case.name]({ h, d }, w)()
      assert.same(expected, array:array():reshape(-1):totable())
      local out = mw.zeros(w * h * d, "int")
      m["read_" .. case.name]({ h, d }, w)(surface, out)
      assert.same(expected, out:totable())
      m["write_object_" .. case.name]({ h, d }, w)(surface)
      for i, value in ipairs(expected) do expected[i] = -value end
      assert.same(expected, array:array():reshape(-1):totable())
    end)
  end

  it("move elements of every type that texels have", function()
    local dtypes = { "uchar", "char4", "short", "ushort2", "short4", "int", "uint2", "float", "float2", "float4" }
    for _, dtype in ipairs(dtypes) do
      local size = #string.pack("<" .. (dtype:match "char" and "B" or dtype:match "short" and "H" or "I4"), 0)
        * (tonumber(dtype:match "%d") or 1)
      local bytes = {}
      for i = 1, 5 * 3 * size do bytes[i] = string.char(random(0, 255)) end
      local from = mw.cuda_array(table.concat(bytes), { width = 5, height = 3, dtype = dtype })
      local to = mw.cuda_array(("\0"):rep(#bytes), { width = 5, height = 3, dtype = dtype })
      local name = dtype:gsub("^u(%a+)$", "unsigned %1")
      copying["copy<" .. name .. ">"](3, 5)(mw.surface(from), mw.surface(to))
      assert.equal(table.concat(bytes), to:bytes())
    end
  end)

  it("run as lanes", function()
    if suite.on_gpu then return pending "CPU device only: a GPU has no tiers" end
    assert.equal("simd", m.write_surf2D.tier)
    assert.equal("simd", m.read_surf3D.tier)
  end)
end)
