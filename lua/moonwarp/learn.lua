-- `moonwarp learn`: lessons in writing kernels, each a file with a gap. `moonwarp learn 5` copies the file to the
-- current folder unless it is there, opens it in the editor, judges it, and shows what happened.

local draw = require "moonwarp.learn.draw"
local input = require "moonwarp.repl.input"
local judge = require "moonwarp.learn.judge"
local lessons = require "moonwarp.learn.lessons"
local progress = require "moonwarp.learn.progress"

local M = {}

local usage = [=[
usage: moonwarp learn                  lists the lessons
       moonwarp learn 5 [--run]        opens lesson 5 (or its name) in $EDITOR, if there is one, and judges it
       moonwarp learn 5 --hint         the next of its three hints
       moonwarp learn 5 --text         what the lesson is about
       moonwarp learn 5 --again        starts its file anew; the old one is kept as FILE.old]=]

local function say(...) io.write(table.concat { ... }, "\n") end

local function refuse(text)
  io.stderr:write(text, "\n")
  return 1
end

-- ---- the list ----

local function list()
  local kept, solved, next_one = progress.read(), 0, nil
  for number, name in ipairs(lessons.names()) do
    local lesson, entry = lessons.open(number), kept[name]
    local done = entry and entry.solved
    if number == 1 then say "The basics" end
    if number == 15 then say "How the machine works" end
    if done then solved = solved + 1 else next_one = next_one or number end
    local state = done and "solved" or "open"
    if entry and entry.hints > 0 then state = ("%s, %d of 3 hints"):format(state, entry.hints) end
    say(("  %2d  %-30s %s"):format(number, lesson.title, done and state or input.dim(state)))
  end
  say(("%d of %d are solved. moonwarp learn %d opens %s."):format(solved, lessons.count, next_one or 1,
    next_one and "the next one" or "the first one again"))
  return 0
end

-- ---- one lesson ----

local function exists(path)
  local file = io.open(path, "r")
  if file then file:close() end
  return file ~= nil
end

local function write(path, text)
  local file, why = io.open(path, "w")
  if not file then return nil, why end
  file:write(text)
  return file:close()
end

-- The learner's file, made if it is not there; true if it was.
local function provide(lesson)
  if exists(lesson.path) then return false end
  local ok, why = write(lesson.path, lessons.text(lesson))
  if not ok then return nil, ("the lesson's file cannot be written here: %s"):format(why) end
  say(lesson.idea)
  say ""
  say(("%s is new in this folder: fill its gap, then moonwarp learn %d judges it."):format(lesson.path, lesson.number))
  return true
end

local function is_interactive()
  local result = os.execute "test -t 0 && test -t 1"
  return result == true or result == 0
end

local function edit(path)
  local editor = os.getenv "EDITOR"
  if not editor or editor == "" or not is_interactive() then return end
  os.execute(("%s '%s'"):format(editor, path))
end

local function show(lines)
  for _, line in ipairs(lines) do say("  ", line) end
end

local function tell_sizes(sizes)
  local words = {}
  for i, size in ipairs(sizes) do words[i] = type(size) == "table" and table.concat(size, " x ") or tostring(size) end
  return table.concat(words, ", ")
end

local function tell_size(facts)
  if not facts then return "" end
  return (" (size %s)"):format(tell_sizes { facts.size })
end

local function tell_open(lesson, verdict)
  say(("Lesson %d, %s: not yet."):format(lesson.number, lesson.title))
  say(("%s%s: %s"):format(verdict.stage, tell_size(verdict.facts), verdict.what))
  if verdict.facts and verdict.stage == "result" then
    show(draw.arrays(verdict.facts))
    local answer = judge.read(lesson.path, false)
    if answer then show(draw.writers(verdict.facts, answer)) end
    local finding = verdict.facts.got and verdict.facts:finding()
    if finding then say("check: ", finding) end
  end
  if verdict.facts and verdict.facts.run then verdict.facts.run:show() end
  say("hint: ", verdict.hint)
  return 1
end

-- Where the solutions are: in the build tree, beside an installation's files, or in a tree of LuaRocks.
local function solution(lesson)
  local here = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$" -- …/share/lua/5.4/moonwarp
  local core = package.searchpath("moonwarp.core", package.cpath)
  local home = os.getenv "MOONWARP_HOME"
  for _, at in ipairs { home and home .. "/share/moonwarp" or "", here .. "/../../../moonwarp",
    core and core:gsub("[^/]*$", "home/share/moonwarp") or "" } do
    local path = ("%s/solutions/%s.lua"):format(at, lesson.module:gsub("%.", "/"))
    if exists(path) then return path end
  end
  return nil
end

local function tell_figures(lesson, verdict)
  if not verdict.figures then
    say "  counts  cannot be taken here"
  elseif lesson.figures then
    local lines = lesson.figures(verdict.figures, verdict.case, verdict.facts)
    for i, line in ipairs(lines) do say(i == 1 and "  counts  " or "          ", line) end
  end
end

local function tell_solved(lesson, verdict)
  say(("Lesson %d, %s: solved."):format(lesson.number, lesson.title))
  say("  result  right for sizes ", tell_sizes(lesson.sizes))
  say("  check   ", verdict.checked and "clean: no race, no wrong access, no value used that nothing wrote" or
    "no access outside of an array (races cannot be checked here)")
  tell_figures(lesson, verdict)
  show(draw.accesses(lesson, verdict.facts.answer))
  show(draw.dependences(lesson, verdict.facts.answer))
  local kept, why = progress.keep(lesson.name, { solved = true })
  if not kept then say("(it cannot be noted that this is solved: ", why, ")") end
  local path = solution(lesson)
  if path then say("To compare: ", path) end
  if lesson.number < lessons.count then
    say(("Next: moonwarp learn %d (%s)"):format(lesson.number + 1, lessons.open(lesson.number + 1).title))
  else
    say "That was the last lesson."
  end
  return 0
end

local function run(lesson)
  local verdict = judge.judge(lesson, lesson.path)
  return (verdict.solved and tell_solved or tell_open)(lesson, verdict)
end

local function hint(lesson)
  local entry = progress.read()[lesson.name]
  local count = math.min((entry and entry.hints or 0) + 1, #lesson.hints)
  for i = 1, count do say(("%d of %d: %s"):format(i, #lesson.hints, lesson.hints[i])) end
  progress.keep(lesson.name, { hints = count })
  return 0
end

local function again(lesson)
  if exists(lesson.path) then
    local ok, why = os.rename(lesson.path, lesson.path .. ".old")
    if not ok then return refuse(why) end
    say(lesson.path, " was renamed to ", lesson.path, ".old.")
  end
  local made, why = provide(lesson)
  return made == nil and refuse(why) or 0
end

local options = {
  ["--hint"] = hint,
  ["--again"] = again,
  ["--text"] = function(lesson)
    say(lesson.idea)
    return 0
  end,
}

---Run `moonwarp learn …`; returns its exit status: 0 for a solved lesson, 1 for an open one.
---@param arguments string[] what follows `learn`
---@return integer
function M.main(arguments)
  local asked, option = arguments[1], arguments[2]
  if not asked then return list() end
  if asked == "--help" or asked == "-h" then
    say(usage)
    return 0
  end
  local number = lessons.number(asked)
  if not number then
    return refuse(("there is no lesson '%s': moonwarp learn lists the %d that there are"):format(asked, lessons.count))
  end
  local lesson = lessons.open(number)
  if option and option ~= "--run" then
    if not options[option] then return refuse(usage) end
    return options[option](lesson)
  end
  local made, why = provide(lesson)
  if made == nil then return refuse(why) end
  if option ~= "--run" then edit(lesson.path) end
  return run(lesson)
end

return M
