-- Mistakes and failures: all ranks end, and say where they were.

local mpi = require "support.mpi.ranks"
local killed = require "support.mpi.killed"

describe("several processes", function()
  local test = mpi.tests(it, pending)

  test("that call different collective operations get an error that names each rank's line", function(run)
    local result = run(3, [[
      local ok, err = pcall(function()
        if comm.rank == 1 then
          comm:broadcast(mw.zeros(4), 0)
        else
          comm:allreduce(mw.zeros(4))
        end
      end)
      assert(not ok)
      io.write(tostring(err), "\n--\n")
      comm:barrier()
    ]])
    local _, count = result.output:gsub("the ranks call different collective operations", "")
    assert.equal(3, count, result.output)
    assert.matches("rank 0: [^\n]+:7: allreduce of float {4} by sum", result.output)
    assert.matches("rank 1: [^\n]+:5: broadcast of float {4} from rank 0", result.output)
    assert.is_true(result.ok, result.output)
  end)

  test("that wait for each other get an error on every rank that names each rank's line", function(run)
    local output = mpi.deadlock(run, 3, [[
      if r == 2 then
        comm:barrier()
      else
        comm:recv((r + 1) % 2, 5)
      end]])
    assert.matches("rank 0: [^\n]+:7: receiving from rank 1, tag 5", output)
    assert.matches("rank 1: [^\n]+:7: receiving from rank 0, tag 5", output)
    assert.matches("rank 2: [^\n]+:5: barrier", output)
  end)

  -- A launcher that reads late finds what was printed and the end of the run at once, and MPICH's looks at the latter
  -- first now and then: hence several runs.
  test("are heard to the end when one of them ends all", function(run)
    for _ = 1, 4 do
      local result = run(4, [[
        comm:barrier()
        if comm.rank ~= 0 then comm:recv(0) end
        local file = assert(io.open "/proc/self/stat")
        local launcher = file:read "*a":match "%) %a (%d+)"
        file:close()
        os.execute(("kill -STOP %s; (sleep 0.1; kill -CONT %s) >/dev/null 2>&1 &"):format(launcher, launcher))
        io.write "the last words\n"
        comm:abort(3)
      ]], 30)
      assert.matches("the last words", result.output)
      assert.is_false(result.ok)
      assert.not_equal(124, result.code)
    end
  end)

  test("of which one comes to the end of the script do not wait for it forever", function(run)
    local result = run(2, [[
      if comm.rank == 0 then comm:recv(1) end
    ]], 30)
    assert.matches("rank 1: at the end of the script", result.output)
    assert.is_false(result.ok)
  end)

  -- MPICH warns of messages that nobody has taken.
  test("leave no question unread that one asked who waited, and others came to the end", function(run)
    local result = run(3, [[
      local raw = require "moonwarp.binding"
      if comm.rank == 0 then for _ = 1, 3 do raw.mpi_watch "here" end end
    ]], 30)
    assert.equal("", result.output)
    assert.is_true(result.ok)
  end)

  test("end when one of them fails", function(run)
    local result = run(3, [[
      if comm.rank == 1 then error "this rank fails" end
      comm:recv(1)
    ]], 30)
    assert.matches("this rank fails", result.output)
    assert.is_false(result.ok)
    assert.not_equal(124, result.code)
  end)

  test("end when one of them is killed", function(run)
    local result = run(3, [[
      comm:barrier()
      if comm.rank == 2 then
        local file = io.open "/proc/self/stat"
        local pid = file:read "*n"
        os.execute("kill -KILL " .. string.format("%d", pid))
      end
      comm:barrier()
    ]], 30)
    assert.is_false(result.ok)
    assert.not_equal(124, result.code)
  end)

  -- spec/stress/mpi_killed.lua has more of these, and takes their time.
  for _, library in ipairs(mpi.libraries) do
    it(("end when one is killed in the middle of something (%s)"):format(library), function()
      if not mpi.has(library) then return pending(library .. " is not installed: sh setup.sh --mpi") end
      for _, seed in ipairs { 1, 2, 3 } do
        local result = killed.run(library, 3, seed)
        assert.is_number(result.killed_at, result.output)
        assert.is_false(result.ok)
        assert.not_equal(124, result.code, result.output)
        assert.same({}, result.left)
      end
    end)
  end
end)

describe("mw.mpi", function()
  it("loads without an MPI library, and says so when it is used", function()
    local result = require "support.child" { [[
      local mw = require "moonwarp"
      local ok, why = mw.mpi.available()
      print(ok, why)
      print(pcall(function() mw.mpi.world() end))
      print(mw.doctor():match "MPI: [^\n]+")
    ]], environment = { MOONWARP_MPI = "off" } }
    assert.matches("nil\tnot found. MPI is not loaded: MOONWARP_MPI is 'off'", result.output)
    assert.matches("false\t[^\n]+:5: MPI is not loaded: MOONWARP_MPI is 'off'", result.output)
    assert.matches("\nMPI: not found.", result.output)
  end)
end)
