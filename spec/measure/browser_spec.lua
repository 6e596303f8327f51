-- The page about a measured run as a browser shows it: headless Chromium lays it out, and its picture has what was
-- counted. Pending where there is no Chromium (Debian's packages chromium and chromium-headless-shell).
-- CPU device only: no other device can watch launches

local mw = require "moonwarp"
local files = require "support.files"

local function find_browser()
  for _, name in ipairs { "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome" } do
    local pipe = io.popen(("command -v %s 2>/dev/null"):format(name))
    local path = pipe:read "*l"
    pipe:close()
    if path then return path end
  end
end

local browser = find_browser()

-- The page's elements once it is laid out, with what a script reads of them added at its end.
local SCRIPT = [[<script>
function box(e) { var b = e.getBoundingClientRect(); return Math.round(b.width) + "x" + Math.round(b.height); }
function all(q) { return Array.from(document.querySelectorAll(q)); }
var out = document.createElement("pre");
out.id = "report";
out.textContent = [
  "drawings " + all("figure svg").map(box).join(" "),
  "outside " + all("figure svg *").filter(function (e) {
    var b = e.getBoundingClientRect(), s = e.ownerSVGElement.getBoundingClientRect();
    return b.width > 0 &&
      (b.left < s.left - 1 || b.right > s.right + 1 || b.top < s.top - 1 || b.bottom > s.bottom + 1);
  }).length,
  "overflow " + (document.documentElement.scrollWidth > window.innerWidth ? 1 : 0),
  "warm " + all("table.source tr").filter(function (e) {
    var c = getComputedStyle(e).backgroundColor; return c.indexOf("rgb(255, ") == 0 && c != "rgb(255, 255, 255)";
  }).length,
  "lanes " + all("figure:nth-of-type(1) rect[fill='#3070b0']").length,
  "links " + all("figure:nth-of-type(1) line").length,
  "places " + all("figure:nth-of-type(1) rect[fill='#c06020']").length,
  "kernel " + all("circle.kernel").map(function (e) { return e.getAttribute("cx"); }).join(" "),
  "bars " + all("figure:last-of-type rect[fill='#3070b0']").length
].join(";");
document.body.appendChild(out);
</script></body>]]

local function look_at(r)
  local path = os.tmpname() .. ".html"
  r:html(path)
  local text = files.read(path)
  files.write(path, (text:gsub("</body>", function() return SCRIPT end)))
  local command = "timeout 60 '%s' --headless --no-sandbox --disable-gpu --window-size=1200,2000 --dump-dom "
    .. "'file://%s' 2>/dev/null"
  local pipe = io.popen(command:format(browser, path))
  local shown = pipe:read "*a"
  pipe:close()
  os.remove(path)
  local report, found = shown:match '<pre id="report">(.-)</pre>', {}
  for name, value in (report or ""):gmatch "(%a+) ([^;]*)" do found[name] = tonumber(value) or value end
  return found
end

describe("the page about a measured run, in a browser", function()
  local m = mw.compile [[
__global__ void strided(int stride, const float *x, float *y) {
  __shared__ float t[1024];
  t[threadIdx.x * 2] = x[threadIdx.x * stride] * 2.0f;
  if (threadIdx.x < 8 && stride > 0) y[threadIdx.x] = t[threadIdx.x * 2];
}]]
  local x, y = mw.ones(4096), mw.zeros(1024)

  it("draws maps, roofline and timeline inside their frames, and warms lines that are far from the ideal", function()
    if not browser then return pending "there is no Chromium" end
    local far = look_at(mw.measure(m.strided, 1, 32)(8, x, y))
    local near = look_at(mw.measure(m.strided, 1, 32)(1, x, y))
    local _, drawings = far.drawings:gsub("%d+x%d+", "")
    assert.equal(5, drawings) -- three accesses, the roofline, the timeline
    for _, size in ipairs { far, near } do
      assert.equal(0, size.outside)
      assert.equal(0, size.overflow)
    end
    assert.is_nil(far.drawings:find "x0")
    assert.same({ 32, 32, 32 }, { far.lanes, far.links, far.places })
    assert.same({ 32, 32, 4 }, { near.lanes, near.links, near.places })
    assert.is_true(far.warm > 0)
    assert.is_true(near.kernel > far.kernel) -- more operations a byte are farther to the right
    assert.is_true(far.bars > 1)
  end)
end)
