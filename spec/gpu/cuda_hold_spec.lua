-- Functions that a stream of an NVIDIA GPU calls, on machines without one: the stream waits for the function, and the
-- function's reads and writes bypass the stream.

local gpu = require "support.fake.gpu"

describe("a function that a GPU's stream calls", function()
  local function run(where)
    local result = gpu([[
      local x = mw.array({ 1, 2, 3 }, "int")
      local s = ]] .. where .. "\n" .. [[
      s:call(function()
        print(x[2], x:sum())
        x[1] = 9
      end)
      mw.synchronize()
      print(x[1])
    ]])
    assert.is_true(result.ok, result.output)
    assert.equal("2\t6\n9\n", result.output)
    return result
  end

  -- Streams in the order in which they were made: 0 is the default one, 1 the driver's own, 2 the script's.
  it("reads and writes past the stream, which waits for the host's word in memory", function()
    local result = run "mw.stream()"
    local held, synchronized = false, {}
    for _, line in ipairs(result.calls) do
      held = held or line:match "^cuStreamWaitValue32" ~= nil
      local number = held and line:match "^cuStreamSynchronize (%d)"
      if number then synchronized[#synchronized + 1] = number end
    end
    assert.is_true(held)
    assert.equal("1 1 1", table.concat(synchronized, " ", 1, 3), "two reads and a write")
  end)

  it("may be the default stream's", function()
    local result = run "mw.default_stream()"
    assert.equal(1, gpu.count(result, "cuStreamWaitValue32"))
  end)
end)
