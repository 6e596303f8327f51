-- Kernels of common operations that are installed with the library: small arrays do not wait for the compiler, nor need
-- one. The installations here contain only what the specs put there.

local run = require "support.child"

local function quote(text) return "'" .. text .. "'" end

local home = assert(os.getenv "MOONWARP_HOME")
local levels = { "x86-64-v4", "x86-64-v3", "x86-64-v2" }

-- Operations of one kernel each, so that the first run of a compiler that fails sees all of them.
local operations = [[
  local mw = require "moonwarp"
  local a, b = mw.array { 1.25, 2, 3.75 }, mw.array({ 7, -3, 2 }, "int")
  local m = mw.array { { 1, 2, 3 }, { 4, 5, 6 } }
  local operations = {
    function() return a + 1 end, function() return a + a end, function() return 2 / a end,
    function() return a:exp() end,
    function() return a + b end, function() return m * a end, function() return a:gt(2) end,
    function() return mw.where(mw.array({ true, false, true }, "bool"), a, b) end,
    function() return a:cumsum() end, function() return m:sum { axis = 1 } end,
    function() return m:mean { axis = 2 } end,
    function() return m:transpose():copy() end, function() return a:take { 3, 1 } end,
    function() return b:copy():assign(a) end, function() return (a + 1):sum() end,
  }
  for i, f in ipairs(operations) do
    local done, result = pcall(f)
    if done and type(result) ~= "number" then
      result = result:bytes():gsub(".", function(c) return ("%02x"):format(c:byte()) end)
    end
    if arg[1] ~= "quietly" then print(i, done and result or "failed: " .. tostring(result)) end
  end
]]

describe("shipped kernels", function()
  if (os.getenv "MOONWARP_TARGET" or "") ~= "" or io.popen("uname -m"):read() ~= "x86_64" then
    return pending "the spec names levels of x86-64"
  end
  local folder = os.tmpname()
  local quoted = quote(folder)

  local function must(command) assert(os.execute(command), command) end
  local function operate(home_folder, how)
    return run { operations, how or "aloud", environment = { MOONWARP_HOME = home_folder, MOONWARP_DEVICE = "cpu",
      XDG_CACHE_HOME = folder .. "/cache", MW_TEXTS = folder .. "/texts", PATH = "/usr/bin:/bin" } }.output
  end

  setup(function()
    os.remove(folder)
    must(("mkdir -p %s/bin %s/share/moonwarp/kernels %s/texts"):format(quoted, quoted, quoted))
    must(("ln -s %s/share/moonwarp/device %s/share/moonwarp/device"):format(quote(home), quoted))
    must(("install -m 755 src/kernels/collect.sh %s/bin/mwcc"):format(quoted))
    operate(folder, "quietly")
    for _, level in ipairs(levels) do
      must(("sh src/kernels/compile.sh %s/bin/mwcc %s/texts %s/share/moonwarp/kernels/%s %s"):format(quote(home),
        quoted, quoted, level, level))
    end
    os.remove(folder .. "/bin/mwcc")
  end)
  teardown(function() os.execute("rm -rf " .. quoted) end)

  it("serve without a compiler, and with the results of compiled ones", function()
    local shipped = operate(folder)
    assert.not_matches("failed", shipped, 1, true)
    local bare = folder .. "/bare" -- as after an installation without them
    must(("mkdir -p %s/bare/share/moonwarp && ln -s %s/bin %s/bare"):format(quoted, quote(home), quoted))
    must(("ln -s %s/share/moonwarp/device %s/bare/share/moonwarp"):format(quote(home), quoted))
    assert.equal(operate(bare), shipped)
    assert.matches("\n15\t10[.0]*\n$", shipped)
  end)

  it("are compiled anew, and left alone, where they are damaged", function()
    local sum = ("cat %s/share/moonwarp/kernels/*/* | cksum"):format(quoted)
    must(("chmod -R u+w %s/share && for file in %s/share/moonwarp/kernels/*/*; do printf x >$file; done"):format(quoted,
      quoted))
    local before = io.popen(sum):read "*a"
    must(("ln -s %s/bin/mwcc %s/bin/mwcc"):format(quote(home), quoted))
    assert.not_matches("failed", operate(folder), 1, true)
    assert.equal(before, io.popen(sum):read "*a")
  end)

  it("are for texts without options", function()
    local mwcc = require "support.mwcc"
    local output, status = mwcc.try("__global__ void f() {}", "--ship=" .. quoted .. " -DX")
    assert.equal(2, status)
    assert.matches("a shipped module is compiled without options besides --mcpu", output, 1, true)
  end)
end)
