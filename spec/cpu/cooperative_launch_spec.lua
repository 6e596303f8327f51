-- Cooperative launches: all blocks of a grid are resident at once and wait for each other with grid.sync(), on every
-- tier.

local mw = require "moonwarp"
local suite = require "support.suite"
local rt = require "moonwarp.runtime"
local occupancy = require "moonwarp.module.occupancy"
local tiers = require "support.tiers"
local random = require "support.random" "cooperative_launch_spec"

local source = [[
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// Each round every element becomes the sum of itself and a neighbour that another block may hold.
__global__ void rounds(unsigned int *a, unsigned int *b, int n, int count) {
  cg::grid_group grid = cg::this_grid();
  for (int r = 0; r < count; r++) {
    for (int i = grid.thread_rank(); i < n; i += grid.size()) b[i] = a[i] * 3 + a[(i * 7 + r) % n];
    grid.sync();
    for (int i = grid.thread_rank(); i < n; i += grid.size()) a[i] = b[n - 1 - i];
    cg::sync(grid);
  }
}

// What a thread and a block hold across the wait: shared memory, values, an array that is indexed.
__global__ void keeps(int *total, int *out) {
  __shared__ int cells[1024];
  auto block = cg::this_thread_block();
  auto grid = cg::this_grid();
  int rank = block.thread_rank(), own[8];
  for (int i = 0; i < 8; i++) own[i] = rank * i + grid.block_rank();
  cells[rank] = (int)grid.thread_rank();
  atomicAdd(total, 1);
  auto token = grid.barrier_arrive();
  grid.barrier_wait(static_cast<cg::grid_group::arrival_token &&>(token));
  int all = *total, last = block.size() - 1;
  out[grid.thread_rank()] = all * 1000 + cells[last - rank] + own[(rank + all) % 8];
}

// A barrier of the grid in a function that calls itself, which lanes do not do together.
__device__ __noinline__ int deep(int *counter, int depth) {
  if (depth == 0) return 0;
  atomicAdd(&counter[depth], 1);
  cg::this_grid().sync();
  return counter[depth] + deep(counter, depth - 1);
}
__global__ void recursive(int *counter, int *out, int depth) {
  out[cg::this_grid().thread_rank()] = deep(counter, depth);
}

// Blocks that end are not waited for.
__global__ void fewer(int *counter, int *out) {
  auto grid = cg::this_grid();
  for (unsigned int r = 0; r <= blockIdx.x; r++) {
    if (threadIdx.x == 0) atomicAdd(&counter[r], 1);
    grid.sync();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = counter[blockIdx.x];
}

__global__ void valid(int *out) {
  auto grid = cg::this_grid();
  if (grid.is_valid()) grid.sync();
  out[grid.thread_rank()] = grid.is_valid() ? grid.num_blocks() : -1;
}

__global__ void late(int *p) {
  if (threadIdx.x == 0) return;
  cg::this_grid().sync();
  *p = 1;
}

// One block fails while the others wait.
__global__ void wrong(int *p, int block) {
  cg::this_grid().sync();
  if (blockIdx.x == block && threadIdx.x == 3) p[1ll << 40] = 1;
  cg::this_grid().sync();
}

__global__ void endless(volatile int *p) {
  cg::this_grid().sync();
  while (blockIdx.x == 1 && *p == 0) {}
  cg::this_grid().sync();
}

__global__ void shared_memory(int *p) {
  extern __shared__ char bytes[];
  bytes[threadIdx.x] = threadIdx.x;
  cg::this_grid().sync();
  if (bytes[threadIdx.x] == (char)threadIdx.x) atomicAdd(p, 1);
}
]]

local function fails(f)
  local ok, err = pcall(f)
  assert.is_false(ok, "no error was raised")
  return err
end

local function model(a, count)
  local n = #a
  for r = 0, count - 1 do
    local b = {}
    for i = 0, n - 1 do b[i] = (a[i + 1] * 3 + a[(i * 7 + r) % n + 1]) % 2 ^ 32 end
    for i = 0, n - 1 do a[i + 1] = b[n - 1 - i] end
  end
  return a
end

local function multiprocessors() return mw.properties().multiprocessors end

-- Tiers do not depend on the binding.
for _, tier in ipairs(rawget(_G, "jit") and { tiers[1] } or tiers) do
  describe("a cooperative launch, " .. tier.name .. ",", function()
    local m = mw.compile { source = source, options = tier.options }

    it("has every block wait for all others, as often as they like", function()
      local most = 2 * multiprocessors()
      local shapes = { { 1, 1 }, { 1, 64 }, { 2, 40 }, { most, 256 }, { { most, 1, 2 }, { 8, 3, 2 } }, { 2, 1024 } }
      for _, shape in ipairs(shapes) do
        local a = {}
        for i = 1, 501 do a[i] = random(0, 1000) end
        local x, y = mw.array(a, "uint"), mw.zeros(501, "uint")
        m.rounds:cooperative(shape[1], shape[2])(x, y, 501, 5)
        assert.same(model(a, 5), x:totable())
      end
    end)

    it("keeps the state of threads and blocks", function()
      local blocks = 2 * multiprocessors()
      for _, threads in ipairs { 1, 33, 128, 300 } do
        local total, out = mw.zeros(1, "int"), mw.zeros(blocks * threads, "int")
        m.keeps:cooperative(blocks, threads)(total, out)
        for b = 0, blocks - 1 do
          for t = 0, threads - 1 do
            local all = blocks * threads
            local wanted = all * 1000 + (b * threads + threads - 1 - t) + t * ((t + all) % 8) + b
            assert.equal(wanted, out[b * threads + t + 1])
          end
        end
      end
    end)

    it("waits in functions that call themselves", function()
      local counter, out = mw.zeros(6, "int"), mw.zeros(2 * 40, "int")
      m.recursive:cooperative(2, 40)(counter, out, 5)
      for i = 1, 80 do assert.equal(5 * 80, out[i]) end
    end)

    it("does not wait for blocks that have ended", function()
      if suite.on_gpu then return pending "CPU device only: a GPU waits for them for ever" end
      local blocks = 2 * multiprocessors()
      local counter, out = mw.zeros(blocks, "int"), mw.zeros(blocks, "int")
      m.fewer:cooperative(blocks, 32)(counter, out)
      for b = 1, blocks do assert.equal(blocks - b + 1, out[b]) end
    end)

    it("makes is_valid() true", function()
      if suite.on_gpu then return pending "CPU device only: a GPU's driver gives plain launches that memory, too" end
      local out = mw.zeros(2 * 8, "int")
      m.valid(2, 8)(out)
      for i = 1, 16 do assert.equal(-1, out[i]) end
      m.valid:cooperative(2, 8)(out)
      for i = 1, 16 do assert.equal(2, out[i]) end
    end)

    it("is suggested if a plain launch waits for its grid", function()
      if suite.on_gpu then return pending "CPU device only: a GPU has no word for it" end
      local err = fails(function()
        m.rounds(2, 32)(mw.zeros(8, "uint"), mw.zeros(8, "uint"), 8, 1)
        mw.synchronize()
      end)
      assert.equal("cudaErrorLaunchFailure", err.code)
      assert.matches("launch it as kernel:cooperative%(grid, block%)", err.message)
    end)

    it("names a block that waits without its first thread", function()
      if suite.on_gpu then return pending "CPU device only: a GPU waits for it for ever" end
      local err = fails(function()
        m.late:cooperative(2, 32)(mw.zeros(1, "int"))
        mw.synchronize()
      end)
      assert.matches("a block whose thread 0 has returned", err.message)
    end)

    it("ends with the fault of one block, and the next one works", function()
      if suite.on_gpu then return pending "CPU device only: a failure takes the whole GPU" end
      local err = fails(function()
        m.wrong:cooperative(2, 64)(mw.zeros(1, "int"), 1)
        mw.synchronize()
      end)
      assert.equal("cudaErrorIllegalAddress", err.code)
      assert.equal(1, err.block.x)
      local p = mw.zeros(1, "int")
      m.wrong:cooperative(2, 64)(p, 7)
      mw.synchronize()
      m.shared_memory:cooperative(2, 64, 64)(p)
      assert.equal(128, p[1])
    end)

    it("is stopped by the time limit wherever its blocks are", function()
      if suite.on_gpu then return pending "CPU device only: a GPU is lost by it" end
      local before = mw.limit "time"
      mw.limit("time", 0.2)
      local err = fails(function()
        m.endless:cooperative(2, 32)(mw.zeros(1, "int"))
        mw.synchronize()
      end)
      mw.limit("time", before)
      assert.equal("cudaErrorLaunchTimeout", err.code)
    end)
  end)
end

describe("a cooperative launch", function()
  local m = mw.compile(source)

  it("is as large as the occupancy allows, and refused with the numbers beyond", function()
    local before = mw.limit "specialise"
    mw.limit("specialise", 1e15) -- code for each of these sizes would be nothing new
    for _, case in ipairs { { 32, 0 }, { 256, 0 }, { 1024, 0 }, { 64, 20000 }, { 128, 100000 }, { 32, 200000 } } do
      local threads, shared = case[1], case[2]
      local each = occupancy.of(m.shared_memory, threads, shared).blocks
      local code, reported = rt.cudaOccupancyMaxActiveBlocksPerMultiprocessor(m.shared_memory, threads, shared)
      assert.equal(rt.cudaSuccess, code)
      assert.equal(each, reported)
      local most = each * multiprocessors()
      local p = mw.zeros(1, "int")
      m.shared_memory:cooperative(most, threads, math.max(shared, threads))(p)
      assert.equal(most * threads, p[1])
      local err = fails(function() m.shared_memory:cooperative(most + 1, threads, math.max(shared, threads))(p) end)
      assert.equal("cudaErrorCooperativeLaunchTooLarge", err.code)
      assert.matches(("holds %d blocks of %d threads"):format(most, threads), err.message)
    end
    mw.limit("specialise", before)
  end)

  it("works in streams, bound launches and graphs", function()
    local s, p = mw.stream(), mw.zeros(1, "int")
    m.shared_memory:cooperative(2, 32, 32, s)(p)
    s:synchronize()
    assert.equal(64, p[1])
    local bound = m.shared_memory:cooperative(2, 32, 32):bind(p)
    bound()
    assert.equal(128, p[1])
    local graph = mw.capture(s, function() m.shared_memory:cooperative(2, 32, 32, s)(p) end)
    graph:instantiate():launch(s)
    s:synchronize()
    assert.equal(192, p[1])
  end)

  it("shows itself, and is another than the plain one of that size", function()
    if suite.on_gpu then return pending "CPU device only: a GPU's driver gives plain launches that memory, too" end
    local plain, cooperative = m.valid(2, 8), m.valid:cooperative(2, 8)
    assert.is_true(cooperative.cooperative)
    assert.is_false(plain.cooperative)
    assert.equal("cooperative launch valid<<<2, 8>>>", tostring(cooperative))
    assert.equal("launch valid<<<2, 8>>>", tostring(plain))
    local out = mw.zeros(16, "int")
    cooperative(out)
    plain(out)
    assert.equal(-1, out[1])
  end)

  it("has CUDA's name in the runtime", function()
    local out = mw.zeros(16, "int")
    assert.equal(rt.cudaSuccess, rt.cudaLaunchCooperativeKernel(m.valid, 2, 8, { out }))
    assert.equal(rt.cudaSuccess, (rt.cudaDeviceSynchronize()))
    assert.equal(2, out[1])
    local code = rt.cudaLaunchCooperativeKernel(m.valid, 100000, 8, { out })
    assert.equal(rt.cudaErrorCooperativeLaunchTooLarge, code)
    local _, facts = rt.cudaGetDeviceProperties(0)
    assert.equal(1, facts.cooperativeLaunch)
  end)

  it("of several devices is refused with its line and the reason", function()
    if suite.on_gpu then return pending "CPU device only: NVRTC has no word for it" end
    local none, err = mw.try_compile [[
      #include <cooperative_groups.h>
      __global__ void k() { cooperative_groups::this_multi_grid().sync(); }
    ]]
    assert.is_nil(none)
    assert.matches("groups over several devices", err.message)
    assert.equal(debug.getinfo(1, "l").currentline - 4, err.line)
  end)
end)
