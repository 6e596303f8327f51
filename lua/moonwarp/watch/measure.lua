-- Measured runs: one launch, run with the watcher "counters" (src/cpu/watch/counters.c, src/cuda/measure), and its
-- counts by site, by source line and in total, with Nsight Compute's names where they mean the same.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local figures = require "moonwarp.watch.figures"

local M = {}

---A measured run (mw.measure).
---@class moonwarp.measured
---@field total table<string, number> the launch's figures: global_load_sectors, bank_conflicts, divergent_branches, …
---@field lines table<integer, table<string, number>> the same, by line of the kernel's source
---@field ncu table<string, number> by Nsight Compute's names
---@field occupancy { blocks: integer, warps: integer, occupancy: number, limited_by: string }
local measured = {}
measured.__index = measured

-- ---- what the watcher says ----

local site_fields = { "number", "kind", "space", "bytes", "detail", "line", "column", "outer_line", "file",
  "outer_file", "name", "kernel" }
local count_fields = { "executed", "lanes", "full", "divergent", "requests", "sectors", "ideal", "wavefronts", "least",
  "lane_bytes", "used", "collisions", "moved", "issued", "rounds", "round_wavefronts" }
local work_fields = { "executed", "lanes", "flops", "float", "double", "integer", "convert", "memory", "control",
  "other" }
local texts = { file = true, outer_file = true, name = true, kernel = true }

local function split(line)
  local words = {}
  for word in (line .. "\t"):gmatch "([^\t]*)\t" do words[#words + 1] = word end
  return words
end

local function record(words, ...)
  local made, at = {}, 1
  for _, fields in ipairs { ... } do
    for _, name in ipairs(fields) do
      at = at + 1
      if texts[name] then
        made[name] = words[at] ~= "" and words[at] or nil
      else
        made[name] = math.floor(tonumber(words[at]) or 0)
      end
    end
  end
  return made
end

-- The records in a result of the watcher "counters": { sites =, work =, kernels =, samples =, timeline = }.
local function read_result(text)
  local out = { sites = {}, work = {}, kernels = {}, samples = {}, timeline = {} }
  for line in text:gmatch "[^\n]+" do
    local words = split(line)
    if words[1] == "kernel" then
      out.kernels[#out.kernels + 1] =
        { name = words[2], launches = tonumber(words[3]), blocks = tonumber(words[4]), tier = words[5] }
    elseif words[1] == "site" then
      out.sites[#out.sites + 1] = record(words, site_fields, count_fields)
    elseif words[1] == "work" then
      out.work[#out.work + 1] = record(words, site_fields, work_fields)
    elseif words[1] == "sample" then
      local addresses = {} -- by lane from 0, those that are active, from the lowest one's 128-byte line on
      for i = 3, #words - 1 do
        local lane, distance = words[i]:match "(%d+):(%d+)"
        addresses[tonumber(lane)] = tonumber(distance)
      end
      out.samples[tonumber(words[2])] = addresses
    elseif words[1] == "step" then
      out.timeline[#out.timeline + 1] = { number = tonumber(words[2]), lanes = tonumber(words[3]) }
    end
  end
  return out
end

-- ---- one launch ----

-- The occupancy, and how many blocks each limit allows.
local function occupancy_of(kernel, launch, capability)
  local block, occupancy = launch.block, raw.part "module.occupancy"
  local what = {
    capability = capability or "9.0", threads = block.x * block.y * block.z, registers = kernel.registers,
    shared = kernel.shared_bytes + launch.shared,
  }
  return occupancy.calculate(what), occupancy.limits(what)
end

local function finish(launch, options, text)
  local kernel = launch.kernel
  local seen = read_result(text)
  local occupancy, limits = occupancy_of(kernel, launch, options.capability)
  local r = setmetatable({
    kernel = kernel.name, grid = launch.grid, block = launch.block, shared = launch.shared,
    shared_bytes = kernel.shared_bytes + launch.shared,
    capability = options.capability or "9.0", sites = seen.sites, work = seen.work, samples = seen.samples,
    timeline = seen.timeline, file = kernel.file, line = kernel.line, text = raw.module_sources[kernel.module],
    tier = seen.kernels[1] and seen.kernels[1].tier,
    occupancy = occupancy, limits = limits,
  }, measured)
  figures.fill(r, options.capability)
  return r
end

-- Run it watched; what fails is raised once nothing is watched any more.
local function run(launch, options, ...)
  raw.watch_begin("counters" .. (options.capability and ":" .. options.capability or ""))
  local ok, err = pcall(launch, ...)
  raw.watch_end()
  if ok then ok, err = pcall(raw.synchronize) end
  local read, text = pcall(raw.watch_result)
  if not ok then error(err, 0) end
  if not read then error(text, 0) end
  return finish(launch, options, text)
end

---Measure one launch of a kernel: mw.measure(kernel, grid, block[, shared[, options]])(arguments …) runs it as
---kernel(grid, block, shared)(arguments …) would, slower, and counts what a GPU's memory system and its warps do:
---requests, sectors, bank conflicts, divergent branches, instructions and operations. r.total has the figures of the
---launch, r.lines[n] those of line n, r.ncu the same by Nsight Compute's names; r:show() prints the source with them,
---r:html(path) writes a page.
---@param kernel moonwarp.kernel
---@param grid integer|integer[]
---@param block integer|integer[]
---@param shared? integer bytes of dynamic shared memory
---@param options? { capability?: string } "1.0" to "1.3": the rules of those GPUs for coalescing and banks; otherwise
---those of today's
---@return fun(...): moonwarp.measured
function M.measure(kernel, grid, block, shared, options)
  options = options or {}
  local capability = options.capability
  if capability ~= nil and type(capability) ~= "string" then
    errors.usage("mw.measure: capability is a string such as \"1.1\", got %s", type(capability))
  end
  local launch = shared and kernel(grid, block, shared) or kernel(grid, block)
  return function(...) return run(launch, options, ...) end
end

function measured:__tostring()
  local t = self.total
  return ("measured run of %s: %d instructions of warps, %.1f lanes active; %d loads and %d stores of global memory "
    .. "by %d and %d sectors (least: %d and %d); %d bank conflicts; %d of %d branches divergent"):format(self.kernel,
    t.instructions, t.active_lanes, t.global_load_requests, t.global_store_requests, t.global_load_sectors,
    t.global_store_sectors, t.global_load_ideal_sectors, t.global_store_ideal_sectors, t.bank_conflicts,
    t.divergent_branches, t.branches)
end

---The source with a margin of counts; see docs/learn/measuring.md.
---@param options? { colour?: boolean } whether there are colours; by default if the output is a terminal with colours
---@return string what was printed
function measured:show(options) return raw.part("watch.source_margin").show(self, options) end

---Write one self-contained HTML page about the run: the source as a heat map, memory maps, roofline, divergence.
---@param path string
function measured:html(path) return raw.part("watch.page").write(self, path) end

M.public = { measure = M.measure }
return M
