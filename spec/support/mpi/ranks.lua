-- Runs a script on several ranks, under each MPI that is installed.
--   local mpi = require "support.mpi.ranks"
--   local test = mpi.tests(it, pending)
--   test("…", function(run) local result = run(3, text) … end)   result: { output =, ok =, code = }
-- The text has mw, and comm, the world.

local assert = require "luassert"
local child = require "support.child"

local folder = assert(debug.getinfo(1, "S").source:match "^@(.*)support/mpi/ranks%.lua$")

local M = {
  libraries = { "openmpi", "mpich" },
  ranks = { 1, 2, 3, 4, 7 },
}

-- For the sanitizers (spec/sanitize/README.md): a rank keeps what libmpi never frees.
M.sanitizer_options = (os.getenv "ASAN_OPTIONS" or "") .. ":detect_leaks=0"

local programs = {}

-- Debian has both side by side under these names.
local function program(library)
  if programs[library] == nil then
    local pipe = assert(io.popen("command -v mpirun." .. library .. " 2>/dev/null"))
    local path = pipe:read "*l"
    pipe:close()
    programs[library] = path or false
  end
  return programs[library]
end

---Whether an MPI is installed.
function M.has(library) return program(library) ~= false end

-- Open MPI 4's launcher may miss that a rank has called MPI_Finalize before it ended, about once in 1,000 runs: then it
-- reports a process with PID 0 (https://github.com/open-mpi/ompi/issues/7833). If two start at once, one may fail to
-- make the directory of both.
local function is_launchers_fault(result)
  return not result.ok and (result.output:find "with PID 0 on%s+node %S+ exiting improperly" ~= nil
    or result.output:find("orte_session_dir failed", 1, true) ~= nil)
end

---@param library "openmpi"|"mpich"
---@param ranks integer
---@param text string
---@param seconds? integer after which it is ended; 60 by default
---@param networks? boolean half of the ranks in a network namespace of their own; the exit status 77 without the rights
---@return { output: string, ok: boolean, code: integer }
function M.run(library, ranks, text, seconds, networks)
  local words = { "timeout", tostring(seconds or 60) }
  if networks then
    words[#words + 1] = ("bash %ssupport/mpi/namespaces.sh %s %d"):format(folder, library, ranks)
  else
    words[#words + 1] = program(library)
    if library == "openmpi" then words[#words + 1] = "--oversubscribe --allow-run-as-root --mca btl self,vader" end
    words[#words + 1] = "-n " .. ranks
  end
  local function start()
    return child { 'local mw = require "moonwarp" local comm = mw.mpi.world()\n' .. text,
      launcher = table.concat(words, " "),
      environment = { MOONWARP_THREADS = 1, MOONWARP_DEVICE = "cpu", ASAN_OPTIONS = M.sanitizer_options } }
  end
  local result = start()
  return is_launchers_fault(result) and start() or result
end

---What ranks print that deadlock in a function of such a text: a pcall on each, whose message names each rank's line.
---@param run fun(ranks: integer, text: string, seconds?: integer): table a test's
---@param ranks integer
---@param text string its first line is line 4 of the script; r is the rank
---@param before? string in front of the function
---@return string
function M.deadlock(run, ranks, text, before)
  local result = run(ranks, ("local r = comm.rank %s local ok, err = pcall(function()\n%s\nend)\n"):format(
    before or "", text) .. [[
      assert(not ok)
      io.write(tostring(err), "\n--\n")
      comm:abort(3)
    ]], 30)
  assert.matches("deadlock: every rank waits", result.output)
  assert.not_matches("Assertion", result.output, nil, "of libmpi's, or a library's below it")
  assert.is_false(result.ok)
  return result.output
end

---Every rank has printed "good", and the run ended well.
---@param result table what a run returns
---@param ranks integer
function M.assert_good(result, ranks)
  local _, count = result.output:gsub("good\n", "")
  assert.equal(ranks, count, result.output)
  assert.is_true(result.ok, result.output)
end

---A function that defines a test under each MPI: test("…", function(run) … end), run(ranks, text[, seconds]).
---@param it function busted's, as pending
---@param pending function
---@return fun(what: string, test: fun(run: fun(ranks: integer, text: string, seconds?: integer): table))
function M.tests(it, pending)
  return function(what, test)
    for _, library in ipairs(M.libraries) do
      it(("%s (%s)"):format(what, library), function()
        if not M.has(library) then return pending(library .. " is not installed: sh setup.sh --mpi") end
        test(function(...) return M.run(library, ...) end)
      end)
    end
  end
end

return M
