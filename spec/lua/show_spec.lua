-- Arrays as pictures in the terminal: a:show() and a:plot().

local mw = require "moonwarp"
local show = require "moonwarp.show.picture"
local terminal = require "moonwarp.show.terminal"

local function message(...)
  local ok, err = pcall(...)
  assert.is_false(ok, "no error was raised")
  return tostring(err.message)
end

describe("an array is shown", function()
  it("as a sparkline, with its range, of one dimension", function()
    assert.equal("▁▂▃▄▅▆▇█  0 to 7\n", show.picture(mw.arange(8), { width = 40 }))
    local long = show.picture(mw.arange(100000), { width = 40 }) -- 16 characters of three bytes
    assert.equal(16 * 3, #long:match "^(.-)  0 to")
  end)

  it("as a heat map of two", function()
    local a = mw.zeros(4, 4)
    a[1]:fill(1)
    a[2]:fill(1)
    local first, second, legend = show.picture(a, { width = 4, graphics = "text" }):match "^(....)\n(....)\n(.*)$"
    assert.equal(first:sub(1, 1):rep(4), first)
    assert.equal(second:sub(1, 1):rep(4), second)
    assert.not_equal(first, second)
    assert.equal("0 to 1\n", legend)
    local blocks = show.picture(a, { width = 4, graphics = "blocks" })
    assert.equal(8, select(2, blocks:gsub("▀", "")))
    assert.matches("\27%[38;2;253;231;37m", blocks) -- the greatest is yellow
    assert.matches("\27%[38;2;68;1;84m", blocks)
  end)

  it("as a heat map of every scalar type, and of masks as 0 and 1", function()
    local function of(dtype, one)
      local a = mw.zeros(2, 2, dtype)
      a[1][2] = one
      return show.picture(a, { width = 4, graphics = "text" })
    end
    local float = of("float", 1)
    for _, dtype in ipairs { "half", "bfloat16", "double", "char", "int", "ulonglong" } do
      assert.equal(float, of(dtype, 1), dtype)
    end
    assert.equal(float, of("bool", true))
    assert.equal(show.picture(mw.array { 0, 1, 1 }, { width = 40 }),
      show.picture(mw.array({ 0, 1, 1 }, "bfloat16"), { width = 40 }))
  end)

  it("as the picture that pixels are", function()
    local a = mw.array({ { { 255, 0, 0 }, { 0, 255, 0 } }, { { 0, 0, 255 }, { 255, 255, 255 } } }, "uchar")
    local blocks = show.picture(a, { width = 2, graphics = "blocks" })
    assert.equal("\27[38;2;255;0;0m\27[48;2;0;0;255m▀\27[38;2;0;255;0m\27[48;2;255;255;255m▀\27[0m\n", blocks)
    assert.equal(blocks, show.picture(a:as "uchar3", { width = 2, graphics = "blocks" }))
    -- The same pixels, in base64, for kitty.
    local pixels = "\255\0\0\0\255\0\0\0\255\255\255\255"
    assert.equal("\27_Ga=T,f=24,s=2,v=2,m=0;" .. terminal.base64(pixels) .. "\27\\\n",
      show.picture(a, { width = 2, graphics = "kitty" }))
    local sixel = show.picture(a, { width = 2, graphics = "sixel" })
    assert.matches("^\27Pq#0;2;0;0;0", sixel)
    assert.matches("#180@%?%$", sixel) -- red: the first row of the first column
    assert.matches("\27\\\n$", sixel)
  end)

  it("no higher than the terminal", function()
    assert.equal(80, terminal.columns({ width = 640, height = 480 }, 80, 30))
    assert.equal(53, terminal.columns({ width = 640, height = 480 }, 80, 20))
    assert.equal(80, terminal.columns({ width = 640, height = 480 }, 80, nil))
    assert.equal(8, terminal.columns({ width = 2, height = 4000 }, 80, 20))
  end)

  it("as a graph by plot", function()
    local lines = {}
    for line in show.graph(mw.arange(16), { width = 21, height = 4 }):gmatch "[^\n]+" do lines[#lines + 1] = line end
    assert.equal(6, #lines)
    assert.matches("^           │", lines[1])
    assert.matches("^        10 ┤", lines[2])
    assert.matches("^         0 ┤", lines[4])
    assert.matches("^            +10", lines[6])
  end)

  it("or refused, with the kinds of arrays that can be shown", function()
    assert.matches("this array is empty", message(show.picture, mw.zeros(0)))
    assert.matches("is not a picture", message(show.picture, mw.zeros({ 2, 2, 2 })))
    assert.matches("table as options", message(mw.zeros(2).plot, mw.zeros(2), 5))
  end)
end)

describe("base64", function()
  it("is RFC 4648's", function() -- section 10
    local vectors = { [""] = "", f = "Zg==", fo = "Zm8=", foo = "Zm9v", foob = "Zm9vYg==", foobar = "Zm9vYmFy" }
    for bytes, text in pairs(vectors) do assert.equal(text, terminal.base64(bytes)) end
  end)
end)
