-- Stores and reductions in the shared memory of other blocks of a cluster whose bytes a barrier there counts: PTX
-- st.async and red.async.

local mw = require "moonwarp"

local source = [==[
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// Each block sends 32 * 3 numbers and 32 additions to the next one, and waits for those that it gets.
__global__ void __cluster_dims__(4, 1, 1) ring(unsigned int *out) {
  __shared__ alignas(16) unsigned int got[32][4], total;
  __shared__ unsigned long long bar;
  unsigned int t = threadIdx.x, b = (unsigned int)__cvta_generic_to_shared(&bar), phase = 0;
  unsigned int place = (unsigned int)__cvta_generic_to_shared(got[t]);
  unsigned int sum = (unsigned int)__cvta_generic_to_shared(&total);
  cg::cluster_group cluster = cg::this_cluster();
  unsigned int rank = cluster.block_rank(), next = (rank + 1) % 4, remote_bar, remote_place, remote_sum;
  if (t == 0) {
    total = 0;
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(b));
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(b), "r"(32 * 20) : "memory");
  }
  cluster.sync();
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote_bar) : "r"(b), "r"(next));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote_place) : "r"(place), "r"(next));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote_sum) : "r"(sum), "r"(next));
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
               : : "r"(remote_place), "r"(100 * rank + t), "r"(remote_bar) : "memory");
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0 + 4], %1, [%2];"
               : : "r"(remote_place), "r"(1000 * rank + t), "r"(remote_bar) : "memory");
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0 + 8], {%1, %2}, [%3];"
               : : "r"(remote_place), "r"(t * t), "r"(rank), "r"(remote_bar) : "memory");
  asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];"
               : : "r"(remote_sum), "r"(t + rank), "r"(remote_bar) : "memory");
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1; @!p bra W; }"
               : : "r"(b), "r"(phase) : "memory");
  for (int i = 0; i < 4; i++) out[(rank * 33 + t) * 4 + i] = got[t][i];
  if (t == 0) out[(rank * 33 + 32) * 4] = total;
  cluster.sync();
}
]==]

describe("stores that a barrier counts", function()
  it("arrive in the next block of the cluster before its wait ends", function()
    local m = mw.compile { source = source, options = { "-arch=compute_90" } }
    for _ = 1, 20 do
      local out = mw.zeros(4 * 33 * 4, "uint")
      m.ring(4, 32)(out)
      local list = out:totable()
      for rank = 0, 3 do
        local from, sum = (rank + 3) % 4, 0
        for t = 0, 31 do
          local at = (rank * 33 + t) * 4
          assert.same({ 100 * from + t, 1000 * from + t, t * t, from },
            { list[at + 1], list[at + 2], list[at + 3], list[at + 4] })
          sum = sum + t + from
        end
        assert.equal(sum, list[(rank * 33 + 32) * 4 + 1])
      end
    end
  end)
end)
