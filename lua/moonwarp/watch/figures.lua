-- The figures of a measured run: sums over sites, for the launch and for each source line, and Nsight Compute's names
-- for them.

local M = {}

local LOAD, STORE, ATOMIC, REDUCTION, BARRIER, WARP, FENCE, BRANCH = 0, 1, 2, 3, 4, 5, 6, 7
local SHARED, CONSTANT, LOCAL = 3, 4, 5
local OPERATION = { [LOAD] = "load", [STORE] = "store", [ATOMIC] = "atomic", [REDUCTION] = "reduction" }

local CLASSES = { "float", "double", "integer", "convert", "memory", "control", "other" }

-- Every figure, so that what did not happen is 0.
local NAMES = { "atomic_requests", "atomic_collisions", "bank_conflicts", "branches", "divergent_branches", "barriers",
  "warp_functions", "fences", "texture_requests", "constant_load_requests", "instructions", "thread_instructions",
  "flops", "bytes_used", "bytes_moved" }
for _, operation in pairs(OPERATION) do
  for _, what in ipairs { "requests", "instructions", "sectors", "ideal_sectors", "bytes", "used_bytes",
    "moved_bytes" } do
    NAMES[#NAMES + 1] = "global_" .. operation .. "_" .. what
  end
  for _, what in ipairs { "requests", "instructions", "wavefronts", "ideal_wavefronts", "bytes" } do
    NAMES[#NAMES + 1] = "shared_" .. operation .. "_" .. what
  end
  NAMES[#NAMES + 1] = "local_" .. operation .. "_requests"
end
for _, class in ipairs(CLASSES) do NAMES[#NAMES + 1] = class .. "_instructions" end

local function empty()
  local figures = {}
  for _, name in ipairs(NAMES) do figures[name] = 0 end
  return figures
end

local function add(figures, name, value) figures[name] = figures[name] + value end

-- ---- sites ----

-- A loop around compare-and-swap: each round is a load, and a swap of twice as many wavefronts.
local function add_swaps(f, site, name)
  add(f, "shared_load_instructions", site.rounds)
  add(f, "shared_load_requests", site.rounds)
  add(f, "shared_load_wavefronts", site.round_wavefronts)
  add(f, "shared_load_ideal_wavefronts", site.rounds)
  add(f, name .. "_requests", site.rounds)
  add(f, name .. "_instructions", site.rounds)
  add(f, name .. "_wavefronts", 2 * site.round_wavefronts)
  add(f, name .. "_ideal_wavefronts", 2 * site.rounds)
  add(f, "bank_conflicts", site.round_wavefronts - site.rounds)
end

local function add_shared(f, site, operation)
  local name = "shared_" .. operation
  add(f, name .. "_bytes", site.lane_bytes)
  if site.rounds > 0 then return add_swaps(f, site, name) end
  add(f, name .. "_requests", site.requests)
  add(f, name .. "_instructions", site.issued)
  add(f, name .. "_wavefronts", site.wavefronts)
  add(f, name .. "_ideal_wavefronts", site.least)
  add(f, "bank_conflicts", site.wavefronts - site.least)
end

local function add_global(f, site, operation)
  local name = "global_" .. operation
  add(f, name .. "_requests", site.requests)
  add(f, name .. "_instructions", site.issued)
  add(f, name .. "_sectors", site.sectors)
  add(f, name .. "_ideal_sectors", site.ideal)
  add(f, name .. "_bytes", site.lane_bytes)
  add(f, name .. "_used_bytes", site.used)
  add(f, name .. "_moved_bytes", site.moved)
  add(f, "bytes_used", site.used)
  add(f, "bytes_moved", site.moved)
end

local function add_access(f, site)
  local operation = OPERATION[site.kind]
  if site.kind == ATOMIC or site.kind == REDUCTION then
    add(f, "atomic_requests", site.requests)
    add(f, "atomic_collisions", site.collisions)
  end
  if site.requests == 0 then
    add(f, "texture_requests", site.executed)
  elseif site.space == SHARED then
    add_shared(f, site, operation)
  elseif site.space == LOCAL then
    add(f, "local_" .. operation .. "_requests", site.requests)
  elseif site.space == CONSTANT then
    add(f, "constant_load_requests", site.requests)
  else
    add_global(f, site, operation)
  end
end

local function add_site(f, site)
  if site.kind <= REDUCTION then
    add_access(f, site)
  elseif site.kind == BARRIER then
    add(f, "barriers", site.executed)
  elseif site.kind == WARP then
    add(f, "warp_functions", site.executed)
  elseif site.kind == FENCE then
    add(f, "fences", site.executed)
  elseif site.kind == BRANCH then
    add(f, "branches", site.executed)
    add(f, "divergent_branches", site.divergent)
  end
end

local function add_work(f, work)
  add(f, "flops", work.lanes * work.flops)
  for _, class in ipairs(CLASSES) do
    add(f, class .. "_instructions", work.executed * work[class])
    add(f, "instructions", work.executed * work[class])
    add(f, "thread_instructions", work.lanes * work[class])
  end
end

local function conclude(f)
  f.active_lanes = f.instructions > 0 and f.thread_instructions / f.instructions or 0
end

-- ---- Nsight Compute's names ----

local function ratio(a, b) return b > 0 and a / b or 0 end

---What the names of Nsight Compute 2025.3 for compute capability 9.0 mean; instructions of warps, not of threads.
local function ncu_of(r)
  local t, n = r.total, {}
  local operations = { ld = "load", st = "store", atom = "atomic", red = "reduction" }
  for short, operation in pairs(operations) do
    local name = "_pipe_lsu_mem_global_op_" .. short .. ".sum"
    n["l1tex__t_requests" .. name] = t["global_" .. operation .. "_requests"]
    n["l1tex__t_sectors" .. name] = t["global_" .. operation .. "_sectors"]
  end
  for _, short in ipairs { "ld", "st" } do
    local operation = operations[short]
    local sectors, requests = t["global_" .. operation .. "_sectors"], t["global_" .. operation .. "_requests"]
    n["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_" .. short .. ".ratio"] = ratio(sectors, requests)
    n["smsp__sass_average_data_bytes_per_sector_mem_global_op_" .. short .. ".ratio"] =
      ratio(t["global_" .. operation .. "_used_bytes"], sectors)
    n["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_" .. short .. ".sum"] = t["shared_" .. operation .. "_wavefronts"]
    n["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_" .. short .. ".sum"] =
      t["shared_" .. operation .. "_wavefronts"] - t["shared_" .. operation .. "_ideal_wavefronts"]
    n["smsp__inst_executed_op_global_" .. short .. ".sum"] = t["global_" .. operation .. "_instructions"]
    n["smsp__inst_executed_op_shared_" .. short .. ".sum"] = t["shared_" .. operation .. "_instructions"]
    n["smsp__inst_executed_op_local_" .. short .. ".sum"] = t["local_" .. operation .. "_requests"]
  end
  n["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum"] =
    t.shared_atomic_wavefronts + t.shared_reduction_wavefronts
  n["smsp__inst_executed_op_shared_atom.sum"] = t.shared_atomic_instructions + t.shared_reduction_instructions
  n["smsp__inst_executed_op_global_red.sum"] = t.global_reduction_instructions
  local limits, shared = r.limits, r.shared_bytes
  n["launch__occupancy_limit_warps"] = limits.threads
  n["launch__occupancy_limit_blocks"] = limits.blocks
  if r.occupancy.limited_by == "shared memory" then -- else the driver gives the cache a part of the memory
    n["launch__occupancy_limit_shared_mem"] = limits["shared memory"]
  end
  n["sm__maximum_warps_per_active_cycle_pct"] = 100 * r.occupancy.occupancy
  n["launch__block_size"] = r.block.x * r.block.y * r.block.z
  n["launch__grid_size"] = r.grid.x * r.grid.y * r.grid.z
  n["launch__thread_count"] = n["launch__block_size"] * n["launch__grid_size"]
  n["launch__shared_mem_per_block_dynamic"] = r.shared
  n["launch__shared_mem_per_block_static"] = shared - r.shared
  return n
end

---Fill r.total, r.lines and r.ncu from its sites. Under the rules of 1.x Nsight Compute's names mean nothing.
function M.fill(r, capability)
  r.total, r.lines = empty(), {}
  -- A line of the kernel's own file: that of a function from elsewhere is the line that it was inlined into.
  local function line_of(place)
    local line = place.file == r.file and place.line or place.outer_file == r.file and place.outer_line or 0
    if line == 0 then return nil end
    if not r.lines[line] then r.lines[line] = empty() end
    return r.lines[line]
  end
  local function add_to(add_one, place)
    add_one(r.total, place)
    local line = line_of(place)
    if line then add_one(line, place) end
  end
  for _, site in ipairs(r.sites) do add_to(add_site, site) end
  for _, work in ipairs(r.work) do add_to(add_work, work) end
  conclude(r.total)
  for _, line in pairs(r.lines) do conclude(line) end
  local old = capability and capability:match "^1%."
  r.ncu = old and {} or ncu_of(r)
end

return M
