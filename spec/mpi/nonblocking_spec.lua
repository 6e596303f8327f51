-- Collective operations that do not wait, compared with what each rank computes by itself.

local mpi = require "support.mpi.ranks"

describe("collective operations that do not wait", function()
  local test = mpi.tests(it, pending)

  test("have the results of those that do, on any number of ranks", function(run)
    for _, ranks in ipairs(mpi.ranks) do
      mpi.assert_good(run(ranks, [[
        local r, n = comm.rank, comm.size
        local total = n * (n - 1) / 2
        local function same(a, list)
          assert(a.count == #list, a.count)
          for i, x in ipairs(a:reshape(#list):totable()) do
            assert(x == list[i], ("%g instead of %g"):format(x, list[i]))
          end
        end
        comm:ibarrier():wait()
        for _, dtype in ipairs { "float", "half", "longlong" } do
          local a = mw.array({ r, 2 * r + 1 }, dtype)
          local all, scan, exscan = comm:iallreduce(a), comm:iscan(a), comm:iexscan(a)
          local most, last = comm:iallreduce(a, "max"), comm:ireduce(a, "sum", n - 1)
          same(exscan:wait(), { r * (r - 1) / 2, r * (r - 1) + r })
          same(all:wait(), { total, 2 * total + n })
          same(scan:wait(), { r * (r + 1) / 2, r * (r + 1) + r + 1 })
          same(most:wait(), { n - 1, 2 * n - 1 })
          local sum = last:wait()
          if r == n - 1 then same(sum, { total, 2 * total + n }) else assert(sum == nil) end
          comm:iallreduce(a, "sum", { out = a }):wait()
          same(a, { total, 2 * total + n })
        end
        assert(comm:iallreduce(r + 1, "mean"):wait() == (n + 1) / 2)
        local m = mw.array({ r + 1 }, "double")
        same(comm:iallreduce(m, "0 * a + b"):wait(), { n })
        same(comm:iscan(m, "a + 0 * b"):wait(), { 1 })
        local root = n - 1
        local a, rows = mw.full(3, r), mw.full({ n, 2 }, r, "int")
        local requests = { comm:ibroadcast(a, root), comm:igather(mw.full({ 1, 2 }, r), root), comm:iallgather(rows),
          comm:ialltoall(rows), comm:ireduce_scatter(rows), comm:ireduce_scatter(rows, "a > b ? a : b") }
        mw.mpi.wait(requests)
        assert(a:min() == root and requests[1]:wait() == a)
        local stack = requests[2]:wait()
        if r == root then assert(stack.shape[1] == n and stack:get(n, 1, 2) == root) else assert(stack == nil) end
        local all = requests[3]:wait()
        for i = 1, n do assert(all:get(i, 1, 1) == i - 1) end
        local list = {}
        for i = 1, n do list[2 * i - 1], list[2 * i] = i - 1, i - 1 end
        same(requests[4]:wait(), list)
        same(requests[5]:wait(), { total, total })
        same(requests[6]:wait(), { n - 1, n - 1 })
        io.write "good\n"
      ]]), ranks)
    end
  end)

  test("exchange rows of different sizes", function(run)
    for _, ranks in ipairs { 1, 3, 4 } do
      mpi.assert_good(run(ranks, [[
        local r, n = comm.rank, comm.size
        local counts, at = {}, 0
        for k = 1, n do counts[k], at = k, at + k end
        local mine = mw.full({ r + 1, 2 }, r, "double")
        local all, one = comm:iallgatherv(mine, counts), comm:igatherv(mine, counts, n - 1)
        local joined = one:wait()
        assert((joined ~= nil) == (r == n - 1))
        local back = mw.zeros({ r + 1, 2 }, "double")
        assert(comm:iscatterv(joined, counts, back, n - 1):wait() == back)
        assert(back:min() == r and back:max() == r)
        all = all:wait()
        assert(all.shape[1] == at and all:get(at, 2) == n - 1 and all:get(1, 1) == 0)
        local row = mw.zeros({ 2 }, "double")
        comm:iscatter(r == 0 and mw.arange(2 * n, "double"):reshape(n, 2) or nil, row):wait()
        assert(row[1] == 2 * r and row[2] == 2 * r + 1)
        local received = {}
        for k = 1, n do received[k] = r + 1 end
        local got = comm:ialltoallv(mw.full({ at, 3 }, r), counts, received):wait()
        assert(got.shape[1] == n * (r + 1) and got:get(1, 1) == 0 and got:get(n * (r + 1), 3) == n - 1)
        io.write "good\n"
      ]]), ranks)
    end
  end)

  test("go on while the script does something else, and before those that wait", function(run)
    mpi.assert_good(run(3, [[
      local r = comm.rank
      local a = mw.full(100000, r + 1)
      local sum = comm:iallreduce(a)
      local ring = comm:sendrecv(mw.full(5000, r), (r + 1) % 3, mw.empty(5000), (r - 1) % 3)
      assert(ring:max() == (r - 1) % 3)
      assert(comm:allreduce(r) == 3)          -- begun later, done before
      local half = comm:split(r % 2)
      local tests = 0
      while not sum:test() do tests = tests + 1 end
      assert(sum:wait():min() == 6)
      assert(half:iallreduce(1):wait() == half.size)
      local view = mw.zeros(3, 2)
      comm:iallreduce(mw.full(3, 2), "sum", { out = view[{ {}, 1 }] }):wait()
      assert(view:sum() == 18)
      io.write "good\n"
    ]]), 3)
  end)

  test("keep their arrays, whatever the script lets go of", function(run)
    mpi.assert_good(run(2, [[
      local out = mw.zeros(200000)
      local request = comm:iallreduce((mw.full(200000, comm.rank + 1)), "sum", { out = out })
      for _ = 1, 3 do collectgarbage() mw.full(200000, 7) end
      assert(request:wait():max() == 3 and out:min() == 3)
      local a = mw.full(200000, 1)
      local later = comm:iallreduce(a)
      a:free()
      mw.full(200000, 9)
      assert(later:wait():max() == 2)
      comm:iallreduce(mw.full(1000, 1)) -- no wait follows
      io.write "good\n"
    ]]), 2)
  end)

  test("that are different are an error of the request on every rank that names each rank's line", function(run)
    local result = run(3, [[
      local request
      if comm.rank == 1 then
        request = comm:ibroadcast(mw.zeros(4), 0)
      else
        request = comm:iallreduce(mw.zeros(4))
      end
      local ok, err = pcall(request.wait, request)
      assert(not ok)
      io.write(tostring(err), "\n--\n")
      local ok, err = pcall(function()
        if comm.rank == 2 then comm:iallreduce(1):wait() else comm:allreduce(mw.zeros(3)) end
      end)
      assert(not ok)
      io.write(tostring(err), "\n--\n")
      comm:barrier()
    ]])
    local _, count = result.output:gsub("the ranks call different collective operations", "")
    assert.equal(6, count, result.output)
    assert.matches("rank 0: [^\n]+:7: allreduce of float {4} by sum", result.output)
    assert.matches("rank 1: [^\n]+:5: broadcast of float {4} from rank 0", result.output)
    assert.matches("rank 2: [^\n]+:13: allreduce of double {1} by sum", result.output)
    assert.is_true(result.ok, result.output)
  end)

  test("that one rank never begins are a deadlock that names where each rank is", function(run)
    local output = mpi.deadlock(run, 2, "if r == 0 then comm:iallreduce(1):wait() else comm:recv(0) end")
    assert.matches("rank 0: [^\n]+:4: allreduce of double {1} by sum", output)
    assert.matches("rank 1: [^\n]+:4: receiving from rank 0", output)
  end)

  test("say what is wrong with their arguments", function(run)
    local result = run(1, [[
      for _, f in ipairs {
        function() comm:iallreduce "text" end,
        function() comm:iallgatherv(mw.zeros(3), { 2 }) end,
        function() comm:ialltoall(mw.zeros { 2, 2 }) end,
        function() comm:ibroadcast(mw.zeros(3), 1) end,
        function() comm:iscatter(mw.zeros { 1, 3 }, mw.zeros(2)) end,
      } do
        local ok, err = pcall(f)
        io.write(tostring(ok), " ", tostring(err), "\n")
      end
    ]])
    assert.matches(":4: comm:iallreduce wants an array, got the string \"text\"", result.output)
    assert.matches(":5: comm:iallgatherv wants the rows of each of the 1 ranks, and this rank's are 3", result.output)
    assert.matches(":6: comm:ialltoall: the first axis is the rank, so it has 1 rows; this array is float {2, 2}",
      result.output)
    assert.matches(":7: comm:ibroadcast: the root is the number 1", result.output)
    assert.matches(":8: comm:iscatter: out is float {2}, and this rank's rows are 1 of float {n, 3}", result.output)
  end)
end)
