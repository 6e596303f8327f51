-- Errors for missing names, with a suggestion if a similar name exists.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local nearest = require "moonwarp.diagnostics.nearest"

local M = {}

-- What a function or method that is looked for is called: NumPy's names, and methods that are no functions.
local function here(what, name)
  if what ~= "moonwarp" and what ~= "an array" then return nil end
  local known = raw.part("diagnostics.numpy_names").names[name]
  if known then return ("; here it is %s"):format(known) end
  local methods = raw.classes.array
  if what == "moonwarp" and methods and type(rawget(methods, name)) == "function" then
    return ("; it is a method: a:%s(…)"):format(name)
  end
end

---Raise that something has no such name.
---@param what string what it is called
---@param name string
---@param ... table whose keys are the names that there are
function M.missing(what, name, ...)
  local known = here(what, name)
  if known then errors.usage("%s has no '%s'%s", what, name, known) end
  local list = {}
  for i = 1, select("#", ...) do
    for other in pairs((select(i, ...))) do
      if type(other) == "string" and not other:find "^_" then list[#list + 1] = other end
    end
  end
  table.sort(list) -- sorted, so that equally near names give the same one on every run
  local like = nearest.name(name, list)
  errors.usage("%s has no '%s'%s", what, name, like and ("; did you mean '%s'?"):format(like) or "")
end

---Look up a missing field of a class's object: an error for a name, nil for any other key.
---@param class string
---@param name any
function M.member(class, name)
  if type(name) ~= "string" then return nil end
  local what = (class:find "^[aeiou]" and "an " or "a ") .. class:gsub("_", " ")
  M.missing(what, name, raw.classes[class], raw.properties[class])
end

return M
