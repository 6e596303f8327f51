-- Extensions of C++ that nvcc accepts: macros, types of the host interface, forms of asm, names of CUDA 13, functions
-- of long double. Values are compared with C's rules or with the headers for C hosts.

local mw = require "moonwarp"
local suite = require "support.suite"

local function run(text, count, dtype, ...)
  local out = mw.zeros(count or 1, dtype or "int")
  mw.compile(text).k(1, 1)(out, ...)
  return out:totable()
end

describe("nvcc's forms:", function()
  it("register is a warning, not an error", function()
    local m = mw.compile 'extern "C" __global__ void k(int *p) { register int x = 4; p[0] = x + 1; }'
    local out = mw.zeros(1, "int")
    m.k(1, 1)(out)
    assert.equal(5, out[1])
    if not suite.on_gpu then assert.matches("register", m:log()) end
  end)

  it("__NVCC__ is defined", function()
    assert.same({ 1 }, run [[
      #ifdef __NVCC__
      extern "C" __global__ void k(int *p) { p[0] = 1; }
      #endif
    ]])
  end)

  it("assumptions and profiler triggers", function()
    assert.same({ 9 }, run([[extern "C" __global__ void k(int *p, int n) {
      __builtin_assume(n > 2);
      __assume(n > 1);
      __prof_trigger(3);
      p[0] = n;
    }]], 1, "int", 9))
  end)

  it("types of the host interface in signatures", function()
    local m = mw.compile [[
      #include <cuda.h>
      extern "C" __global__ void pitched(cudaPitchedPtr p, cudaExtent e, cudaPos q, int *out) {
        out[0] = (int)(p.pitch + e.width * 10 + q.y * 100);
      }
      extern "C" __global__ void handle(cudaGraphConditionalHandle h, int *out) { out[0] = (int)h; }
      extern "C" __global__ void fetch(CUtexObject t, float *out) { out[0] = tex1Dfetch<float>(t, 1); }
    ]]
    local out = mw.zeros(1, "int")
    local pitched = mw.zeros(4, "float")
    m.pitched(1, 1)({ ptr = pitched, pitch = 3, xsize = 0, ysize = 0 }, { width = 2, height = 0, depth = 0 },
      { x = 0, y = 1, z = 0 }, out)
    assert.equal(123, out[1])
    m.handle(1, 1)(77, out)
    assert.equal(77, out[1])
    local x = mw.array({ 1.5, 2.5, 3.5 }, "float")
    local fetched = mw.zeros(1, "float")
    m.fetch(1, 1)(mw.texture(x), fetched)
    assert.equal(2.5, fetched[1])
  end)

  -- The enumerations of a header for C hosts, as "name = number".
  local function numbers(path)
    local file = assert(io.open(path))
    local text = file:read "*a"
    file:close()
    local list = {}
    for name, number in text:gmatch "(cuda%u%w+) = (%-?%d+)" do list[#list + 1] = { name, number } end
    return list
  end

  it("error codes and enumerations have the numbers that C hosts see", function()
    local lines, count = {}, 0
    for _, entry in ipairs(numbers "src/host/include/cuda_errors.h") do
      count = count + 1
      lines[#lines + 1] = ("static_assert(%s == %s, \"\");"):format(entry[1], entry[2])
    end
    assert.is_true(count > 90)
    for _, entry in ipairs(numbers "src/host/include/driver_types.h") do
      for _, kind in ipairs { "cudaMemcpy%u", "cudaMemoryType", "cudaComputeMode", "cudaFuncCache", "cudaSharedMem",
        "cudaLimit" } do
        if entry[1]:find("^" .. kind) then
          count = count + 1
          lines[#lines + 1] = ("static_assert(%s == %s, \"\");"):format(entry[1], entry[2])
        end
      end
    end
    assert.is_true(count > 120)
    assert.same({ 98 }, run(table.concat(lines, "\n") .. [[
      __device__ cudaError_t check(int x) { return x > 0 ? cudaSuccess : cudaErrorInvalidDeviceFunction; }
      extern "C" __global__ void k(int *p) { p[0] = check(0) + cudaRoundNearest; }
    ]]))
  end)

  it("vectors of 32 bytes by their alignment", function()
    assert.same({ 16, 32, 16, 32, 10 }, run([[extern "C" __global__ void k(int *p) {
      p[0] = alignof(double4_16a);
      p[1] = alignof(double4_32a);
      p[2] = alignof(longlong4_16a);
      p[3] = alignof(ulonglong4_32a);
      double4_32a v = make_double4_32a(1, 2, 3, 4);
      p[4] = (int)(v.x + v.y + v.z + v.w);
    }]], 5))
  end)

  it("atomics are said to be lock-free", function()
    if suite.on_gpu then return pending "CPU device only: NVRTC does not say" end
    assert.same({ 2, 2, 2 }, run([[extern "C" __global__ void k(int *p) {
      p[0] = __GCC_ATOMIC_INT_LOCK_FREE;
      p[1] = __GCC_ATOMIC_LLONG_LOCK_FREE;
      p[2] = __GCC_ATOMIC_POINTER_LOCK_FREE;
    }]], 3))
  end)

  it("-rdc=true and -dc change nothing", function()
    for _, option in ipairs { "-rdc=true", "--relocatable-device-code=true", "-dc" } do
      local m = mw.compile { source = 'extern "C" __global__ void k(int *p) { p[0] = 3; }', options = { option } }
      local out = mw.zeros(1, "int")
      m.k(1, 1)(out)
      assert.equal(3, out[1])
    end
  end)

  it("code for some architectures by nv/target", function()
    local text = [[
      #include <nv/target>
      extern "C" __global__ void k(int *p) {
        NV_IF_TARGET(NV_PROVIDES_SM_50, (p[0] = 1; p[1] = 2;))
        NV_IF_TARGET(NV_IS_HOST, (p[2] = 1;), (p[2] = 2;))
        NV_IF_ELSE_TARGET(NV_PROVIDES_SM_35, (int x = 5; p[3] = x;), (p[3] = 0;))
        NV_DISPATCH_TARGET(NV_IS_HOST, (p[4] = 1;), NV_NO_TARGET, (p[4] = 2;), NV_IS_DEVICE, (p[4] = 3;),
                           NV_ANY_TARGET, (p[4] = 4;))
      }]]
    assert.same({ 1, 2, 2, 5, 3 }, run(text, 5))
  end)
end)

describe("a function of long double", function()
  it("is the double's", function()
    if suite.on_gpu then return pending "CPU device only: NVRTC declares none" end
    local x, y = 7.25, -2.5
    local expected = { 2.25, 0.25, 7, -0.25, x * y + 1, 9.75, 3 }
    assert.same(expected, run([[extern "C" __global__ void k(double *p, double x, double y) {
      long double whole;
      int quotient;
      p[0] = fmodl(x, y);
      p[1] = modfl(x, &whole);
      p[2] = whole;
      p[3] = remquol(x, y, &quotient);
      p[4] = fmal(x, y, 1);
      p[5] = fdiml(x, y);
      p[6] = fmaxl(fabsl(-3.0L), y);
    }]], 7, "double", x, y))
  end)
end)

describe("math.h", function()
  it("leaves the names of C's macros to libraries", function()
    local classes = run([[
      #include <math.h>
      namespace library {
      template <class T> __device__ int fpclassify(T x) { return 40 + (x > 0); }
      template <class T> __device__ bool signbit(T x) { return !(x < 0); }
      template <class T> __device__ bool isfinite(T x) { return false; }
      }
      extern "C" __global__ void k(int *p, float zero) {
        p[0] = library::fpclassify(1.0f);
        p[1] = library::signbit(2.0f);
        p[2] = library::isfinite(2.0);
      #ifndef __MW_NVRTC__
        p[3] = fpclassify(zero) == FP_ZERO;
        p[4] = fpclassify(1.0f / zero) == FP_INFINITE;
        p[5] = fpclassify((double)zero / zero) == FP_NAN;
        p[6] = fpclassify(1e-40f + zero) == FP_SUBNORMAL;
      #endif
      }]], 7, "int", 0)
    local whole = suite.on_gpu and os.getenv "MOONWARP_NVRTC" ~= "off" and 0 or 1 -- NVRTC has no fpclassify
    assert.same({ 41, 1, 0, whole, whole, whole, whole }, classes)
  end)
end)

describe("asm", function()
  it("names special registers with one %", function()
    local got = run([[extern "C" __global__ void k(int *p) {
      unsigned long long time, later;
      unsigned lane, threads, doubled;
      asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time));
      asm volatile("mov.u64 %0, "
                           "%globaltimer;" : "=l"(later));
      asm("{ mov.u32 %0, %laneid; mov.u32 %1, %ntid.x; }" : "=r"(lane), "=r"(threads));
      asm("mov.u32 %0, %%ntid.x;" : "=r"(doubled));
      p[0] = later >= time;
      p[1] = lane;
      p[2] = threads;
      p[3] = doubled;
    }]], 4)
    assert.same({ 1, 0, 1, 1 }, got)
  end)

  it("may leave out a comma between operands", function()
    assert.same({ 7, 7 }, run([[extern "C" __global__ void k(int *p, int x, int y) {
      int r;
      asm("add.s32 %0, %1, %2;" : "=r"(r) : "r"(x) "r"(y));
      p[0] = r;
      asm volatile("{ add.s32 %0, %2, %3; mov.s32 %1, %0; }" : "=r"(r) "=r"(p[1]) : "r"((x)) "r"(y) : "memory");
    }]], 2, "int", 3, 4))
  end)

  it("is not looked for in comments and literals, nor misled by those in it", function()
    assert.same({ 6, 37, 2 }, run([=[
      // asm("%laneid" is what this file is about
      /* asm (unclosed */
      __device__ const char text[] = "asm(%tid" "x";
      extern "C" __global__ void k(int *p, int x) {
        asm("add.s32 %0, %1, %2;" /* a ) and a " here */ : "=r"(p[0]) : "r"(x), // and a " here
            "r"(x));
        p[1] = text[4];
        asm(R"(
          add.s32 %0, %1, -1;
        )" : "=r"(p[2]) : "r"(x));
      }]=], 3, "int", 3))
  end)

  it("has atomic operations with the qualifiers after the operation", function()
    assert.same({ 15, 10 }, run([[extern "C" __global__ void k(int *p, int x) {
      int old;
      p[0] = x;
      asm volatile("atom.add.acq_rel.gpu.global.s32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(5) : "memory");
      p[1] = old;
    }]], 2, "int", 10))
  end)
end)

describe("a function that is declared alone", function()
  it("is named, with what to do", function()
    if suite.on_gpu then return pending "CPU device only: NVRTC's words" end
    local m, e = mw.try_compile '__device__ int far(int); __global__ void k(int *p) { p[0] = far(p[1]); }'
    assert.is_nil(m)
    assert.matches("the function 'far%(int%)' is declared but defined nowhere: .*source = { one, other }", e.message)
  end)
end)
