-- K-means on a file that no rank reads as a whole: each rank reads its own rows, and only the sums and counts of the
-- clusters travel.
--   lua5.4 examples/distributed/kmeans.lua                          (four emulated ranks)
--   mpirun -n 8 lua5.4 examples/distributed/kmeans.lua points.npy 8

local mw = require "moonwarp"
local examples = (arg[0]:match "^(.*/)" or "./") .. "../"
local ranks = dofile(examples .. "support/ranks.lua")

local path, k = arg[1] or examples .. "out/points.npy", tonumber(arg[2] or 5)

-- Points around the corners of a pentagon, written by all ranks together.
local function write_points(comm, n)
  local layout = mw.dist.layout(comm, { n, 2 })
  local noise = mw.dist.normal(layout, mw.random(3), { std = 0.5 })
  local corner = (mw.dist.positions(layout, 1) - 1) % 5 * (2 * math.pi / 5)
  local is_x = mw.array({ 1, 0 }, "double")
  local place = (corner:cos() * is_x + corner:sin() * (1 - is_x)) * 4
  if comm.rank == 0 then os.execute("mkdir -p '" .. path:match "^(.*)/" .. "'") end
  comm:barrier()
  local points = noise + place:to "float"
  points:save_npy(path)
end

ranks(function(comm)
  local function report(...)
    if comm.rank == 0 then print(...) end
  end
  if not arg[1] then write_points(comm, 20000) end

  local shape = mw.dist.npy_shape(path)
  local d = mw.dist.load_npy(comm, path)
  local points, rows = d.part, d.part.shape[1]
  report(("%d points of %d numbers"):format(shape[1], shape[2]))       --> 20000 points of 2 numbers

  -- |p - c|^2 = |p|^2 - 2 p.c + |c|^2: all distances come from one product of matrices.
  local squares = (points * points):sum { axis = 2, keepdims = true }
  local function nearest_to(centres)
    local distances = squares - points:mm(centres:transpose()) * 2 + (centres * centres):sum { axis = 2 }
    return distances:argmin { axis = 2 }, distances:min { axis = 2 }:sum()
  end

  -- The first centres are the first rows of the file, which rank 0 has.
  local centres = comm.rank == 0 and points[{ { 1, k }, {} }]:copy() or mw.zeros(k, shape[2])
  comm:broadcast(centres, 0)

  local before, spread
  for step = 1, 50 do
    local nearest, own = nearest_to(centres)
    local counts = nearest:bincount { minlength = k + 1 }:sub(2, k + 1):to "float"
    local sums = mw.zeros(k, shape[2]):scatter_add(1, nearest:expand(2):broadcast_to { rows, shape[2] }, points)
    counts, sums = comm:allreduce(counts):reshape(k, 1), comm:allreduce(sums)
    before, spread = spread, comm:allreduce(own) / shape[1]
    centres = mw.where(counts:gt(0), sums / counts:maximum(1), centres)
    if before and before - spread < 1e-6 * spread then
      report(("mean squared distance %.2f, after less than 50 steps: %s"):format(spread, tostring(step < 50)))
      break
    end
  end
  --> mean squared distance 0.50, after less than 50 steps: true

  -- Every centre is near a corner of the pentagon, whose radius is 4.
  local radius = (centres * centres):sum({ axis = 2 }):sqrt()
  report((radius - 4):abs():max() < 0.05)                               --> true
end)
