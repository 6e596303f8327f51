-- Messages between GPUs by NCCL, on machines with neither: a fake libnccl runs the messages of one process's ranks.

local gpu = require "support.fake.gpu"

local home = assert(os.getenv "MOONWARP_HOME")

local function lines_of(path)
  local list = {}
  for line in io.lines(path) do list[#list + 1] = line end
  os.remove(path)
  return list
end

local function run(script, spec)
  local log, environment = os.tmpname(), { MOONWARP_NCCL = home .. "/test/libfakenccl.so" }
  for name, value in pairs(spec or {}) do
    if name:find "^[A-Z_]+$" then environment[name] = value end
  end
  environment.FAKE_NCCL_LOG = log
  local result = gpu { [[
    local function own(comm, n, dtype)
      local t = {}
      for i = 1, n do t[i] = 10 * comm.rank + i end
      return mw.array(t, dtype or "float")
    end
  ]] .. script, cuda = "devices=3 " .. (spec and spec.cuda or ""), fail = spec and spec.fail,
    environment = environment }
  result.nccl = lines_of(log)
  return result
end

local two = '{ "cuda:0", "cuda:1" }'

local function count(result, pattern)
  local n = 0
  for _, line in ipairs(result.nccl) do
    if line:find(pattern) then n = n + 1 end
  end
  return n
end

describe("NCCL", function()
  it("is named, with its version and path", function()
    local result = run "print(mw.nccl.library())"
    assert.matches("^NCCL 2%.27%.3 %(.*libfakenccl%.so%)\n$", result.output)
    assert.matches("messages between GPUs: NCCL 2%.27%.3", run("print(mw.doctor())").output)
  end)

  it("connects several GPUs of one process, without waiting for one before the next, and without multicast", function()
    local result = run(([[
      mw.nccl.run(%s, function(comm)
        local s, m = comm:allreduce(own(comm, 2)), comm:allreduce(own(comm, 2, "int"), "max")
        print(comm, comm.emulated, ("%%g %%g %%g"):format(s[1], s[2], m[2]), s.device.name)
      end)
    ]]):format(two))
    assert.equal("rank 0 of 2 on cuda:0 (NCCL)\tfalse\t12 14 12\tcuda:0\n"
      .. "rank 1 of 2 on cuda:1 (NCCL)\tfalse\t12 14 12\tcuda:1\n", result.output)
    assert.equal(2, gpu.count(result, "cuCtxEnablePeerAccess")) -- its kernels access the other's arrays
    assert.equal(1, count(result, "^ncclCommInitRankConfig 0 of 2 blocking 0 nvls 0$"))
    assert.equal(2, count(result, "^ncclAllReduce . count 2 type 7 op 0"))
    assert.equal(2, count(result, "^ncclAllReduce . count 2 type 2 op 2"))
    assert.equal(2, count(result, "^ncclCommDestroy"))
  end)

  it("leaves NCCL_NVLS_ENABLE as the user set it", function()
    local result = run(("mw.nccl.init_all(%s)"):format(two), { NCCL_NVLS_ENABLE = "1" })
    assert.equal(2, count(result, "nvls 1$"))
  end)

  it("carries every collective, with the results of the emulation", function()
    local result = run [[
      local function work(comm)
        local n, text = comm.size, {}
        local function note(a)
          if not a then return end
          for _, x in ipairs(a:reshape(-1):totable()) do text[#text + 1] = ("%g"):format(x) end
        end
        note(comm:allreduce(own(comm, 3), "product"))
        note(comm:allreduce(own(comm, 3, "double"), "mean"))
        note(comm:reduce(own(comm, 3, "longlong"), "min", 1))
        note(comm:broadcast(own(comm, 3), 2))
        note(comm:allgather(own(comm, 2)))
        note(comm:reduce_scatter(own(comm, 6):reshape(3, 2)))
        note(comm:alltoall(own(comm, 3):reshape(3, 1)))
        note(comm:gather(own(comm, 2), 1))
        note(comm:scatter(own(comm, 6):reshape(3, 2), 0, { out = own(comm, 2) }))
        note(comm:sendrecv(own(comm, 2), (comm.rank + 1) % n, own(comm, 2), (comm.rank - 1) % n))
        local part = comm:split(comm.rank % 2, -comm.rank)
        text[#text + 1] = part.rank .. "/" .. part.size
        note(part:allreduce(own(comm, 1)))
        comm:barrier()
        return table.concat(text, " ")
      end
      local gpus = mw.nccl.run({ "cuda:0", "cuda:1", "cuda:2" }, work)
      mw.use "cpu"
      local cpus = mw.nccl.run(3, work)
      for i = 1, 3 do print(gpus[i] == cpus[i] or gpus[i] .. " ~= " .. cpus[i], #gpus[i] > 60) end
    ]]
    assert.equal(("true\ttrue\n"):rep(3), result.output)
  end)

  it("takes groups without coroutines, and complex numbers as pairs", function()
    local result = run(([[
      local comms, out = mw.nccl.init_all(%s), {}
      comms = mw.nccl.init_all { "cuda:0", "cuda:1" } -- whose peer access is on already
      mw.nccl.group(function()
        for i, comm in ipairs(comms) do
          out[i] = comm:allreduce(mw.with(comm.device, mw.full, 2, mw.complex(1, comm.rank), "complex64"))
        end
      end)
      print(out[2][2])
      comms[1]:free()
      print(select(2, pcall(comms[1].barrier, comms[1])).message)
    ]]):format(two))
    assert.matches("^2 ?%+ ?1i?", (result.output:gsub("%.0", "")))
    assert.matches("allreduce: this communicator was closed", result.output)
    assert.equal(2, count(result, "^ncclAllReduce . count 4 type 7"))
  end)

  it("keeps the arrays of a message until it is done", function()
    local result = run([[
      local comm = mw.nccl.init_all { "cuda:0" }[1]
      local x = own(comm, 4)
      local y = comm:allreduce(x)
      x:free()
      print(mw.memory().count)
      mw.synchronize()
      print(mw.memory().count)
    ]], { cuda = "busy=1" })
    assert.matches("\n1\n$", result.output)
  end)

  it("connects one process a GPU, by an id in a file or by an MPI communicator", function()
    local path = os.tmpname()
    os.remove(path)
    local result = run(([[
      local comm = mw.nccl.init { file = %q, rank = 0, size = 1 }
      local file = io.open(%q, "rb")
      print(comm, #file:read "a", comm:allreduce(own(comm, 2))[2])
      local mpi = { rank = 0, size = 1, broadcast = function(_, text) return text end }
      print(mw.nccl.init { comm = mpi })
      print(mw.nccl.init { file = %q, rank = 0, size = 1 }:allgather(own(comm, 2)).shape[1])
      print(select(2, pcall(mw.nccl.init, { file = "/nowhere/id", rank = 0, size = 1 })).message)
      print(select(2, pcall(mw.nccl.init, { file = "/nowhere/id", rank = 1, size = 2, timeout = 0.1 })).message)
      print(select(2, pcall(mw.nccl.init, { file = "x" })).message)
    ]]):format(path, path, path))
    os.remove(path)
    assert.matches("rank 0 of 1 on cuda:0 %(NCCL%)\t128\t2%.?0?\nrank 0 of 1 on cuda:0 %(NCCL%)\n1\n", result.output)
    assert.matches("/nowhere/id.*No such file", result.output)
    assert.matches("no id in /nowhere/id after 0.1 s", result.output)
    assert.matches("name the rank", result.output)
  end)
end)

describe("NCCL that fails", function()
  it("is missing: the message says what to install", function()
    local result = run("print(mw.nccl.library())  print(pcall(mw.nccl.unique_id))", { MOONWARP_NCCL = "off" })
    assert.matches("^nil\t.*MOONWARP_NCCL", result.output)
  end)

  it("is told of in NCCL's words", function()
    local script = ([[
      local comms = mw.nccl.init_all(%s)
      print(select(2, pcall(mw.nccl.group, function()
        for _, comm in ipairs(comms) do comm:allreduce(mw.with(comm.device, mw.zeros, 2)) end
      end)).message)
    ]]):format(two)
    local result = run(script, { FAKE_NCCL_FAIL = "ncclAllReduce@2=3" })
    assert.matches("a message failed: NCCL says: a failure that was ordered; the fake library's last words",
      result.output)
    result = run(script, { FAKE_NCCL_FAIL = "ncclCommInitRankConfig@1=5" })
    assert.matches("opening a communicator failed: NCCL says", result.output)
    result = run(script, { FAKE_NCCL_FAIL = "ncclGroupEnd@2=1" })
    assert.matches("a group of messages failed: NCCL says", result.output)
  end)

  it("waits for a rank that never comes: an error after the time limit", function()
    local result = run([[
      local id = mw.nccl.unique_id()
      print(select(2, pcall(mw.nccl.init, { id = id, rank = 0, size = 2, timeout = 0.05 })))
    ]], { FAKE_NCCL = "absent" })
    assert.matches("rank 0: opening a communicator waited for the other ranks for 0%.05 s", result.output)
    assert.equal(1, count(result, "^ncclCommAbort 0$"))
  end)

  it("has a message that does not end: the wait raises the reason, and the communicator is aborted", function()
    local result = run([[
      local comm = mw.nccl.init { id = mw.nccl.unique_id(), rank = 0, size = 1, timeout = 0.05 }
      local x = own(comm, 2)
      comm:allreduce(x)
      while comm.device do
        local ok, err = pcall(mw.synchronize)
        if not ok then print(err.message, err.code) break end
      end
      print(select(2, pcall(comm.allreduce, comm, x)).message)
    ]], { fail = "cuEventQuery@*=600" })
    assert.matches("rank 0 of 1: allreduce queued at .*:%d+ did not end within 0%.05 s, the time limit", result.output)
    assert.matches("cudaErrorLaunchTimeout", result.output)
    assert.matches("this communicator was aborted: rank 0 of 1: allreduce", result.output)
    assert.equal(1, count(result, "^ncclCommAbort 0$"))
    assert.equal(0, count(result, "^ncclCommDestroy"))
  end)

  it("is aborted by a rank, with the reason in later calls", function()
    local result = run [[
      local comm = mw.nccl.init { id = mw.nccl.unique_id(), rank = 0, size = 1 }
      comm:abort "the data ended"
      print(select(2, pcall(comm.allreduce, comm, own(comm, 2))).message)
    ]]
    assert.matches("aborted: rank 0 called comm:abort %(.*:%d+%): the data ended", result.output)
  end)

  it("is refused in a captured stream, and for strided targets and other devices", function()
    local result = run [[
      local comm = mw.nccl.init { id = mw.nccl.unique_id(), rank = 0, size = 1 }
      local x = own(comm, 4)
      local s = mw.stream()
      print(select(2, pcall(mw.capture, s, function() comm:allreduce(x, "sum", { out = x }) end)))
      print(select(2, pcall(comm.recv, comm, x:reshape(2, 2):transpose(), 0)).message)
      mw.use "cuda:1"
      print(select(2, pcall(comm.allreduce, comm, own(comm, 2))).message)
    ]]
    assert.matches("messages cannot be captured into a graph", result.output)
    assert.matches("the array is a strided view", result.output)
    assert.matches("the array is on cuda:1 and the communicator on cuda:0", result.output)
  end)
end)
