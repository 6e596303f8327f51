-- Shared by specs about lifetimes: kernels that keep objects in use, and a way to collect all garbage.

local assert = require "luassert"
local mw = require "moonwarp"

local lifetime = {}

---The error that f(...) has to end with.
function lifetime.failure(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok, "no error was raised")
  return err
end

---Collects garbage. Twice: objects that finalizers let go of need a second round. LuaJIT's compiled traces keep the
---objects that they were made with, so they go first.
function lifetime.collect()
  if rawget(_G, "jit") then require("jit").flush() end
  collectgarbage()
  collectgarbage()
  mw.synchronize()
  collectgarbage()
end

---Bytes of memory that the process has.
function lifetime.resident()
  local page = 4096
  local file = assert(io.open "/proc/self/statm")
  local _, pages = file:read("n", "n")
  file:close()
  return pages * page
end

lifetime.text = [[
__device__ int total;
__constant__ int factor = 1;
__global__ void add(int n, const int *a, int *b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] += factor * a[i];
}
__global__ void count(int *p) { atomicAdd(p, 1); atomicAdd(&total, 1); }
// Takes a while: each thread goes round `rounds` times.
__global__ void slow(volatile int *p, int rounds) {
  for (int i = 0; i < rounds; i++) p[threadIdx.x & 15] = i;
  p[16 + (threadIdx.x & 15)] = 1;
}
template <int N> __global__ void plus(int *p) { p[threadIdx.x] += N; }
]]

---Whether a sanitizer watches.
lifetime.sanitized = os.getenv "MOONWARP_CONFIG" == "sanitize"

return lifetime
