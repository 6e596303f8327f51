-- How far a learner has come: which lessons are solved, and how many hints of each were shown. A file of lines
-- "name solved hints" in the user's data folder, as XDG defines it.

local M = {}

local function given(name)
  local value = os.getenv(name)
  return value and value ~= "" and value or nil
end

local function folder()
  local data = given "XDG_DATA_HOME"
  if data then return data .. "/moonwarp" end
  local home = given "HOME"
  return home and home .. "/.local/share/moonwarp"
end

---The file, or nil where the user has no folder.
---@return string?
function M.path()
  local at = folder()
  return at and at .. "/lessons"
end

---@return table<string, { solved: boolean, hints: integer }>
function M.read()
  local lessons = {}
  local path = M.path()
  local file = path and io.open(path, "r")
  if not file then return lessons end
  for line in file:lines() do
    local name, solved, hints = line:match "^(%S+) (%a+) (%d+)$"
    if name then lessons[name] = { solved = solved == "solved", hints = tonumber(hints) } end
  end
  file:close()
  return lessons
end

local function write(lessons)
  local at = folder()
  if not at then return nil, "neither XDG_DATA_HOME nor HOME is set" end
  os.execute(("mkdir -p '%s' 2>/dev/null"):format(at:gsub("'", "'\\''")))
  local names = {}
  for name in pairs(lessons) do names[#names + 1] = name end
  table.sort(names)
  -- Renamed when it is whole: a full disk is not to cost what was kept before.
  local path = M.path()
  local file, why = io.open(path .. ".new", "w")
  if not file then return nil, why end
  for _, name in ipairs(names) do
    local entry = lessons[name]
    file:write(("%s %s %d\n"):format(name, entry.solved and "solved" or "open", entry.hints))
  end
  if not file:close() then return nil, path .. ".new could not be written" end
  return os.rename(path .. ".new", path)
end

---Change what is kept of a lesson: solved and hints, those that are given.
---@param name string
---@param change { solved?: boolean, hints?: integer }
---@return boolean? kept
---@return string? why not
function M.keep(name, change)
  local lessons = M.read()
  local entry = lessons[name] or { solved = false, hints = 0 }
  entry.solved = entry.solved or change.solved == true
  entry.hints = change.hints or entry.hints
  lessons[name] = entry
  return write(lessons)
end

return M
