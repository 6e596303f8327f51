-- The page about a measured run: well-formed, self-contained, and it draws what was counted.

local mw = require "moonwarp"

local m = mw.compile [[
__global__ void strided(int stride, const float *x, float *y) {
  __shared__ float t[1024];
  t[threadIdx.x * 2] = x[threadIdx.x * stride] * 2.0f;
  if (threadIdx.x < 8 && stride > 0) y[threadIdx.x] = t[threadIdx.x * 2];
}]]

local page = require "moonwarp.watch.page"

-- Elements without an end tag.
local empty = { meta = true, ["!DOCTYPE"] = true }

-- The elements that are not closed in order; the page is well-formed if there are none.
local function unclosed(text)
  local open, wrong = {}, {}
  for close, name, rest in text:gsub("<style>.-</style>", ""):gmatch "<(/?)([%w!]+)([^>]*)>" do
    if close == "/" then
      if table.remove(open) ~= name then wrong[#wrong + 1] = name end
    elseif not empty[name] and rest:sub(-1) ~= "/" then
      open[#open + 1] = name
    end
  end
  for _, name in ipairs(open) do wrong[#wrong + 1] = name end
  return wrong
end

local function count(text, pattern) return select(2, text:gsub(pattern, "")) end

describe("the page about a measured run", function()
  local x, y = mw.ones(4096), mw.zeros(1024)
  local function measured(stride) return mw.measure(m.strided, 1, 32)(stride, x, y) end

  it("is well-formed and refers to nothing else", function()
    local text = page.text(measured(8))
    assert.same({}, unclosed(text))
    assert.is_nil(text:find "<script")
    assert.is_nil(text:find "<link")
    assert.is_nil(text:find "src=")
    assert.is_nil(text:find "href=")
  end)

  it("has each line of the source, warmer the farther it is from the ideal", function()
    local text = page.text(measured(8))
    assert.matches("if %(threadIdx%.x &lt; 8 &amp;&amp; stride &gt; 0%)", text)
    assert.matches('<tr style="background:#ffa591">[^\n]*\n[^\n]*\n<td>%d+</td><td class="code">  t%[', text)
    assert.matches('background:#ffffff">[^\n]*\n[^\n]*\n<td>%d+</td><td class="code">__global__', text)
    assert.matches("uncoalesced loads: 32%.0 sectors", text)
  end)

  it("draws the lanes of a warp and the sectors or banks that they access", function()
    local text = page.text(measured(8))
    assert.equal(3, count(text, "lanes 0 to 31")) -- what was stored to t is not loaded again
    assert.matches("32 sectors of 32 bytes, from number 0 to 31", text)
    assert.matches("16 of 32 banks", text)
    assert.matches("1 sectors of 32 bytes, from number 0 to 0", text) -- eight lanes store side by side
    assert.matches("line %d+: load of 4 bytes through x, 32%.0 sectors a request", text)
    assert.equal(24, count(text, "is not active"))
  end)

  it("has the kernel under the roofline, and lanes over time", function()
    local text = page.text(measured(1))
    assert.equal(1, count(text, '<circle class="kernel"'))
    assert.matches("strided: 0%.2%d* operations a byte, limited by memory", text)
    assert.matches("%d basic blocks", text)
  end)

  it("is written to a file", function()
    local path = os.tmpname()
    measured(1):html(path)
    local file = assert(io.open(path))
    local text = file:read "*a"
    file:close()
    os.remove(path)
    assert.equal("<!DOCTYPE html>", text:match "^[^\n]*")
    assert.error_matches(function() measured(1):html "/nowhere/page.html" end, "/nowhere/page.html")
  end)
end)
