-- Kernels' signatures and the layouts of their types: the same on the CPU device, with mwcc for a GPU and with NVRTC,
-- whichever compiler states it. spec/gpu/layouts_spec.lua compares them over all kernels of the device suite.

local gpu = require "support.fake.gpu"
local paths = require "support.compile.paths"

local outputs, nvrtc = paths.outputs, paths.nvrtc

local source = [==[
local m = mw.compile [[
#include <cuComplex.h>
#define EXPORT extern "C"
template <class T> struct box { T v; int n; };
template <class T> struct vec4 {};
template <> struct vec4<float> { typedef float4 Type; };
namespace ns { struct P { float x; struct In { short a; char b[3]; } in; double *y; }; enum Mode { SLOW, FAST }; }
typedef struct { int q[3]; union { int i; float f; }; } Anon;
struct Wide { unsigned long long word; };
struct Nothing {};
struct Unused { int a; double b; };
class Hidden : Unused {
  char secret;
 public:
  int shown;
  __device__ int sum() { return shown + secret; }
};
EXPORT __global__ void __launch_bounds__(64) k(cuComplex *o, cuComplex s, float2 t, cudaTextureObject_t u, double d,
    ns::P::In in, Wide w, unsigned long long n, Nothing e, const Unused *unused, ns::Mode mode = ns::FAST) {
  *o = s; o->x += t.x + u + d + in.a + w.word + n;
}
template <typename T> __global__ void ins(typename vec4<T>::Type *p, const box<T> *b, box<T> c) { p->x = b->v + c.n; }
namespace ns {
__global__ void q(P p, Anon *a, const Anon b, Hidden h, Unused **u) { a->q[0] = b.q[1] + p.x + h.sum(); }
}
]]
]==]

local signatures = [[
k(float2 *o, float2 s, float2 t, cudaTextureObject_t u, double d, ns::P::In in, Wide w, unsigned long long n, ]] ..
  [[Nothing e, const Unused *unused, ns::Mode mode)
ins<float>(float4 *p, const box<float> *b, box<float> c)
ns::q(ns::P p, Anon *a, const Anon b, Hidden h, Unused **u)
]]

describe("a kernel's signature", function()
  it("is the same wherever it is compiled, structs by value and pointers apart", function()
    for path, output in pairs(outputs(source .. [[
      print(m.k:signature())
      print(m["ins<float>"]:signature())
      print(m.q:signature())
    ]])) do
      assert.equal(signatures, output, path)
    end
  end)

  it("names handles as CUDA does, and pointers to functions as C does", function()
    for path, output in pairs(outputs [==[
      local m = mw.compile [[
        #include <cuda.h>
        typedef float (*op)(float, const int *);
        typedef void action(int);
        struct Scene { cudaTextureObject_t sky; op f; };
        __global__ void k(cudaTextureObject_t t, const cudaSurfaceObject_t s, CUtexObject u, CUsurfObject v, Scene c,
                          const cudaTextureObject_t *list, unsigned long long n, cudaGraphConditionalHandle h) {}
        __global__ void f(op f, action *g, void (*const h)(), op *table, void (*several)(int, ...)) {}
      ]]
      print(m.k:signature())
      print(m.f:signature())
      print(m.k.params[5].dtype.fields[1].type, m.k.params[5].dtype.fields[2].type)
    ]==]) do
      assert.equal("k(cudaTextureObject_t t, const cudaSurfaceObject_t s, CUtexObject u, CUsurfObject v, Scene c, " ..
        "const cudaTextureObject_t *list, unsigned long long n, cudaGraphConditionalHandle h)\n" ..
        "f(float (*f)(float, const int *), void (*g)(int), void (*const h)(), float (**table)(float, const int *), " ..
        "void (*several)(int, ...))\ncudaTextureObject_t\tfloat (*)(float, const int *)\n", output, path)
    end
  end)

  it("takes a table or its bytes for a struct by value, and no array", function()
    for path, output in pairs(outputs(source .. [[
      local o = mw.zeros(1, "cuComplex")
      local In, two = { a = 1, b = { 1, 2, 3 } }, { x = 1, y = 2 }
      local launch = m.k(1, 1)
      print(pcall(launch, o, two, two, 0, 1, In, { word = 7 }, 8, {}, nil, 1))
      print(select(2, pcall(launch, o, o, two, 0, 1, In, { word = 7 }, 8, {}, nil, 1)).message)
      print(select(2, pcall(launch, o, two, two, 0, 1, In, o, 8, {}, nil, 1)).message)
      print(pcall(launch, o, two, two, 0, 1, "a\0bcde", ("x"):rep(8), 8, "e", nil, 1))
      print(select(2, pcall(launch, o, two, two, 0, 1, "a\0bcd", ("x"):rep(8), 8, "e", nil, 1)).message)
    ]])) do
      local first, second, third, fourth, fifth = output:match "^(%a+)\n(.-)\n(.-)\n(.-)\n(.-)\n"
      assert.equal("true", first, path .. ": " .. output)
      assert.matches("parameter 2 's' of k wants float2", second)
      assert.matches("parameter 7 'w' of k wants Wide", third)
      assert.equal("true", fourth, path .. ": " .. output)
      assert.equal("parameter 6 'in' of k wants ns::P::In, which has 6 bytes, got a string of 5", fifth)
    end
  end)
end)

describe("a module's dtypes", function()
  it("are the same wherever it is compiled, and have sizes", function()
    for path, output in pairs(outputs(source .. [[
      local _ = m["ins<float>"]
      for _, name in ipairs { "float2", "cuComplex", "box<float>", "ns::P", "P", "In", "Anon", "Wide", "Unused" } do
        local dtype = m:dtype(name)
        print(tostring(dtype), #mw.zeros(3, dtype):bytes() / 3)
      end
    ]])) do
      assert.equal("float2\t8.0\nfloat2\t8.0\nbox<float>\t8.0\nns::P\t24.0\nns::P\t24.0\nns::P::In\t6.0\n" ..
        "Anon\t16.0\nWide\t8.0\nUnused\t16.0\n", (output:gsub("(\t%d+)\n", "%1.0\n")), path)
    end
  end)

  it("are refused if their size is unknown, and if there is no such type", function()
    for path, output in pairs(outputs [==[
      local m = mw.compile [[
template <class T> struct box { T v; int n; };
struct Opaque;
__global__ void k(box<double> *b, Opaque *o, box<int> c) {}
]]
      for _, name in ipairs { "box<double>", "Opaque", "Opake", "box<int>" } do
        local ok, why = pcall(m.dtype, m, name)
        print(ok and why.size or why.message)
      end
    ]==]) do
      local lines = {}
      for line in output:gmatch "[^\n]+" do lines[#lines + 1] = line end
      assert.matches("^box<double> has no known size: ", lines[1], path)
      assert.matches("^Opaque has no known size: ", lines[2], path)
      assert.matches("uses a struct 'Opake'; there are box<double>, Opaque, box<int>$", lines[3], path)
      assert.equal("8", lines[4], path)
    end
  end)
end)

describe("a module that NVRTC compiles without mwcc", function()
  local alone = nvrtc and { MOONWARP_NVRTC = nvrtc, MOONWARP_HOME = "/nowhere" }

  it("has the types that follow from the source and linkage names, and refuses others", function()
    if not alone then return pending "there is no NVRTC on this machine" end
    local output = gpu { source .. [[
      print(m.k:signature())
      print(m.q:signature())
      print(m:dtype "Anon".size, m:dtype "P".size)
      print(select(2, pcall(m.dtype, m, "Nowhere")).message)
      print(select(2, pcall(m.q(1, 1), { x = 1 }, nil, { q = { 1, 2, 3 }, i = 1 }, {}, nil)).message)
      print(select(2, pcall(m.q(1, 1), ("x"):rep(24), nil, { q = { 1, 2, 3 }, i = 1 }, { shown = 1 }, nil)).message)
      print(select(2, pcall(m["ins<float>"](1, 1), nil, nil, { v = 1, n = 2 })).message)
      local pointers = "__global__ void last(const int (*rows)[3], float (*f)(float x), int n) {}"
      print(mw.compile(pointers).last:signature())
    ]], environment = alone }.output
    assert.matches("^k%(float2 %*o, float2 s, float2 t, unsigned long long u, double d, ns::P::In in, Wide w, ", output)
    assert.matches("\nns::q(ns::P p, Anon *a, Anon b, Hidden h, Unused **u)\n16\t24\n", output, 1, true)
    assert.matches("parameter 1 'p' of ns::q wants ns::P, whose fields are not known: give its 24 bytes",
      output, 1, true)
    assert.matches("parameter 4 'h' of ns::q wants Hidden, whose fields are not known: give its %d+ bytes", output)
    assert.matches("parameter 3 'c' of ins<float> wants box<float>, whose fields are not known: give its 8 bytes",
      output, 1, true)
    assert.matches("last(const int[3] *rows, float (*f)(float), int n)", output, 1, true)
  end)
end)
