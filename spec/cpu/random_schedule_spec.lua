-- mw.check with schedule = "random": threads and blocks run in a random order, so that races show their possible
-- results.
-- CPU device only: a GPU schedules its threads itself.

local mw = require "moonwarp"
mw.limit("time", 60)
local failure = require "support.failure"

local m = mw.compile [[
#include <cooperative_groups.h>

__global__ void neighbour(int *out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = 0;
  __syncthreads();
  tile[threadIdx.x] = 1;
  out[threadIdx.x] = tile[(threadIdx.x + 1) % 64];
}
__global__ void lost_update(int *sum) {
  if (threadIdx.x == 0) sum[0] = sum[0] + 1;
}
__global__ void set(int *x, int value) { x[0] = value; }
__global__ void increment(int *x) { x[0]++; }
__global__ void copy(int *x, const int *y) { x[0] = y[0]; }
__global__ void await(volatile int *flag, int *x) {
  while (*flag == 0) {}
  x[0] = 5;
}
__global__ void raise(int *flag) { atomicExch(flag, 1); }
__global__ void last_block(int *who) { who[0] = blockIdx.x; }
__global__ void last_thread(int *who) { who[0] = threadIdx.x; }

__global__ void sum(int *total) {
  __shared__ int tile[64];
  tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  for (int s = 32; s > 0; s /= 2) {
    if (threadIdx.x < s) tile[threadIdx.x] += tile[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(total, tile[0]);
}
__global__ void chain(volatile int *turn, int *sums) {
  int b = blockIdx.x;
  while (*turn != b) {}
  __threadfence();
  sums[b] = b + (b ? sums[b - 1] : 0);
  __threadfence();
  *turn = b + 1;
}
__global__ void rotate(int *x) {
  auto grid = cooperative_groups::this_grid();
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  x[i] = i;
  grid.sync();
  for (int round = 0; round < 3; round++) {
    int next = x[(i + 1) % n];
    grid.sync();
    x[i] = next;
    grid.sync();
  }
}
__global__ void __cluster_dims__(2, 1, 1) swap(int *out) {
  __shared__ int mine;
  auto cluster = cooperative_groups::this_cluster();
  if (threadIdx.x == 0) mine = blockIdx.x;
  cluster.sync();
  int other = *cluster.map_shared_rank(&mine, cluster.block_rank() ^ 1);
  if (threadIdx.x == 0) out[blockIdx.x] = other;
  cluster.sync();
}
]]

-- What `run` leaves in an array of `size` integers, and what is found, by seed.
local function outcome(size, seed, run)
  local x = mw.zeros(size, "int")
  local report = mw.check(function() run(x) end, { schedule = "random", seed = seed })
  return table.concat(x:totable(), " "), report
end

local function outcomes(size, run)
  local seen, count, report = {}, 0, nil
  for seed = 1, 8 do
    local text
    text, report = outcome(size, seed, run)
    if not seen[text] then count = count + 1 end
    seen[text] = true
  end
  return count, report
end

describe("random schedules", function()
  local racy = {
    { "of threads that read a neighbour's element", 64, function(x) m.neighbour(1, 64)(x) end },
    { "of threads that write one element", 1, function(x) m.last_thread(1, 128)(x) end },
    { "of blocks that write one element", 1, function(x) m.last_block(20, 32)(x) end },
    { "of blocks that increment one element", 1, function(x) m.lost_update(20, 32)(x) end },
  }
  for _, case in ipairs(racy) do
    it("show several results " .. case[1] .. ", and equal seeds the same one", function()
      local count, report = outcomes(case[2], case[3])
      assert.is_true(count > 1)
      assert.equal("race", report[1].kind)
      for seed = 1, 3 do
        assert.equal((outcome(case[2], seed, case[3])), (outcome(case[2], seed, case[3])))
      end
    end)
  end

  it("show both results of two streams that nothing orders, and equal seeds the same one", function()
    local one, two = mw.stream { nonblocking = true }, mw.stream { nonblocking = true }
    local runs = {
      function(x)
        m.set(1, 1, 0, one)(x, 1)
        m.set(1, 1, 0, two)(x, 2)
      end,
      function(x) -- a copy and a kernel
        local y = mw.full(1, 7, "int")
        mw.synchronize()
        mw.with(one, function() x:copy_from(y) end)
        m.set(1, 1, 0, two)(x, 2)
      end,
      function(x) -- a reader
        local y = mw.zeros(1, "int")
        mw.synchronize()
        m.set(1, 1, 0, one)(y, 1)
        m.copy(1, 1, 0, two)(x, y)
      end,
    }
    for i, run in ipairs(runs) do
      local function synchronized(x)
        mw.synchronize()
        run(x)
        mw.synchronize()
      end
      local count, report = outcomes(1, synchronized)
      assert.equal(2, count, i)
      assert.equal("race", report[1].kind)
      for seed = 1, 3 do assert.equal((outcome(1, seed, synchronized)), (outcome(1, seed, synchronized))) end
    end
  end)

  it("keep what streams, events and waits order", function()
    local one, two, event = mw.stream { nonblocking = true }, mw.stream { nonblocking = true }, mw.event()
    for seed = 1, 8 do
      local text, report = outcome(1, seed, function(x)
        mw.synchronize()
        for i = 1, 5 do m.set(1, 1, 0, one)(x, i) end
        event:record(one)
        two:wait(event)
        m.increment(1, 1, 0, two)(x)
        two:synchronize()
        m.increment(1, 1, 0, one)(x)
        mw.synchronize()
      end)
      assert.equal("7", text)
      assert.equal("no findings", tostring(report))
    end
  end)

  it("let a kernel wait for another stream's", function()
    local one, two = mw.stream { nonblocking = true }, mw.stream { nonblocking = true }
    for seed = 1, 4 do
      local text = outcome(1, seed, function(x)
        local flag = mw.zeros(1, "int")
        mw.synchronize()
        m.await(1, 1, 0, one)(flag, x)
        m.raise(1, 1, 0, two)(flag)
        mw.synchronize()
      end)
      assert.equal("5", text)
    end
  end)

  local clean = {
    { "with barriers and atomics", 1, function(x) m.sum(20, 64)(x) end },
    { "whose blocks wait for each other", 8, function(x) m.chain(8, 1)(mw.zeros(1, "int"), x) end },
    { "with barriers of the grid", 64, function(x) m.rotate:cooperative(4, 16)(x) end },
    { "with clusters", 8, function(x) m.swap(8, 32)(x) end },
  }
  for _, case in ipairs(clean) do
    it("never change the result of kernels without races " .. case[1], function()
      local plain = mw.zeros(case[2], "int")
      case[3](plain)
      local expected = table.concat(plain:totable(), " ")
      for seed = 1, 6 do
        local text, report = outcome(case[2], seed, case[3])
        assert.equal(expected, text)
        assert.equal("no findings", tostring(report))
      end
    end)
  end

  it("end with the checked run", function()
    outcome(1, 1, function(x) m.last_block(20, 32)(x) end)
    local x = mw.zeros(1, "int")
    m.sum(20, 64)(x)
    assert.equal(20 * 2016, x[1])
  end)

  it("are for one schedule, whole seeds, and checks with races", function()
    local function nothing() end
    for _, wrong in ipairs {
      { { schedule = "fair" }, 'schedule wants "random", got the string "fair' },
      { { seed = 3 }, "seed wants a whole number from 1, with schedule" },
      { { schedule = "random", seed = 0 }, "seed wants a whole number from 1" },
      { { schedule = "random", checks = "memory" }, 'wants "races" among the checks' },
    } do
      assert.matches(wrong[2], failure(mw.check, nothing, wrong[1]).message)
    end
    assert.equal(0, #mw.check(nothing, { schedule = "random" }))
  end)
end)
