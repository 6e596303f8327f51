-- Parameters aligned to more than 16 bytes: the driver copies a whole block of parameters to a multiple of 16, so a
-- kernel with such a parameter is launched with a pointer to each.
-- Lua 5.4 only: it is about the driver, not the binding

local gpu = require "support.fake.gpu"

local script = [==[
local m = mw.compile [[
struct alignas(%d) wide { unsigned long long word[2], rest[14]; };
__global__ void k(const __grid_constant__ wide w, int x, int *out) { out[0] = (int)w.word[0] + x; }
]]
local rest = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 }
m.k(1, 1)({ word = { 1, 2 }, rest = rest }, 2, mw.zeros(1, "int"))
]==]

describe("a parameter of a GPU's kernel", function()
  for alignment, call in pairs { [16] = "cuLaunchKernel", [64] = "cuLaunchKernelEx" } do
    it(("aligned to %d bytes is passed by %s"):format(alignment, call), function()
      local result = gpu { script:format(alignment), environment = { MOONWARP_NVRTC = "off" } }
      assert.equal("", result.output)
      assert.equal(1, gpu.count(result, call))
    end)
  end
end)
