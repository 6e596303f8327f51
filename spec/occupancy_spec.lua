-- The occupancy calculator: CUDA's rules for every compute capability, against results worked out by hand from the
-- guides' tables.

local mw = require "moonwarp"

local function occupancy(capability, threads, registers, shared)
  return mw.occupancy { capability = capability, threads = threads, registers = registers, shared = shared }
end

describe("occupancy", function()
  it("is limited by threads, blocks, registers and shared memory", function()
    -- 1.0: 24 warps, 8 blocks, 8192 registers in units of 256 a block, 16 KiB of shared memory in units of 512.
    local found = occupancy("1.0", 256, 10, 0)
    assert.same({ blocks = 3, warps = 24, occupancy = 1, limited_by = "threads" }, found)
    found = occupancy("1.0", 192, 16, 0) -- 3072 registers a block
    assert.same({ blocks = 2, warps = 12, occupancy = 0.5, limited_by = "registers" }, found)
    found = occupancy("1.1", 64, 8, 5000) -- 5120 bytes a block
    assert.same({ blocks = 3, warps = 6, occupancy = 0.25, limited_by = "shared memory" }, found)
    found = occupancy("1.0", 32, 1, 0)
    assert.same({ blocks = 8, warps = 8, occupancy = 1 / 3, limited_by = "blocks" }, found)
  end)

  it("counts registers by warp from 2.0 on", function()
    assert.equal(4, occupancy("2.0", 256, 32).blocks) -- 1024 a warp, 32 warps
    assert.equal(6, occupancy("8.6", 256, 40).blocks) -- 51 warps by registers, 48 by four, and 48 at all
    assert.equal(1, occupancy("8.6", 256, 40).occupancy)
    assert.equal(2, occupancy("3.5", 1024, 32).blocks)
    assert.equal(1, occupancy("3.5", 1024, 33).blocks)
    assert.equal(5, occupancy("1.2", 192, 16).blocks) -- 16384 / 3072 = 5
  end)

  it("is none where a block cannot run", function()
    assert.equal(0, occupancy("1.3", 513, 1).blocks)
    assert.equal(0, occupancy("9.0", 1025).blocks)
    assert.equal(0, occupancy("2.0", 32, 64).blocks)
    assert.equal(0, occupancy("5.2", 32, 1, 49 * 1024).blocks)
    assert.equal(0, occupancy("8.0", 1024, 128).blocks)
  end)

  it("takes off what the system keeps of shared memory from 8.0 on", function()
    assert.equal(9, occupancy("7.0", 32, 0, 10 * 1024).blocks) -- 96 / 10
    assert.equal(14, occupancy("8.0", 32, 0, 10 * 1024).blocks) -- 164 / 11
  end)

  it("is the device's in use where no capability is named", function()
    local facts = mw.properties()
    local named = occupancy(facts.major .. "." .. facts.minor, 128, 20, 1000)
    assert.same(named, mw.occupancy { threads = 128, registers = 20, shared = 1000 })
  end)

  it("wants a capability that exists and a block with threads", function()
    for _, wrong in ipairs { { capability = "1.4", threads = 32 }, { threads = 0 }, { threads = "many" }, {} } do
      local ok, err = pcall(mw.occupancy, wrong)
      assert.is_false(ok)
      assert.equal("usage", err.kind)
    end
  end)
end)
