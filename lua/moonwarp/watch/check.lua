-- Checked runs: mw.check, and races that are meant.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local reports = require "moonwarp.watch.report"

local M = { public = {} }

local bits = { memory = 1, races = 2, barriers = 4, initialisation = 8 }
local allowed = {}

-- What raw.check_begin takes for `checks`.
function M.bits_of(kinds)
  if kinds == nil or kinds == "all" then return 15 end
  local sum = 0
  for _, kind in ipairs(type(kinds) == "table" and kinds or { kinds }) do
    if not bits[kind] then
      errors.usage('checks wants "all", or some of "memory", "races", "barriers" and "initialisation"; got %s',
        tostring(kind))
    end
    sum = sum + bits[kind]
  end
  return sum
end

-- The seed of `options`; 0: threads take turns in order.
local function seed_of(options)
  local schedule, seed = options.schedule, options.seed
  if schedule ~= nil and schedule ~= "random" then
    errors.usage('schedule wants "random", got %s', raw.describe(schedule))
  end
  if seed ~= nil and not (schedule and type(seed) == "number" and seed >= 1 and seed < 2 ^ 53 and seed % 1 == 0) then
    errors.usage('seed wants a whole number from 1, with schedule = "random"; got %s', raw.describe(seed))
  end
  if schedule and math.floor(M.bits_of(options.checks) / bits.races) % 2 == 0 then
    errors.usage('schedule = "random" wants "races" among the checks: threads take turns where these look')
  end
  return schedule and (seed or 1) or 0
end

local function is_at(place, finding) return place and place.line == finding.line and place.file == finding.file end

-- Whether a value was not there yet because of a race, which is another finding.
local function is_late(finding, found)
  if finding.kind ~= "uninitialised" then return false end
  for _, race in ipairs(found) do
    if race.kind == "race" and (is_at(race, finding) or is_at(race.other, finding)) then return true end
  end
  return false
end

-- Ends the run of a device: the function may have left another in use, as a context of the driver API does.
local function end_on(device)
  local name = raw.device().name
  if name == device.name then return raw.check_end() end
  raw.use(device.name)
  local ended, found = pcall(raw.check_end)
  raw.use(name)
  if not ended then error(found, 0) end
  return found
end

---A finding of a checked run. file, line, thread, block, access and kernel are of one access, other has those of the
---second one of a race; indices are from 0, as in CUDA C.
---@class moonwarp.finding
---@field kind string "out_of_bounds", "misaligned", "use_after_free", "invalid_free", "leak", "race",
---"uninitialised", "barrier_divergence", "warp_mask"
---@field kernel? string
---@field file? string
---@field line? integer
---@field access? "read"|"write"|"atomic"
---@field thread? integer[]
---@field block? integer[]
---@field array? string its name in the kernel
---@field index? integer of the element
---@field count integer how often it was found at these lines
---@field hint? string
---@field scope? "warp"|"block"|"grid"|"launches" of a race: the threads that nothing orders
---@field other? table

---Call a function, and check every launch of a kernel in it: accesses outside of arrays, races, divergent barriers,
---wrong warp masks, freed memory, values that nothing has written. Kernels compiled before are checked as well. What is
---found is in the report, and no launch fails because of it; a launch ends at an access that is out of bounds. The run
---is of the device in use when it begins. What that device cannot check, and launches on others, are listed in
---`report.unchecked`, and by tostring. A reset of the device keeps what was found before.
---With schedule = "random", on the CPU device, the threads of a block, the blocks of a launch, and streams that nothing
---orders run in a random order, so that a race shows the results that it can have: run it with several seeds and
---compare. Equal seeds give equal orders.
---@param f fun()
---@param options? { checks?: string|string[], schedule?: "random", seed?: integer } checks: "all", or some of "memory",
---"races", "barriers", "initialisation"; seed: from 1 on, 1 unless given
---@return moonwarp.report findings in the order in which they were found; #report is 0 if there are none
function M.public.check(f, options)
  options = options or {}
  raw.check_begin(M.bits_of(options.checks), seed_of(options))
  local device = raw.device()
  local ok, err = pcall(f)
  local ended, found = pcall(end_on, device)
  if not ok then error(err, 0) end
  if not ended then error(found, 0) end
  local kept = { unchecked = {} }
  for _, finding in ipairs(found) do
    local meant = finding.kind == "race" and allowed[finding.array]
    if not meant and not is_late(finding, found) then kept[#kept + 1] = finding end
  end
  for line in found.unchecked:gmatch "[^\n]+" do kept.unchecked[#kept.unchecked + 1] = line end
  return reports.new(kept)
end

---Races on arrays of these names, in kernels, are intended: mw.check leaves them out from now on.
---@param ... string names of arrays, variables or parameters in kernels; none: no race is intended any more
function M.public.allow_race(...)
  if select("#", ...) == 0 then allowed = {} end
  for i = 1, select("#", ...) do
    local name = select(i, ...)
    if type(name) ~= "string" then
      errors.usage("mw.allow_race wants names of arrays as strings, got %s", raw.describe(name))
    end
    allowed[name] = true
  end
end

return M
