-- Names that are not there: an error, which asks whether one that is like it was meant.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.error"

local M = {}

-- How many letters have to be put in, left out, changed or swapped with the next to make one of the other.
local function distance(a, b)
  a, b = a:lower(), b:lower()
  local before, row = nil, {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local last = row
    row = { [0] = i }
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j)
      local best = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (same and 0 or 1))
      local swapped = before and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j)
      row[j] = swapped and math.min(best, before[j - 2] + 1) or best
    end
    before = last
  end
  return row[#b]
end

---The name of a list that somebody may have meant who wrote `name`, or nil where none is like it.
---@param name string
---@param list string[]
---@return string?
function M.closest(name, list)
  if #name > 100 then return nil end
  local best, least = nil, math.min(#name, math.floor(#name / 3) + 2)
  for _, other in ipairs(list) do
    local far = distance(name, other)
    if far < least or far == least and best and other < best then best, least = other, far end
  end
  return best
end

---Raise that something has no such name.
---@param what string what it is called
---@param name string
---@param ... table whose keys are the names that there are
function M.missing(what, name, ...)
  local list = {}
  for i = 1, select("#", ...) do
    for other in pairs((select(i, ...))) do
      if type(other) == "string" and not other:find "^_" then list[#list + 1] = other end
    end
  end
  local like = M.closest(name, list)
  errors.usage("%s has no '%s'%s", what, name, like and ("; did you mean '%s'?"):format(like) or "")
end

---What an object of the class has not: an error for a name, nil for any other key.
---@param class string
---@param name any
function M.member(class, name)
  if type(name) ~= "string" then return nil end
  local what = (class:find "^[aeiou]" and "an " or "a ") .. class:gsub("_", " ")
  M.missing(what, name, raw.classes[class], raw.properties[class])
end

return M
