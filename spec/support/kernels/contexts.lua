-- The context of a random statement: the variables that it may use, and the phases of shared arrays (statements.lua).

local E = require "support.kernels.expressions"

-- A context with some fields changed.
local function inside(c, changes) return setmetatable(changes, { __index = c }) end

local function fresh(c, t, prefix)
  local k = c.kernel
  k.names = k.names + 1
  local v = { name = (prefix or "v") .. k.names, t = t }
  table.insert(c.frame, v)
  return v
end

local function with(list, more)
  local all = { table.unpack(list) }
  for _, v in ipairs(more) do all[#all + 1] = v end
  return all
end

local function value_for(c, t, depth) return t.integer and E.integer(c, depth) or E.floating(c, depth) end

local function remember(c)
  local phases = {}
  for _, array in ipairs(c.shared) do phases[array] = { array.phase, array.own, array.op } end
  return phases
end

local function restore(c, phases)
  for _, array in ipairs(c.shared) do array.phase, array.own, array.op = table.unpack(phases[array]) end
end

local function differs(c, phases)
  for _, array in ipairs(c.shared) do
    if array.phase ~= phases[array][1] or array.own ~= phases[array][2] then return true end
  end
end

return { inside = inside, fresh = fresh, with = with, value_for = value_for, remember = remember, restore = restore,
  differs = differs }
