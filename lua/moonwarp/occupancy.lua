-- How many blocks a multiprocessor holds at once, by CUDA's rules for each compute capability: threads, warps, blocks,
-- registers (handed out in units, by block before 2.0 and by warp since) and shared memory (in units).

local raw = require "moonwarp.binding"
local errors = require "moonwarp.error"

local M = {}

local KIB = 1024

-- CUDA's tables "technical specifications per compute capability": warps, blocks, registers and bytes of shared memory
-- of a multiprocessor; registers of a block and of a thread; threads of a block; units of registers and of shared
-- memory; what a block's registers are counted by; and warps that get registers together.
local function row(warps, blocks, registers, shared, block_registers, thread_registers, threads, register_unit,
                   shared_unit, by, granularity, block_shared, reserved)
  return {
    warps = warps, blocks = blocks, registers = registers, shared = shared, block_registers = block_registers,
    thread_registers = thread_registers, threads = threads, register_unit = register_unit, shared_unit = shared_unit,
    by = by, granularity = granularity, block_shared = block_shared or shared, reserved = reserved or 0,
  }
end

local tesla10 = row(24, 8, 8192, 16 * KIB, 8192, 124, 512, 256, 512, "block", 2)
local tesla12 = row(32, 8, 16384, 16 * KIB, 16384, 124, 512, 512, 512, "block", 2)
local fermi = row(48, 8, 32768, 48 * KIB, 32768, 63, 1024, 64, 128, "warp", 2)
local kepler30 = row(64, 16, 65536, 48 * KIB, 65536, 63, 1024, 256, 256, "warp", 4)
local kepler35 = row(64, 16, 65536, 48 * KIB, 65536, 255, 1024, 256, 256, "warp", 4)
local kepler37 = row(64, 16, 131072, 112 * KIB, 65536, 255, 1024, 256, 256, "warp", 4, 48 * KIB)

M.capabilities = {
  ["1.0"] = tesla10, ["1.1"] = tesla10, ["1.2"] = tesla12, ["1.3"] = tesla12,
  ["2.0"] = fermi, ["2.1"] = fermi,
  ["3.0"] = kepler30,
  ["3.2"] = row(64, 16, 65536, 48 * KIB, 65536, 255, 1024, 256, 256, "warp", 4),
  ["3.5"] = kepler35, ["3.7"] = kepler37,
  ["5.0"] = row(64, 32, 65536, 64 * KIB, 65536, 255, 1024, 256, 256, "warp", 4, 48 * KIB),
  ["5.2"] = row(64, 32, 65536, 96 * KIB, 65536, 255, 1024, 256, 256, "warp", 4, 48 * KIB),
  ["5.3"] = row(64, 32, 65536, 64 * KIB, 32768, 255, 1024, 256, 256, "warp", 4, 48 * KIB),
  ["6.0"] = row(64, 32, 65536, 64 * KIB, 65536, 255, 1024, 256, 256, "warp", 2, 48 * KIB),
  ["6.1"] = row(64, 32, 65536, 96 * KIB, 65536, 255, 1024, 256, 256, "warp", 4, 48 * KIB),
  ["6.2"] = row(64, 32, 65536, 64 * KIB, 32768, 255, 1024, 256, 256, "warp", 4, 48 * KIB),
  ["7.0"] = row(64, 32, 65536, 96 * KIB, 65536, 255, 1024, 256, 256, "warp", 4),
  ["7.2"] = row(64, 32, 65536, 96 * KIB, 65536, 255, 1024, 256, 256, "warp", 4),
  ["7.5"] = row(32, 16, 65536, 64 * KIB, 65536, 255, 1024, 256, 256, "warp", 4),
  -- From 8.0 on the system takes 1 KiB of shared memory for each block.
  ["8.0"] = row(64, 32, 65536, 164 * KIB, 65536, 255, 1024, 256, 128, "warp", 4, 163 * KIB, KIB),
  ["8.6"] = row(48, 16, 65536, 100 * KIB, 65536, 255, 1024, 256, 128, "warp", 4, 99 * KIB, KIB),
  ["8.7"] = row(48, 16, 65536, 164 * KIB, 65536, 255, 1024, 256, 128, "warp", 4, 163 * KIB, KIB),
  ["8.9"] = row(48, 24, 65536, 100 * KIB, 65536, 255, 1024, 256, 128, "warp", 4, 99 * KIB, KIB),
  ["9.0"] = row(64, 32, 65536, 228 * KIB, 65536, 255, 1024, 256, 128, "warp", 4, 227 * KIB, KIB),
}

local function up(value, unit) return math.ceil(value / unit) * unit end

local function down(value, unit) return math.floor(value / unit) * unit end

-- Blocks that the registers are enough for; math.huge where a kernel has none to speak of.
local function by_registers(limits, warps, registers)
  if registers == 0 then return math.huge end
  if registers > limits.thread_registers then return 0 end
  if limits.by == "block" then
    local needed = up(up(warps, limits.granularity) * 32 * registers, limits.register_unit)
    return math.floor(limits.registers / needed)
  end
  local needed = up(registers * 32, limits.register_unit)
  if needed * up(warps, limits.granularity) > limits.block_registers then return 0 end
  return math.floor(down(math.floor(limits.registers / needed), limits.granularity) / warps)
end

local function by_shared(limits, shared)
  if shared > limits.block_shared then return 0 end
  local needed = up(shared + limits.reserved, limits.shared_unit)
  return needed == 0 and math.huge or math.floor(limits.shared / needed)
end

local function capability()
  local facts = raw.properties_of()
  return facts.major .. "." .. facts.minor
end

---The occupancy of a multiprocessor.
---@param what { capability?: string, threads: integer, registers?: integer, shared?: integer } threads of a block,
---registers of a thread (0: none to speak of), bytes of shared memory of a block
---@return { blocks: integer, warps: integer, occupancy: number, limited_by: string }
function M.calculate(what)
  local limits = M.capabilities[what.capability or capability()]
  if not limits then
    errors.usage("mw.occupancy: there is no compute capability '%s'; write one such as \"1.1\" or \"8.6\"",
      tostring(what.capability))
  end
  local threads = what.threads
  if type(threads) ~= "number" or threads < 1 or threads % 1 ~= 0 then
    errors.usage("mw.occupancy wants the threads of a block, got %s", tostring(threads))
  end
  local warps = math.ceil(threads / 32)
  local candidates = {
    { "threads", threads > limits.threads and 0 or math.floor(limits.warps / warps) },
    { "registers", by_registers(limits, warps, what.registers or 0) },
    { "shared memory", by_shared(limits, what.shared or 0) },
    { "blocks", limits.blocks },
  }
  local least = candidates[1]
  for _, candidate in ipairs(candidates) do
    if candidate[2] < least[2] then least = candidate end
  end
  local blocks = least[2]
  return {
    blocks = blocks, warps = blocks * warps, occupancy = blocks * warps / limits.warps, limited_by = least[1],
  }
end

---The same of a kernel on the device in use.
function M.of(kernel, threads, shared)
  local all = kernel.shared_bytes + shared
  local found = M.calculate { threads = threads, registers = kernel.registers, shared = all }
  local facts = raw.properties_of()
  if found.blocks == 0 and threads <= facts.max_threads_per_block and all <= facts.shared_per_block_optin then
    -- More shared memory than the capability has: the device takes a block of it all the same, alone.
    local warps = math.ceil(threads / 32)
    return {
      blocks = 1, warps = warps, occupancy = warps / M.capabilities[capability()].warps, limited_by = "shared memory",
    }
  end
  return found
end

---The block size with the highest occupancy, the largest of these, and the smallest grid that fills the device with it.
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
