-- Lets LuaJIT run specs, which are written in Lua 5.4: the operators that it lacks become calls, long integers its own,
-- and the functions of newer libraries are added. run.lua loads it; nothing of it is there in Lua 5.4.
--
-- Integers are numbers, and int64_t from where numbers are not exact; so `/` of two large ones is not what it is in Lua
-- 5.4. Specs with models that need all 64 bits have a line that excludes LuaJIT (run.lua).

local ffi = require "ffi"

local M = {}

-- ---- operators ----

local EXACT = 2 ^ 53

local function narrow(value)
  local number = tonumber(value)
  if number > -EXACT and number < EXACT then return number end
  return value
end

-- As Lua 5.4 takes an operand of a bitwise operator: a whole number, in 64 bits.
local function bits_of(value)
  if type(value) == "number" and value % 1 ~= 0 then error("number has no integer representation", 3) end
  return ffi.cast("int64_t", value)
end

local bit = require "bit"
local operators = {
  ["&"] = function(a, b) return narrow(bit.band(bits_of(a), bits_of(b))) end,
  ["|"] = function(a, b) return narrow(bit.bor(bits_of(a), bits_of(b))) end,
  ["~"] = function(a, b) return narrow(bit.bxor(bits_of(a), bits_of(b))) end,
  ["<<"] = function(a, b)
    if b < 0 then return narrow(-b > 63 and 0LL or bit.rshift(bits_of(a), -b)) end
    return narrow(b > 63 and 0LL or bit.lshift(bits_of(a), b))
  end,
  [">>"] = function(a, b)
    if b < 0 then return narrow(-b > 63 and 0LL or bit.lshift(bits_of(a), -b)) end
    return narrow(b > 63 and 0LL or bit.rshift(bits_of(a), b))
  end,
  ["//"] = function(a, b)
    if type(a) == "number" and type(b) == "number" then return math.floor(a / b) end
    a, b = bits_of(a), bits_of(b)
    local quotient = a / b
    if quotient * b ~= a and (a < 0) ~= (b < 0) then quotient = quotient - 1 end
    return narrow(quotient)
  end,
  ["unary ~"] = function(a) return narrow(bit.bnot(bits_of(a))) end,
}

-- ---- tokens ----

local words = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat return then true until
while]]):gmatch "%a+" do words[word] = true end

-- The token at `at`: its kind and the position after it. Kinds: "space", "name", "word", "number", "string", or the
-- operator itself.
local function token_at(text, at)
  local kind, last = "space", select(2, text:find("^%s+", at))
  if last then return kind, last + 1 end
  local level = text:match("^%-%-%[(=*)%[", at)
  if level then return "space", select(2, text:find("]" .. level .. "]", at, true)) + 1 end
  if text:find("^%-%-", at) then return "space", (text:find("\n", at, true) or #text + 1) end
  level = text:match("^%[(=*)%[", at)
  if level then return "string", select(2, text:find("]" .. level .. "]", at, true)) + 1 end
  local quote = text:match("^[\"']", at)
  if quote then
    local place = at + 1
    while text:sub(place, place) ~= quote do
      if text:sub(place, place) == "\\" then place = place + 1 end
      place = place + 1
    end
    return "string", place + 1
  end
  local name = text:match("^[%a_][%w_]*", at)
  if name then return words[name] and "word" or "name", at + #name end
  local number = text:match("^0[xX][%x%.]+[pP]?[+-]?%d*", at) or text:match("^%.?%d[%d%.]*[eE][+-]?%d+", at)
    or text:match("^%.?%d[%d%.]*", at)
  if number and text:find("^0[xX]", at) and not number:find("[pP]") then number = text:match("^0[xX][%x%.]+", at) end
  if number then return "number", at + #number end
  for length = 3, 1, -1 do
    local operator = text:sub(at, at + length - 1)
    if length == 1 or ("... .. == ~= <= >= // << >> ::"):find(operator, 1, true) and not operator:find(" ") then
      return operator, at + #operator
    end
  end
end

local function tokens_of(text)
  local list, at, space = {}, 1, ""
  while at <= #text do
    local kind, behind = token_at(text, at)
    local part = text:sub(at, behind - 1)
    if kind == "space" then
      space = space .. part
    else
      list[#list + 1] = { kind = kind, text = part, space = space }
      space = ""
    end
    at = behind
  end
  list[#list + 1] = { kind = "end of file", text = "", space = space }
  return list
end

-- ---- rewriting ----

-- Precedences of binary operators, to the left and to the right. Operators of lower precedence (comparisons, and, or)
-- end a rewritten expression.
local binary = {
  ["|"] = { 4, 4 }, ["~"] = { 5, 5 }, ["&"] = { 6, 6 }, ["<<"] = { 7, 7 }, [">>"] = { 7, 7 }, [".."] = { 9, 8 },
  ["+"] = { 10, 10 }, ["-"] = { 10, 10 }, ["*"] = { 11, 11 }, ["/"] = { 11, 11 }, ["//"] = { 11, 11 },
  ["%"] = { 11, 11 }, ["^"] = { 14, 13 },
}
local UNARY = 12
local closing = { ["("] = ")", ["["] = "]", ["{"] = "}" }

local function is_operand_start(token)
  local kind, text = token.kind, token.text
  if kind == "name" or kind == "number" or kind == "string" then return true end
  if kind == "word" then return text == "nil" or text == "true" or text == "false" or text == "not" end
  return kind == "(" or kind == "{" or kind == "-" or kind == "#" or kind == "~" or kind == "..."
end

local function number_text(token)
  local text = token.text
  if text:find("^0[xX]%x+$") and #text:gsub("^0[xX]0*", "") > 13 then return text .. "LL" end
  if text:find("^%d+$") and tonumber(text) > EXACT then return text .. "LL" end
  return text
end

---Lua 5.4 as LuaJIT reads it, line by line where it was.
---@param text string
---@return string
function M.translate(text)
  local tokens, at = tokens_of((text:gsub("^#[^\n]*", ""))), 1
  local expression, run

  -- From an opening bracket to its closing one.
  local function group()
    local open = tokens[at]
    at = at + 1
    local inner = run(closing[open.kind])
    local close = tokens[at]
    at = at + 1
    return open.space .. open.text .. inner .. close.space .. close.text
  end

  local function operand()
    local token = tokens[at]
    if token.text == "not" or token.kind == "-" or token.kind == "#" then
      at = at + 1
      return token.space .. token.text .. " " .. expression(UNARY)
    elseif token.kind == "~" then
      at = at + 1
      return token.space .. "__unary(" .. expression(UNARY) .. ")"
    end
    local parts = {}
    if token.kind == "(" or token.kind == "{" then
      parts[1] = group()
    else
      parts[1] = token.space .. (token.kind == "number" and number_text(token) or token.text)
      at = at + 1
    end
    if token.kind == "number" then return parts[1] end
    while true do -- what follows it: fields, calls
      token = tokens[at]
      if token.kind == "." or token.kind == ":" then
        parts[#parts + 1] = token.space .. token.text .. tokens[at + 1].space .. tokens[at + 1].text
        at = at + 2
      elseif closing[token.kind] then
        parts[#parts + 1] = group()
      elseif token.kind == "string" then
        parts[#parts + 1] = token.space .. token.text
        at = at + 1
      else
        return table.concat(parts)
      end
    end
  end

  function expression(limit)
    local left = operand()
    while true do
      local token = tokens[at]
      local binds = binary[token.kind]
      if not binds or binds[1] <= limit then return left end
      at = at + 1
      local right = expression(binds[2])
      if operators[token.kind] then
        -- Insert the call between the white space and the operand, on the operand's line.
        local space, rest = left:match("^(%s*)(.*)$")
        if left:find("^%s*%-%-") then space, rest = "", "\n" .. left end
        left = ("%s__binary[%q](%s,%s%s)"):format(space, token.kind, rest, token.space, right)
      else
        left = left .. token.space .. token.text .. right
      end
    end
  end

  -- local NAME <close> = EXPRESSION, which LuaJIT does not have: leave the test.
  local function closed_variable()
    local head = tokens[at].space .. "local" .. tokens[at + 1].space .. tokens[at + 1].text
    local attribute = tokens[at + 3].text
    at = at + 6
    if attribute ~= "close" then return head .. " =" end
    return head .. " = __not_closed(pending," .. expression(0) .. ")"
  end

  -- Tokens up to a closing bracket or the end of the file.
  function run(stop)
    local parts = {}
    while true do
      local token = tokens[at]
      if token.kind == stop or token.kind == "end of file" then
        if token.kind == "end of file" then parts[#parts + 1] = token.space end
        return table.concat(parts)
      elseif token.text == "local" and tokens[at + 2].kind == "<" and tokens[at + 4].kind == ">" then
        parts[#parts + 1] = closed_variable()
      elseif is_operand_start(token) then
        parts[#parts + 1] = expression(0)
      elseif closing[token.kind] then
        parts[#parts + 1] = group()
      else
        parts[#parts + 1] = token.space .. token.text
        at = at + 1
      end
    end
  end

  return run(nil)
end

local function load_file(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "*a"
  file:close()
  return load(M.translate(text), "@" .. path)
end

-- ---- the libraries ----

local sizes = { b = 1, h = 2, i = 4, l = 8, j = 8 }
local ctypes = { "int8_t", "int16_t", nil, "int32_t", nil, nil, nil, "int64_t" }

-- The items of a format: their ctypes. Little-endian and packed, as the specs have them.
local function items(format)
  local list = {}
  for letter, digits in format:gmatch("(%a)(%d*)") do
    if letter == "f" then
      list[#list + 1] = "float"
    elseif letter == "d" or letter == "n" then
      list[#list + 1] = "double"
    else
      local size = tonumber(digits) or sizes[letter:lower()] or error("string.pack: " .. letter)
      list[#list + 1] = (letter:find("%u") and "u" or "") .. ctypes[size]
    end
  end
  return list
end

local function pack(format, ...)
  local parts = {}
  for i, name in ipairs(items(format)) do
    local cell, value = ffi.new(name .. "[1]"), (select(i, ...))
    if name:find "int" and type(value) == "number" and value < 0 then value = ffi.cast("int64_t", value) end
    cell[0] = value
    parts[i] = ffi.string(cell, ffi.sizeof(cell))
  end
  return table.concat(parts)
end

local function unpack_bytes(format, bytes, at)
  local values = {}
  at = at or 1
  for i, name in ipairs(items(format)) do
    local cell = ffi.new(name .. "[1]")
    ffi.copy(cell, bytes:sub(at, at + ffi.sizeof(cell) - 1), ffi.sizeof(cell))
    values[i] = type(cell[0]) == "cdata" and narrow(cell[0]) or cell[0]
    at = at + ffi.sizeof(cell)
  end
  values[#values + 1] = at
  return unpack(values)
end

local function math_type(value)
  if type(value) == "cdata" then return "integer" end
  if type(value) ~= "number" then return nil end
  return value % 1 == 0 and "integer" or "float"
end

-- math.random, also for ranges that need all 64 bits.
local function wide_random(random)
  return function(low, high)
    if not high or type(low) == "number" and type(high) == "number" then return random(unpack({ low, high })) end
    local value = 0ULL
    for _ = 1, 4 do value = value * 65536 + random(0, 65535) end
    local range = ffi.cast("uint64_t", high) - ffi.cast("uint64_t", ffi.cast("int64_t", low)) + 1
    if range ~= 0 then value = value % range end
    return narrow(ffi.cast("int64_t", value + ffi.cast("uint64_t", ffi.cast("int64_t", low))))
  end
end

-- A shell's exit status as the results of Lua 5.4's os.execute.
local function ended(status)
  if status > 128 then return nil, "signal", status - 128 end
  return status == 0 or nil, "exit", status
end

-- Pipes with a close that returns the exit status, which is the last line of the output.
local Pipe = {}
Pipe.__index = Pipe

function Pipe:_all()
  if not self.text then
    local text = self.pipe:read "*a"
    local output, status = text:match("^(.*)\1(%d+)\n$")
    self.text, self.status, self.at = output, tonumber(status), 1
    self.pipe:close()
  end
  return self.text
end

function Pipe:read(what)
  local text = self:_all()
  if what and what:find "a" then
    local rest = text:sub(self.at)
    self.at = #text + 1
    return rest
  end
  if self.at > #text then return nil end
  local line, behind = text:match("^([^\n]*)\n?()", self.at)
  self.at = behind
  return what and what:find "n" and tonumber(line) or line
end

function Pipe:lines() return function() return self:read "*l" end end

function Pipe:close()
  self:_all()
  return ended(self.status)
end

function M.install()
  _G.__binary, _G.__unary = operators, operators["unary ~"]
  -- A test of what LuaJIT lacks is pending; in a child process (without busted) the variable is an ordinary one.
  _G.__not_closed = function(pending, value)
    if pending then pending "LuaJIT has no <close>" end
    return value
  end
  string.pack, string.unpack = pack, unpack_bytes
  string.packsize = function(format) return #pack(format, unpack({ 0, 0, 0, 0, 0, 0, 0, 0 })) end
  math.type, math.maxinteger, math.mininteger = math_type, 0x7fffffffffffffffLL, -0x7fffffffffffffffLL - 1
  math.tointeger = function(value) return math_type(value) == "integer" and value or nil end
  math.ult = function(a, b) return ffi.cast("uint64_t", bits_of(a)) < ffi.cast("uint64_t", bits_of(b)) end
  local collect = collectgarbage
  _G.collectgarbage = function(what, ...)
    if what == "generational" then return 0 end -- there is one kind of collector
    if what ~= "incremental" then return collect(what, ...) end
    local pause, multiplier = ...
    collect("setpause", pause)
    collect("setstepmul", multiplier)
  end
  math.random = wide_random(math.random)
  table.unpack, table.pack = unpack, function(...) return { n = select("#", ...), ... } end
  table.move = table.move or require "table.move"

  local popen, execute = io.popen, os.execute
  -- In a subshell, so that `exec` and `exit` do not skip the line with the status.
  io.popen = function(command, mode)
    if mode and mode:find "w" then return popen(command, mode) end
    return setmetatable({ pipe = popen("(" .. command .. "\n); printf '\\001%d\\n' $?") }, Pipe)
  end
  os.execute = function(command)
    if not command then return true end
    local status, how, code = execute(command)
    if type(status) ~= "number" then return status, how, code end
    return ended(status >= 256 and status / 256 or status)
  end

  _G.loadfile = load_file
  _G.dofile = function(path) return assert(load_file(path))() end
  local search = package.loaders[2]
  package.loaders[2] = function(name)
    local path = package.searchpath(name, package.path)
    if path and path:find("spec/support/", 1, true) then return assert(load_file(path)), path end
    return search(name)
  end
end

return M
