-- How many blocks a multiprocessor holds at once, by CUDA's rules for each compute capability: threads, warps, blocks,
-- registers (allocated in units, by block before 2.0 and by warp since) and shared memory (in units).

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"

local M = {}

-- By name, from the library's table of capabilities; made when first used.
local known

---The limits of a compute capability, or nil if there is none with that name.
---@param name any
---@return table?
function M.find(name)
  if not known then
    known = {}
    for _, facts in ipairs(raw.capabilities()) do known[("%d.%d"):format(facts.major, facts.minor)] = facts end
  end
  return known[name]
end

local function up(value, unit) return math.ceil(value / unit) * unit end

local function down(value, unit) return math.floor(value / unit) * unit end

-- The number of blocks for which the registers suffice; math.huge if a kernel's registers do not matter.
local function by_registers(limits, warps, registers)
  if registers == 0 then return math.huge end
  if registers > limits.registers_per_thread then return 0 end
  if limits.registers_by_block ~= 0 then
    local needed = up(up(warps, limits.warp_unit) * 32 * registers, limits.register_unit)
    return math.floor(limits.registers / needed)
  end
  local needed = up(registers * 32, limits.register_unit)
  if needed * up(warps, limits.warp_unit) > limits.registers_per_block then return 0 end
  return math.floor(down(math.floor(limits.registers / needed), limits.warp_unit) / warps)
end

local function by_shared(limits, shared)
  if shared > limits.shared_per_block_optin then return 0 end
  local needed = up(shared + limits.shared_reserved, limits.shared_unit)
  return needed == 0 and math.huge or math.floor(limits.shared / needed)
end

local function capability()
  local facts = raw.properties_of()
  return facts.major .. "." .. facts.minor
end

-- How many blocks each limit allows: { { what limits, blocks } }.
local function candidates_of(limits, what)
  local threads = what.threads
  return {
    { "threads", threads > limits.threads_per_block and 0 or math.floor(limits.warps / math.ceil(threads / 32)) },
    { "registers", by_registers(limits, math.ceil(threads / 32), what.registers or 0) },
    { "shared memory", by_shared(limits, what.shared or 0) },
    { "blocks", limits.blocks },
  }
end

---How many blocks "threads", "registers", "shared memory" and "blocks" each allow on a multiprocessor.
---@param what table as for M.calculate, with a capability
---@return table<string, integer>
function M.limits(what)
  local by = {}
  for _, candidate in ipairs(candidates_of(M.find(what.capability), what)) do by[candidate[1]] = candidate[2] end
  return by
end

---The occupancy of a multiprocessor.
---@param what { capability?: string, threads: integer, registers?: integer, shared?: integer } threads of a block,
---registers of a thread (0: none to speak of), bytes of shared memory of a block
---@return { blocks: integer, warps: integer, occupancy: number, limited_by: string }
function M.calculate(what)
  local limits = M.find(what.capability or capability())
  if not limits then
    errors.usage("mw.occupancy: there is no compute capability '%s'; write one such as \"1.1\" or \"8.6\"",
      tostring(what.capability))
  end
  local threads = what.threads
  if type(threads) ~= "number" or threads < 1 or threads % 1 ~= 0 then
    errors.usage("mw.occupancy wants the threads of a block, got %s", tostring(threads))
  end
  local warps = math.ceil(threads / 32)
  local candidates = candidates_of(limits, what)
  local least = candidates[1]
  for _, candidate in ipairs(candidates) do
    if candidate[2] < least[2] then least = candidate end
  end
  local blocks = least[2]
  return {
    blocks = blocks, warps = blocks * warps, occupancy = blocks * warps / limits.warps, limited_by = least[1],
  }
end

---The occupancy of a kernel on the device in use.
function M.of(kernel, threads, shared)
  local all = kernel.shared_bytes + shared
  local found = M.calculate { threads = threads, registers = kernel.registers, shared = all }
  local facts = raw.properties_of()
  if found.blocks == 0 and threads <= facts.max_threads_per_block and all <= facts.shared_per_block_optin then
    -- More shared memory than the capability has: the device still runs such a block, one at a time.
    local warps = math.ceil(threads / 32)
    return {
      blocks = 1, warps = warps, occupancy = warps / M.find(capability()).warps, limited_by = "shared memory",
    }
  end
  return found
end

---The block size with the highest occupancy (the largest of several) and the smallest grid that fills the device with
---it.
---@param shared integer|function bytes of dynamic shared memory, or a function of the block size
---@return integer grid
---@return integer block
function M.best(kernel, shared, limit)
  local most = kernel.max_threads
  if limit > 0 and limit < most then most = limit end
  local best, size = nil, 0
  for threads = down(most + 31, 32), 32, -32 do
    threads = math.min(threads, most)
    local bytes = type(shared) == "function" and shared(threads) or shared
    local found = M.of(kernel, threads, bytes)
    if not best or found.blocks * threads > best.blocks * size then best, size = found, threads end
  end
  return best.blocks * raw.properties_of().multiprocessors, size
end

return M
