-- Finds a CUDA C text in the script, so that compile errors can name the script's own lines.
--
-- Strings do not record where they come from. But the text of a long bracket occurs literally in the script, so a
-- search in the files of the running functions finds it, wherever it was assigned.

local raw = require "moonwarp.binding"

local M = { texts = {} } -- texts: of chunks without a file, by their name: "=[3]" at the prompt

local function read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read("*a")
  file:close()
  return text and (text:gsub("\r\n?", "\n")) -- as Lua reads line ends inside long brackets
end

local function count_lines(text)
  local _, count = text:gsub("\n", "")
  return count
end

-- The line of `content` on which `text` begins. Of several matches, those directly after a long bracket come first,
-- then the one nearest to `line`.
local function find(content, text, line)
  local best, best_distance
  local from = 1
  while true do
    local at = content:find(text, from, true)
    if not at then return best end
    local before = content:sub(1, at - 1)
    local here = count_lines(before) + 1
    local distance = math.abs(here - line)
    if not before:find("%[=*%[\n?$") then distance = distance + 1e9 end
    if not best or distance < best_distance then best, best_distance = here, distance end
    from = at + 1
  end
end

-- A chunk's name for messages, and its text if it is available.
local function chunk(source)
  local kind = source:sub(1, 1)
  if kind == "@" then return source:sub(2), read(source:sub(2)) end
  if kind == "=" then return source:sub(2), M.texts[source] end
  local first = source:match("^[^\n]*")
  if #first > 40 or first ~= source then first = first:sub(1, 40) .. "..." end
  return ('[string "%s"]'):format(first), source
end

---The file and line on which `text` begins, or nil if it is nowhere in the script (which may have concatenated it):
---then a text of one line gets the position of the call.
---@param text string
---@return string? file
---@return integer? line
function M.locate(text)
  if not text:find("%S") then return nil end
  local seen = {}
  local level = 2
  while true do
    local info = debug.getinfo(level, "Sl")
    if not info then break end
    if info.currentline > 0 and not seen[info.source] then
      seen[info.source] = true
      local file, content = chunk(info.source)
      local line = content and find(content, text, info.currentline)
      if line then return file, line end
    end
    level = level + 1
  end
  local source, line = raw.caller()
  if source and not text:find("\n") then return (chunk(source)), line end
end

return M
