-- Workers take blocks without the pool's lock, while a host thread takes some and waits, and other streams have kernels
-- of their own: all blocks run, and no thread waits for work that is done.

local child = require "support.child"

local script = [==[
local mw = require "moonwarp"
local random = require "support.random" "entry_gate_spec"
local m = mw.compile [[
__global__ void step(int rounds, unsigned *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned value = x[i];
  for (int round = 0; round < rounds; round++) value = value * 1664525u + 1013904223u;
  x[i] = value;
}
]]
local N, STREAMS, ROUNDS = 8192, 3, 50
local streams = {}
for i = 1, STREAMS do streams[i] = { stream = mw.stream(), x = mw.zeros(N, "uint"), rounds = 0 } end
mw.synchronize()

local after = { [0] = 0 } -- the results of so many iterations from 0
local function value(rounds)
  for i = #after + 1, rounds do after[i] = (after[i - 1] * 1664525 + 1013904223) % 2 ^ 32 end
  return after[rounds]
end

for _ = 1, tonumber(arg[1]) do
  for _ = 1, random(1, 4) do
    local one, times = streams[random(1, STREAMS)], random(1, 8)
    m.step(N / 128, 128, 0, one.stream)(ROUNDS * times, one.x)
    one.rounds = one.rounds + ROUNDS * times
    if one.rounds > 20000 then
      one.stream:synchronize()
      for _, i in ipairs { 1, 2, N / 2, N } do assert(one.x[i] == value(one.rounds)) end
      one.x:fill(0)
      mw.synchronize()
      one.rounds = 0
    end
  end
  streams[random(1, STREAMS)].stream:synchronize()
end
for _, one in ipairs(streams) do
  one.stream:synchronize()
  for i = 1, N do assert(one.x[i] == value(one.rounds)) end
end
print "all done"
]==]

describe("blocks that are taken without the lock", function()
  for threads, times in pairs { [2] = 5000, [4] = 30000, [16] = 20000 } do
    it(("are all run by %d threads, and no wait misses that"):format(threads), function()
      local result = child {
        script, times, environment = { MOONWARP_DEVICE = "cpu", MOONWARP_THREADS = threads }, seconds = 120,
      }
      assert.matches("all done", result.output)
    end)
  end

  it("stop if one fails, whichever thread took it", function()
    local result = child { [==[
      local mw = require "moonwarp"
      local m = mw.compile [[
      __global__ void fill(int n, int bad, int *x) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i == bad) *(int *)8 = 1;
        x[i % n] = i;
      }
      ]]
      local x = mw.zeros(1024, "int")
      for round = 1, 60 do
        local bad = round * 1733 % 200000
        m.fill(1000, 256)(1024, bad, x)
        local good, message = pcall(mw.synchronize)
        assert(not good and tostring(message):find(("block (%d,0,0)"):format(bad // 256), 1, true), message)
        m.fill(1000, 256)(1024, -1, x)
        mw.synchronize()
      end
    ]==], environment = { MOONWARP_DEVICE = "cpu", MOONWARP_THREADS = 8 }, seconds = 30 }
    assert.equal("", result.output)
    assert.is_true(result.ok)
  end)

  it("stop when time is up", function()
    local result = child { [==[
      local mw = require "moonwarp"
      local m = mw.compile [[
      __global__ void wait(volatile int *x) { while (*x == 0) { } }
      ]]
      local x = mw.zeros(1, "int")
      mw.limit("time", 0.05)
      for _ = 1, 5 do
        m.wait(64, 32)(x)
        local good, message = pcall(mw.synchronize)
        assert(not good and tostring(message):find("0.05", 1, true), message)
      end
    ]==], environment = { MOONWARP_DEVICE = "cpu", MOONWARP_THREADS = 8 }, seconds = 30 }
    assert.equal("", result.output)
    assert.is_true(result.ok)
  end)
end)
