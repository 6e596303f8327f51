-- The prompt of a session: reads commands and prints what they say.

local commands = require "moonwarp.stepping.commands"
local raw = require "moonwarp.binding"

local M = {}

local function complete(line)
  local found = {}
  for _, name in ipairs(commands.names) do
    if name:sub(1, #line) == line then found[#found + 1] = name end
  end
  return found
end

---Read commands until quit or the end of the input.
---@param s table session
function M.run(s)
  local lines = raw.prompt or require("moonwarp.repl.input").open(complete)
  io.write(commands.place_text(s, ""), "\n")
  local last = ""
  while true do
    local line, why = lines.read "(mw) "
    if not line and why ~= "interrupted" then break end
    line = line and line:match "^%s*(.-)%s*$" or ""
    if line == "quit" or line == "q" then break end
    if line == "" then line = last else lines.remember(line) end
    last = line
    if line ~= "" then
      local ok, text = pcall(commands.run, s, line)
      if not ok and not (type(text) == "table" and text.expression) then error(text, 0) end
      text = ok and text or text.expression
      if text ~= "" then io.write(text, "\n") end
    end
    io.stdout:flush()
  end
  io.write "\n"
  if not raw.prompt then lines.close() end
end

return M
