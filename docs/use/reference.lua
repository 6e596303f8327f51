-- Writes docs/use/reference.md: every function, method and field, from the annotations that editors read (LuaLS), which
-- stand above the functions in lua/moonwarp/ and, for what the bindings add, in lua/moonwarp/meta.lua.
--   make reference

local annotations = dofile "lua/moonwarp/annotations.lua"
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
    out[#out + 1] = ("- returns `%s`%s"):format(kind, words ~= "" and ": " .. escape(words) or "")
  end
  if #entry.params + #entry.returns > 0 then out[#out + 1] = "" end
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
    "Every function, method and field. `make reference` writes this page from the annotations in `lua/moonwarp/`. Square",
    "brackets mark optional arguments. [Arrays](../learn/arrays.md) describes operators, views and reductions of arrays.", "",
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
    for _, entry in ipairs(receiver.entries) do write_entry(out, entry) end
  end
  return (table.concat(out, "\n"):gsub("\n+$", "\n"))
end

return { read = function() return annotations.read "lua/moonwarp/" end, text = main }
