-- Surfaces in kernels: reads, writes, and accesses outside of the array.

local mw = require "moonwarp"

local m = mw.compile [[
surface<void, cudaSurfaceType2D> canvas;

__global__ void copy_1d(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  int x = threadIdx.x;
  surf1Dwrite(surf1Dread<short>(from, x * 2), to, x * 2);
}
__global__ void flip_2d(cudaSurfaceObject_t from, int w, int h) {
  int x = threadIdx.x, y = threadIdx.y;
  float4 v;
  surf2Dread(&v, from, x * 16, y);
  surf2Dwrite(make_float4(v.w, v.z, v.y, v.x), canvas, (w - 1 - x) * 16, h - 1 - y);
}
__global__ void add_3d(cudaSurfaceObject_t s) {
  int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  surf3Dwrite(surf3Dread<int>(s, x * 4, y, z) + 100 * z, s, x * 4, y, z);
}
__global__ void mark_layers(cudaSurfaceObject_t line, cudaSurfaceObject_t plane, cudaSurfaceObject_t cube) {
  int layer = threadIdx.x;
  surf1DLayeredwrite<unsigned char>(surf1DLayeredread<unsigned char>(line, 1, layer) + 1, line, 1, layer);
  surf2DLayeredwrite(surf2DLayeredread<uchar2>(plane, 2, 1, layer), plane, 0, 0, layer);
  surfCubemapwrite(surfCubemapread<float>(cube, 4, 1, layer) * 2, cube, 0, 0, layer);
}
__global__ void look(cudaSurfaceObject_t s, const int2 *places, int *out, int mode) {
  int2 at = places[threadIdx.x];
  out[threadIdx.x] = surf2Dread<int>(s, at.x * 4, at.y, (cudaSurfaceBoundaryMode)mode);
}
__global__ void put(cudaSurfaceObject_t s, const int2 *places, int mode) {
  int2 at = places[threadIdx.x];
  surf2Dwrite((int)(1000 + threadIdx.x), s, at.x * 4, at.y, (cudaSurfaceBoundaryMode)mode);
}
__global__ void read_texture(cudaTextureObject_t t, float *out) {
  out[threadIdx.x] = tex2D<float>(t, threadIdx.x + 0.5f, 0.5f);
}
__global__ void fill(cudaSurfaceObject_t s, float value) { surf2Dwrite(value + threadIdx.x, s, threadIdx.x * 4, 0); }
]]

local ZERO, CLAMP, TRAP = 0, 1, 2

local function counted(dtype, ...)
  local shape, count, values = { ... }, 1, {}
  for _, size in ipairs(shape) do count = count * size end
  for i = 1, count do values[i] = i end
  return mw.array(values, dtype):reshape(shape)
end

local function places(list)
  local flat = {}
  for _, at in ipairs(list) do flat[#flat + 1], flat[#flat + 2] = at[1], at[2] end
  return mw.array(flat, "int"):as("int2")
end

describe("a surface in a kernel", function()
  it("is read and written in one dimension, by bytes", function()
    local from, to = mw.cuda_array(counted("short", 8)), mw.cuda_array(mw.zeros(8, "short"))
    m.copy_1d(1, 5)(mw.surface(from), mw.surface(to))
    assert.are.same({ 1, 2, 3, 4, 5, 0, 0, 0 }, to:totable())
  end)

  it("is read through a pointer and written through a reference", function()
    local from = mw.cuda_array(counted("float", 24):as("float4"):reshape(2, 3))
    local to = mw.cuda_array { kind = "2d", dtype = "float4", width = 3, height = 2 }
    m.canvas = mw.surface(to)
    m.flip_2d(1, { 3, 2 })(mw.surface(from), 3, 2)
    local expected = {}
    for i = 1, 24 do expected[i] = 25 - i end
    assert.are.same(expected, to:array():reshape(6):as("float"):totable())
  end)

  it("has three dimensions", function()
    local array = mw.cuda_array(counted("int", 2, 2, 2))
    m.add_3d(1, { 2, 2, 2 })(mw.surface(array))
    assert.are.same({ { { 1, 2 }, { 3, 4 } }, { { 105, 106 }, { 107, 108 } } }, array:totable())
  end)

  it("has layers and faces", function()
    local line = mw.cuda_array(counted("uchar", 6, 2), { kind = "1dlayered" })
    local plane = mw.cuda_array(counted("uchar", 48):as("uchar2"):reshape(6, 2, 2), { kind = "2dlayered" })
    local cube = mw.cuda_array(counted("float", 6, 2, 2), { kind = "cubemap" })
    m.mark_layers(1, 6)(mw.surface(line), mw.surface(plane), mw.surface(cube))
    local lines, planes, faces = line:totable(), plane:array():as("uchar"):reshape(6, 8):totable(), cube:totable()
    for i = 1, 6 do
      assert.are.same({ 2 * i - 1, 2 * i + 1 }, lines[i])
      local first = 8 * (i - 1)
      assert.are.same({ first + 7, first + 8 }, { planes[i][1], planes[i][2] })
      assert.are.equal(4 * i * 2, faces[i][1][1])
    end
  end)

  it("writes what a texture over the same array reads, from the next launch on", function()
    local array = mw.cuda_array(mw.zeros(2, 4, "float"))
    local surface, texture, out = mw.surface(array), mw.texture(array), mw.zeros(4)
    for value = 1, 2 do
      m.fill(1, 4)(surface, 10 * value)
      m.read_texture(1, 4)(texture, out)
      assert.are.same({ 10 * value, 10 * value + 1, 10 * value + 2, 10 * value + 3 }, out:totable())
    end
  end)
end)

describe("outside of a surface", function()
  local outside = { { -1, 0 }, { 3, 0 }, { 0, -1 }, { 0, 2 }, { 7, 9 }, { 1, 1 }, { 2, 0 } }

  it("reads are 0 where that is the mode", function()
    local out = mw.zeros(#outside, "int")
    m.look(1, #outside)(mw.surface(mw.cuda_array(counted("int", 2, 3))), places(outside), out, ZERO)
    assert.are.same({ 0, 0, 0, 0, 0, 5, 3 }, out:totable())
  end)

  it("reads are of the edge where that is the mode", function()
    local out = mw.zeros(#outside, "int")
    m.look(1, #outside)(mw.surface(mw.cuda_array(counted("int", 2, 3))), places(outside), out, CLAMP)
    assert.are.same({ 1, 3, 1, 4, 6, 5, 3 }, out:totable())
  end)

  it("writes go nowhere, or to the edge", function()
    local array = mw.cuda_array(counted("int", 2, 3))
    m.put(1, 5)(mw.surface(array), places(outside), ZERO)
    assert.are.same({ { 1, 2, 3 }, { 4, 5, 6 } }, array:totable())
    m.put(1, 1)(mw.surface(array), places { { 9, 9 } }, CLAMP)
    assert.are.same({ { 1, 2, 3 }, { 4, 5, 1000 } }, array:totable())
  end)

  it("a launch ends that traps there, and one that stays inside does not", function()
    local surface, out = mw.surface(mw.cuda_array(counted("int", 2, 3))), mw.zeros(1, "int")
    m.look(1, 1)(surface, places { { 2, 1 } }, out, TRAP)
    assert.are.equal(6, out[1])
    for _, at in ipairs(outside) do
      if at[1] ~= 1 and at[1] ~= 2 then
        local ok, err = pcall(function()
          m.look(1, 1)(surface, places { at }, out, TRAP)
          mw.synchronize()
        end)
        assert.is_false(ok)
        assert.matches("look", tostring(err))
      end
    end
  end)
end)
