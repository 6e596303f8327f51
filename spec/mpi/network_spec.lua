-- Ranks in two network namespaces, which reach each other by TCP alone, as on two machines.

local mpi = require "support.mpi.ranks"
local child = require "support.child"

local folder = assert(debug.getinfo(1, "S").source:match "^@(.*)mpi/network_spec%.lua$")

describe("ranks on two networks", function()
  for _, library in ipairs(mpi.libraries) do
    it(("exchange messages, reduce, access windows and meet failures (%s)"):format(library), function()
      if not mpi.has(library) then return pending(library .. " is not installed: sh setup.sh --mpi") end
      local result = child { [[
        local mw = require "moonwarp"
        local comm = mw.mpi.world()
        local r, n = comm.rank, comm.size
        local right, left = (r + 1) % n, (r - 1) % n
        for _, count in ipairs { 1, 500, 300000 } do
          local b = comm:sendrecv(mw.full(count, r), right, mw.empty(count), left)
          assert(b:min() == left and b:max() == left)
        end
        assert(comm:allreduce(mw.full(100000, r)):max() == n * (n - 1) / 2)
        assert(comm:iallreduce(mw.full(100000, r)):wait():min() == n * (n - 1) / 2)
        assert(comm:allgather("rank " .. r)[n] == "rank " .. n - 1)
        local a = mw.zeros(4)
        local win = comm:window(a)
        win:fence()
        win:put(r, right, 2)
        win:fence(true)
        assert(a[2] == left)
        win:free()
        local ok, err = pcall(function()
          if r == 2 then comm:barrier() else comm:allreduce(r) end
        end)
        assert(not ok and tostring(err):find "the ranks call different collective operations")
        io.write "good\n"
        io.flush()
        comm:barrier()
        if r == 2 then error "this rank fails" end
        comm:recv(2)
      ]], launcher = ("timeout 60 bash %ssupport/mpi/namespaces.sh %s 4"):format(folder, library),
        environment = { MOONWARP_THREADS = 1, MOONWARP_DEVICE = "cpu" } }
      if result.code == 77 then return pending "network namespaces need the rights of root" end
      local _, count = result.output:gsub("good\n", "")
      assert.equal(4, count, result.output)
      assert.matches("this rank fails", result.output)
      assert.is_true(not result.ok and result.code ~= 124, result.output)
    end)
  end
end)
