-- Grids of processes, compared with their arithmetic.

local mpi = require "support.mpi.ranks"

describe("a grid of processes", function()
  local test = mpi.tests(it, pending)

  test("knows its neighbours, and exchanges with them", function(run)
    for _, ranks in ipairs { 1, 2, 4, 6 } do
      local result = run(ranks, [[
        local grid = comm:cartesian({ 0, 0 }, { periodic = { true, false } })
        local rows, columns = grid.dims[1], grid.dims[2]
        assert(rows * columns == comm.size and rows >= columns)
        local y, x = grid.coordinates[1], grid.coordinates[2]
        assert(grid.rank == y * columns + x and grid:rank_at { y, x } == grid.rank)
        local below, above = grid:shift(1)
        assert(below == (y - 1) % rows * columns + x and above == (y + 1) % rows * columns + x)
        below, above = grid:shift(2)
        assert(below == (x > 0 and grid.rank - 1 or nil) and above == (x + 1 < columns and grid.rank + 1 or nil))
        local send, receive = {}, {}
        for i = 1, 4 do send[i], receive[i] = mw.full(3, 10 * grid.rank + i), mw.full(3, -1) end
        grid:neighbour_alltoall(send, receive)
        local expected = { (y - 1) % rows * columns + x, (y + 1) % rows * columns + x,
          x > 0 and grid.rank - 1 or nil, nil }
        if x + 1 < columns then expected[4] = grid.rank + 1 end
        local other = { 2, 1, 4, 3 }
        local values = grid:neighbour_allgather("of " .. grid.rank)
        for i = 1, 4 do
          assert(receive[i]:min() == (expected[i] and 10 * expected[i] + other[i] or -1))
          assert(values[i] == (expected[i] and "of " .. expected[i] or nil))
        end
        io.write "good\n"
      ]])
      local _, count = result.output:gsub("good\n", "")
      assert.equal(ranks, count, result.output)
    end
  end)

  test("exchanges the sides of a tile, strided ones too, short and long", function(run)
    local result = run(4, [[
      local grid = comm:cartesian({ 2, 2 }, { periodic = true })
      for _, side in ipairs { 3, 1100 } do
        local u, inner = mw.full({ side + 2, side + 2 }, -1), { 2, side + 1 }
        u[{ inner, inner }] = mw.arange(side * side):reshape { side, side } + 0.1 * grid.rank
        local before = u:copy()
        local function sides(inside, last)
          return { u[{ inside, inner }], u[{ last, inner }], u[{ inner, inside }], u[{ inner, last }] }
        end
        if side == 3 then
          grid:neighbour_alltoall(sides(2, side + 1), sides(1, side + 2))
        else
          local exchange = grid:ineighbour_alltoall(sides(2, side + 1), sides(1, side + 2))
          repeat until exchange:test()
          exchange:wait()
        end
        local down, right = grid:shift(1), grid:shift(2)
        -- What the ranks below and above (the same one here) have differs from ours by a tenth of the ranks' distance.
        local function check(to, from, other)
          assert((to - from - 0.1 * (other - grid.rank)):abs():max() < 0.01 * side)
          assert(((to - from):round()):abs():max() == 0)
        end
        check(u[{ 1, inner }], before[{ side + 1, inner }], down)
        check(u[{ side + 2, inner }], before[{ 2, inner }], down)
        check(u[{ inner, 1 }], before[{ inner, side + 1 }], right)
        check(u[{ inner, side + 2 }], before[{ inner, 2 }], right)
        u[{ inner, 1 }], u[{ inner, side + 2 }], u[{ 1, inner }], u[{ side + 2, inner }] = -1, -1, -1, -1
        assert((u - before):abs():max() == 0) -- nothing else was written
      end
      io.write "good\n"
    ]])
    local _, count = result.output:gsub("good\n", "")
    assert.equal(4, count, result.output)
  end)

  test("leaves out ranks, and refuses what does not fit", function(run)
    local result = run(3, [[
      local grid = comm:cartesian { 2 }
      assert((grid == nil) == (comm.rank == 2))
      local ok, err = pcall(function() comm:cartesian { 2, 2 } end)
      assert(not ok and tostring(err):find "a grid of 2 × 2 does not fit 3 ranks")
      ok, err = pcall(function() comm:shift(1) end)
      assert(not ok and tostring(err):find "is not a grid")
      io.write "good\n"
    ]])
    local _, count = result.output:gsub("good\n", "")
    assert.equal(3, count, result.output)
  end)
end)
