-- PTX elect.sync: one lane of the mask is chosen, the same each time. (PTX ISA 8.0, 9.7.13.15)

local mw = require "moonwarp"

local m = mw.compile [[
__device__ int elect(unsigned mask, unsigned *lane) {
  int chosen;
  asm volatile("{\n .reg .pred p;\n elect.sync %0|p, %2;\n selp.s32 %1, 1, 0, p;\n}"
               : "=r"(*lane), "=r"(chosen) : "r"(mask) : "memory");
  return chosen;
}
__global__ void whole(int *chosen, unsigned *lane) {
  chosen[threadIdx.x] = elect(0xffffffff, &lane[threadIdx.x]);
}
__global__ void part(int *chosen, unsigned *lane) {
  if (threadIdx.x % 32 >= 5 && threadIdx.x % 32 < 20) chosen[threadIdx.x] = elect(0xfffe0, &lane[threadIdx.x]);
}
]]

-- How many lanes of each warp were chosen, and whether all were told the same one, which is one of them.
local function check(name, first, last)
  local chosen, lane = mw.full(64, -1, "int"), mw.full(64, 99, "uint")
  m[name](1, 64)(chosen, lane)
  for warp = 0, 1 do
    local count, leader = 0, lane[warp * 32 + first + 1]
    for i = first, last do
      local at = warp * 32 + i + 1
      assert.equal(leader, lane[at])
      assert.equal(i == leader and 1 or 0, chosen[at])
      count = count + chosen[at]
    end
    assert.equal(1, count)
    if first > 0 then assert.equal(-1, chosen[warp * 32 + first]) end
  end
end

describe("elect.sync", function()
  it("chooses one lane of a warp", function() check("whole", 0, 31) end)

  it("chooses one of the lanes that the mask names", function() check("part", 5, 19) end)
end)
