-- What compute capabilities have, as tables.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local errors = require "moonwarp.ffi.error"

local M = {}

local function numbers(list, count)
  local t = {}
  for i = 1, count do t[i] = tonumber(list[i - 1]) end
  return t
end

-- Field -> how many numbers it has; 0: it is one.
local textures = {
  texture_1d = 0, texture_1d_linear = 0, texture_1d_layered = 2, texture_2d = 2, texture_2d_linear = 2,
  texture_2d_gather = 2, texture_2d_layered = 3, texture_3d = 3, texture_cubemap = 0, texture_cubemap_layered = 2,
  textures = 0, surface_1d = 0, surface_1d_layered = 2, surface_2d = 2, surface_2d_layered = 3, surface_3d = 3,
  surface_cubemap = 0, surface_cubemap_layered = 2, surfaces = 0,
}

local fields = {
  major = 0, minor = 0, warps = 0, blocks = 0, registers = 0, shared = 0, threads_per_block = 0, max_block = 3,
  max_grid = 3, registers_per_block = 0, registers_per_thread = 0, shared_per_block = 0, shared_per_block_optin = 0,
  banks = 0, total_constant = 0, parameter_bytes = 0, local_bytes = 0, register_unit = 0, registers_by_block = 0,
  warp_unit = 0, shared_unit = 0, shared_reserved = 0,
}

local function read(facts, list)
  local t = {}
  for field, count in pairs(list) do
    t[field] = count == 0 and tonumber(facts[field]) or numbers(facts[field], count)
  end
  return t
end

function M.textures(facts) return read(facts, textures) end

local function table_of(facts)
  local t = read(facts, fields)
  t.textures = M.textures(facts.textures)
  return t
end

M.raw = {
  -- capabilities() -> all of them, in order
  capabilities = function()
    local list, facts = {}, ffi.new "mw_capability"
    while C.mw_capability_list(#list, facts) == 0 do list[#list + 1] = table_of(facts) end
    return list
  end,
  -- capability("1.1") -> its table
  capability = function(name)
    local facts = ffi.new "mw_capability"
    errors.must(C.mw_capability_find(name, facts))
    return table_of(facts)
  end,
}

return M
