-- The occupancy calculator: CUDA's rules for every compute capability, against results worked out by hand from the
-- guides' tables.

local mw = require "moonwarp"

local function occupancy(capability, threads, registers, shared)
  return mw.occupancy { capability = capability, threads = threads, registers = registers, shared = shared }
end

describe("occupancy", function()
  it("is limited by threads, blocks, registers and shared memory", function()
    -- 1.0: 24 warps, 8 blocks, 8192 registers in units of 256 per block, 16 KiB of shared memory in units of 512.
    local found = occupancy("1.0", 256, 10, 0)
    assert.same({ blocks = 3, warps = 24, occupancy = 1, limited_by = "threads" }, found)
    found = occupancy("1.0", 192, 16, 0) -- 3072 registers per block
    assert.same({ blocks = 2, warps = 12, occupancy = 0.5, limited_by = "registers" }, found)
    found = occupancy("1.1", 64, 8, 5000) -- 5120 bytes per block
    assert.same({ blocks = 3, warps = 6, occupancy = 0.25, limited_by = "shared memory" }, found)
    found = occupancy("1.0", 32, 1, 0)
    assert.same({ blocks = 8, warps = 8, occupancy = 1 / 3, limited_by = "blocks" }, found)
  end)

  it("counts registers by warp from 2.0 on", function()
    assert.equal(4, occupancy("2.0", 256, 32).blocks) -- 1024 registers per warp, 32 warps
    assert.equal(6, occupancy("8.6", 256, 40).blocks) -- 51 warps by registers, 48 by four, and 48 at all
    assert.equal(1, occupancy("8.6", 256, 40).occupancy)
    assert.equal(2, occupancy("3.5", 1024, 32).blocks)
    assert.equal(1, occupancy("3.5", 1024, 33).blocks)
    assert.equal(5, occupancy("1.2", 192, 16).blocks) -- 16384 / 3072 = 5
  end)

  it("is 0 if a block cannot run", function()
    assert.equal(0, occupancy("1.3", 513, 1).blocks)
    assert.equal(0, occupancy("9.0", 1025).blocks)
    assert.equal(0, occupancy("2.0", 32, 64).blocks)
    assert.equal(0, occupancy("5.2", 32, 1, 49 * 1024).blocks)
    assert.equal(0, occupancy("8.0", 1024, 128).blocks)
  end)

  it("subtracts the system's shared memory from 8.0 on", function()
    assert.equal(9, occupancy("7.0", 32, 0, 10 * 1024).blocks) -- 96 / 10
    assert.equal(14, occupancy("8.0", 32, 0, 10 * 1024).blocks) -- 164 / 11
  end)

  it("agrees with the examples of NVIDIA's guides and of books", function()
    local published = {
      -- CUDA C Best Practices Guide (2.3 to 5.0), "calculating occupancy": 83 and 66 percent.
      { "1.1", 128, 12, 0, 5, 5 * 4 / 24 }, { "1.1", 256, 12, 0, 2, 2 * 8 / 24 },
      -- The same guide (11.2): 75 and 63 percent.
      { "7.0", 128, 37, 0, 12, 0.75 }, { "7.0", 320, 37, 0, 4, 40 / 64 },
      -- Kirk and Hwu, "Programming massively parallel processors", on the G80: one register more costs a third.
      { "1.0", 256, 10, 0, 3, 1 }, { "1.0", 256, 11, 0, 2, 2 / 3 },
      -- And its shared memory: with 2 KiB per block eight blocks fit, with 5 KiB three.
      { "1.0", 64, 0, 2048, 8, 16 / 24 }, { "1.0", 64, 0, 5120, 3, 6 / 24 },
      -- Tuning guides: blocks of 32 threads fill half of a Volta or an Ampere, two thirds of an 8.6 by sixteen of 96.
      { "7.0", 32, 32, 0, 32, 0.5 }, { "8.0", 32, 32, 0, 32, 0.5 }, { "8.6", 96, 32, 0, 16, 1 },
      -- An Ampere's or a Hopper's whole shared memory for one block, less what the system keeps.
      { "8.0", 1024, 0, 163 * 1024, 1, 0.5 }, { "9.0", 1024, 0, 227 * 1024, 1, 0.5 },
    }
    for _, p in ipairs(published) do
      local found = occupancy(p[1], p[2], p[3], p[4])
      local what = ("%s: %d threads, %d registers, %d bytes"):format(p[1], p[2], p[3], p[4])
      assert.equal(p[5], found.blocks, what)
      assert.is_true(math.abs(p[6] - found.occupancy) < 1e-12, what)
    end
  end)

  -- Capability -> threads of a multiprocessor, its blocks, registers of a thread with which it can still be full, and
  -- bytes of shared memory of a block with which eight blocks fit.
  local guide = {
    ["1.0"] = { 768, 8, 10, 2048 }, ["1.1"] = { 768, 8, 10, 2048 },
    ["1.2"] = { 1024, 8, 16, 2048 }, ["1.3"] = { 1024, 8, 16, 2048 },
    ["2.0"] = { 1536, 8, 20, 6144 }, ["2.1"] = { 1536, 8, 20, 6144 },
    ["3.0"] = { 2048, 16, 32, 6144 }, ["3.2"] = { 2048, 16, 32, 6144 }, ["3.5"] = { 2048, 16, 32, 6144 },
    ["3.7"] = { 2048, 16, 64, 14336 },
    ["5.0"] = { 2048, 32, 32, 8192 }, ["5.2"] = { 2048, 32, 32, 12288 }, ["5.3"] = { 2048, 32, 32, 8192 },
    ["6.0"] = { 2048, 32, 32, 8192 }, ["6.1"] = { 2048, 32, 32, 12288 }, ["6.2"] = { 2048, 32, 32, 8192 },
    ["7.0"] = { 2048, 32, 32, 12288 }, ["7.2"] = { 2048, 32, 32, 12288 }, ["7.5"] = { 1024, 16, 64, 8192 },
    ["8.0"] = { 2048, 32, 32, 19968 }, ["8.6"] = { 1536, 16, 40, 11776 }, ["8.7"] = { 1536, 16, 40, 19968 },
    ["8.9"] = { 1536, 24, 40, 11776 }, ["9.0"] = { 2048, 32, 32, 28160 },
  }

  it("follows the guides' table for every capability", function()
    assert.equal(24, #mw.capabilities())
    for _, capability in ipairs(mw.capabilities()) do
      local threads, blocks, registers, shared = (table.unpack or unpack)(guide[capability])
      local full = occupancy(capability, 256, registers, 0)
      assert.equal(1, full.occupancy, capability)
      assert.equal(threads, full.warps * 32, capability)
      assert.is_true(occupancy(capability, 256, registers + 1, 0).occupancy < 1, capability)
      local small = occupancy(capability, 32, 0, 0)
      assert.same({ blocks, "blocks" }, { small.blocks, small.limited_by }, capability)
      assert.equal(8, occupancy(capability, 32, 0, shared).blocks, capability)
      assert.is_true(occupancy(capability, 32, 0, shared + 1).blocks < 8, capability)
      assert.equal("shared memory", occupancy(capability, 32, 0, shared + 1).limited_by)
      assert.equal(0, occupancy(capability, 32, mw.capability(capability).registers_per_thread + 1, 0).blocks)
      local most = mw.capability(capability).shared_per_block_optin
      assert.equal(1, occupancy(capability, 32, 0, most).blocks > 0 and 1)
      assert.equal(0, occupancy(capability, 32, 0, most + 1).blocks)
    end
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
