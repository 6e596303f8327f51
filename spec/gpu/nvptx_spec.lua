-- PTX for NVIDIA GPUs by mwcc --target=nvptx: the selected instructions, refused features, and the description of a
-- module for hosts. If the CUDA toolkit's ptxas is installed, it assembles the PTX of many kernels.
-- Lua 5.4 only: this does not depend on the binding.
-- CPU device only: it runs the compiler itself, and compares with the C library's functions.

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local function ptx(source, options)
  local text, status = mwcc.try(source, "--target=nvptx --arch=sm_90 " .. (options or ""))
  assert.equal(0, status, text)
  return text
end

local function refused(source, options)
  local text, status = mwcc.try(source, "--target=nvptx " .. (options or ""))
  assert.is_true(status ~= 0, text)
  return text
end

-- The instructions in a kernel with this body, without the numbers of registers.
local function code(body, options, before)
  local text = ptx((before or "") .. "\n__global__ void k(int *i, float *f, double *d, unsigned long long *u) { " ..
    body .. " }", options)
  return assert(text:match "%.entry _Z1k.-{(.-)\n}")
end

describe("PTX by mwcc", function()
  it("keeps changes of a fragment's halves, which instructions read by words", function()
    local text = ptx [[
#include <mma.h>
using namespace nvcuda;
__global__ void k(const __half *C, __half *D) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, __half> c;
  wmma::load_matrix_sync(c, C, 16, wmma::mem_row_major);
  for (int i = 0; i < c.num_elements; i++) c.x[i] = c.x[i] + c.x[i];
  wmma::store_matrix_sync(D, c, 16, wmma::mem_row_major);
}]]
    assert.equal(8, mwcc.count(text, "cvt%.rn%.f16%.f32"))
  end)

  it("has a newer version where inline PTX needs it", function()
    local product = [[asm("mma.sync.aligned.m16n8k32.row.col.%s.e4m3.e4m3.%s {%%0,%%1}, {%%2,%%2,%%2,%%2}, {%%2,%%2}, "
      "{%%2,%%2};" : "=r"(i[0]), "=r"(i[1]) : "r"(i[2]));]]
    local body = "__global__ void k(unsigned *i) { " .. product:format("f16", "f16") .. " }"
    assert.matches("%.version 8%.7\n", ptx(body))
  end)

  it("has the requested architecture and version", function()
    local source = "__global__ void k(int *x) { *x = __CUDA_ARCH__; }"
    assert.matches("%.version 8%.0\n%.target sm_90\n.*mov%.b32 [^\n]*, 900;", ptx(source))
    assert.matches("%.version 8%.3\n%.target sm_75\n", mwcc.run(source, "--target=nvptx --arch=sm_75 --ptx=8.3"))
    assert.matches("%.target sm_52\n", mwcc.run(source, "--target=nvptx"))
    assert.matches("%-%-arch=sm_99 is not supported: use sm_50, .* A newer GPU runs code for an older one",
      refused(source, "--arch=sm_99"))
    assert.matches("%-%-ptx=9.9 is not supported: use a version from 7.0 to 8.5", refused(source, "--ptx=9.9"))
    assert.matches("%-%-ptx=7.0 is too old for sm_90: use 7.8 or later", refused(source, "--arch=sm_90 --ptx=7.0"))
    assert.matches("%-%-arch and %-%-ptx need %-%-target=nvptx", mwcc.run(source, "--arch=sm_90"))
    assert.matches("cannot be combined with options for the CPU device", refused(source, "--report"))
    assert.matches("%-%-stoppable needs %-%-target=nvptx", mwcc.run(source, "--stoppable"))
  end)

  it("has the source's kernels, variables and shared memory under their linkage names", function()
    local text = ptx [[
      __constant__ float gain[4];
      static __device__ int hidden = 3;
      __managed__ int both;
      texture<float, 2> img;
      extern "C" __global__ void __launch_bounds__(128) plain(int *x) {
        __shared__ int tile[32];
        extern __shared__ int more[];
        tile[threadIdx.x] = x[threadIdx.x] + hidden + both;
        more[threadIdx.x] = (int)(gain[threadIdx.x & 3] * tex2D(img, 1, 2));
        __syncthreads();
        x[threadIdx.x] = tile[31 - threadIdx.x] + more[31 - threadIdx.x];
      }
    ]]
    assert.matches("%.visible %.const %.align 4 %.b8 gain%[16%];", text)
    assert.matches("%.visible %.global %.align 4 %.u32 _ZL6hidden = 3;", text)
    assert.matches("%.visible %.global %.attribute%(%.managed%) %.align 4 %.u32 both;", text)
    assert.matches("%.visible %.global %.align 8 %.u64 img;", text)
    assert.is_nil(text:find(".texref", 1, true))
    assert.matches("%.visible %.entry plain%(", text)
    assert.matches("%.maxntid 128, 1, 1", text)
    assert.matches("%.extern %.shared", text)
    assert.matches("ld%.global%.nc%.u64 \t%%rd%d+, %[img%];", text)
    assert.matches("tex%.2d%.v4%.f32%.f32", text)
  end)

  it("copies 4, 8 and 16 bytes to shared memory at once", function()
    for bytes, words in pairs { [4] = "u32", [8] = "u64", [16] = "v4%.u32" } do
      local text = code(([[__shared__ float4 s[32];
        __pipeline_memcpy_async(&s[threadIdx.x], (char *)u + %d * threadIdx.x, %d);
        __syncthreads();
        ((float4 *)f)[threadIdx.x] = s[31 - threadIdx.x];]]):format(bytes, bytes), "", "#include <cuda_pipeline.h>")
      assert.matches("ld%.global%." .. words .. "%s.*st%.shared%." .. words .. "%s", text)
      assert.is_nil(text:find("%.u8"))
    end
  end)

  it("contains the user's inline PTX unchanged", function()
    local text = code [[asm volatile("{\n\t.reg .u32 t;\n\tmad.hi.cc.u32 t, %1, 3, 5;\n\tmov.u32 %0, t;\n\t}"
      : "=r"(i[0]) : "r"(i[1]));]]
    assert.matches("mad%.hi%.cc%.u32 t, %%r%d+, 3, 5;", text)
  end)

  it("is made of CUDA's own instructions where there are some", function()
    for _, case in ipairs {
      { "f[0] = __sinf(f[1]) + __cosf(f[2]);", "sin.approx.f32", "cos.approx.f32" },
      { "f[0] = __expf(f[1]) + __log2f(f[2]);", "ex2.approx.f32", "lg2.approx.f32" },
      { "f[0] = __fdividef(f[1], f[2]) + rsqrtf(f[3]);", "div.approx.f32", "rsqrt.approx.f32" },
      { "f[0] = f[1] / f[2] + sqrtf(f[3]);", "div.rn.f32", "sqrt.rn.f32" },
      { "f[0] = __fadd_rz(f[1], f[2]) * __fmul_ru(f[3], f[4]);", "add.rz.f32", "mul.rp.f32" },
      { "d[0] = __dadd_rd(d[1], d[2]) - __fma_rz(d[1], d[2], d[3]);", "add.rm.f64", "fma.rz.f64" },
      { "f[0] = f[1] * f[2] + f[3];", "fma.rn.f32" },
      { "f[0] = __fadd_rn(__fmul_rn(f[1], f[2]), f[3]);", "mul.rn.f32", "add.rn.f32" },
      { "f[0] = __int2float_rz(i[0]) + __ull2float_rz(u[0]); d[0] = __ll2double_rz(u[1]);", "cvt.rz.f32.s32",
        "cvt.rz.f32.u64", "cvt.rz.f64.s64" },
      { "i[0] = __float2int_rz(f[0]) + __double2int_rn(d[0]);", "cvt.rzi.s32.f32", "cvt.rni.s32.f64" },
      { "((unsigned char *)i)[0] = (unsigned char)f[0]; ((short *)i)[2] = (short)f[1];", "cvt.rzi.u32.f32",
        "cvt.rzi.s32.f32" },
      { "i[0] = __clz(i[1]) + __popc(i[2]) + __brev(i[3]);", "clz.b32", "popc.b32", "brev.b32" },
      { "i[0] = __mulhi(i[1], i[2]); u[0] = __umul64hi(u[1], u[2]);", "mul.hi.s32", "mul.hi.u64" },
      { "atomicAdd(i, 1); atomicAdd(f, 1); atomicAdd(d, 1);", "atom.global.add.u32", "atom.global.add.f32",
        "atom.global.add.f64" },
      { "i[0] = atomicCAS(i + 1, 2, 3) + atomicInc((unsigned *)i, 7) + atomicExch(i, 4);", "atom.global.cas.b32",
        "atom.inc.u32", "atom.global.exch.b32" },
      { "atomicAdd_block(i, 1); atomicMax_system(i, 3); atomicCAS_system(u, 1, 2);", "atom.cta.add.s32",
        "atom.sys.max.s32", "atom.sys.cas.b64" },
      { "i[0] = __shfl_sync(~0u, i[1], 3) + __shfl_xor_sync(~0u, i[2], 1, 16);", "shfl.sync.idx.b32",
        "shfl.sync.bfly.b32" },
      { "i[0] = __ballot_sync(~0u, i[1]) + __any_sync(~0u, i[2]) + __activemask();", "vote.sync.ballot.b32",
        "vote.sync.any.pred", "activemask.b32" },
      { "i[0] = __match_any_sync(~0u, i[1]) + __reduce_add_sync(~0u, i[2]);", "match.any.sync.b32",
        "redux.sync.add.s32" },
      { "i[0] = __syncthreads_count(i[1]); __syncwarp(); __syncthreads();", "barrier.red.popc.aligned.u32",
        "bar.warp.sync", "bar.sync" },
      { "i[0] = 1; __threadfence(); i[1] = 2; __threadfence_system(); i[2] = 3; __threadfence_block();", "membar.gl",
        "membar.sys", "membar.cta" },
      { "f[0] = __ldg(f + 1); __stcs(f + 2, __ldcg(f + 3));", "ld.global.nc.u32", "ld.cg.u32", "st.cs.u32" },
      { "u[0] = clock64(); i[0] = threadIdx.y + blockIdx.z; __nanosleep(10);", "%clock64", "%tid.y", "%ctaid.z",
        "nanosleep.u32" },
      { "i[0] = __isShared(i) + (int)__cvta_generic_to_shared(i + 1);", "isspacep.shared", "cvta.to.shared" },
      { 'printf("%d\\n", i[0]); free((void *)u[0]); u[1] = (size_t)malloc(i[1]);', "vprintf", "malloc", "free" },
      { "assert(i[0] == 1);", "__mw_fail_assertion" },
      { "__trap();", "__mw_fail_trap" },
      { "asm volatile(\"trap;\");", "trap;" },
    } do
      local text = code(case[1])
      for n = 2, #case do
        assert.is_truthy(text:find(case[n], 1, true), case[1] .. ": no " .. case[n] .. " in " .. text)
      end
    end
  end)

  it("holds real numbers that are not integers, including constants", function()
    local text = code [[double big = -4e18; i[0] = (int)big; ((short *)i)[2] = (short)(i[3] == 3 ? 70000.0f : f[0]);]]
    assert.matches("cvt%.rzi%.s32%.f64", text)
    assert.matches("cvt%.rzi%.s32%.f32", text)
  end)

  it("is fast and flushes denormal numbers with -use_fast_math", function()
    local body = "f[0] = f[1] / f[2]; f[3] = sqrtf(f[4]); f[5] = sinf(f[6]);"
    local text = code(body, "-use_fast_math")
    for _, name in ipairs { "div.approx.ftz.f32", "sqrt.rn.ftz.f32", "sin.approx" } do
      assert.is_truthy(text:find(name, 1, true), text)
    end
    assert.is_nil(code(body):find("approx", 1, true))
    assert.is_nil(code("f[0] = __fdiv_rn(f[1], f[2]) + __frcp_rn(f[3]);", "-use_fast_math"):find("approx", 1, true))
  end)

  it("puts fences around atomic operations with an order", function()
    local text = code([[x.fetch_add(1); i[0] = x.load(); x.store(3);]], nil, [[
      #include <cuda/atomic>
      __device__ cuda::atomic<int, cuda::thread_scope_device> x;]])
    assert.matches("membar%.sys;[^;]*;\n\tatom%.global%.add%.u32[^\n]*\n\tmembar%.sys;", text)
    assert.matches("membar%.sys;\n\tld%.volatile[^\n]*\n\tmembar%.sys;", text)
    assert.matches("membar%.sys;[^;]*;\n\tst%.volatile[^\n]*\n\tmembar%.sys;", text)
  end)

  it("refuses what the architecture lacks, and undefined functions, with the line", function()
    assert.matches(":2:%d+: error: __reduce_%*_sync%(%) came with compute capability 8.0, and this is compiled for 7.5",
      refused("__global__ void k(int *x) {\n  x[0] = __reduce_add_sync(~0u, x[1]);\n}", "--arch=sm_75"))
    assert.matches(":3:%d+: error: the function 'elsewhere' is not defined, neither in this source nor for GPUs",
      refused 'extern "C" __device__ int elsewhere(int);\n__global__ void k(int *x) {\n  x[0] = elsewhere(x[1]);\n}')
    assert.matches(":1:%d+: error: use of undeclared identifier 'y'", refused "__global__ void k(int *x) { *x = y; }")
  end)

  it("has lines with -lineinfo, and no other debug information", function()
    local source = "__global__ void k(int *x) {\n  x[0] = x[1] + 1;\n}"
    local text = ptx(source, "-lineinfo")
    assert.matches("%.loc\t%d+ 2 ", text)
    assert.is_nil(text:find(".debug_info", 1, true))
    assert.is_nil(text:find(", debug", 1, true))
    assert.is_nil(ptx(source):find(".loc", 1, true))
    local calls = ptx("__global__ void k(double *x) {\n  x[0] = sin(x[1]) + cos(x[2]);\n}", "-lineinfo")
    assert.matches("%.loc", calls)
    for call in calls:gmatch "\n\tcall.-;" do assert.is_nil(call:find("$L__", 1, true)) end
  end)

  it("limits registers with --maxrregcount", function()
    assert.matches("%.maxnreg 32", ptx("__global__ void k(int *x) { x[0]++; }", "--maxrregcount=32"))
  end)

  it("ends with the description that a host needs", function()
    local text = ptx([[
      struct Node { float x; int3 at; Node *next; };
      __constant__ Node first;
      texture<uchar4, 2, cudaReadModeNormalizedFloat> img;
      template <typename T, int N> __global__ void fill(T *p, Node node) {
        p[threadIdx.x] = N * node.x + tex2D(img, 0, 0).x;
      }]], "--instance 'fill<float,4>'")
    local number = text:match "//mw\ttype\t(%d+)\t7\t0\t24\t8\t3\t0\tNode\n"
    assert.matches("//mw\tmember\tx\t0\t%d+\n//mw\tmember\tat\t4\t%d+\n//mw\tmember\tnext\t16\t%d+\n", text)
    assert.matches("//mw\tvariable\tfirst\tfirst\t1\t24\t8\t#" .. number .. "\t\n", text)
    assert.matches("//mw\tvariable\timg\timg\t0\t8\t8\t#%d+\ttexture:%d+:2:%d+\n", text)
    assert.matches("//mw\tkernel\t_Z4fillIfLi4EEvPT_4Node\tfill<float, 4>\t4\t0\t\n" ..
      "//mw\tparam\t8\t8\tu\tp\t#%d+\n//mw\tparam\t24\t8\t%-\tnode\t#" .. number .. "\n//mw\treads\timg\n", text)
  end)
end)

-- ---- functions that the C library has on the CPU device, and our headers on a GPU ----

describe("a function that a GPU has no library for", function()
  local m
  setup(function()
    m = mw.compile [[
      #define two(name, call, other)                                                                                   \
        __global__ void name(int n, const double *x, double *y, double *z) {                                           \
          int i = threadIdx.x + blockIdx.x * blockDim.x;                                                               \
          if (i < n) y[i] = call, z[i] = other;                                                                        \
        }
      two(sin_, __mw_far_sin(x[i]), sin(x[i])) two(cos_, __mw_far_cos(x[i]), cos(x[i]))
      two(tan_, __mw_far_tan(x[i]), tan(x[i]))
      two(tgamma_, __mw_whole_tgamma(x[i]), tgamma(x[i])) two(lgamma_, __mw_whole_lgamma(x[i]), lgamma(x[i]))
      two(j0_, __mw_whole_j0(x[i]), j0(x[i])) two(j1_, __mw_whole_j1(x[i]), j1(x[i]))
      two(y0_, __mw_whole_y0(x[i]), y0(x[i])) two(y1_, __mw_whole_y1(x[i]), y1(x[i]))
      two(jn_, __mw_whole_jn(i % 20, x[i]), jn(i % 20, x[i])) two(yn_, __mw_whole_yn(i % 20, x[i]), yn(i % 20, x[i]))
    ]]
  end)

  -- Both functions' values at the numbers; `far(a, b)` says where they are too far from each other.
  local function compare(name, numbers, far)
    local n = #numbers
    local x, y, z = mw.array(numbers, "double"), mw.zeros(n, "double"), mw.zeros(n, "double")
    m[name .. "_"](mw.cdiv(n, 64), 64)(n, x, y, z)
    for i = 1, n do
      local a, b = y[i], z[i]
      if not (a == b or (a ~= a and b ~= b)) and far(a, b) then
        error(("%s(%.17g) is %.17g, and %.17g by the C library"):format(name, numbers[i], a, b))
      end
    end
  end

  -- NaN is not.
  local function within(x, most) return x <= most end

  -- More than so many units in the last place; libm's own errors among them.
  local function ulps(most)
    return function(a, b) return not within(math.abs(a - b), most * 2 ^ -52 * math.abs(b) + 2 ^ -1074) end
  end
  local function absolute(most)
    return function(a, b) return not within(math.abs(a - b), most) end
  end

  local function spread(count, f)
    local list = {}
    for i = 1, count do list[i] = f(i / count, i) end
    return list
  end

  it("is as exact: sine, cosine and tangent of large angles", function()
    local angles = spread(500, function(t, i) return (1 + t) * 2.0 ^ (20 + i * 2 % 1003) * (i % 2 * 2 - 1) end)
    for _, special in ipairs { 1 / 0, -1 / 0, 0 / 0, 2.0 ^ 1023, 5319372648326541 * 2.0 ^ 53 } do
      angles[#angles + 1] = special
    end
    compare("sin", angles, ulps(2))
    compare("cos", angles, ulps(2))
    compare("tan", angles, ulps(3))
  end)

  it("is as exact: gamma and its logarithm", function()
    local special = { 1 / 0, 0 / 0, 0, 1, 2, 3, -1, -2, 1e-310, 172, 171.5, -0.5, 1e-20, -1e-20, 12, 11.999999 }
    local numbers = spread(600, function(t, i) return i % 3 == 0 and -170 * t or i % 3 == 1 and 172 * t or 4 * t end)
    table.move(special, 1, #special, #numbers + 1, numbers)
    compare("tgamma", numbers, ulps(12))
    local upward = spread(400, function(t, i) return i % 2 == 0 and 4 * t or 10 ^ (300 * t) end)
    table.move(special, 1, #special, #upward + 1, upward)
    compare("lgamma", upward, ulps(8))
    compare("lgamma", spread(100, function(t) return -2.26 * t end), ulps(12))
  end)

  it("is within CUDA's bounds: Bessel functions", function()
    local numbers = spread(400, function(t, i) return i % 2 == 0 and 20 * t or 8 + 2000 * t end)
    for _, special in ipairs { 1 / 0, 0 / 0, 8, 7.9999999 } do numbers[#numbers + 1] = special end
    for _, name in ipairs { "j0", "j1", "y0", "y1", "jn" } do compare(name, numbers, absolute(5e-13)) end
    compare("yn", spread(400, function(t) return 20 + 1000 * t end), absolute(5e-13))
    compare("yn", spread(40, function(t) return 20 * t end), ulps(2000))
  end)
end)

-- ---- what the toolkit's assembler says of it ----

local ptxas
for _, path in ipairs { "ptxas", "/usr/local/cuda/bin/ptxas", "/opt/cuda/bin/ptxas" } do
  if not ptxas and os.execute("command -v " .. path .. " >/dev/null 2>&1") then ptxas = path end
end

local function assemble(name, text)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  local arch = text:match "%.target (sm_%d+)"
  local pipe = assert(io.popen(("'%s' -O0 -arch=%s %s -o /dev/null 2>&1"):format(ptxas, arch, path)))
  local output = pipe:read "*a"
  local ok = pipe:close()
  os.remove(path)
  assert(ok, name .. ": " .. output)
end

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end

local function files(pattern)
  local list, pipe = {}, assert(io.popen("ls " .. pattern))
  for path in pipe:lines() do list[#list + 1] = path end
  pipe:close()
  assert(#list > 0, pattern)
  return list
end

local function it_assembles(name, action)
  it("assembles " .. name, function()
    if not ptxas then return pending "ptxas of the CUDA toolkit is not installed" end
    action()
  end)
end

describe("ptxas", function()
  it_assembles("the benchmarks' kernels", function()
    for _, path in ipairs(files "bench/kernels/*/*.cu") do assemble(path, ptx(read(path))) end
  end)

  it_assembles("the examples' kernels", function()
    local count = 0
    for _, path in ipairs(files "examples/*.lua") do
      for _, source in read(path):gmatch "mw%.compile%s*%(?%s*%[(=*)%[(.-)%]%1%]" do
        count = count + 1
        assemble(path, ptx(source))
      end
    end
    assert.is_true(count >= 10)
  end)

  it_assembles("every function of mathematics that there is", function()
    local calls, count = {}, 0
    for name in read "docs/build/accuracy.md":gmatch "\n| `([%w_]+)` |" do
      count = count + 1
      calls[count] = ("  at(%d, name(%s));"):format(count, name)
    end
    assert.is_true(count > 100)
    assemble("mathematics", ptx([[
      // with as many numbers as it takes: a function is tried with one, two and three
      template <class T, class F> __device__ auto call(F f, const T *x, int) -> decltype(f(x[0])) { return f(x[0]); }
      template <class T, class F> __device__ auto call(F f, const T *x, int) -> decltype(f(x[0], x[1])) {
        return f(x[0], x[1]);
      }
      template <class T, class F> __device__ auto call(F f, const T *x, int) -> decltype(f(x[0], x[1], x[2])) {
        return f(x[0], x[1], x[2]);
      }
      template <class T, class F> __device__ auto call(F f, const T *x, int) -> decltype(f(x[0], x[1], x[2], x[3])) {
        return f(x[0], x[1], x[2], x[3]);
      }
      template <class T, class F> __device__ T call(F, const T *, long) { return 0; } // pointers: sincos and its like
      #define name(f) [](auto... a) -> decltype(f(a...)) { return f(a...); }
      #define at(i, f) y[i] = call(f, x + i, 0), b[i] = call(f, a + i, 0)
      __global__ void all(const double *x, double *y, const float *a, float *b) {
      ]] .. table.concat(calls, "\n") .. "\n  sincos(x[0], y, y + 1); sincosf(a[0], b, b + 1); }"))
  end)

  it_assembles("every form of fetch, surface function, atomic, shuffle and vote", function()
    local lines = {}
    local function add(...) lines[#lines + 1] = (...):format(select(2, ...)) end
    local fetches = {
      { "tex1D", 1, "x", "x, x" }, { "tex2D", 2, "x, y", "p2, p2" }, { "tex3D", 3, "x, y, z", "p4, p4" },
      { "tex1DLayered", 0xf1, "x, i", "x, x" }, { "tex2DLayered", 0xf2, "x, y, i", "p2, p2" },
      { "texCubemap", 0xc, "x, y, z", "p4, p4" }, { "texCubemapLayered", 0xfc, "x, y, z, i", "p4, p4" },
    }
    local references = {}
    for k, element in ipairs { "float", "float4", "uchar4", "short2", "int", "unsigned int", "signed char" } do
      for n, fetch in ipairs(fetches) do
        local name = ("r%d_%d"):format(k, n)
        references[#references + 1] = ("texture<%s, %d> %s;"):format(element, fetch[2], name)
        local place = fetch[3]
        for _, form in ipairs { { "", place }, { "Lod", place .. ", y" }, { "Grad", place .. ", " .. fetch[4] } } do
          add("put(out, %s%s<%s>(t, %s));", fetch[1], form[1], element, form[2])
          add("put(out, %s%s(%s, %s));", fetch[1], form[1], name, form[2])
        end
      end
      add("put(out, tex1Dfetch<%s>(t, i)); put(out, tex1Dfetch(r%d_1, i));", element, k)
      add("put(out, tex2Dgather<%s>(t, x, y, i)); put(out, tex2Dgather(r%d_2, x, y, 3));", "float4", k)
    end
    for _, element in ipairs { "unsigned char", "short", "float", "int2", "float4" } do
      for name, place in pairs {
        surf1D = "i", surf2D = "i, 1", surf3D = "i, 1, 2", surf1DLayered = "i, 1", surf2DLayered = "i, 1, 2",
        surfCubemap = "i, 1, 2", surfCubemapLayered = "i, 1, 7",
      } do
        for _, mode in ipairs { "", ", cudaBoundaryModeZero", ", cudaBoundaryModeClamp" } do
          add("%swrite(%sread<%s>(t, %s%s), t, %s%s);", name, name, element, place, mode, place, mode)
        end
      end
    end
    for _, scope in ipairs { "", "_block", "_system" } do
      for _, name in ipairs { "Add", "Exch", "Min", "Max", "And", "Or", "Xor" } do
        for _, type in ipairs { "int", "unsigned", "unsigned long long" } do
          add("put(out, atomic%s%s((%s *)out, (%s)i));", name, scope, type, type)
        end
      end
      add("put(out, atomicAdd%s((float *)out, x)); put(out, atomicAdd%s((double *)out, x));", scope, scope)
      add("put(out, atomicCAS%s((unsigned short *)out, (unsigned short)1, (unsigned short)2));", scope)
      add("put(out, atomicCAS%s((unsigned long long *)out, 1ull, 2ull));", scope)
      add("put(out, atomicInc%s((unsigned *)out, 9) + atomicDec%s((unsigned *)out, 9));", scope, scope)
      add("put(out, atomicSub%s(out, i)); put(out, atomicMin%s((long long *)out, (long long)i));", scope, scope)
    end
    for _, type in ipairs { "int", "unsigned", "float", "long long", "unsigned long long", "double", "long" } do
      for _, name in ipairs { "shfl", "shfl_up", "shfl_down", "shfl_xor" } do
        add("put(out, __%s_sync(~0u, (%s)x, 1, 16));", name, type)
      end
      add("put(out, __match_any_sync(~0u, (%s)x) + __match_all_sync(~0u, (%s)y, &i));", type, type)
    end
    for _, name in ipairs { "all", "any", "ballot", "uni" } do add("put(out, __%s_sync(~0u, i));", name) end
    local text = ptx(table.concat(references, "\n") .. [[
      template <class T> __device__ void put(int *out, T value) { *(volatile T *)out = value; }
      #define vectors(V) __device__ void put(int *out, V v) { put(out, v.x); put(out, v.y); }
      vectors(float2) vectors(float4) vectors(uchar4) vectors(short2) vectors(short4) vectors(int4) vectors(uint4)
      vectors(char4)
      __global__ void all(cudaTextureObject_t t, float x, float y, float z, float2 p2, float4 p4, int i, int *out) {
      ]] .. table.concat(lines, "\n") .. "}")
    assert.is_true(mwcc.count(text, "\n\ttex%.[^\n]*") >= 2 * 3 * 7 * 7)
    assert.is_true(mwcc.count(text, "\n\tsu[ls][dt]%.b%.[^\n]*") >= 2 * 3 * 7 * 5)
    assemble("forms", text)
  end)
end)
