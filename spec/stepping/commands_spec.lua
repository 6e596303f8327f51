-- The prompt of mw.debug: what each command prints, and the words for mistakes.
-- CPU device only: no other device can watch launches

local mw = require "moonwarp"

local source = [[
struct pair { float a, b; };
__device__ float twice(float v) {
  return v + v; // TWICE
}
__global__ void demo(float *x, pair p) {
  int i = threadIdx.x; // FIRST
  float y = x[i]; // LOAD
  if (i < 8) {
    y = twice(y) + p.b; // LOW
  }
  x[i] = y; // STORE
}
]]

local function line_of(text)
  local n = 0
  for line in io.lines "spec/stepping/commands_spec.lua" do
    n = n + 1
    if line:find("// " .. text, 1, true) then return n end
  end
end

local function text_of(n)
  local at = 0
  for line in io.lines "spec/stepping/commands_spec.lua" do
    at = at + 1
    if at == n then return line end
  end
end

describe("the prompt of mw.debug", function()
  local m, d

  setup(function() m = mw.compile(source) end)
  before_each(function() d = mw.debug(m.demo, 1, 40)(mw.arange(40):to "float", { a = 0.5, b = 1 }) end)

  local function says(command, ...)
    local text = d:command(command)
    for _, part in ipairs { ... } do assert.truthy(text:find(part, 1, true), command .. " prints: " .. text) end
  end

  it("breaks at a line, at a function, where one stands, and once", function()
    says("break " .. line_of "LOAD", "Breakpoint 1 at line " .. line_of "LOAD")
    says("b twice", "Breakpoint 2 at line " .. line_of "TWICE")
    says("break", "Breakpoint 3 at line " .. line_of "FIRST")
    says(("tbreak %d if i == 33"):format(line_of "STORE"), "Breakpoint 4 at line " .. line_of "STORE", ", if i == 33")
    says("info breakpoints", "1  line " .. line_of "LOAD", "if i == 33, hit 0 times")
    says("delete 3")
    says("continue", "Breakpoint ", "block (0,0,0), thread (")
    says "delete"
    says("info breakpoints", "No breakpoints or watchpoints.")
  end)

  it("moves by a line, by a warp's line, out of a function, and back", function()
    says("step", "demo at line " .. line_of "LOAD", "thread (0,0,0), lanes 0-31 of warp 0",
      line_of "LOAD" .. "\t" .. text_of(line_of "LOAD"))
    says("s 2", "demo at line " .. line_of "LOW", "lanes 0-7 of warp 0")
    says("step", "twice at line " .. line_of "TWICE")
    says("finish", "demo at line " .. line_of "LOW" + 1)
    says("back", "twice at line ")
    says("reverse-next", "demo at line " .. line_of "LOW")
    says("next", "demo at line " .. line_of "LOW" + 1)
    says("step warp", "demo at line ")
    says("back warp", "demo at line " .. line_of "LOW" + 1)
    says("reverse-continue", "No earlier line is recorded: demo at line " .. line_of "FIRST")
    says("continue", "The recorded blocks have ended.")
  end)

  it("prints values as gdb does", function()
    d:command("break " .. line_of "LOW")
    d:command "continue"
    says("thread 3", "thread (3,0,0), lanes 0-7 of warp 0")
    assert.equal("y = 3", d:command "print y")
    assert.equal("p = {a = 0.5, b = 1}", d:command "p p")
    assert.equal("x[0]@4 = {0, 1, 2, 3}", d:command "p x[0]@4")
    assert.equal("i * 2 + 1 = 7", d:command "p i * 2 + 1")
    assert.equal("-7 / 2 = -3", d:command "p -7 / 2")
    assert.equal("7 % 4 << 2 = 12", d:command "p 7 % 4 << 2")
    assert.equal("12 & 10 | 1 = 9", d:command "p 12 & 10 | 1")
    assert.equal("i > 2 ? 5 : 6 = 5", d:command "p i > 2 ? 5 : 6")
    assert.equal("&x[1] == x + 1 = 1", d:command "p &x[1] == x + 1")
    assert.equal("threadIdx = {x = 3, y = 0, z = 0}", d:command "p threadIdx")
    assert.equal("type = float *", d:command "whatis x")
    assert.equal("type = pair", d:command "ptype p")
    says("info locals", "y = 3", "i = 3", "p = {a = 0.5, b = 1}", "x = 0x")
    says("display y", "y = 3")
    says("next", "\ny = 7")
    says "undisplay"
    assert.is_nil(d:command("next"):find "y =")
  end)

  it("shows lanes and threads", function()
    d:command("break " .. line_of "LOW")
    d:command "continue"
    says("info lanes", "lanes of warp 0", "*0-7: at the beginning of line " .. line_of "LOW")
    says("info threads", "threads of block (0,0,0)", "*0-7: at the beginning")
    says("lanes i < 4", "lanes 0-3: 1", "lanes 4-31: 0")
    says("thread (39)", "thread (39,0,0)")
    says("info lanes", "lanes of warp 1")
    says("block (0)", "block (0,0,0)")
  end)

  it("lists the source and the functions", function()
    says("list", (">%d\t%s"):format(line_of "FIRST", text_of(line_of "FIRST")))
    says("list " .. line_of "STORE", (" %d\t%s"):format(line_of "STORE", text_of(line_of "STORE")))
    d:command "break twice"
    d:command "continue"
    says("backtrace", "*#0  twice at line " .. line_of "TWICE", " #1  demo at line " .. line_of "LOW")
    says("up", "#1  demo at line " .. line_of "LOW")
    says("print i", "i = ")
    says("down", "#0  twice")
    says("frame 1", "#1  demo")
  end)

  it("names the line of the function that has the variable, not of one that it calls", function()
    d:command("break " .. line_of "LOW")
    d:command "continue"
    d:command "delete"
    d:command "watch y"
    says("continue", "Watchpoint 2: y, written by thread (0,0,0) at line " .. line_of "LOW")
  end)

  it("watches what is written", function()
    says("watch x[9]", "Watchpoint 1: x[9]")
    says("continue", "Watchpoint 1: x[9], written by thread (9,0,0) at line " .. line_of "STORE", "Old value = 9",
      "New value = 9")
    says("info breakpoints", "1  watch x[9], hit 1 time")
  end)

  it("helps with every command", function()
    local text = d:command "help"
    for _, name in ipairs { "break", "tbreak", "watch", "delete", "continue", "step", "next", "finish", "back",
      "reverse-next", "reverse-continue", "print", "lanes", "display", "whatis", "list", "backtrace", "frame", "up",
      "thread", "block", "info", "quit" } do
      assert.truthy(text:find("\n" .. name, 1, true) or text:find("^" .. name), name)
    end
  end)

  it("says what is wrong with a command", function()
    for command, words in pairs {
      jump = "there is no command 'jump': help lists them",
      ["print"] = "an expression is missing",
      ["print q"] = "there is no variable 'q' here",
      ["print x["] = "ends too early",
      ["print 1 / 0"] = "division by zero",
      ["print p + 1"] = "a value of type pair is not a number",
      ["print i # 2"] = "'#' is not understood",
      ["print (i"] = "lacks ')'",
      ["print i 2"] = "has something after its end: '2'",
      ["step many"] = "step takes a number of times, not 'many'",
      ["thread here"] = "thread takes coordinates such as (1,0,0), not 'here'",
      ["thread 99"] = "there is no thread (99,0,0): x goes from 0 to 39",
      ["block 3"] = "there is no block (3,0,0): x goes from 0 to 0",
      ["frame 4"] = "there is no frame 4: they go from 0 to 0",
      ["list first"] = "list takes a line's number, not 'first'",
      ["info moon"] = "info takes lanes, threads, locals or breakpoints, not 'moon'",
      ["delete 5"] = "there is no breakpoint 5",
      finish = "the kernel has none",
    } do
      local ok, err = pcall(d.command, d, command)
      assert.is_false(ok, command)
      assert.truthy(tostring(err):find(words, 1, true), command .. ": " .. tostring(err))
    end
  end)
end)
