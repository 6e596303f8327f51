-- The lessons: each is open as it is given, solved by its solution, and each typical wrong answer fails with a hint
-- that fits it.
-- Lua 5.4 only: what runs is one and the same on LuaJIT.
-- CPU device only: launches are checked and measured there.

local judge = require "moonwarp.learn.judge"
local draw = require "moonwarp.learn.draw"
local lessons = require "moonwarp.learn.lessons"
local watch = require "moonwarp.learn.watch"
local mw = require "moonwarp"
local files = require "support.files"

local folder
setup(function()
  folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir " .. folder))
  mw.warnings(false)
end)
teardown(function()
  mw.warnings(true)
  os.execute("rm -rf " .. folder)
end)

local function solution(lesson)
  return files.read(("examples/lessons/%s.lua"):format(lesson.module:gsub("%.", "/")))
end

-- The verdict on a text, which is in a file as a learner's is.
local function verdict(lesson, text)
  local path = folder .. "/" .. lesson.path
  files.write(path, text)
  return judge.judge(lesson, path)
end

local function words(found) return ("%s: %s (%s)"):format(found.stage, found.what, found.hint) end

-- The text with one place changed, below the comment at its top.
local function changed(text, from, to)
  local at, last = text:find(from, text:find "\n", true)
  assert(at, "the solution has no " .. from)
  return text:sub(1, at - 1) .. to .. text:sub(last + 1)
end

local function matches(hint, wanted)
  for phrase in wanted:gmatch "[^|]+" do
    if hint:find(phrase, 1, true) then return true end
  end
  return false
end

local wrong = {}
for _, part in ipairs { "first", "further" } do
  for name, answers in pairs(dofile("spec/learn/wrong/" .. part .. ".lua")) do wrong[name] = answers end
end

local checked, measured = watch.available()
local draws = mw.device().name:find "^cpu" -- accesses can be watched

-- Lessons whose files have right results as they are given: what is to be mended only counters tell.
local counted = { divergence = true, coalescing = true, bank_conflicts = true }

for number, name in ipairs(lessons.names()) do
  local lesson = lessons.open(number)
  describe(("lesson %d, %s,"):format(number, name), function()
    it("is open as it is given, has three hints and lines that fit a terminal", function()
      if counted[name] and not measured then return pending "runs cannot be measured yet" end
      local found = verdict(lesson, lessons.text(lesson))
      assert.is_nil(found.solved)
      assert.is_true(#found.hint > 0)
      assert.equal(3, #lesson.hints)
      for line in lessons.text(lesson):gmatch "[^\n]+" do assert.is_true(utf8.len(line) <= 130, line) end
    end)

    it("is solved by its solution", function()
      local found = verdict(lesson, solution(lesson))
      assert.is_true(found.solved, not found.solved and words(found))
    end)

    it("has drawings of what its solution does", function()
      local answer = judge.read(("examples/lessons/%s.lua"):format(lesson.module:gsub("%.", "/")), false)
      -- A block of the roofline's matrix product has more accesses than can be listed.
      if draws and name ~= "roofline" then assert.is_true(#draw.accesses(lesson, answer) >= 2) end
      local lines = draw.dependences(lesson, answer)
      if not lesson.depends then return assert.same({}, lines) end
      assert.equal(#lesson.make(lesson.depends.size).want + 2, #lines)
    end)

    it("is asked for five wrong answers or more", function() assert.is_true(#wrong[name] >= 5) end)

    for i, answer in ipairs(wrong[name]) do
      local from, to, hint, needs = answer[1], answer[2], answer[3], answer.needs
      it(("fails wrong answer %d: %s"):format(i, hint), function()
        if needs == "check" and not checked then return pending "runs cannot be checked yet" end
        if needs == "measure" and not measured then return pending "runs cannot be measured yet" end
        local found = verdict(lesson, changed(solution(lesson), from, to))
        assert.is_nil(found.solved)
        assert.is_true(matches(found.hint, hint), words(found))
      end)
    end
  end)
end
