-- The prompt, driven through a pseudo-terminal as a person drives it (support/native/pty.c), and its parts alone.
-- CPU device only: its scenarios have output of kernels; the rest of the prompt does not depend on the device.

local mw = require "moonwarp"
local write = require("support.files").write
local interpreter = arg[-1]

local pty -- the driver, compiled once
setup(function()
  pty = os.tmpname()
  local pipe = assert(io.popen(("cc -O1 -o '%s' spec/support/native/pty.c 2>&1"):format(pty)))
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
  local command = ("TERM=%s NO_COLOR=1 INPUTRC=/dev/null XDG_STATE_HOME='%s' '%s' '%s' '%s' -e '%s' 2>&1"):format(
    options and options.term or "dumb", home, pty, path, interpreter, code)
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
wait {0, 2, 2, 3, 4, 5, 6, 7}
wait min 0, max 7, mean 3.625, sum 29
wait > 
send x:plot{ height = 4 }
wait 5 ┤
wait 0 ┤
wait > 
send far = mw.compile "__global__ void far(int *cells, int i) { cells[i] = 1; }"
wait > 
send far.far(1, 1)(mw.zeros(4, "int"), 4)
wait kernel far wrote to cells[4], and cells ends with [3]
wait [8]:1, block (0,0,0), thread (0,0,0); launched at [9]:1
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
    -- The history has what was typed, a kernel of several lines as one entry.
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

  -- Both ways to read lines, where there are both.
  local function play_both(lines, check)
    for _, plain in ipairs(pcall(require, "readline") and { false, true } or { true }) do
      local output, status, history = play(table.concat(lines, "\n") .. "\n", { plain = plain })
      assert.equal(0, status, output)
      if check then check(output, history, plain) end
    end
  end

  it("drops a line on Ctrl-C, also in the middle of an input, and continues", function()
    play_both({ "wait > ", "type print 'never", "wait never", "key 3", "wait [1]> ", "send f = function(", "wait >> ",
      "send a, b", "wait >> ", "key 3", "wait [1]> ", "send 40 + 2", "wait 42", "wait [2]> ", "key 4" })
  end)

  it("says on Ctrl-D what is missing of an input, and leaves without one", function()
    play_both({ "wait [1]> ", "send x = (1 +", "wait >> ", "key 4", "wait [1]:1: unexpected symbol", "wait [1]> ",
      "send 40 + 2", "wait 42", "wait [2]> ", "key 4" })
  end)

  it("leaves by quit and exit, named or called", function()
    for _, word in ipairs { "quit", "exit", "quit()", "exit()", "if true then quit() end" } do
      play_both { "wait > ", "send " .. word }
    end
  end)

  it("keeps local variables for the next input", function()
    play_both { "wait > ", "send local a <const>, b = 40, 2", "wait > ", "send local function add(c)", "wait >> ",
      "send local d = 1", "wait >> ", "send return a + b + c + d end", "wait > ", "send add(100), d", "wait 143",
      "wait nil", "wait > ", "send local a", "wait > ", "send a, b", "wait nil", "wait 2",
      "wait [6]> ", "key 4" }
  end)

  it("takes documentation's snippets as they are pasted", function()
    local page = require("support.files").read "docs/learn/quick_start.md"
    local snippet = page:match "```lua\n(.-)```"
    local lines = { "wait > " }
    -- As terminals paste where the prompt asked them to, all in one; and line by line.
    lines[2] = "paste " .. snippet:gsub("\n", "\\n")
    lines[3] = "send "
    lines[4] = "wait [6]> "
    lines[5] = "send quit"
    if pcall(require, "readline") then
      local output, status = play(table.concat(lines, "\n") .. "\n", { term = "xterm" })
      assert.equal(0, status, output)
    end
    lines = { "wait > " }
    for line in snippet:gmatch "([^\n]*)\n" do lines[#lines + 1] = "send " .. line end
    lines[#lines + 1] = "wait [6]> "
    lines[#lines + 1] = "send quit"
    play_both(lines)
  end)

  it("names the input and line of a mistake, and its traceback", function()
    play_both({ "wait > ", "send function f(x)", "wait >> ", "send return x.y end", "wait > ", "send function g(x)",
      "wait >> ", "send local r = f(x) return r end", "wait > ", "send g()", "wait > ", "send mw.zeros(-1)", "wait > ",
      "send g(", "wait >> ", "send ))", "wait > ", "send quit" }, function(output)
      -- LuaJIT has other words.
      output = output:gsub("attempt to index local 'x' %(a nil value%)", "attempt to index a nil value (local 'x')")
      assert.matches("%[1%]:2: attempt to index a nil value %(local 'x'%)\nstack traceback:\n" ..
        "\t%[1%]:2: in function 'f'\n\t%[2%]:2: in function 'g'\n\t%[3%]:1\n", output)
      assert.matches("%[4%]:1: a shape is a whole number[^\n]*\n%[5%]> ", output)
      assert.matches("%[5%]:2: unexpected symbol near '%)'", output)
      assert.not_matches("moonwarp/", output) -- of whose own files none is named
      assert.not_matches("tail call", output)
    end)
  end)

  it("says what to write instead if typed CUDA C stops Lua's parser", function()
    play_both({ "wait > ", "send m.k<<<1, 32>>>(x)", "wait [2]> ", "send m = mw.compile [[", "wait >> ",
      "send __global__ void k(int *a, int *x) { a[x[0]] = 1; }", "wait [3]> ", "send x = = 3", "wait [4]> ",
      "send quit" },
      function(output)
        assert.matches("near '<+'; a launch is written kernel%(grid, block%)%(arguments%)\n", output)
        assert.matches("near '='; the kernel's text ended at its own ]]: put it into [==[ and ]==]\n", output, 1, true)
        assert.matches("[3]:1: unexpected symbol near '='\n", output, 1, true)
      end)
  end)

  it("gives a kernel's failure the lines of the inputs that wrote and launched it", function()
    play_both({ "wait > ", "send m = mw.compile [[", "wait >> ",
      "send __global__ void far(int *cells) {", "wait >> ", "send   cells[9] = 1;", "wait >> ", "send }]]", "wait > ",
      "send m.far(1, 1)(mw.zeros(4, 'int'))",
      "wait ; [1]:3, block (0,0,0), thread (0,0,0); launched at [2]:1", "wait > ", "send quit" })
  end)

  it("warns with the input's line, and shows where", function()
    play_both({ "wait > ", "send m = mw.compile [==[", "wait >> ", "send __global__ void k(int *p) {", "wait >> ",
      "send   int few[4];", "wait >> ", "send   few[4] = p[0]; p[0] = few[p[1]];", "wait >> ", "send }]==]",
      "wait [1]:4:3: warning: array index 4 is past the end of the array", "wait   few[4] = p[0]; p[0] = few[p[1]];",
      "wait   ^", "wait [2]> ", "send quit" })
  end)

  it("shows the contents of tables", function()
    play_both({ "wait > ", "send { 3, 2, 1, name = 'x', deep = { { { { 1 } } } } }",
      'wait {3, 2, 1, deep = {{{...}}}, name = "x"}', "wait > ", "send t = { 1 } t.t = t", "wait > ", "send t",
      "wait {1, t = {...}}", "wait > ", "send mw.properties()", "wait   max_block = {1024, 1024, 64},", "wait > ",
      "send mw", "wait   functions: ", "wait > ", "send mw.zeros(2, 'int4')[1]", "wait (0, 0, 0, 0)", "wait > ",
      "send quit" }, function(output) assert.not_matches("table: 0x", output) end)
  end)

  it("shows whole numbers whole", function()
    play_both { "wait > ", "send x = mw.full(1000, 123456789, 'longlong')", "wait > ", "send x",
      "wait min 123456789, max 123456789, mean 1.23457e+08, sum 123456789000", "wait > ", "send x:sum(), x[1]",
      "wait 123456789000", "wait 123456789", "wait > ", "send quit" }
  end)

  it("measures how long something takes, the first time and later", function()
    play_both({ "wait > ", "send m = mw.compile '__global__ void add(int *p) { *p += 1; }'", "wait > ",
      "send p = mw.zeros(1, 'int')", "wait > ", "send time(m.add(1, 1)(p))", "wait first run ", "wait , then ",
      "wait median of ", "wait memory here", "wait > ", "send n = p[1]", "wait > ", "send n > 1", "wait true",
      "wait > ", "send %time m.add(1, 1)(p)", "wait first run ", "wait > ", "send n < p[1]", "wait true", "wait > ",
      "send time(function() calls = (calls or 0) + 1 end)", "wait first run ", "wait > ", "send calls > 1", "wait true",
      "wait > ", "send quit" })
  end)

  it("reports the time of compiling", function()
    local source = ("__global__ void k() {} // %s"):format(tostring({})) -- compiled never before
    play_both({ "wait > ", "send m = mw.compile '" .. source .. os.tmpname():match "[^/]*$" .. "'", "wait > ",
      "send quit" }, function(output, _, plain)
      if plain then return end -- the second is from the cache
      assert.matches("%(compiled in [%d.]+ m?s; from the cache the next time%)", output)
    end)
  end)

  it("helps", function()
    play_both({ "wait > ", "send help", "wait mw is moonwarp", "wait Ctrl-C discards a line", "wait > ",
      "send help(mw.linspace)", "wait mw.linspace(first, last, count, [dtype])", "wait equal steps", "wait > ",
      "send ?mw.linspace", "wait mw.linspace(first, last, count, [dtype])", "wait > ",
      "send x = mw.ones(3)", "wait > ", "send ?x", "wait methods:", "wait array:sum(", "wait > ",
      "send ?x.sum", "wait array:sum(", "wait > ", "send help 'linspa'", "wait mw.linspace(", "wait > ",
      "send help 'erfcx'", "wait mw.erfcx(a, [options])", "wait exp(a^2) * erfc(a)", "wait > ", "send help(x.mean)",
      "wait array:mean([options])", "wait > ",
      "send help 'no such thing'", "wait nothing is called", "wait > ", "send help(mw)", "wait mw.zeros(", "wait > ",
      "send m = mw.compile '__global__ void k(int *p) {}'", "wait > ", "send help(m)", "wait kernel k(int *p)",
      "wait > ", "send help(7)", "wait a number", "wait > ", "send quit" })
  end)

  it("leaves no variables of its own", function()
    local code = 'os.exit(require "moonwarp.repl".main { "-q" } == 0 and help == nil and quit == nil and time == nil)'
    local pipe = io.popen(("echo 'help' | %s -e '%s' 2>&1"):format(interpreter, code))
    local output = pipe:read "*a"
    assert(pipe:close(), output)
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

  it("prints its version, its usage, and errors", function()
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

  it("says what to write instead if CUDA C stops Lua's parser", function()
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

  it("gives an index that fails the line where it stands", function()
    local chunks = require "moonwarp.repl.chunk"
    rawset(_G, "array_of_prompt", mw.zeros(3))
    local _, err = pcall(chunks.compile("array_of_prompt[{ {1, 5} }]", 7))
    rawset(_G, "array_of_prompt", nil)
    assert.matches("^%[7%]:1: index 1: the range {1, 5} is outside 1..3", tostring(err))
    assert.equal(3, chunks.compile("1 + 2 -- three", 8)())
  end)

  it("tells durations in a unit that suits them", function()
    local duration = require "moonwarp.repl.timing".duration
    for seconds, told in pairs {
      [2] = "2 s", [0.9996] = "1 s", [0.9994] = "999 ms", [0.0123456] = "12.3 ms", [0.0009996] = "1 ms",
      [2.5e-5] = "25 us", [1e-7] = "0.1 us",
    } do
      assert.equal(told, duration(seconds))
    end
  end)

  it("reads a prompt's input from a pipe as well", function()
    local command = "printf 'x = mw.ones(2)\\nx:sum() == 2\\n' | %s bin/moonwarp -q"
    local pipe = assert(io.popen(command:format(interpreter)))
    assert.matches("true", pipe:read "*a")
    pipe:close()
  end)
end)
