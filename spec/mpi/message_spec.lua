-- Messages between ranks, compared with what each rank can compute by itself.

local mpi = require "support.mpi.ranks"

-- Every rank prints "good", or what is wrong.
describe("messages", function()
  local test = mpi.tests(it, pending)

  test("go around a ring of arrays, short and long, and of values", function(run)
    for _, ranks in ipairs(mpi.ranks) do
      mpi.assert_good(run(ranks, [[
        local right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        for _, n in ipairs { 0, 1, 480, 481, 100000 } do
          local a = mw.full(n, comm.rank + 0.5, "double")
          local b, source, tag = comm:sendrecv(a, right, mw.empty(n, "double"), left, 3)
          assert(source == left and tag == 3)
          assert(n == 0 or b:min() == left + 0.5 and b:max() == left + 0.5)
        end
        local value = comm:sendrecv({ rank = comm.rank, list = { 1, "two", false } }, right, nil, left)
        assert(value.rank == left and value.list[2] == "two" and value.list[3] == false)
        local array = comm:sendrecv(mw.full({ 2, 3 }, comm.rank, "int"), right, nil, left)
        assert(array.dtype == "int" and array.shape[2] == 3 and array:get(2, 3) == left)
        io.write "good\n"
      ]]), ranks)
    end
  end)

  test("of strided views are packed and unpacked", function(run)
    mpi.assert_good(run(2, [[
      local a = mw.linspace(1, 12, 12):reshape(3, 4)
      if comm.rank == 0 then
        comm:send(a:transpose(), 1)
      else
        local b = mw.zeros { 3, 4 }
        comm:recv(b:transpose(), 0)
        for i = 1, 3 do for j = 1, 4 do assert(b:get(i, j) == a:get(i, j)) end end
      end
      io.write "good\n"
    ]]), 2)
  end)

  test("contain what a kernel that was launched before writes", function(run)
    mpi.assert_good(run(2, [[
      local m = mw.compile "__global__ void f(float *p, int n) { for (int k = 0; k < n; k++) p[threadIdx.x] += 1; }"
      local a = mw.zeros(64)
      if comm.rank == 0 then
        m.f(1, 64)(a, 100000)
        comm:send(a, 1)
      else
        comm:recv(a, 0)
      end
      assert(a:min() == 100000)
      io.write "good\n"
    ]]), 2)
  end)

  test("that are received together do not mix, whatever their order", function(run)
    mpi.assert_good(run(3, [[
      local n = 5000
      if comm.rank == 0 then
        local requests, arrays = {}, {}
        for i = 1, 4 do
          for r = 1, 2 do
            local a = mw.empty(n)
            requests[#requests + 1], arrays[#requests + 1] = comm:irecv(a, nil, i), a
          end
        end
        mw.mpi.wait(requests)
        for i, request in ipairs(requests) do
          local a, source, tag = request:wait()
          assert(a:min() == 10 * source + tag and a:max() == a:min() and tag == math.floor((i + 1) / 2))
        end
      else
        for i = 4, 1, -1 do comm:isend(mw.full(n, 10 * comm.rank + i), 0, i) end
      end
      io.write "good\n"
    ]]), 3)
  end)

  test("can be tested and probed", function(run)
    mpi.assert_good(run(2, [[
      if comm.rank == 0 then
        local request = comm:irecv()
        assert(not request:test())
        comm:send("go", 1, 5)
        while not request:test() do end
        local value, source, tag = request:wait()
        assert(value == 42 and source == 1 and tag == 6)
      else
        local source, tag = comm:probe()
        assert(source == 0 and tag == 5 and comm:iprobe(0, 5) == 0 and comm:iprobe(0, 4) == nil)
        assert(comm:recv(0, 5) == "go")
        comm:send(42, 0, 6)
      end
      io.write "good\n"
    ]]), 2)
  end)

  test("are in the view when a test says so", function(run)
    mpi.assert_good(run(2, [[
      if comm.rank == 0 then
        local a = mw.zeros(4, 2)
        comm:probe(1) -- so that the request is done when it begins
        local request = comm:irecv(a[{ {}, 1 }], 1)
        while not request:test() do end
        assert(a[{ {}, 1 }]:sum() == 10 and a[{ {}, 2 }]:sum() == 0)
      else
        comm:send(mw.array { 1, 2, 3, 4 }, 0)
      end
      io.write "good\n"
    ]]), 2)
  end)

  test("keep Lua values: cycles, special numbers, nested arrays", function(run)
    mpi.assert_good(run(2, [[
      if comm.rank == 0 then
        local t = { inf = math.huge, nan = 0 / 0, zero = "\0;e", [1.5] = mw.array { 1, 2 }, c = mw.complex(1, -2) }
        t.self, t.twice = t, t[1.5]
        comm:send(t, 1)
        local ok, err = pcall(comm.send, comm, { print }, 1)
        assert(not ok and tostring(err):find "a function does not travel between ranks")
      else
        local t = comm:recv(0)
        assert(t.self == t and t.inf == math.huge and t.nan ~= t.nan and t.zero == "\0;e")
        assert(t[1.5]:sum() == 3 and t.twice[2] == 2 and t.c.im == -2)
      end
      io.write "good\n"
    ]]), 2)
  end)

  test("of another dtype or shape are an error on both sides that names both", function(run)
    for _, n in ipairs { 4, 4000 } do
      local result = run(2, ([[
        local n = %d
        local ok, err
        if comm.rank == 0 then
          comm:send(mw.zeros(n, "double"), 1, 3)
          ok, err = pcall(comm.recv, comm, mw.zeros(1), 1, 9)
        else
          ok, err = pcall(comm.recv, comm, mw.zeros({ 2, n }, "float"), 0, 3)
        end
        io.write(comm.rank, ": ", tostring(ok), " ", err.message, "\n")
      ]]):format(n))
      assert.matches("0: false rank 0 sent double {" .. n .. "} to rank 1, which receives into float {2, " .. n
        .. "} %(tag 3%)", result.output)
      assert.matches("1: false rank 1 receives into float {2, " .. n .. "}, but rank 0 sent double {" .. n
        .. "} %(tag 3%)", result.output)
    end
  end)

  test("to ranks that are not there, with impossible tags or of freed communicators are refused at the script's line",
    function(run)
      local result = run(1, [[
        local a, freed = mw.zeros(1), comm:dup()
        freed:free()
        local function try(f) io.write(tostring(select(2, pcall(f))), "\n") end
        try(function() comm:send(1, 7) end)
        try(function() comm:send(a, 7) end)
        try(function() comm:send(a, -1) end)
        try(function() comm:recv(a, 1) end)
        try(function() comm:send(a, 0, 32768) end)
        try(function() comm:recv(a, 0, 32768) end)
        try(function() freed:send(a, 0) end)
        try(function() freed:recv(a, 0) end)
      ]])
      for line, text in pairs {
        [6] = "a message to rank 7: this communicator has the ranks 0 to 0",
        [7] = "a message to rank 7: this communicator has the ranks 0 to 0",
        [8] = "a message to rank %-1: this communicator has the ranks 0 to 0",
        [9] = "a message from rank 1: this communicator has the ranks 0 to 0",
        [10] = "a tag is a whole number from 0 to 32767, got 32768",
        [11] = "a tag is a whole number from 0 to 32767, got 32768",
        [12] = "MPI: this communicator was closed",
        [13] = "MPI: this communicator was closed",
      } do assert.matches((":%d: %s"):format(line, text), result.output) end
      assert.is_true(result.ok, result.output)
    end)

  test("of several communicators, some of them collected, are apart", function(run)
    mpi.assert_good(run(2, [[
      local other, a = 1 - comm.rank, mw.zeros(1)
      for i = 1, 50 do
        local dup = comm:dup()
        comm:isend(mw.full(1, i), other)
        dup:isend(mw.full(1, -i), other)
        coroutine.wrap(function() dup:recv(a, other) end)()
        assert(a[1] == -i)
        assert(select("#", dup:send(a, other, 1)) == 0)
        local into, source, tag = comm:recv(a, other)
        assert(into == a and source == other and tag == 0 and a[1] == i)
        assert(select(3, dup:recv(a)) == 1 and a[1] == -i)
        if i % 10 == 0 then collectgarbage() end
      end
      io.write "good\n"
    ]]), 2)
  end)
end)
