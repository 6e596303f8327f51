-- Gathers and scatters under constant masks, lane by lane. (src/mwcc/machine/constant_lanes.c)
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mwcc = require "support.mwcc"

local count = mwcc.count

local lanes = [[
  define <4 x float> @gathered(ptr %p, i64 %at) {
    %row = getelementptr float, ptr %p, <4 x i64> <i64 0, i64 17, i64 34, i64 poison>
    %moved = getelementptr float, <4 x ptr> %row, i64 %at
    %v = call <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr> %moved, i32 4, <4 x i1> MASK,
                                                         <4 x float> zeroinitializer)
    ret <4 x float> %v
  }
  define void @scattered(ptr %p, <4 x float> %v) {
    %row = getelementptr float, ptr %p, <4 x i64> <i64 0, i64 17, i64 34, i64 poison>
    call void @llvm.masked.scatter.v4f32.v4p0(<4 x float> %v, <4 x ptr> %row, i32 4, <4 x i1> MASK)
    ret void
  }
  declare <4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr>, i32, <4 x i1>, <4 x float>)
  declare void @llvm.masked.scatter.v4f32.v4p0(<4 x float>, <4 x ptr>, i32, <4 x i1>)]]

local function pass(mask, options)
  return (mwcc.only(lanes:gsub("MASK", mask), "constant-lanes", options))
end

local three = "<i1 true, i1 false, i1 true, i1 false>"

describe("a gather or scatter at constant distances, under a constant mask", function()
  it("is an access of each active lane", function()
    for _, processor in ipairs { "znver4", "sapphirerapids" } do
      local text = pass(three, "--mcpu=" .. processor)
      assert.equal(0, count(text, "call "))
      assert.equal(2, count(text, "= load float"))
      assert.equal(2, count(text, "store float"))
      assert.equal(2, count(text, "ptr %%%S+, i64 34")) -- lane 2
      assert.equal(0, count(text, "ptr %%%S+, i64 17")) -- lane 1
      assert.equal(1, count(text, "insertelement <4 x float> zeroinitializer"))
    end
  end)

  it("stays where an active lane has no constant place", function()
    assert.equal(2, count(pass("<i1 true, i1 false, i1 true, i1 true>"), "call "))
  end)

  it("stays without AVX-512, where LLVM does the same", function()
    assert.equal(2, count(pass(three, "--mcpu=x86-64-v3"), "call "))
  end)
end)
