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

describe("what waits for the device, freed while a stream waits for a function of the host", function()
  -- The driver would wait for the stream, and the stream for the function, which runs when this thread waits.
  local empty = [=[
mw.compile [[/*PTX
.version 9.0
.target sm_90
.address_size 64
.visible .entry empty()
{
	ret;
}
*/]]]=]
  local function freed(object)
    local result = gpu([[
      object = ]] .. object .. "\n" .. [[
      local s = mw.stream()
      s:call(function() print "called" end)
      object = nil
      collectgarbage()
      print "freed"
      mw.synchronize()
      mw.zeros(1)
    ]])
    assert.is_true(result.ok, result.output)
    assert.equal("freed\ncalled\n", result.output)
    return result
  end
  local function order(result, name)
    local calls = {}
    for _, line in ipairs(result.calls) do
      local call = line:match "^%w+"
      if call == name or call == "cuEventDestroy" or call == "cuStreamWaitValue32" then calls[#calls + 1] = call end
    end
    return table.concat(calls, " "):match "cuStreamWaitValue32 .*"
  end

  for name, object in pairs { cuMemFreeHost = "mw.pinned(8)", cuModuleUnload = empty } do
    it("is put aside until the function has run: " .. name, function()
      local calls = order(freed(object), name)
      assert.matches("^cuStreamWaitValue32 cuEventDestroy " .. name, calls)
    end)
  end
end)

describe("what is put aside for a function that never runs", function()
  it("is freed when the device is closed", function()
    local result = gpu [[
      local memory, s = mw.pinned(8), mw.stream()
      s:call(function() end)
      memory:free()
      print "freed"
    ]]
    assert.is_true(result.ok, result.output)
    assert.equal("freed\n", result.output)
    assert.equal(gpu.count(result, "cuMemHostAlloc"), gpu.count(result, "cuMemFreeHost"))
  end)
end)
