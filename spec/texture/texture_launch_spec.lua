-- Launches and the textures that their kernels read: what is bound when a launch is made, and what is missing.
-- CPU device only: kernels here read the CPU device's texture records

local mw = require "moonwarp"
local failure = require "support.failure"
local records = require "support.texture_records"

local m, rows = records.module, records.rows

local function matches(pattern, f, ...) assert.matches(pattern, failure(f, ...).message) end

describe("a launch", function()
  local out = mw.zeros(1)

  it("fails where it may read a reference that nothing is bound to", function()
    m.img = nil
    local err = failure(m.read(1, 1), 0, 0, out)
    assert.equal("cudaErrorInvalidTextureBinding", err.code)
    assert.equal("launch", err.kind)
    assert.equal("read", err.kernel)
    assert.equal("read reads the texture reference 'img', and nothing is bound to it: assign m.img = "
      .. "mw.texture(array, {...})", err.message)
    matches("read_deep reads the texture reference 'img'", m.read_deep(1, 1), out)
    matches("'img'", m["read_times<2>"](1, 1), out)
    matches("'img'", m.read(1, 1):bind(0, 0, out))
    matches("read_inside reads the texture reference 'ns::inside'", m.read_inside(1, 1), mw.zeros(1, "int"))
    matches("paint reads the surface reference 'canvas', .* assign m%.canvas = mw%.surface%(array%)", m.paint(1, 1), 1)
  end)

  it("needs no references but its own", function()
    m.img = nil
    m.read_nothing(1, 1)(out)
    assert.equal(7, out[1])
    m.line = mw.texture(mw.array { 3, 4 })
    m.read_line(1, 1)(1, out)
    assert.equal(4, out[1])
  end)

  it("finds bound textures when its kernel was specialised for its block size", function()
    local before = mw.limit("specialise", 0)
    local own = mw.compile [[
      texture<float, 2> one, two;
      __global__ void sum(int n, float *out) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) out[i] = ((const float *)__mw_record(two)->levels[0].base)[i]
                          + 2 * ((const float *)__mw_record(one)->levels[0].base)[i];
      }
    ]]
    local results = mw.zeros(64)
    for round = 1, 4 do
      own.one, own.two = mw.texture(mw.full({ 1, 64 }, round)), mw.texture(mw.full({ 1, 64 }, 100 * round))
      own.sum(2, 32)(64, results)
      assert.equal(64 * 102 * round, results:sum())
    end
    mw.limit("specialise", before)
  end)

  it("works again once there is something bound", function()
    m.img = nil
    local bound = m.read(1, 1):bind(2, 1, out)
    failure(bound)
    m.img = mw.texture(rows)
    bound()
    assert.equal(6, out[1])
    m.read_deep(1, 1)(out)
    assert.equal(0, out[1])
  end)

  it("reads the texture that was bound when it was made, even if another is bound while it waits", function()
    local sink, first, second = mw.zeros(1, "int"), mw.zeros(1), mw.zeros(1)
    m.img = mw.texture(mw.full({ 1, 4 }, 1))
    m.late(1, 1)(3000000, sink, first)
    m.img = mw.texture(mw.full({ 1, 4 }, 2))
    m.late(1, 1)(10, sink, second)
    m.img = nil
    assert.same({ 1, 2 }, { first[1], second[1] })
  end)

  it("does so in every stream, including non-blocking ones", function()
    for _, stream in ipairs { mw.stream(), mw.stream { nonblocking = true } } do
      local sink, first, second = mw.zeros(1, "int"), mw.zeros(1), mw.zeros(1)
      local one, two = mw.full({ 1, 4 }, 1), mw.full({ 1, 4 }, 2)
      mw.synchronize() -- which a non-blocking stream does not do by itself
      m.img = mw.texture(one)
      m.late(1, 1, 0, stream)(3000000, sink, first)
      m.img = mw.texture(two)
      m.late(1, 1, 0, stream)(10, sink, second)
      m.img = nil
      collectgarbage()
      collectgarbage()
      mw.synchronize()
      assert.same({ 1, 2 }, { first[1], second[1] })
      local before, after = mw.zeros(1, "uint"), mw.zeros(1, "uint")
      m.img = mw.texture(rows)
      mw.synchronize()
      m.filter_of(1, 1, 0, stream)(3000000, sink, before)
      m.img.filter = "linear"
      m.filter_of(1, 1, 0, stream)(10, sink, after)
      mw.synchronize()
      assert.same({ 0, 1 }, { before[1], after[1] })
    end
  end)

  it("reads with the options at the time when it was made, even if they change while it waits", function()
    local sink, first, second = mw.zeros(1, "int"), mw.zeros(1, "uint"), mw.zeros(1, "uint")
    m.img = mw.texture(rows, { filter = "point" })
    m.filter_of(1, 1)(3000000, sink, first)
    m.img.filter = "linear"
    m.filter_of(1, 1)(10, sink, second)
    m.img.filter = "point"
    assert.same({ 0, 1 }, { first[1], second[1] })
  end)
end)
