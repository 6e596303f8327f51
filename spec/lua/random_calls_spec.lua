-- Random calls of the whole API with random arguments (support/api/api_fuzz.lua), in a process of their own: no crash,
-- no hang, no message of Lua's own, and no array changes that no call was given. MOONWARP_SEED repeats a run,
-- MOONWARP_CALLS says how many calls, MOONWARP_SEED which ones.

local interpreter = arg[-1]

it("random calls neither crash nor hang, and are refused in words", function()
  local seed = tonumber(os.getenv "MOONWARP_SEED") or 101
  local calls = tonumber(os.getenv "MOONWARP_CALLS") or 50000
  print("seed of random_calls_spec: " .. seed)
  local log = os.tmpname()
  local pipe = assert(io.popen(("timeout 170 %s spec/support/api/api_fuzz.lua %d %d %s 2>&1; echo status $?"):format(
    interpreter, seed, calls, log)))
  local output = pipe:read "*a"
  pipe:close()
  assert.matches("\ndone\nstatus [01]\n$", output, ("%s\nthe last calls stand in %s"):format(output, log))
  os.remove(log)
end)
