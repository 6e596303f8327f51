-- Ping-pong and all-reduce by mw.mpi, compared with bench/mpi/peer.c:
--   mpicc -O2 -o /tmp/peer bench/mpi/peer.c && mpirun -n 2 /tmp/peer && mpirun -n 2 luajit bench/mpi/mpi.lua

local mw = require "moonwarp"
mw.use "cpu"
local comm = mw.mpi.world()

-- The least of several measurements: other load on the machine can only add to a time.
local function least(times, measure, ...)
  local best = math.huge
  for _ = 1, times do best = math.min(best, measure(...)) end
  return best
end

local function one_way(a, rounds)
  comm:barrier()
  local start = mw.time()
  for _ = 1, rounds do
    if comm.rank == 0 then
      comm:send(a, 1)
      comm:recv(a, 1)
    elseif comm.rank == 1 then
      comm:recv(a, 0)
      comm:send(a, 0)
    end
  end
  return (mw.time() - start) / rounds / 2
end

local LONG = 2 ^ 26
local short, long, out = mw.zeros(1, "double"), mw.zeros(LONG / 4), mw.zeros(LONG / 4)
one_way(short, 1000)
local latency = least(40, one_way, short, 1000)
one_way(long, 2)
local bandwidth = LONG / least(15, one_way, long, 1)
local reduction = least(10, function()
  comm:barrier()
  local start = mw.time()
  comm:allreduce(long, "sum", { out = out })
  return mw.time() - start
end)
if comm.rank == 0 then
  print(("%-8s  %8.3f us  %8.2f GB/s  allreduce %8.2f GB/s"):format(jit and "LuaJIT" or _VERSION, latency * 1e6,
    bandwidth / 1e9, LONG / reduction / 1e9))
end
