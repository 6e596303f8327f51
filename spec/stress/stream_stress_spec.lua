-- Streams under load: a hundred thousand kernels, copies and fills in eight streams and the default one, ordered by
-- nothing but events, waits and the default stream's rule, leave what the same operations leave one after the other.

local mw = require "moonwarp"
local random = require "support.random" "stream_stress_spec"

local m = mw.compile [[
__global__ void step(int n, int a, int b, int *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * a + b + i;
}
__global__ void mix(int n, const int *x, int *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = y[i] * 3 + x[n - 1 - i];
}
]]

local COUNT, STREAMS, BUFFERS = 24, 8, 12
local function wrap(v) return (v + 2 ^ 31) % 2 ^ 32 - 2 ^ 31 end

-- The operations, each on arrays and on the model's tables. Products stay below 2^53.
local function operations(array, model)
  local grid, block = mw.cdiv(COUNT, 8), 8
  return {
    step = function(stream, i)
      local a, b = random(2, 9), random(0, 1000)
      m.step(grid, block, 0, stream)(COUNT, a, b, array[i])
      for k = 1, COUNT do model[i][k] = wrap(model[i][k] * a + b + k - 1) end
    end,
    mix = function(stream, i, j)
      m.mix(grid, block, 0, stream)(COUNT, array[j], array[i])
      local old = {}
      for k = 1, COUNT do old[k] = wrap(model[i][k] * 3 + model[j][COUNT + 1 - k]) end
      model[i] = old
    end,
    copy = function(stream, i, j)
      mw.with(stream, function() array[i]:copy_from(array[j]) end)
      local new = {}
      for k = 1, COUNT do new[k] = model[j][k] end
      model[i] = new
    end,
    fill = function(stream, i)
      local value = random(-1000, 1000)
      mw.with(stream, function() array[i]:fill(value) end)
      for k = 1, COUNT do model[i][k] = value end
    end,
  }
end

describe("eight streams", function()
  it("give the result of one stream, whatever overlaps", function()
    local default = mw.default_stream()
    local streams, array, model, last = { default }, {}, {}, {}
    for i = 1, STREAMS do
      -- Not the non-blocking ones: arrays made below are filled in the default stream.
      streams[i + 1] = mw.stream { priority = random(-5, 0) }
    end
    for i = 1, BUFFERS do
      array[i], model[i], last[i] = mw.zeros(COUNT, "int"), {}, 1
      for k = 1, COUNT do model[i][k] = 0 end
    end
    local operation = operations(array, model)
    local names = { "step", "step", "step", "mix", "mix", "copy", "fill" }
    local spare = {}
    for i = 1, 16 do spare[i] = mw.event { timing = i % 2 == 0 } end

    -- `stream` waits for whoever used buffer i last, by an event that is used over and over, by a fresh one, or by the
    -- default stream's rule, which needs nothing.
    local function order(stream, i)
      local other = last[i]
      if other == stream or other == 1 or stream == 1 then return end
      local how = random(1, 3)
      if how == 1 then
        streams[stream]:wait(streams[other])
      elseif how == 2 then
        streams[stream]:wait(streams[other]:record())
      else
        streams[stream]:wait(spare[random(1, #spare)]:record(streams[other]))
      end
    end

    local counted = 0
    for n = 1, 100000 do
      local stream = random(1, 20) == 1 and 1 or random(2, STREAMS + 1)
      local name, i, j = names[random(1, #names)], random(1, BUFFERS), random(1, BUFFERS)
      if i == j then j = i % BUFFERS + 1 end
      order(stream, i)
      if name == "mix" or name == "copy" then order(stream, j) end
      operation[name](streams[stream], i, j)
      last[i] = stream
      -- A reader counts as a user: the next writer has to wait for it too.
      if name == "mix" or name == "copy" then last[j] = stream end
      if n % 5000 == 0 then
        local what = random(1, 3)
        if what == 1 then
          streams[stream]:synchronize()
          assert.is_true(streams[stream]:query())
        elseif what == 2 then
          streams[stream]:call(function() counted = counted + 1 end)
          streams[stream]:synchronize()
        else
          assert.same(model[i], array[i]:totable())
        end
      end
    end
    for i = 1, BUFFERS do assert.same(model[i], array[i]:totable()) end
    for i = 1, #streams do assert.is_true(streams[i]:query()) end
  end)
end)
