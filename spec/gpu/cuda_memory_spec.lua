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

  it("that is kept for the next pieces is refused to C hosts, though the driver knows it", function()
    local home, path = assert(os.getenv "MOONWARP_HOME"), os.tmpname()
    local file = assert(io.open(path .. ".c", "w"))
    file:write [[
      #include <cuda_runtime.h>
      #include <stdio.h>
      int main(void) {
        void *p;
        cudaError_t made = cudaMalloc(&p, 4096), filled = cudaMemset(p, 0, 4096), freed = cudaFree(p);
        printf("%d %d %d %d\n", made, filled, freed, cudaMemset(p, 0, 4096));
      }
    ]]
    file:close()
    local flags = os.getenv "MOONWARP_CONFIG" == "sanitize" and "-fsanitize=address,undefined" or ""
    local pipe = assert(io.popen((("cc %s -Isrc/host/include -o PATH PATH.c -LHOME/lib -lmoonwarp_cuda " ..
      "-Wl,-rpath,HOME/lib && MOONWARP_DEVICE=cuda MOONWARP_CUDA=HOME/test/libfakecuda.so " ..
      "MOONWARP_NVRTC=HOME/test/libfakenvrtc.so PATH 2>&1; rm -f PATH PATH.c"):format(flags):gsub("PATH", path):gsub(
      "HOME", home))))
    assert.equal("0 0 0 1\n", pipe:read "*a") -- cudaErrorInvalidValue
    pipe:close()
  end)

  it("in large pieces is kept for the next ones of about their size, as far as there is room", function()
    local result = gpu { [[
      for i = 1, 10 do
        for _, count in ipairs { 16385, 90000, 90001, 4000000, 16777216 } do mw.empty(count):free() end
      end
      print(mw.memory().bytes, mw.memory().count)
    ]], cuda = "memory=8000000000" }
    assert.equal("0\t0\n", result.output)
    assert.equal(4, gpu.count(result, "cuMemAllocAsync")) -- 90000 and 90001 take the same piece
    assert.equal("cuMemAllocAsync 67584", gpu.call(result, "cuMemAllocAsync"))
    local larger = gpu { "for _ = 1, 10 do mw.empty(16777217):free() end", cuda = "memory=8000000000" }
    assert.equal(10, gpu.count(larger, "cuMemAllocAsync"))
    assert.equal("cuMemAllocAsync 67108868", gpu.call(larger, "cuMemAllocAsync"))
    local little = gpu { [[ -- an eighth of the memory is kept
      local list = {}
      for round = 1, 2 do
        for i = 1, 4 do list[i] = mw.empty(500000) end -- 2 MB each
        for i = 1, 4 do list[i]:free() end
      end]], cuda = "memory=40000000" }
    assert.equal(6, gpu.count(little, "cuMemAllocAsync"))
  end)

  it("that is kept goes back to the driver where memory of another kind is short", function()
    local kept = "local list = {} for i = 1, 12 do list[i] = mw.empty(250000) end for i = 1, 12 do list[i]:free() end "
    local compile = "mw.compile '/*PTX .version 8.0\\n.visible .entry k () { ret; }*/'"
    local managed = gpu { kept .. "print(#mw.managed(23000000))", cuda = "memory=100000000" }
    assert.equal("23000000\n", managed.output)
    local uses = {
      cuMemAllocManaged = "mw.managed(100)",
      cuArray3DCreate = "mw.cuda_array(nil, { kind = '2d', dtype = 'float', width = 16, height = 8 })",
      cuModuleLoadData = compile,
      cuLaunchKernel = compile .. ".k(1, 1)()",
    }
    for name, use in pairs(uses) do
      local result = gpu { kept .. use, cuda = "memory=100000000", fail = name .. "@1=2" }
      assert.is_true(result.ok, result.output)
      local at, calls = nil, {} -- the calls between the failed one and the next
      for k, line in ipairs(result.calls) do
        if at and line:match "^%S+" == name then break end
        if at then calls[#calls + 1] = line:match "^%S+" end
        if line:match("^" .. name .. ".* %-> 2$") then at = k end
      end
      local text = table.concat(calls, " ")
      local all = ("cuMemFreeAsync "):rep(12) .. "cuStreamSynchronize cuDeviceGetDefaultMemPool cuMemPoolTrimTo"
      assert.matches(all, text, 1, true)
      if name ~= "cuMemAllocManaged" then assert.equal(15, #calls, name) end
    end
  end)

  it("that is pinned is polled for a kernel's result, if other streams need not be waited for", function()
    local result = gpu [[
      local raw = require "moonwarp.binding"
      local function pinned(dtype, value) return raw.array_new(dtype, { 1 }, "pinned"):fill(value) end
      local y, flag = pinned("double", 2.5), pinned("uint", 7)
      print(raw.array_poll(y, flag, 7), raw.array_poll(y, flag, 8), raw.array_poll(mw.zeros(1), flag, 7))
      print(raw.array_poll(pinned("longlong", -3), flag, 7) == -3)
      local stream = mw.stream()
      print(raw.array_poll(y, flag, 7))
      mw.use "cpu"
      print(raw.array_poll(pinned("double", 2.5), pinned("uint", 7), 7))
    ]]
    assert.equal("2.5\tnil\tnil\ntrue\nnil\nnil\n", result.output)
  end)

  it("that is pinned has no ticket of an earlier kernel when the host begins to poll", function()
    local result = gpu { "print(type(mw.empty(90000):sum()))", environment = { MOONWARP_NVRTC = "off" } }
    assert.equal("number\n", result.output)
    local calls = table.concat(result.calls, "\n")
    local before_launch = calls:match "cuMemHostAlloc 4 %d+\n(.-)cuLaunchKernel"
    assert.matches("cuMemcpyHtoDAsync 4\n.*cuStreamSynchronize", before_launch) -- a fill would not be waited for
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
    assert.matches("cuda:0 has no 1200000 bytes: 598592 of its 1000000 are free, and 400000 are in arrays of this "
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

describe("operations on a GPU's arrays", function()
  -- The driver's calls for one more run of a statement, once memory and kernels are there.
  local function calls_of(statement)
    local script = ("local x, y = mw.empty(90000), mw.empty(90000)\nlocal a = x:reshape(300, 300)\n" ..
      "for _ = 1, %%d do %s end"):format(statement)
    local few = gpu { script:format(2), environment = { MOONWARP_NVRTC = "off" } }
    local more = gpu { script:format(3), environment = { MOONWARP_NVRTC = "off" } }
    assert.is_true(few.ok and more.ok, few.output .. more.output)
    local counts = {}
    for _, line in ipairs(more.calls) do counts[line:match "^%S+"] = (counts[line:match "^%S+"] or 0) + 1 end
    for _, line in ipairs(few.calls) do counts[line:match "^%S+"] = counts[line:match "^%S+"] - 1 end
    for name, count in pairs(counts) do
      if count == 0 then counts[name] = nil end
    end
    return counts
  end

  it("make a call for each kernel, and none for memory", function()
    local wait = " mw.synchronize()" -- after which memory is free again
    local function expect(launches, statement, fills)
      local calls = calls_of(statement .. wait)
      assert.same({ cuLaunchKernel = launches, cuMemsetD8Async = fills, cuStreamSynchronize = 1 }, calls)
    end
    expect(1, "(x + y):free()")
    expect(1, "x:sum { keepdims = true }:free()")
    expect(1, "a:sum { axis = 1 }:free()")
    expect(1, "a:sum { axis = 2 }:free()")
    expect(2, "x:cumsum():free()")
    expect(5, "x:sort():free()")
  end)

  it("share no memory between streams, in which kernels run at the same time", function()
    local result = gpu { [[
      local x, streams = mw.empty(90000), { mw.stream(), mw.stream() }
      for _ = 1, 2 do
        for _, stream in ipairs(streams) do
          for _ = 1, 2 do mw.with(stream, function() return x:sum { keepdims = true } end) end
        end
      end
    ]], environment = { MOONWARP_NVRTC = "off" } }
    local counters, tickets = {}, {}
    for _, line in ipairs(result.calls) do
      local stream, params = line:match "^cuLaunchKernel .* stream (%d+) params (%x+)"
      if stream and #params == 120 then
        local at = params:sub(49, 64) -- length, chunk, x, done, parts, y, flag, ticket
        counters[stream] = counters[stream] or at
        assert.equal(counters[stream], at)
        tickets[stream] = (tickets[stream] or 0) + 1
        assert.equal(tickets[stream], tonumber(params:sub(113, 114), 16))
      end
    end
    assert.same({ ["2"] = 4, ["3"] = 4 }, tickets, result.output) -- 1: the driver's own
    assert.not_equal(counters["2"], counters["3"])
  end)
end)
