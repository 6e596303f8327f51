-- Collective operations, compared with what each rank computes by itself.

local mpi = require "support.mpi.ranks"

describe("collective operations", function()
  local test = mpi.tests(it, pending)

  test("reduce, scan and gather on any number of ranks", function(run)
    for _, ranks in ipairs(mpi.ranks) do
      mpi.assert_good(run(ranks, [[
        local r, n = comm.rank, comm.size
        local total = n * (n - 1) / 2
        local function same(a, list)
          assert(a.count == #list)
          for i, x in ipairs(a:totable()) do assert(x == list[i], ("%g instead of %g"):format(x, list[i])) end
        end
        for _, dtype in ipairs { "float", "int", "half", "longlong", "uchar" } do
          local a = mw.array({ r, 2 * r + 1 }, dtype)
          same(comm:allreduce(a), { total, 2 * total + n })
          same(comm:allreduce(a, "max"), { n - 1, 2 * n - 1 })
          same(comm:scan(a), { r * (r + 1) / 2, r * (r + 1) + r + 1 })
          same(comm:exscan(a), { r * (r - 1) / 2, r * (r - 1) + r })
          comm:allreduce(a, "sum", { out = a })
          same(a, { total, 2 * total + n })
        end
        for root = 0, n - 1 do
          local sum = comm:reduce(r, "sum", root)
          assert(sum == (r == root and total or nil))
          local all = comm:gather(mw.full(3, r), root)
          if r == root then assert(all.shape[1] == n and all:get(n, 3) == n - 1) else assert(all == nil) end
          local a = mw.full(3, r)
          comm:broadcast(a, root)
          assert(a[3] == root)
          assert(comm:broadcast(r == root and { "from", root } or nil, root)[2] == root)
        end
        assert(comm:allreduce(mw.complex and r + 1, "mean") == (n + 1) / 2)
        same(comm:allreduce(mw.array({ 1 << r }, "int"), "bor"), { (1 << n) - 1 })
        local names = comm:allgather("rank " .. r)
        assert(#names == n and names[n] == "rank " .. n - 1)
        io.write "good\n"
      ]]), ranks)
    end
  end)

  test("exchange rows, also of different sizes", function(run)
    for _, ranks in ipairs { 1, 3, 4 } do
      mpi.assert_good(run(ranks, [[
        local r, n = comm.rank, comm.size
        local sent = mw.zeros({ n, 2 }, "int")
        for i = 1, n do sent[i] = { r, i - 1 } end
        local got = comm:alltoall(sent)
        for i = 1, n do assert(got:get(i, 1) == i - 1 and got:get(i, 2) == r) end
        local part = comm:reduce_scatter(sent)
        assert(part[1] == n * (n - 1) / 2 and part[2] == n * r)
        local row = comm:scatter(r == 0 and sent or nil)
        assert(row[1] == 0 and row[2] == r)
        -- rank r has r + 1 rows
        local mine = mw.full({ r + 1, 2 }, r, "double")
        local all, rows = comm:allgatherv(mine)
        assert(all.shape[1] == n * (n + 1) / 2 and rows[n] == n and all:get(all.shape[1], 2) == n - 1)
        local joined, counts = comm:gatherv(mine, n - 1)
        assert((joined ~= nil) == (r == n - 1))
        local back = comm:scatterv(joined, counts, n - 1)
        assert(back.shape[1] == r + 1 and back:min() == r and back:max() == r)
        -- rank r sends k rows to rank k
        local numbers, at = {}, 0
        for k = 0, n - 1 do numbers[k + 1], at = k, at + k end
        local received, from = comm:alltoallv(mw.full({ at, 3 }, r), numbers)
        assert(received.shape[1] == n * r and from[1] == r)
        if r > 0 then assert(received:get(1, 1) == 0 and received:get(n * r, 3) == n - 1) end
        io.write "good\n"
      ]]), ranks)
    end
  end)

  test("take operators in CUDA C, in the order of the ranks", function(run)
    for _, ranks in ipairs { 2, 3, 7 } do
      mpi.assert_good(run(ranks, [[
        -- a * 10 + b does not commute. Of one digit each it is not associative either, unless the left one is a digit
        -- string: pairs (value, scale) compose affine maps.
        local m = mw.array({ comm.rank + 1 }, "double")
        local first = comm:allreduce(m, "a + 0 * b")
        assert(first[1] == 1)
        local last = comm:allreduce(m, "0 * a + b")
        assert(last[1] == comm.size)
        assert(comm:scan(m, "0 * a + b")[1] == comm.rank + 1)
        assert(comm:exscan(m, "a + 0 * b")[1] == (comm.rank > 0 and 1 or 0))
        assert(comm:reduce(m, "fmax(a, b)", comm.size - 1) == nil or comm.rank == comm.size - 1)
        io.write "good\n"
      ]]), ranks)
    end
  end)

  test("of parts of the ranks", function(run)
    mpi.assert_good(run(4, [[
      local half = comm:split(comm.rank % 2, -comm.rank)
      assert(half.size == 2 and half.rank == (comm.rank < 2 and 1 or 0))
      assert(half:allreduce(comm.rank) == (comm.rank % 2 == 0 and 2 or 4))
      local none = comm:split(comm.rank > 0 and 0 or nil)
      assert((none == nil) == (comm.rank == 0))
      assert(comm:split "host".size == 4)
      local copy = comm:dup()
      copy:send("a", comm.rank, 1)
      assert(comm:iprobe() == nil and copy:recv() == "a")
      half:free()
      copy:free()
      copy:free()
      local ok, err = pcall(function() half:barrier() end)
      assert(not ok and tostring(err):find "this communicator was closed", tostring(err))
      io.write "good\n"
    ]]), 4)
  end)
end)
