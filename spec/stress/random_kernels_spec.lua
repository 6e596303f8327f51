-- Random structured kernels, compiled for every number of lanes: their results equal a plain interpreter's. A failure
-- names its seed and kernel; KERNEL_SEED=n runs that one alone, with all widths. support/kernels/trial.lua has more.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local kernels = require "support.kernels.trial"

local SEEDS, BATCH = 60, 6
local only = tonumber(os.getenv "KERNEL_SEED")

local function made(first, last, options)
  local list = {}
  for seed = first, last do list[#list + 1] = kernels.make(seed, options) end
  return list
end

local function check(list, width)
  local m = kernels.compile(list, width)
  for _, k in ipairs(list) do
    local difference = kernels.difference(k, m)
    if difference then
      error(("seed %d with %s lanes: %s\n%s"):format(k.seed, width, difference, kernels.source { k }), 0)
    end
  end
end

describe("a random kernel", function()
  local before
  setup(function() before = mw.limit("time", 20) end)
  teardown(function() mw.limit("time", before) end)

  -- All as plain loops or fibers; a share of them with each number of lanes.
  for at, width in ipairs(kernels.widths) do
    it(width == 1 and "means the same thread by thread" or ("means the same in %s lanes"):format(width), function()
      if only then return check(made(only, only), width) end
      local share = SEEDS // (#kernels.widths - 1)
      local first = width == 1 and 1 or (at - 2) * share + 1
      local last = width == 1 and SEEDS or first + share - 1
      for seed = first, last, BATCH do check(made(seed, math.min(seed + BATCH - 1, last)), width) end
    end)
  end

  -- Whatever the number of lanes of a vector, as many vectors as it takes make a warp.
  for at, width in ipairs { 1, 4, 8, 16, 32 } do
    it(("whose threads see their warps means the same with --width=%d"):format(width), function()
      local options = { warps = true }
      if only then return check(made(only, only, options), width) end
      local first = width == 1 and 1 or (at - 2) * 6 + 1
      for seed = first, width == 1 and 24 or first + 5, BATCH do
        check(made(seed, seed + BATCH - 1, options), width)
      end
    end)
  end

  -- Also as code for blocks of one size, which has most of the ways to reach memory.
  for at, width in ipairs { 1, "own", "8x4" } do
    it(("that reaches memory in many ways means the same with %s"):format(
      width == "own" and "lanes as mwcc chooses them" or "--width=" .. width), function()
      local options, every = { memory = true, threads = 300 }, mw.limit("specialise", width == "own" and 0 or nil)
      local first = at == 3 and 5 or 1
      finally(function() mw.limit("specialise", every) end)
      if only then return check(made(only, only, options), width) end
      check(made(first, first + 3, options), width)
    end)
  end

  it("means the same as the body of a grid-stride loop", function()
    local options, every = { strides = true, threads = 300 }, mw.limit("specialise", 0)
    finally(function() mw.limit("specialise", every) end)
    check(only and made(only, only, options) or made(1, 8, options), "own")
  end)

  it("is the same whenever it is made from the same seed", function()
    assert.equal(kernels.source(made(3, 3)), kernels.source(made(3, 3)))
    assert.not_equal(kernels.text(made(3, 3)[1]), kernels.text(made(4, 4)[1]))
  end)
end)
