-- Explains Lua's syntax errors that have to do with CUDA C.

local M = {}

local function line_of(text, number)
  local at = 0
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    at = at + 1
    if at == number then return line end
  end
  return ""
end

-- Whether a long string of the text ends on that line in the middle of an index, a[x[i]].
local function ends_in_index(text, number)
  for start, content, finish in text:gmatch "()%[%[(.-)%]%]()" do
    local _, before = text:sub(1, finish - 1):gsub("\n", "")
    local last = content:match "[^\n]*$"
    local _, open = last:gsub("%[", "")
    local _, closed = last:gsub("%]", "")
    if before + 1 == number and open > closed and start then return true end
  end
  return false
end

---The parser's message, with a hint if it is about a launch in CUDA's notation (<<< >>>), or about a kernel whose ]]
---ends the string.
---@param text string the script
---@param why string "script.lua:4: unexpected symbol near ')'"
---@return string
function M.explain(text, why)
  local number = tonumber(why:match ":(%d+): ")
  if not number then return why end
  if line_of(text, number):find("<<<", 1, true) and why:find("near '<", 1, true) then
    return why .. "; a launch is written kernel(grid, block)(arguments)"
  end
  if ends_in_index(text, number) then
    return why .. "; the kernel's text ended at its own ]]: put it into [==[ and ]==]"
  end
  return why
end

return M
