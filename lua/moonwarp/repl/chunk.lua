-- An input as a chunk of Lua. Variables that an input declares local are kept for the next ones, which could not reach
-- them otherwise: at its top level `local x = 1` is `x = 1`, so that scripts and snippets can be pasted line by line.

local binding = require "moonwarp.binding"
local source, syntax = binding.part "diagnostics.source", binding.part "diagnostics.syntax"

local M = {}

local load_text = rawget(_G, "setfenv") and loadstring or load

-- ---- tokens ----

-- Where the token at `at` ends, and what it is where that matters: "name", "blank".
local function token(text, at)
  local _, last = text:find("^%s+", at)
  if last then return last, "blank" end
  local equals = text:match("^%-%-%[(=*)%[", at)
  if equals then return select(2, text:find("]" .. equals .. "]", at, true)) or #text, "blank" end
  if text:find("^%-%-", at) then return select(2, text:find("^[^\n]*", at)), "blank" end
  _, last = text:find("^[%a_][%w_]*", at)
  if last then return last, "name" end
  _, last = text:find("^%.?%d[%w%.]*", at)
  if last then return last end
  equals = text:match("^%[(=*)%[", at)
  if equals then return select(2, text:find("]" .. equals .. "]", at, true)) or #text end
  local quote = text:match("^[\"']", at)
  if not quote then return at end
  local stop = at + 1
  while stop <= #text and text:sub(stop, stop) ~= quote do
    stop = stop + (text:sub(stop, stop) == "\\" and 2 or 1)
  end
  return math.min(stop, #text)
end

-- Only `do` counts of the words that open a loop: `while` and `for` have one.
local opens = { ["function"] = 1, ["do"] = 1, ["if"] = 1, ["repeat"] = 1, ["end"] = -1, ["until"] = -1 }

-- ---- locals ----

-- What follows `local` at `at`: the names as an assignment's left side, without attributes, and where they end; nil
-- where there is no list of names.
local function names_after(text, at)
  local names, line_ends = {}, ""
  repeat
    local name, after = text:match("^%s*([%a_][%w_]*)()", at)
    if not name then return nil end
    names[#names + 1] = name
    line_ends = line_ends .. text:sub(at, after - 1):gsub("[^\n]", "")
    at = text:match("^%s*<%s*%a+%s*>()", after) or after
    local comma = text:match("^%s*,()", at)
    at = comma or at
  until not comma
  return line_ends .. table.concat(names, ", "), at
end

---The text with the locals of its top level made globals. Lines stay where they are.
---@param text string
---@return string
function M.keep_locals(text)
  local out, at, depth = {}, 1, 0
  while at <= #text do
    local last, kind = token(text, at)
    local word = text:sub(at, last)
    if kind == "name" then depth = depth + (opens[word] or 0) end
    if kind == "name" and word == "local" and depth == 0 then
      local names, after = names_after(text, last + 1)
      if text:find("^%s+function%f[^%w_]", last + 1) then
        word = ""
      elseif names then
        word, last = names, after - 1
        if not text:find("^%s*=", after) then word = word .. " = nil" end
      end
    end
    out[#out + 1] = word
    at = last + 1
  end
  return table.concat(out)
end

-- ---- chunks ----

local function values(...) return ... end

-- LuaJIT's machine code does not ask whether it should stop: what was typed is interpreted, what it calls is compiled.
local function interpreted(chunk)
  if chunk and rawget(_G, "jit") then jit.off(chunk) end
  return chunk
end

-- An expression, as an argument: a call that is returned would take the input off the stack, and whoever asks for the
-- script's line finds none.
local function expression(text, name)
  if not load_text("return " .. text, name) then return nil end
  local chunk = interpreted(load_text("return (...)(" .. text .. "\n)", name))
  return chunk and function() return chunk(values) end
end

---A chunk whose lines are called "[3]:1", or nil and what is wrong; nil, nil where there is more to come.
---@param text string
---@param number integer which input it is
---@return function? chunk
---@return string? wrong
function M.compile(text, number)
  local name = ("=[%d]"):format(number)
  source.texts[name] = text
  local found = expression(text, name) or expression((text:gsub("^%s*=", "")), name)
  if found then return found end
  local chunk, why = load_text(M.keep_locals(text), name)
  if chunk then return interpreted(chunk) end
  if why:find "<eof>" or why:find "near '?<?eof" or why:find "unfinished long" then return nil, nil, why end
  return nil, syntax.explain(text, why)
end

return M
