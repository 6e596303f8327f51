-- Progress of long work at the prompt: what the library tells, and the line that shows it.
local mw = require "moonwarp"
local raw = require "moonwarp.binding"
local progress = require "moonwarp.repl.progress"
local write = require("support.files").write

-- What f tells, as lines.
local function told(f)
  local list = {}
  raw.progress = function(what, done, total) list[#list + 1] = ("%s %s %s"):format(what, done, total) end
  local ok, err = pcall(f)
  raw.progress = nil
  assert(ok, err)
  return list
end

describe("progress", function()
  it("is shown after a second, ten times a second at most, and erased", function()
    local now, out = 0, {}
    local finish = progress.begin(function(text) out[#out + 1] = text end, function() return now end)
    for i = 1, 30 do
      now = i / 20 -- 1.5 s
      raw.progress("sorting", i, 30)
    end
    finish()
    assert.is_nil(raw.progress)
    assert.equal("\r\27[Ksorting: 66 %", out[1])
    assert.equal("\r\27[K", out[#out])
    assert.is_true(#out >= 5 and #out <= 7)
  end)

  it("is silent for short work", function()
    local out = {}
    local finish = progress.begin(function(text) out[#out + 1] = text end, function() return 0 end)
    raw.progress("sorting", 1, 2)
    finish()
    assert.same({}, out)
  end)

  it("is shown for long sorts, files with many lines, and compilations", function()
    raw.part "array.order.sort"
    local settings = raw.sort_settings
    local before = settings.TOLD
    settings.TOLD = 40000
    local a = mw.arange(40000):flip(1)
    local sorted
    local list = told(function() sorted = a:sort() end)
    settings.TOLD = before
    assert.equal(0, sorted[1])
    local passes = {}
    for _, line in ipairs(list) do
      if line:match "^sorting" then passes[#passes + 1] = line end
    end
    assert.same({ "sorting 1 4", "sorting 2 4", "sorting 3 4", "sorting 4 4" }, passes)
    local path = os.tmpname()
    write(path, ("1\n"):rep(20001))
    assert.same({ ("reading %s 19999 40002"):format(path), ("reading %s 39999 40002"):format(path) },
      told(function() mw.read_csv(path) end))
    os.remove(path)
    local kernels = raw.part "array.kernels"
    local module = kernels.module('// none\n// kernels\nextern "C" __global__ void nothing() {}\n', "a test")
    assert.same({ "compiling nothing of a test nil nil" }, told(function() module(mw.device()).nothing(1, 1)() end))
  end)
end)
