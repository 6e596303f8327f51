-- Barriers that count arrivals and bytes: cuda::barrier with transactions, cuda_awbarrier_primitives.h, PTX mbarrier,
-- and the bulk copies that complete them (CUDA C++ Programming Guide, "Asynchronous Data Copies").

local mw = require "moonwarp"
local tiers = require "support.tiers"

local source = [==[
#include <cuda/barrier>
#include <cooperative_groups.h>
#include <cuda_awbarrier_primitives.h>
namespace cg = cooperative_groups;
namespace cde = cuda::device::experimental;
using barrier = cuda::barrier<cuda::thread_scope_block>;

// The guide's one-dimensional copies: one thread announces the bytes, all wait for them, and the result goes back.
__global__ void increment(int *data, int offset, int shift) {
  __shared__ alignas(16) int tile[256];
  __shared__ barrier bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::memcpy_async(tile, data + offset, cuda::aligned_size_t<16>(sizeof tile / 2), bar);
    cde::cp_async_bulk_global_to_shared(tile + 128, data + offset + 128, sizeof tile / 2, bar);
    token = cuda::device::barrier_arrive_tx(bar, 1, sizeof tile / 2);
  } else {
    token = bar.arrive();
  }
  bar.wait(static_cast<barrier::arrival_token &&>(token));
  for (int i = threadIdx.x; i < 256; i += blockDim.x) tile[i] += shift;
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_shared_to_global(data + offset, tile, sizeof tile);
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  }
}

// PTX, by parity, in the loop that programs write; several stages.
__global__ void stages(const float *in, float *out, int rounds) {
  __shared__ alignas(128) float stage[2][64];
  __shared__ unsigned long long full[2];
  unsigned int first = (unsigned int)__cvta_generic_to_shared(full), bars[2] = {first, first + 8};
  unsigned int place = (unsigned int)__cvta_generic_to_shared(stage);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(bars[0]), "r"(1));
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" : : "r"(bars[1]), "r"(1));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  float sum = 0;
  for (int r = 0; r < rounds; r++) {
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(bars[r % 2]), "r"(256) : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                   : : "r"(place + r % 2 * 256), "l"(in + r * 64), "r"(256), "r"(bars[r % 2]) : "memory");
    }
    asm volatile("{\n.reg .pred P1;\nLAB_WAIT:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
                 "@P1 bra DONE;\nbra LAB_WAIT;\nDONE:\n}" : : "r"(bars[r % 2]), "r"(r / 2 % 2) : "memory");
    sum += stage[r % 2][63 - threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// What tests say, in one thread: the bytes hold a phase open, and so does a missing arrival.
__global__ void tests(unsigned int *out) {
  __shared__ __mbarrier_t b;
  unsigned int at = (unsigned int)__cvta_generic_to_shared(&b);
  __mbarrier_init(&b, 2);
  __mbarrier_token_t first = __mbarrier_arrive(&b);
  out[0] = __mbarrier_token_pending_count(first);
  out[1] = __mbarrier_test_wait(&b, first);
  __mbarrier_token_t second = __mbarrier_arrive_and_drop(&b);
  out[2] = __mbarrier_test_wait(&b, first) + 2 * __mbarrier_test_wait_parity(&b, 0);
  out[2] += 4 * __mbarrier_test_wait_parity(&b, 1);
  out[3] = __mbarrier_token_pending_count(second);
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" : : "r"(at), "r"(100) : "memory");
  first = __mbarrier_arrive(&b);
  out[4] = __mbarrier_test_wait(&b, first);
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" : : "r"(at), "r"(100) : "memory");
  out[5] = __mbarrier_test_wait(&b, first) + 2 * __mbarrier_test_wait_parity(&b, 1);
  __mbarrier_inval(&b);
}

// Warps that wait by polling, while others fill.
__global__ void polls(const int *in, int *out) {
  __shared__ int cells[32];
  __shared__ __mbarrier_t full;
  if (threadIdx.x == 0) __mbarrier_init(&full, 32);
  __syncthreads();
  if (threadIdx.x < 32) {
    while (!__mbarrier_try_wait_parity(&full, 0)) {}
    out[threadIdx.x] = cells[31 - threadIdx.x];
  } else {
    cells[threadIdx.x - 32] = in[threadIdx.x - 32];
    __mbarrier_arrive(&full);
  }
}

// From one block of a cluster to all: a multicast, and a copy to another block's shared memory, whose barrier it
// completes.
__device__ unsigned int place(const void *p) { return (unsigned int)__cvta_generic_to_shared(p); }
__device__ void expect(unsigned long long *bar) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" : : "r"(place(bar)) : "memory");
}
__device__ void wait(unsigned long long *bar) {
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W; }"
               : : "r"(place(bar)) : "memory");
}
__device__ unsigned int place_in(const void *p, unsigned int rank) {
  unsigned int there;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(place(p)), "r"(rank));
  return there;
}
__global__ void __cluster_dims__(4) spread(const int *in, int *out) {
  __shared__ alignas(16) int all[32], next[32];
  __shared__ unsigned long long bars[2];
  auto c = cg::this_cluster();
  if (threadIdx.x < 2) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(place(&bars[threadIdx.x])));
  c.sync();
  if (threadIdx.x == 0) {
    expect(&bars[0]);
    expect(&bars[1]);
    if (c.block_rank() == 0)
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                   "[%0], [%1], 128, [%2], %3;"
                   : : "r"(place(all)), "l"(in), "r"(place(&bars[0])), "h"((unsigned short)15) : "memory");
  }
  wait(&bars[0]);
  all[threadIdx.x] += 1000 * c.block_rank();
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  unsigned int other = (c.block_rank() + 1) % 4;
  if (threadIdx.x == 0)
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];"
                 : : "r"(place_in(next, other)), "r"(place(all)), "r"(place_in(&bars[1], other)) : "memory");
  wait(&bars[1]);
  out[blockIdx.x * 32 + threadIdx.x] = next[threadIdx.x];
  c.sync();
}

// The older instruction, which does not wait, in a loop; by the state and by parity.
__global__ void tests_in_loops(int *p) {
  __shared__ unsigned long long bar;
  __shared__ int s[128];
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], %1;" : : "r"(place(&bar)), "r"(blockDim.x));
  __syncthreads();
  for (int i = 0; i < 4; i++) {
    s[threadIdx.x] = p[threadIdx.x];
    unsigned long long state;
    int past;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(place(&bar)) : "memory");
    do {
      if (i % 2)
        asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 1; selp.b32 %0, 1, 0, p; }"
                     : "=r"(past) : "r"(place(&bar)) : "memory");
      else
        asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.b32 %0, 1, 0, p; }"
                     : "=r"(past) : "r"(place(&bar)), "l"(state) : "memory");
    } while (!past);
    p[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x] + 1;
    __syncthreads();
  }
}

// Reductions into global memory.
__global__ void reduces(int *sums, float *most) {
  __shared__ alignas(16) int part[32];
  __shared__ alignas(16) float best[32];
  part[threadIdx.x] = threadIdx.x + blockIdx.x;
  best[threadIdx.x] = threadIdx.x * 0.5f;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], 128;"
                 : : "l"(sums), "r"((unsigned int)__cvta_generic_to_shared(part)) : "memory");
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 128;"
                 : : "l"(most), "r"((unsigned int)__cvta_generic_to_shared(best)) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
]==]

-- Tiers do not depend on the binding.
for _, tier in ipairs { tiers[1], not rawget(_G, "jit") and tiers[2] or nil } do
  describe("a barrier that counts bytes, " .. tier.name .. ",", function()
    local m = mw.compile { source = source, options = tier.options }

    it("ends its phase when all threads and all bytes have arrived", function()
      for _, threads in ipairs { 32, 100 } do
        local data = mw.arange(0, 1024, 1, "int")
        m.increment(1, threads)(data, 256, 7)
        for i = 1, 1024 do assert.equal(i - 1 + ((i > 256 and i <= 512) and 7 or 0), data[i]) end
      end
    end)

    it("serves as a ring of stages", function()
      local rounds = 5
      local input, out = mw.arange(0, 64 * rounds), mw.zeros(64)
      m.stages(1, 64)(input, out, rounds)
      for t = 0, 63 do assert.equal((63 - t) * rounds + 64 * 10, out[t + 1]) end
    end)

    it("says in tests what holds its phase open", function()
      local out = mw.zeros(6, "uint")
      m.tests(1, 1)(out)
      assert.same({ 2, 0, 3, 1, 0, 3 }, out:totable())
    end)

    it("is polled by some threads while others arrive", function()
      local input, out = mw.arange(0, 32, 1, "int"), mw.zeros(32, "int")
      m.polls(1, 64)(input, out)
      for t = 0, 31 do assert.equal(31 - t, out[t + 1]) end
    end)

    it("is tested in a loop while others arrive", function()
      local p = mw.arange(0, 128, 1, "int")
      m.tests_in_loops(1, 128)(p)
      for t = 0, 127 do assert.equal(t + 4, p[t + 1]) end
    end)

    it("counts what other blocks of its cluster copy", function()
      local input, out = mw.arange(0, 32, 1, "int"), mw.zeros(256, "int")
      m.spread(8, 32)(input, out)
      for b = 0, 7 do
        for t = 0, 31 do assert.equal(t + 1000 * ((b + 3) % 4), out[b * 32 + t + 1]) end
      end
    end)

    it("is not needed by reductions", function()
      local sums, most = mw.zeros(32, "int"), mw.zeros(32)
      m.reduces(3, 32)(sums, most)
      for t = 0, 31 do
        assert.equal(3 * t + 3, sums[t + 1])
        assert.equal(1.5 * t, most[t + 1])
      end
    end)
  end)
end
