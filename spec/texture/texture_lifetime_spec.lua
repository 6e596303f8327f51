-- Lifetimes of textures: bound, in flight or neither, and that all memory is released.
-- CPU device only: kernels here read the CPU device's texture records

local mw = require "moonwarp"
local failure = require "support.failure"
local child = require "support.child"

local function collect()
  collectgarbage()
  collectgarbage()
  mw.synchronize()
  collectgarbage()
end

local text = [[
texture<float, 2> img;
texture<float, 2> other;
surface<void, 2> canvas;
__device__ float first(const mw_tex_record *r) { return *(const float *)r->levels[0].base; }
__device__ void wait(int rounds, volatile int *sink) { for (int i = 0; i < rounds; i++) sink[threadIdx.x] = i; }
__global__ void read(int rounds, int *sink, float *out) { wait(rounds, sink); *out = first(__mw_record(img)); }
__global__ void read_two(float *out) { *out = first(__mw_record(img)) + first(__mw_record(other)); }
__global__ void read_object(int rounds, int *sink, cudaTextureObject_t t, float *out) {
  wait(rounds, sink);
  *out = first(__mw_record(t));
}
__global__ void read_listed(int rounds, int *sink, const cudaTextureObject_t *list, float *out) {
  wait(rounds, sink);
  *out = first(__mw_record(list[0]));
}
__global__ void paint(int rounds, int *sink, float value) {
  wait(rounds, sink);
  *(float *)__mw_record(canvas)->levels[0].base = value;
}
]]
local LONG = 3000000 -- iterations: still running when the host has finished its part of the test

local m = mw.compile(text)
local sink = mw.zeros(1, "int")

-- Memory of the same size, so that what was given back too early is written over.
local function write_over(count)
  local list = {}
  for i = 1, count or 20 do list[i] = mw.full({ 1, 8 }, -1) end
  return list
end

local function value(v) return mw.full({ 1, 8 }, v) end

describe("a bound texture", function()
  it("is kept alive without other references to it or its memory", function()
    local out = mw.zeros(1)
    m.img = mw.texture(value(3))
    collect()
    local others = write_over()
    m.read(1, 1)(1, sink, out)
    assert.equal(3, out[1])
    m.img = mw.texture(mw.cuda_array(value(4)))
    m.canvas = mw.surface(mw.cuda_array(value(0)))
    collect()
    m.paint(1, 1)(1, sink, 6)
    m.read(1, 1)(1, sink, out)
    assert.equal(4, out[1])
    assert.equal(6, m.canvas.memory:array():sum())
    assert.equal(20, #others)
  end)

  it("is released with the binding, and with the module", function()
    collect()
    m.img, m.canvas = nil, nil
    collect()
    local before = mw.memory()
    m.img = mw.texture(mw.zeros(1000, 1000))
    assert.is_true(mw.memory().bytes >= before.bytes + 4000000)
    m.img = nil
    collect()
    assert.same({ before.bytes, before.count }, { mw.memory().bytes, mw.memory().count })
    do
      local own = mw.compile(text)
      own.img = mw.texture(mw.zeros(1000, 1000))
      own.other = own.img
      own.canvas = mw.surface(mw.cuda_array { width = 100, height = 100 })
      own.read(1, 1)(1, sink, mw.zeros(1))
    end
    collect()
    assert.same({ before.bytes, before.count }, { mw.memory().bytes, mw.memory().count })
  end)

  it("may be bound to several references, and leaves with the last", function()
    local out = mw.zeros(1)
    m.img = mw.texture(value(5))
    m.other = m.img
    collect()
    m.read_two(1, 1)(out)
    assert.equal(10, out[1])
    m.img = mw.texture(value(1))
    collect()
    local others = write_over()
    m.read_two(1, 1)(out)
    assert.equal(6, out[1])
    m.other = nil
    assert.equal(20, #others)
  end)

  it("stays bound when the texture object is freed by hand", function()
    local out = mw.zeros(1)
    local texture = mw.texture(value(7))
    m.img = texture
    texture:free()
    texture:free()
    assert.is_true(texture.freed)
    collect()
    m.read(1, 1)(1, sink, out)
    assert.equal(7, out[1])
    assert.equal("point", m.img.filter)
    assert.matches("was freed", failure(function() texture.filter = "linear" end).message)
    assert.matches("parameter 3 't' of read_object is a texture or surface that was freed",
      failure(m.read_object(1, 1), 1, sink, texture, out).message)
    do
      local closed <close> = mw.texture(value(8))
      m.img = closed
    end
    m.read(1, 1)(1, sink, out)
    assert.equal(8, out[1])
  end)

  it("cannot be read once its memory is freed by hand, and that is said", function()
    local out, memory, array = mw.zeros(1), value(3), mw.cuda_array(value(4))
    m.img = mw.texture(memory)
    memory:free()
    local err = failure(m.read(1, 1), 1, sink, out)
    assert.equal("cudaErrorInvalidResourceHandle", err.code)
    assert.equal("read reads the texture reference 'img', and the memory that is bound to it was freed", err.message)
    local texture = mw.texture(array)
    array:free()
    assert.matches("the memory of this texture was freed", failure(function() m.img = texture end).message)
    assert.matches("parameter 3 't' of read_object is a texture over memory that was freed",
      failure(m.read_object(1, 1), 1, sink, texture, out).message)
    m.img = mw.texture(value(9))
    m.read(1, 1)(1, sink, out)
    assert.equal(9, out[1])
  end)
end)

describe("work in flight", function()
  local out
  before_each(function() out = mw.zeros(1) end)

  it("reads the texture that was bound at its launch, after another is bound and the first is collected", function()
    m.img = mw.texture(value(11))
    m.read(1, 1)(LONG, sink, out)
    m.img = mw.texture(value(12))
    collectgarbage()
    collectgarbage()
    local others = write_over()
    assert.equal(11, out[1])
    assert.equal(20, #others)
  end)

  it("reads memory that is freed by hand in the meantime", function()
    local memory = value(13)
    m.img = mw.texture(memory)
    m.read(1, 1)(LONG, sink, out)
    memory:free()
    local others = write_over()
    assert.equal(13, out[1])
    assert.equal(20, #others)
  end)

  it("keeps texture objects that are its arguments", function()
    m.read_object(1, 1)(LONG, sink, mw.texture(value(14)), out)
    collectgarbage()
    collectgarbage()
    local others = write_over()
    assert.equal(14, out[1])
    assert.equal(20, #others)
  end)

  it("keeps texture objects whose handles are in an array", function()
    m.read_listed(1, 1)(LONG, sink, mw.array({ mw.texture(value(15)) }, "cudaTextureObject_t"), out)
    collectgarbage()
    collectgarbage()
    local others = write_over()
    assert.equal(15, out[1])
    assert.equal(20, #others)
  end)

  it("keeps bound textures when its module is collected", function()
    do
      local own = mw.compile(text)
      own.img = mw.texture(value(16))
      own.read(1, 1)(LONG, sink, out)
    end
    collectgarbage()
    collectgarbage()
    local others = write_over()
    assert.equal(16, out[1])
    assert.equal(20, #others)
  end)

  it("writes into a surface that the script has released", function()
    local array = mw.cuda_array(value(0))
    m.canvas = mw.surface(array)
    m.paint(1, 1)(LONG, sink, 17)
    m.canvas = nil
    collectgarbage()
    collectgarbage()
    assert.equal(17, array:array():sum())
  end)

  it("includes bound launches: they keep their texture, and read the one that is bound when they run", function()
    local prepared = m.read_object(1, 1):bind(1, sink, mw.texture(value(18)), out)
    collect()
    local others = write_over()
    prepared()
    assert.equal(18, out[1])
    m.img = mw.texture(value(19))
    local reads = m.read(1, 1):bind(1, sink, out)
    m.img = mw.texture(value(20))
    collect()
    reads()
    assert.equal(20, out[1])
    assert.equal(20, #others)
  end)
end)

describe("many textures", function()
  it("made, bound, used and released leave no memory in use", function()
    m.img, m.other, m.canvas = nil, nil, nil
    collect()
    local before = mw.memory()
    local out = mw.zeros(1)
    for i = 1, 300 do
      m.img = mw.texture(i % 2 == 0 and value(i) or mw.cuda_array(value(i)))
      m.img.filter = "linear"
      m.read(1, 1)(1, sink, out)
      if i % 50 == 0 then assert.equal(i, out[1]) end
    end
    m.img = nil
    out:free()
    collect()
    assert.same({ before.bytes, before.count }, { mw.memory().bytes, mw.memory().count })
  end)
end)

describe("a process", function()
  it("may end with textures bound and in flight", function()
    local result = child([=[
      local mw = require "moonwarp"
      local text = ...
      m = mw.compile(text)
      m.img = mw.texture(mw.full({ 1, 8 }, 3))
      m.canvas = mw.surface(mw.cuda_array { width = 8, height = 8 })
      m.read(1, 1)(3000000, mw.zeros(1, "int"), mw.zeros(1))
      m.paint(1, 1)(3000000, mw.zeros(1, "int"), 3)
      io.write "end of script"
    ]=], text)
    assert.equal("end of script", result.output)
    assert.is_true(result.ok)
  end)
end)
