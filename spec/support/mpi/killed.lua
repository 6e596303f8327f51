-- A run in which one rank is killed at a random place of a random program: messages, collective operations of both
-- forms, windows, kernels.
--   local killed = require "support.mpi.killed"
--   local result = killed.run("openmpi", 4, seed)
--   result: what support.mpi.ranks returns; left = ranks that still run; killed_at, ended_at = seconds (mw.time)

local mw = require "moonwarp"
local ranks = require "support.mpi.ranks"

local M = {}

-- The same operations on all ranks, by a seed; one rank kills itself before the one of its number.
local program = [[
local seed, folder = %d, %q
local state = seed
local function random(n) -- the same on all ranks
  state = (state * 1103515245 + 12345) %% 2147483648
  return math.floor(state / 65536) %% n
end
local r, n = comm.rank, comm.size
local file = assert(io.open("/proc/self/stat"))
local pid = file:read "*n"
file:close()
file = assert(io.open(folder .. "/" .. r, "w"))
file:write(("%%d\n"):format(pid))
file:close()
local victim, moment = random(n), 5 + random(60)
local a, b, c = mw.full(1000, r), mw.zeros(1000), mw.zeros(100000)
local m = mw.compile "__global__ void f(float *p, int n) { for (int k = 0; k < n; k++) p[threadIdx.x] += 1; }"
local win = comm:window(c)
local right, left = (r + 1) %% n, (r - 1) %% n
local operations = {
  function() comm:sendrecv(a, right, b, left) end,
  function() comm:sendrecv(c, right, mw.empty(100000), left) end,
  function() comm:allreduce(c, "sum", { out = c }) end,
  function() comm:barrier() end,
  function() comm:iallreduce(a):wait() end,
  function() comm:broadcast(a, random(n)) end,
  function() comm:allgather { r } end,
  function() m.f(1, 64)(a, 100000) comm:alltoall(mw.zeros(n, 50)) end,
  function() win:fence() win:put(a, right) win:fence(true) end,
  function() win:lock_all() win:accumulate(1, 0) win:unlock_all() end,
}
comm:barrier()
for i = 1, 1000 do
  if i == moment and r == victim then
    file = io.open(folder .. "/time", "w")
    file:write(("%%.3f"):format(mw.time()))
    file:close()
    os.execute(("kill -KILL %%d"):format(pid))
  end
  operations[1 + random(#operations)]()
end
]]

local function read(path)
  local file = io.open(path)
  local text = file and file:read "*a"
  if file then file:close() end
  return text
end

-- Whether a process runs; one that ended and was not waited for does not.
local function runs(pid)
  local stat = read("/proc/" .. pid .. "/stat")
  return stat ~= nil and not stat:find "%) Z "
end

-- Whether it outlives the launcher by 5 s.
local function outlives(pid)
  if runs(pid) then os.execute(("timeout 5 tail --pid=%s -f /dev/null"):format(pid)) end
  return runs(pid)
end

---@param library "openmpi"|"mpich"
---@param size integer how many ranks
---@param seed integer
---@param networks? boolean ranks.run's
function M.run(library, size, seed, networks)
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir " .. folder))
  local result = ranks.run(library, size, program:format(seed, folder), 30, networks)
  result.ended_at, result.left = mw.time(), {}
  for rank = 0, size - 1 do
    local pid = (read(folder .. "/" .. rank) or ""):match "%d+"
    if not pid then
      result.left[#result.left + 1] = ("rank %d did not begin"):format(rank)
    elseif outlives(pid) then
      result.left[#result.left + 1] = ("rank %d, process %s"):format(rank, pid)
      os.execute("kill -KILL " .. pid)
    end
  end
  result.killed_at = tonumber(read(folder .. "/time") or "")
  os.execute("rm -r " .. folder)
  return result
end

return M
