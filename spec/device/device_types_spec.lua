-- Built-in types and variables of device code: vector types, dim3, threadIdx and its like, C's and C++'s headers.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local suite = require "support.suite"

local function compile_error(source)
  local module, err = mw.try_compile(source)
  assert.is_nil(module, "it compiled")
  return err
end

-- C's name, bytes
local scalars = {
  { "char", "signed char", 1 },
  { "uchar", "unsigned char", 1 },
  { "short", "short", 2 },
  { "ushort", "unsigned short", 2 },
  { "int", "int", 4 },
  { "uint", "unsigned int", 4 },
  { "long", "long", 8 },
  { "ulong", "unsigned long", 8 },
  { "longlong", "long long", 8 },
  { "ulonglong", "unsigned long long", 8 },
  { "float", "float", 4 },
  { "double", "double", 8 },
}

-- CUDA's programming guide, table "alignment requirements": 1 and 3 components align as one, 2 and 4 as a whole, but
-- 16 at most.
local function alignment(bytes, count)
  return math.min(16, count == 3 and bytes or bytes * count)
end

describe("a built-in vector type", function()
  it("has CUDA's size, alignment and component type", function()
    local lines, expected = {}, {}
    for _, scalar in ipairs(scalars) do
      local name, element, bytes = table.unpack(scalar)
      for count = 1, 4 do
        local vector, n = name .. count, #expected
        lines[#lines + 1] = ("out[%d] = sizeof(%s); out[%d] = alignof(%s);"):format(n, vector, n + 1, vector)
        lines[#lines + 1] = ("static_assert(same<decltype(%s::x), %s>::value, \"%s\");"):format(vector, element, vector)
        expected[n + 1], expected[n + 2] = bytes * count, alignment(bytes, count)
      end
    end
    local m = mw.compile(([[
template <typename A, typename B> struct same { static const bool value = false; };
template <typename A> struct same<A, A> { static const bool value = true; };
__global__ void sizes(int *out) {
%s
}]]):format(table.concat(lines, "\n")))
    local out = mw.zeros(#expected, "int")
    m.sizes(1, 1)(out)
    assert.same(expected, out:totable())
  end)

  it("is made by its make_ function and read by component", function()
    local lines = {}
    for i, scalar in ipairs(scalars) do
      local name, base = scalar[1], (i - 1) * 10
      lines[#lines + 1] = ([[
  { T1 a = make_T1(1); T2 b = make_T2(2, 3); T3 c = make_T3(4, 5, 6); T4 d = make_T4(7, 8, 9, 10);
    int *o = out + BASE; o[0] = a.x; o[1] = b.x; o[2] = b.y; o[3] = c.x; o[4] = c.y; o[5] = c.z;
    o[6] = d.x; o[7] = d.y; o[8] = d.z; o[9] = d.w; }]]):gsub("T(%d)", name .. "%1"):gsub("BASE", base)
    end
    local m = mw.compile("__global__ void make(int *out) {\n" .. table.concat(lines, "\n") .. "\n}")
    local out = mw.zeros(#scalars * 10, "int")
    m.make(1, 1)(out)
    for i, value in ipairs(out:totable()) do assert.equal((i - 1) % 10 + 1, value) end
  end)

  it("may be in structs, unions, arrays, constant and shared memory", function()
    local m = mw.compile [[
struct Particle { float3 position; float mass; int2 cell; };
union Bits { float4 whole; float part[4]; };
__constant__ float4 table[3] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
__global__ void mix(float *out) {
  __shared__ double2 cell[4];
  Particle p = {make_float3(1, 2, 3), 4, {5, 6}};
  Bits bits;
  bits.whole = table[threadIdx.x % 3];
  if (threadIdx.x < 4) cell[threadIdx.x] = make_double2(threadIdx.x, 10 * threadIdx.x);
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 4; ++i) sum += bits.part[i] + cell[i].y;
  out[threadIdx.x] = sum + p.position.z + p.mass + p.cell.y + sizeof(Particle);
}]]
    local out = mw.zeros(6)
    m.mix(1, 6)(out)
    -- 60 from shared memory, 3 + 4 + 6 from the struct, 24 bytes of it
    assert.same({ 107, 123, 139, 107, 123, 139 }, out:totable())
  end)
end)

describe("an index cut to a few bits", function()
  it("has the sign of its lane, in gangs that both signs are in", function()
    for _, width in ipairs { "16", "16x16", "1" } do
      local m = mw.compile {
        source = "__global__ void k(int *p) { p[threadIdx.x] = (signed char)threadIdx.x >> 1; }",
        options = { "--width=" .. width },
      }
      local p = mw.zeros(512, "int")
      m.k(1, 512)(p)
      for i = 0, 511 do assert.equal(((i + 128) % 256 - 128) // 2, p[i + 1]) end
    end
  end)

  it("has it at the top of a word as well, where all lanes fit into the word without a sign", function()
    for _, width in ipairs { "4", "4x2", "16", "1" } do
      local m = mw.compile {
        source = [[
__global__ void k(long long *p) {
  unsigned i = threadIdx.x;
  struct { long long wide : 40; int two : 2; } s = {};
  s.two = i;
  p[3 * i] = (long long)((unsigned long long)i << 62) >> 62;
  p[3 * i + 1] = (int)(i << 30);
  p[3 * i + 2] = s.two;
}]],
        options = { "--width=" .. width },
      }
      local p = mw.zeros(3 * 64, "longlong")
      m.k(1, 64)(p)
      for i = 0, 63 do
        local two = (i + 2) % 4 - 2
        assert.same({ two, two * 2 ^ 30, two }, { p[3 * i + 1], p[3 * i + 2], p[3 * i + 3] })
      end
    end
  end)
end)

describe("dim3", function()
  it("counts 1 where a component is left out, and converts from and to uint3", function()
    local m = mw.compile [[
__device__ unsigned volume(dim3 d) { return d.x * d.y * d.z; }
__device__ unsigned sum(uint3 v) { return v.x + v.y + v.z; }
__global__ void go(unsigned *out) {
  dim3 none, one(2), two(2, 3), three(2, 3, 4), from(make_uint3(5, 6, 7));
  uint3 back = from;
  out[0] = volume(none); out[1] = volume(one); out[2] = volume(two); out[3] = volume(three);
  out[4] = volume(from); out[5] = sum(back); out[6] = volume(9); out[7] = sum(three);
}]]
    local out = mw.zeros(8, "uint")
    m.go(1, 1)(out)
    assert.same({ 1, 2, 6, 24, 210, 18, 9, 9 }, out:totable())
  end)
end)

describe("threadIdx, blockIdx, blockDim and gridDim", function()
  local m = mw.compile [[
struct Where { uint3 thread, block; dim3 threads, blocks; };
__device__ unsigned flat(uint3 at, dim3 size) { return at.x + size.x * (at.y + size.y * at.z); }
template <typename Index> __device__ unsigned sum(const Index &i) { return i.x + 10 * i.y + 100 * i.z; }
template <typename Index> __device__ unsigned sum_of_copy(Index i) { return i.x + 10 * i.y + 100 * i.z; }
__device__ Where here() { return {threadIdx, blockIdx, blockDim, gridDim}; }

__global__ void uses(unsigned *out) {
  unsigned block = flat(blockIdx, gridDim), thread = flat(threadIdx, blockDim);
  if (block != 5 || thread != 7) return;
  uint3 a = threadIdx; uint3 b(blockIdx); dim3 c = blockDim; dim3 d(gridDim); dim3 e{threadIdx}; uint3 f = blockDim;
  auto g = threadIdx;
  const uint3 &h = threadIdx;
  const unsigned &x = threadIdx.x;
  decltype(threadIdx.x) y = threadIdx.y;
  unsigned list[3] = {blockIdx.x, blockIdx.y, blockIdx.z};
  auto lambda = [=] { return threadIdx.x + blockDim.x * threadIdx.y; };
  Where w = here();
  a.x += 1;
  unsigned k = 0;
  out[k++] = a.x; out[k++] = sum(b); out[k++] = sum(c); out[k++] = sum(d); out[k++] = sum(e); out[k++] = sum(f);
  out[k++] = sum(g); out[k++] = sum(h); out[k++] = x; out[k++] = y; out[k++] = list[0] + 10 * list[1] + 100 * list[2];
  out[k++] = lambda(); out[k++] = sum(threadIdx); out[k++] = sum_of_copy(blockDim); out[k++] = sum(w.thread);
  out[k++] = sum(w.blocks); out[k++] = min(threadIdx.x, 100u); out[k++] = warpSize;
}]]

  it("can be copied, passed, converted and captured", function()
    local out = mw.zeros(18, "uint")
    m.uses({ 3, 2, 2 }, { 4, 3, 2 })(out)
    -- block 5 of 3x2x2 is (2, 1, 0); thread 7 of 4x3x2 is (3, 1, 0)
    assert.same({ 4, 12, 234, 223, 13, 234, 13, 13, 3, 1, 12, 7, 13, 234, 13, 223, 3, 32 }, out:totable())
  end)

  it("cannot be written", function()
    for _, statement in ipairs { "threadIdx.x = 1;", "blockDim.y += 2;", "threadIdx = blockIdx;", "gridDim.z++;" } do
      local err = compile_error("__global__ void k() {\n  " .. statement .. "\n}")
      assert.equal("compile", err.kind)
      assert.matches(":2:", tostring(err))
    end
  end)
end)

describe("a program's own names", function()
  it("may be those of built-in functions, in a scope of their own", function()
    local m = mw.compile [[
namespace mine { __device__ float sinpi(float x) { return x + 1; } }
struct Range { int min, max; __device__ int clamp(int x) { return ::min(::max(x, min), max); } };
__global__ void k(float *out) {
  int floor = 3, log = 4;
  Range r = {0, 9};
  out[0] = mine::sinpi(1); out[1] = floor + log; out[2] = r.clamp(12); out[3] = r.clamp(-1);
}]]
    local out = mw.zeros(4)
    m.k(1, 1)(out)
    assert.same({ 2, 7, 9, 0 }, out:totable())
  end)
end)

describe("C's and C++'s headers", function()
  it("compile beside device code and give it the functions that it has", function()
    local m = mw.compile [[
#include <cstdint>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <cassert>
#include <cfloat>
#include <climits>
#include <stdio.h>
#include <math.h>
#include "cuda_runtime.h"
#include "device_launch_parameters.h"
__global__ void k(float *out, std::int32_t n) {
  std::uint8_t small = 300;
  std::memset(out, 0, n * sizeof(float));
  out[0] = std::sqrt(16.0f); out[1] = std::abs(-2.5f); out[2] = std::pow(2.0f, 3); out[3] = std::fmax(1.0f, 2.0f);
  out[4] = small; out[5] = std::abs(-7); out[6] = FLT_MAX > 1e38f && INT_MAX == 2147483647; assert(out[0] == 4);
}]]
    local out = mw.ones(8)
    m.k(1, 1)(out, 8)
    assert.same({ 4, 2.5, 8, 2, 44, 7, 1, 0 }, out:totable())
  end)

  it("of older toolkits can be included", function()
    local names = { "texture_types.h", "texture_fetch_functions.h", "texture_indirect_functions.h", "surface_types.h",
      "surface_functions.h", "surface_indirect_functions.h", "cuda_texture_types.h", "cuda_surface_types.h",
      "channel_descriptor.h", "sm_11_atomic_functions.h", "sm_12_atomic_functions.h", "sm_13_double_functions.h",
      "device_double_functions.h", "math_functions_dbl_ptx1.h", "math_functions_dbl_ptx3.h", "device_functions.h",
      "common_functions.h", "builtin_types.h", "driver_types.h", "math_functions.h", "host_defines.h" }
    for i, name in ipairs(names) do names[i] = ("#include <%s>\n"):format(name) end
    local m = mw.compile(table.concat(names) .. [[
texture<float, 1> t;
__global__ void k(float *out) { *out = tex1Dfetch(t, threadIdx.x) + 1; }]])
    local out = mw.zeros(1)
    m.t = mw.texture(mw.ones(4))
    m.k(1, 1)(out)
    assert.equal(2, out[1])
  end)

  it("include the C++ library's templates", function()
    if suite.on_gpu then return pending "CPU device only: NVRTC has no C++ library" end
    local m = mw.compile [[
#include <type_traits>
#include <utility>
#include <cstring>
#include <limits>
#include <array>
#include <tuple>
#include <algorithm>
#include <complex>
template <typename T> __global__ void go(T *out) {
  static_assert(std::is_floating_point_v<T>, "a number with a fraction");
  std::array<T, 3> a{3, 1, 2};
  auto t = std::make_tuple(7, T(8));
  out[0] = std::max(a[0], a[1]); out[1] = std::min<T>(a[1], 0); out[2] = std::clamp<T>(9, 0, 5);
  out[3] = std::get<1>(t); out[4] = std::numeric_limits<T>::epsilon() > 0; out[5] = std::sin(T(0)) + a.size();
  out[6] = std::pair<int, T>(1, 2).second; out[7] = std::is_same_v<std::decay_t<const T &>, T>;
}
template __global__ void go<float>(float *);
]]
    local out = mw.zeros(8)
    m["go<float>"](1, 1)(out)
    assert.same({ 3, 0, 5, 8, 1, 3, 2, 1 }, out:totable())
  end)

  it("leave host code in the same source alone", function()
    if suite.on_gpu then return pending "CPU device only: NVRTC has no C++ library" end
    local m = mw.compile [[
#include <vector>
#include <string>
#include <iostream>
#include <cmath>
#include <cstdio>
#include <algorithm>
__host__ __device__ float twice(float x) { return 2 * std::abs(x); }
__global__ void k(float *out) { out[threadIdx.x] = twice(out[threadIdx.x]); }
int main() {
  std::vector<float> v(10, -1);
  std::sort(v.begin(), v.end());
  std::cout << std::string("sum ") << twice(v[0]) + std::sin(2.0) + std::abs(-3) << "\n";
  printf("%d\n", (int)v.size());
  void *p = malloc(10);
  free(p);
}]]
    local out = mw.array { -1, 2, -3 }
    m.k(1, 3)(out)
    assert.same({ 2, 4, 6 }, out:totable())
  end)
end)

describe("a source", function()
  -- One name of each part of the headers.
  local uses = {
    "make_int2(3, 4).y",
    "atomicAdd(out, 0)",
    "sqrtf(16.0f)",
    "min(4, 5)",
    "sqrt(16.0)",
    "pow(2.0f, 2)",
    "rsqrtf(0.0625f)",
    "4 * cospi(0.0)",
    "4 + erfinv(0.0)",
    "4 * cyl_bessel_i0(0.0)",
    "__popc(0xf)",
    "__float2int_rn(4.2f)",
    "__fadd_rn(1, 3)",
    "__dadd_rz(1, 3)",
    "__mul24(2, 2)",
    "__saturatef(9) * 4",
    "isnan(1.0f) + 4",
    "__powf(2, 2)",
  }

  it("needs no header for any built-in function", function()
    for _, use in ipairs(uses) do
      local m = mw.compile("__global__ void k(int *out) { out[0] = (int)(" .. use .. "); }")
      local out = mw.zeros(1, "int")
      m.k(1, 1)(out)
      assert.equal(use:match "^atomic" and 0 or 4, out[1], use)
    end
  end)

  it("may name built-in functions by pasting, and in headers given as strings", function()
    local m = mw.compile {
      source = [[
#include "half.h"
#define ROUND(type, mode) __float2##type##_##mode
__global__ void k(int *out) { out[0] = ROUND(int, ru)(2.5f) + HALF(4.0f); }]],
      headers = { ["half.h"] = "#define HALF(x) __fmul_rn(x, 0.5f)" },
    }
    local out = mw.zeros(1, "int")
    m.k(1, 1)(out)
    assert.equal(5, out[1])
  end)
end)
