-- The cost of messages: a model of each collective and of a stencil with halos, for 10 to 100 000 ranks, and
-- measurements of small groups for comparison. o: the overhead of a call in seconds; α: the latency of a message in
-- seconds; β: bytes a second that every rank sends while all of them do; γ: seconds to add a byte.
--   lua5.4 bench/distributed/costs.lua                        (the table for a cluster, and emulated ranks measured)
--   mpirun -n 4 lua5.4 bench/distributed/costs.lua            (measured over MPI)
-- docs/use/costs.md explains it.

local mw = require "moonwarp"

-- ---- the model ----

local log2 = function(p) return math.ceil(math.log(p) / math.log(2) - 1e-9) end

-- Seconds of a collective over p ranks with n bytes per rank. Of several algorithms the fastest one counts, as in MPI's
-- libraries.
local model = {}

-- Every collective operation begins with the ranks' agreement on it (mw.mpi.check), a reduction of 16 bytes, which is
-- all that a barrier is.
function model.barrier(m, p) return log2(p) * m.alpha end
local function checked(f)
  return function(m, p, n) return m.overhead + model.barrier(m, p) + f(m, p, n) end
end


-- A binomial tree; or scatter and allgather (van de Geijn).
local function broadcast(m, p, n)
  local tree = log2(p) * (m.alpha + n / m.beta)
  local pieces = (log2(p) + p - 1) * m.alpha + 2 * (p - 1) / p * n / m.beta
  return math.min(tree, pieces)
end

-- Recursive doubling; or recursive halving and doubling (Rabenseifner); or a ring.
local function allreduce(m, p, n)
  local doubling = log2(p) * (m.alpha + n / m.beta + n * m.gamma)
  local moved = 2 * (p - 1) / p * n / m.beta + (p - 1) / p * n * m.gamma
  return math.min(doubling, 2 * log2(p) * m.alpha + moved, 2 * (p - 1) * m.alpha + moved)
end

local function reduce_scatter(m, p, n) return log2(p) * m.alpha + (p - 1) / p * n * (1 / m.beta + m.gamma) end

-- n: bytes of one rank's contribution.
local function allgather(m, p, n) return log2(p) * m.alpha + (p - 1) * n / m.beta end

-- Pairwise exchange; or Bruck's for short messages. n: bytes of all that a rank sends.
local function alltoall(m, p, n)
  local pairwise = (p - 1) * m.alpha + (p - 1) / p * n / m.beta
  local bruck = log2(p) * (m.alpha + n / 2 / m.beta)
  return math.min(pairwise, bruck)
end

for name, f in pairs { broadcast = broadcast, allreduce = allreduce, reduce_scatter = reduce_scatter,
  allgather = allgather, alltoall = alltoall } do
  model[name] = checked(f)
end

-- A step of a five-point stencil of side^2 floats per rank, in a square grid of ranks: four halos, two at a time. Of
-- few ranks: in a line, both at a time. m.point: the time of a point, of one rank alone.
function model.stencil(m, p, side)
  local work = side * side * m.point
  local messages = p == 1 and 0 or p < 4 and 1 or 2
  return work + messages * (m.alpha + side * 4 / m.beta)
end

-- The emulation does the work of all ranks one after the other: α for two calls, and every copy and addition.
local serial = {}
function serial.barrier(m, p) return p / 2 * m.alpha end
function serial.broadcast(m, p, n) return p / 2 * m.alpha + (p - 1) * n / m.beta end
function serial.allreduce(m, p, n) return p / 2 * m.alpha + (p - 1) * n * m.gamma + (p + 1) * n / m.beta end
function serial.allgather(m, p, n) return p / 2 * m.alpha + p * p * n / m.beta end
function serial.alltoall(m, p, n) return p * p * m.alpha + p * n / m.beta end
function serial.stencil(m, p, side)
  return p * (side * side * m.point) + 2 * (p - 1) * (m.alpha + side * 4 / m.beta)
end

-- ---- the table ----

local clusters = {
  { name = "HDR InfiniBand, 200 Gbit/s", overhead = 3e-6, alpha = 1.5e-6, beta = 23e9, gamma = 1 / 20e9,
    point = 1 / 2.0e9 },
  { name = "10 Gbit/s Ethernet, TCP", overhead = 3e-6, alpha = 20e-6, beta = 1.15e9, gamma = 1 / 20e9,
    point = 1 / 2.0e9 },
}

local function show(seconds)
  if seconds < 1e-3 then return ("%7.1f µs"):format(seconds * 1e6) end
  if seconds < 1 then return ("%7.2f ms"):format(seconds * 1e3) end
  return ("%7.2f s "):format(seconds)
end

local ranks = { 10, 100, 1000, 10000, 100000 }

local function print_table(m)
  print(("\n%s: o = %.1f µs, α = %.1f µs, β = %.1f GB/s"):format(m.name, m.overhead * 1e6, m.alpha * 1e6,
    m.beta / 1e9))
  local head = ("%-26s"):format "ranks"
  for _, p in ipairs(ranks) do head = head .. ("%11d"):format(p) end
  print(head)
  local rows = {
    { "barrier", "barrier", 0 },
    { "broadcast, 8 bytes", "broadcast", 8 }, { "broadcast, 64 MiB", "broadcast", 2 ^ 26 },
    { "allreduce, 8 bytes", "allreduce", 8 }, { "allreduce, 64 MiB", "allreduce", 2 ^ 26 },
    { "reduce_scatter, 64 MiB", "reduce_scatter", 2 ^ 26 },
    { "allgather, 8 bytes a rank", "allgather", 8 }, { "allgather, 64 KiB a rank", "allgather", 2 ^ 16 },
    { "alltoall, 64 MiB a rank", "alltoall", 2 ^ 26 },
    { "stencil, 1024² a rank", "stencil", 1024 }, { "stencil, 128² a rank", "stencil", 128 },
  }
  for _, row in ipairs(rows) do
    local line = ("%-26s"):format(row[1])
    for _, p in ipairs(ranks) do line = line .. ("%11s"):format(show(model[row[2]](m, p, row[3]))) end
    print(line)
  end
  for _, side in ipairs { 1024, 128 } do
    local line = ("%-26s"):format(("efficiency, %d² a rank"):format(side))
    for _, p in ipairs(ranks) do
      line = line .. ("%9.1f %%"):format(100 * side * side * m.point / model.stencil(m, p, side))
    end
    print(line)
  end
end

-- ---- measured ----

-- The shortest time of some rounds, in seconds a call, of the slowest rank.
local function time(comm, calls, f)
  local best = math.huge
  f()
  for _ = 1, 5 do
    comm:barrier()
    local start = mw.time()
    for _ = 1, calls do f() end
    mw.synchronize()
    best = math.min(best, (mw.time() - start) / calls)
  end
  return comm:allreduce(best, "max")
end

-- o from an operation of one rank alone, α from short messages between two ranks and back, β from long ones that every
-- rank sends to the next at the same time, since the ranks of a host share its memory; γ from additions.
local function measure(comm)
  local word, long, found = mw.zeros(2), mw.zeros(2 ^ 20), mw.zeros(2 ^ 20)
  local alone = comm:split(comm.rank)
  local overhead = time(comm, 200, function() alone:allreduce(word, "sum", { out = word }) end)
  local short = time(comm, 200, function()
    if comm.rank == 0 then
      comm:send(word, 1)
      comm:recv(word, 1)
    elseif comm.rank == 1 then
      comm:recv(word, 0)
      comm:send(word, 0)
    end
  end) / 2
  local shift = time(comm, 10, function()
    comm:sendrecv(long, (comm.rank + 1) % comm.size, found, (comm.rank - 1) % comm.size)
  end)
  local adding = time(comm, 10, function() mw.add(long, found, { out = found }) end)
  return { name = "measured", alone = alone, overhead = overhead, alpha = short, beta = 2 ^ 22 / (shift - short),
    gamma = adding / 2 ^ 22 }
end

local function step(p)
  local n = p.shape[1]
  local sum = p[{ { 1, n - 2 }, { 2, n - 1 } }] + p[{ { 3, n }, { 2, n - 1 } }]
  return sum + p[{ { 2, n - 1 }, { 1, n - 2 } }] + p[{ { 2, n - 1 }, { 3, n } }]
end

local function compare(comm)
  local m, p, emulated = measure(comm), comm.size, rawget(comm, "emulated")
  local predict = emulated and serial or model
  if comm.rank == 0 then
    print(("\n%d ranks, %s: o = %.1f µs, α = %.1f µs, β = %.2f GB/s, γ = %.2f ns/KiB"):format(p,
      emulated and "emulated, one after the other" or "MPI", m.overhead * 1e6, m.alpha * 1e6, m.beta / 1e9,
      m.gamma * 1024 * 1e9))
    print(("%-26s %11s %11s %8s"):format("", "model", "measured", "ratio"))
  end
  local function report(what, name, n, calls, f)
    local predicted, measured = predict[name](m, p, n), time(comm, calls, f)
    if comm.rank == 0 then
      print(("%-26s %11s %11s %8.2f"):format(what, show(predicted), show(measured), measured / predicted))
    end
  end
  report("barrier", "barrier", 0, 100, function() comm:barrier() end)
  for _, n in ipairs { 2 ^ 10, 2 ^ 16, 2 ^ 22 } do
    local calls = n > 2 ^ 20 and 5 or 50
    local a, sum, all = mw.ones(n / 4), mw.ones(n / 4), mw.ones(p, n / 4)
    local rows, swapped = mw.ones(p, math.floor(n / 4 / p)), mw.ones(p, math.floor(n / 4 / p))
    local text = ", " .. (n < 2 ^ 20 and n / 2 ^ 10 .. " KiB" or n / 2 ^ 20 .. " MiB"):gsub("%.0", "")
    report("broadcast" .. text, "broadcast", n, calls, function() comm:broadcast(a, 0) end)
    report("allreduce" .. text, "allreduce", n, calls, function() comm:allreduce(a, "sum", { out = sum }) end)
    report("allgather" .. text, "allgather", n, calls, function() comm:allgather(a, { out = all }) end)
    report("alltoall" .. text, "alltoall", rows.nbytes, calls, function() comm:alltoall(rows, { out = swapped }) end)
  end
  for _, side in ipairs { 128, 512 } do
    local d = mw.dist.full(mw.dist.layout(comm, { side * p, side }), 1)
    local tile = mw.dist.full(mw.dist.layout(m.alone, { side, side }), 1)
    m.point = time(comm, 10, function() tile:stencil(1, step) end) / side ^ 2 / (emulated and p or 1)
    report(("stencil, %d² a rank"):format(side), "stencil", side, 10, function() d:stencil(1, step) end)
  end
end

local started = os.getenv "OMPI_COMM_WORLD_SIZE" or os.getenv "PMI_SIZE" or os.getenv "PMIX_RANK"
if started then
  local comm = mw.mpi.world()
  if comm.rank == 0 then
    for _, m in ipairs(clusters) do print_table(m) end
  end
  compare(comm)
else
  for _, m in ipairs(clusters) do print_table(m) end
  for _, p in ipairs { 2, 4 } do mw.nccl.run(p, compare) end
end
