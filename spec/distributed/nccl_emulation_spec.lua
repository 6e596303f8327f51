-- Messages between ranks, emulated on CPU devices of this process. Each result is compared with a plain loop.

local mw = require "moonwarp"

local sizes = { 1, 2, 3, 4, 7 }

local function each_size(f)
  for _, n in ipairs(sizes) do f(n) end
end

-- What rank r has at place i.
local function value(r, i) return (r + 2) * i - 3 * r end

local function own(comm, count, dtype)
  local data = {}
  for i = 1, count do data[i] = value(comm.rank, i) end
  return mw.array(data, dtype or "double")
end

local function fold(n, i, f)
  local total = value(0, i)
  for r = 1, n - 1 do total = f(total, value(r, i)) end
  return total
end

local operations = {
  sum = function(a, b) return a + b end,
  product = function(a, b) return a * b end,
  max = math.max,
  min = math.min,
}

describe("emulated ranks", function()
  before_each(function() mw.use "cpu" end)

  it("reduce at every rank", function()
    each_size(function(n)
      mw.nccl.run(n, function(comm)
        for name, f in pairs(operations) do
          local got = comm:allreduce(own(comm, 5), name)
          for i = 1, 5 do assert.equal(fold(n, i, f), got[i]) end
        end
        local mean = comm:allreduce(own(comm, 5), "mean")
        for i = 1, 5 do assert.equal(fold(n, i, operations.sum) / n, mean[i]) end
      end)
    end)
  end)

  it("reduce at one rank only, and broadcast from one", function()
    each_size(function(n)
      mw.nccl.run(n, function(comm)
        local root = n - 1
        local got = comm:reduce(own(comm, 3, "int"), "sum", root)
        assert.equal(comm.rank == root, got ~= nil)
        for i = 1, got and 3 or 0 do assert.equal(fold(n, i, operations.sum), got[i]) end
        local x = own(comm, 3)
        assert.equal(x, comm:broadcast(x, root))
        for i = 1, 3 do assert.equal(value(root, i), x[i]) end
      end)
    end)
  end)

  it("gather and scatter rows by rank", function()
    each_size(function(n)
      mw.nccl.run(n, function(comm)
        local all = comm:allgather(own(comm, 2))
        local some = comm:gather(own(comm, 2), 0)
        assert.same({ n, 2 }, all.shape)
        assert.equal(comm.rank == 0, some ~= nil)
        for r = 0, n - 1 do
          for i = 1, 2 do
            assert.equal(value(r, i), all[{ r + 1, i }])
            if some then assert.equal(value(r, i), some[{ r + 1, i }]) end
          end
        end
        local row = comm:scatter(some, 0, { out = mw.zeros(2, "double") })
        for i = 1, 2 do assert.equal(value(comm.rank, i), row[i]) end
      end)
    end)
  end)

  it("scatter a reduction, and exchange rows of all", function()
    each_size(function(n)
      mw.nccl.run(n, function(comm)
        local x = own(comm, 2 * n):reshape(n, 2)
        local mine = comm:reduce_scatter(x)
        local rows = comm:alltoall(x)
        assert.same({ 2 }, mine.shape)
        for i = 1, 2 do
          assert.equal(fold(n, 2 * comm.rank + i, operations.sum), mine[i])
          for r = 0, n - 1 do assert.equal(value(r, 2 * comm.rank + i), rows[{ r + 1, i }]) end
        end
      end)
    end)
  end)

  it("send and receive around a ring", function()
    each_size(function(n)
      mw.nccl.run(n, function(comm)
        local right, left = (comm.rank + 1) % n, (comm.rank - 1) % n
        local got = comm:sendrecv(own(comm, 4), right, mw.zeros(4, "double"), left)
        for i = 1, 4 do assert.equal(value(left, i), got[i]) end
        if n > 1 and comm.rank == 0 then comm:send(own(comm, 1), n - 1) end
        if n > 1 and comm.rank == n - 1 then assert.equal(value(0, 1), comm:recv(mw.zeros(1, "double"), 0)[1]) end
      end)
    end)
  end)

  it("split by color and key, and messages of the parts do not mix", function()
    each_size(function(n)
      mw.nccl.run(n, function(comm)
        local part = comm:split(comm.rank % 2, -comm.rank)
        local size = math.floor((n - comm.rank % 2 + 1) / 2)
        assert.equal(size, part.size)
        assert.equal(size - 1 - math.floor(comm.rank / 2), part.rank) -- by falling rank
        local total = 0
        for r = comm.rank % 2, n - 1, 2 do total = total + r end
        assert.equal(total, part:allreduce(comm.rank))
        assert.is_nil(comm:split(nil))
        assert.equal(n, comm:dup().size)
      end)
    end)
  end)

  it("move structs' vectors and complex numbers, strided views, and write into arrays that are there", function()
    mw.nccl.run(2, function(comm)
      local x = mw.arange(6):reshape(2, 3):transpose()
      local out = mw.zeros(3, 2)
      assert.equal(out, comm:allreduce(x, "sum", { out = out }))
      assert.equal(2 * 5.0, out[{ 3, 2 }])
      local z = comm:allreduce(mw.full(2, mw.complex(1, 2), "complex64"))
      assert.equal(mw.complex(2, 4), z[2])
      local y = mw.arange(4)
      comm:allreduce(y, "sum", { out = y })
      assert.equal(6.0, y[4])
      local view = mw.zeros(2, 3):transpose()
      comm:broadcast(view, 0)
    end)
  end)

  it("run on CPU devices of their own, whose memory is apart", function()
    mw.devices { cpu = 3 }
    local names = mw.nccl.run(3, function(comm)
      assert.equal(comm.device.name, mw.device().name)
      local total = comm:allreduce(own(comm, 3))
      assert.equal(comm.device.name, total.device.name)
      for i = 1, 3 do assert.equal(fold(3, i, operations.sum), total[i]) end
      assert.equal(3.0, comm:allreduce(1))
      return comm.device.name
    end)
    assert.same({ "cpu:0", "cpu:1", "cpu:2" }, names)
    mw.devices { cpu = 1 }
  end)

  it("take the calls of all ranks in one group, without coroutines", function()
    local comms, totals = mw.nccl.init_all(3), {}
    mw.nccl.group(function()
      for i, comm in ipairs(comms) do totals[i] = comm:allreduce(own(comm, 2)) end
    end)
    for i = 1, 3 do assert.equal(fold(3, 2, operations.sum), totals[i][2]) end
    assert.matches("emulated on CPU devices", tostring(comms[1]))
    assert.is_true(comms[1].emulated)
  end)
end)

local function failure(n, f)
  local ok, err = pcall(mw.nccl.run, n, f)
  assert.is_false(ok)
  return err.message or tostring(err)
end

describe("emulated ranks that make mistakes", function()
  before_each(function() mw.use "cpu" end)

  it("are told of shapes, dtypes and roots that differ, with both lines", function()
    local message = failure(2, function(comm)
      if comm.rank == 0 then comm:allreduce(mw.zeros(3)) else comm:allreduce(mw.zeros(4, "int")) end
    end)
    assert.matches("rank 0: allreduce of float {3} by \"sum\" %(.*_spec%.lua:%d+%)", message)
    assert.matches("rank 1: allreduce of int {4} by \"sum\" %(.*_spec%.lua:%d+%)", message)
    assert.matches("root 0 .* root 1", failure(2, function(comm) comm:broadcast(mw.zeros(1), comm.rank) end))
    assert.matches("send of float {2} to rank 1 .* recv of float {3} from rank 0", failure(2, function(comm)
      if comm.rank == 0 then comm:send(mw.zeros(2), 1) else comm:recv(mw.zeros(3), 0) end
    end))
  end)

  it("are told of a deadlock, with each rank's line", function()
    local message = failure(3, function(comm)
      if comm.rank == 2 then return end
      comm:send(mw.zeros(1), 1 - comm.rank)
      comm:recv(mw.zeros(1), 1 - comm.rank)
    end)
    assert.matches("deadlock.*rank 0: send of float {1} to rank 1 %(.*:%d+%); rank 1: send ", message)
    assert.matches("; rank 2: has ended$", message)
  end)

  it("are told when a rank fails, and when one aborts", function()
    assert.matches("rank 1 is unwell", failure(2, function(comm)
      if comm.rank == 1 then error("rank 1 is unwell", 0) end
      comm:barrier()
    end))
    local message = failure(2, function(comm)
      if comm.rank == 1 then comm:abort "no more data" end
      comm:barrier()
      comm:barrier()
    end)
    assert.matches("rank 1 called comm:abort %(.*:%d+%): no more data", message)
  end)

  it("are told of ranks that are not there, unknown operations, and arrays that do not fit", function()
    local comm = mw.nccl.init_all(1)[1]
    assert.error_matches(function() comm:send(mw.zeros(1), 1) end, "receiver is a rank from 0 to 0, got 1")
    assert.error_matches(function() comm:allreduce(mw.zeros(1), "xor") end, 'the operation is "sum"')
    assert.error_matches(function() comm:alltoall(mw.zeros(2, 2)) end, "it has 1 rows; this array is {2, 2}")
    assert.error_matches(function() comm:allgather(mw.zeros(2), { out = mw.zeros(2, "int") }) end,
      "out is int {2}, and the result is float {1, 2}")
    assert.error_matches(function() comm:allreduce(mw.zeros(2, "int"), "mean") end, "would not be whole numbers")
    assert.error_matches(function() comm:allreduse(mw.zeros(1)) end, "allreduce")
    local two = mw.nccl.init_all(2)
    assert.error_matches(function() two[1]:barrier() end, "the other ranks are in this process")
    assert.error_matches(function() mw.nccl.init_all {} end, "number of ranks, or a list of devices")
    local id = ("x"):rep(128)
    assert.error_matches(function() mw.nccl.init { id = id, rank = 0, size = 1 } end, "no library for messages")
  end)
end)
