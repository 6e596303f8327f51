-- Launches: grid and block, shared memory, k:each, bound launches, and errors before anything runs.

local mw = require "moonwarp"
local collect = require("support.lifetime").collect
local failure = require "support.failure"
local random = require "support.random" "launch_spec"

local m = mw.compile [[
__global__ void count(int *out) { atomicAdd(out, 1); }

// Each thread writes where it is: its index among all threads, at that index.
__global__ void where(int *out) {
  int bx = blockDim.x, by = blockDim.y, bz = blockDim.z;
  int thread = threadIdx.x + bx * (threadIdx.y + by * threadIdx.z);
  int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  out[block * bx * by * bz + thread] = block * bx * by * bz + thread;
}

__global__ void sizes(int *out) {
  if (threadIdx.x || threadIdx.y || threadIdx.z || blockIdx.x || blockIdx.y || blockIdx.z) return;
  out[0] = gridDim.x; out[1] = gridDim.y; out[2] = gridDim.z;
  out[3] = blockDim.x; out[4] = blockDim.y; out[5] = blockDim.z;
}

// Reverses a block through dynamic shared memory.
__global__ void reverse(int *data) {
  extern __shared__ int cell[];
  int i = threadIdx.x, n = blockDim.x;
  data += blockIdx.x * n;
  cell[i] = data[i];
  __syncthreads();
  data[i] = cell[n - 1 - i];
}

__global__ void add(int n, const int *a, int *b) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] += a[i];
}

__global__ void cover(int nx, int ny, int *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < nx && y < ny) atomicAdd(&out[y * nx + x], 1);
}

__global__ void cover3(int nx, int ny, int nz, int *out) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < nx && y < ny && z < nz) atomicAdd(&out[(z * ny + y) * nx + x], 1);
}

__global__ void __launch_bounds__(64) small(int n, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&out[i], 1);
}

__global__ void nothing() {}
]]

local function sizes(grid, block)
  local out = mw.zeros(6, "int")
  m.sizes(grid, block)(out)
  return out:totable()
end

describe("a launch", function()
  it("takes grid and block as numbers or tables of up to three", function()
    assert.same({ 3, 1, 1, 32, 1, 1 }, sizes(3, 32))
    assert.same({ 3, 2, 1, 8, 4, 1 }, sizes({ 3, 2 }, { 8, 4 }))
    assert.same({ 3, 2, 4, 8, 4, 2 }, sizes({ 3, 2, 4 }, { 8, 4, 2 }))
    assert.same({ 3, 1, 4, 8, 1, 1 }, sizes({ x = 3, z = 4 }, { x = 8 }))
    assert.same({ 5, 1, 1, 1, 1, 1 }, sizes(5.0, { 1.0 }))
  end)

  it("runs every thread of every block once", function()
    for _ = 1, 10 do
      local grid = { random(1, 5), random(1, 4), random(1, 3) }
      local block = { random(1, 16), random(1, 4), random(1, 4) }
      local n = grid[1] * grid[2] * grid[3] * block[1] * block[2] * block[3]
      local out, counter = mw.full(n, -1, "int"), mw.zeros(1, "int")
      m.where(grid, block)(out)
      m.count(grid, block)(counter)
      for i, value in ipairs(out:totable()) do assert.equal(i - 1, value) end
      assert.equal(n, counter[1])
    end
  end)

  it("gives a block the requested dynamic shared memory", function()
    local a = mw.arange(1000, "int")
    m.reverse(10, 100, 400)(a)
    local list = a:totable()
    for block = 0, 9 do
      for i = 0, 99 do assert.equal(block * 100 + 99 - i, list[block * 100 + i + 1]) end
    end
  end)

  it("takes the default stream, written as nil or 0", function()
    m.nothing(1, 1, 0, nil)()
    m.nothing(1, 1, nil, 0)()
    assert.matches("stream", failure(m.nothing, 1, 1, 0, "fast").message)
  end)

  it("follows the one before it", function()
    local a, b = mw.ones(100, "int"), mw.zeros(100, "int")
    for _ = 1, 50 do
      m.add(1, 128)(100, a, b)
      m.add(1, 128)(100, b, a)
    end
    -- Fibonacci numbers wrap in 32 bits as C's unsigned ones do
    local x, y = 1, 0
    for _ = 1, 50 do
      y = (y + x) & 0xffffffff
      x = (x + y) & 0xffffffff
    end
    assert.equal(string.pack("<I4", x), string.pack("<i4", a[100]))
    assert.equal(string.pack("<I4", y), string.pack("<i4", b[1]))
  end)

  it("may be kept, and is not changed by others of its kernel", function()
    local first, second = m.sizes(1, 1), m.sizes({ 2, 3 }, 4)
    local out = mw.zeros(6, "int")
    second(out)
    assert.same({ 2, 3, 1, 4, 1, 1 }, out:totable())
    first(out)
    assert.same({ 1, 1, 1, 1, 1, 1 }, out:totable())
    assert.same({ 2, 3, 1 }, second.grid)
    assert.same({ 4, 1, 1 }, second.block)
    assert.equal(m.sizes, second.kernel)
    assert.equal("launch sizes<<<{2, 3}, 4>>>", tostring(second))
  end)

  it("outlives its kernel and module", function()
    local launch
    do
      local module = mw.compile "__global__ void seven(int *out) { out[threadIdx.x] = 7; }"
      launch = module.seven(1, 4)
    end
    collectgarbage()
    collectgarbage()
    local out = mw.zeros(4, "int")
    launch(out)
    assert.same({ 7, 7, 7, 7 }, out:totable())
  end)

  it("keeps its arrays while it runs", function()
    for _ = 1, 100 do
      local out = mw.zeros(1000, "int")
      m.add:each(1000)(1000, mw.ones(1000, "int"), out) -- the ones are garbage at once
      collectgarbage("step")
      assert.equal(1000, out:sum())
    end
  end)

  it("keeps nothing once it ran", function()
    collect()
    local before = mw.memory().count
    m.add(1, 1)(1, mw.zeros(1, "int"), mw.zeros(1, "int"))
    collect()
    assert.equal(before, mw.memory().count)
  end)

  it("makes no garbage when it is repeated", function()
    -- A bound launch where the FFI is the binding: it looks for the line of a plain launch each time, which makes a
    -- table. The least of several repetitions, since LuaJIT's own memory for the code that it makes counts too.
    local result = require "support.child" [[
      local mw = require "moonwarp"
      local m = mw.compile "__global__ void add(int n, const int *a, int *b) { b[threadIdx.x % n] += a[0]; }"
      local a, b = mw.zeros(4, "int"), mw.zeros(4, "int")
      local bound = mw.binding == "ffi" and m.add(1, 4):bind(4, a, b)
      local function run(times)
        for _ = 1, times do
          if bound then bound() else m.add(1, 4)(4, a, b) end
        end
      end
      local least = math.huge
      for _ = 1, 5 do
        run(200)
        collectgarbage()
        collectgarbage("stop")
        local before = collectgarbage("count")
        run(1000)
        least = math.min(least, collectgarbage("count") - before)
        collectgarbage("restart")
      end
      print(least < 1 and "none" or least)
    ]]
    assert.equal("none\n", result.output)
  end)
end)

describe("a grid or block", function()
  it("is refused when it is not a whole number", function()
    assert.equal("grid: the number 390.625 is not whole; mw.cdiv(n, block) divides and rounds up",
      failure(m.nothing, 100000 / 256, 256).message)
    assert.matches("^block.y: the number 1.5 is not whole", failure(m.nothing, 1, { 1, 1.5 }).message)
    assert.matches("^grid: the number %-1 is out of range", failure(m.nothing, -1, 1).message)
    assert.matches("^block wants a number or a table {x, y, z}, got nothing; a kernel is launched as",
      failure(m.nothing, 1).message)
    assert.matches("^grid wants a number or a table {x, y, z}, got an array of float",
      failure(m.nothing, mw.zeros(1)).message)
    assert.matches("^grid.x wants a number .- got nil", failure(m.nothing, {}, 1).message)
    assert.matches("^block has three sizes at most", failure(m.nothing, 1, { 1, 1, 1, 1 }).message)
  end)

  it("is refused when the device does not have it", function()
    for _, case in ipairs {
      { 0, 1 }, { 1, 0 }, { { 1, 0 }, 1 }, { 1, 1025 }, { 1, { 32, 33 } }, { 1, { 1, 1, 65 } }, { { 1, 65536 }, 1 },
      { 2 ^ 31, 1 },
    } do
      local err = failure(m.nothing, case[1], case[2])
      assert.equal("cudaErrorInvalidConfiguration", err.code)
      assert.equal("nothing", err.kernel)
    end
    local most = mw.properties().shared_per_block_optin
    m.nothing(1, 1, most)()
    assert.matches("shared", failure(m.nothing, 1, 1, most + 1).message)
    assert.matches("shared wants the bytes", failure(m.nothing, 1, 1, -1).message)
    assert.equal("the third value of a launch is shared, the bytes of dynamic shared memory, and this is an array " ..
      "of float: the kernel's arguments are given in a second call, nothing(grid, block)(arguments)",
      failure(m.nothing, 1, 1, mw.zeros(3)).message)
    assert.matches("and this is the number 2.5: the kernel's arguments", failure(m.nothing, 1, 1, 2.5).message)
  end)

  it("is refused beyond __launch_bounds__", function()
    assert.equal(64, m.small.max_threads)
    local out = mw.zeros(64, "int")
    m.small(1, 64)(64, out)
    assert.equal(64, out:sum())
    assert.equal("cudaErrorInvalidConfiguration", failure(m.small, 1, 65).code)
  end)

  it("that was refused changes nothing", function()
    local out = mw.zeros(6, "int")
    local good = m.sizes(2, 3)
    failure(m.sizes, 1, 5000)
    good(out)
    assert.same({ 2, 1, 1, 3, 1, 1 }, out:totable())
  end)
end)

describe("k:each", function()
  it("runs a thread for each element", function()
    for _, n in ipairs { 1, 31, 255, 256, 257, 1000, 100000 } do
      local out = mw.zeros(n, "int")
      m.cover:each(n)(n, 1, out)
      assert.equal(n, out:sum())
      assert.equal(1, out:min())
      assert.equal(1, out:max())
    end
  end)

  it("covers two and three dimensions", function()
    for _, size in ipairs { { 1, 1 }, { 5, 3 }, { 33, 9 }, { 1, 1000 }, { 640, 480 } } do
      local out = mw.zeros(size[1] * size[2], "int")
      m.cover:each(size)(size[1], size[2], out)
      assert.equal(1, out:min())
      assert.equal(1, out:max())
    end
    local out = mw.zeros(5 * 6 * 7, "int")
    m.cover3:each { 5, 6, 7 }(5, 6, 7, out)
    assert.equal(1, out:min())
    assert.equal(1, out:max())
  end)

  it("keeps to the kernel's own limit of threads", function()
    local out = mw.zeros(1000, "int")
    local launch = m.small:each(1000)
    assert.is_true(launch.block.x <= 64)
    launch(1000, out)
    assert.equal(1000, out:sum())
  end)

  it("of nothing runs nothing, but checks its arguments", function()
    local out = mw.zeros(1, "int")
    m.count:each(0)(out)
    m.cover:each { 0, 5 }(0, 5, out)
    m.count:each(0):bind(out)()
    assert.equal(0, out[1])
    assert.matches("takes 1 argument", failure(m.count:each(0)).message)
  end)
end)

describe("a bound launch", function()
  it("runs with the arguments that it was given", function()
    local a, b = mw.ones(10, "int"), mw.zeros(10, "int")
    local run = m.add(1, 32):bind(10, a, b)
    for _ = 1, 5 do run() end
    m.add(1, 32)(5, a, b) -- other launches of the kernel do not touch it
    run()
    assert.same({ 7, 7, 7, 7, 7, 6, 6, 6, 6, 6 }, b:totable())
  end)

  it("keeps its arrays", function()
    local b = mw.zeros(1000, "int")
    local run = m.add:each(1000):bind(1000, mw.full(1000, 3, "int"), b)
    collectgarbage()
    collectgarbage()
    local others = {}
    for i = 1, 10 do others[i] = mw.full(1000, 99, "int") end
    run()
    assert.equal(3000, b:sum())
    assert.equal(10, #others)
  end)

  it("takes no arguments", function()
    local run = m.nothing(1, 1):bind()
    run()
    assert.matches("takes none", failure(run, 1).message)
  end)

  it("checks its arguments when it is made", function()
    assert.matches("takes 3 arguments", failure(function() m.add(1, 1):bind(1) end).message)
    assert.matches("parameter 1 'n' of add", failure(function() m.add(1, 1):bind("x", nil, nil) end).message)
  end)

  it("fails when an array of its was freed", function()
    local a, b = mw.ones(10, "int"), mw.zeros(10, "int")
    local run = m.add(1, 32):bind(10, a, b)
    a:free()
    assert.matches("parameter 2 'a' of add is an array that was freed", failure(run).message)
    assert.same({ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }, b:totable())
  end)

  it("keeps its arrays until the last of its runs is done, and no longer", function()
    collect()
    local before = mw.memory().bytes
    local a, b = mw.ones(1000, "int"), mw.zeros(1000, "int")
    local run = m.add(4, 256):bind(1000, a, b)
    for _ = 1, 500 do run() end
    a:free()
    local others = {}
    for i = 1, 5 do others[i] = mw.full(1000, 99, "int") end
    assert.matches("was freed", failure(run).message)
    mw.synchronize()
    assert.equal(before + 6 * 4000, mw.memory().bytes)
    assert.equal(500000, b:sum())
    for _, array in ipairs(others) do assert.equal(99000, array:sum()) end
  end)

  it("is distinguished from every other userdata", function()
    if mw.binding == "ffi" then return pending "all objects of the FFI share one metatable" end
    local run = m.nothing(1, 1):bind()
    local call = debug.getmetatable(run).__call
    for _, other in ipairs { io.stdout, m.nothing, mw.stream(), {} } do
      assert.matches("bound launch", failure(call, other).message)
    end
    call(run)
  end)

  it("can be closed", function()
    local kept
    do
      local run <close> = m.nothing(1, 1):bind()
      kept = run
    end
    assert.matches("closed", failure(kept).message)
  end)
end)

describe("a kernel", function()
  it("has the properties of its source", function()
    local k = m.add
    assert.equal("add", k.name)
    assert.equal("kernel add(int n, const int *a, int *b)", tostring(k))
    assert.same({
      { name = "n", type = "int", dtype = "int", offset = 0, size = 4 },
      { name = "a", type = "const int *", dtype = "int", offset = 8, size = 8 },
      { name = "b", type = "int *", dtype = "int", offset = 16, size = 8 },
    }, k.params)
    assert.equal(m, k.module)
    assert.equal(1024, k.max_threads)
    assert.equal("kernel", mw.type(k))
    assert.equal("launch", mw.type(k(1, 1)))
  end)
end)
