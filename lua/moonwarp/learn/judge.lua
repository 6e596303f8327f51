-- The judge: reads a learner's file, runs its kernel in each of the lesson's cases, compares, has one run checked and
-- one measured. The verdict is the first thing that is wrong, with the hint of the lesson for it; or that the lesson
-- is solved.

local mw = require "moonwarp"
local cases = require "moonwarp.learn.case"
local errors = require "moonwarp.diagnostics.error"
local watch = require "moonwarp.learn.watch"

local M = {}

local unpack = table.unpack or unpack -- luacheck: ignore 143
local load_text = rawget(_G, "setfenv") and loadstring or load

-- ---- facts: what the lessons' functions are given ----

local Facts = {}
Facts.__index = Facts

local function close(a, b)
  if a ~= a or b ~= b then return a ~= a and b ~= b end
  return a == b or math.abs(a - b) <= 1e-5 * math.max(math.abs(a), math.abs(b))
end

---Whether the result is, in every element, the number that a mistaken kernel computes: value(i), with i from 0.
function Facts:is(value)
  if not self.got then return false end
  for i = 1, #self.got do
    local given = value(i - 1)
    if given == nil or not close(self.got[i], given) then return false end
  end
  return #self.got > 0
end

---How many elements no thread wrote.
function Facts:unwritten()
  local count = 0
  for _, value in ipairs(self.got or {}) do
    if value == cases.UNWRITTEN then count = count + 1 end
  end
  return count
end

---How many elements are wrong.
function Facts:wrong()
  local count = 0
  for i, value in ipairs(self.got or {}) do
    if not close(value, self.want[i]) then count = count + 1 end
  end
  return count
end

---Whether the program, without its comments and blanks, contains a text.
function Facts:has(text) return self.code:find(text, 1, true) ~= nil end

---Whether a kernel failed with an access outside an array.
function Facts:overrun()
  return self.error ~= nil and self.error.code == "cudaErrorIllegalAddress"
end

---The kinds of findings of a checked run of this case, { race = finding, … }; empty where runs cannot be checked.
function Facts:findings()
  if self.found then return self.found end
  self.found = {}
  local case = self.lesson.make(self.size)
  local report = watch.check(function() M.launch(self.answer, case) end)
  for _, finding in ipairs(report or {}) do self.found[finding.kind] = self.found[finding.kind] or finding end
  self.report = report
  return self.found
end

---The first finding of that run in words; nil if there is none.
function Facts:finding()
  self:findings()
  if not self.report or #self.report == 0 then return nil end
  return tostring(self.report):match "^[^\n]*"
end

-- ---- running ----

---Launch the learner's kernel with a case's arguments, and wait for it.
---@return any grid
---@return any block
---@return integer? shared
function M.launch(answer, case)
  local grid, block, shared = answer.launch(unpack(case.launch))
  answer.kernel(grid, block, shared)(unpack(case.args))
  mw.synchronize()
  return grid, block, shared
end

-- The program without comments and blanks, for questions such as whether it has a barrier.
local function bare(text)
  return (("\n" .. text):gsub("/%*.-%*/", ""):gsub("//[^\n]*", ""):gsub("(%s)%-%-[^\n]*", "%1"):gsub("%s+", ""))
end

local function refuse(what, hint) return nil, { stage = "file", what = what, hint = hint } end

---The table that a learner's file returns; or nil and the verdict.
---@param path string
---@param checked? boolean whether its kernels check their memory
function M.read(path, checked)
  local file, why = io.open(path, "rb")
  if not file then return refuse(why, "the lesson's file is copied anew where it is missing") end
  local text = file:read "*a"
  file:close()
  local chunk, wrong = load_text(text, "@" .. path)
  if not chunk then return refuse(wrong, "Lua cannot read the file: the message has the line") end
  local before = mw.check_memory(checked)
  local ok, answer = pcall(chunk)
  mw.check_memory(before)
  if not ok then
    local compiling = errors.is(answer) and answer.kind == "compile"
    return refuse(tostring(answer):gsub("\nstack traceback:.*$", ""), compiling and
      "the compiler stopped here: read its first line, then the line that it names" or
      "the program stopped before it came to its last line")
  end
  if type(answer) ~= "table" or mw.type(answer.kernel) ~= "kernel" or type(answer.launch) ~= "function" then
    return refuse("the file does not return { kernel = …, launch = … }", "leave its last line as it was")
  end
  return { kernel = answer.kernel, launch = answer.launch, given = answer, code = bare(text) }
end

-- Run one case; the facts about it.
local function try(lesson, answer, size)
  local case = lesson.make(size)
  local facts = setmetatable({ lesson = lesson, answer = answer, code = answer.code, size = size, case = case,
    want = case.want }, Facts)
  local ok, grid, block, shared = pcall(M.launch, answer, case)
  if ok then
    facts.grid, facts.block, facts.shared, facts.got = grid, block, shared, case.out:totable()
  else
    facts.error = errors.is(grid) and grid or { message = tostring(grid) }
  end
  for i, value in ipairs(facts.want) do
    if facts.got and not close(facts.got[i], value) then
      facts.first = i
      break
    end
  end
  return facts
end

-- ---- verdicts ----

-- For findings and results that no hint of the lesson is for.
local general = {
  race = "two threads use the same element, one writes, and nothing orders them: which barrier is between the two " ..
    "lines?",
  barrier_divergence = "every thread of the block has to reach the same __syncthreads(): none may stand in a " ..
    "branch that only some take",
  uninitialised = "an element is read before any thread has written it",
  out_of_bounds = "a thread uses an element that is not there: which index does the first or the last thread compute?",
  warp_mask = "the mask of a warp function names exactly the lanes that call it",
}

local function element(facts, i)
  local where = facts.case.place and facts.case.place(i - 1) or ("out[%d]"):format(i - 1)
  if facts.got[i] == cases.UNWRITTEN then
    return ("%s was never written; it should be %g"):format(where, facts.want[i])
  end
  return ("%s is %g and should be %g"):format(where, facts.got[i], facts.want[i])
end

local function general_hint(facts)
  if facts:overrun() then return general.out_of_bounds end
  if facts.error then return "the launch was refused: look at the sizes that launch returns" end
  local own = facts.lesson.findings or {}
  for kind in pairs(facts:findings()) do
    if own[kind] or general[kind] then return own[kind] or general[kind] end
  end
  if facts:unwritten() > 0 then return "count the threads: which one is to write this element, and does it reach " ..
    "its line?" end
  return "follow one thread by hand, the one that writes this element: what does each index become?"
end

local function fail(stage, what, hint, facts)
  return { stage = stage, what = what, hint = hint, facts = facts }
end

local function judge_result(lesson, facts)
  -- A barrier that not all threads reach explains whatever else is found.
  local hint = lesson.findings and facts.got and facts:findings().barrier_divergence
    and lesson.findings.barrier_divergence
  for _, mistake in ipairs(lesson.mistakes) do
    if hint then break end
    if mistake.when(facts) then hint = mistake.hint end
  end
  local what
  if facts.error then
    what = (facts.error.message:gsub("; launched at .*$", ""))
  else
    what = element(facts, facts.first)
    local wrong = facts:wrong()
    if wrong > 1 then what = ("%s; %d of %d elements are wrong"):format(what, wrong, #facts.want) end
  end
  return fail("result", what, hint or general_hint(facts), facts)
end

local function judge_check(lesson, answer, facts)
  facts = try(lesson, answer, lesson.race or facts.size)
  facts:findings()
  local finding = facts.report and facts.report[1]
  if not finding then return nil, facts end
  local hint = lesson.findings and lesson.findings[finding.kind] or general[finding.kind] or finding.hint
  return fail("check", facts:finding(), hint, facts), facts
end

-- The figures of a run, with a few that lessons ask for, and the run.
local function measure(answer, case)
  local grid, block, shared = answer.launch(unpack(case.launch))
  local run = watch.measure(answer.kernel, grid, block, shared, case.args)
  if not run then return nil end
  local total = run.total
  local elements = { reads = total.global_load_bytes / 4, writes = total.global_store_bytes / 4 }
  return setmetatable(elements, { __index = total }), run
end

---Judge the answer in a file.
---@param lesson table
---@param path string
---@return table verdict stage = "file", "result", "check" or "counts", what, hint and facts; or solved = true
function M.judge(lesson, path)
  local answer, refused = M.read(path, true)
  if not answer then return refused end
  local facts
  for _, size in ipairs(lesson.sizes) do
    facts = try(lesson, answer, size)
    if facts.error or facts.first then return judge_result(lesson, facts) end
  end
  if lesson.program then -- what can be told without running: sizes, Lua functions of the file
    local what, hint = lesson.program(facts)
    if what then return fail("counts", what, hint, facts) end
  end
  -- Checks and counts look at code as the compiler makes it for them, without the guards of memory.
  answer, refused = M.read(path, false)
  if not answer then return refused end
  local wrong, checked = judge_check(lesson, answer, facts)
  if wrong then return wrong end
  local case = lesson.make(lesson.counting or facts.size)
  local figures, run = measure(answer, case)
  facts.answer, facts.figures, facts.run, facts.size = answer, figures, run, lesson.counting or facts.size
  if figures and lesson.counts then
    local what, hint = lesson.counts(figures, case, facts)
    if what then return fail("counts", what, hint, facts) end
  end
  return { solved = true, facts = facts, figures = figures, case = case, checked = checked.report ~= nil }
end

return M
