-- Windows: arrays of each rank that others read and write, compared with what each rank can compute by itself.

local mpi = require "support.mpi.ranks"

describe("a window", function()
  local test = mpi.tests(it, pending)

  test("is read, written and added to between fences", function(run)
    for _, ranks in ipairs(mpi.ranks) do
      mpi.assert_good(run(ranks, [[
        local r, n = comm.rank, comm.size
        local right, left = (r + 1) % n, (r - 1) % n
        local a = mw.full(6, r, "double")
        local win = comm:window(a)
        win:fence()
        win:put(mw.array({ 10 * r, 10 * r + 1 }, "double"), right, 3)
        win:fence()
        assert(a[3] == 10 * left and a[4] == 10 * left + 1 and a[2] == r and a[5] == r)
        local all, view = mw.zeros(6, "double"), mw.zeros({ 2, 2 }, "double")
        win:get(all, left)
        win:get(view[{ {}, 2 }], right, 5)
        win:fence()
        assert(all[1] == left and all[3] == 10 * ((left - 1) % n) and view:sum() == 2 * right)
        for rank = 0, n - 1 do win:accumulate(r + 1, rank, "sum", 1) win:accumulate(r, rank, "max", 2) end
        win:fence(true)
        assert(a[1] == r + n * (n + 1) / 2 and a[2] == n - 1)
        win:free()
        win:free()
        io.write "good\n"
      ]]), ranks)
    end
  end)

  test("is a counter and a lock of all ranks", function(run)
    for _, ranks in ipairs { 1, 3, 4 } do
      mpi.assert_good(run(ranks, [[
        local r, n = comm.rank, comm.size
        local a = mw.zeros(r == 0 and 3 or 0, "int")
        local win = comm:window(a)
        local tickets = {}
        win:lock_all()
        for _ = 1, 5 do tickets[#tickets + 1] = win:fetch_and_op(1, 0) end
        win:unlock_all()
        local all = comm:allgather(tickets)
        local seen = {}
        for _, list in ipairs(all) do
          for _, ticket in ipairs(list) do
            assert(not seen[ticket])
            seen[ticket] = true
          end
        end
        for ticket = 0, 5 * n - 1 do assert(seen[ticket]) end
        -- The first to swap 0 for its number wins.
        win:lock(0, "shared")
        local before = win:compare_and_swap(0, r + 1, 0, 2)
        win:unlock(0)
        comm:barrier()
        local now = mw.zeros(1, "int")
        win:lock(0, "shared")
        win:get(now, 0, 2)
        win:flush(0)
        assert(now[1] >= 1 and now[1] <= n and (before == 0) == (now[1] == r + 1))
        local old = mw.zeros(1, "int")
        win:get_accumulate(0, old, 0, "no_op", 1)
        win:unlock(0)
        assert(old[1] == 5 * n)
        -- Under an exclusive lock a read and a write are one.
        comm:barrier()
        for _ = 1, 3 do
          local x = mw.zeros(1, "int")
          win:lock(0)
          win:get(x, 0, 3)
          win:flush(0)
          win:put(x + 1, 0, 3)
          win:unlock(0)
        end
        comm:barrier()
        win:lock(0, "shared")
        win:get(now, 0, 3)
        win:unlock(0)
        assert(now[1] == 3 * n)
        win:free()
        io.write "good\n"
      ]]), ranks)
    end
  end)

  test("is open to ranks that start while it is posted", function(run)
    mpi.assert_good(run(3, [[
      local r, n = comm.rank, comm.size
      local a = mw.full(4, -1)
      local win = comm:window(a)
      if r == 0 then
        win:post { 1, 2 }
        win:wait()
        assert(a[1] == 1 and a[2] == 2 and a[3] == -1)
      else
        win:start { 0 }
        win:put(r, 0, r)
        win:complete()
      end
      comm:barrier()
      win:free()
      io.write "good\n"
    ]]), 3)
  end)

  test("has what a kernel wrote before, and is kept though the script lets it go", function(run)
    mpi.assert_good(run(2, [[
      local m = mw.compile "__global__ void f(float *p, int n) { for (int k = 0; k < n; k++) p[threadIdx.x] += 1; }"
      local a = mw.zeros(64)
      local win = comm:window(a)
      win:fence()
      m.f(1, 64)(a, 100000)
      win:fence()
      local b = mw.zeros(64)
      win:get(b, 1 - comm.rank)
      win:fence()
      assert(b:min() == 100000)
      a:free()
      win.array, a = nil, nil
      for _ = 1, 3 do collectgarbage() mw.full(64, 7) end
      win:get(b, 1 - comm.rank)
      win:fence()
      assert(b:min() == 100000)
      local lost = comm:window(mw.zeros(5))
      lost = nil
      collectgarbage()
      io.write "good\n"
    ]]), 2)
  end)

  test("locks arrays for one rank or shares them", function(run)
    for _, ranks in ipairs { 2, 4 } do
      mpi.assert_good(run(ranks, [[
        local r, n = comm.rank, comm.size
        -- Rank 0's array: the number of ranks inside, and how often there was more than one.
        local a = mw.zeros(r == 0 and 3 or 0, "int")
        local win, x = comm:window(a), mw.zeros(3, "int")
        for i = 1, 20 do
          win:lock(0)
          win:get(x, 0)
          win:flush(0)
          win:put(mw.array({ x[1] + 1, x[2] + (x[1] ~= 0 and 1 or 0), x[3] + 1 }, "int"), 0)
          win:flush(0)
          win:put(x[1], 0)
          win:unlock(0)
          if i % 3 == r % 3 then
            win:lock_all()
            win:get(x, 0)
            win:unlock_all()
            assert(x[1] == 0 and x[2] == 0)
          end
        end
        comm:barrier()
        win:lock(0, "shared")
        comm:barrier() -- with all of them inside
        win:get(x, 0)
        win:unlock(0)
        assert(x[1] == 0 and x[2] == 0 and x[3] == 20 * n)
        win:free()
        io.write "good\n"
      ]]), ranks)
    end
  end)

  test("is posted and started for again and again, by pairs of ranks", function(run)
    mpi.assert_good(run(4, [[
      local r, n = comm.rank, comm.size
      local a = mw.zeros(n, "int")
      local win = comm:window(a)
      local right, left = (r + 1) % n, (r - 1) % n
      for i = 1, 10 do
        win:post { left }
        win:start { right }
        win:put(100 * i + r, right, r + 1)
        win:complete()
        win:wait()
        assert(a[left + 1] == 100 * i + left)
      end
      comm:barrier()
      win:free()
      io.write "good\n"
    ]]), 4)
  end)

  -- Each rank waits within an epoch for a call that another rank never makes.
  local function deadlock(run, ranks, text)
    return mpi.deadlock(run, ranks, text, "local win = comm:window(mw.zeros(4))")
  end

  test("tells all ranks where they wait for locks of each other", function(run)
    local output = deadlock(run, 2, [[
        win:lock(r)
        comm:barrier()
        win:lock(1 - r)]])
    assert.matches("rank 0: [^\n]+:6: locking rank 1's array of a window", output)
    assert.matches("rank 1: [^\n]+:6: locking rank 0's array of a window", output)
  end)

  test("tells all ranks where they wait for posts and for a lock of all", function(run)
    local output = deadlock(run, 3, [[
        if r == 0 then win:start { 1 } end
        if r == 1 then win:lock(0) comm:send("locked", 2) comm:recv(2) end
        if r == 2 then comm:recv(1) win:lock_all() end]])
    assert.matches("rank 0: [^\n]+:4: starting accesses to ranks that have not posted", output)
    assert.matches("rank 1: [^\n]+:5: receiving from rank 2", output)
    assert.matches("rank 2: [^\n]+:6: locking all arrays of a window", output)
  end)

  test("refuses what is not in an epoch or past its end, by name", function(run)
    local result = run(2, [[
      local win = comm:window(mw.zeros(comm.rank + 3))
      local function try(f)
        local ok, err = pcall(f)
        if comm.rank == 0 then io.write(tostring(ok), " ", err.message or tostring(err), "\n") end
      end
      try(function() win:put(1, 1) end)
      win:fence()
      try(function() win:put(mw.zeros(3), 1, 3) end)
      try(function() win:get(mw.zeros(2, "int"), 1) end)
      try(function() win:put(1, 2) end)
      try(function() win:put(1, 1, 0) end)
      try(function() win:lock(1) end)
      win:fence(true)
      try(function() win:unlock(1) end)
      try(function() win:fetch_and_op(1, 1) end)
      try(function() win:compare_and_swap(1, 2, 1) end)
      try(function() win:wait() end)
      try(function() win:accumulate(1, 1, "mean") end)
      win:lock(1, "shared")
      try(function() win:fence() end)
      try(function() win:compare_and_swap(1, 2, 1) end)
      win:unlock(1)
      win:free()
      try(function() win:put(1, 1) end)
    ]])
    for _, text in ipairs {
      "put outside of an epoch: call win:fence%(%), win:lock%(1%), win:lock_all%(%) or win:start { 1 } before",
      "put of 3 elements from element 3 on: rank 1's array has 4",
      "get of int into a window of float",
      "win:put: the rank is the number 2, and this communicator has the ranks 0 to 1",
      "win:put: the first element is the number 0; elements count from 1",
      "between fences there are no other epochs: win:fence%(true%) ends them",
      "win:unlock of a rank that is not locked",
      "fetch_and_op outside of an epoch",
      "compare_and_swap outside of an epoch",
      "win:wait without win:post",
      'win:accumulate: the operation is one of sum, [^\n]+; got "mean"',
      "win:fence with locks held: win:unlock%(rank%) before",
      "compare_and_swap needs integers, and the elements of this window are float",
      "this window was freed",
    } do assert.matches("false [^\n]*" .. text, result.output) end
    assert.is_true(result.ok, result.output)
  end)
end)
