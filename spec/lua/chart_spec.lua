-- Charts of arrays: axes and their ticks, and a:plot() to the terminal, to SVG and to PNG.

local mw = require "moonwarp"
local axes = require "moonwarp.show.axes"
local show = require "moonwarp.show.picture"
local files = require "support.files"
local failure = require "support.failure"

local function message(...) return tostring(failure(...)) end

local function labels(axis)
  local list = {}
  for i, tick in ipairs(axis.ticks) do list[i] = tick.label end
  return table.concat(list, " ")
end

describe("an axis", function()
  it("has ticks at 1, 2 and 5 times powers of ten", function()
    assert.equal("0 2 4 6 8 10", labels(axes.new(0, 10, {})))
    assert.equal("-0.5 0.0 0.5 1.0", labels(axes.new(-0.9, 1.2, {})))
    assert.equal("0.00 0.05 0.10", labels(axes.new(0, 0.13, { ticks = 3 })))
    assert.equal("1000 1500 2000", labels(axes.new(900, 2100, { ticks = 4 })))
    assert.equal("0 5e+06 1e+07", labels(axes.new(0, 1e7, { ticks = 3 })))
  end)

  it("with a logarithm has powers of ten, all or each second", function()
    assert.equal("1e0 1e1 1e2 1e3", labels(axes.new(1, 1000, { log = true })))
    assert.equal("1e-3 1e0 1e3", labels(axes.new(1e-3, 1e5, { log = true, ticks = 3 })))
    local axis = axes.new(1, 100, { log = true })
    assert.near(0.5, axis.place(10), 1e-12)
  end)

  it("places values between 0 and 1, also where all are the same or none is a number", function()
    local axis = axes.new(-2, 6, {})
    assert.equal(0, axis.place(-2))
    assert.equal(0.75, axis.place(4))
    assert.equal(0.5, axes.new(3, 3, {}).place(3))
    assert.equal("0.0 0.2 0.4 0.6 0.8 1.0", labels(axes.new(math.huge, -math.huge, {})))
  end)
end)

describe("a:plot", function()
  local folder
  setup(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder))
  end)
  teardown(function() os.execute("rm -r " .. folder) end)

  local function svg(a, options)
    options.file = folder .. "/chart.svg"
    assert.equal("", show.graph(a, options))
    return files.read(options.file)
  end
  local function count(text, pattern)
    local _, found = text:gsub(pattern, "")
    return found
  end

  it("draws a line for each array, with labels, broken at NaN", function()
    local text = svg(mw.array { 1, 2, 0 / 0, 4, 5 }, { mw.array { 5, 4, 3, 2, 1 }, labels = { "a < b", "down" },
      title = "Two & two", xlabel = "place", ylabel = "value" })
    assert.matches('^<svg xmlns="http://www.w3.org/2000/svg" width="640" height="400"', text)
    assert.matches("</svg>\n$", text)
    assert.equal(2, count(text, 'points="[^"]*" fill="none" stroke="#0072b2" stroke%-width="1.5"/>')) -- broken
    assert.equal(1, count(text, 'points="[^"]*" fill="none" stroke="#d55e00" stroke%-width="1.5"/>'))
    for _, shown in ipairs { "Two &amp; two", "a &lt; b", "down", "place", "value" } do
      assert.matches(">" .. shown .. "</text>", text, 1, true)
    end
    assert.matches('transform="rotate%(%-90 16 [%d.]+%)">value<', text)
  end)

  it("draws the line where the values are", function()
    local text = svg(mw.array { 0, 10 }, { width = 288, height = 152 }) -- the frame is 200 by 100
    assert.matches('points="72,116 272,16" fill="none" stroke="#0072b2"', text, 1, true)
  end)

  it("draws the rows of two dimensions as lines, and long lines by their extremes", function()
    local rows = svg(mw.array { { 1, 2 }, { 2, 1 }, { 0, 3 } }, { kind = "line" })
    assert.equal(3, count(rows, 'stroke%-width="1.5"'))
    local a = mw.zeros(100000)
    a[77777] = 5
    local points = svg(a, {}):match 'points="([^"]*)" fill="none" stroke="#0072b2"'
    assert.equal(2048, count(points, ","))
    assert.equal(1, count(points, ",16 ")) -- the one peak, at the top
  end)

  it("draws points of two columns, or of x and y", function()
    local text = svg(mw.array { { 1, 1 }, { 2, 4 }, { 3, 9 } }, { kind = "scatter" })
    assert.equal(3, count(text, "<circle "))
    assert.equal(text, svg(mw.array { 1, 4, 9 }, { kind = "scatter", x = mw.array { 1, 2, 3 } }))
  end)

  it("draws further arrays as lines over the points", function()
    local x, y, fit = mw.array { 1, 2, 3 }, mw.array { 1, 4, 9 }, mw.array { 0, 4.5, 9 }
    local text = svg(y, { fit, x = x, kind = "scatter", labels = { "measured", "fitted" }, width = 288, height = 152 })
    assert.equal(3, count(text, "<circle "))
    assert.matches('points="72,116 172,66 272,16" fill="none" stroke="#d55e00"', text, 1, true)
    assert.matches(">fitted</text>", text, 1, true)
    local columns = svg(mw.array { { 1, 1 }, { 2, 4 }, { 3, 9 } }, { fit, kind = "scatter" })
    assert.equal(1, count(columns, "<polyline[^>]*#d55e00"))
  end)

  it("draws histograms whose bars are as high as the counts", function()
    local text = svg(mw.array { 0, 0.1, 0.2, 3.9, 4, 2 }, { kind = "hist", bins = 2, width = 288, height = 152 })
    local heights = {}
    for high in text:gmatch 'height="([%d.]+)" fill="#0072b2"' do heights[#heights + 1] = tonumber(high) end
    assert.same({ 100, 100 }, heights) -- 3 of 3 each
    local uneven = svg(mw.array { 0, 0, 0, 0, 1 }, { kind = "hist", bins = 2, width = 288, height = 152 })
    assert.matches('height="25" fill="#0072b2"', uneven, 1, true)
  end)

  it("draws heat maps with a colour bar, neighbours of one colour as one", function()
    local text = svg(mw.array { { 0, 0, 1 }, { 1, 0, 0 } }, {})
    local low, high = "#440154", "#fde725"
    assert.equal(2, count(text, '" fill="' .. low)) -- and nothing of the bar, whose ends are a step inside
    assert.equal(2, count(text, '" fill="' .. high))
    assert.equal(4 + 32, count(text, "crispEdges"))
  end)

  it("writes PNG pictures of the requested size", function()
    local path = folder .. "/chart.png"
    mw.arange(10):plot { file = path, width = 300, height = 200, title = "Up" }
    local picture = mw.read_image(path)
    assert.same({ 200, 300 }, { picture.shape[1], picture.shape[2] })
    local blue = 0
    for _, row in ipairs(picture:totable()) do
      for _, p in ipairs(row) do if p[1] == 0 and p[2] == 114 and p[3] == 178 then blue = blue + 1 end end
    end
    assert.is_true(blue > 200) -- a line from corner to corner
    mw.eye(4):show { file = path }
    assert.same({ 400, 640 }, { mw.read_image(path).shape[1], mw.read_image(path).shape[2] })
  end)

  it("prints several lines, points, bars and logarithmic axes in the terminal", function()
    local options = { graphics = "text", width = 33, height = 4, labels = { "up", "down" }, title = "Title" }
    options[1] = mw.array { 3, 2, 1, 0 }
    local text = show.graph(mw.arange(4), options)
    assert.matches("^ +Title\n", text)
    assert.matches("── up\n +── down\n$", text)
    local bars = show.graph(mw.array { 0, 0, 0, 0, 1 },
      { graphics = "text", kind = "hist", bins = 2, width = 33, height = 4 })
    assert.matches("         4 ┤██████████          \n", bars, 1, true)
    assert.matches("         0 ┤████████████████████\n", bars, 1, true)
    local log = show.graph(mw.array { 1, 10, 100, 1000 }, { graphics = "text", log = "y", width = 33, height = 8 })
    assert.matches("1e2 ┤", log, 1, true)
    local map = show.graph(mw.eye(2), { graphics = "text", width = 14 })
    assert.matches("│==\n", map, 1, true)
    assert.matches("1 to 2\n +0 +[^\n]* 1\n$", map)
  end)

  it("refuses what it cannot draw, and says what to write", function()
    local a = mw.arange(3)
    assert.matches('"line", "scatter", "hist" or "heat", got "pie"', message(a.plot, a, { kind = "pie" }), 1, true)
    assert.matches("file ends in .svg or .png", message(a.plot, a, { file = "x.gif" }), 1, true)
    assert.matches("x has 2 elements, and y 3", message(a.plot, a, { x = mw.arange(2) }))
    assert.matches("numbers above 0", message(a.plot, -a, { log = "y" }))
    assert.matches("wants an array of {n, 2}", message(a.plot, a, { kind = "scatter" }), 1, true)
    assert.matches("no option", message(a.plot, a, { colour = "red" }))
    assert.matches("cannot be written", message(a.plot, a, { file = "/nowhere/at/all.svg" }))
  end)
end)
