-- Lines from whoever types: with editing, history and completion where there is a readline module (lua-readline), plain
-- otherwise, and where the input is no terminal.

local raw = require "moonwarp.binding"

local M = {}

local function is_terminal()
  local result = os.execute "test -t 0 2>/dev/null"
  return result == true or result == 0
end

-- Where XDG says that such things go.
local function history_file()
  local state = os.getenv "XDG_STATE_HOME"
  local home = os.getenv "HOME"
  if not state or state == "" then
    if not home or home == "" then return nil end
    state = home .. "/.local/state"
  end
  os.execute(("mkdir -p '%s/moonwarp' 2>/dev/null"):format(state:gsub("'", "'\\''")))
  return state .. "/moonwarp/history"
end

local function plain(terminal)
  return {
    editing = false,
    read = function(prompt)
      io.write(prompt)
      io.stdout:flush()
      -- A terminal hands out a line at a time, so nothing waits in a buffer that only io.read sees.
      if terminal and not raw.interrupt_wait(0) then
        raw.interrupted()
        return nil, "interrupted"
      end
      local line, why = io.read "*l"
      if line == nil and why and why:find "nterrupted" then return nil, "interrupted" end
      return line
    end,
    remember = function() end,
    close = function() end,
  }
end

local function with_readline(readline, complete)
  local file = history_file()
  readline.set_options { auto_add = false, histfile = file or "", keeplines = 2000, completion = true }
  readline.set_readline_name "moonwarp"
  readline.set_complete_function(function(text, from, to)
    local found = complete(text:sub(1, to), text:sub(from, to))
    readline.set_completion_append_character ""
    return found
  end)
  return {
    editing = true,
    read = function(prompt) return readline.readline(prompt) end,
    remember = function(text) readline.add_history(text) end,
    close = function()
      if file then readline.save_history() end
    end,
  }
end

---@param complete fun(line: string, word: string): string[] what a word at the end of a line may become
---@return { editing: boolean, read: function, remember: function, close: function }
function M.open(complete)
  local ok, readline = pcall(require, "readline")
  local terminal = is_terminal()
  if ok and terminal then return with_readline(readline, complete) end
  return plain(terminal)
end

return M
