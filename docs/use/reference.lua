-- Writes docs/use/reference.md: every function, method and field, from the annotations
-- (lua/moonwarp/meta/annotations.lua).
--   make reference

local annotations = dofile "lua/moonwarp/meta/annotations.lua"
local split_type, signature = annotations.split_type, annotations.signature

-- ---- writing ----

local function escape(text) return (text:gsub("|", "\\|"):gsub("<", "&lt;")) end

local function write_entry(out, entry)
  out[#out + 1] = ("### `%s`"):format(signature(entry))
  out[#out + 1] = ""
  if #entry.text > 0 then
    out[#out + 1] = escape(table.concat(entry.text, "\n"))
    out[#out + 1] = ""
  end
  for _, param in ipairs(entry.params) do
    local kind, words = split_type(param.what)
    out[#out + 1] = ("- `%s`: `%s`%s"):format(param.name, kind, words ~= "" and ", " .. escape(words) or "")
  end
  for _, result in ipairs(entry.returns) do
    local kind, words = split_type(result.what)
    words = words:gsub("^%.%.%.$", "several"):gsub("^%.%.%. ", "")
    out[#out + 1] = ("- returns `%s`%s"):format(kind, words ~= "" and ": " .. escape(words) or "")
  end
  if #entry.params + #entry.returns > 0 then out[#out + 1] = "" end
end

-- Functions of which a sentence says all: a table of them; those whose sentence refers to a function, as a list.
local function write_brief(out, receiver, entries)
  if #entries == 0 then return end
  local same, rows = {}, {}
  for _, entry in ipairs(entries) do
    local text = table.concat(entry.text, " ")
    if text == ("See mw.%s."):format(entry.name) then
      same[#same + 1] = ("`%s`"):format(entry.name)
    else
      rows[#rows + 1] = ("| `%s` | %s |"):format(signature(entry), escape(text))
    end
  end
  table.sort(same)
  out[#out + 1] = receiver == "mw" and "### Functions of elements" or "### More methods"
  out[#out + 1] = ""
  if receiver == "mw" then
    out[#out + 1] = "They take arrays, whose shapes broadcast, and numbers, and return a new array; `{ out = y }` as\n"
      .. "the last argument is the array to write into instead. All are methods of arrays as well."
    out[#out + 1] = ""
  end
  out[#out + 1] = "| | |\n|---|---|"
  for _, row in ipairs(rows) do out[#out + 1] = row end
  out[#out + 1] = ""
  if #same > 0 then
    out[#out + 1] = "Functions of elements, as methods: `a:exp()` is `mw.exp(a)`."
    out[#out + 1] = ""
    local line = ""
    for _, name in ipairs(same) do
      if #line + #name > 118 then out[#out + 1], line = line, "" end
      line = line .. (line == "" and "" or " ") .. name
    end
    out[#out + 1] = line
    out[#out + 1] = ""
  end
end

local function write_class(out, class)
  for _, line in ipairs(class.text) do out[#out + 1] = escape(line) end
  out[#out + 1] = ""
  for _, overload in ipairs(class.overloads) do
    out[#out + 1] = ("Called: `%s`."):format(overload)
    out[#out + 1] = ""
  end
  if #class.fields > 0 then
    out[#out + 1] = "| field | type | |"
    out[#out + 1] = "|---|---|---|"
    for _, field in ipairs(class.fields) do
      local kind, words = split_type(field.what)
      out[#out + 1] = ("| `%s` | `%s` | %s |"):format(field.name, kind:gsub("|", "\\|"), escape(words))
    end
    out[#out + 1] = ""
  end
end

local function main()
  local out = {
    "# Reference", "",
    "Every function, method and field. `make reference` writes this page from the annotations in `lua/moonwarp/`.",
    "Square brackets mark optional arguments. [Arrays](../learn/arrays.md) shows operators, views and reductions.", "",
  }
  local receivers, aliases = annotations.read "lua/moonwarp/"
  out[#out + 1] = "## Types"
  out[#out + 1] = ""
  for _, alias in ipairs(aliases) do
    local name, what = alias.alias:match "^(%S+)%s+(.*)$"
    out[#out + 1] = ("- `%s`: `%s`. %s"):format(name, what, escape(table.concat(alias.text, "\n  ")))
  end
  out[#out + 1] = ""
  for _, receiver in ipairs(receivers) do
    out[#out + 1] = "## " .. receiver.name
    out[#out + 1] = ""
    if receiver.class then write_class(out, receiver.class) end
    local brief = {}
    for _, entry in ipairs(receiver.entries) do
      if entry.brief then
        brief[#brief + 1] = entry
      else
        write_entry(out, entry)
      end
    end
    write_brief(out, receiver.name, brief)
  end
  return (table.concat(out, "\n"):gsub("\n+$", "\n"))
end

return { read = function() return annotations.read "lua/moonwarp/" end, text = main }
