-- Arrays as text: tostring and print.

local mw = require "moonwarp"

describe("an array as text", function()
  local on = " on " .. mw.device().name .. "\n"
  it("is its dtype, shape, device and elements", function()
    assert.equal("float {3}" .. on .. "{1, 2.5, -3}", tostring(mw.array { 1, 2.5, -3 }))
    assert.equal("int {2, 2}" .. on .. "{{  1,  20},\n {300,   4}}",
      tostring(mw.array({ { 1, 20 }, { 300, 4 } }, "int")))
    assert.equal("float2 {2}" .. on .. "{(1, 2), (3, 4.5)}", tostring(mw.array({ { 1, 2 }, { 3, 4.5 } }, "float2")))
    assert.equal("bool {2}" .. on .. "{true, false}", tostring(mw.array({ true, false }, "bool")))
    assert.equal("float {0}" .. on .. "{}", tostring(mw.array {}))
    assert.equal("double {3}" .. on .. "{inf, -inf, nan}",
      tostring(mw.array({ math.huge, -math.huge, 0 / 0 }, "double")))
  end)

  it("shows one of up to 128 elements whole, in lines of up to 80 columns", function()
    assert.equal("int {8}" .. on .. "{0, 1, 2, 3, 4, 5, 6, 7}", tostring(mw.arange(8, "int")))
    assert.equal("int {32}" .. on .. "{ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, " ..
      "14, 15, 16, 17, 18, 19,\n 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31}", tostring(mw.arange(32, "int")))
    local text = tostring(mw.arange(128, "int"):reshape(2, 64))
    assert.matches("^int {2, 64}" .. on .. "{{  0,   1,", text)
    assert.matches("62,  63},\n {64,  65,", (text:gsub("{ *", "{")))
    for line in text:gmatch "[^\n]+" do assert.is_true(#line <= 80, line) end
  end)

  it("shows the corners of a large one", function()
    assert.equal("int {129}" .. on .. "{0, 1, 2, ..., 126, 127, 128}", tostring(mw.arange(129, "int")))
    assert.equal("float {99, 0}" .. on .. "{{},\n {},\n {},\n ...,\n {},\n {},\n {}}", tostring(mw.zeros(99, 0)))
    local text = tostring(mw.arange(10000, "int"):reshape(100, 100))
    assert.matches("^int {100, 100}" .. on .. "{{   0,    1,    2, ...,   97,   98,   99},\n", text)
    assert.matches(" {9900, 9901, 9902, ..., 9997, 9998, 9999}}$", text)
    assert.equal(8, select(2, text:gsub("\n", "")) + 1)
    assert.is_true(#tostring(mw.zeros { 20, 20, 20, 20, 20 }) < 4000)
  end)
end)
