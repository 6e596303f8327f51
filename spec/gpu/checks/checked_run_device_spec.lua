-- The functions by which kernels of a checked run on a GPU follow their threads, run on the host
-- (support/native/checked_run_device.cpp): what each scenario finds, and that no wait is endless.
-- Lua 5.4 only: no binding is used.

local expected = {
  ["a tile without a barrier"] = "race(1,2)",
  ["a tile with one"] = "",
  ["one word that all write"] = "race(1,1)",
  ["a sum by halves"] = "",
  ["neighbouring bytes"] = "",
  ["a barrier without checks of barriers"] = "",
  ["neighbouring bytes by themselves"] = "",
  ["bytes that neighbours write too"] = "race(1,2)",
  ["bytes of words that others read"] = "race(1,2)",
  ["half a tile that is written"] = "unwritten(2)",
  ["a word that all read again and again"] = "race(3,4)",
  ["halves of shared words"] = "unwritten(7) unwritten(8)",
  ["halves of global words"] = "unwritten(5) unwritten(6)",
  ["values that are moved"] = "unwritten(3) unwritten(4) unwritten(5) unwritten(7)",
  ["copies in memory"] = "unwritten(2) unwritten(4) unwritten(7)",
  ["a block of malloc that is partly written"] = "unwritten(3) unwritten(4) leak(1)",
  ["arrays that are all written"] = "unwritten(2)",
  ["a shuffle from an absent lane that is used"] = "used absent(1)",
  ["a shuffle to the next lane"] = "unwritten(47)",
  ["a shuffle whose result is not used"] = "",
  ["a shuffle past the end of the width"] = "unwritten(47)",
  ["a shuffle in which no value is unwritten"] = "",
  ["a shuffle from a lane of another branch"] = "",
  ["a shuffle from a lane outside of the mask"] = "",
  ["a shuffle of a variable that nothing has written"] = "unwritten(3)",
  ["a shuffle of what came from an absent lane"] = "used absent(3)",
  ["a sum of a warp in the first lane"] = "unwritten(60)",
  ["lanes without __syncwarp"] = "race(1,2)",
  ["lanes with __syncwarp"] = "",
  ["__syncwarp for other warps"] = "race(1,2)",
  ["halves of a warp"] = "",
  ["across the halves"] = "race(1,2)",
  ["pairs that pass on what they know"] = "",
  ["volatile accesses in step"] = "race(4,6)",
  ["an atomic beside an incomplete record of a poll"] = "",
  ["a store beside an incomplete record of a read"] = "race(1,1)",
  ["a shuffle from an absent lane"] = "absent(1)",
  ["a lane that waits at a barrier"] = "never(1)",
  ["lanes that wait for each other"] = "never(1)",
  ["a mask without its own lane"] = "own lane(1)",
  ["another call"] = "other(1,2)",
  ["two barriers"] = "diverged(1,2)",
  ["a thread that has returned"] = "returned(1)",
  ["votes"] = "",
  ["a barrier with a number"] = "pairs",
  ["a barrier with another number"] = "pairs",
  ["a barrier of a part of a warp's lanes"] = "",
  ["a barrier with a number, for too many"] = "stuck(1)",
  ["a barrier that counts"] = "pairs",
  ["a barrier that counts too many"] = "stuck(1)",
  ["a thread that does not arrive"] = "stuck(1)",
  ["a barrier of the grid"] = "",
  ["a barrier of the grid, for a part of it"] = "grid(1)",
  ["a copy that nothing waits for"] = "race(1,2)",
  ["a copy that is waited for"] = "",
  ["a copy that is waited for after the barrier"] = "race(1,2)",
  ["a copy of one's own"] = "race(1,2)",
  ["a copy of one's own that is waited for"] = "",
  ["a copy in a warp"] = "",
  ["two stages"] = "",
  ["a copy that a barrier tracks"] = "pairs",
  ["one word that blocks write"] = "race(1,1)",
  ["words of their own"] = "",
  ["the next launch"] = "",
  ["the last block without a fence"] = "race(1,2)",
  ["the last block with a fence"] = "pairs",
  ["atomics"] = "",
  ["an atomic and a plain access"] = "race(1,2)",
  ["records of lanes in step"] = "race(1,2)",
  ["reads of lanes in step and a write after __syncwarp"] = "",
  ["releases of one word at the same time"] = "",
  ["releases that are kept"] = "2",
  ["past a block of malloc"] = "freed(6) past(3) past(4)",
  ["blocks of malloc"] = "freed twice(4) not malloc(2) leak(1)",
}

describe("a followed kernel", function()
  local program = os.tmpname()
  local built = io.popen(("c++ -O1 -std=c++17 -iquote src/device -o %s %s -lpthread 2>&1")
    :format(program, "spec/support/native/checked_run_device.cpp"))
  local messages = built:read "a"
  local ok = built:close()
  local found = {}
  if ok then
    for line in io.popen("timeout 120 " .. program):lines() do
      local name, what = line:match "^(.-):%s?(.*)$"
      found[name] = what
    end
  end
  os.remove(program)

  it("is built without warnings", function() assert.equal("", messages) end)

  for name, what in pairs(expected) do
    it(("of %s finds %s"):format(name, what == "" and "nothing" or what), function()
      -- A read whose record is being stored is taken for one of the writer's line.
      local is_read_at_once = name == "bytes of words that others read"
      assert.equal(what, is_read_at_once and (found[name]:gsub("^race%(1,1%) ", "")) or found[name])
    end)
  end
end)
