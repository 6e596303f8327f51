-- moonwarp.runtime: CUDA's host functions under CUDA's names, what they return and the codes they fail with:
-- result codes, devices and launches.

local mw = require "moonwarp"
local suite = require "support.suite"
local rt = require "moonwarp.runtime"
local runtime = require "support.api.runtime"

local ok, code, device, fetch = runtime.ok, runtime.code, runtime.device, runtime.fetch
local pack = string.pack

local m = mw.compile [[
__constant__ float gain[4];
struct pair { int a; double b; };
__global__ void add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i] + gain[0];
}
__global__ void typed(char small, float f, struct pair p, double d, double *out) {
  out[0] = small; out[1] = f; out[2] = p.a; out[3] = p.b; out[4] = d;
}
__global__ void increment(int n, int *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i]++;
}
__global__ void shared_sum(int *out) {
  extern __shared__ int cell[];
  cell[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) { int sum = 0; for (int i = 0; i < blockDim.x; i++) sum += cell[i]; *out = sum; }
}
__global__ void wild(int *x) { x[1 << 28] = 1; }
]]

describe("result codes", function()
  it("are CUDA's numbers, names and sentences", function()
    assert.equal(0, rt.cudaSuccess)
    assert.equal(1, rt.cudaErrorInvalidValue)
    assert.equal(21, rt.cudaErrorInvalidMemcpyDirection)
    assert.equal(400, rt.cudaErrorInvalidResourceHandle)
    assert.equal(600, rt.cudaErrorNotReady)
    assert.equal(700, rt.cudaErrorIllegalAddress)
    assert.equal("cudaErrorInvalidPitchValue", rt.cudaGetErrorName(12))
    assert.equal("invalid argument", rt.cudaGetErrorString(1))
    assert.equal("no error", rt.cudaGetErrorString(0))
    assert.equal("unrecognized error code", rt.cudaGetErrorString(12345))
    assert.equal("unrecognized error code", rt.cudaGetErrorName(-1))
  end)

  it("are kept until they are read", function()
    rt.cudaGetLastError()
    assert.equal(0, rt.cudaPeekAtLastError())
    code("cudaErrorInvalidValue", rt.cudaFree(12345))
    assert.equal(1, rt.cudaPeekAtLastError())
    assert.matches("nothing was allocated", rt.story().message)
    ok(rt.cudaGetDevice())
    assert.equal(1, rt.cudaGetLastError())
    assert.equal(0, rt.cudaGetLastError())
    assert.is_nil(rt.story())
  end)

  suite.apart(it, "tell of an asynchronous failure at a later call", function()
    ok(rt.cudaLaunchKernel(m.wild, 1, 1, { ok(rt.cudaMalloc(4)) }))
    code("cudaErrorIllegalAddress", rt.cudaThreadSynchronize())
    assert.matches("wild", rt.story().message)
    if not suite.on_gpu then ok(rt.cudaDeviceSynchronize()) end -- a fault makes a GPU unusable
    rt.cudaGetLastError()
  end)

  it("leave the script's own errors alone", function()
    local s = ok(rt.cudaStreamCreate())
    ok(rt.cudaLaunchHostFunc(s, function() error("mine", 0) end))
    local good, err = pcall(rt.cudaStreamSynchronize, s)
    assert.is_false(good)
    assert.equal("mine", err)
  end)
end)

describe("devices", function()
  it("are counted, chosen and described", function()
    local count = ok(rt.cudaGetDeviceCount())
    assert.is_true(count >= 1)
    ok(rt.cudaSetDevice(0))
    assert.equal(0, ok(rt.cudaGetDevice()))
    local prop = ok(rt.cudaGetDeviceProperties(0))
    local facts = mw.properties()
    assert.equal(facts.name, prop.name)
    assert.equal(facts.multiprocessors, prop.multiProcessorCount)
    assert.same(facts.max_block, prop.maxThreadsDim)
    assert.equal(32, prop.warpSize)
    assert.is_true(facts.l2_cache > 0)
    assert.equal(facts.l2_cache, prop.l2CacheSize)
    assert.equal(facts.l2_cache, ok(rt.cudaDeviceGetAttribute(38, 0)))
    assert.equal(facts.max_grid[1], prop.maxGridSize[1])
    assert.equal(prop.maxThreadsPerBlock, ok(rt.cudaDeviceGetAttribute(1, 0)))
    assert.equal(prop.maxGridSize[3], ok(rt.cudaDeviceGetAttribute(7, 0)))
    assert.equal(prop.major, ok(rt.cudaDeviceGetAttribute(75, 0)))
    assert.equal(0, ok(rt.cudaChooseDevice { major = 1, minor = 0 }))
    assert.matches("^%x+:%x+:%x+%.0$", ok(rt.cudaDeviceGetPCIBusId(0)))
    assert.equal(0, ok(rt.cudaDeviceGetByPCIBusId(ok(rt.cudaDeviceGetPCIBusId(0)))))
    assert.is_true(ok(rt.cudaRuntimeGetVersion()) >= 11020 and ok(rt.cudaDriverGetVersion()) >= 11020)
    ok(rt.cudaSetValidDevices { 0 })
  end)

  it("that are not there are cudaErrorInvalidDevice", function()
    code("cudaErrorInvalidDevice", rt.cudaSetDevice(99))
    code("cudaErrorInvalidDevice", rt.cudaSetDevice(-1))
    code("cudaErrorInvalidDevice", rt.cudaGetDeviceProperties(99))
    code("cudaErrorInvalidDevice", rt.cudaDeviceCanAccessPeer(0, 99))
    code("cudaErrorInvalidDevice", rt.cudaSetValidDevices { 99 })
    code("cudaErrorInvalidDevice", rt.cudaDeviceGetByPCIBusId("0000:00:63.0"))
    code("cudaErrorInvalidValue", rt.cudaDeviceGetAttribute(9999, 0))
    code("cudaErrorInvalidValue", rt.cudaChooseDevice(nil))
  end)

  it("have a limit for kernels' allocations, which may change while there are none", function()
    local result = require "support.child" [[
      local rt = require "moonwarp.runtime"
      print(rt.cudaDeviceSetLimit(rt.cudaLimitMallocHeapSize, 4096) == rt.cudaSuccess,
        select(2, rt.cudaDeviceGetLimit(rt.cudaLimitMallocHeapSize)))
    ]]
    assert.matches(suite.on_gpu and "^true\t%d+" or "^true\t4096", result.output) -- CUDA takes more
  end)

  it("have limits, flags and configurations", function()
    local stack = ok(rt.cudaDeviceGetLimit(rt.cudaLimitStackSize))
    ok(rt.cudaDeviceSetLimit(rt.cudaLimitStackSize, 128 * 1024))
    assert.equal(128 * 1024, ok(rt.cudaDeviceGetLimit(rt.cudaLimitStackSize)))
    ok(rt.cudaDeviceSetLimit(rt.cudaLimitStackSize, stack))
    for _, limit in ipairs { "PrintfFifoSize", "PersistingL2CacheSize", "DevRuntimePendingLaunchCount" } do
      local old = ok(rt.cudaDeviceGetLimit(rt["cudaLimit" .. limit]))
      ok(rt.cudaDeviceSetLimit(rt["cudaLimit" .. limit], 4096))
      assert.equal(4096, ok(rt.cudaDeviceGetLimit(rt["cudaLimit" .. limit])))
      ok(rt.cudaDeviceSetLimit(rt["cudaLimit" .. limit], old))
    end
    code("cudaErrorUnsupportedLimit", rt.cudaDeviceGetLimit(77))
    code("cudaErrorUnsupportedLimit", rt.cudaDeviceSetLimit(77, 1))
    code("cudaErrorInvalidValue", rt.cudaDeviceSetLimit(rt.cudaLimitStackSize, -1))
    ok(rt.cudaSetDeviceFlags(rt.cudaDeviceMapHost))
    assert.equal(rt.cudaDeviceMapHost, ok(rt.cudaGetDeviceFlags()))
    code("cudaErrorInvalidValue", rt.cudaSetDeviceFlags(99))
    ok(rt.cudaDeviceSetCacheConfig(rt.cudaFuncCachePreferL1))
    ok(rt.cudaDeviceGetCacheConfig())
    ok(rt.cudaDeviceSetSharedMemConfig(1))
    ok(rt.cudaDeviceGetSharedMemConfig())
    code("cudaErrorInvalidValue", rt.cudaDeviceSetCacheConfig(9))
    code("cudaErrorInvalidValue", rt.cudaDeviceSetSharedMemConfig(9))
  end)

  it("have them under their names before CUDA 4.0 as well", function()
    local old = ok(rt.cudaThreadGetLimit(rt.cudaLimitPrintfFifoSize))
    ok(rt.cudaThreadSetLimit(rt.cudaLimitPrintfFifoSize, 8192))
    assert.equal(8192, ok(rt.cudaDeviceGetLimit(rt.cudaLimitPrintfFifoSize)))
    ok(rt.cudaThreadSetLimit(rt.cudaLimitPrintfFifoSize, old))
    code("cudaErrorUnsupportedLimit", rt.cudaThreadGetLimit(77))
    code("cudaErrorUnsupportedLimit", rt.cudaThreadSetLimit(77, 1))
    code("cudaErrorInvalidValue", rt.cudaThreadSetLimit(rt.cudaLimitStackSize, -1))
    ok(rt.cudaThreadSetCacheConfig(rt.cudaFuncCachePreferL1))
    ok(rt.cudaThreadGetCacheConfig())
    code("cudaErrorInvalidValue", rt.cudaThreadSetCacheConfig(9))
  end)

  it("have no lines of a cache that persist", function()
    ok(rt.cudaCtxResetPersistingL2Cache())
  end)

  it("are no peers of themselves", function()
    assert.equal(0, ok(rt.cudaDeviceCanAccessPeer(0, 0)))
    code("cudaErrorInvalidDevice", rt.cudaDeviceEnablePeerAccess(0))
    code("cudaErrorInvalidValue", rt.cudaDeviceEnablePeerAccess(0, 1))
    code("cudaErrorPeerAccessNotEnabled", rt.cudaDeviceDisablePeerAccess(0))
  end)

  it("are left by cudaThreadExit with nothing allocated", function()
    local p = ok(rt.cudaMalloc(100))
    local a = mw.ones(3)
    ok(rt.cudaThreadExit())
    code("cudaErrorInvalidValue", rt.cudaFree(p))
    assert.equal(3, a:sum())
    p = ok(rt.cudaMalloc(100))
    ok(rt.cudaDeviceReset())
    code("cudaErrorInvalidValue", rt.cudaMemset(p, 0, 1))
  end)
end)

describe("launches", function()
  local function triple(kernel, grid, block, shared, ...)
    ok(rt.cudaConfigureCall(grid, block, shared))
    for _, argument in ipairs { ... } do ok(rt.cudaSetupArgument(argument[1], argument[2], argument[3])) end
    return rt.cudaLaunch(kernel)
  end

  it("are made by a configuration, arguments at offsets, and cudaLaunch", function()
    ok(rt.cudaMemcpyToSymbol(m:symbol "gain", pack("f", 0.5), 4))
    local a, b, c = device("float", { 1, 2, 3 }), device("float", { 10, 20, 30 }), device("float", { 0, 0, 0 })
    ok(triple(m.add, 1, 32, 0, { a, 8, 0 }, { b, 8, 8 }, { c, 8, 16 }, { 3, 4, 24 }))
    assert.same({ 11.5, 22.5, 33.5 }, fetch(c, "float", 3))
  end)

  it("take arguments of every kind at C's offsets", function()
    local out = ok(rt.cudaMalloc(40))
    ok(triple(m.typed, 1, 1, 0, { -5, 1, 0 }, { 2.5, 4, 4 }, { { a = 7, b = 0.125 }, 16, 8 }, { 1e300, 8, 24 },
      { out, 8, 32 }))
    assert.same({ -5, 2.5, 7, 0.125, 1e300 }, fetch(out, "double", 5))
  end)

  it("take an offset without a size, as the C++ form does, and dynamic shared memory", function()
    local out = ok(rt.cudaMalloc(4))
    ok(rt.cudaConfigureCall(rt.dim3(1), rt.dim3(8, 1), 8 * 4, 0))
    ok(rt.cudaSetupArgument(out, 0))
    ok(rt.cudaLaunch(m.shared_sum))
    assert.same({ 28 }, fetch(out, "int", 1))
  end)

  it("nest", function()
    local x, y = device("int", { 0 }), device("int", { 0 })
    ok(rt.cudaConfigureCall(1, 1))
    ok(rt.cudaSetupArgument(1, 4, 0))
    ok(triple(m.increment, 1, 1, 0, { 1, 4, 0 }, { x, 8, 8 }))
    ok(rt.cudaSetupArgument(y, 8, 8))
    ok(rt.cudaLaunch(m.increment))
    assert.same({ 1, 1 }, { fetch(x, "int", 1)[1], fetch(y, "int", 1)[1] })
  end)

  it("are refused without a configuration, with wrong arguments, and by the limits", function()
    local x = device("int", { 0 })
    code("cudaErrorMissingConfiguration", rt.cudaLaunch(m.increment))
    code("cudaErrorMissingConfiguration", rt.cudaSetupArgument(1, 4, 0))
    code("cudaErrorInvalidConfiguration", rt.cudaConfigureCall(1, nil))
    code("cudaErrorInvalidValue", triple(m.increment, 1, 1, 0, { 1, 4, 0 }))
    assert.matches("offset 8", rt.story().message)
    code("cudaErrorInvalidValue", triple(m.increment, 1, 1, 0, { 1, 8, 0 }, { x, 8, 8 }))
    code("cudaErrorInvalidValue", triple(m.increment, 1, 1, 0, { 1, 4, 0 }, { x, 8, 8 }, { 1, 4, 16 }))
    code("cudaErrorInvalidConfiguration", triple(m.increment, 1, 2048, 0, { 1, 4, 0 }, { x, 8, 8 }))
    code("cudaErrorInvalidConfiguration", rt.cudaLaunchKernel(m.increment, 0, 1, { 1, x }))
    code("cudaErrorInvalidConfiguration", rt.cudaLaunchKernel(m.increment, 1, 1, { 1, x }, 2 ^ 20))
    code("cudaErrorInvalidValue", rt.cudaLaunchKernel(m.increment, 1, 1, { "one", x }))
    code("cudaErrorInvalidDeviceFunction", rt.cudaLaunch(nil) == 52 and rt.cudaLaunchKernel(nil, 1, 1, {}))
    assert.same({ 0 }, fetch(x, "int", 1))
  end)

  it("are functions of their arguments by rt.call", function()
    local x = device("int", { 5, 6 })
    ok(rt.call(m.increment, 1, 32)(2, x))
    assert.same({ 6, 7 }, fetch(x, "int", 2))
  end)

  it("know their kernels", function()
    local facts = ok(rt.cudaFuncGetAttributes(m.shared_sum))
    assert.equal(0, facts.sharedSizeBytes)
    assert.equal(mw.properties().max_threads_per_block, facts.maxThreadsPerBlock)
    ok(rt.cudaFuncSetAttribute(m.shared_sum, rt.cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024))
    assert.equal(64 * 1024, ok(rt.cudaFuncGetAttributes(m.shared_sum)).maxDynamicSharedSizeBytes)
    ok(rt.cudaFuncSetAttribute(m.shared_sum, rt.cudaFuncAttributePreferredSharedMemoryCarveout, 50))
    ok(rt.cudaFuncSetCacheConfig(m.shared_sum, rt.cudaFuncCachePreferShared))
    ok(rt.cudaFuncSetSharedMemConfig(m.shared_sum, 1))
    code("cudaErrorInvalidValue", rt.cudaFuncSetAttribute(m.shared_sum, 8, 2 ^ 30))
    code("cudaErrorInvalidValue", rt.cudaFuncSetAttribute(m.shared_sum, 9, 101))
    code("cudaErrorInvalidValue", rt.cudaFuncSetAttribute(m.shared_sum, 77, 1))
    code("cudaErrorInvalidValue", rt.cudaFuncSetCacheConfig(m.shared_sum, 9))
    code("cudaErrorInvalidValue", rt.cudaFuncSetSharedMemConfig(m.shared_sum, 9))
    code("cudaErrorInvalidDeviceFunction", rt.cudaFuncGetAttributes("nothing"))
    local blocks = ok(rt.cudaOccupancyMaxActiveBlocksPerMultiprocessor(m.increment, 256, 0))
    assert.equal(8, blocks) -- 2048 threads of a multiprocessor of capability 8.0
    assert.equal(8, ok(rt.cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(m.increment, 256, 0, 0)))
    local grid, block = ok(rt.cudaOccupancyMaxPotentialBlockSize(m.increment, 0, 0))
    assert.equal(1024, block)
    assert.equal(2 * mw.properties().multiprocessors, grid)
  end)
end)

describe("interoperability with Direct3D", function()
  it("is refused with the reason", function()
    code("cudaErrorNotSupported", rt.cudaD3D9SetDirect3DDevice())
    assert.matches("Direct3D", rt.story().message)
  end)
end)
