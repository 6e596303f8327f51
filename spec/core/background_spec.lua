-- Code for one block size is compiled in the background, and no launch waits for it. A program in place of the
-- compiler runs commands of the tests first, and then the compiler.
-- CPU device only: code for other devices is not specialised

local run = require "support.child"

-- A folder with a cache and a home whose mwcc does `special` (shell) before it compiles for one block size;
-- $here is the folder. The script gets its name as argument.
local function with_home(special, use)
  local here = os.tmpname()
  os.remove(here)
  local home = assert(os.getenv "MOONWARP_HOME")
  if home:sub(1, 1) ~= "/" then home = assert(io.popen "pwd"):read "*l" .. "/" .. home end
  assert(os.execute(("mkdir -m 700 '%s' '%s/bin' '%s/cache'"):format(here, here, here)))
  os.execute(("for f in '%s'/*; do ln -s \"$f\" '%s'/ 2>/dev/null; done"):format(home, here))
  os.execute(("rm -f '%s/bin/bin'"):format(here))
  local file = assert(io.open(here .. "/bin/mwcc", "w"))
  file:write(([[#!/bin/sh
here='%s'
case "$*" in *--launch*) %s ;; esac
exec '%s/bin/mwcc' "$@"
]]):format(here, special, home))
  file:close()
  os.execute(("chmod +x '%s/bin/mwcc'"):format(here))
  local ok, message = pcall(use, here)
  os.execute(("rm -r '%s'"):format(here))
  if not ok then error(message, 0) end
end

local prelude = [[
  local mw = require "moonwarp"
  local here, n = arg[1], 2 ^ 17
  local m = mw.compile "__global__ void add(int *p) { p[blockIdx.x * blockDim.x + threadIdx.x] += threadIdx.x; }"
  local p, launches = mw.zeros(n, "int"), 0
  local function launch()
    m.add(n / 256, 256)(p)
    launches = launches + 1
  end
  local function check()
    for i = 1, n, 1021 do assert(p[i] == (i - 1) % 256 * launches, "not the sum") end
  end
  local function exists(name)
    local file = io.open(here .. "/" .. name)
    if file then file:close() end
    return file ~= nil
  end
  local function wait_for(name)
    local deadline = mw.time() + 60
    while not exists(name) do assert(mw.time() < deadline, name) end
  end
]]

local function start(here, script, more)
  local environment = { MOONWARP_HOME = here, MOONWARP_CACHE = here .. "/cache", MOONWARP_DEVICE = "cpu:0",
    MOONWARP_SPECIALISE = "65536", MOONWARP_BACKGROUND = "", MOONWARP_TRIALS = "off" }
  for name, value in pairs(more or {}) do environment[name] = value end
  local result = run { prelude .. script, here, seconds = 120, environment = environment }
  assert.is_true(result.ok, result.output)
  return result.output
end

describe("code for one block size", function()
  it("is compiled while launches go on, and then it is theirs", function()
    with_home([[touch $here/began; until [ -e $here/go ]; do sleep 0.01; done; touch $here/went]], function(here)
      local output = start(here, [[
        for _ = 1, 3 do launch() end
        check()
        wait_for "began" -- and it does not end before the next line
        print(exists "went", mw.cache.misses)
        io.open(here .. "/go", "w"):close()
        local files, deadline = "", mw.time() + 60
        repeat
          launch()
          mw.synchronize()
          files = io.popen("ls " .. here .. "/cache/*.mwo | wc -l"):read "*n"
        until files == 2 or mw.time() > deadline
        for _ = 1, 3 do launch() end
        check()
        print(files, mw.cache.misses)
      ]])
      assert.equal("false\t2\n2\t2\n", (output:gsub("%.0", "")))
    end)
  end)

  it("is loaded at the first launch where it was compiled before", function()
    with_home("echo once >>$here/list", function(here)
      local script = [[
        launch()
        check()
        wait_for "list"
        print(mw.cache.hits)
      ]]
      assert.equal("0\n", start(here, script)) -- a compilation that runs is not given up when the process ends
      assert.equal("2\n", start(here, script))
      local count = 0
      for _ in io.lines(here .. "/list") do count = count + 1 end
      assert.equal(1, count)
    end)
  end)

  it("is given up at the end of a process that it would hold up", function()
    with_home("echo $$ >$here/process; exec sleep 1000", function(here)
      start(here, [[
        launch()
        wait_for "process"
        check()
      ]])
      local process = io.open(here .. "/process"):read "*n"
      assert.falsy(os.execute(("kill -0 %d 2>/dev/null"):format(process)))
    end)
  end)

  it("is missed by nobody if it cannot be compiled", function()
    with_home("touch $here/tried; echo wrong >&2; exit 1", function(here)
      assert.equal("ok\n", start(here, [[
        launch()
        wait_for "tried"
        for _ = 1, 20 do launch() end
        check()
        print "ok"
      ]]))
    end)
  end)

  it("is waited for where launches shall be predictable", function()
    with_home("echo once >>$here/list", function(here)
      local script = [[
        launch()
        print(exists "list", mw.cache.misses)
        check()
      ]]
      assert.equal("true\t2\n", start(here, script, { MOONWARP_BACKGROUND = "off" }))
      os.execute("rm -r " .. here .. "/list " .. here .. "/cache/*")
      assert.equal("true\t2\n", start(here, script, { MOONWARP_SPECIALISE = "0" }))
    end)
  end)
end)
