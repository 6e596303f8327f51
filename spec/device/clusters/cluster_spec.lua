-- Thread block clusters: their indices, their barrier, and distributed shared memory (CUDA C++ Programming Guide,
-- "Thread Block Clusters" and "Distributed Shared Memory"), on every tier.

local mw = require "moonwarp"
local suite = require "support.suite"
local tiers = require "support.tiers"

local source = [==[
#include <cooperative_groups.h>
#include <cuda/barrier>
namespace cg = cooperative_groups;

// The guide's histogram: the bins are distributed over the blocks of a cluster.
__global__ void histogram(int *bins, int count, int per_block, const int *input, int size) {
  extern __shared__ int own[];
  cg::cluster_group cluster = cg::this_cluster();
  unsigned int rank = cluster.block_rank();
  int blocks = cluster.dim_blocks().x;
  for (int i = threadIdx.x; i < per_block; i += blockDim.x) own[i] = 0;
  cluster.sync();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += blockDim.x * gridDim.x) {
    int bin = input[i] < 0 ? 0 : input[i] >= count ? count - 1 : input[i];
    int *there = cluster.map_shared_rank(own, bin / per_block);
    atomicAdd(there + bin % per_block, 1);
  }
  cluster.sync();
  int *part = bins + rank * per_block;
  for (int i = threadIdx.x; i < per_block && blocks; i += blockDim.x) atomicAdd(&part[i], own[i]);
}

// What every index function says, in a grid of three axes.
__global__ void __cluster_dims__(2, 3, 1) indices(int *out) {
  __shared__ int here;
  auto c = cg::this_cluster();
  int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  int *o = out + (block * blockDim.x + threadIdx.x) * 16;
  int *other = c.map_shared_rank(&here, 5);
  unsigned int by_asm[3];
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(by_asm[0]));
  asm("mov.u32 %0, %cluster_nctarank;" : "=r"(by_asm[1]));
  asm("mov.u32 %0, %%clusterid.y;" : "=r"(by_asm[2]));
  o[0] = c.block_rank(), o[1] = c.num_blocks(), o[2] = c.thread_rank(), o[3] = c.num_threads();
  o[4] = c.block_index().x, o[5] = c.block_index().y, o[6] = c.dim_blocks().x, o[7] = c.dim_blocks().y;
  o[8] = c.query_shared_rank(&here), o[9] = c.query_shared_rank(other);
  o[10] = __clusterIdx().x, o[11] = __clusterGridDimInClusters().y;
  o[12] = by_asm[0], o[13] = by_asm[1], o[14] = by_asm[2];
  o[15] = __isClusterShared(other) + 2 * __isShared(other) + 4 * __isShared(&here);
  c.sync();
}

// Each block passes a value on around the ring, so that the order of barriers shows.
__global__ void ring(int *out, int rounds) {
  __shared__ int value[2];
  auto c = cg::this_cluster();
  if (threadIdx.x == 0) value[0] = c.block_rank() + 1;
  c.sync();
  for (int r = 0; r < rounds; r++) {
    if (threadIdx.x == r % blockDim.x) {
      int *next = c.map_shared_rank(value, (c.block_rank() + 1) % c.num_blocks());
      next[(r + 1) % 2] = value[r % 2] * 3 + 1;
    }
    auto token = c.barrier_arrive();
    c.barrier_wait(static_cast<cg::cluster_group::arrival_token &&>(token));
  }
  if (threadIdx.x == 0) out[blockIdx.x] = value[rounds % 2];
  c.sync();
}

// Blocks that end are not waited for; nor are threads.
__global__ void fewer(int *out) {
  auto c = cg::this_cluster();
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  c.sync();
  if (threadIdx.x == 0 && blockIdx.x % 2) return;
  for (unsigned int r = 0; r <= c.block_rank(); r++) {
    if (threadIdx.x == 1) atomicAdd(c.map_shared_rank(&count, c.num_blocks() - 1), 1);
    c.sync();
  }
  if (c.block_rank() == c.num_blocks() - 1 && threadIdx.x == 1) out[blockIdx.x / c.num_blocks()] = count;
}

// PTX: mapa, loads, stores and atomics of shared::cluster, the barrier's parts.
__global__ void __cluster_dims__(4) ptx(int *out) {
  __shared__ int cells[32], sum;
  unsigned int rank, other, own = (unsigned int)__cvta_generic_to_shared(cells);
  unsigned int total = (unsigned int)__cvta_generic_to_shared(&sum);
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  if (threadIdx.x == 0) sum = 0;
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(other) : "r"(own), "r"((rank + 1) % 4));
  int value = rank * 1000 + threadIdx.x;
  asm volatile("st.shared::cluster.u32 [%0], %1;" : : "r"(other + threadIdx.x * 4), "r"(value) : "memory");
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(total) : "r"(total), "r"(0));
  asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], %1;" : : "r"(total), "r"(threadIdx.x) : "memory");
  asm volatile("barrier.cluster.arrive;\n barrier.cluster.wait;" ::: "memory");
  int got, all;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(all) : "r"(total) : "memory");
  asm volatile("ld.shared::cta.u32 %0, [%1];" : "=r"(got) : "r"(own + threadIdx.x * 4) : "memory");
  out[blockIdx.x * blockDim.x + threadIdx.x] = got + all * 10000;
  __cluster_barrier_arrive();
  __cluster_barrier_wait();
}

// A whole grid of clusters, which waits for all.
__global__ void __cluster_dims__(2) both(int *total, int *out) {
  __shared__ int s;
  auto c = cg::this_cluster();
  s = 0;
  c.sync();
  atomicAdd(c.map_shared_rank(&s, 0), 1);
  c.sync();
  if (c.thread_rank() == 0) atomicAdd(total, s);
  cg::this_grid().sync();
  out[blockIdx.x * blockDim.x + threadIdx.x] = *total;
}

// One block waits for the other, which waits for an arrival that nobody makes.
__global__ void __cluster_dims__(2) apart() {
  __shared__ cuda::barrier<cuda::thread_scope_block> b;
  if (threadIdx.x == 0) init(&b, blockDim.x + 1);
  __syncthreads();
  if (blockIdx.x == 0)
    cg::this_cluster().sync();
  else
    b.arrive_and_wait();
}
__global__ void plain(int *p) { p[blockIdx.x] = cg::this_cluster().num_blocks(); cg::this_cluster().sync(); }
]==]

local function fails(f)
  local ok, err = pcall(f)
  assert.is_false(ok, "no error was raised")
  return err
end

-- Tiers do not depend on the binding.
for _, tier in ipairs { tiers[1], not rawget(_G, "jit") and tiers[2] or nil } do
  describe("a cluster, " .. tier.name .. ",", function()
    local m = mw.compile { source = source, options = tier.options }

    it("shares the bins of the guide's histogram", function()
      local bins, size = 64, 3000
      local input, wanted = {}, {}
      for b = 1, bins do wanted[b] = 0 end
      for i = 1, size do
        local value = i * i % 97 - 10
        input[i] = value
        local bin = math.min(math.max(value, 0), bins - 1)
        wanted[bin + 1] = wanted[bin + 1] + 1
      end
      for _, blocks in ipairs { 1, 2, 8 } do
        local out = mw.zeros(bins, "int")
        local per_block = bins / blocks
        m.histogram:cluster(blocks, 2 * blocks, 64, 4 * per_block)(out, bins, per_block, mw.array(input, "int"), size)
        assert.same(wanted, out:totable())
      end
    end)

    it("knows its indices", function()
      local grid, threads = { 4, 6, 2 }, 3
      local out = mw.zeros(48 * threads * 16, "int")
      m.indices(grid, threads)(out)
      local list, at = out:totable(), 0
      for z = 0, 1 do
        for y = 0, 5 do
          for x = 0, 3 do
            local rank = x % 2 + 2 * (y % 3)
            for t = 0, threads - 1 do
              local got = {}
              for i = 1, 16 do got[i] = list[at + i] end
              at = at + 16
              local kind = rank == 5 and 1 + 2 + 4 or 1 + 4
              assert.same({ rank, 6, rank * threads + t, 6 * threads, x % 2, y % 3, 2, 3, rank, 5,
                math.floor(x / 2), 2, rank, 6, math.floor(y / 3), kind }, got, ("block %d %d %d"):format(x, y, z))
            end
          end
        end
      end
    end)

    it("passes its barrier together, as often as it likes", function()
      for _, shape in ipairs { { 2, 1 }, { 4, 33 }, { 8, 64 }, { 16, 5 } } do
        local blocks, threads = shape[1], shape[2]
        local out = mw.zeros(3 * blocks, "int")
        m.ring:cluster(blocks, 3 * blocks, threads)(out, 7)
        for b = 0, 3 * blocks - 1 do
          local value = (b - 7) % blocks + 1
          for _ = 1, 7 do value = value * 3 + 1 end
          assert.equal(value, out[b + 1])
        end
      end
    end)

    it("does not wait for what has ended", function()
      local out = mw.zeros(2, "int")
      m.fewer:cluster(4, 8, 32)(out)
      assert.same({ 10, 10 }, out:totable())
    end)

    it("is in PTX", function()
      local out = mw.zeros(8 * 32, "int")
      m.ptx(8, 32)(out)
      for b = 0, 7 do
        for t = 0, 31 do
          assert.equal((b % 4 + 3) % 4 * 1000 + t + 4 * 496 * 10000, out[b * 32 + t + 1])
        end
      end
    end)

    it("is part of a grid that waits for all", function()
      local total, out = mw.zeros(1, "int"), mw.zeros(4 * 16, "int")
      m.both:cooperative(4, 16)(total, out)
      for i = 1, 64 do assert.equal(64, out[i]) end
    end)

    it("of one block needs no clusters", function()
      local out = mw.zeros(3, "int")
      m.plain(3, 32)(out)
      assert.same({ 1, 1, 1 }, out:totable())
    end)

    it("names a wait that cannot end", function()
      if suite.on_gpu then return pending "CPU device only: a GPU waits for ever" end
      local err = fails(function()
        m.apart(2, 32)()
        mw.synchronize()
      end)
      assert.matches("waits for its cluster, and another block of it waits for something else", err.message)
    end)
  end)
end

describe("a launch with clusters", function()
  local m = mw.compile(source)
  local p = mw.zeros(64, "int")

  it("refuses grids and sizes that do not fit, by name", function()
    local err = fails(function() m.plain:cluster(4, 6, 32)(p) end)
    assert.equal("cudaErrorInvalidClusterSize", err.code)
    assert.matches("into clusters of %(4, 1, 1%) blocks: its x has to be a multiple of 4", err.message)
    err = fails(function() m.plain:cluster({ 1, 17 }, { 1, 17 }, 32)(p) end)
    assert.matches("its y has to be 1 to 16", err.message)
    assert.matches("16 x 2 x 1 = 32 blocks",
      fails(function() m.plain:cluster({ 16, 2 }, { 16, 2 }, 32)(p) end).message)
    assert.matches("compiled for %(2, 3, 1%) by __cluster_dims__",
      fails(function() m.indices:cluster(2, { 2, 3 }, 32)(p) end).message)
    assert.matches("its y has to be a multiple of 3", fails(function() m.indices({ 2, 2 }, 32)(p) end).message)
    assert.matches("cluster", fails(function() m.plain:cluster(0, 2, 32)(p) end).message)
  end)

  it("says its size", function()
    assert.equal("(2, 1, 1)", tostring(m.plain:cluster(2, 4, 32).cluster))
    assert.is_nil(m.plain(4, 32).cluster)
    local four = mw.zeros(4, "int")
    m.plain:cluster(2, 4, 32)(four)
    assert.same({ 2, 2, 2, 2 }, four:totable())
    m.plain:cluster({ x = 4 }, 4, 32):bind(four)()
    assert.same({ 4, 4, 4, 4 }, four:totable())
    m.plain(4, 32)(four)
    assert.same({ 1, 1, 1, 1 }, four:totable())
  end)

  it("is counted in the grid's group", function()
    local out = mw.zeros(12, "int")
    mw.compile([==[
      #include <cooperative_groups.h>
      __global__ void __cluster_dims__(2, 1, 1) k(int *p) {
        auto grid = cooperative_groups::this_grid();
        dim3 at = grid.cluster_index(), size = grid.dim_clusters();
        int shared = __isCtaShared(p);
        if (threadIdx.x == 0)
          p[blockIdx.x + gridDim.x * blockIdx.y] = grid.cluster_rank() * 10000 + grid.num_clusters() * 1000 +
                                                   size.x * 100 + size.y * 10 + at.x * 2 + at.y + shared * 5;
      }]==]).k({ 4, 3 }, 32)(out)
    for b = 0, 11 do
      local x, y = b % 4 // 2, b // 4
      assert.equal((x + 2 * y) * 10000 + 6000 + 230 + x * 2 + y, out[b + 1])
    end
  end)

  it("is not for devices of earlier capabilities", function()
    if suite.on_gpu then return pending "CPU device only" end
    mw.with(mw.device "cpu@8.0", function()
      local k = mw.compile("__global__ void k() {}").k
      assert.matches("came with compute capability 9.0", fails(function() k:cluster(2, 4, 32)() end).message)
    end)
  end)

  it("does not disturb checks", function()
    if suite.on_gpu then return pending "CPU device only" end
    local report = mw.check(function()
      m.ring:cluster(4, 8, 33)(p, 3)
      m.ptx(4, 32)(mw.zeros(128, "int"))
    end)
    assert.equal(0, #report)
  end)
end)
