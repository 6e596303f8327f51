-- Ranks in two network namespaces, which reach each other by TCP alone, as on two machines.

local mpi = require "support.mpi.ranks"
local killed = require "support.mpi.killed"

local everything = [[
  local r, n = comm.rank, comm.size
  local right, left, last = (r + 1) % n, (r - 1) % n, n - 1
  for _, count in ipairs { 1, 500, 300000 } do
    local b = comm:sendrecv(mw.full(count, r), right, mw.empty(count), left)
    assert(b:min() == left and b:max() == left)
  end
  assert(comm:allreduce(mw.full(100000, r)):max() == n * (n - 1) / 2)
  assert(comm:iallreduce(mw.full(100000, r)):wait():min() == n * (n - 1) / 2)
  assert(comm:allgather("rank " .. r)[n] == "rank " .. last)
  local a = mw.zeros(4)
  local win = comm:window(a)
  win:fence()
  win:put(r, right, 2)
  win:fence(true)
  assert(a[2] == left)
  win:free()
  local ok, err = pcall(function()
    if r == last then comm:barrier() else comm:allreduce(r) end
  end)
  assert(not ok and tostring(err):find "the ranks call different collective operations")
  -- A launcher may lose what another rank printed just before one fails.
  local words = comm:allgather "good\n"
  if r == last then
    for i = 1, n do io.write(words[i]) end
    io.flush()
    error "this rank fails"
  end
  comm:recv(last)
]]

describe("ranks on two networks", function()
  for _, library in ipairs(mpi.libraries) do
    local function test(what, f)
      it(("%s (%s)"):format(what, library), function()
        if not mpi.has(library) then return pending(library .. " is not installed: sh setup.sh --mpi") end
        f()
      end)
    end

    for _, ranks in ipairs { 2, 3, 4, 7 } do
      test(("exchange messages, reduce, access windows and meet failures, %d of them"):format(ranks), function()
        local result = mpi.run(library, ranks, everything, 60, true)
        if result.code == 77 then return pending "network namespaces need the rights of root" end
        local _, count = result.output:gsub("good\n", "")
        assert.equal(ranks, count, result.output)
        assert.matches("this rank fails", result.output)
        assert.is_true(not result.ok and result.code ~= 124, result.output)
      end)
    end

    test("end when one of them is killed in the middle of something", function()
      for _, seed in ipairs { 11, 12 } do
        local result = killed.run(library, 4, seed, true)
        if result.code == 77 then return pending "network namespaces need the rights of root" end
        assert.is_number(result.killed_at, result.output)
        assert.is_false(result.ok)
        assert.not_equal(124, result.code, result.output)
        assert.same({}, result.left)
      end
    end)
  end
end)
