-- Weak scaling of the heat equation: every rank has a tile of `side`² cells, and exchanges halos with its neighbours
-- while it computes the cells inside, then those at the border. Steps of whole tiles without messages are what
-- independent processes reach, in the same run.
--   mpirun -n 2 lua5.4 bench/distributed/scaling.lua [side]

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

// The cells that are `margin` or more away from the sides.
__global__ void step(const float *u, float *v, int side, int margin) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < side - 2 * margin && y < side - 2 * margin) cell(u, v, side + 2, x + 1 + margin, y + 1 + margin);
}

// The cells at the four sides.
__global__ void border(const float *u, float *v, int side) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= side) return;
  cell(u, v, side + 2, i + 1, 1);
  cell(u, v, side + 2, i + 1, side);
  cell(u, v, side + 2, 1, i + 1);
  cell(u, v, side + 2, side, i + 1);
}
]==]

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

-- Seconds a step, of the slowest rank.
local function time(exchanges)
  comm:barrier()
  local start = mw.time()
  for _ = 1, STEPS do
    if exchanges then
      local exchange = grid:ineighbour_alltoall(u_send, u_receive)
      m.step(blocks, { 32, 8 })(u, v, side, 1)
      exchange:wait()
      m.border(mw.cdiv(side, 128), 128)(u, v, side)
    else
      m.step(blocks, { 32, 8 })(u, v, side, 0)
    end
    u, v = v, u
    u_send, u_receive, v_send, v_receive = v_send, v_receive, u_send, u_receive
  end
  mw.synchronize()
  return comm:allreduce(mw.time() - start, "max") / STEPS
end

-- Alternately, and the best of each: on a shared machine other load disturbs some rounds.
time(false)
time(true)
local alone, together = math.huge, math.huge
for _ = 1, ROUNDS do
  alone = math.min(alone, time(false))
  together = math.min(together, time(true))
end
if comm.rank == 0 then
  print(("%2d ranks, %d² cells a rank: %8.1f µs a step alone, %8.1f µs with halos, efficiency %.3f"):format(comm.size,
    side, alone * 1e6, together * 1e6, alone / together))
end
