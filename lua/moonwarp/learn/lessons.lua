-- The lessons in their order, and what each consists of. A lesson is a file of its own:
--
--   title   "guards"
--   idea    the text for the learner, with a picture; it becomes the comment at the top of the file
--   file    the program with the gap; it returns { kernel =, launch = }
--   hints   three, each tells more than the one before
--   sizes   what `make` is called with, one case each; the first that fails is shown
--   make    function(size) -> a case: launch (arguments of the answer's launch), args (the kernel's), out (the array
--           with the result), want (a list), inputs ({ { name =, array = }, … }), place (how messages call an element),
--           and what the lesson's own functions want to know
--   mistakes  { { when = function(facts), hint = }, … }: the first that recognises a wrong result explains it
--   program   function(facts) -> what, hint where the program is not good enough, as far as can be told without a run
--   findings  kind of finding -> hint
--   counts    function(figures, case, facts) -> what, hint where a measured run is not good enough
--   figures   function(figures, case, facts) -> lines that are shown when it is solved
--   depends   { size =, input = }: the case whose dependences are drawn
--   race, counting  sizes for the checked and for the measured run; the largest and the largest by default

local M = {}

local FIRST = { "map", "zip", "guards", "map_2d", "broadcast", "blocks", "blocks_2d", "shared", "pooling",
  "dot_product", "convolution", "prefix_sum", "axis_sum", "matrix_product" }
local FURTHER = { "find_the_overrun", "find_the_race", "divergence", "coalescing", "bank_conflicts", "occupancy",
  "warp_sum", "butterfly", "block_scan", "asynchronous_copy", "atomics_and_fences", "roofline", "softmax",
  "texture_lookup" }

local order = {}
for _, part in ipairs { { "first", FIRST }, { "further", FURTHER } } do
  for _, name in ipairs(part[2]) do order[#order + 1] = { name = name, module = part[1] .. "." .. name } end
end

---How many there are.
M.count = #order

---The names in order.
---@return string[]
function M.names()
  local names = {}
  for i, entry in ipairs(order) do names[i] = entry.name end
  return names
end

---The number of a lesson that is asked for by its number or its name; nil if there is none.
---@param asked string
---@return integer?
function M.number(asked)
  local number = tonumber(asked)
  if number and order[number] then return number end
  for i, entry in ipairs(order) do
    if entry.name == asked:lower():gsub("[%s-]", "_") then return i end
  end
  return nil
end

---@param number integer
---@return table lesson with its number, its name and the name of the learner's file
function M.open(number)
  local entry = order[number]
  local lesson = require("moonwarp.learn." .. entry.module)
  lesson.number, lesson.name, lesson.module = number, entry.name, entry.module
  lesson.path = ("%02d_%s.lua"):format(number, entry.name)
  return lesson
end

---The text of the learner's file: the idea as a comment, and the program with its gap.
---@param lesson table
---@return string
function M.text(lesson)
  local lines = { ("-- Lesson %d: %s"):format(lesson.number, lesson.title), "--" }
  for line in (lesson.idea .. "\n"):gmatch "(.-)\n" do lines[#lines + 1] = ("-- " .. line):gsub("%s+$", "") end
  lines[#lines + 1] = "--"
  lines[#lines + 1] = ("-- moonwarp learn %d judges it, moonwarp learn %d --hint helps."):format(lesson.number,
    lesson.number)
  return table.concat(lines, "\n") .. "\n\n" .. lesson.file
end

return M
