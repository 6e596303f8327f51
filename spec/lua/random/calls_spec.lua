-- Random calls of the whole API with random arguments (support/api/api_fuzz.lua), in a process of their own: no crash,
-- no hang, no message of Lua's own, and no array changes that was not passed to a call. MOONWARP_SEED sets the
-- seed, MOONWARP_CALLS the number of calls.
-- CPU device only: kernels are given any pointer, and what a kernel prints goes to a function.

local interpreter = arg[-1]

it("random calls neither crash nor hang, and are refused in words", function()
  local seed = tonumber(os.getenv "MOONWARP_SEED") or 101
  local calls = tonumber(os.getenv "MOONWARP_CALLS") or 50000
  print("seed of calls_spec: " .. seed)
  -- Some calls write files: names without a folder are in one of this run's own.
  local folder = os.tmpname()
  os.remove(folder)
  local log = folder .. ".log"
  local program = interpreter:find "/" and '"$here"/' .. interpreter or interpreter
  if interpreter:find "^/" then program = interpreter end
  local pipe = assert(io.popen(([[here=$PWD; mkdir '%s' && cd '%s' &&
    timeout 170 %s "$here"/spec/support/api/api_fuzz.lua %d %d %s 2>&1; echo status $?]]):format(
    folder, folder, program, seed, calls, log)))
  local output = pipe:read "*a"
  pipe:close()
  assert.matches("\ndone\nstatus [01]\n$", output, ("%s\nthe last calls stand in %s"):format(output, log))
  os.remove(log)
  os.execute(("rm -rf '%s'"):format(folder))
end)
