-- Ping-pong and all-reduce by mw.mpi, and in C by the same processes (bench/mpi/peer.c), alternately:
--   mpicc -O2 -shared -fPIC -o /tmp/peer.so bench/mpi/peer.c
--   mpirun -n 2 luajit bench/mpi/mpi.lua /tmp/peer.so [times]
-- On a shared machine other programs take processors away for longer than a message takes. So the least of several
-- runs says little; the median of what two runs next to each other differ by says more.

local mw = require "moonwarp"
mw.use "cpu"
local comm = mw.mpi.world()
local path, turns = arg[1], tonumber(arg[2] or 40)
local peer = {}
for _, name in ipairs { "one_way", "allreduce" } do peer[name] = assert(package.loadlib(path, name)) end

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

local function quantile(list, q)
  table.sort(list)
  return list[math.max(1, math.ceil(q * #list))]
end

-- Of C's runs and of ours: the least, and the median of difference(C's, ours) of the two runs of each turn.
local function compare(times, c, ours, difference)
  local of_c, of_ours, differences = {}, {}, {}
  c()
  ours()
  for i = 1, times do
    if i % 2 == 0 then of_c[i] = c() end
    of_ours[i] = ours()
    if i % 2 == 1 then of_c[i] = c() end
    differences[i] = difference(of_c[i], of_ours[i])
  end
  return quantile(of_c, 0), quantile(of_ours, 0), quantile(differences, 0.5)
end

local function report(what, format, ...)
  if comm.rank == 0 then print((jit and "LuaJIT" or _VERSION) .. ", " .. what .. ": " .. format:format(...)) end
end

local LONG = 2 ^ 26
local short, long, out = mw.zeros(1, "double"), mw.ones(LONG / 4), mw.zeros(LONG / 4)

-- Few rounds: they fit between two interruptions.
local c, ours, more = compare(10 * turns, function() return peer.one_way(8, 200) end,
  function() return one_way(short, 200) end, function(a, b) return b - a end)
report("8 bytes", "C %.3f µs, moonwarp %.3f µs; median difference %+.3f µs", c * 1e6, ours * 1e6, more * 1e6)

local function ratio(a, b) return a / b end
local function report_rate(what, c_seconds, our_seconds, median)
  report(what, "C %.2f GB/s, moonwarp %.2f GB/s, ratio %.3f; median ratio %.3f", LONG / c_seconds / 1e9,
    LONG / our_seconds / 1e9, c_seconds / our_seconds, median)
end

report_rate("64 MiB", compare(turns, function() return peer.one_way(LONG, 1) end,
  function() return one_way(long, 1) end, ratio))
report_rate("all-reduce of 64 MiB", compare(turns, function() return peer.allreduce(LONG) end, function()
  comm:barrier()
  local start = mw.time()
  comm:allreduce(long, "sum", { out = out })
  return mw.time() - start
end, ratio))
