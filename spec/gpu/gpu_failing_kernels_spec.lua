-- Kernels on a real GPU that fail or do not end, after which the process can still use the GPU: all in one process.
-- (cuda_failing_kernels_spec has the driver's part on any machine, gpu_fault_spec the faults that the hardware finds.)

local mw = require "moonwarp"
local suite = require "support.suite"
local failure = require "support.failure"
local child = require "support.child"

describe("a GPU", function()
  if not suite.on_gpu then
    it("is for a machine with one", function() pending "GPU only: failing kernels on a real one" end)
    return
  end

  local text = [==[
#include <cooperative_groups.h>
#include <cuda/barrier>
__constant__ int chosen[4];
__device__ float total[4];
__device__ int *kept;
struct pair { float *from, *to; int n; };

__global__ void claim(int *p) { assert(p[threadIdx.x] == 1); p[threadIdx.x] = 2; }
__global__ void trap(int *p) { if (threadIdx.x == 3) __trap(); }
__device__ __noinline__ void deep(int *p, int n) { if (n) deep(p, n - 1); assert(p[0] == 99); }
__global__ void in_a_function(int *p) { deep(p, 5); }
__global__ void with_barrier(int *p) {
  assert(threadIdx.x != 7);
  __syncthreads();
  if (__any_sync(__activemask(), threadIdx.x == 3)) __syncthreads();
  p[threadIdx.x] = 5;
}
__global__ void with_grid(int *p, int bad) {
  auto grid = cooperative_groups::this_grid();
  if (blockIdx.x == bad) assert(p[0] == 4711);
  grid.sync();
  if (threadIdx.x == 0) atomicAdd(p + 1, 1);
  grid.sync();
  if (grid.thread_rank() == 0) p[2] = p[1];
}
__global__ void with_block(int *p, int bad) {
  __shared__ cuda::barrier<cuda::thread_scope_block> all;
  if (threadIdx.x == 0) init(&all, blockDim.x);
  __syncthreads();
  assert(threadIdx.x != bad);
  all.arrive_and_wait();
  p[threadIdx.x] = 1;
}
__global__ void endless(volatile int *p) { while (p[0] == 0) ; }
__global__ void endless_for(float *p) { for (float x = 1; x > 0; x += 1) p[0] = x * p[1]; }
__global__ void endless_barrier(int *p) { while (__syncthreads_and(p[0] == 0)) ; }
__global__ void fine(int *p, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) p[i] = i; }

__global__ void write(float *x, int i) { x[i] = 1; }
__global__ void read(const float *x, float *y, int i) { y[0] = x[i]; }
__global__ void odd(char *x, int i) { *(short *)(x + i) = 1; }
__global__ void vectors(float4 *x, int i) { x[i] = make_float4(1, 2, 3, 4); }
__global__ void atomics(int *x, int i) { atomicAdd(x + i, 1); }
__global__ void scoped(int *x, int i) { atomicMax_system(x + i, 1); }
__global__ void hinted(const float *x, float *y, int i) { __stcs(y, __ldg(x + i)); }
__global__ void variables(int i) { total[i] = chosen[i & 3]; }
__global__ void shared(float *y, int i) {
  __shared__ float tile[8];
  tile[threadIdx.x] = 1;
  __syncthreads();
  tile[i] = 2;
  y[0] = tile[0];
}
__global__ void dynamic(float *y, int i) {
  extern __shared__ float room[];
  room[i] = 2;
  y[0] = room[i];
}
__global__ void local(float *y, int i) {
  float cells[16];
  for (int k = 0; k < 16; k++) cells[k] = y[0] + k;
  cells[i] = 3;
  for (int k = 0; k < 16; k++) y[0] += cells[(k * 7 + i) & 15];
}
__global__ void copies(pair p) { if (threadIdx.x < p.n) p.to[threadIdx.x] = p.from[threadIdx.x]; }
__global__ void blocks(float *x, const float *y, int bytes) { memcpy(x, y, bytes); }
__global__ void keep(int *x) { kept = x; }
__global__ void use(int i) { kept[i] = 2; }
__global__ void given(int *x) {
  int *mine = (int *)malloc(400);
  for (int i = 0; i < 100; i++) mine[i] = i;
  kept = mine;
  x[0] = kept[99];
  free(mine);
}
]==]

  local x

  before_each(function() x = mw.zeros(64, "int") end)

  local function wait_for(launch) return failure(function() launch() mw.synchronize() end) end
  -- The failure leaves no trace, and other kernels have right results.
  local function works(m)
    local p = mw.zeros(5000, "int")
    m.fine(20, 256)(p, 5000)
    mw.synchronize()
    assert.equal(5000 * 4999 // 2, p:sum())
  end

  for _, kind in ipairs { "by the usual compiler", "by mwcc with checks" } do
    describe("that fails an assertion or traps, compiled " .. kind .. ",", function()
      local m = mw.compile { source = text, options = kind:find "mwcc" and { "--check-memory" } or nil }

      it("reports which one, and stays usable", function()
        for _ = 1, 3 do
          local err = wait_for(function() m.claim(3, 40)(x) end)
          assert.equal("cudaErrorAssert", err.code)
          assert.equal("claim", err.kernel)
          assert.matches("^kernel claim failed the assertion 'p%[threadIdx.x%] == 1'; " ..
            "%S+gpu_failing_kernels_spec.lua:%d+, block %(%d,0,0%), thread %(%d+,0,0%); " ..
            "launched at %S+gpu_failing_kernels_spec.lua:%d+", err.message)
          works(m)
        end
      end)

      it("traps without a fault", function()
        local err = wait_for(function() m.trap(1000, 256)(x) end)
        assert.equal("cudaErrorLaunchFailure", err.code)
        assert.same({ 3, 0, 0 }, err.thread)
        assert.matches("kernel trap called __trap%(%); %S+:%d+, block", err.message)
        works(m)
      end)

      it("fails in functions, and before barriers", function()
        assert.matches("p%[0%] == 99", wait_for(function() m.in_a_function(1, 1)(x) end).message)
        local err = wait_for(function() m.with_barrier(100, 64)(x) end)
        assert.same({ 7, 0, 0 }, err.thread)
        works(m)
      end)

      it("runs later launches, and reports the first of several failures", function()
        m.fine(1, 64)(x, 64)
        m.trap(1, 64)(x)
        m.claim(1, 64)(x)
        m.fine(1, 64)(x, 64)
        local err = failure(mw.synchronize)
        assert.equal("trap", err.kernel)
        mw.synchronize()
        assert.equal(63, x[64])
      end)

      it("ends grids and blocks that wait for threads that have ended", function()
        for _ = 1, 3 do
          local err = wait_for(function() m.with_grid:cooperative(8, 64)(x, 3) end)
          assert.matches("p%[0%] == 4711", err.message)
          local y = mw.zeros(3, "int")
          m.with_grid:cooperative(8, 64)(y, -1)
          mw.synchronize()
          assert.equal(8, y[3])
          assert.same({ 5, 0, 0 }, wait_for(function() m.with_block(4, 64)(x, 5) end).thread)
          m.with_block(4, 64)(x, -1)
          mw.synchronize()
          assert.equal(64, x:sum())
        end
      end)

      it("can be reset", function()
        wait_for(function() m.claim(1, 1)(x) end)
        mw.device():reset()
        m = mw.compile { source = text, options = kind:find "mwcc" and { "--check-memory" } or nil }
        works(m)
        x = mw.zeros(64, "int")
        assert.equal("cudaErrorAssert", wait_for(function() m.claim(1, 1)(x) end).code)
      end)
    end)
  end

  describe("with a limit of time", function()
    local m

    setup(function()
      mw.limit("time", 0.3)
      m = mw.compile(text)
    end)
    teardown(function() mw.limit("time", 0) end)

    for _, name in ipairs { "endless", "endless_for", "endless_barrier" } do
      it("stops a kernel without an end: " .. name, function()
        for _ = 1, 2 do
          local y = mw.zeros(8, name == "endless_for" and "float" or "int")
          local err = wait_for(function() m[name](2000, 256)(y) end)
          assert.equal("cudaErrorLaunchTimeout", err.code)
          assert.matches(name .. ' was stopped: it ran longer than 0.3 s %(the limit "time"%)', err.message)
          works(m)
        end
      end)
    end

    it("runs work that was queued later", function()
      local y = mw.zeros(1, "int")
      m.endless(1, 1)(y)
      m.fine(1, 64)(x, 64)
      assert.equal("endless", failure(mw.synchronize).kernel)
      assert.equal(63, x[64])
    end)

    it("stops a kernel that a copy waits for, and not kernels that exceed the limit only together", function()
      local y = mw.zeros(1, "int")
      m.endless(1, 1)(y)
      assert.equal("cudaErrorLaunchTimeout", failure(function() return y[1] end).code)
      for _ = 1, 2000 do m.fine(20, 256)(x, 64) end
      mw.synchronize()
      works(m)
    end)
  end)

  it("stops a kernel with checks for an interrupt, as the prompt does", function()
    local result = child [==[
      local mw, raw = require "moonwarp", require "moonwarp.binding"
      mw.check_memory(true)
      local m = mw.compile "__global__ void endless(volatile int *p) { while (p[0] == 0) ; }"
      raw.interrupt_watch(true)
      m.endless(500, 64)(mw.zeros(1, "int"))
      io.popen("kill -INT $PPID"):close() -- os.execute would let the signal pass
      local ok, err = pcall(mw.synchronize)
      print(ok, err.code, err.message, raw.interrupted())
      m.endless(500, 64)(mw.ones(1, "int"))
      mw.synchronize()
      print(mw.ones(4):sum() == 4)
    ]==]
    assert.is_true(result.ok, result.output)
    assert.matches("^false\tcudaErrorLaunchTimeout\tkernel endless was interrupted; .*\ntrue\n$", result.output)
  end)

  describe("with memory checks", function()
    local m = mw.compile { source = text, options = { "--check-memory" } }
    local said = function(launch) return wait_for(launch).message end
    local function fine(launch) launch() mw.synchronize() end

    it("names array, index, size, line and thread", function()
      local y = mw.zeros(10)
      for _, i in ipairs { 10, 11, 63, -1, -7, 100000, 1 << 30 } do
        local err = wait_for(function() m.write(1, 1)(y, i) end)
        assert.equal("cudaErrorIllegalAddress", err.code)
        assert.matches(("kernel write wrote to x[%d], and x ends with [9]: it has 10 elements of 4 bytes; "):format(i),
          err.message, 1, true)
        assert.matches("; %S+gpu_failing_kernels_spec.lua:%d+, block %(0,0,0%), thread %(0,0,0%); launched at",
          err.message)
        assert.matches(("read x[%d], and x"):format(i), said(function() m.read(1, 1)(y, y, i) end), 1, true)
      end
      assert.equal(0, y:sum())
      fine(function() m.write(1, 1)(y, 0) m.write(1, 1)(y, 9) end)
      assert.equal(2, y:sum())
      works(m)
    end)

    it("knows which launch of many it was", function()
      local y = mw.zeros(10)
      for i = 1, 300 do m.write(1, 1)(y, i % 10) end
      m.write(1, 1)(y, 12) local line = debug.getinfo(1, "l").currentline
      for i = 1, 300 do m.write(1, 1)(y, i % 10) end
      assert.matches("launched at %S+:" .. line .. "$", failure(mw.synchronize).message:match "^[^\n]*")
    end)

    it("watches vectors, atomics, hints, copies, variables, shared and local memory", function()
      fine(function() m.vectors(1, 1)(mw.zeros(4, "float4"), 3) end)
      assert.matches("wrote to x%[4%]", said(function() m.vectors(1, 1)(mw.zeros(4, "float4"), 4) end))
      for _, name in ipairs { "atomics", "scoped" } do
        fine(function() m[name](1, 1)(mw.zeros(4, "int"), 3) end)
        assert.matches("wrote to x%[4%]", said(function() m[name](1, 1)(mw.zeros(4, "int"), 4) end))
      end
      local y = mw.zeros(4)
      assert.matches("read x%[5%]", said(function() m.hinted(1, 1)(y, y, 5) end))
      fine(function() m.variables(1, 1)(3) end)
      assert.matches("wrote to total%[4%], and total ends with %[3%]", said(function() m.variables(1, 1)(4) end))
      fine(function() m.shared(1, 8)(y, 7) end)
      assert.matches("wrote to tile%[8%], and tile ends with %[7%]", said(function() m.shared(1, 8)(y, 8) end))
      fine(function() m.dynamic(1, 1, 32)(y, 7) end)
      assert.matches("wrote to room%[8%], and room ends with %[7%]", said(function() m.dynamic(1, 1, 32)(y, 8) end))
      fine(function() m["local"](1, 1)(y, 15) end)
      assert.matches("wrote to a local array%[16%]", said(function() m["local"](1, 1)(y, 16) end))
      fine(function() m.blocks(1, 1)(mw.zeros(4), mw.zeros(4), 16) end)
      assert.matches("of y, and there it has 12", said(function() m.blocks(1, 1)(mw.zeros(4), mw.zeros(3), 16) end))
      local pair = function(n) return { from = mw.ones(8), to = mw.zeros(8), n = n } end
      fine(function() m.copies(1, 32)(pair(8)) end)
      assert.matches("read p%.from%[8%], and p%.from ends with %[7%]", said(function() m.copies(1, 32)(pair(9)) end))
      works(m)
    end)

    it("finds null pointers, memory that was freed, and addresses that are not aligned", function()
      assert.matches("wrote 4 bytes at address 0x0, which no array holds %(a null pointer%?%)",
        said(function() m.write(1, 1)(mw.null, 0) end))
      local kept = mw.zeros(100, "int")
      m.keep(1, 1)(kept)
      fine(function() m.use(1, 1)(1) end)
      kept:free()
      assert.matches("kernel use wrote", said(function() m.use(1, 1)(1) end))
      local err = wait_for(function() m.odd(1, 1)(mw.zeros(8, "char"), 3) end)
      assert.equal("cudaErrorMisalignedAddress", err.code)
      works(m)
    end)

    it("allows accesses to memory from malloc, and to arrays of pinned memory", function()
      fine(function() m.given(1, 1)(x) end)
      assert.equal(99, x[1])
      local pinned = mw.pinned(10)
      fine(function() m.write(1, 1)(pinned, 9) end)
      assert.equal(1, pinned[10])
    end)
  end)
end)
