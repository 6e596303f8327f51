-- An input as a chunk of Lua. Locals that an input declares must remain visible to later inputs, so at the top level
-- `local x = 1` becomes `x = 1`. Scripts and snippets can then be pasted line by line.

local binding = require "moonwarp.binding"
local source, syntax = binding.part "diagnostics.source", binding.part "diagnostics.syntax"

local M = {}

local load_text = rawget(_G, "setfenv") and loadstring or load

-- ---- tokens ----

-- The end of the token at `at`, and its kind where it matters: "name", "blank".
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

-- The words that open a block. `while` and `for` are not listed, because their loops have a `do`.
local opens = { ["function"] = 1, ["do"] = 1, ["if"] = 1, ["repeat"] = 1, ["end"] = -1, ["until"] = -1 }

-- ---- locals ----

-- What follows `local` at `at`: the names as the left side of an assignment, without attributes, and their end; nil if
-- there is no list of names.
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

---The text with the locals of its top level made globals. Line numbers do not change.
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

-- LuaJIT's machine code does not call the hook that stops it: the typed chunk is interpreted, its callees are compiled.
local function interpreted(chunk)
  if chunk and rawget(_G, "jit") then jit.off(chunk) end
  return chunk
end

-- Compile an expression as an argument of a call. A returned call would be a tail call, which removes the input from
-- the stack, where errors look for the script's line.
local function expression(text, name)
  if not load_text("return " .. text, name) then return nil end
  -- A line of its own ends a comment, but Lua 5.4 gives the call's line to an index that is the argument's last step.
  local chunk = interpreted(load_text("return (...)(" .. text .. ")", name)
    or load_text("return (...)(" .. text .. "\n)", name))
  return chunk and function() return chunk(values) end
end

---A chunk whose lines are called "[3]:1"; or nil and the error; or nil, nil if the input is incomplete.
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
