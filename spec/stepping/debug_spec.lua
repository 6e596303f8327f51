-- mw.debug in scripts: breakpoints, steps in both directions, values, watched writes, compared with plain loops over
-- threads.
-- CPU device only: no other device can watch launches

local mw = require "moonwarp"

local source = [[
struct body { float3 at; int id; unsigned char tags[4]; };
__device__ int calls;
__device__ float half_of(float v) {
  float h = v / 2;
  return h;
}
__device__ int down(int n) {
  if (n == 0) return 0;
  return 1 + down(n - 1);
}
__global__ void sums(float *x, int n, body b) {
  __shared__ float tile[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  float acc = 0;
  for (int j = 0; j < 3; j++) {
    float one = tile[(threadIdx.x + j) % blockDim.x]; // LOOP
    acc += one;
  }
  if (threadIdx.x % 2) {
    acc = -acc; // ODD
  } else {
    acc = acc + b.id; // EVEN
  }
  if (i < n) x[i] = half_of(acc); // CALL
  if (i == 0) calls = down(3);
} // END
__global__ void shadows(int *out) {
  int v = 1;
  for (int k = 0; k < 2; k++) {
    int v = 10 + k;
    out[k] = v; // INNER
  }
  out[2] = v; // OUTER
}
__global__ void wild(int *out, int far) {
  int where = threadIdx.x;
  if (where == 5) where = far;
  out[where] = 1; // WILD
}
]]

local function line_of(text)
  local n = 0
  for line in io.lines "spec/stepping/debug_spec.lua" do
    n = n + 1
    if line:find("// " .. text, 1, true) then return n end
  end
end

local m

local function started(blocks, threads, options)
  local x = mw.arange(threads * (blocks or 1)):to "float"
  local b = { at = { 1, 2, 3 }, id = 7, tags = { 1, 2, 3, 4 } }
  return mw.debug(m.sums, blocks or 1, threads, 0, options)(x, threads * (blocks or 1), b), x
end

-- x as the kernel leaves it for one block.
local function expected(threads)
  local out = {}
  for t = 0, threads - 1 do
    local acc = t + (t + 1) % threads + (t + 2) % threads
    acc = t % 2 == 1 and -acc or acc + 7
    out[t + 1] = acc / 2
  end
  return out
end

describe("mw.debug", function()
  setup(function() m = mw.compile(source) end)

  it("runs the launch as it would run otherwise", function()
    local d, x = started(1, 64)
    assert.same(expected(64), x:totable())
    assert.same({ 0, 0, 0 }, d.block)
    assert.same({ 0, 0, 0 }, d.thread)
    assert.is_nil(d.failure)
  end)

  it("stops at a line, for every warp that reaches it", function()
    local d = started(1, 64)
    local n = d:breakpoint(line_of "LOOP")
    local seen = {}
    for _ = 1, 6 do
      local stop = d:continue()
      assert.equal("breakpoint", stop.reason)
      assert.equal(n, stop.number)
      assert.equal(line_of "LOOP", d.line)
      assert.equal(32, #d.lanes)
      local key = (stop.thread[1] < 32 and 0 or 1) .. ":" .. d:value "j"
      seen[key] = (seen[key] or 0) + 1
    end
    assert.same({ ["0:0"] = 1, ["0:1"] = 1, ["0:2"] = 1, ["1:0"] = 1, ["1:1"] = 1, ["1:2"] = 1 }, seen)
    assert.equal("end", d:continue().reason)
    assert.is_true(d.ended)
  end)

  it("stops for threads and blocks that a condition chooses", function()
    local d = started(3, 64, { blocks = { 0, { 2, 0, 0 } } })
    d:breakpoint(line_of "CALL", "blockIdx.x == 2 && threadIdx.x == 41")
    d:continue()
    assert.same({ 2, 0, 0 }, d.block)
    assert.same({ 41, 0, 0 }, d.thread)
    assert.equal(2 * 64 + 41, d:value "i")
    assert.equal("end", d:continue().reason)
  end)

  it("gives variables of any thread", function()
    local d = started(1, 64)
    d:breakpoint(line_of "CALL", "threadIdx.x == 63")
    d:continue()
    local out = expected(64)
    for _, t in ipairs { 63, 32, 33, 47 } do
      d:focus { thread = { t } }
      assert.equal(out[t + 1] * 2, d:value "acc")
      assert.equal(t, d:value "threadIdx.x")
      assert.equal(t, d:value "tile[threadIdx.x]")
    end
    assert.same({ x = 1, y = 2, z = 3 }, d:value "b.at")
    assert.same({ 1, 2, 3, 4 }, d:value "b.tags")
    assert.equal(64, d:value "blockDim.x * gridDim.x")
    assert.equal(64, #d:value "tile")
  end)

  it("shows which lanes are active where a warp diverges", function()
    local d = started(1, 32)
    d:breakpoint(line_of "ODD")
    d:continue()
    local odd, even = {}, {}
    for lane = 0, 31 do table.insert(lane % 2 == 1 and odd or even, lane) end
    assert.same(odd, d.lanes)
    d:breakpoint(line_of "EVEN")
    d:continue()
    assert.same(even, d.lanes)
    d:breakpoint(line_of "CALL")
    d:continue()
    assert.equal(32, #d.lanes)
  end)

  it("steps a thread into functions, over them and out of them", function()
    local d = started(1, 4)
    d:breakpoint(line_of "CALL", "threadIdx.x == 2")
    d:continue()
    local stop = d:step()
    assert.equal("step", stop.reason)
    assert.equal(d:value "v", expected(4)[3] * 2)
    assert.equal(2, select(2, d:command("backtrace"):gsub("#%d", "")))
    d:step()
    assert.equal(expected(4)[3], d:value "h")
    d:finish()
    assert.equal(1, select(2, d:command("backtrace"):gsub("#%d", "")))
    d:back(3)
    assert.equal(line_of "CALL", d.line)
    d:next()
    assert.equal(line_of "CALL" + 1, d.line)
  end)

  it("has a frame for each call of a recursive function", function()
    local d = started(1, 1)
    d:breakpoint("down", "n == 0")
    d:continue()
    local _, frames = d:command("backtrace"):gsub("#%d", "")
    assert.equal(5, frames)
    for n = 1, 3 do
      d:command "up"
      assert.equal(n, d:value "n")
    end
    d:command "up"
    assert.equal(0, d:value "i")
  end)

  it("goes back, to lines and to stops, and finds the values of then", function()
    local d = started(1, 32)
    d:breakpoint(line_of "LOOP", "threadIdx.x == 5")
    for _ = 1, 3 do d:continue() end
    assert.equal(2, d:value "j")
    local late = d:value "acc"
    assert.equal("breakpoint", d:reverse_continue().reason)
    assert.equal(1, d:value "j")
    assert.equal(late - 6, d:value "acc")
    d:reverse_continue()
    assert.equal(0, d:value "j")
    assert.equal("start", d:reverse_continue().reason)
    d:continue()
    assert.equal(0, d:value "j")
    local line = d.line
    d:step(4)
    d:back(4)
    assert.equal(line, d.line)
    assert.equal(0, d:value "j")
    assert.equal(0, d:value "acc")
  end)

  it("finds elements of arrays as they were", function()
    local d = started(1, 4)
    assert.same({ 0, 1, 2, 3 }, d:value "x[0]@4")
    d:continue()
    d:back()
    assert.equal(line_of "END", d.line)
    assert.same(expected(4), d:value "x[0]@4")
    d:breakpoint(line_of "CALL")
    d:reverse_continue()
    assert.same({ 0, 1, 2, 3 }, d:value "x[0]@4")
  end)

  it("stops where an element is written, with the thread, the line and both values", function()
    local d = started(1, 4)
    d:watch "x[2]"
    local stop = d:continue()
    assert.equal("watch", stop.reason)
    assert.equal(1, #stop.changes)
    local change = stop.changes[1]
    assert.same({ 2, 0, 0 }, change.thread)
    assert.equal(line_of "CALL", change.line)
    assert.equal("2", change.old)
    assert.equal(("%.9g"):format(expected(4)[3]), change.new)
    assert.equal(expected(4)[3], d:value "x[2]")
    assert.equal("end", d:continue().reason)
    stop = d:reverse_continue()
    assert.equal("watch", stop.reason)
    d:command "up" -- it was in half_of before
    assert.equal(2, d:value "x[2]")
  end)

  it("stops where an array in shared memory is written, by each of its writers", function()
    local d = started(1, 64)
    d:watch "tile"
    local writers = {}
    for _ = 1, 2 do
      for _, change in ipairs(d:continue().changes) do
        writers[#writers + 1] = change.thread[1]
        assert.equal(("tile[%d]"):format(change.thread[1]), change.name)
        assert.equal(tostring(change.thread[1]), change.new)
      end
    end
    assert.equal(64, #writers)
    assert.equal("end", d:continue().reason)
  end)

  it("stops where a variable of a thread changes", function()
    local d = started(1, 32)
    d:focus { thread = { 3 } }
    d:breakpoint(line_of "LOOP")
    d:continue()
    d:focus { thread = { 3 } }
    d:delete(1)
    d:watch "acc"
    local values = {}
    while true do
      local stop = d:continue()
      if stop.reason == "end" then break end
      assert.same({ 3, 0, 0 }, stop.thread)
      values[#values + 1] = d:value "acc"
    end
    assert.same({ 3, 3 + 4, 3 + 4 + 5, -(3 + 4 + 5) }, values)
  end)

  it("tells variables of one name apart by their scopes", function()
    local out = mw.zeros(3, "int")
    local d = mw.debug(m.shadows, 1, 1)(out)
    d:breakpoint(line_of "INNER")
    d:continue()
    assert.equal(10, d:value "v")
    d:continue()
    assert.equal(11, d:value "v")
    d:breakpoint(line_of "OUTER")
    d:continue()
    assert.equal(1, d:value "v")
    assert.same({ 10, 11, 1 }, out:totable())
  end)

  it("keeps the record of a launch that fails", function()
    local out = mw.zeros(8, "int")
    local d = mw.debug(m.wild, 1, 8)(out, 1000000)
    assert.truthy(tostring(d.failure):find "wild")
    d:breakpoint(line_of "WILD", "where > 100")
    d:continue()
    assert.same({ 5, 0, 0 }, d.thread)
    assert.equal(1000000, d:value "where")
    assert.equal("end", d:continue().reason)
    assert.truthy(d:command("continue"):find("The launch failed: ", 1, true))
  end)

  it("steps a warp, whichever of its lanes go on", function()
    local d = started(1, 32)
    d:breakpoint(line_of "ODD")
    d:continue()
    local lanes = #d.lanes
    d:step_warp()
    assert.equal(16, lanes)
    assert.is_true(d.line > line_of "ODD")
    assert.is_false(d.ended)
  end)

  it("records as much as `most` allows, and says so", function()
    local d = started(1, 64, { most = 300 })
    d:continue()
    assert.truthy(d:command("continue"):find("The record is full: it has 300 entries", 1, true))
  end)

  it("says what is wrong with its arguments", function()
    local x = mw.zeros(4, "float")
    local d = started(1, 4)
    for _, case in ipairs {
      { function() mw.debug(m.sums, 2, 4, 0, { blocks = { 2 } }) end, "there is no block" },
      { function() mw.debug(m.sums, 1, 4, 0, 3) end, "options" },
      { function() d:value "nothing" end, "there is no variable 'nothing' here" },
      { function() d:value "tile[64]" end, "index 64 is outside of float[64]" },
      { function() d:value "acc" end, "acc is declared further on" },
      { function() d:value "b.nothing" end, "has no member 'nothing'" },
      { function() d:value "i +" end, "ends too early" },
      { function() d:value "*i" end, "a value of type int is not a pointer" },
      { function() d:breakpoint "nowhere" end, "there is no function 'nowhere'" },
      { function() d:breakpoint(100000) end, "no code stands at line 100000" },
      { function() d:focus { thread = { 4 } } end, "there is no thread" },
      { function() d:focus { block = { 1 } } end, "there is no block" },
      { function() d:delete(9) end, "there is no breakpoint 9" },
      { function() d:watch "i + 1" end, "not in memory" },
      { function() d:finish() end, "the kernel has none" },
      { function() d:step "far" end, "positive integer" },
      { function() d:focus { thread = 3 } end, "a thread is {x, y, z}" },
      { function() d:focus(3) end, "focus wants" },
      { function() d:value(3) end, "an expression is a string" },
      { function() d:command(3) end, "a command is a string" },
      { function() d:command "jump" end, "there is no command 'jump'" },
    } do
      local ok, err = pcall(case[1])
      assert.is_false(ok)
      assert.truthy(tostring(err):find(case[2], 1, true), tostring(err))
    end
    x:free()
  end)
end)
