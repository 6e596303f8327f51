-- mw.map: functions of elements written as CUDA C expressions or statements, "a*x + y".
--
-- The names in the text become operands, depending on the values given for them. An array is read element by element,
-- or as a whole if the text indexes it (w[k]); a number is the same for all elements. Names that the text assigns are
-- its outputs. Each combination of dtypes has one function of elements.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local accumulators = require "moonwarp.array.accumulators"
local kernels = require "moonwarp.array.kernels"
local promotion = require "moonwarp.array.promotion"

local usage = errors.usage

local M = {}

-- ---- reading the text ----

local words = {}
for word in ([[i auto bool break case char const continue default do double else false float for half if int long return
  short signed sizeof static struct switch true typedef unsigned void volatile while INFINITY NAN M_PI threadIdx
  blockIdx blockDim gridDim uchar ushort uint longlong ulonglong size_t int8_t int16_t int32_t int64_t uint8_t uint16_t
  uint32_t uint64_t __half __nv_bfloat16]]):gmatch "%S+" do
  words[word] = true
end

-- The text's tokens: names, numbers, and everything else as single characters, without blanks and comments.
local function tokens_of(text)
  local list = {}
  text = text:gsub("//[^\n]*", " "):gsub("/%*.-%*/", " ")
  local at = 1
  while true do
    at = text:find("%S", at)
    if not at then return list end
    local token = text:match("^[%a_][%w_]*", at) or text:match("^%.?%d[%w%.]*", at) or text:match("^[=!<>]=", at)
      or text:sub(at, at)
    list[#list + 1] = token
    at = at + #token
  end
end

local function is_name(token) return token and token:find "^[%a_]" ~= nil and not words[token] end
local begins = { [";"] = true, ["{"] = true, ["}"] = true, [")"] = true, ["else"] = true }

-- What a text contains: its names in order, which of them are indexed, which it assigns, and whether it is one
-- expression.
local function read(text)
  local said = { names = {}, indexed = {}, outputs = {}, uses_index = false, calls = false }
  local tokens, known, declared = tokens_of(text), {}, {}
  for k, token in ipairs(tokens) do
    local before, after = tokens[k - 1], tokens[k + 1]
    if token == "i" then said.uses_index = true end
    if is_name(token) and before ~= "." and not (before == ">" and tokens[k - 2] == "-") then
      local typed = before and before:find "^[%a_]" and before ~= "return" and before ~= "else"
      if after == "(" then
        said.calls = true
      elseif is_name(after) or after == "{" then
        known[token] = true -- a type
      elseif typed then
        declared[token] = true
      elseif not declared[token] then
        if after == "=" and (before == nil or begins[before]) and not known["=" .. token] then
          known["=" .. token] = true
          said.outputs[#said.outputs + 1] = token
        end
        if not known[token] then
          known[token] = true
          said.names[#said.names + 1] = token
        end
        if after == "[" then said.indexed[token] = true end
      end
    end
  end
  said.is_expression = #said.outputs == 0 and not text:find ";"
  -- Sums, differences and products have the operands' common dtype, so the compiler is not needed to find it.
  said.is_plain = said.is_expression and not said.calls and not text:find "[^%w_%s%+%-%*%(%)%.]"
  return said
end

-- ---- the functions of elements ----

-- Floating point without a suffix is double in CUDA C; here it takes the arrays' type, as a Lua number does.
local function with_suffixes(text)
  text = (" " .. text):gsub("([^%w_%.])(%d*%.%d*[eE][%+%-]?%d+)%f[^%w_%.]", "%1%2f")
    :gsub("([^%w_%.])(%d+[eE][%+%-]?%d+)%f[^%w_%.]", "%1%2f"):gsub("([^%w_%.])(%d+%.%d*)%f[^%w_%.]", "%1%2f")
    :gsub("([^%w_%.])(%.%d+)%f[^%w_%.]", "%1%2f")
  return text:sub(2)
end

-- The type of an element's variable: float for half precision, a type with operators for complex numbers.
local function variable_type(dtype)
  if dtype == "half" or dtype == "bfloat16" then return "float" end
  if promotion.complex(dtype) then return promotion.complex(dtype).compute end
  return accumulators.spelling(dtype)
end

local probe = [[
#include <moonwarp/algorithms/dtype_number.h>
$PREAMBLE
// kernels
extern "C" __global__ void describe(int *out_) { // what is computed does not matter
  long long i = 0;
  $VARIABLES
  $TEXT;
  $RESULTS
}
]]

local numbers = accumulators.NUMBERS

-- The dtypes of the results `names`, which the compiler determines; all other names are in lists of operands.
local function probed(self, lists, names, text)
  local variables, results, types, dtypes_of = {}, {}, {}, {}
  for _, operands in ipairs(lists) do
    for _, operand in ipairs(operands) do
      local declared = operand.kind == "whole" and "const %s *%s = (const %s *)out_;" or "%s %s = {};"
      types[#types + 1], dtypes_of[#types + 1] = operand.C, operand.dtype
      variables[#variables + 1] = declared:format(operand.C, operand.name, operand.C)
    end
  end
  for k, name in ipairs(names) do
    text = (" " .. text):gsub("([^%w_])(" .. name .. "%s*=[^=])", "%1auto %2", 1):sub(2)
    local number = ("moonwarp::dtype_number<decltype(%s)>::value"):format(name)
    local others = {} -- vectors and structs: the type of which operand it is
    for at, of in ipairs(types) do
      others[at] = ("moonwarp::is_type<decltype(%s), %s>::value ? %d : "):format(name, of, #numbers + at)
    end
    results[k] = ("out_[%d] = %s ? %s : %s0;"):format(k - 1, number, number, table.concat(others))
  end
  local fields = { PREAMBLE = self.preamble, VARIABLES = table.concat(variables, " "), TEXT = text,
    RESULTS = table.concat(results, "\n  ") }
  local device = self.device
  local out = kernels.empty(device, "int", { 1024 }):fill(0)
  kernels.module((probe:gsub("%$(%u+)", fields)), "mw.map", self.more)(device).describe(1, 1)(out)
  local dtypes = out:sub(1, #names):totable()
  for k, number in ipairs(dtypes) do
    dtypes[k] = numbers[number] or dtypes_of[number - #numbers]
      or usage("mw.map: the type of %s is not numeric; give out = …, or a dtype", names[k])
  end
  return dtypes
end

-- The common dtype of the arrays and numbers, if they are numeric.
local function together(operands)
  local dtype
  for _, operand in ipairs(operands) do
    if operand.kind ~= "scalar" and promotion.is_numeric(operand.dtype) then
      dtype = dtype and promotion.promote(dtype, operand.dtype) or operand.dtype
    end
  end
  return dtype
end

-- The operands for the given values, in the text's order: each has name, kind, dtype and C.
local function operands_of(self, given)
  local list, said = {}, self.said
  local used = {}
  for _, name in ipairs(said.names) do
    local value = given[name]
    used[name] = true
    if value == nil and self.is_closed and not self.assigns[name] then
      usage("mw.map: %s is not given, in %q", name, self.text)
    elseif value ~= nil then
      local kind = raw.type(value) == "array" and (said.indexed[name] and "whole" or "in") or "scalar"
      list[#list + 1] = { name = name, kind = kind, value = value, dtype = kind ~= "scalar" and value.dtype or nil }
    end
  end
  for name in pairs(given) do
    if not used[name] then usage("mw.map: the name %s is not in %q", tostring(name), self.text) end
  end
  local common = together(list)
  if not common and #list > 0 and list[1].kind == "scalar" then
    usage("mw.map wants at least one array, which determines the number of elements")
  end
  for _, operand in ipairs(list) do
    if operand.kind == "scalar" then
      if type(operand.value) ~= "number" and type(operand.value) ~= "boolean" then
        usage("mw.map: %s is an array, a number or a boolean, got %s", operand.name, raw.describe(operand.value))
      end
      operand.dtype = type(operand.value) == "boolean" and "bool"
        or promotion.promote_number(common or "double", operand.value)
    end
    accumulators.check_declared("mw.map", operand.dtype, not self.is_closed)
    operand.C = operand.kind == "whole" and accumulators.spelling(operand.dtype) or variable_type(operand.dtype)
  end
  return list, common
end

-- The function of elements for operands, with the arrays that it writes.
local function make(self, operands, common, wanted)
  local said, text = self.said, self.text
  local names, given = said.outputs, {}
  local is_float = common and promotion.of(common, "mw.map").kind == "float" and common ~= "double"
  if is_float then text = with_suffixes(text) end
  if said.is_expression then names, text = { "result" }, "result = (" .. text .. ")" end
  for _, operand in ipairs(operands) do given[operand.name] = operand end
  local asked, dtypes, others = {}, {}, {}
  local plain = said.is_plain and (is_float or common == "double" or not text:find "%.") and common
  for _, operand in ipairs(plain and operands or {}) do
    if promotion.complex(operand.dtype) then plain = nil break end -- the compiler knows
    if operand.kind == "scalar" then plain = promotion.promote(plain, operand.dtype) end
  end
  for _, name in ipairs(names) do
    dtypes[name] = wanted[name] or given[name] and given[name].dtype or plain
    if not dtypes[name] then
      asked[#asked + 1] = name
    elseif not given[name] then
      others[#others + 1] = { name = name, kind = "in", C = variable_type(dtypes[name]) }
    end
  end
  if #asked > 0 then
    for k, dtype in ipairs(probed(self, { operands, others }, asked, text)) do
      local narrow = dtype == "float" and (common == "half" or common == "bfloat16")
      dtypes[asked[k]] = narrow and common or dtype
    end
  end
  local list, before, after = {}, {}, {}
  for _, name in ipairs(names) do
    list[#list + 1] = { name .. "_element", "out", dtypes[name] }
    local initial = given[name] and (" = (%s)%s_before"):format(variable_type(dtypes[name]), name) or ""
    before[#before + 1] = ("%s %s%s; "):format(variable_type(dtypes[name]), name, initial)
    after[#after + 1] = ("\n  %s_element = (%s)%s;"):format(name, accumulators.spelling(dtypes[name]), name)
  end
  for _, operand in ipairs(operands) do
    local is_output = dtypes[operand.name] ~= nil
    if operand.kind == "in" then
      local element = operand.name .. (is_output and "_before" or "_element")
      list[#list + 1] = { element, "in", operand.dtype }
      if not is_output then
        before[#before + 1] = ("const %s %s = (%s)%s; "):format(operand.C, operand.name, operand.C, element)
      end
    else
      list[#list + 1] = { operand.name, operand.kind, operand.dtype }
    end
  end
  local body = table.concat(before) .. text .. ";" .. table.concat(after)
  local f = raw.elementwise_new { name = "map", preamble = self.preamble, body = body, index = said.uses_index,
    file = self.file, line = self.line, options = self.more.options, operands = list }
  return { f = f, outputs = names }
end

-- ---- the object ----

local methods = {}
local Map = { __index = methods }

local function outs_of(self, given, options)
  local out, outs = options.out, {}
  if raw.type(out) == "array" then
    outs[self.said.is_expression and "result" or self.said.outputs[1]] = out
  elseif out ~= nil then
    for name, operand in pairs(out) do outs[name] = operand end
  end
  for _, name in ipairs(self.said.outputs) do
    if raw.type(given[name]) == "array" then outs[name] = given[name] end
  end
  for name, operand in pairs(outs) do
    if raw.type(operand) ~= "array" then
      usage("mw.map: out is the array to write into, got %s", raw.describe(operand))
    end
    if not (self.assigns[name] or name == "result" and self.said.is_expression) then
      usage("mw.map: %q does not assign %s", self.text, name)
    end
  end
  return outs
end

local function run(self, given, options)
  local operands, common = operands_of(self, given)
  local outs, wanted, key = outs_of(self, given, options), {}, {}
  for _, name in ipairs(self.said.is_expression and { "result" } or self.said.outputs) do
    wanted[name] = outs[name] and outs[name].dtype or options.dtype
    key[#key + 1] = tostring(wanted[name])
  end
  local device
  for k, operand in ipairs(operands) do
    key[#key + 1] = operand.name .. ":" .. operand.kind .. ":" .. tostring(operand.dtype)
    if operand.kind ~= "scalar" then device = device or operand.value.device end
    if operand.kind == "whole" then operands[k].value = operand.value:contiguous() end
  end
  for _, operand in pairs(outs) do device = device or operand.device end
  if not device then usage("mw.map wants at least one array, which determines the number of elements") end
  key = device.name .. " " .. table.concat(key, " ")
  local made = self.made[key]
  if not made then
    self.device = device
    made = kernels.on(device, make, self, operands, common, wanted)
    self.made[key] = made
  end
  self.last = made
  local values, count = {}, #made.outputs
  for k, name in ipairs(made.outputs) do values[k] = outs[name] end
  for k, operand in ipairs(operands) do values[count + k] = operand.value end
  local results = { raw.elementwise_run(made.f, (table.unpack or unpack)(values, 1, count + #operands)) }
  local at = 0
  for k = 1, count do
    if values[k] == nil then
      at = at + 1
      values[k] = results[at]
    end
  end
  return (table.unpack or unpack)(values, 1, count)
end

-- Called with a table of names, or with values in the order in which the names first occur in the text.
function Map:__call(first, ...)
  if type(first) == "table" and raw.type(first) == nil then return run(self, first, (...) or {}) end
  local given, values, inputs = {}, { first, ... }, {}
  for _, name in ipairs(self.said.names) do
    if not self.assigns[name] then inputs[#inputs + 1] = name end
  end
  for k, name in ipairs(inputs) do
    if values[k] == nil then usage("mw.map: %q wants %s, got %d", self.text, table.concat(inputs, ", "), #values) end
    given[name] = values[k]
  end
  return run(self, given, values[#inputs + 1] or {})
end

function Map:__tostring() return ("mw.map %q"):format(self.text) end

-- The CUDA C of the kernel that ran last, in its form for contiguous arrays.
function methods:source()
  if not self.last then usage "f:source() shows the kernel that ran last: call f first" end
  return raw.elementwise_text(self.last.f)
end

local function new(text, options)
  local preamble, more = accumulators.preamble_of("mw.map", options)
  local file, line = raw.part("diagnostics.source").locate(text)
  local said, assigns = read(text), {}
  for _, name in ipairs(said.outputs) do assigns[name] = true end
  -- Without a preamble, every name must be given.
  return setmetatable({ text = text, said = said, assigns = assigns, is_closed = preamble == nil,
    preamble = preamble or "", more = more, made = {}, file = file, line = line }, Map)
end

local maps = {}

---A function of elements made from CUDA C: an expression, "a*x + y", or statements that assign the results,
---"u = x + y; v = x - y". With arguments it runs at once. Without, it returns a function that takes them by name or in
---the order of the names: f { x = x, y = y }, f(x, y). Arrays are read element by element, and broadcast; an array that
---the text indexes, w[k], is available as a whole, indexed from 0. Numbers are the same for all elements. i is the
---element's position in row order, unsigned and from 0. An array that the text assigns is written in place. f:source()
---returns the CUDA C that runs.
---@param text string|table CUDA C; or { text, module = m, preamble = "…" }: where functions and structs come from
---@param arguments? table<string, moonwarp.array|number|boolean> by name
---@param options? { out?: moonwarp.array|table<string, moonwarp.array>, dtype?: string|moonwarp.dtype } the arrays to
---write into, by name if there are several; the results' dtype
---@return any the results, or the function
function M.map(text, arguments, options)
  local f
  if type(text) == "table" then
    if type(text[1]) ~= "string" then usage("mw.map { text, … } wants CUDA C first, got %s", raw.describe(text[1])) end
    f = new(text[1], text)
  else
    f = maps[text] or new(text, {})
    maps[text] = f
  end
  if arguments == nil then return f end
  return run(f, arguments, options or {})
end

return M
