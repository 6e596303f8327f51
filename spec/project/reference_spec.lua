-- The reference: it is generated from the annotations, complete, and everything in it exists.

local mw = require "moonwarp"
for _, part in ipairs { "graph", "texture.texture", "texture.opengl" } do require("moonwarp." .. part) end
local raw = require "moonwarp.binding"
local later = package.loaded["moonwarp.ffi.lazy_loading"] -- what LuaJIT's binding has not read yet
if later then later.all() end
assert(mw.exp) -- the first name of array functions reads them all
local reference = dofile "docs/use/reference.lua"

-- receiver -> set of the names that are documented
local function documented()
  local names = {}
  for _, receiver in ipairs(reference.read()) do
    local set = {}
    for _, entry in ipairs(receiver.entries) do set[entry.name] = true end
    for _, field in ipairs(receiver.class and receiver.class.fields or {}) do set[field.name] = true end
    names[receiver.name] = set
  end
  return names
end

-- What LuaLS calls a class, where it is not the binding's own word.
local class_names = { dtype = "struct" }

-- What the Lua layer alone calls.
local internal = { ["texture.describe"] = true, ["texture.configure"] = true, ["cuda_array.describe"] = true,
  ["graphics.array"] = true, ["graphics.pointer"] = true, ["graphics.set_flags"] = true }

describe("the reference", function()
  local names = documented()

  it("agrees with its sources: make reference writes it", function()
    local file = assert(io.open "docs/use/reference.md")
    local text = file:read "*a"
    file:close()
    assert.equal(reference.text() .. "\n", text)
  end)

  it("has every function of moonwarp", function()
    local missing = {}
    for name in pairs(mw) do
      if not names.mw[name] then missing[#missing + 1] = name end
    end
    table.sort(missing)
    assert.same({}, missing)
  end)

  it("has every method and property of every class", function()
    local missing = {}
    for class, methods in pairs(raw.classes) do
      local set = names[class_names[class] or class] or {}
      for _, list in ipairs { methods, raw.properties[class] } do
        for name in pairs(list) do
          local whole = class .. "." .. name
          if not name:find "^__" and not set[name] and not internal[whole] then missing[#missing + 1] = whole end
        end
      end
    end
    table.sort(missing)
    assert.same({}, missing)
  end)

  it("has nothing that there is not", function()
    local wrong = {}
    for name in pairs(names.mw) do
      -- The type, as mw.null equals nil with the FFI.
      if type(mw[name]) == "nil" then wrong[#wrong + 1] = "mw." .. name end
    end
    for class, methods in pairs(raw.classes) do
      for name in pairs(names[class_names[class] or class] or {}) do
        if name:find "^%a" and methods[name] == nil and raw.properties[class][name] == nil then
          wrong[#wrong + 1] = class .. "." .. name
        end
      end
    end
    table.sort(wrong)
    assert.same({}, wrong)
  end)

  it("continues parameters over several lines, distinguishes values from functions, and explains type names", function()
    local text = dofile("docs/use/reference.lua").text()
    for _, name in ipairs { "version", "binding", "null", "cache" } do
      assert.truthy(text:find("### `mw." .. name .. "`\n", 1, true), name)
    end
    assert.truthy(text:find("### `mw.poll()`\n", 1, true))
    assert.matches("\n%- `data`: `table|string|[^\n]* nested table, raw bytes, or memory to copy; undefined by "
      .. "default\n", text)
    assert.matches("\n%- `spec`: `{ kind%?: string,[^`\n]* levels%?: integer }`, kind: [^\n]* six a layer\n", text)
    assert.matches("\n## mpi_communicator\n\nA group of processes; [^\n]*%.\n", text)
    assert.matches("\n## error\n\nWhat a function raises when it fails%.\n", text)
    assert.truthy(text:find("### `graph:copy(after, target, source)`\n", 1, true))
    for _, alias in ipairs { "dtype", "vector", "size" } do
      assert.matches("\n%- `moonwarp%." .. alias .. "`: `[^`]+`%. %u", text)
    end
    local graph = text:match "\n## graph\n(.-)\n## "
    assert.matches("^\nWork that is described once", graph)
  end)
end)
