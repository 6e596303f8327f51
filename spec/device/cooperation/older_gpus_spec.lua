-- Cooperative groups compiled for GPUs before capability 9.0, which have no clusters, and before 8.0, whose warps have
-- no instructions for reductions.
-- Lua 5.4 only: this does not depend on the binding.

local paths = require "support.compile.paths"

local source = [[
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void k(int *p, unsigned int *u) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  p[threadIdx.x] = cg::reduce(warp, p[threadIdx.x], cg::plus<int>());
  u[threadIdx.x] = cg::reduce(cg::coalesced_threads(), u[threadIdx.x], cg::bit_xor<unsigned int>());
}
]]

describe("cooperative groups", function()
  for _, architecture in ipairs { "sm_75", "sm_80", "sm_90" } do
    it("compile for " .. architecture, function()
      paths.assert_compiles_for_gpus { source = source, options = { "-arch=" .. architecture } }
    end)
  end

  it("say on a GPU without clusters that it has none", function()
    local script = [==[
      print(select(2, mw.try_compile { source = [[
        #include <cooperative_groups.h>
        __global__ void k(int *p) { p[0] = cooperative_groups::this_cluster().num_blocks(); }
      ]], options = { "-arch=sm_80" } }).message)]==]
    for path, output in pairs(paths.outputs(script, { "NVRTC" })) do
      assert.matches("clusters came with compute capability 9.0", output, 1, true, path)
    end
  end)
end)

describe("cg::reduce on the CPU device as a capability without reductions", function()
  it("gives the sums of warps and of coalesced threads", function()
    local script = ([==[
      mw.use("cpu", { capability = "7.5" })
      local m = mw.compile [[%s]]
      local p, u = mw.zeros(64, "int"), mw.zeros(64, "uint")
      for i = 1, 64 do p[i], u[i] = i, i * 7 end
      m.k(1, 64)(p, u)
      local all, other = 0, 0
      for i = 1, 32 do all = all + i end
      for i = 33, 64 do other = other ~ (i * 7) end
      print(p[1] == all, u[64] == other)]==]):format(source)
    assert.equal("true\ttrue\n", paths.outputs(script, { "cpu" }).cpu)
  end)
end)
