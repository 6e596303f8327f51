-- Grids of few blocks compared with grids of many: the ratio of times for the same work, which should be 1.00x.

local mw = require "moonwarp"
local measure = require "bench.measure"
local problems = require "bench.problems.problems"
local sheet = require "bench.sheet"

local ROUNDS, WARM = 15, 300

local grids = {}

-- Milliseconds of a launch, and of one of many blocks with `times` as much work, and the ratio of times for equal work.
local function row(report, what, run, many, times)
  for _ = 1, WARM do run() end
  many()
  local few, all = measure.best_of_each(ROUNDS, { run, many })
  report:add(what, ("%.3f ms"):format(few * 1e3), ("%.3f ms"):format(all / times * 1e3),
    ("%.2fx"):format(few * times / all))
end

local function loops(report, module)
  local n = 2 ^ 22
  local x, y = mw.ones(n), mw.zeros(n)
  local many = module.axpy(n // 256, 256):bind(n, 0.5, x, y)
  row(report, "y = a x + y, the only block's loop", module.axpy_alone(1, 256):bind(n, 0.5, x, y), many, 1)
  for _, blocks in ipairs { 1, 3, 8, 64 } do
    row(report, ("y = a x + y, loop over %d block%s"):format(blocks, blocks > 1 and "s" or ""),
      module.axpy(blocks, 256):bind(n, 0.5, x, y), many, 1)
  end
end

local function blocks(report, module)
  local many = 64
  local y, from = mw.zeros(many * 1024), mw.ones(many * 512):as("float2")
  local all = module.orbit(many, 1024):bind(2000, y)
  for _, few in ipairs { 1, 3 } do
    row(report, ("orbits, %d of 64 blocks of 1024"):format(few), module.orbit(few, 1024):bind(2000, y), all, many / few)
  end
  all = module.force(many, 256):bind(many * 256, from, y)
  for _, few in ipairs { 3, 5 } do
    row(report, ("forces by lines, %d of 64 blocks of 256"):format(few),
      module.force(few, 256):bind(many * 256, from, y), all, many / few)
  end
end

function grids.print()
  local report = sheet.new("what", "moonwarp", "as in many blocks", "longer")
  local module = problems.compile "grids"
  loops(report, module)
  blocks(report, module)
  report:print()
end

return grids
