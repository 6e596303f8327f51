-- Weak scaling of the heat equation: every rank has a tile of `side`² cells, and exchanges halos with its neighbours
-- while it computes the cells inside, then those at the border. Steps of whole tiles without messages are what
-- independent processes reach, in the same run. With bench/mpi/peer.c as a library, two ranks also do what a plain
-- program in C does: MPI_Sendrecv, then a step of the whole tile, which is waited for.
--   mpirun -n 2 lua5.4 bench/distributed/scaling.lua [side [/tmp/peer.so]]

local mw = require "moonwarp"
mw.use "cpu"
local comm = mw.mpi.world()
local grid = comm:cartesian { 0, 0 }
local side = tonumber(arg and arg[1]) or 2048
local STEPS, ROUNDS = 10, 40

local m = mw.compile [==[
__device__ void cell(const float *u, float *v, int pitch, int x, int y) {
  int i = y * pitch + x;
  v[i] = u[i] + 0.2f * (u[i - 1] + u[i + 1] + u[i - pitch] + u[i + pitch] - 4 * u[i]);
}

// The cells of the columns x0 to x1 and the rows y0 to y1, less the last of each.
__global__ void step(const float *u, float *v, int side, int x0, int x1, int y0, int y1) {
  int x = x0 + blockIdx.x * blockDim.x + threadIdx.x, y = y0 + blockIdx.y * blockDim.y + threadIdx.y;
  if (x < x1 && y < y1) cell(u, v, side + 2, x, y);
}

// The cells at the sides with a neighbour: below and above along y, then along x.
__global__ void border(const float *u, float *v, int side, int y0, int y1, int x0, int x1) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= side) return;
  if (y0) cell(u, v, side + 2, i + 1, 1);
  if (y1) cell(u, v, side + 2, i + 1, side);
  if (x0) cell(u, v, side + 2, 1, i + 1);
  if (x1) cell(u, v, side + 2, side, i + 1);
}
]==]

-- 1 for each side with a neighbour, whose cells wait for the halo, else 0.
local function has_neighbour(axis, which) return (select(which, grid:shift(axis))) and 1 or 0 end
local y0, y1 = has_neighbour(1, 1), has_neighbour(1, 2)
local x0, x1 = has_neighbour(2, 1), has_neighbour(2, 2)
local blocks = { mw.cdiv(side, 32), mw.cdiv(side, 8) }
local u, v = mw.zeros { side + 2, side + 2 }, mw.zeros { side + 2, side + 2 }
u[{ { 2, side + 1 }, { 2, side + 1 } }] = grid.rank + 1

-- The cells to send and the halo at each of the four sides.
local function sides(a)
  local inner = { 2, side + 1 }
  return { a[{ 2, inner }], a[{ side + 1, inner }], a[{ inner, 2 }], a[{ inner, side + 1 }] },
    { a[{ 1, inner }], a[{ side + 2, inner }], a[{ inner, 1 }], a[{ inner, side + 2 }] }
end

local u_send, u_receive = sides(u)
local v_send, v_receive = sides(v)

-- ---- steps ----

local function alone() m.step(blocks, { 32, 8 })(u, v, side, 1, side + 1, 1, side + 1) end

local function with_halos()
  local exchange = grid:ineighbour_alltoall(u_send, u_receive)
  m.step(blocks, { 32, 8 })(u, v, side, 1 + x0, side + 1 - x1, 1 + y0, side + 1 - y1)
  exchange:wait()
  m.border(mw.cdiv(side, 128), 128)(u, v, side, y0, y1, x0, x1)
end

local path = arg and arg[2]
local sendrecv = path and comm.size == 2 and assert(package.loadlib(path, "sendrecv"))

-- Rank 0 has the lower tile: its last row goes up.
local function in_c()
  local row, halo = 1 + (side - 1) * y1, (side + 1) * y1
  sendrecv(u.address + 4 * (row * (side + 2) + 1), u.address + 4 * (halo * (side + 2) + 1), 4 * side, 1 - comm.rank)
  alone()
  mw.synchronize()
end

-- ---- measurement ----

-- Seconds a step, of the slowest rank.
local function time(step)
  comm:barrier()
  local start = mw.time()
  for _ = 1, STEPS do
    step()
    u, v = v, u
    u_send, u_receive, v_send, v_receive = v_send, v_receive, u_send, u_receive
  end
  mw.synchronize()
  return comm:allreduce(mw.time() - start, "max") / STEPS
end

local function quantile(list, q)
  table.sort(list)
  return list[math.max(1, math.ceil(q * #list))]
end

-- Alternately. On a shared machine other load disturbs some rounds, so both the least of each and the median of the
-- rounds' ratios are printed.
local steps, names = { alone, with_halos, sendrecv and in_c }, { "alone", "with halos", "MPI_Sendrecv in C" }
local times, ratios = {}, {}
for i, step in ipairs(steps) do
  time(step)
  times[i], ratios[i] = {}, {}
end
for round = 1, ROUNDS do
  for i, step in ipairs(steps) do
    times[i][round] = time(step)
    ratios[i][round] = times[1][round] / times[i][round]
  end
end
if comm.rank == 0 then
  print(("%d ranks, %d² cells a rank"):format(comm.size, side))
  local least = quantile(times[1], 0)
  for i in ipairs(steps) do
    print(("%-18s %8.1f µs a step, efficiency %.3f; median efficiency %.3f"):format(names[i],
      quantile(times[i], 0) * 1e6, least / quantile(times[i], 0), quantile(ratios[i], 0.5)))
  end
end
