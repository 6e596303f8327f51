-- What mwcc makes of barriers, copies and atomics in kernels of a checked run on a GPU (--checks): which functions of
-- device/moonwarp/checked_run they call instead, or as well.
-- Lua 5.4 only: this does not depend on the binding.
-- CPU device only: it runs the compiler itself.

local mwcc = require "support.mwcc"

local function body_of(source)
  local text, status = mwcc.try(source, "--target=nvptx --verify --arch=sm_90 --stoppable --checks=15")
  assert.equal(0, status, text)
  return assert(text:match("%.entry _Z%d+k[^(]*%b()[^{]*{(.-)\n}"), text)
end

local function count(text, word) return select(2, text:gsub(word, "")) end

describe("a kernel of a checked run on a GPU", function()
  for form, what in pairs {
    ["bar.sync 0;"] = "barrier",
    ["barrier.sync 0;"] = "barrier",
    ["bar.sync 1, 64;"] = "named",
    ["  barrier.cta.sync.aligned 2 , 64;\n"] = "named",
    ["bar.arrive 15, 64;"] = "named",
    ["barrier.sync 3;"] = "named",
    ["bar.sync 1, 64; bar.sync 2, 64;"] = "unknown",
    ["@p bar.sync 1;"] = "unknown",
  } do
    it(("takes '%s' as %s"):format(form, what), function()
      local body = body_of(('__global__ void k(int *x) { asm volatile("%s"); x[0] = 1; }'):format(
        form:gsub("\n", "\\n")))
      assert.equal(1, count(body, "__mw_guard_follow_" .. what .. ","), body)
      assert.equal(what == "unknown", body:find(form:match "bar[%a]*%.[%a%.]+", 1, true) ~= nil)
    end)
  end

  it("reads texture references, whose handles are not memory of the kernel", function()
    for _, checks in ipairs { 0, 1, 2, 4, 8, 15 } do
      local text, status = mwcc.try([[texture<float, 2, cudaReadModeElementType> image;
        __global__ void k(float *out) { out[threadIdx.x] = tex2D(image, threadIdx.x + .5f, .5f); }]],
        "--target=nvptx --verify --arch=sm_90 --stoppable" .. (checks > 0 and " --checks=" .. checks or ""))
      assert.equal(0, status, text)
      assert.matches("ld%.global[%w.]*%s+%%rd%d+, %[image%];", text)
      assert.is_nil(text:find(".texref", 1, true), "a variable of this kind cannot be loaded")
      assert.is_nil(text:find("cvta.global[%w.]*%s+%%rd%d+, image;"), text)
    end
  end)

  it("passes on a barrier's operands", function()
    local body = body_of [[__global__ void k(unsigned *x) {
      asm volatile("bar.sync %0, %1;" :: "r"(x[1]), "r"(x[2])); x[0] = 1; }]]
    assert.equal(1, count(body, "__mw_guard_follow_named,"))
  end)

  it("waits for the grid where a part of it may have ended", function()
    local body = body_of [[#include <cooperative_groups.h>
      __global__ void k(int *x) { cooperative_groups::this_grid().sync(); x[0] = 1; }]]
    assert.equal(1, count(body, "__mw_guard_follow_grid_wait,"))
  end)

  it("reports asynchronous copies, and takes atomics in the order that the source asks for", function()
    local body = body_of [[#include <cuda_pipeline.h>
      __global__ void k(const float *x, float *y) {
        __shared__ float s[64];
        __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4);
        __pipeline_commit();
        __pipeline_wait_prior(0);
        y[threadIdx.x] = s[threadIdx.x];
      }]]
    assert.equal(4, count(body, "__mw_guard_follow_event,"))
    body = body_of [[#include <cuda/atomic>
      __global__ void k(int *n) {
        cuda::atomic_ref<int, cuda::thread_scope_device> a(*n);
        a.exchange(1, cuda::memory_order_relaxed);
        a.exchange(1, cuda::memory_order_acquire);
        a.exchange(1, cuda::memory_order_release);
      }]]
    local SHADOWED = 2048
    for order, flags in pairs { relaxed = 512, acquire = 32, release = 64 + 512 } do
      assert.is_true(count(body, ", " .. flags + SHADOWED + 256 + 2 + 1 .. ";") >= 1, order)
    end
  end)

  it("follows cp.async in PTX, and the waits for it", function()
    local body = body_of [[__global__ void k(const float *x, float *y) {
        __shared__ float s[64];
        unsigned at = (unsigned)__cvta_generic_to_shared(&s[threadIdx.x]);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at), "l"(&x[threadIdx.x]) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group %0;" :: "n"(0) : "memory");
        y[threadIdx.x] = s[threadIdx.x];
        asm volatile("cp.async.wait_all;" ::: "memory");
      }]]
    assert.equal(6, count(body, "__mw_guard_follow_event,"))
    assert.equal(0, count(body, "__mw_guard_follow_unknown,"))
    assert.equal(4, count(body, "__mw_guard_follow,"))
    assert.matches("cp%.async%.ca%.shared%.global %[%%r%d+%], %[%%rd%d+%], 4;", body)
  end)

  it("follows the values of local variables, and of what is copied", function()
    local source = [[
      __device__ __noinline__ void get(const float *x, int i, float *out) { if (i > 3) *out = x[i]; }
      __global__ void k(float *y, const float *x, int n) {
        float a[8], v;
        for (int i = 0; i < n; i++) a[i] = 1;
        get(x, threadIdx.x, &v);
        y[threadIdx.x] = v * 2 + a[threadIdx.x & 7];
      }]]
    local text = mwcc.try(source, "--target=nvptx --verify --arch=sm_75 --stoppable --checks=8")
    local body = assert(text:match("%.entry _Z%d+k[^(]*%b()[^{]*{(.-)\n}"), text)
    assert.is_true(count(body, "__mw_guard_unwritten,") >= 1, body)
    assert.equal(0, count(body, "3get"))
    assert.equal(0, count(text, "__msan"))
    text = mwcc.try(source:gsub("float a%[8%], v", "float a[8] = {}, v = 0"),
      "--target=nvptx --arch=sm_75 --stoppable --checks=8")
    body = assert(text:match("%.entry _Z%d+k[^(]*%b()[^{]*{(.-)\n}"), text)
    assert.equal(1, count(body, "__mw_guard_shadow_find,"), body)
  end)

  it("looks up what is used only where it may be unwritten", function()
    local body = body_of [[__global__ void k(int *y) { y[threadIdx.x] = threadIdx.x + blockIdx.x; }]]
    assert.equal(0, count(body, "__mw_guard_shadow_find,"))
    assert.equal(0, count(body, "__mw_guard_unwritten,"))
    assert.equal(1, count(body, "__mw_guard_shadow_set,"))
  end)

  it("says which parameters a kernel only reads", function()
    local function read(parameters, text)
      local ptx = mwcc.try(("struct s { int *p; }; __global__ void k(%s) { %s }"):format(parameters, text),
        "--target=nvptx --verify --arch=sm_75 --stoppable --checks=2")
      local list = {}
      for which, only in ptx:gmatch "//mw\tfound\t(%d+)\t(%d)" do list[#list + 1] = which .. ":" .. only end
      return table.concat(list, " ")
    end
    assert.equal("0:1 1:0", read("int *x, int *y", "y[threadIdx.x] = x[threadIdx.x];"))
    assert.equal("1:1 2:0", read("int n, int *x, int *y", "for (int i = 0; i < n; i++) atomicAdd(y + i, x[i]);"))
    assert.equal("0:1", read("int *x", "__shared__ int s[4]; s[threadIdx.x & 3] = x[0];"))
    assert.equal("0:0", read("int *x, s a", "a.p[0] = x[0];"))
    assert.equal("0:0 1:0", read("int *x, int **y", "y[0][1] = x[0];"))
    assert.equal("0:0", read("int *x", 'asm volatile("{ st.global.u32 [%0], 1; }" :: "l"(x));'))
  end)

  it("follows bytes of shared memory by themselves where it accesses parts of words", function()
    local function uses(type)
      local source = "__global__ void k(int *y) { __shared__ %s s[64]; s[threadIdx.x] = 1; y[0] = s[1]; }"
      local text = mwcc.try(source:format(type), "--target=nvptx --arch=sm_75 --stoppable --checks=2")
      return tonumber(text:match "//mw\tfollowed\t(%d+)")
    end
    assert.equal(2, uses "int")
    assert.equal(2 + 64, uses "bool")
    assert.equal(2 + 64, uses "short")
  end)

  it("asks whether a shuffle that is used read an absent lane", function()
    local text = [[__global__ void k(int *y) {
      int v = threadIdx.x;
      v %s __shfl_down_sync(0xffff, v, 1);
      y[threadIdx.x] = v; }]]
    assert.equal(1, count(body_of(text:format "+="), "__mw_guard_shadow_absent,"))
  end)

  it("moves the shadow of a value with it in a shuffle, if it may be unwritten", function()
    local text = [[__global__ void k(float *y) {
      __shared__ float s[64];
      if (threadIdx.x < 32) s[threadIdx.x] = 1;
      __syncthreads();
      float v = %s;
      for (int d = 16; d; d /= 2) v += __shfl_%s(~0u, v, d);
      y[threadIdx.x] = v; }]]
    for mode, name in pairs { idx = "sync", up = "up_sync", down = "down_sync", bfly = "xor_sync" } do
      local body = body_of(text:format("s[threadIdx.x]", name))
      assert.equal(5, count(body, "__mw_guard_shadow_of_lane,"))
      local shuffled = assert(body:find("shfl.sync." .. mode, 1, true))
      local asked = assert(body:find("activemask.b32", shuffled, true))
      assert.equal(0, count(body:sub(shuffled, asked), "call")) -- lanes are together there
    end
    local body = body_of("__global__ void k(int *y) { y[threadIdx.x] = __shfl_down_sync(~0u, threadIdx.x, 1) + 1; }")
    assert.equal(0, count(body, "__mw_guard_shadow_of_lane,"))
  end)

  it("takes what PTX stores as written: a matrix, and after other stores everything", function()
    local body = body_of [[#include <mma.h>
      __global__ void k(float *y) {
        nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> c;
        nvcuda::wmma::fill_fragment(c, 1.f);
        nvcuda::wmma::store_matrix_sync(y, c, 32, nvcuda::wmma::mem_row_major);
      }]]
    assert.equal(1, count(body, "__mw_guard_shadow_put,"))
    assert.equal(0, count(body, "__mw_guard_shadow_unknown,"))
    body = body_of [[__global__ void k(unsigned at) { asm volatile("st.shared.u32 [%0], %1;" :: "r"(at), "r"(1)); }]]
    assert.equal(1, count(body, "__mw_guard_shadow_unknown,"))
    body = body_of [[__global__ void k(int *x) { asm volatile("st.global.u32 [%0], %1;" :: "l"(x), "r"(1)); }]]
    assert.equal(0, count(body, "__mw_guard_shadow_unknown,"))
  end)

  it("checks the alignment of a copy that the language gives one", function()
    local function ir(type)
      return mwcc.try(("__global__ void k(float *x, float4 *y) { y[0] = *(%s *)(x + 2); }"):format(type),
        "--target=nvptx --arch=sm_90 --stoppable --checks=1 --emit=ir")
    end
    assert.is_true(count(ir "float4", "and i64 %%%d+, 15") >= 2, ir "float4")
  end)

  it("has no reports if it is not checked", function()
    local text = mwcc.try([[#include <cuda_pipeline.h>
      __global__ void k(const float *x, float *y) { __pipeline_memcpy_async(y, x, 4); __pipeline_commit(); }]],
      "--target=nvptx --stoppable")
    assert.is_nil(text:find("__mw_check_event", 1, true))
  end)
end)
