-- What happened, in characters: the arrays of a failed case around the first wrong element, and what each element of a
-- result was made from.

local mw = require "moonwarp"
local cases = require "moonwarp.learn.case"
local judge = require "moonwarp.learn.judge"
local watch = require "moonwarp.learn.watch"

local M = {}

local COLUMNS = 12 -- elements of an array that are shown

local function cell(value)
  if value == nil then return "" end
  if value == cases.UNWRITTEN then return "·" end
  return ("%.5g"):format(value)
end

local function pad(text, width)
  local seen = #text:gsub("[\128-\191]", "")
  return (" "):rep(width - seen) .. text
end

local function row(name, list, first, last)
  local cells = {}
  for i = first, last do cells[#cells + 1] = pad(cell(list[i]), 7) end
  return ("  %-8s"):format(name) .. table.concat(cells)
end

---The arrays of a case whose result is wrong; "·" is an element that nothing was written to.
---@param facts table
---@return string[]
function M.arrays(facts)
  if not facts.got or not facts.first then return {} end
  local count = #facts.want
  local first = math.max(1, math.min(facts.first - 3, count - COLUMNS + 1))
  local last = math.min(count, first + COLUMNS - 1)
  local lines, indices = {}, {}
  for i = first, last do indices[i] = i - 1 end
  lines[1] = row("index", indices, first, last)
  for _, input in ipairs(facts.case.inputs) do
    if input.array.count == count then lines[#lines + 1] = row(input.name, input.array:totable(), first, last) end
  end
  lines[#lines + 1] = row("out", facts.got, first, last)
  lines[#lines + 1] = row("wanted", facts.want, first, last)
  lines[#lines + 1] = ("  %-8s"):format "" .. (" "):rep(7 * (facts.first - first) + 6) .. "^"
  return lines
end

local function result(answer, case)
  judge.launch(answer, case)
  return case.out:totable()
end

---Which elements of an input each element of the result depends on: the kernel runs once more for each element of the
---input, with that element changed.
---@param lesson table
---@param answer table
---@return string[]
function M.dependences(lesson, answer)
  local what = lesson.depends
  if not what then return {} end
  local case = lesson.make(what.size)
  local base, count = result(answer, case), #case.want
  local name, marks, columns
  for input = 1, math.huge do
    columns = input
    case = lesson.make(what.size)
    local changed
    for _, entry in ipairs(case.inputs) do
      if entry.name == what.input then changed = entry.array end
    end
    if input > changed.count then
      columns = input - 1
      break
    end
    name, marks = what.input, marks or {}
    changed[input] = changed[input] + 1000
    local got = result(answer, case)
    for i = 1, count do
      marks[i] = marks[i] or {}
      marks[i][input] = got[i] ~= base[i] and "#" or "."
    end
  end
  local lines = { ("what each element of out was made from (# an element of %s that it depends on):"):format(name) }
  local head = {}
  for i = 1, columns do head[i] = pad(tostring(i - 1), 3) end
  lines[2] = ("  %-9s"):format(name) .. table.concat(head)
  for i = 1, count do
    local cells = {}
    for k = 1, columns do cells[k] = pad(marks[i][k], 3) end
    lines[#lines + 1] = ("  %-9s"):format(("out[%d]"):format(i - 1)) .. table.concat(cells)
  end
  return lines
end

-- ---- who read what ----

local THREADS, WIDTH = 8, 100 -- threads that are shown, and characters of each

local sizes = { char = 1, uchar = 1, short = 2, ushort = 2, int = 4, uint = 4, float = 4, double = 8 }

-- "a[3]": the place in an argument of the kernel, or in shared memory.
local function place(access, answer, case, shared)
  if access.shared then
    local name = access.name ~= "" and access.name or "shared"
    local from = shared.count > 1 and shared.first[access.name] or 0
    return ("%s[%d]"):format(name, math.floor((access.address - from) / shared.size[access.name]))
  end
  for i, array in ipairs(case.args) do
    local size = type(array) ~= "number" and mw.type(array) == "array" and sizes[array.dtype]
    local at = size and (access.address - array.address) / size
    if at and at >= 0 and at < array.count then
      return ("%s[%d]"):format(answer.kernel.params[i].name, math.floor(at))
    end
  end
  return access.name ~= "" and access.name or "?"
end

-- Where each variable in shared memory begins and the size of its elements, as far as was seen, and how many there are.
local function shared_variables(list)
  local shared = { count = 0, first = {}, size = {} }
  for _, access in ipairs(list) do
    if access.shared then
      local first = shared.first[access.name]
      if not first then shared.count = shared.count + 1 end
      shared.first[access.name] = math.min(first or access.address, access.address)
      shared.size[access.name] = math.max(shared.size[access.name] or 1, access.bytes)
    end
  end
  return shared
end

-- The threads of a launch, in order: { block =, thread =, "reads", " a[3]", … }; nil where accesses cannot be
-- watched. `wrote` is the address of an element: those that write it have the field of that name.
local function watch_threads(answer, case, wrote)
  local list = watch.accesses(function() judge.launch(answer, case) end)
  if not list then return nil end
  local shared, threads, of = shared_variables(list), {}, {}
  for _, access in ipairs(list) do
    local key = access.block .. ":" .. access.thread
    if not of[key] then
      of[key] = { block = access.block, thread = access.thread, before = {} }
      threads[#threads + 1] = of[key]
    end
    local words, at = of[key], " " .. place(access, answer, case, shared)
    local goes_on = access.bytes == 1 and words.before[at] == access.what -- a copy, byte by byte
    if not goes_on then
      if words.last ~= access.what then words[#words + 1] = (#words > 0 and "; " or "") .. access.what end
      words[#words + 1] = at
      words.last, words.before[at] = access.what, access.what
    end
    if access.what ~= "reads" and access.address == wrote then words.wrote = true end
  end
  table.sort(threads, function(a, b)
    return a.block < b.block or a.block == b.block and a.thread < b.thread
  end)
  return threads
end

local function line_of(words)
  local text = table.concat(words)
  if #text > WIDTH then text = text:sub(1, WIDTH):gsub(" [^ ]*$", " ...") end
  return ("  block %d, thread %-3d %s"):format(words.block, words.thread, text)
end

---What each of the first threads reads and writes, in its order.
---@param lesson table
---@param answer table
---@return string[]
function M.accesses(lesson, answer)
  local case = lesson.make(lesson.depends and lesson.depends.size or lesson.race or lesson.sizes[1])
  local threads = watch_threads(answer, case)
  if not threads then return {} end
  local lines = { "what the first threads did, each in its order:" }
  for i = 1, math.min(THREADS, #threads) do lines[i + 1] = line_of(threads[i]) end
  return lines
end

---Who wrote the first wrong element of a case, and what these threads did besides.
---@param facts table
---@param answer table whose kernel does not check its memory
---@return string[]
function M.writers(facts, answer)
  if not facts.got or not facts.first then return {} end
  local case = facts.lesson.make(facts.size)
  local out = case.out
  local threads = watch_threads(answer, case, out.address + (facts.first - 1) * (sizes[out.dtype] or 4))
  if not threads then return {} end
  local lines = { ("who wrote out[%d], and what these threads did besides:"):format(facts.first - 1) }
  for _, words in ipairs(threads) do
    if words.wrote and #lines <= THREADS then lines[#lines + 1] = line_of(words) end
  end
  if #lines == 1 then return { ("no thread wrote out[%d]"):format(facts.first - 1) } end
  return lines
end

return M
