-- Vector values: float4 and its like as tables of their components, {1, 2, 3, 4}, that answer to x, y, z and w too.
-- Complex numbers are {re, im} with a metatable of their own, whose functions lua/moonwarp/complex.lua has.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local errors = require "moonwarp.ffi.error"
local value = require "moonwarp.ffi.convert.value"

local M = {}

local vector_names = { "x", "y", "z", "w" }
local vector_places = { x = 1, y = 2, z = 3, w = 4 }
local complex_names, complex_places = { "re", "im" }, { re = 1, im = 2 }

-- Without this a fifth number or a misspelt name would pass unseen.
local function stranger(vector, count, known)
  for key in next, vector do
    local i = known[key] or value.whole(key)
    if not (i and i >= 1 and i <= count) then return key end
  end
  return nil
end

-- A number is a complex one too: its imaginary part is 0.
function M.pack_real(number, of, out, place)
  ffi.fill(out, tonumber(of.size))
  if value.pack_number(number, of.element, out) then return true end
  return value.refuse_number(number, of.element, place)
end

value.packers[value.VECTOR] = function(vector, of, out, place)
  local names, places = vector_names, vector_places
  if C.mw_type_is_complex(of) ~= 0 then
    if type(vector) == "number" then return M.pack_real(vector, of, out, place) end
    names, places = complex_names, complex_places
  end
  if type(vector) ~= "table" then return value.refuse(vector, of, place) end
  local count = tonumber(of.count)
  local key = stranger(vector, count, places)
  if key ~= nil then
    C.mw_value_refuse_key(of, type(key) == "string" and key or nil, value.place_text(place))
    return value.refused()
  end
  local size = tonumber(of.element.size)
  for i = 1, count do
    local component = rawget(vector, i)
    if component == nil then component = rawget(vector, names[i]) end
    if component == nil then
      C.mw_value_missing(of, names[i], value.place_text(place))
      return value.refused()
    end
    if not value.pack_number(component, of.element, out + (i - 1) * size) then
      return value.refuse_number(component, of.element, value.place(place, names[i]))
    end
  end
  return true
end

M.meta = {
  __index = function(vector, key)
    local i = vector_places[key]
    return i and rawget(vector, i)
  end,
  __newindex = function(vector, key, component)
    local i = vector_places[key]
    rawset(vector, i and i <= #vector and i or key, component)
  end,
  __tostring = function(vector)
    local list = {}
    for i = 1, #vector do list[i] = tostring(rawget(vector, i)) end
    return "(" .. table.concat(list, ", ") .. ")"
  end,
}

---Make a table of components a vector value.
---@param components table
---@return table
function M.set(components) return setmetatable(components, M.meta) end

---The metatable of complex numbers.
M.complex = {}

---Whether a value is a complex number.
---@param given any
---@return boolean
function M.is_complex(given) return type(given) == "table" and getmetatable(given) == M.complex end

value.pushers[value.VECTOR] = function(of, bytes)
  local size, components = tonumber(of.element.size), {}
  for i = 1, tonumber(of.count) do components[i] = value.push_number(of.element, bytes + (i - 1) * size) end
  return setmetatable(components, C.mw_type_is_complex(of) ~= 0 and M.complex or M.meta)
end

errors.vector.set = M.set

return M
