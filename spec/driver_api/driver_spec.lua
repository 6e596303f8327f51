-- moonwarp.driver: initialisation, devices, contexts and modules by the names of CUDA's driver API.

local mw = require "moonwarp"
local collect = require("support.lifetime").collect
local suite = require "support.suite"
local cu = require "moonwarp.driver"
local driver = require "support.api.driver"
local child = require "support.child"
local files = require "support.files"

local ok, code = driver.ok, driver.code
local read, write = files.read, files.write

local source = [[
__constant__ float gain[4];
__device__ int counter;
texture<float, 1, cudaReadModeElementType> list;
surface<void, 2> canvas;
extern "C" __global__ void scale(float *x, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
template <typename T> __global__ void fill(T *x, T value) { x[threadIdx.x] = value; }
]]

setup(function() ok(cu.cuInit(0)) end)

describe("before cuInit", function()
  it("there is nothing, and after it no context", function()
    local result = child [[
      local cu = require "moonwarp.driver"
      local free = {
        cuInit = true, cuDriverGetVersion = true, cuGetErrorName = true, cuGetErrorString = true,
      }
      local wrong = {}
      local function try(wanted, skip)
        for name, f in pairs(cu) do
          if name:find "^cu%u" and type(f) == "function" and not free[name] and not skip(name) and f() ~= wanted then
            wrong[#wrong + 1] = name .. " " .. wanted
          end
        end
      end
      try(cu.CUDA_ERROR_NOT_INITIALIZED, function() return false end)
      assert(cu.cuInit(1) == cu.CUDA_ERROR_INVALID_VALUE)
      assert(cu.cuInit(0) == cu.CUDA_SUCCESS)
      local contextless = {
        cuCtxCreate = true, cuCtxPushCurrent = true, cuCtxSetCurrent = true, cuCtxGetCurrent = true,
        cuCtxDestroy = true, cuGLCtxCreate = true,
      }
      try(cu.CUDA_ERROR_INVALID_CONTEXT, function(name)
        return contextless[name] or name:find "^cuDevice" or name:find "^cuD3D"
      end)
      table.sort(wrong)
      print(table.concat(wrong, ", "))
    ]]
    assert.equal("\n", result.output)
  end)
end)

describe("result codes", function()
  it("are the driver's numbers, names and sentences", function()
    assert.equal(0, cu.CUDA_SUCCESS)
    assert.equal(1, cu.CUDA_ERROR_INVALID_VALUE)
    assert.equal(209, cu.CUDA_ERROR_NO_BINARY_FOR_GPU)
    assert.equal(719, cu.CUDA_ERROR_LAUNCH_FAILED)
    assert.equal("CUDA_ERROR_OUT_OF_MEMORY", ok(cu.cuGetErrorName(2)))
    assert.equal("invalid argument", ok(cu.cuGetErrorString(1)))
    assert.equal("context is destroyed", ok(cu.cuGetErrorString(709)))
    code("CUDA_ERROR_INVALID_VALUE", (cu.cuGetErrorName(12345)))
    code("CUDA_ERROR_INVALID_VALUE", (cu.cuGetErrorString(-1)))
  end)
end)

describe("devices", function()
  it("are counted, named and described", function()
    assert.is_true(ok(cu.cuDeviceGetCount()) >= 1)
    assert.is_true(ok(cu.cuDriverGetVersion()) >= 11020)
    local device = ok(cu.cuDeviceGet(0))
    local facts = mw.properties()
    assert.equal(facts.name, ok(cu.cuDeviceGetName(256, device)))
    assert.equal(facts.name:sub(1, 3), ok(cu.cuDeviceGetName(4, device)))
    assert.equal(facts.total_memory, ok(cu.cuDeviceTotalMem(device)))
    assert.same({ facts.major, facts.minor }, { ok(cu.cuDeviceComputeCapability(device)) })
    local prop = ok(cu.cuDeviceGetProperties(device))
    assert.equal(facts.max_threads_per_block, prop.maxThreadsPerBlock)
    assert.same(facts.max_block, prop.maxThreadsDim)
    assert.equal(32, prop.SIMDWidth)
    assert.equal(facts.texture_alignment, prop.textureAlign)
    assert.equal(facts.multiprocessors,
      ok(cu.cuDeviceGetAttribute(cu.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device)))
    assert.equal(prop.maxThreadsPerBlock,
      ok(cu.cuDeviceGetAttribute(cu.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, device)))
    assert.equal(device, ok(cu.cuDeviceGetByPCIBusId(ok(cu.cuDeviceGetPCIBusId(16, device)))))
    assert.equal(0, ok(cu.cuDeviceCanAccessPeer(device, device)))
    assert.equal(ok(cu.cuDeviceGetMemPool(device)), ok(cu.cuDeviceGetDefaultMemPool(device)))
  end)

  it("that are not there are CUDA_ERROR_INVALID_DEVICE", function()
    code("CUDA_ERROR_INVALID_DEVICE", cu.cuDeviceGet(99))
    code("CUDA_ERROR_INVALID_DEVICE", cu.cuDeviceGet(-1))
    code("CUDA_ERROR_INVALID_DEVICE", cu.cuDeviceGetName(256, 99))
    code("CUDA_ERROR_INVALID_DEVICE", cu.cuDeviceTotalMem(99))
    code("CUDA_ERROR_INVALID_DEVICE", cu.cuDeviceComputeCapability(99))
    code("CUDA_ERROR_INVALID_DEVICE", cu.cuDeviceGetProperties(99))
    code("CUDA_ERROR_INVALID_DEVICE", cu.cuDeviceGetAttribute(1, 99))
    code("CUDA_ERROR_INVALID_DEVICE", cu.cuDeviceGetPCIBusId(16, 99))
    code("CUDA_ERROR_INVALID_DEVICE", cu.cuDeviceGetByPCIBusId("0000:00:63.0"))
    code("CUDA_ERROR_INVALID_DEVICE", cu.cuDeviceCanAccessPeer(0, 99))
    code("CUDA_ERROR_INVALID_DEVICE", cu.cuDeviceGetDefaultMemPool(99))
    code("CUDA_ERROR_INVALID_DEVICE", cu.cuDeviceGetMemPool(99))
    code("CUDA_ERROR_INVALID_DEVICE", cu.cuCtxCreate(0, 99))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuDeviceGetAttribute(9999, 0))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuDeviceGetName(0, 0))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuDeviceGetPCIBusId(0, 0))
  end)
end)

describe("contexts", function()
  it("are a stack", function()
    assert.is_nil(ok(cu.cuCtxGetCurrent()))
    local a, b = ok(cu.cuCtxCreate(0, 0)), ok(cu.cuCtxCreate(cu.CU_CTX_SCHED_YIELD + cu.CU_CTX_MAP_HOST, 0))
    assert.equal(b, ok(cu.cuCtxGetCurrent()))
    assert.equal(0, ok(cu.cuCtxGetDevice()))
    assert.equal(10, ok(cu.cuCtxGetFlags()))
    assert.is_true(ok(cu.cuCtxGetApiVersion(a)) >= 3010)
    assert.equal(b, ok(cu.cuCtxPopCurrent()))
    assert.equal(a, ok(cu.cuCtxGetCurrent()))
    ok(cu.cuCtxSetCurrent(b))
    assert.equal(b, ok(cu.cuCtxGetCurrent()))
    ok(cu.cuCtxSetCurrent(nil))
    assert.is_nil(ok(cu.cuCtxGetCurrent()))
    ok(cu.cuCtxPushCurrent(a))
    ok(cu.cuCtxSynchronize())
    ok(cu.cuCtxDestroy(a))
    assert.is_nil(ok(cu.cuCtxGetCurrent()))
    assert.matches("destroyed", tostring(a))
    ok(cu.cuCtxDestroy(b))
    code("CUDA_ERROR_CONTEXT_IS_DESTROYED", cu.cuCtxDestroy(b))
    code("CUDA_ERROR_CONTEXT_IS_DESTROYED", cu.cuCtxPushCurrent(b))
    code("CUDA_ERROR_CONTEXT_IS_DESTROYED", cu.cuCtxSetCurrent(a))
    code("CUDA_ERROR_CONTEXT_IS_DESTROYED", cu.cuCtxGetApiVersion(a))
    code("CUDA_ERROR_INVALID_CONTEXT", cu.cuCtxPopCurrent())
    code("CUDA_ERROR_INVALID_CONTEXT", cu.cuCtxDestroy(nil))
    code("CUDA_ERROR_INVALID_CONTEXT", cu.cuCtxPushCurrent(nil))
    code("CUDA_ERROR_INVALID_CONTEXT", cu.cuCtxSetCurrent("c"))
    code("CUDA_ERROR_INVALID_CONTEXT", cu.cuCtxGetApiVersion(nil))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuCtxCreate(3, 0))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuCtxCreate(64, 0))
  end)

  it("are counted by those that attach to them", function()
    local a = ok(cu.cuCtxCreate(0, 0))
    local p = ok(cu.cuMemAlloc(4))
    assert.equal(a, ok(cu.cuCtxAttach(0)))
    ok(cu.cuCtxDetach(a))
    ok(cu.cuMemsetD32(p, 1, 1))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuCtxAttach(1))
    local b = ok(cu.cuCtxCreate(0, 0))
    code("CUDA_ERROR_INVALID_CONTEXT", cu.cuCtxDetach(a))
    code("CUDA_ERROR_INVALID_CONTEXT", cu.cuCtxDetach(nil))
    ok(cu.cuCtxDetach(b))
    ok(cu.cuCtxDetach(a))
    assert.is_nil(ok(cu.cuCtxGetCurrent()))
    code("CUDA_ERROR_INVALID_CONTEXT", cu.cuCtxDetach(a))
  end)

  it("destroy the objects that were made in them, and nothing else", function()
    local outer = ok(cu.cuCtxCreate(0, 0))
    local kept = ok(cu.cuMemAlloc(1000))
    local inner = ok(cu.cuCtxCreate(0, 0))
    local module = ok(cu.cuModuleLoadData(source))
    local scale = ok(cu.cuModuleGetFunction(module, "scale"))
    collect()
    local before = mw.memory().count
    local p, h = ok(cu.cuMemAlloc(1000)), ok(cu.cuMemAllocHost(10))
    local stream, event = ok(cu.cuStreamCreate(0)), ok(cu.cuEventCreate(0))
    local array = ok(cu.cuArrayCreate { Width = 8, Height = 8, Format = cu.CU_AD_FORMAT_FLOAT, NumChannels = 1 })
    assert.is_true(mw.memory().count > before)
    assert.equal(inner, ok(cu.cuStreamGetCtx(stream)))
    ok(cu.cuCtxDestroy(inner))
    assert.equal(outer, ok(cu.cuCtxGetCurrent()))
    assert.equal(before, mw.memory().count)
    ok(cu.cuMemsetD8(kept, 1, 1000))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemFree(p))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuMemFreeHost(h))
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuStreamQuery(stream))
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuEventQuery(event))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuArrayGetDescriptor(array))
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuModuleGetFunction(module, "scale"))
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 0, nil, { kept, 1, 1 }))
    ok(cu.cuCtxDestroy(outer))
  end)

  it("that were destroyed below others on the stack are reported when they are on top", function()
    local a, b = ok(cu.cuCtxCreate(0, 0)), ok(cu.cuCtxCreate(0, 0))
    ok(cu.cuCtxDestroy(a))
    ok(cu.cuMemGetInfo())
    ok(cu.cuCtxDestroy(b))
    code("CUDA_ERROR_CONTEXT_IS_DESTROYED", cu.cuMemGetInfo())
    assert.equal(a, ok(cu.cuCtxPopCurrent()))
  end)

  it("have the device's limits and configurations", function()
    local context = ok(cu.cuCtxCreate(0, 0))
    local stack = ok(cu.cuCtxGetLimit(cu.CU_LIMIT_STACK_SIZE))
    ok(cu.cuCtxSetLimit(cu.CU_LIMIT_STACK_SIZE, 128 * 1024))
    assert.equal(128 * 1024, ok(cu.cuCtxGetLimit(cu.CU_LIMIT_STACK_SIZE)))
    ok(cu.cuCtxSetLimit(cu.CU_LIMIT_STACK_SIZE, stack))
    code("CUDA_ERROR_UNSUPPORTED_LIMIT", cu.cuCtxGetLimit(77))
    code("CUDA_ERROR_UNSUPPORTED_LIMIT", cu.cuCtxSetLimit(77, 1))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuCtxSetLimit(cu.CU_LIMIT_STACK_SIZE, -1))
    ok(cu.cuCtxSetCacheConfig(cu.CU_FUNC_CACHE_PREFER_L1))
    ok(cu.cuCtxGetCacheConfig())
    code("CUDA_ERROR_INVALID_VALUE", cu.cuCtxSetCacheConfig(9))
    ok(cu.cuCtxSetSharedMemConfig(1))
    ok(cu.cuCtxGetSharedMemConfig())
    code("CUDA_ERROR_INVALID_VALUE", cu.cuCtxSetSharedMemConfig(9))
    ok(cu.cuCtxResetPersistingL2Cache())
    local least, greatest = ok(cu.cuCtxGetStreamPriorityRange())
    assert.is_true(greatest < least)
    code("CUDA_ERROR_INVALID_CONTEXT", cu.cuCtxEnablePeerAccess(context, 0))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuCtxEnablePeerAccess(context, 1))
    code("CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", cu.cuCtxDisablePeerAccess(context))
    local other = ok(cu.cuCtxCreate(0, 0))
    code("CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", cu.cuCtxEnablePeerAccess(context, 0))
    ok(cu.cuCtxDestroy(other))
    code("CUDA_ERROR_INVALID_CONTEXT", cu.cuCtxEnablePeerAccess(nil, 0))
    code("CUDA_ERROR_INVALID_CONTEXT", cu.cuCtxDisablePeerAccess(nil))
    ok(cu.cuCtxDestroy(context))
  end)

  it("of several devices have memory of their own, which copies and peers reach", function()
    mw.devices { cpu = 2 }
    local a, b = ok(cu.cuCtxCreate(0, 0)), ok(cu.cuCtxCreate(0, 1))
    assert.equal(1, ok(cu.cuCtxGetDevice()))
    local there = ok(cu.cuMemAlloc(8))
    ok(cu.cuMemsetD32(there, 21, 2))
    ok(cu.cuCtxPushCurrent(a))
    assert.equal(0, ok(cu.cuCtxGetDevice()))
    local here, h = ok(cu.cuMemAlloc(8)), cu.malloc(8, "int")
    ok(cu.cuMemcpyPeer(here, a, there, b, 8))
    ok(cu.cuMemcpyDtoH(h, here, 8))
    assert.same({ 21, 21 }, h:totable(2))
    if ok(cu.cuDeviceCanAccessPeer(0, 1)) == 1 then
      local double = ok(cu.cuModuleGetFunction(ok(cu.cuModuleLoadData
        "__global__ void twice(int *x) { x[threadIdx.x] *= 2; }"), "twice"))
      ok(cu.cuCtxEnablePeerAccess(b, 0))
      code("CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", cu.cuCtxEnablePeerAccess(b, 0))
      ok(cu.cuLaunchKernel(double, 1, 1, 1, 2, 1, 1, 0, nil, { there }))
      ok(cu.cuCtxSynchronize())
      ok(cu.cuMemcpyPeer(here, a, there, b, 8))
      ok(cu.cuMemcpyDtoH(h, here, 8))
      assert.same({ 42, 42 }, h:totable(2))
      ok(cu.cuCtxDisablePeerAccess(b))
    end
    ok(cu.cuCtxDestroy(a))
    assert.equal(b, ok(cu.cuCtxGetCurrent()))
    ok(cu.cuMemsetD32(there, 0, 2))
    ok(cu.cuCtxDestroy(b))
    assert.equal(a, ok(cu.cuCtxPopCurrent())) -- where it stood below
    mw.use "cpu:0"
    mw.devices { cpu = 1 }
  end)

  it("may be a device's primary one, which is counted", function()
    assert.same({ 0, 0 }, { ok(cu.cuDevicePrimaryCtxGetState(0)) })
    ok(cu.cuDevicePrimaryCtxSetFlags(0, cu.CU_CTX_SCHED_SPIN))
    local context = ok(cu.cuDevicePrimaryCtxRetain(0))
    assert.equal(context, ok(cu.cuDevicePrimaryCtxRetain(0)))
    assert.same({ 1, 1 }, { ok(cu.cuDevicePrimaryCtxGetState(0)) })
    assert.is_nil(ok(cu.cuCtxGetCurrent()))
    ok(cu.cuCtxPushCurrent(context))
    local p = ok(cu.cuMemAlloc(4))
    ok(cu.cuDevicePrimaryCtxRelease(0))
    ok(cu.cuMemsetD8(p, 0, 4))
    ok(cu.cuDevicePrimaryCtxRelease(0))
    assert.same({ 1, 0 }, { ok(cu.cuDevicePrimaryCtxGetState(0)) })
    code("CUDA_ERROR_INVALID_CONTEXT", cu.cuDevicePrimaryCtxRelease(0))
    ok(cu.cuDevicePrimaryCtxReset(0))
    ok(cu.cuDevicePrimaryCtxSetFlags(0, 0))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuDevicePrimaryCtxSetFlags(0, 64))
  end)
end)

describe("modules", function()
  local context
  setup(function() context = ok(cu.cuCtxCreate(0, 0)) end)
  teardown(function() ok(cu.cuCtxDestroy(context)) end)

  it("are loaded from files of CUDA C and of compiled code, and from their bytes", function()
    if suite.on_gpu then return pending "CPU device only: it is about its own files" end
    local text_path, code_path = os.tmpname(), os.tmpname()
    write(text_path, source)
    local module = ok(cu.cuModuleLoad(text_path))
    ok(cu.cuModuleGetFunction(module, "scale"))
    module:save(code_path)
    ok(cu.cuModuleGetFunction(ok(cu.cuModuleLoad(code_path)), "scale"))
    local bytes = read(code_path)
    ok(cu.cuModuleGetFunction(ok(cu.cuModuleLoadData(bytes)), "scale"))
    -- A fat image: the first that this device has code for.
    local cubin = "\127ELF\2\1\1\51" .. ("\0"):rep(8) .. "\2\0\190\0" .. ("\0"):rep(44)
    ok(cu.cuModuleGetFunction(ok(cu.cuModuleLoadFatBinary { cubin, bytes }), "scale"))
    ok(cu.cuModuleLoadFatBinary(source))
    -- Damaged, and no module at all.
    code("CUDA_ERROR_INVALID_IMAGE", cu.cuModuleLoadData(bytes:sub(1, 400) .. "x" .. bytes:sub(402)))
    code("CUDA_ERROR_INVALID_IMAGE", cu.cuModuleLoadData("\1\0\2\0"))
    code("CUDA_ERROR_INVALID_IMAGE", cu.cuModuleLoadData(""))
    code("CUDA_ERROR_INVALID_IMAGE", cu.cuModuleLoadFatBinary { cubin, bytes:sub(1, -2), source })
    write(code_path, bytes:sub(1, -2))
    code("CUDA_ERROR_INVALID_IMAGE", cu.cuModuleLoad(code_path))
    -- Other processors' code.
    write(code_path, cubin)
    code("CUDA_ERROR_NO_BINARY_FOR_GPU", cu.cuModuleLoad(code_path))
    assert.matches("NVIDIA", cu.story().message)
    code("CUDA_ERROR_NO_BINARY_FOR_GPU", cu.cuModuleLoadFatBinary { cubin })
    os.remove(text_path)
    os.remove(code_path)
    code("CUDA_ERROR_FILE_NOT_FOUND", cu.cuModuleLoad(text_path))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuModuleLoad(nil))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuModuleLoadData(nil))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuModuleLoadFatBinary {})
  end)

  it("for GPUs are distinguished from damaged ones, with the reason", function()
    if suite.on_gpu then return pending "CPU device only: it is about its own files" end
    local ptx = "//\n// Generated\n//\n.version 7.0\n.target sm_80\n.address_size 64\n.visible .entry f() { ret; }\n"
    code("CUDA_ERROR_NO_BINARY_FOR_GPU", cu.cuModuleLoadData(ptx))
    assert.matches("^PTX", cu.story().message)
    code("CUDA_ERROR_NO_BINARY_FOR_GPU", cu.cuModuleLoadData("\80\237\85\186\1\0\16\0"))
    assert.matches("fat binary", cu.story().message)
    code("CUDA_ERROR_NO_BINARY_FOR_GPU", cu.cuModuleLoadData("architecture {sm_10}\nabiversion {1}\n"))
    code("CUDA_ERROR_NO_BINARY_FOR_GPU", cu.cuModuleLoadDataEx(ptx, {}))
    code("CUDA_ERROR_NO_BINARY_FOR_GPU", cu.cuModuleLoadData("MWCUDA2\narch 5\nsm_80end 0"))
    assert.matches("a module for a GPU: .* NVIDIA GPUs only", cu.story().message)
  end)

  it("that do not compile are CUDA_ERROR_INVALID_SOURCE, with the compiler's words", function()
    code("CUDA_ERROR_INVALID_SOURCE", cu.cuModuleLoadData "__global__ void f() { nothing = 1; }")
    assert.matches("nothing", cu.story().log)
    local path = os.tmpname()
    write(path, "__global__ void f() { here = 1; }")
    code("CUDA_ERROR_INVALID_SOURCE", cu.cuModuleLoad(path))
    assert.matches(path, tostring(cu.story()), 1, true)
    os.remove(path)
  end)

  it("are compiled with options", function()
    local text = "#ifndef SIZE\n#error no size\n#endif\n__device__ char room[SIZE];"
    code("CUDA_ERROR_INVALID_SOURCE", cu.cuModuleLoadDataEx(text, {}))
    local module, log = ok(cu.cuModuleLoadDataEx(text, {
      options = { "-DSIZE=12" }, [cu.CU_JIT_OPTIMIZATION_LEVEL] = 4, [cu.CU_JIT_MAX_REGISTERS] = 32,
      [cu.CU_JIT_GENERATE_LINE_INFO] = 1, [cu.CU_JIT_LOG_VERBOSE] = 1,
    }))
    assert.equal(12, (select(2, ok(cu.cuModuleGetGlobal(module, "room")))))
    assert.equal("string", type(log))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuModuleLoadDataEx(text, { [99] = 1 }))
    code("CUDA_ERROR_INVALID_VALUE", cu.cuModuleLoadDataEx(text, { [cu.CU_JIT_MAX_REGISTERS] = "many" }))
  end)

  it("have functions, variables and references by name, until they are unloaded", function()
    local module = ok(cu.cuModuleLoadData(source))
    assert.equal("scale", ok(cu.cuModuleGetFunction(module, "scale")).name)
    ok(cu.cuModuleGetFunction(module, "fill<int>"))
    assert.equal(module, ok(cu.cuFuncGetModule(ok(cu.cuModuleGetFunction(module, "scale")))))
    local p, bytes = ok(cu.cuModuleGetGlobal(module, "gain"))
    assert.equal(16, bytes)
    ok(cu.cuMemcpyHtoD(p + 4, string.pack("f", 2.5), 4))
    assert.equal(2.5, module.gain[2])
    assert.matches("list", tostring(ok(cu.cuModuleGetTexRef(module, "list"))))
    assert.equal(ok(cu.cuModuleGetTexRef(module, "list")), ok(cu.cuModuleGetTexRef(module, "list")))
    ok(cu.cuModuleGetSurfRef(module, "canvas"))
    code("CUDA_ERROR_NOT_FOUND", cu.cuModuleGetFunction(module, "nobody"))
    code("CUDA_ERROR_NOT_FOUND", cu.cuModuleGetGlobal(module, "nobody"))
    code("CUDA_ERROR_NOT_FOUND", cu.cuModuleGetGlobal(module, "list"))
    code("CUDA_ERROR_NOT_FOUND", cu.cuModuleGetTexRef(module, "nobody"))
    code("CUDA_ERROR_NOT_FOUND", cu.cuModuleGetTexRef(module, "gain"))
    code("CUDA_ERROR_NOT_FOUND", cu.cuModuleGetSurfRef(module, "list"))
    ok(cu.cuModuleUnload(module))
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuModuleUnload(module))
    code("CUDA_ERROR_INVALID_HANDLE", cu.cuModuleGetGlobal(module, "gain"))
  end)
end)

describe("interoperability with Direct3D", function()
  it("is refused with the reason", function()
    code("CUDA_ERROR_NOT_SUPPORTED", cu.cuD3D9Begin())
    assert.matches("Direct3D", cu.story().message)
  end)
end)
