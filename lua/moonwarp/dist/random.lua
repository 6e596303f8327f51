-- Random numbers of distributed arrays: those that one machine draws for the whole array. Each rank jumps to its rows
-- of the generator's stream, and at the end every rank's generator stands after the whole array.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local layouts = require "moonwarp.dist.layout"
local arrays = require "moonwarp.dist.array"

local usage = errors.usage
local M = {}

local UNIT = 4 -- numbers that some kinds make at a time: a rank begins and ends at whole ones

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
  local start = first - first % UNIT
  local part
  if count > 0 then
    generator:jump(start)
    local wanted = count + first - start
    local drawn = math.min(wanted + (-wanted) % UNIT, total - start)
    local all = generator[name](generator, drawn, options)
    part = all:sub(first - start + 1, first - start + count):copy():reshape(shape)
    generator:jump(total - start - drawn)
  else
    local none = generator[name](generator, math.min(UNIT, total), options) -- for the dtype
    part = raw.array_new(none.dtype, shape)
    generator:jump(total - math.min(UNIT, total))
  end
  local d = arrays.new(rows, part)
  return layout:equals(rows) and d or d:redistribute(layout)
end

return M
