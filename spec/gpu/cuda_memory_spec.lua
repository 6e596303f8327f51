-- Memory of an NVIDIA GPU, on machines without one: calls of libcuda's allocation and copies, and what happens where
-- memory is short.

local gpu = require "support.fake.gpu"

describe("memory of a GPU", function()
  it("is allocated from a pool, returned to it, and written and read by copies", function()
    local result = gpu [[
      local x = mw.array { 1, 2, 3 }
      x[2] = 7
      print(x[1] == 1, x[2] == 7, x:sum() == 11, mw.memory().bytes, mw.memory().count)
      x:free()
      print(mw.memory().bytes, mw.memory().count)
    ]]
    assert.equal("true\ttrue\ttrue\t12\t1\n0\t0\n", result.output)
    assert.equal(1, gpu.count(result, "cuMemAllocAsync"))
    assert.equal(1, gpu.count(result, "cuMemFreeAsync"))
    assert.equal("cuMemcpyHtoDAsync 12", gpu.call(result, "cuMemcpyHtoDAsync"))
  end)

  it("in small pieces is kept for the next ones of their size, and given back where memory is short and at the end",
    function()
      local result = gpu [[
        for i = 1, 10 do
          local x, y = mw.array { i, 2, 3 }, mw.zeros(1000)
          assert(x[1] == i and y[1000] == 0)
          x:free()
          y:free()
        end
        print(mw.memory().bytes, mw.memory().count)
      ]]
      assert.equal("0\t0\n", result.output)
      assert.equal(2, gpu.count(result, "cuMemAllocAsync"))
      assert.equal(2, gpu.count(result, "cuMemFreeAsync"))
      local short = gpu { [[
        local list = {}
        for i = 1, 40 do list[i] = mw.zeros(10000) end
        for i = 1, 40 do list[i]:free() end
        print(#mw.zeros(400000))
      ]], cuda = "memory=2000000" }
      assert.equal("400000\n", short.output)
    end)

  it("in thousands of small pieces, as a collection frees them, is kept for the next thousands", function()
    local result = gpu [[
      local function round()
        local list = {}
        for i = 1, 2000 do list[i] = mw.empty(i % 3 * 100 + 10) end
        local bytes, count = mw.memory().bytes, mw.memory().count
        for i = 1, 2000 do list[i * 7 % 2000 + 1]:free() end -- in another order
        return bytes, count
      end
      local bytes, count = round()
      for _ = 1, 5 do assert(round() == bytes) end
      print(count, mw.memory().bytes, mw.memory().count)
    ]]
    assert.equal("2000\t0\t0\n", result.output)
    assert.equal(2000, gpu.count(result, "cuMemAllocAsync"))
    assert.equal(2000, gpu.count(result, "cuMemFreeAsync"))
  end)

  it("is copied from one device to the other by a:to(device)", function()
    local result = gpu { [[
      local a = mw.array({ 1, 2, 3 }, "int")
      local b = a:to "cpu"
      print(a.device.name, b.device.name, b[3], b:to("cuda").device.name, b:to(a.device)[2], mw.device().name)
    ]] }
    assert.equal("cuda:0\tcpu:0\t3\tcuda:0\t2\tcuda:0\n", result.output)
  end)

  it("is allocated directly where the driver has no pools", function()
    local result = gpu { "mw.zeros(10):free()", cuda = "pools=0" }
    assert.equal(0, gpu.count(result, "cuMemAllocAsync"))
    assert.equal(1, gpu.count(result, "cuMemAlloc"))
    assert.equal(1, gpu.count(result, "cuMemFree"))
  end)

  it("in large pieces is copied through pinned memory", function()
    local result = gpu [[
      local text = ("moonwarp"):rep(2000001)
      print(mw.from_bytes(text, "uchar"):bytes() == text)
    ]]
    assert.equal("true\n", result.output)
    assert.is_true(gpu.count(result, "cuMemHostAlloc") > 0)
  end)

  it("that is short is collected, trimmed and tried again before it fails with figures", function()
    local again = gpu { "print(#mw.zeros(100))", fail = "cuMemAllocAsync@1=2" }
    assert.equal("100\n", again.output)
    assert.is_true(gpu.count(again, "cuMemPoolTrimTo") > 0)
    local garbage = gpu {
      [[for _ = 1, 50 do mw.zeros(50000) end
        print "went on"]],
      cuda = "memory=1000000",
    }
    assert.equal("went on\n", garbage.output)
    local never = gpu { "local a = mw.zeros(100000) print(pcall(mw.zeros, 300000))", cuda = "memory=1000000" }
    assert.matches("cuda:0 has no 1200000 bytes: 600000 of its 1000000 are free, and 400000 are in arrays of this "
      .. "process; the largest have 400000 bytes", never.output, 1, true)
  end)

  it("is filled with patterns of any size", function()
    local result = gpu [[
      local a = mw.full(4, 3, "short")
      local b = mw.full(3, { 1, 2, 3 }, "float3")
      local c = mw.full(5, 1.5, "double")
      print(a[4] == 3, b[3][1] == 1, b[3][3] == 3, c[5] == 1.5)
    ]]
    assert.equal("true\ttrue\ttrue\ttrue\n", result.output)
    assert.equal("cuMemsetD16Async 4", gpu.call(result, "cuMemsetD16Async"))
    assert.equal("cuMemsetD2D32Async 1 x 3 by 12", gpu.call(result, "cuMemsetD2D32Async"))
  end)
end)
