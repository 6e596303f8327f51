-- moonwarp run: the launcher, the ranks before lines, the exit status.
-- Lua 5.4 only: the command is the one of the build tree.

local ranks = require "support.mpi.ranks"

-- Run `moonwarp run` with a script; its output and exit status.
local function run(options, text)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  local command = os.getenv "MOONWARP_HOME" .. "/bin/moonwarp"
  local pipe = assert(io.popen(("ASAN_OPTIONS='%s' timeout 60 %s run %s %s 2>&1; echo status $?"):format(
    ranks.sanitizer_options, command, options, path)))
  local output = pipe:read "*a"
  pipe:close()
  os.remove(path)
  return output:match "^(.*)status (%d+)\n$"
end

describe("moonwarp run", function()
  for _, library in ipairs(ranks.libraries) do
    it("starts ranks, and says whose each line is, under " .. library, function()
      if not ranks.has(library) then return pending(library .. " is not installed: sh setup.sh --mpi") end
      local output, status = run("-n 3 --launcher mpirun." .. library, [[
        local mw = require "moonwarp"
        local comm = mw.mpi.world()
        print("rank " .. comm.rank .. " of " .. comm.size, os.getenv "MOONWARP_THREADS" or os.getenv "MOONWARP_DEVICE")
        comm:barrier()
      ]])
      for rank = 0, 2 do
        assert.matches(("[%d] rank %d of 3\t[%%w:]+\n"):format(rank, rank):gsub("^%[(%d)%]", "%%[%1%%]"), output)
      end
      assert.equal("0", status, output)
    end)

    it("ends all ranks when one fails, under " .. library, function()
      if not ranks.has(library) then return pending(library .. " is not installed: sh setup.sh --mpi") end
      local output, status = run("-n 2 --launcher mpirun." .. library, [[
        local comm = require "moonwarp".mpi.world()
        if comm.rank == 1 then error "no more" end
        comm:recv(1)
      ]])
      assert.matches("%[1%][^\n]*no more", output)
      assert.is_true(status ~= "0" and status ~= "124", status)
    end)
  end

  it("says what it wants, and when there is no launcher", function()
    assert.matches("^usage: moonwarp run", (run("-n none", "")))
    assert.matches("no MPI launcher is found %(tried /nowhere/mpirun%)", (run("--launcher /nowhere/mpirun", "")))
  end)
end)
