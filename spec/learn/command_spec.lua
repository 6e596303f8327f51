-- `moonwarp learn`, as a learner calls it: the program itself, in a folder of its own, with progress of its own.
-- CPU device only: its scenarios show what is printed on it.

local files = require "support.files"
local lessons = require "moonwarp.learn.lessons"

local interpreter, here = arg[-1], os.getenv "PWD"
local folder
before_each(function()
  folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir " .. folder))
end)
after_each(function() os.execute("rm -rf " .. folder) end)

-- What the program prints, and its exit status. Lua is the one that runs this.
local function learn(arguments, environment)
  local paths = ("LUA_PATH='%s/lua/?.lua;%s/lua/?/init.lua;;'"):format(here, here)
  local command = ("cd %s && NO_COLOR=1 XDG_DATA_HOME=%s/data %s %s '%s' '%s/bin/moonwarp' learn %s 2>&1"):format(
    folder, folder, paths, environment or "", interpreter, here, arguments)
  local pipe = assert(io.popen(command))
  local output = pipe:read "*a"
  local _, _, status = pipe:close()
  return output, status
end

-- Put a lesson's solution into the folder, or what becomes of it when a pattern is replaced.
local function solve(name, pattern, by)
  for number, known in ipairs(lessons.names()) do
    if known == name then
      local part = number <= 14 and "first" or "further"
      local text = files.read(("examples/lessons/%s/%s.lua"):format(part, name))
      files.write(("%s/%02d_%s.lua"):format(folder, number, name), pattern and text:gsub(pattern, by) or text)
    end
  end
end

describe("moonwarp learn", function()
  it("lists all lessons, open at first, and names no solution", function()
    local output, status = learn ""
    assert.equal(0, status)
    local open = 0
    for _ in output:gmatch "\n *%d+  [^\n]- open" do open = open + 1 end
    assert.equal(lessons.count, open)
    assert.matches(("0 of %d are solved. moonwarp learn 1 opens the next one."):format(lessons.count), output, 1, true)
    assert.not_matches("solutions", output)
  end)

  it("copies a lesson's file to the current folder, says so, and judges what is in it", function()
    local output, status = learn "1"
    assert.equal(1, status)
    assert.matches("01_map.lua is new in this folder", output, 1, true)
    assert.matches("Task: out[i] becomes a[i] + 10", output, 1, true)
    assert.matches("Lesson 1, Map: not yet.", output, 1, true)
    assert.matches("result (size 8): out[0] was never written; it should be ", output, 1, true)
    assert.matches("hint: no thread writes to out yet", output, 1, true)
    local lesson = lessons.open(1)
    assert.equal(lessons.text(lesson), files.read(folder .. "/01_map.lua"))
  end)

  it("draws the arrays around the first wrong element", function()
    solve("map", "a%[i%] %+ 10", "i == 2 ? 0 : a[i] + 10")
    local output = learn "map"
    assert.not_matches("is new in this folder", output, 1, true)
    assert.matches("\n +index +0 +1 +2 +3", output)
    local a, out, wanted = output:match "\n +a +([^\n]+)\n +out +([^\n]+)\n +wanted +([^\n]+)\n +%^"
    local function numbers(line)
      local list = {}
      for word in line:gmatch "%S+" do list[#list + 1] = tonumber(word) end
      return list
    end
    a, out, wanted = numbers(a), numbers(out), numbers(wanted)
    for i = 1, 8 do
      assert.equal(a[i] + 10, wanted[i])
      assert.equal(i == 3 and 0 or wanted[i], out[i])
    end
  end)

  it("shows who wrote the wrong element, or that nobody did", function()
    solve("pooling", "%(i >= 2 %? tile%[i %- 2%] : 0%)", "tile[0]")
    local output = learn "9"
    assert.matches("who wrote out[0], and what these threads did besides:\n", output, 1, true)
    assert.matches("block 0, thread 0   reads a[0]; writes tile[0]; reads tile[0] tile[0]; writes out[0]\n", output, 1,
      true)
    assert.matches("no thread wrote out[0]\n", (learn "1"), 1, true)
  end)

  it("shows what a checked run finds, beside a wrong result or alone", function()
    solve("block_scan", "  __syncthreads%(%);\n", "")
    local output, status = learn "23"
    assert.equal(1, status)
    assert.matches("check", output, 1, true)
    assert.matches("race on totals[", output, 1, true)
    assert.matches("hint: totals are read before the other warps have left them: the barrier is missing", output, 1,
      true)
    -- Without its barrier alone the result may be right, since lanes go in step: another element makes it wrong always.
    solve("shared", "  __syncthreads%(%);\n(.-) %- t%]", "%1 - t / 2]")
    output = learn "8"
    assert.matches("result (size 64): out[", output, 1, true)
    assert.matches("\ncheck: race on tile[", output, 1, true)
  end)

  it("shows the source with its counts where a right result moves too much", function()
    local output, status = learn "18" -- 8 elements a thread: in each step the lanes are a sector apart
    assert.equal(1, status)
    assert.matches("counts (size 3000): 6000 sectors were moved where 752 is the least", output, 1, true)
    assert.matches("6000/752[^\n]*if %(j < n%) out%[j%] = 2 %* a%[j%];", output)
    assert.matches("hint: in one step the lanes of a warp are still apart", output, 1, true)
  end)

  it("keeps what is solved, draws who read what, and names the next lesson and a solution", function()
    solve "shared"
    local output, status = learn "8"
    assert.equal(0, status)
    assert.matches("Lesson 8, Shared memory: solved.", output, 1, true)
    assert.matches("result  right for sizes 64, 8, 100, 1, 333", output, 1, true)
    for i = 0, 7 do -- a stretch of 8 turned round: out[i] is a[7 - i]
      local marks = ("  %."):rep(7 - i) .. "  #" .. ("  %."):rep(i)
      assert.matches(("\n +out%%[%d%%] +"):format(i) .. marks:sub(3) .. "\n", output)
    end
    for t = 0, 7 do
      local done = "block 0, thread %d   reads a[%d]; writes tile[%d]; reads tile[%d]; writes out[%d]\n"
      assert.matches(done:format(t, t, t, 7 - t, t), output, 1, true)
    end
    assert.matches("Next: moonwarp learn 9 (Pooling)", output, 1, true)
    assert.matches("To compare: [^\n]*solutions/first/shared.lua", output)
    assert.matches("\n +8  Shared memory +solved\n", (learn ""))
    assert.matches("1 of %d+ are solved. moonwarp learn 1 opens", (learn ""))
  end)

  it("gives three hints, one more at each call, and remembers how many", function()
    local lesson = lessons.open(6)
    for count = 1, 4 do
      local output, status = learn "6 --hint"
      assert.equal(0, status)
      for i = 1, 3 do
        assert.equal(i <= count, output:find(("%d of 3: %s"):format(i, lesson.hints[i]), 1, true) ~= nil)
      end
    end
    assert.matches("\n +6  Blocks +open, 3 of 3 hints\n", (learn ""))
  end)

  it("keeps a file that is there, and starts anew only when asked", function()
    files.write(folder .. "/02_zip.lua", "mine")
    local output = learn "2"
    assert.equal("mine", files.read(folder .. "/02_zip.lua"))
    assert.matches("Lua cannot read the file", output, 1, true)
    output = learn "2 --again"
    assert.matches("renamed to 02_zip.lua.old", output, 1, true)
    assert.equal("mine", files.read(folder .. "/02_zip.lua.old"))
    assert.equal(lessons.text(lessons.open(2)), files.read(folder .. "/02_zip.lua"))
  end)

  it("shows the compiler's message with the file's own line", function()
    solve("map", "a%[i%] %+ 10", "b[i] + 10")
    local output, status = learn "1"
    assert.equal(1, status)
    assert.matches("01_map.lua:7:12: error: use of undeclared identifier 'b'", output, 1, true)
    assert.matches("hint: the compiler stopped here", output, 1, true)
  end)

  it("tells what is wrong with a file that belongs to no lesson any more", function()
    for text, told in pairs {
      ["return 3"] = "does not return { kernel",
      ["error 'stop'"] = "stopped before it came to its last line",
      ["return { kernel = 1, launch = print }"] = "leave its last line as it was",
    } do
      files.write(folder .. "/01_map.lua", text)
      assert.matches(told, (learn "1"), 1, true)
    end
  end)

  it("says which lesson there is not, where files cannot be written, and how it is called", function()
    local output, status = learn "99"
    assert.equal(1, status)
    assert.matches("there is no lesson '99'", output, 1, true)
    output, status = learn "1 --solution"
    assert.equal(1, status)
    assert.matches("usage: moonwarp learn", output, 1, true)
    output, status = learn "--help"
    assert.equal(0, status)
    assert.matches("usage: moonwarp learn", output, 1, true)
  end)

  it("opens the editor at a terminal, judges what it left, and does not open it with --run", function()
    local pty, scenario, editor = folder .. "/pty", folder .. "/scenario", folder .. "/editor"
    assert(os.execute(("cc -O1 -o '%s' spec/support/native/pty.c"):format(pty)))
    files.write(editor, ("cp '%s/examples/lessons/first/map.lua' \"$1\""):format(here))
    local function play(arguments, wait)
      files.write(scenario, "wait " .. wait .. "\n")
      local output = learn(arguments, ("EDITOR='sh %s' TERM=dumb '%s' '%s'"):format(editor, pty, scenario))
      return output
    end
    assert.matches("Lesson 1, Map: not yet.", play("1 --run", "hint:"), 1, true)
    assert.matches("Lesson 1, Map: solved.", play("1", "Next:"), 1, true)
  end)

  it("goes on without a place for its progress, and says so", function()
    solve "map"
    local output, status = learn("1", "XDG_DATA_HOME=/dev/null")
    assert.equal(0, status)
    assert.matches("it cannot be noted that this is solved", output, 1, true)
  end)
end)
