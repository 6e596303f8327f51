-- Lines typed at the prompt: with editing, history and completion if there is a readline module (lua-readline); plain
-- otherwise, and if the input is not a terminal.

local raw = require "moonwarp.binding"

local M = {}

local function is_terminal(descriptor)
  local result = os.execute(("test -t %d 2>/dev/null"):format(descriptor))
  return result == true or result == 0
end

---A remark next to the result: dimmed if the terminal supports that.
---@param text string
---@return string
function M.dim(text)
  local term, plain = os.getenv "TERM", os.getenv "NO_COLOR"
  if not term or term == "dumb" or plain and plain ~= "" or not is_terminal(1) then return text end
  return "\27[2m" .. text .. "\27[0m"
end

---Whether lines of progress can be written to stderr, and replaced.
---@return boolean
function M.replaces_lines()
  local term = os.getenv "TERM"
  return term ~= nil and term ~= "dumb" and is_terminal(2)
end

-- The directory for history files that XDG defines.
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
    terminal = terminal,
    read = function(prompt)
      io.write(prompt)
      io.stdout:flush()
      -- A terminal returns one line at a time, so no further lines are hidden in io.read's buffer.
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

-- A line by readline, one character at a time, so that an interrupt between characters discards the input.
local function read_line(readline, prompt)
  local done, line = false, nil
  readline.handler_install(prompt, function(text)
    done, line = true, text
    readline.handler_remove() -- otherwise it would show the prompt again
  end)
  while not done do
    if not raw.interrupt_wait(0) then
      raw.interrupted()
      readline.handler_remove()
      return nil, "interrupted"
    end
    readline.read_char()
  end
  return line
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
    terminal = true,
    read = function(prompt) return read_line(readline, prompt) end,
    remember = function(text) readline.add_history(text) end,
    close = function()
      if file then readline.save_history() end
    end,
  }
end

---@param complete fun(line: string, word: string): string[] what a word at the end of a line may become
---@return { editing: boolean, terminal: boolean, read: function, remember: function, close: function }
function M.open(complete)
  local ok, readline = pcall(require, "readline")
  local terminal = is_terminal(0)
  if ok and terminal then return with_readline(readline, complete) end
  return plain(terminal)
end

return M
