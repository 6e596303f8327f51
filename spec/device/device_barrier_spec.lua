-- cuda::barrier, barriers with names and counts, and atomic objects, on every tier.
-- Lua 5.4 only: this tests the compiler.

local mw = require "moonwarp"
local suite = require "support.suite"

local source = [==[
#include <cuda/barrier>
#include <cuda/atomic>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
using barrier = cuda::barrier<cuda::thread_scope_block>;
__global__ void all(int *out, int rounds) {
  __shared__ barrier bar;
  __shared__ int v[256];
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&bar, block.size());
  block.sync();
  int n = block.size(), t = threadIdx.x;
  v[t] = t;
  for (int r = 0; r < rounds; r++) {
    bar.arrive_and_wait();
    int x = v[(t + 1) % n];
    barrier::arrival_token token = bar.arrive();
    bar.wait(std::move(token));
    v[t] = x;
  }
  bar.arrive_and_wait();
  out[t] = v[(t + n - 1) % n];
}
// warp 0 produces, the rest consumes
__global__ void parted(int *out, int items) {
  __shared__ barrier full, empty;
  __shared__ int cell;
  if (threadIdx.x == 0) { init(&full, blockDim.x); init(&empty, blockDim.x); }
  __syncthreads();
  if (threadIdx.x < 32) {
    for (int i = 0; i < items; i++) {
      empty.arrive_and_wait();
      if (threadIdx.x == 0) cell = i * i;
      (void)full.arrive();
    }
  } else {
    int sum = 0;
    (void)empty.arrive();
    for (int i = 0; i < items; i++) {
      full.arrive_and_wait();
      sum += cell;
      (void)empty.arrive();
    }
    out[threadIdx.x] = sum;
  }
}
struct Pair { short first, second; };
__device__ cuda::atomic<Pair> pair{Pair{0, 1000}};
__device__ cuda::std::atomic_flag lock;
__global__ void atomics(int *out, float *f, unsigned char *b, unsigned long long *wide) {
  cuda::atomic_ref<int, cuda::thread_scope_device> r(out[0]);
  r.fetch_add(2, cuda::memory_order_relaxed);
  r++;
  cuda::atomic_ref<float> rf(f[0]);
  rf += 0.5f;
  cuda::atomic_ref<float>(f[1]).fetch_max(threadIdx.x * 0.5f);
  cuda::atomic_ref<unsigned char> rb(b[0]);
  rb.fetch_add(1);
  __shared__ cuda::atomic<int, cuda::thread_scope_block> s;
  if (threadIdx.x == 0) s = 5;
  __syncthreads();
  s.fetch_max(threadIdx.x);
  __syncthreads();
  if (threadIdx.x == 0) out[1] = s.load(cuda::std::memory_order_acquire);
  cuda::std::atomic<int> *c = (cuda::std::atomic<int> *)&out[2];
  int old = c->load();
  while (!c->compare_exchange_weak(old, old + 3)) {}
  Pair seen = pair;
  while (!pair.compare_exchange_strong(seen, Pair{short(seen.first + 1), short(seen.second - 1)})) {}
  cuda::atomic_ref<unsigned long long>(wide[0]).fetch_or(1ull << threadIdx.x % 64);
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
  if (!lock.test_and_set()) out[3] = 1 + lock.test();
}
__global__ void pair_is(int *out) { Pair p = pair.load(); out[0] = p.first; out[1] = p.second; }

// The phases end with a function of the last to come; threads drop out one by one.
struct Count { int *phases; __device__ void operator()() const { ++*phases; } };
__global__ void dropping(int *out) {
  __shared__ cuda::barrier<cuda::thread_scope_block, Count> bar;
  __shared__ int phases;
  if (threadIdx.x == 0) { phases = 0; init(&bar, blockDim.x); }
  __syncthreads();
  if (threadIdx.x == 0) new (&bar) cuda::barrier<cuda::thread_scope_block, Count>(blockDim.x, Count{&phases});
  __syncthreads();
  for (int i = 0; i < threadIdx.x; i++) bar.arrive_and_wait();
  out[threadIdx.x] = phases;
  bar.arrive_and_drop();
}
__global__ void named(int *out) {
  __shared__ int v[256];
  v[threadIdx.x] = threadIdx.x;
  __barrier_sync(3);
  int next = v[(threadIdx.x + 1) % blockDim.x];
  __barrier_sync(4);
  v[threadIdx.x] = next * 2;
  __barrier_sync(3);
  out[threadIdx.x] = v[(threadIdx.x + 1) % blockDim.x];
}
// Phases distinguished by parity, a count of arrivals other than one for each thread, and shuffles before and after.
__global__ void by_parity(int *out, int rounds) {
  __shared__ barrier bar;
  __shared__ int v[256];
  int n = blockDim.x, t = threadIdx.x, last = t == n - 1;
  if (t == 0) init(&bar, n + 2);
  __syncthreads();
  v[t] = t;
  for (int r = 0; r < rounds; r++) {
    (void)bar.arrive(last ? 3 : 1);
    bar.wait_parity(2 * r & 1);
    int x = v[(t + 1) % n];
    (void)bar.arrive(last ? 3 : 1);
    bar.wait_parity((2 * r + 1) & 1);
    v[t] = x;
  }
  __syncthreads();
  out[t] = v[t];
}
__global__ void with_warps(int *out) {
  __shared__ barrier bar;
  __shared__ int sums[8];
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  int sum = threadIdx.x;
  for (int d = 16; d > 0; d /= 2) sum += warp.shfl_down(sum, d);
  if (warp.thread_rank() == 0) sums[warp.meta_group_rank()] = sum;
  bar.wait(bar.arrive());
  int all = 0;
  for (int i = 0; i < warp.meta_group_size(); i++) all += sums[i];
  out[threadIdx.x] = all;
}
__global__ void either(int *out) {
  __shared__ barrier bars[2];
  __shared__ int v[256];
  int t = threadIdx.x, half = t * 2 / blockDim.x, size = blockDim.x / 2;
  if (t < 2) init(&bars[t], size);
  __syncthreads();
  v[t] = t;
  bars[half].arrive_and_wait();
  out[t] = v[half * size + (t + 1) % size];
}
__device__ barrier wide;
__global__ void outside(int *out) {
  if (threadIdx.x == 0) init(&wide, blockDim.x);
  __syncthreads();
  out[threadIdx.x] = 7;
  wide.arrive_and_wait();
  out[threadIdx.x] += out[(threadIdx.x + 1) % blockDim.x] == 7;
}
__global__ void never() {
  __shared__ barrier bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x + 1);
  __syncthreads();
  bar.arrive_and_wait();
}
// The second half waits for more threads than arrive; the first half continues, and then waits for the whole block.
__global__ void half_never(int *out) {
  __shared__ barrier bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  out[threadIdx.x] = 1;
  if (threadIdx.x >= blockDim.x / 2) bar.arrive_and_wait();
  __syncthreads();
}
// Each thread waits for a barrier of its own and its neighbour's; thread 0 arrives at all of them.
__global__ void many(int *out) {
  __shared__ barrier bars[256];
  init(&bars[threadIdx.x], 3);
  __syncthreads();
  int t = threadIdx.x, n = blockDim.x;
  barrier::arrival_token token = bars[t].arrive();
  (void)bars[(t + 1) % n].arrive();
  if (t == 0)
    for (int i = 0; i < n; i++) { out[n - 1 - i] = i; (void)bars[i].arrive(); }
  bars[t].wait(std::move(token));
  out[n - 1 - t] *= 2;
}
// An earlier block ends the phase that the second one waits for.
__device__ barrier between;
__global__ void across(int *out, int *begun) {
  if (blockIdx.x == 1) {
    if (threadIdx.x == 0)
      while (atomicAdd(begun, 0) == 0) {}
    __syncthreads();
    between.arrive_and_wait();
    out[threadIdx.x] = out[blockDim.x] + 1;
  } else if (threadIdx.x == 0) {
    init(&between, blockDim.x + 1);
    __threadfence();
    atomicExch(begun, 1);
    out[blockDim.x] = 41;
    (void)between.arrive();
  }
}

// ---- barriers for a part of the block

// Pairs of warps turn values among themselves, each pair as often as it pleases.
__global__ void pairs(int *out) {
  __shared__ int v[256];
  int t = threadIdx.x, pair = t / 64;
  v[t] = t;
  for (int r = 0; r <= pair; r++) {
    __barrier_sync_count(pair + 1, 64);
    int next = v[pair * 64 + (t + 1) % 64];
    __barrier_sync_count(pair + 1, 64);
    v[t] = next;
  }
  out[t] = v[t];
}
// Warp 0 fills a cell, and does not wait for those that read it before it has filled the next.
__global__ void fill_and_read(int *out, int items) {
  __shared__ int cell[2];
  if (threadIdx.x < 32) {
    for (int i = 0; i < items; i++) {
      if (i >= 2) asm volatile("bar.sync %0, 128;" :: "r"(3 + i % 2) : "memory");
      if (threadIdx.x == 7) cell[i % 2] = i * i + 1;
      asm volatile("barrier.cta.arrive %0, %1;" :: "r"(1 + i % 2), "r"(blockDim.x) : "memory");
    }
  } else {
    int sum = 0;
    for (int i = 0; i < items; i++) {
      asm volatile("barrier.sync %0, 128;" :: "r"(1 + i % 2) : "memory");
      sum += cell[i % 2];
      if (i + 2 < items) asm volatile("bar.arrive %0, 128;" :: "r"(3 + i % 2) : "memory");
    }
    out[threadIdx.x - 32] = sum;
  }
}
// No thread waits for threads that have returned, or for lanes that the last warp never had.
__global__ void gaps(int *out, int gone) {
  __shared__ int v[128];
  int t = threadIdx.x;
  v[t] = 1;
  if (t % 32 < gone) return;
  __barrier_sync_count(15, 128);
  int sum = 0;
  for (int i = 0; i < blockDim.x; i++) sum += v[i];
  out[t] = sum;
}
__global__ void wrong(int id, int threads, int others) {
  __barrier_sync_count(id, threadIdx.x < 32 ? threads : others);
}
]==]

local tiers = { { name = "as the compiler picks" }, { name = "thread by thread", options = { "--width=1" } } }

for _, tier in ipairs(tiers) do
  describe(tier.name .. ",", function()
    local m = mw.compile { source = source, options = tier.options }

    describe("a cuda::barrier", function()
      it("of a whole block lets no thread continue before all have arrived", function()
        for _, threads in ipairs { 1, 2, 33, 100, 256 } do
          local out = mw.zeros(threads, "int")
          m.all(2, threads)(out, 7)
          for t = 0, threads - 1 do assert.equal((t + 7 + threads - 1) % threads, out[t + 1]) end
        end
      end)

      it("may count as it pleases, and be waited for by parity or between shuffles", function()
        for _, threads in ipairs { 32, 100, 256 } do
          local out = mw.zeros(threads, "int")
          m.by_parity(2, threads)(out, 5)
          for t = 0, threads - 1 do assert.equal((t + 5) % threads, out[t + 1]) end
        end
        local out = mw.zeros(256, "int")
        m.with_warps(2, 256)(out)
        for t = 0, 255 do assert.equal(255 * 128, out[t + 1]) end
      end)

      it("may be one of several, and in global memory", function()
        local out = mw.zeros(128, "int")
        m.either(1, 128)(out)
        for t = 0, 127 do assert.equal(t // 64 * 64 + (t + 1) % 64, out[t + 1]) end
        m.outside(1, 128)(out)
        for t = 0, 127 do assert.is_true(out[t + 1] >= 7) end
      end)

      it("lets producers and consumers wait for each other", function()
        local out = mw.zeros(160, "int")
        m.parted(1, 160)(out, 10)
        for t = 32, 159 do assert.equal(285, out[t + 1]) end
      end)

      it("may be one of many with different waiting threads, and another block may complete it", function()
        local out = mw.zeros(256, "int")
        m.many(1, 200)(out)
        for t = 0, 199 do assert.equal(2 * (199 - t), out[t + 1]) end
        m.across(2, 64)(out, mw.zeros(1, "int"))
        for t = 0, 63 do assert.equal(42, out[t + 1]) end
      end)

      it("at which no thread is left to arrive ends the launch", function()
        if suite.on_gpu then return pending "CPU device only: a GPU waits for ever" end
        m.half_never(1, 96)(mw.zeros(96, "int"))
        local good, e = pcall(mw.synchronize)
        assert.is_false(good)
        assert.matches("a cuda::barrier at which no thread is left to arrive: 48 of the block's 96 threads wait",
          tostring(e), 1, true)
        mw.device():reset()
      end)

      it("counts fewer threads when some drop out, and calls its completion function", function()
        local out = mw.zeros(50, "int")
        m.dropping(1, 50)(out)
        for t = 0, 49 do assert.equal(t, out[t + 1]) end
      end)
    end)

    it("a barrier with a name is the block's", function()
      local out = mw.zeros(200, "int")
      m.named(1, 200)(out)
      for t = 0, 199 do assert.equal((t + 2) % 200 * 2, out[t + 1]) end
    end)

    describe("a barrier for a part of a block", function()
      it("does not delay other threads", function()
        local out = mw.zeros(256, "int")
        m.pairs(2, 256)(out)
        for t = 0, 255 do
          local pair = t // 64
          assert.equal(pair * 64 + (t + pair + 1) % 64, out[t + 1])
        end
      end)

      it("lets some threads arrive without waiting", function()
        for items = 0, 7 do
          local out, want = mw.zeros(96, "int"), 0
          for i = 0, items - 1 do want = want + i * i + 1 end
          m.fill_and_read(1, 128)(out, items)
          assert.equal(96 * want, out:sum())
        end
      end)

      it("counts whole warps, also those with few active lanes", function()
        for _, threads in ipairs { 103, 128 } do
          for _, gone in ipairs { 0, 1, 5 } do
            local out = mw.zeros(128, "int")
            m.gaps(1, threads)(out, gone)
            for t = 0, threads - 1 do assert.equal(t % 32 < gone and 0 or threads, out[t + 1]) end
          end
        end
      end)

      it("with an invalid number or count ends the launch, and so does one for more threads than arrive", function()
        if suite.on_gpu then return pending "CPU device only: a GPU does not look at either" end
        local function message(threads, ...)
          m.wrong(1, threads)(...)
          local good, e = pcall(mw.synchronize)
          assert.is_false(good)
          mw.device():reset()
          return tostring(e)
        end
        assert.matches("barrier 16, and a block has barriers 0 to 15", message(32, 16, 32, 32))
        assert.matches("for 40 threads, which is not a multiple of the warp size, 32", message(32, 1, 40, 40))
        assert.matches("barrier 1 for 96 threads, and others arrived at it for 64", message(64, 1, 64, 96))
        assert.matches("waits at barrier 2 for 96 threads, and 64 have arrived", message(64, 2, 96, 96))
      end)
    end)

    it("atomic objects and references count every thread", function()
      local out, f, b, wide = mw.zeros(4, "int"), mw.zeros(2), mw.zeros(4, "uchar"), mw.zeros(1, "ulonglong")
      m.atomics(3, 100)(out, f, b, wide)
      assert.same({ 900, 99, 900, 2 }, out:totable())
      assert.same({ 150, 49.5 }, f:totable())
      assert.equal(300 % 256, b[1])
      assert.equal(-1, wide[1])
      m.pair_is(1, 1)(out)
      assert.equal(300, out[1])
      assert.equal(700, out[2])
    end)
  end)
end

describe("a cuda::barrier of any scope", function()
  it("compiles for GPUs by mwcc, in any memory", function()
    require("support.compile.paths").assert_compiles_for_gpus({ source = source, options = { "-O1" } },
      { "mwcc for a GPU" })
  end)

  it("is tried in a loop", function()
    for _, scope in ipairs { "block", "device", "system" } do
      local out = mw.arange(0, 128, 1, "int")
      mw.compile(([==[
        #include <cuda/std/utility>
        #include <cuda/barrier>
        using barrier = cuda::barrier<cuda::thread_scope_SCOPE>;
        __global__ void k(int *p) {
          __shared__ barrier bar;
          __shared__ int s[128];
          if (threadIdx.x == 0) init(&bar, blockDim.x);
          __syncthreads();
          for (int i = 0; i < 4; i++) {
            s[threadIdx.x] = p[threadIdx.x];
            auto token = bar.arrive();
            while (!bar.try_wait(cuda::std::move(token))) {}
            p[threadIdx.x] = s[127 - threadIdx.x] + 1;
            __syncthreads();
          }
        }]==]):gsub("SCOPE", scope)).k(1, 128)(out)
      for t = 0, 127 do assert.equal(t + 4, out[t + 1], scope) end
    end
  end)
end)

describe("the tier of a kernel", function()
  local m = mw.compile(source)

  it("whose threads all wait together is lanes, and of one where some do not says why not", function()
    if suite.on_gpu then return pending "CPU device only: a GPU has no tiers" end
    for _, name in ipairs { "atomics", "all", "by_parity", "with_warps", "dropping" } do
      assert.equal("simd", m[name].tier, m[name].tier_reason)
    end
    for name, reason in pairs { parted = "barrier",
      either = "a cuda::barrier that differs between threads", outside = "cuda::barrier outside of shared memory" } do
      assert.equal("fiber", m[name].tier)
      assert.matches("others of their block; it is not vectorised: .*" .. reason, m[name].tier_reason)
    end
    m.never(1, 64)()
    local good, e = pcall(mw.synchronize)
    assert.is_false(good)
    assert.matches("waits for a cuda::barrier that counts more arrivals", tostring(e))
    mw.device():reset()
    for _, name in ipairs { "pairs", "fill_and_read" } do
      assert.equal("fiber", m[name].tier)
      assert.matches("a named barrier, for which only a part of the block waits", m[name].tier_reason)
    end
  end)
end)
