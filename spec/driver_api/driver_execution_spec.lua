-- moonwarp.driver: functions, their parameters and launches by the names of CUDA's driver API.

local mw = require "moonwarp"
local suite = require "support.suite"
local cu = require "moonwarp.driver"
local driver = require "support.api.driver"

local pack = string.pack

local ok, code, fetch = driver.ok, driver.code, driver.fetch

local context = driver.context()
local module = ok(cu.cuModuleLoadData [[
struct pair { int a; double b; };
__device__ float gain;
__global__ void scale(float *x, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
__global__ void typed(char small, float f, struct pair p, double d, double *out) {
  out[0] = small; out[1] = f; out[2] = p.a; out[3] = p.b; out[4] = d;
}
__global__ void places(int *out) {
  int width = gridDim.x * blockDim.x;
  out[(blockIdx.y * blockDim.y + threadIdx.y) * width + blockIdx.x * blockDim.x + threadIdx.x] =
    blockIdx.y * 1000 + blockIdx.x * 100 + threadIdx.y * 10 + threadIdx.x;
}
__global__ void sum(int *out) {
  extern __shared__ int cell[];
  cell[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) { int all = 0; for (int i = 0; i < blockDim.x; i++) all += cell[i]; *out = all; }
}
__global__ void wild(int *x) { x[1 << 28] = 1; }
__global__ void nothing() {}
]])

local function func(name) return ok(cu.cuModuleGetFunction(module, name)) end

local function device(format, values)
  local p, size = ok(cu.cuMemAlloc(#values * 4)), #values * 4
  ok(cu.cuMemcpyHtoD(p, pack(format:rep(#values), table.unpack(values)), size))
  return p
end

setup(function() ok(cu.cuCtxSetCurrent(context)) end)
teardown(function() ok(cu.cuCtxDestroy(context)) end)

-- Before other specs, whose contexts stand on the same stack.
ok(cu.cuCtxPopCurrent())

describe("functions", function()
  it("are launched with a block shape and parameters at offsets", function()
    local scale, x = func "scale", device("f", { 1, 2, 3, 4, 5 })
    ok(cu.cuFuncSetBlockShape(scale, 2, 1, 1))
    ok(cu.cuParamSetv(scale, 0, x, 8))
    ok(cu.cuParamSetf(scale, 8, 2.5))
    ok(cu.cuParamSeti(scale, 12, 4))
    ok(cu.cuParamSetSize(scale, 16))
    ok(cu.cuLaunchGrid(scale, 3, 1))
    assert.same({ 2.5, 5, 7.5, 10, 5 }, fetch(x, "float", 5))
    -- They keep what was set; one parameter may change.
    ok(cu.cuParamSeti(scale, 12, 5))
    ok(cu.cuLaunchGridAsync(scale, 3, 1, 0))
    assert.same({ 6.25, 12.5, 18.75, 25, 12.5 }, fetch(x, "float", 5))
    ok(cu.cuLaunch(scale))
    assert.same({ 15.625, 31.25, 18.75, 25, 12.5 }, fetch(x, "float", 5))
  end)

  it("take bytes, structs, arrays and numbers as their parameters want them", function()
    local typed, out = func "typed", mw.zeros(5, "double")
    ok(cu.cuFuncSetBlockShape(typed, 1, 1, 1))
    ok(cu.cuParamSetv(typed, 0, -5, 1))
    ok(cu.cuParamSetv(typed, 4, pack("f", 2.5), 4))
    ok(cu.cuParamSetv(typed, 8, { a = 7, b = 0.125 }, 16))
    ok(cu.cuParamSetv(typed, 24, 1e300, 8))
    ok(cu.cuParamSetv(typed, 32, out, 8))
    ok(cu.cuParamSetSize(typed, 40))
    ok(cu.cuLaunch(typed))
    assert.same({ -5, 2.5, 7, 0.125, 1e300 }, out:totable())
    -- A struct's bytes over the table that was there, and several parameters at once.
    ok(cu.cuParamSetv(typed, 8, pack("i4i4dd", -3, 0, 8, 9), 24))
    ok(cu.cuLaunch(typed))
    assert.same({ -5, 2.5, -3, 8, 9 }, out:totable())
  end)

  it("run in two dimensions, and with dynamic shared memory", function()
    local places, out = func "places", ok(cu.cuMemAlloc(24 * 4))
    ok(cu.cuFuncSetBlockShape(places, 3, 2, 1))
    ok(cu.cuParamSetv(places, 0, out, 8))
    ok(cu.cuParamSetSize(places, 8))
    ok(cu.cuLaunchGrid(places, 2, 2))
    local all = fetch(out, "int", 24)
    assert.same({ 0, 1, 2, 100, 101, 102, 10, 11, 12, 110, 111, 112 }, { table.unpack(all, 1, 12) })
    assert.equal(1112, all[24])
    local sum = func "sum"
    ok(cu.cuFuncSetBlockShape(sum, 64, 1, 1))
    ok(cu.cuFuncSetSharedSize(sum, 64 * 4))
    ok(cu.cuParamSetv(sum, 0, out, 8))
    ok(cu.cuParamSetSize(sum, 8))
    ok(cu.cuLaunch(sum))
    assert.same({ 2016 }, fetch(out, "int", 1))
  end)

  it("are not launched where something was not said", function()
    local f = ok(cu.cuModuleGetFunction(ok(cu.cuModuleLoadData [[
      __global__ void f(float *x, float by, int n) { if (n) *x = by; }
    ]]), "f"))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuLaunch(f))
    assert.matches("cuFuncSetBlockShape", cu.story().message)
    code("CUDA_ERROR_INVALID_VALUE", cu.cuLaunchGrid(f, 1, 1))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuLaunchGridAsync(f, 1, 1, nil))
    ok(cu.cuFuncSetBlockShape(f, 1, 1, 1))
    ok(cu.cuParamSetv(f, 0, ok(cu.cuMemAlloc(4)), 8))
    ok(cu.cuParamSeti(f, 12, 4))
    ok(cu.cuParamSetSize(f, 12))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuLaunch(f))
    assert.matches("parameter 2 'by' of f is at offset 8", cu.story().message)
    ok(cu.cuParamSetf(f, 8, 1))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuLaunch(f))
    assert.matches("ends at byte 16", cu.story().message)
    ok(cu.cuParamSetSize(f, 16))
    ok(cu.cuLaunch(f))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuLaunchGrid(f, 0, 2 ^ 20))
    ok(cu.cuParamSetv(f, 8, { 1 }, 8))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuLaunch(f))
    assert.matches("has 4 bytes, but 8 were set", cu.story().message)
  end)

  it("refuse shapes, sizes and parameters that cannot be", function()
    local scale = func "scale"
    code("CUDA_ERROR_INVALID_VALUE", cu.cuFuncSetBlockShape(scale, 0, 1, 1))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuFuncSetBlockShape(scale, 1024, 2, 1))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuFuncSetBlockShape(scale, 1, 1, 65))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuFuncSetSharedSize(scale, -1))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuFuncSetSharedSize(scale, 2 ^ 30))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuParamSetSize(scale, -1))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuParamSetSize(scale, 5000))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuParamSeti(scale, -1, 1))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuParamSeti(scale, 0, 2 ^ 32))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuParamSeti(scale, 0, 1.5))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuParamSeti(scale, 0, cu.pointer(64)))
    assert.matches("cuParamSetv", cu.story().message)
    code("CUDA_ERROR_INVALID_VALUE", cu.cuParamSetf(scale, 4096, 1))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuParamSetf(scale, 0, "one"))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuParamSetv(scale, 4095, 1, 4))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuParamSetv(scale, 0, cu.pointer(64), 4))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuParamSetv(scale, 0, "abc", 4))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuParamSetv(scale, 0, nil, 8))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuParamSetv(scale, 0, 1, 0))
  end)
end)

describe("cuLaunchKernel", function()
  it("takes parameters as a table, or as a block of bytes", function()
    local scale, x = func "scale", device("f", { 1, 2, 3 })
    ok(cu.cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, nil, { x, 3, 2 }))
    assert.same({ 3, 6, 3 }, fetch(x, "float", 3))
    local block = pack("<i8fi4", x.address, 10, 3)
    ok(cu.cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, 0, nil, {
      cu.CU_LAUNCH_PARAM_BUFFER_POINTER, block, cu.CU_LAUNCH_PARAM_BUFFER_SIZE, #block, cu.CU_LAUNCH_PARAM_END,
    }))
    assert.same({ 30, 60, 30 }, fetch(x, "float", 3))
    local h = cu.malloc(16)
    h:cast("longlong")[0] = x.address
    h:cast("float")[2], h:cast("int")[3] = 0.5, 1
    ok(cu.cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, nil, nil, { 1, h, 2, 16, 0 }))
    assert.same({ 15, 60, 30 }, fetch(x, "float", 3))
    ok(cu.cuLaunchKernel(func "nothing", 1, 1, 1, 1, 1, 1, 0))
    -- Kernels of mw.compile are functions too, and templates' instances.
    local other = mw.compile "template <typename T> __global__ void add(T *x, T y) { *x += y; }"
    ok(cu.cuLaunchKernel(other["add<float>"], 1, 1, 1, 1, 1, 1, 0, nil, { x, 1 }))
    assert.same({ 16 }, fetch(x, "float", 1))
  end)

  it("refuses configurations and parameters that cannot be", function()
    local scale, x = func "scale", device("f", { 1 })
    code("CUDA_ERROR_INVALID_VALUE", cu.cuLaunchKernel(scale, 1, 1, 1, 2048, 1, 1, 0, nil, { x, 1, 1 }))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 2 ^ 30, nil, { x, 1, 1 }))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, nil, { x, "1", 1 }))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, nil, { x, 1 }))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, nil, { x, 1, 1 }, { 0 }))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, nil, nil, { 1, "short", 2, 5 }))
    assert.matches("ends before parameter 1 'x' of scale", cu.story().message)
    code("CUDA_ERROR_INVALID_VALUE", cu.cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, nil, nil, { 1, "short", 2, 6 }))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, nil, nil, { 7, "short" }))
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, "stream", { x, 1, 1 }))
    assert.same({ 1 }, fetch(x, "float", 1))
  end)

  it("has a cooperative form, whose blocks wait for each other", function()
    local both = ok(cu.cuModuleGetFunction(ok(cu.cuModuleLoadData [[
      #include <cooperative_groups.h>
      __global__ void both(int *x) {
        x[blockIdx.x] = blockIdx.x + 1;
        cooperative_groups::this_grid().sync();
        x[2 + blockIdx.x] = x[1 - blockIdx.x];
      }
    ]]), "both"))
    local x = ok(cu.cuMemAlloc(16))
    ok(cu.cuLaunchCooperativeKernel(both, 2, 1, 1, 1, 1, 1, 0, nil, { x }))
    assert.same({ 1, 2, 2, 1 }, fetch(x, "int", 4))
    ok(cu.cuMemsetD32(x, 0, 4))
    ok(cu.cuLaunchCooperativeKernel(both, 2, 1, 1, 1, 1, 1, 0, nil, nil, { 1, pack("<i8", x.address), 2, 8, 0 }))
    assert.same({ 1, 2, 2, 1 }, fetch(x, "int", 4))
    code("CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE",
      cu.cuLaunchCooperativeKernel(both, 2 ^ 20, 1, 1, 1, 1, 1, 0, nil, { x }))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuLaunchCooperativeKernel(both, 2, 1, 1, 1, 1, 1, 0, nil, {}, {}))
  end)

  suite.apart(it, "has its kernel's failure told by what waits for it", function()
    ok(cu.cuLaunchKernel(func "wild", 1, 1, 1, 1, 1, 1, 0, nil, { ok(cu.cuMemAlloc(4)) }))
    code("CUDA_ERROR_ILLEGAL_ADDRESS", cu.cuCtxSynchronize())
    assert.matches("wild", cu.story().message)
    if not suite.on_gpu then ok(cu.cuCtxSynchronize()) end -- a fault makes a GPU unusable
  end)
end)

describe("the attributes of functions", function()
  it("are attributes, of which two can be set", function()
    local sum = func "sum"
    assert.equal(mw.properties().max_threads_per_block,
      ok(cu.cuFuncGetAttribute(cu.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, sum)))
    assert.equal(0, ok(cu.cuFuncGetAttribute(cu.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, sum)))
    local dynamic = cu.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    ok(cu.cuFuncSetAttribute(sum, dynamic, 60000))
    assert.equal(60000, ok(cu.cuFuncGetAttribute(dynamic, sum)))
    ok(cu.cuFuncSetAttribute(sum, cu.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50))
    ok(cu.cuFuncSetCacheConfig(sum, cu.CU_FUNC_CACHE_PREFER_SHARED))
    ok(cu.cuFuncSetSharedMemConfig(sum, 1))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuFuncGetAttribute(77, sum))
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuFuncGetAttribute(0, nil))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuFuncSetAttribute(sum, dynamic, 2 ^ 30))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuFuncSetAttribute(sum, 0, 1))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuFuncSetCacheConfig(sum, 9))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuFuncSetSharedMemConfig(sum, 9))
  end)

  it("is their occupancy", function()
    local scale = func "scale"
    local blocks = mw.occupancy { threads = 256 }.blocks
    assert.equal(blocks, ok(cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(scale, 256, 0)))
    assert.equal(blocks, ok(cu.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(scale, 256, 0, 0)))
    local grid, block = ok(cu.cuOccupancyMaxPotentialBlockSize(scale, nil, 0, 128))
    assert.equal(128, block)
    assert.equal(0, grid % mw.properties().multiprocessors)
    local by_size = ok(cu.cuOccupancyMaxPotentialBlockSize(scale, function(size) return size * 64 end, 0, 0))
    assert.is_true(by_size >= 1)
    code("CUDA_ERROR_INVALID_VALUE", cu.cuOccupancyMaxActiveBlocksPerMultiprocessor(scale, 0, 0))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(scale, -1, 0, 0))
  end)
end)
