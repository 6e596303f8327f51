-- Tiles of more threads than a warp: their barriers, collective operations and ranks, against plain loops.

local mw = require "moonwarp"

local source = [==[
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
template <int Size> __global__ void work(int *p) {
  __shared__ cg::block_tile_memory<512> memory;
  auto tile = cg::tiled_partition<Size>(cg::this_thread_block(memory));
  int i = threadIdx.x, n = blockDim.x;
  p[i] = cg::reduce(tile, i, cg::plus<int>());
  p[n + i] = cg::inclusive_scan(tile, i, cg::plus<int>());
  p[2 * n + i] = cg::exclusive_scan(tile, i, cg::plus<int>());
  p[3 * n + i] = tile.shfl(i, 37);
  p[4 * n + i] = tile.any(i == 70) * 10 + tile.all(i > 70);
  p[5 * n + i] = tile.meta_group_rank() * 10000 + tile.meta_group_size() * 1000 + tile.thread_rank();
}
/* Each tile reverses its part of shared memory as often as its rank says: tiles wait for themselves alone. */
__global__ void alone(int *p) {
  __shared__ int s[256];
  auto tile = cg::tiled_partition<64>(cg::this_thread_block());
  int at = threadIdx.x, other = at / 64 * 64 + 63 - at % 64;
  s[at] = at;
  for (unsigned n = 0; n < tile.meta_group_rank(); n++) {
    tile.sync();
    int x = s[other];
    tile.sync();
    s[at] = x;
  }
  p[at] = s[at];
}
]==]

describe("a tile of", function()
  for _, size in ipairs { 64, 128, 512 } do
    it(size .. " threads", function()
      local threads = 512
      local out = mw.zeros(6 * threads, "int")
      mw.compile(source)[("work<%d>"):format(size)](1, threads)(out)
      local values = out:totable()
      for i = 0, threads - 1 do
        local first, whole, below = i - i % size, 0, 0
        for j = first, first + size - 1 do
          whole = whole + j
          if j < i then below = below + j end
        end
        local any = 70 >= first and 70 < first + size and 10 or 0
        local rank = i % size + (i - i % size) / size * 10000 + threads / size * 1000
        assert.same({ whole, below + i, below, first + 37, any + (first > 70 and 1 or 0), rank },
          { values[i + 1], values[threads + i + 1], values[2 * threads + i + 1], values[3 * threads + i + 1],
            values[4 * threads + i + 1], values[5 * threads + i + 1] })
      end
    end)
  end

  it("64 threads waits for its own threads alone", function()
    local out = mw.zeros(256, "int")
    mw.compile(source).alone(1, 256)(out)
    for i = 0, 255 do
      local tile = (i - i % 64) / 64
      assert.equal(tile % 2 == 0 and i or tile * 64 + 63 - i % 64, out[i + 1])
    end
  end)
end)
