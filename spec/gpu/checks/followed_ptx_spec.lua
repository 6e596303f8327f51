-- What mwcc makes of barriers, copies and atomics in kernels of a checked run on a GPU (--checks): which functions of
-- device/moonwarp/checked_run they call instead, or as well. Lua 5.4 only: this does not depend on the binding. CPU
-- device only: it runs the compiler itself.

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
    for order, flags in pairs { relaxed = 512, acquire = 32, release = 64 + 512 } do
      assert.is_true(count(body, ", " .. flags + 256 + 2 + 1 .. ";") >= 1, order)
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

  it("has no reports if it is not checked", function()
    local text = mwcc.try([[#include <cuda_pipeline.h>
      __global__ void k(const float *x, float *y) { __pipeline_memcpy_async(y, x, 4); __pipeline_commit(); }]],
      "--target=nvptx --stoppable")
    assert.is_nil(text:find("__mw_check_event", 1, true))
  end)
end)
