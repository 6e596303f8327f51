-- mw.nccl: messages between devices, by NCCL between NVIDIA GPUs, emulated between CPU devices.

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local ranks = require "moonwarp.nccl.call_matching"
local communicator = require "moonwarp.nccl.communicator"
local emulation = require "moonwarp.nccl.emulation"
local library = require "moonwarp.nccl.library"

local usage = errors.usage
local nccl = {}

local SECONDS = 300 -- the time limit by default

---The library that carries messages between GPUs: "NCCL 2.27.3 (libnccl.so.2)". On a CPU device nil, and why.
---@return string? name
---@return string? why there is none
function nccl.library() return raw.communicator_library() end

---An id for a new group: one rank makes it and passes it to the others (mw.nccl.init).
---@return string bytes 128 of them
function nccl.unique_id() return raw.communicator_id() end

-- The devices named in a list; n: the CPU devices, over and over.
local function devices_of(list)
  local result = {}
  if type(list) == "number" then
    if list < 1 then usage("mw.nccl: the number of ranks is a whole number from 1 on, got %s", tostring(list)) end
    local names = {}
    for _, name in ipairs(raw.device_list()) do
      if name:find "^cpu" then names[#names + 1] = name end
    end
    for i = 1, list do result[i] = raw.open(names[(i - 1) % #names + 1]) end
    return result
  end
  for i, name in ipairs(list) do result[i] = raw.type(name) == "device" and name or raw.open(name) end
  if #result == 0 then
    usage 'mw.nccl wants a number of ranks, or a list of devices such as {"cuda:0", "cuda:1"}'
  end
  local kind = result[1].name:match "^%a+"
  for _, device in ipairs(result) do
    if device.name:match "^%a+" ~= kind then
      usage("mw.nccl: %s and %s: NCCL connects GPUs, and the emulation CPU devices", result[1].name, device.name)
    end
  end
  return result
end

local function emulated(devices)
  local clique, comms = ranks.clique(#devices, emulation), {}
  for i, device in ipairs(devices) do
    comms[i] = communicator.new { clique = clique, rank = i - 1, size = #devices, device = device, emulated = true,
      timeout = 0 }
  end
  return comms
end

-- In one process NCCL's kernels access the arrays of other GPUs directly, which memory of pools has to allow.
local function let_reach(devices)
  for _, device in ipairs(devices) do
    for _, other in ipairs(devices) do
      if device ~= other and device:can_access_peer(other) then
        local ok, err = pcall(device.enable_peer_access, device, other)
        if not ok and err.code ~= "cudaErrorPeerAccessAlreadyEnabled" then error(err, 0) end
      end
    end
  end
end

local function connected(devices, seconds)
  let_reach(devices)
  local before = raw.device().name
  local clique, comms = ranks.clique(#devices, library), {}
  raw.use(devices[1].name)
  local ok, err = pcall(function()
    local id = raw.communicator_id()
    library.group(function()
      for i, device in ipairs(devices) do
        raw.use(device.name)
        comms[i] = communicator.new { clique = clique, handle = raw.communicator_new(id, #devices, i - 1, seconds),
          rank = i - 1, size = #devices, device = device, emulated = false, timeout = seconds }
      end
      raw.use(devices[1].name)
    end)
  end)
  raw.use(before)
  if not ok then error(err, 0) end
  return comms
end

---Communicators of several devices of this process, by rank. Calls of all ranks go into one mw.nccl.group.
---@param devices integer|(string|moonwarp.device)[] {"cuda:0", "cuda:1"}; or CPU devices, or a number of ranks, which
---are emulated on the CPU devices there are
---@param options? { timeout?: number } seconds after which a message that does not end is an error; 0: never. 300
---@return moonwarp.nccl_communicator[]
function nccl.init_all(devices, options)
  local list = devices_of(devices)
  if list[1].name:find "^cpu" then return emulated(list) end
  return connected(list, options and options.timeout or SECONDS)
end

---Run f(comm) for each of several devices of this process, as if each rank were a program of its own: a rank that waits
---for another gives way to it. A deadlock, or calls that do not match, are errors that name the ranks' lines.
---@param devices integer|(string|moonwarp.device)[] as for mw.nccl.init_all
---@param f fun(comm: moonwarp.nccl_communicator): any its device is in use
---@param options? { timeout?: number }
---@return any[] results what f returned, rank 0's first
function nccl.run(devices, f, options) return ranks.run(nccl.init_all(devices, options), f) end

---Start the messages that f queues together: those of several ranks of this process, or those of one rank that would
---wait for each other.
---@param f function
function nccl.group(f) communicator.group(f) end

-- ---- one process a GPU ----

local function read_id(path, seconds)
  local start = raw.time()
  while raw.time() - start < seconds do
    local file = io.open(path, "rb")
    local id = file and file:read(128)
    if file then file:close() end
    if id and #id == 128 then return id end
    io.popen("sleep 0.05"):close()
  end
  usage("mw.nccl.init: no id in %s after %g s; rank 0 writes it there, when it calls mw.nccl.init", path, seconds)
end

-- Written under another name first, so that nobody reads a part of it.
local function write_id(path, id)
  local file, why = io.open(path .. ".part", "wb")
  if not file then usage("mw.nccl.init: %s", why) end
  file:write(id)
  file:close()
  os.rename(path .. ".part", path)
end

local function exchanged_by(comm)
  return comm:broadcast(comm.rank == 0 and raw.communicator_id() or nil, 0)
end

local function environment_number(names)
  for _, name in ipairs(names) do
    local value = tonumber(os.getenv(name) or "")
    if value then return value end
  end
end

---This process's rank, on the device in use, with other processes as the other ranks. The id of the group travels
---over an MPI communicator, or a file, or is given.
---@param options { comm?: table, file?: string, id?: string, rank?: integer, size?: integer, timeout?: number } comm:
---of mw.mpi; file: a path that all ranks see, by default $MOONWARP_NCCL_ID; rank and size: by default $RANK and
---$WORLD_SIZE, or those of mpirun and Slurm
---@return moonwarp.nccl_communicator
function nccl.init(options)
  local seconds = options.timeout or SECONDS
  local rank, size = options.rank, options.size
  if options.comm then rank, size = options.comm.rank, options.comm.size end
  rank = rank or environment_number { "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID" }
  size = size or environment_number { "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS" }
  if not rank or not size then
    usage "mw.nccl.init: name the rank (from 0) and the size, or pass comm = mw.mpi.world()"
  end
  local id = options.id
  if options.comm then
    id = exchanged_by(options.comm)
  elseif not id then
    local path = options.file or os.getenv "MOONWARP_NCCL_ID"
    if not path then usage "mw.nccl.init: pass comm = mw.mpi.world(), a file that all ranks see, or an id" end
    id = rank == 0 and raw.communicator_id() or read_id(path, seconds > 0 and seconds or 1e9)
    if rank == 0 then write_id(path, id) end
  end
  local handle = raw.communicator_new(id, size, rank, seconds)
  return communicator.new { handle = handle, rank = rank, size = size, device = raw.device(), emulated = false,
    timeout = seconds }
end

return nccl
