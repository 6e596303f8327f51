-- Numbers in text files: fields separated by commas, one line per row.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local bytes = require "moonwarp.array.files.bytes"
local promotion = require "moonwarp.array.promotion"

local usage = errors.usage
local fail = bytes.fail
local NAN = 0 / 0

local M = {}

local words = { [""] = NAN, NA = NAN, nan = NAN, NaN = NAN, NAN = NAN, ["N/A"] = NAN, null = NAN,
  inf = math.huge, ["-inf"] = -math.huge, Inf = math.huge, ["-Inf"] = -math.huge,
  ["true"] = 1, ["false"] = 0, True = 1, False = 0 }

-- The fields of a line. A field in quotes may contain the delimiter, and "" for a quote.
local function fields_of(path, line, delimiter, place)
  local list, at = {}, 1
  if not line:find('"', 1, true) then
    while true do
      local stop = line:find(delimiter, at, true)
      list[#list + 1] = line:sub(at, stop and stop - 1):match "^%s*(.-)%s*$"
      if not stop then return list end
      at = stop + 1
    end
  end
  while true do
    local start = line:match("^%s*()", at)
    if line:sub(start, start) == '"' then
      local text, doubled = {}
      at = start + 1
      repeat
        local stop = line:find('"', at, true)
        if not stop then fail(path, "line %d: a quote is not closed", place) end
        text[#text + 1] = line:sub(at, stop - 1)
        at = stop + 1
        doubled = line:sub(at, at) == '"'
        if doubled then
          text[#text + 1] = '"'
          at = at + 1
        end
      until not doubled
      list[#list + 1] = table.concat(text)
      local next_field = line:match("^%s*()", at)
      if next_field > #line then return list end
      if line:sub(next_field, next_field) ~= delimiter then
        fail(path, "line %d: text follows a closed quote", place)
      end
      at = next_field + 1
    else
      local stop = line:find(delimiter, at, true)
      list[#list + 1] = line:sub(at, stop and stop - 1):match "^%s*(.-)%s*$"
      if not stop then return list end
      at = stop + 1
    end
  end
end

local function value_of(path, field, line, column, names)
  local value = words[field]
  if value == nil and not field:find "^[-+]?0[xX]" then value = tonumber(field) or tonumber((field:gsub("^%+", ""))) end
  if value ~= nil then return value end
  local name = names and names[column] and (" (%s)"):format(names[column]) or ""
  return fail(path, "line %d, field %d%s: '%s' is not a number%s", line, column, name, field:sub(1, 40),
    not names and line == 1 and "; if the first line has names, write {header = true}" or "")
end

local function check_options(options)
  local delimiter = options.delimiter or ","
  if #delimiter ~= 1 or delimiter:find '["\n\r]' then
    usage("mw.read_csv: the delimiter is one character, got %s", raw.describe(delimiter))
  end
  local of = promotion.of(options.dtype or "float", "mw.read_csv")
  return delimiter, of, options.skip or 0
end

---Read numbers from a CSV file: an array of shape {lines, fields}. Empty fields and NA are NaN; a word is an error that
---names its line and field.
---@param path string
---@param options? { header?: boolean, delimiter?: string, dtype?: moonwarp.dtype, skip?: integer } header: the first
---line has names; skip: lines to leave out before it; "," and "float" by default
---@return moonwarp.array
---@return string[]? names with a header
function M.read_csv(path, options)
  options = options or {}
  local delimiter, of, skip = check_options(options)
  local text = raw.bytes_read(path):gsub("^\239\187\191", "")
  local values, names, width, rows, place = {}, nil, nil, 0, 0
  local count, tell = 0, raw.progress
  for at, line in text:gmatch "()([^\n]*)\n?" do
    place = place + 1
    if tell and place % 10000 == 0 then tell("reading " .. path, at, #text) end
    line = line:gsub("\r$", "")
    if place > skip and line:find "%S" then
      local fields = fields_of(path, line, delimiter, place)
      if width and #fields ~= width then
        fail(path, "line %d has %d fields, but the lines before it have %d", place, #fields, width)
      end
      width = #fields
      if options.header and not names then
        names = fields
      else
        rows = rows + 1
        for k = 1, width do
          local value = value_of(path, fields[k], place, k, names)
          if value ~= value and of.kind ~= "float" then
            fail(path, "line %d, field %d is empty, which only floating point can hold; leave out dtype = \"%s\"",
              place, k, of.name)
          end
          values[count + k] = value
        end
        count = count + width
      end
    end
  end
  if not width then fail(path, "no line has fields") end
  if rows == 0 then return raw.array_new(of.name, { 0, width }), names end
  return raw.array_from(values, of.name):reshape(rows, width), names
end

-- The shortest text that reads back as the same number: any number within 2^-25 of a float reads as that float.
local function text_of(value, of)
  if type(value) == "boolean" then return value and "1" or "0" end
  if of.kind ~= "float" then return (tostring(value):gsub("U?LL$", "")) end
  if value ~= value then return "nan" end
  if value == math.huge then return "inf" end
  if value == -math.huge then return "-inf" end
  local near = of.bits == 64 and 0 or math.abs(value) * 2 ^ -25
  for digits = of.bits == 64 and 15 or 6, 17 do
    local text = ("%%.%dg"):format(digits):format(value)
    if math.abs(tonumber(text) - value) <= near then return text end
  end
end

---Write an array of one or two dimensions as a CSV file, a line for each row.
---@param path string
---@param array moonwarp.array
---@param options? { header?: string[], delimiter?: string } header: names for the first line
function M.write_csv(path, array, options)
  options = options or {}
  if array.rank > 2 then usage("mw.write_csv wants one or two dimensions, got %d; see a:reshape", array.rank) end
  local of = promotion.of(array.dtype, "mw.write_csv")
  local delimiter, lines = options.delimiter or ",", {}
  local width = array.rank == 2 and array.shape[2] or 1
  if options.header then
    if #options.header ~= width then
      usage("mw.write_csv: %d names for %d columns", #options.header, width)
    end
    local quoted = {}
    for k, name in ipairs(options.header) do
      name = tostring(name)
      quoted[k] = name:find('[%s"' .. "%" .. delimiter .. "]") and '"' .. name:gsub('"', '""') .. '"' or name
    end
    lines[1] = table.concat(quoted, delimiter)
  end
  local values = array.count > 0 and array:contiguous():reshape(-1):totable() or {}
  for first = 1, #values, width do
    local row = {}
    for k = 1, width do row[k] = text_of(values[first + k - 1], of) end
    lines[#lines + 1] = table.concat(row, delimiter)
  end
  lines[#lines + 1] = ""
  raw.bytes_write(path, table.concat(lines, "\n"))
end

return M
