-- The prompt, driven through a pseudo-terminal as a person drives it (support/pty.c), and its parts by themselves.
-- CPU device only: its scenarios show what is printed on it; what the prompt does with results is no matter of devices.

local mw = require "moonwarp"
local write = require("support.files").write
local interpreter = arg[-1]

local pty -- the driver, compiled once
setup(function()
  pty = os.tmpname()
  local pipe = assert(io.popen(("cc -O1 -o '%s' spec/support/pty.c 2>&1"):format(pty)))
  local output = pipe:read "*a"
  assert(pipe:close(), output)
end)
teardown(function() os.remove(pty) end)

-- Without a readline module too: MOONWARP_READLINE is not looked at, so the module is hidden by a loader that fails.
local hide_readline = [[package.preload.readline = function() error "hidden" end ]]

-- What the prompt writes while the scenario is played, and its exit status.
local function play(scenario, options)
  local path, home = os.tmpname(), os.tmpname()
  os.remove(home)
  write(path, scenario)
  local code = (options and options.plain and hide_readline or "") ..
    'os.exit(require "moonwarp.repl".main { [0] = "moonwarp" })'
  local command = ("TERM=dumb NO_COLOR=1 INPUTRC=/dev/null XDG_STATE_HOME='%s' '%s' '%s' '%s' -e '%s' 2>&1"):format(
    home, pty, path, interpreter, code)
  local pipe = assert(io.popen(command))
  local output = pipe:read "*a"
  local _, _, status = pipe:close()
  os.remove(path)
  local history = io.open(home .. "/moonwarp/history")
  local remembered = history and history:read "*a"
  if history then history:close() end
  os.execute(("rm -rf '%s'"):format(home))
  return output:gsub("\r", ""), status, remembered
end

-- A kernel, a mistake in it, its error, the kernel mended; results; a picture; an endless kernel, interrupted; the end.
local session = [=[
wait > 
send m = mw.compile [[
wait >> 
send __global__ void twice(float *p) { p[threadIdx.x] = 2 * q; printf("thread %d\n", threadIdx.x); }
wait >> 
send ]]
wait use of undeclared identifier 'q'
wait > 
send m = mw.compile [[
wait >> 
send __global__ void twice(float *p) { p[threadIdx.x] *= 2; printf("thread %d here\n", threadIdx.x); }
wait >> 
send __global__ void endless(volatile int *p) { while (!*p) ; }
wait >> 
send ]]
wait > 
send x = mw.arange(8)
wait > 
send m.twice
wait kernel twice(float *p)
wait bytes of shared memory
wait > 
send m.twice(1, 2)(x)
wait thread 1 here
wait > 
send x
wait float {8} on cpu:0
wait {0, 2, 2, ..., 5, 6, 7}
wait min 0, max 7, mean 3.625, sum 29
wait > 
send x:plot{ height = 4 }
wait 7 │
wait 0 │
wait > 
send far = mw.compile "__global__ void far(int *cells, int i) { cells[i] = 1; }"
wait > 
send far.far(1, 1)(mw.zeros(4, "int"), 4)
wait kernel far wrote to cells[4], and cells ends with [3]
wait stdin:1
wait thread (0,0,0)
wait > 
send flag = mw.zeros(1, "int") m.endless(1, 1)(flag) print("laun" .. "ched")
wait launched
key 3
wait kernel endless was interrupted
wait > 
send print("loop" .. "ing") while true do end
wait looping
key 3
wait interrupted
wait > 
send x:sum() + flag[1]
wait 29
wait > 
send undefined.field
wait attempt to index
wait > 
send 6 * 7, "words"
wait 42
wait words
wait > 
key 4
]=]

describe("the prompt", function()
  it("plays a session with line editing", function()
    if not pcall(require, "readline") then return pending "there is no readline module" end
    local output, status, history = play(session)
    assert.equal(0, status, output)
    assert.not_matches("waited in vain", output)
    assert.matches("moonwarp %d+%.%d+%.%d+ on ", output)
    -- What was typed is remembered, a kernel of several lines as one entry.
    assert.matches("x = mw%.arange%(8%)", history)
  end)

  it("plays it without", function()
    local output, status = play(session, { plain = true })
    assert.equal(0, status, output)
    assert.matches("no line editing", output)
  end)

  it("completes names of variables, methods and kernels", function()
    if not pcall(require, "readline") then return pending "there is no readline module" end
    local output, status = play(table.concat({
      "wait > ", "send m = mw.compile '__global__ void unmistakable() { printf(\"it ran\\\\n\"); }'", "wait > ",
      "type m.unmi\\t", "send (1, 1)()", "wait it ran", "wait > ",
      "send x = mw.ones(3)", "wait > ", "type x:totab\\t", "send ()[3] + 41", "wait 42", "wait > ", "key 4",
    }, "\n") .. "\n")
    assert.equal(0, status, output)
  end)

  it("forgets a line on Ctrl-C, and goes on", function()
    local scenario = { "wait > ", "send f = function(", "wait >> ", "key 3", "wait > ", "send 40 + 2",
      "wait 42", "wait > ", "key 4" }
    local output, status = play(table.concat(scenario, "\n") .. "\n", { plain = true })
    assert.equal(0, status, output)
  end)
end)

describe("the program moonwarp", function()
  local function run(words)
    local pipe = assert(io.popen(("%s bin/moonwarp %s 2>&1"):format(interpreter, words)))
    local output = pipe:read "*a"
    local ok = pipe:close()
    return output, ok == true
  end

  it("runs code and scripts, with their arguments", function()
    assert.equal("6\n", (run "-e 'print((\"%d\"):format(mw.full(3, 2):sum()))'"))
    local path = os.tmpname()
    write(path, "#!/usr/bin/env moonwarp\nprint(arg[0] ~= nil, arg[1], ...) require 'moonwarp'\n")
    assert.equal("true\ta\ta\tb\n", (run(path .. " a b")))
    os.remove(path)
  end)

  it("tells its version, how to use it, and what is wrong", function()
    assert.equal("moonwarp " .. mw.version .. "\n", (run "--version"))
    assert.matches("usage: moonwarp", (run "--help"))
    local output, ok = run "--nonsense"
    assert.matches("usage: moonwarp", output)
    assert.is_false(ok)
    output, ok = run "/no/such/script.lua"
    assert.matches("/no/such/script.lua: No such file", output)
    assert.is_false(ok)
    output, ok = run "-e 'error(\"bad\")'"
    assert.matches("bad", output)
    assert.is_false(ok)
  end)

  it("says what to write where CUDA C stopped Lua's parser", function()
    local function said(text)
      local path = os.tmpname()
      write(path, text)
      local output, ok = run(path)
      os.remove(path)
      assert.is_false(ok)
      return output
    end
    local launch = "; a launch is written kernel(grid, block)(arguments)\n"
    assert.matches(launch, said "local m = {}\nm.k<<<1, 32>>>(x)\n", 1, true)
    assert.matches(launch, (run "-e 'k<<<1, 32>>>(x)'"), 1, true)
    local string = "; the kernel's text ended at its own ]]: put it into [==[ and ]==]\n"
    assert.matches(string, said "m = mw.compile [[\nvoid f(int *a, int *x) {\n  g(&a[x[0]], 1);\n}\n]]\n", 1, true)
    assert.matches(string, said "\nm = mw.compile [[ void f(int *a, int *x) { a[x[0]] = 1; }]]\n", 1, true)
    for _, text in ipairs { "local s = [[ a[0] ]] = 3", "x = = 3", "if a < b < < c then end", "local s = [[ a[" } do
      assert.not_matches("; ", said(text), 1, true)
    end
  end)

  it("takes a prompt's input from a pipe too", function()
    local command = "printf 'x = mw.ones(2)\\nx:sum() == 2\\n' | %s bin/moonwarp -q"
    local pipe = assert(io.popen(command:format(interpreter)))
    assert.matches("true", pipe:read "*a")
    pipe:close()
  end)
end)
