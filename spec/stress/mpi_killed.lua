-- Ranks killed at random: a number of runs, under each MPI that is installed; how long the others outlived it.
--   eval "$(make -s env)"; lua5.4 spec/stress/mpi_killed.lua [runs] [first seed] [ranks]

package.path = "spec/?.lua;" .. package.path
local ranks = require "support.mpi.ranks"
local killed = require "support.mpi.killed"

local runs, first, size = tonumber(arg[1]) or 50, tonumber(arg[2]) or 1, tonumber(arg[3]) or 4
local LIMIT = 5 -- seconds
local failed = 0
for _, library in ipairs(ranks.libraries) do
  if ranks.has(library) then
    local longest, sum, count = 0, 0, 0
    for seed = first, first + runs - 1 do
      local result = killed.run(library, size, seed)
      local seconds = result.killed_at and result.ended_at - result.killed_at
      if not seconds or seconds > LIMIT or result.ok or result.code == 124 or #result.left > 0 then
        failed = failed + 1
        print(("%s, seed %d: %s s, status %s, left: %s\n%s"):format(library, seed, seconds and ("%.1f"):format(seconds)
          or "never killed", tostring(result.code), table.concat(result.left, "; "), result.output))
      else
        longest, sum, count = math.max(longest, seconds), sum + seconds, count + 1
      end
    end
    print(("%s: %d runs of %d ranks, the others ended after %.2f s on average, %.2f s at most"):format(library, runs,
      size, sum / math.max(count, 1), longest))
  end
end
os.exit(failed == 0 and 0 or 1)
