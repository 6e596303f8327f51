-- C expressions over a kernel's variables: names, numbers, members, elements, pointers and C's operators without
-- assignments; array@count gives `count` elements from an element on, as in gdb.
--
-- A value is { type =, bytes = or number =, address = where it is in memory, or nil }.

local layout = require "moonwarp.stepping.layout"

local M = {}

local function wrong(...) error({ expression = (...):format(select(2, ...)) }, 0) end

-- ---- tokens ----

local OPERATORS = { "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "->", "+", "-", "*", "/", "%", "<", ">", "!", "~",
  "&", "|", "^", "(", ")", "[", "]", ".", "?", ":", "@" }

local function tokenize(text)
  local tokens, at = {}, 1
  while true do
    at = text:match("^%s*()", at)
    if at > #text then return tokens end
    local name = text:match("^[%a_$][%w_:]*", at)
    if name then name = name:gsub(":+$", "") end
    local number = text:match("^0[xX]%x+", at) or text:match("^%d+%.?%d*[eE][%+%-]?%d+", at)
      or text:match("^%d*%.%d+", at) or text:match("^%d+%.?", at)
    if name and #name > 0 then
      tokens[#tokens + 1] = { name = name }
      at = at + #name
    elseif number then
      tokens[#tokens + 1] = { number = tonumber(number), is_float = number:find "[%.eE]" and not number:find "^0[xX]" }
      at = at + #number
      at = text:match("^[uUlLfF]*()", at)
    else
      local found
      for _, operator in ipairs(OPERATORS) do
        if text:sub(at, at + #operator - 1) == operator then
          found = operator
          break
        end
      end
      if not found then wrong("'%s' is not understood in '%s'", text:sub(at, at), text) end
      tokens[#tokens + 1] = { operator = found }
      at = at + #found
    end
  end
end

-- ---- the parser ----

local LEVELS = {
  ["@"] = 1, ["||"] = 3, ["&&"] = 4, ["|"] = 5, ["^"] = 6, ["&"] = 7, ["=="] = 8, ["!="] = 8, ["<"] = 9, [">"] = 9,
  ["<="] = 9, [">="] = 9, ["<<"] = 10, [">>"] = 10, ["+"] = 11, ["-"] = 11, ["*"] = 12, ["/"] = 12, ["%"] = 12,
}
local UNARY = { ["-"] = true, ["+"] = true, ["!"] = true, ["~"] = true, ["*"] = true, ["&"] = true }

---An expression as a tree. Raises { expression = what is wrong }.
---@param text string
---@return table
function M.parse(text)
  if type(text) ~= "string" then wrong("an expression is a string, not %s", type(text)) end
  local tokens, at = tokenize(text), 1
  local parse_level

  local function operator() return tokens[at] and tokens[at].operator end

  local function expect(word)
    if operator() ~= word then wrong("'%s' lacks '%s'", text, word) end
    at = at + 1
  end

  local function parse_primary()
    local token = tokens[at]
    if not token then wrong("'%s' ends too early", text) end
    at = at + 1
    if token.name then return { kind = "name", name = token.name } end
    if token.number then return { kind = "number", number = token.number, is_float = token.is_float } end
    if token.operator ~= "(" then wrong("'%s' has '%s' where a value should be", text, token.operator) end
    local inside = parse_level(0)
    expect ")"
    return inside
  end

  local function parse_postfix()
    local value = parse_primary()
    while true do
      local word = operator()
      if word == "[" then
        at = at + 1
        value = { kind = "index", of = value, index = parse_level(0) }
        expect "]"
      elseif word == "." or word == "->" then
        local field = tokens[at + 1]
        if not (field and field.name) then wrong("'%s' has no member's name after '%s'", text, word) end
        at = at + 2
        value = { kind = "member", of = value, name = field.name, arrow = word == "->" }
      else
        return value
      end
    end
  end

  local function parse_unary()
    local word = operator()
    if not UNARY[word] then return parse_postfix() end
    at = at + 1
    return { kind = "unary", operator = word, of = parse_unary() }
  end

  function parse_level(least)
    local left = parse_unary()
    while true do
      local word = operator()
      if word == "?" and least <= 2 then
        at = at + 1
        local yes = parse_level(0)
        expect ":"
        left = { kind = "choice", condition = left, yes = yes, no = parse_level(2) }
      elseif word and LEVELS[word] and LEVELS[word] >= least then
        at = at + 1
        left = { kind = "binary", operator = word, left = left, right = parse_level(LEVELS[word] + 1) }
      else
        return left
      end
    end
  end

  if #tokens == 0 then wrong "an expression is missing" end
  local tree = parse_level(0)
  if tokens[at] then
    wrong("'%s' has something after its end: '%s'", text, tokens[at].operator or tokens[at].name or tokens[at].number)
  end
  return tree
end

-- ---- the evaluation ----

local INT, UINT, DOUBLE = layout.scalar "i4", layout.scalar "u4", layout.scalar "f8"

local function number_of(value)
  local kind = value.type.kind
  if kind == "struct" or kind == "void" then wrong("a value of type %s is not a number", value.type.name) end
  if kind == "array" then return value.address end
  if value.number == nil then value.number = layout.number(value.type, value.bytes) end
  if value.number == true then return 1 elseif value.number == false then return 0 end
  return value.number
end

---Whether a value counts as true.
function M.is_true(value) return number_of(value) ~= 0 end

M.number_of = number_of

local function int(number) return { type = INT, number = number } end

local function truncate(x) return x < 0 and math.ceil(x) or math.floor(x) end

-- An integer as 32 bits from 0 on, for operators on bits; and back.
local function bits(number, text)
  if number < -2 ^ 31 or number >= 2 ^ 32 then wrong("%s is for numbers of 32 bits here", text) end
  return number % 2 ^ 32
end

local function combine(a, b, keeps)
  local result, place = 0, 1
  for _ = 1, 32 do
    if keeps(a % 2, b % 2) then result = result + place end
    a, b, place = math.floor(a / 2), math.floor(b / 2), place * 2
  end
  return result
end

local function common(a, b)
  if a.type.kind == "float" or b.type.kind == "float" or a.type.kind == "bfloat" or b.type.kind == "bfloat" then
    return DOUBLE
  end
  return (a.type.kind == "uint" and a.type.bytes >= 4 or b.type.kind == "uint" and b.type.bytes >= 4) and UINT or INT
end

-- What C gives where numbers of 32 bits overflow.
local function wrapped(type, number)
  if type == DOUBLE then return number end
  if type == UINT then return number % 2 ^ 32 end
  return number
end

local function whole(number) return math.type and math.type(number) == "float" and math.floor(number) or number end

local ARITHMETIC = {
  ["+"] = function(a, b) return a + b end,
  ["-"] = function(a, b) return a - b end,
  ["*"] = function(a, b) return a * b end,
  ["/"] = function(a, b, type)
    if type == DOUBLE then return a / b end
    if b == 0 then wrong "division by zero" end
    return whole(truncate(a / b))
  end,
  ["%"] = function(a, b, type)
    if type == DOUBLE then wrong "% is for integers" end
    if b == 0 then wrong "division by zero" end
    return whole(a - truncate(a / b) * b)
  end,
  ["&"] = function(a, b) return whole(combine(bits(a, "&"), bits(b, "&"), function(x, y) return x + y == 2 end)) end,
  ["|"] = function(a, b) return whole(combine(bits(a, "|"), bits(b, "|"), function(x, y) return x + y > 0 end)) end,
  ["^"] = function(a, b) return whole(combine(bits(a, "^"), bits(b, "^"), function(x, y) return x ~= y end)) end,
  ["<<"] = function(a, b) return whole(bits(a * 2 ^ b % 2 ^ 32, "<<")) end,
  [">>"] = function(a, b) return whole(math.floor(a / 2 ^ b)) end,
}

local COMPARISON = {
  ["=="] = function(a, b) return a == b end,
  ["!="] = function(a, b) return a ~= b end,
  ["<"] = function(a, b) return a < b end,
  [">"] = function(a, b) return a > b end,
  ["<="] = function(a, b) return a <= b end,
  [">="] = function(a, b) return a >= b end,
}

local evaluate

-- The address in a pointer.
local function target_of(context, place)
  return place.number or layout.number(place.type, place.bytes or context.read(place.address, 8))
end

-- What a value of this type at an address is; `context.read(address, bytes)` gives its bytes or raises.
local function at_address(context, type, address)
  local value = { type = type, address = address }
  if type.kind == "void" then wrong "void has no value" end
  if type.bytes > 0 then value.bytes = context.read(address, type.bytes) end
  return value
end

-- Arrays are not read whole where one element is asked for.
local function place_of(context, tree)
  if tree.kind == "name" then
    local place = context.find(tree.name)
    if not place then wrong("there is no variable '%s' here", tree.name) end
    if place.missing then wrong("%s", place.missing) end
    if place.type.is_reference then return { type = place.type.element, address = target_of(context, place) } end
    return place
  elseif tree.kind == "index" then
    local of, index = place_of(context, tree.of), number_of(evaluate(context, tree.index))
    if index % 1 ~= 0 then wrong("an index is an integer, not %s", tostring(index)) end
    if of.type.kind ~= "array" and of.type.kind ~= "pointer" then wrong("a %s has no elements", of.type.name) end
    local base = of.address
    if of.type.kind == "pointer" then base = target_of(context, of) end
    local is_known = of.type.kind == "array" and of.type.count > 0
    if is_known and (index < 0 or index >= of.type.count) then
      wrong("index %d is outside of %s, which has %d elements", index, of.type.name, of.type.count)
    end
    return { type = of.type.element, address = base + index * of.type.element.bytes }
  elseif tree.kind == "member" then
    local of = place_of(context, tree.of)
    if of.type.kind == "pointer" then
      of = { type = of.type.element, address = target_of(context, of) }
    end
    for _, field in ipairs(of.type.fields or {}) do
      if field.name == tree.name then
        local bytes = of.bytes and of.bytes:sub(field.offset + 1, field.offset + field.type.bytes)
        return { type = field.type, address = of.address and of.address + field.offset, bytes = bytes }
      end
    end
    wrong("a %s has no member '%s'", of.type.name, tree.name)
  elseif tree.kind == "unary" and tree.operator == "*" then
    local of = place_of(context, tree.of)
    if of.type.kind == "array" then return { type = of.type.element, address = of.address } end
    if of.type.kind ~= "pointer" then wrong("a value of type %s is not a pointer", of.type.name) end
    return { type = of.type.element, address = target_of(context, of) }
  end
  return evaluate(context, tree)
end

local function evaluate_binary(context, tree)
  local word = tree.operator
  if word == "&&" or word == "||" then
    local left = M.is_true(evaluate(context, tree.left))
    if left == (word == "||") then return int(left and 1 or 0) end
    return int(M.is_true(evaluate(context, tree.right)) and 1 or 0)
  end
  if word == "@" then
    local place, count = place_of(context, tree.left), number_of(evaluate(context, tree.right))
    if not place.address or count < 1 then wrong "@ wants something in memory on its left and a number on its right" end
    local type = { kind = "array", element = place.type, count = count, bytes = count * place.type.bytes,
      name = ("%s[%d]"):format(place.type.name, count) }
    return at_address(context, type, place.address)
  end
  local left, right = evaluate(context, tree.left), evaluate(context, tree.right)
  local a, b = number_of(left), number_of(right)
  if COMPARISON[word] then return int(COMPARISON[word](a, b) and 1 or 0) end
  local element = left.type.element
  if element and (word == "+" or word == "-") then
    local pointer = left.type.kind == "pointer" and left.type or layout.pointer_to(element)
    local change = b * element.bytes
    return { type = pointer, number = word == "+" and a + change or a - change }
  end
  local type = common(left, right)
  return { type = type, number = wrapped(type, ARITHMETIC[word](a, b, type)) }
end

function evaluate(context, tree)
  if tree.kind == "number" then return { type = tree.is_float and DOUBLE or INT, number = tree.number } end
  if tree.kind == "choice" then
    return evaluate(context, M.is_true(evaluate(context, tree.condition)) and tree.yes or tree.no)
  end
  if tree.kind == "binary" then return evaluate_binary(context, tree) end
  if tree.kind == "unary" and tree.operator ~= "*" then
    if tree.operator == "&" then
      local place = place_of(context, tree.of)
      if not place.address then wrong "& wants something in memory" end
      return { type = layout.pointer_to(place.type), number = place.address }
    end
    local of = evaluate(context, tree.of)
    local number = number_of(of)
    if tree.operator == "!" then return int(number == 0 and 1 or 0) end
    if tree.operator == "~" then return int(-number - 1) end
    return { type = common(of, of), number = tree.operator == "-" and -number or number }
  end
  local place = place_of(context, tree)
  if place.bytes or place.number ~= nil or not place.address then return place end
  return at_address(context, place.type, place.address)
end

---The value of a parsed expression. `context` has find(name), which gives { type =, address = or bytes = or number = },
---or { missing = why it has no value now }, or nil, and read(address, bytes), which raises what is wrong.
---@return table value
function M.evaluate(context, tree) return evaluate(context, tree) end

---Where an expression's value is in memory, without reading it.
---@return table place { type =, address = }
function M.place(context, tree)
  local place = place_of(context, tree)
  if not place.address then wrong "that is not in memory" end
  return place
end

---A value as gdb prints it.
function M.text(value)
  if value.bytes then return layout.text(value.type, value.bytes) end
  if value.type.kind == "pointer" then return ("0x%x"):format(value.number) end
  if value.number == nil then return "{}" end
  return layout.number_text(value.type, value.number)
end

M.wrong = wrong

return M
