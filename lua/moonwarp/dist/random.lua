-- Random numbers of distributed arrays: those that one machine draws for the whole array. Each rank jumps to its rows
-- of the generator's stream, and at the end every rank's generator stands after the whole array.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local layouts = require "moonwarp.dist.layout"
local arrays = require "moonwarp.dist.array"

local usage = errors.usage
local M = {}

-- Kinds whose words are not the numbers in order, for all that takes more than a word each: these are drawn from the
-- beginning, and what other ranks have is dropped.
local mixed = { xorwow = true, mrg32k3a = true, sobol32 = true, sobol64 = true, scrambled_sobol32 = true,
  scrambled_sobol64 = true }
local PIECE = 2 ^ 20

local function can_jump(generator, name, options)
  if not mixed[generator.kind] then return true end
  if generator.kind:find "sobol" then return false end
  return name == "bits" or name == "uniform" and not (options and options.dtype == "double")
end

-- Draw numbers `first` to `first + count - 1` (from 0) of `total`, and drop the others.
local function draw_part(generator, name, options, first, count, total)
  local pieces = {}
  if can_jump(generator, name, options) then
    generator:jump(first)
    pieces[1] = count > 0 and generator[name](generator, count, options) or nil
    generator:jump(total - first - count)
    return pieces
  end
  for at = 0, total - 1, PIECE do
    local drawn = generator[name](generator, math.min(PIECE, total - at), options)
    local from, to = math.max(first, at), math.min(first + count, at + #drawn)
    if to > from then pieces[#pieces + 1] = drawn:sub(from - at + 1, to - at):copy() end
  end
  return pieces
end

---Draw an array by a method of the generator.
---@param name string "uniform"
---@param layout moonwarp.layout
---@param generator table all ranks have one of the same state
---@param options? table
function M.draw(name, layout, generator, options)
  if not layouts.is(layout) then usage("mw.dist.%s wants a layout, got %s", name, raw.describe(layout)) end
  if type(generator) ~= "table" or not generator.jump then
    usage("mw.dist.%s wants a generator, mw.random(seed), got %s", name, raw.describe(generator))
  end
  local rows = layouts.new(layout.comm, layout.shape)
  local shape, per_row, total = rows:part_shape(), 1, 1
  for d, n in ipairs(layout.shape) do
    total = total * n
    if d > 1 then per_row = per_row * n end
  end
  local run = rows:runs()[1][1]
  local first = run and (run.global - 1) * per_row or 0
  local count = run and run.count * per_row or 0
  local pieces = draw_part(generator, name, options, first, count, total)
  local part
  if #pieces > 1 then
    part = raw.part("array.joining").concat(pieces):reshape(shape)
  elseif pieces[1] then
    part = pieces[1]:reshape(shape)
  else
    local dtype = name == "bits" and (generator.kind:find "64" and "ulonglong" or "uint") or options and options.dtype
    part = raw.array_new(dtype, shape)
  end
  local d = arrays.new(rows, part)
  return layout:equals(rows) and d or d:redistribute(layout)
end

return M
