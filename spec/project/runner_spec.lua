-- The suite's runner (spec/support/run.lua): files in processes of their own, several at a time, and their counts.
-- Lua 5.4 only: it is the same on LuaJIT.

local interpreter = arg[-1]

-- What the runner prints for the files, {name, text}, and its exit status.
local function run(jobs, files)
  local folder = os.tmpname()
  os.remove(folder)
  os.execute("mkdir " .. folder)
  finally(function() os.execute("rm -r " .. folder) end)
  local paths = {}
  for i, it in ipairs(files) do
    paths[i] = ("%s/%s_spec.lua"):format(folder, it[1])
    local file = assert(io.open(paths[i], "w"))
    file:write((it[2]:gsub("FOLDER", folder)))
    file:close()
  end
  os.execute("mkfifo " .. folder .. "/fifo")
  local pipe = assert(io.popen(("JOBS=%d timeout 60 %s spec/support/run.lua %s 2>&1"):format(jobs, interpreter,
    table.concat(paths, " "))))
  local output = pipe:read "*a"
  local _, _, status = pipe:close()
  return output, status
end

local good = [[it("is good", function() end) it("is good too", function() end)]]

describe("the runner", function()
  it("adds up the counts of all files", function()
    local output, status = run(1, { { "one", good }, { "two", good },
      { "three", [[it("is not there yet", function() pending "why" end)]] } })
    assert.matches("one_spec.lua: 2 passed, %d+ s\n.*two_spec.lua: 2 passed, %d+ s\n", output)
    assert.matches("three_spec.lua: 0 passed, 1 pending, %d+ s\n", output)
    assert.matches("\n4 successes / 0 failures / 0 errors / 1 pending : %d+ seconds\n$", output)
    assert.equal(0, status)
  end)

  it("tells what failed, and of a file that ended before its count", function()
    local output, status = run(2, { { "good", good }, { "bad", [[it("is bad", function() assert.equal(1, 2) end)]] },
      { "crash", [[it("crashes", function() os.exit(7) end)]] } })
    assert.matches("bad_spec.lua: 0 passed, 1 FAILED", output)
    assert.matches("Expected objects to be equal", output)
    assert.matches("crash_spec.lua: 0 passed, 1 FAILED.*it ended with status 7 before its count", output)
    assert.matches("\n2 successes / 1 failure.? / 1 error.? / 0 pending : %d+ seconds\nfailed: ", output)
    assert.equal(1, status)
  end)

  it("starts the next file when any has ended, not only the first", function()
    local output, status = run(2, {
      { "waiting", [[it("waits for the last file", function()
        local fifo = assert(io.open "FOLDER/fifo")
        assert.equal("here", fifo:read "*a")
        fifo:close()
      end)]] },
      { "between", good },
      { "last", [[it("tells the first one", function()
        local fifo = assert(io.open("FOLDER/fifo", "w"))
        fifo:write "here"
        fifo:close()
      end)]] },
    })
    assert.matches("\n4 successes / 0 failures / 0 errors / 0 pending", output)
    assert.equal(0, status)
  end)
end)
