-- Argument checks of the public functions. signatures.lua has a line for each function. Here functions are wrapped so
-- that a call with wrong arguments raises an error that names the function and the parameter, what was expected, what
-- was given, and how to write the call.
--
--   "first: integer, last?: integer"             a parameter with ? may be left out
--   "data: table|array|string"                   one of several kinds
--   "options?: {priority: integer, timing: boolean}"   a table with no other fields than these
--   "shape: any, ...: any"                       any number of further arguments
--
-- Kinds are Lua's types, the classes of objects, and those of `kinds` below. A signature is read when its function is
-- first called.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local nearest = require "moonwarp.diagnostics.nearest"
local signatures = require "moonwarp.check.signatures"

local M = {}

local own = debug.getinfo(1, "S").source -- errors must not point into the code written here
local compile = loadstring or load -- luacheck: ignore 143

-- ---- kinds ----

-- Whether a value of another type than Lua's number is a number nevertheless: LuaJIT's int64_t.
local function is_int64(value) return type(value) == "cdata" and not raw.type(value) and tonumber(value) ~= nil end

---@param value any
---@return boolean
function M.is_number(value) return type(value) == "number" or is_int64(value) end

-- Up to 2^53, below which doubles represent every whole number.
local function is_whole(value)
  return type(value) == "number" and value % 1 == 0 and value >= -2 ^ 53 and value <= 2 ^ 53 or is_int64(value)
end

local kinds = {
  any = { words = "a value", holds = function() return true end },
  integer = { words = "a whole number", holds = is_whole },
  number = { words = "a number", holds = M.is_number },
  boolean = { words = "true or false", holds = function(v) return type(v) == "boolean" end },
  dtype = {
    words = 'a dtype such as "float"',
    holds = function(v) return type(v) == "string" or raw.type(v) == "dtype" end,
  },
  path = { words = "a path", holds = function(v) return type(v) == "string" end },
  name = { words = "a name", holds = function(v) return type(v) == "string" end },
  ["nil"] = { words = "nil", holds = function(v) return v == nil end },
  cuda_array = { words = "a CUDA array", holds = function(v) return raw.type(v) == "cuda_array" end },
  pitched = { words = "a pitched array", holds = function(v) return raw.type(v) == "pitched" end },
}

local function article(noun) return (noun:find "^[aeiou]" and "an " or "a ") .. noun end

local function kind_of(word)
  if kinds[word] then return kinds[word] end
  local kind = { words = article(word:gsub("_", " ")) }
  if raw.classes[word] then
    kind.holds = function(value) return raw.type(value) == word end
  else
    kind.holds = function(value) return type(value) == word end
  end
  kinds[word] = kind
  return kind
end

local function list_words(words)
  if #words < 2 then return words[1] end
  return table.concat(words, ", ", 1, #words - 1) .. " or " .. words[#words]
end

-- ---- reading signatures ----

local parse

-- "integer|string", "{priority: integer}"
local function parse_kinds(text)
  if text:find "^{" then
    local fields, by_name, names = parse(text:sub(2, -2)), {}, {}
    for i, field in ipairs(fields) do
      by_name[field.name], names[i] = field, field.name
    end
    return { { words = "a table of options", holds = function(v) return type(v) == "table" end } }, by_name, names
  end
  local list = {}
  for word in text:gmatch "[^|]+" do list[#list + 1] = kind_of(word) end
  return list
end

-- The parameters of a signature: a list of { name =, optional =, kinds =, words =, fields =, names = }, and whether
-- more may follow.
function parse(text)
  local list = {}
  text = text:gsub("%b{}", function(part) return (part:gsub(",", ";")) end)
  for part in text:gmatch "[^,]+" do
    local name, optional, what = part:match "^%s*([%w_%.]+)(%??):%s*(.-)%s*$"
    if name == "..." then
      list.open = true
    else
      local param = { name = name, optional = optional == "?" }
      param.kinds, param.fields, param.names = parse_kinds((what:gsub(";", ",")))
      param.word = what
      local words = {}
      for i, kind in ipairs(param.kinds) do words[i] = kind.words end
      param.words = list_words(words)
      list[#list + 1] = param
    end
  end
  return list
end

-- "a:sub(first[, last])": brackets around the parameters that may be left out at the end.
local function usage_of(name, params)
  local text, depth, needed = {}, 0, 0
  for i, param in ipairs(params) do
    if not param.optional then needed = i end
  end
  for i, param in ipairs(params) do
    local comma = i > 1 and ", " or ""
    text[i] = (i > needed and "[" or "") .. comma .. param.name
    depth = depth + (i > needed and 1 or 0)
  end
  local more = params.open and (#params > 0 and ", …" or "…") or ""
  return ("%s(%s%s%s)"):format(name, table.concat(text), ("]"):rep(depth), more)
end

-- ---- checking ----

local function holds(param, value)
  for _, kind in ipairs(param.kinds) do
    if kind.holds(value) then return true end
  end
  return false
end

-- The text of a name for a message.
local function text_of(name)
  if type(name) == "string" and #name <= 40 and not name:find "%c" then return "'" .. name .. "'" end
  return raw.describe(name)
end

---Raise that there is no option with that name.
---@param what string "mw.stream"
---@param key any
---@param names string[] those that there are
function M.no_option(what, key, names)
  local like = nearest.name(key, names)
  errors.usage("%s has no option %s%s has %s", what, text_of(key),
    like and ("; did you mean '%s'? It"):format(like) or "; it", table.concat(names, ", "))
end

local function check_options(name, param, options)
  for key, value in next, options do
    local field = param.fields[key]
    if not field then M.no_option(name, key, param.names) end
    if not holds(field, value) then
      errors.usage("%s: %s is %s, got %s", name, field.name, field.words, raw.describe(value))
    end
    if field.fields then check_options(name .. ": " .. field.name, field, value) end
  end
end

local function too_many(signature, given)
  local most = #signature.params
  local takes = most == 0 and "no arguments" or ("%d argument%s%s"):format(most, most == 1 and "" or "s",
    most > 0 and signature.params[most].optional and " at most" or "")
  errors.usage("%s takes %s, got %d; write %s%s", signature.name, takes, given, signature.usage, signature.note or "")
end

local function refuse(signature, param, value)
  -- "wants a path", not "wants a path as path"
  local said = #param.name > 1 and param.words:find("%f[%w]" .. param.name .. "%f[%W]")
  local usage = signature.usage
  if param.fields and param.fields.axis and type(value) == "number" and is_whole(value) then -- as NumPy takes an axis
    usage = ("%s { axis = %d }"):format(signature.name, value == 0 and 1 or value)
    if value == 0 then usage = usage .. ", where 1 is the first axis" end
  end
  errors.usage("%s wants %s%s, got %s; write %s", signature.name, param.words, said and "" or " as " .. param.name,
    raw.describe(value), usage)
end

-- The complete check, which raises the error; used when the fast check fails.
local function check(signature, ...)
  local params = signature.params
  for i = 1, #params do
    local param, value = params[i], (select(i, ...))
    if not (value == nil and param.optional or holds(param, value)) then refuse(signature, param, value) end
    if param.fields and value then check_options(signature.name, param, value) end
  end
  if params.open then return end
  for i = #params + 1, select("#", ...) do
    if (select(i, ...)) ~= nil then too_many(signature, select("#", ...)) end
  end
end

local function read(name, text)
  local note
  text = text:gsub("%s*%-%-%s*(.*)$", function(words)
    note = ": " .. words
    return ""
  end)
  local params = parse(text)
  return { name = name, params = params, usage = usage_of(name, params), note = note }
end

-- ---- wrapping ----

raw.checked = raw.checked or setmetatable({}, { __mode = "k" }) -- wrapped functions -> what they wrap

-- Parameters of a single simple kind are checked inline, because compiled loops call these functions.
local quick = {
  any = "true", number = 'type(%s) == "number"', string = 'type(%s) == "string"', boolean = 'type(%s) == "boolean"',
  path = 'type(%s) == "string"', name = 'type(%s) == "string"', ["function"] = 'type(%s) == "function"',
  integer = '(type(%s) == "number" and %s % 1 == 0 and %s >= -2^53 and %s <= 2^53)', array = 'is(%s, "array")',
  device = 'is(%s, "device")',
  stream = 'is(%s, "stream")', event = 'is(%s, "event")',
}

-- Kinds that the type of a value decides.
local plain = { boolean = "boolean", number = "number", table = "table", string = "string", path = "string",
  name = "string", ["function"] = "function" }

-- The types of an option's value that are right, true each, or "whole" where a number has to be whole; others may be.
local function types_of(field)
  local types = {}
  for word in (field.fields and "" or field.word):gmatch "[^|]+" do
    if plain[word] then types[plain[word]] = true end
    if word == "integer" then types.number = types.number or "whole" end
  end
  return types
end

-- Whether options are right; false also if `check` has to decide.
local function fits(types, options)
  local key, value = next(options)
  while key ~= nil do
    local of = types[key]
    local right = of and of[type(value)]
    if not right or right == "whole" and (value % 1 ~= 0 or value < -2 ^ 53 or value > 2 ^ 53) then return false end
    key, value = next(options, key)
  end
  return true
end

-- A Lua expression that is true if a parameter is right, and may be false if `check` has to decide.
local function test_of(param, name, place)
  local test = quick[param.word] and quick[param.word]:gsub("%%s", name) or "false"
  if param.fields then test = ('type(%s) == "table" and fits(types[%d], %s)'):format(name, place, name) end
  return param.optional and ("(%s == nil or %s)"):format(name, test) or test
end

local function has_metatable(value, metatable) return getmetatable(value) == metatable end

-- f wrapped in the checks of a signature, as a function with the signature's parameters. class is the class of a
-- method's self (for objects that are tables, their metatable), or nil for a function.
local function build(signature, f, class, on_other)
  local names, tests, types, self = {}, {}, {}, class and "self" or nil
  for i, param in ipairs(signature.params) do
    names[i] = "a" .. i
    tests[i] = test_of(param, names[i], i)
    types[i] = {}
    for name, field in pairs(param.fields or {}) do types[i][name] = types_of(field) end
  end
  local open = signature.params.open
  if not open then tests[#tests + 1] = 'select("#", ...) == 0' end
  local list = table.concat(names, ", ")
  local comma = list ~= "" and ", " or ""
  local text = ([[
    local f, is, class, is_self, check, signature, on_other, fits, types, select, type = ...
    return function(%s%s%s...)
      %s
      if not (%s) then check(signature, %s%s...) end
      return f(%s%s%s)
    end]]):format(self and "self, " or "", list, comma,
    self and "if not is_self(self, class) then on_other(self) end" or "",
    #tests > 0 and table.concat(tests, " and ") or "true", list, comma,
    self and (list ~= "" and "self, " or open and "self, " or "self") or "", list, open and comma .. "..." or "")
  local is_self = type(class) == "table" and has_metatable or raw.is
  return compile(text, own)(f, raw.is, class, is_self, check, signature, on_other, fits, types, select, type)
end

local function wrap(name, text, f, class, on_other)
  if raw.checked[f] then return f end
  local inner
  local function checked(...)
    if not inner then
      local signature = read(name, text)
      inner = build(signature, f, class, on_other and on_other(signature))
    end
    return inner(...)
  end
  raw.checked[checked] = f
  return checked
end

---f wrapped so that it is called only with arguments that match its signature.
---@param name string for messages, "mw.zeros"
---@param text string
---@param f function
---@return function
function M.checked(name, text, f) return wrap(name, text, f) end

---The same for a method of objects that are tables.
---@param metatable table theirs
---@return function
function M.checked_method(name, text, f, metatable)
  return wrap(name, text, f, metatable, function(signature)
    return function(self)
      errors.usage("%s is a method of what %s makes, called on %s; write %s with a colon", signature.name,
        metatable.__made, raw.describe(self), signature.usage)
    end
  end)
end

-- The same for a method: the object on which it is called is checked as well.
local function method(class, letter, key, text, f)
  return wrap(letter .. ":" .. key, text, f, class, function(signature)
    return function(self)
      local also = class == "module" and ("; a kernel called %s is m:kernel(\"%s\")"):format(key, key) or ""
      errors.usage("%s is a method of %s, called on %s; write %s with a colon%s", signature.name,
        article(class:gsub("_", " ")), raw.describe(self), signature.usage, also)
    end
  end)
end

---Wrap the methods of all classes that are not yet checked. Called after methods were added.
function M.methods()
  for class, list in pairs(signatures.classes) do
    local methods = raw.classes[class]
    for key, text in pairs(list) do
      local f = methods[key]
      if f and key ~= "letter" then methods[key] = method(class, list.letter, key, text, f) end
    end
    local show = methods.__tostring
    if show then methods.__tostring = method(class, list.letter, "__tostring", "", show) end
  end
end

raw.methods_added = M.methods -- the FFI binding loads some methods late

---Copy the functions of a library into a table, wrapped if they have a signature.
---@param name string "mw"
---@param from table name -> function
---@param into table
function M.functions(name, from, into)
  local texts = signatures[name]
  for key, value in pairs(from) do
    into[key] = texts[key] and M.checked(name .. "." .. key, texts[key], value) or value
  end
end

return M
