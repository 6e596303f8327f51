-- Kernels with textures among nodes of a graph in sequence, which the CPU device runs as one command.
-- CPU device only: a kernel's fault on a GPU ends the process's use of it

local mw = require "moonwarp"
local failure = require "support.failure"

describe("kernels with texture references among them", function()
  local t = mw.compile [[
  texture<float, 1, cudaReadModeElementType> from;
  surface<void, 1> to;
  __global__ void fetch(float shift, float *x) { x[threadIdx.x] = tex1D(from, threadIdx.x + shift) + 1; }
  __global__ void draw(const float *x) { surf1Dwrite(x[threadIdx.x], to, threadIdx.x * 4); }
  texture<float, 1, cudaReadModeElementType> table;
  __global__ void add(float *x) { x[threadIdx.x] += tex1Dfetch(table, threadIdx.x); }
  ]]

  local function texels(values) return mw.cuda_array(values, { kind = "1d" }) end

  -- x is drawn, fetched one position to the right, and the table's value is added: three kernels for each iteration.
  local function graph(rounds)
    local x = mw.array { 5, 6, 7, 8 }
    return mw.capture(function()
      for _ = 1, rounds do
        t.draw(1, 4)(x)
        t.fetch(1, 4)(-0.5, x)
        t.add(1, 4)(x)
      end
    end):instantiate(), x
  end

  -- The same in Lua; outside there is the first number, or 0.
  local function model(x, rounds, list, clamp)
    for _ = 1, rounds do
      for i = 4, 1, -1 do x[i] = (x[i - 1] or clamp and x[1] or 0) + 1 + list[i] end
    end
    return x
  end

  local function bind(array, list)
    t.from, t.to, t.table = mw.texture(array, { address = "border" }), mw.surface(array), mw.texture(mw.array(list))
  end

  it("read the texture that is bound when the graph is launched, in each launch", function()
    bind(texels { 1, 2, 3, 4 }, { 1, 2, 3, 4 })
    local exec, x = graph(2)
    local expected = model({ 5, 6, 7, 8 }, 2, { 1, 2, 3, 4 })
    exec:launch()
    assert.same(expected, x:totable())
    exec:launch()
    assert.same(model(expected, 2, { 1, 2, 3, 4 }), x:totable())
    t.table = mw.texture(mw.array { 10, 20, 30, 40 })
    exec:launch()
    assert.same(model(expected, 2, { 10, 20, 30, 40 }), x:totable())
    t.from.address = "clamp"
    exec:launch()
    assert.same(model(expected, 2, { 10, 20, 30, 40 }, true), x:totable())
  end)

  it("draw to the bound surface, and not to the earlier one", function()
    local first, second = texels { 0, 0, 0, 0 }, texels { 0, 0, 0, 0 }
    bind(first, { 1, 2, 3, 4 })
    local exec = graph(1)
    exec:launch()
    bind(second, { 1, 2, 3, 4 })
    exec:launch()
    assert.same({ 5, 6, 7, 8 }, first:totable())
    assert.same(model({ 5, 6, 7, 8 }, 1, { 1, 2, 3, 4 }), second:totable())
  end)

  it("are refused while nothing is bound, and go on when something is", function()
    bind(texels { 1, 2, 3, 4 }, { 1, 2, 3, 4 })
    local exec, x = graph(1)
    t.table = nil
    assert.matches("nothing is bound to it", failure(exec.launch, exec).message)
    t.table = mw.texture(mw.array { 1, 1, 1, 1 })
    local before = x:totable()
    exec:launch()
    assert.same(model(before, 1, { 1, 1, 1, 1 }), x:totable())
    t.table = nil
    assert.matches("nothing is bound to it", failure(exec.launch, exec).message)
  end)

  it("are refused where their memory was freed, and launches in flight keep it", function()
    local array, other = texels { 1, 2, 3, 4 }, mw.texture(texels { 9, 9, 9, 9 }, { address = "clamp" })
    bind(array, { 1, 2, 3, 4 })
    local exec, x = graph(3)
    local s = mw.stream()
    s:call(function() end)
    exec:launch(s):launch(s)
    t.from = other
    array:free()
    s:synchronize()
    assert.same(model({ 5, 6, 7, 8 }, 6, { 1, 2, 3, 4 }), x:totable())
    assert.matches("freed", failure(exec.launch, exec).message) -- the surface's
    t.to = mw.surface(texels { 0, 0, 0, 0 })
    exec:launch()
    assert.same({ 11, 12, 13, 14 }, x:totable())
  end)
end)

describe("kernels with textures among them", function()
  local t = mw.compile [[
  __global__ void fetch(cudaTextureObject_t from, float shift, float *to) {
    to[threadIdx.x] = tex1D<float>(from, threadIdx.x + shift) + 1;
  }
  __global__ void draw(cudaSurfaceObject_t to, const float *from) {
    surf1Dwrite(from[threadIdx.x], to, threadIdx.x * 4);
  }
  ]]

  -- x is drawn, and fetched one position to the right, as often as a launch has iterations.
  local function graph(rounds)
    local texels, x = mw.cuda_array({ 1, 2, 3, 4 }, { kind = "1d" }), mw.array { 5, 6, 7, 8 }
    local texture, surface = mw.texture(texels, { address = "border" }), mw.surface(texels)
    local exec = mw.capture(function()
      for _ = 1, rounds do
        t.draw(1, 4)(surface, x)
        t.fetch(1, 4)(texture, -0.5, x)
      end
    end):instantiate()
    return exec, x, texture, texels
  end

  it("read what earlier nodes wrote, in each launch", function()
    local exec, x = graph(2)
    exec:launch()
    assert.same({ 1, 2, 7, 8 }, x:totable()) -- of the border: 0 + 1, and one more from place to place
    exec:launch()
    assert.same({ 1, 2, 3, 4 }, x:totable())
  end)

  it("read with options that are set between launches", function()
    local exec, x, texture = graph(1)
    exec:launch()
    assert.same({ 1, 6, 7, 8 }, x:totable())
    texture.address = "clamp"
    exec:launch()
    assert.same({ 2, 2, 7, 8 }, x:totable())
  end)

  it("are refused where their memory was freed, and launches in flight keep it", function()
    local exec, x, _, texels = graph(3)
    local s = mw.stream()
    s:call(function() end)
    exec:launch(s):launch(s)
    texels:free()
    s:synchronize()
    assert.same({ 1, 2, 3, 4 }, x:totable())
    local err = failure(exec.launch, exec, s)
    assert.matches("freed", err.message)
  end)
end)
