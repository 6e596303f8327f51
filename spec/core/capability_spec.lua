-- The CPU device opened as devices of other compute capabilities: their properties, limits and missing features.
-- CPU device only: about CPU devices with other properties

local mw = require "moonwarp"

local usual = mw.device().name
local function on(capability, f, ...) return mw.with(mw.device("cpu", { capability = capability }), f, ...) end

-- The figures of CUDA's guides: 1.1 appendix A, 4.2 table F-2, 11.2 table 15.
local guide = {
  --        threads grid x       z      registers constant shared most    1-D tex 3-D    surfaces
  ["1.0"] = { 512, 65535,      1,     8192,     65536,   16384, 16384,  8192,   2048,  0 },
  ["1.1"] = { 512, 65535,      1,     8192,     65536,   16384, 16384,  8192,   2048,  0 },
  ["1.3"] = { 512, 65535,      1,     16384,    65536,   16384, 16384,  8192,   2048,  0 },
  ["2.0"] = { 1024, 65535,     65535, 32768,    65536,   49152, 49152,  65536,  2048,  8 },
  ["3.0"] = { 1024, 2 ^ 31 - 1, 65535, 65536,   65536,   49152, 49152,  65536,  4096,  16 },
  ["3.2"] = { 1024, 2 ^ 31 - 1, 65535, 32768,   65536,   49152, 49152,  65536,  4096,  16 },
  ["5.3"] = { 1024, 2 ^ 31 - 1, 65535, 32768,   65536,   49152, 49152,  65536,  4096,  16 },
  ["6.1"] = { 1024, 2 ^ 31 - 1, 65535, 65536,   65536,   49152, 49152,  131072, 16384, 16 },
  ["7.0"] = { 1024, 2 ^ 31 - 1, 65535, 65536,   65536,   49152, 98304,  131072, 16384, 32 },
  ["7.5"] = { 1024, 2 ^ 31 - 1, 65535, 65536,   65536,   49152, 65536,  131072, 16384, 32 },
  ["8.0"] = { 1024, 2 ^ 31 - 1, 65535, 65536,   65536,   49152, 166912, 131072, 16384, 32 },
  ["8.6"] = { 1024, 2 ^ 31 - 1, 65535, 65536,   65536,   49152, 101376, 131072, 16384, 32 },
  ["9.0"] = { 1024, 2 ^ 31 - 1, 65535, 65536,   65536,   49152, 232448, 131072, 16384, 32 },
}

describe("the CPU device as a compute capability", function()
  -- Before other tests open devices: of many, the last have less address space than modules are compiled for.
  it("takes compiled files of its generation only", function()
    local path = os.tmpname()
    local source = "__global__ void f(int *p) { p[0] = __CUDA_ARCH__; }"
    on("2.0", function() mw.compile(source):save(path) end)
    local function arch()
      local a, m = mw.zeros(1, "int"), mw.load(path)
      local before = mw.limit("specialise", 0) -- compiled once more, as what it was
      m.f(1, 1)(a)
      mw.limit("specialise", before)
      return a[1]
    end
    assert.equal(200, on("2.1", arch))
    assert.equal(200, arch())
    for _, other in ipairs { "1.3", "3.0" } do
      local ok, err = pcall(on, other, arch)
      assert.is_false(ok)
      assert.equal("cudaErrorNoKernelImageForDevice", err.code)
      assert.matches("compiled for compute capability 2%.0, and the device is opened as " .. other, err.message)
    end
    mw.compile(source):save(path)
    assert.has_error(function() on("2.0", arch) end)
    os.remove(path)
  end)

  after_each(function() assert.equal(usual, mw.device().name) end)

  it("has the figures of the guides", function()
    for capability, want in pairs(guide) do
      local facts = mw.device("cpu", { capability = capability }):properties()
      assert.equal(capability, facts.major .. "." .. facts.minor)
      local got = {
        facts.max_threads_per_block, facts.max_grid[1], facts.max_grid[3], facts.registers_per_block,
        facts.total_constant, facts.shared_per_block, facts.shared_per_block_optin, facts.textures.texture_1d,
        facts.textures.texture_3d[1], facts.textures.surfaces,
      }
      for i = 1, 10 do assert.equal(want[i], got[i], ("%s, figure %d"):format(capability, i)) end
      assert.same({ want[1], want[1], 64 }, facts.max_block)
      assert.equal(32, facts.warp_size)
    end
  end)

  -- CUDA C++ programming guide 12.1: 4 KB before Volta, 32764 bytes from there on
  it("takes as many bytes of parameters as such devices do, and says how many that are", function()
    local before = mw.device()
    local function compile(capability, ints)
      mw.use("cpu", capability and { capability = capability } or nil)
      local m, err = mw.try_compile(([[
struct big { int v[%d]; };
__global__ void k(const big b, int *r) { *r = b.v[%d]; }]]):format(ints, ints - 1))
      return m, err and err.message
    end
    for capability, most in pairs { ["1.1"] = 256, ["3.5"] = 4096, ["6.1"] = 4096, ["7.0"] = 32764, ["9.0"] = 32764 } do
      assert.equal(most, mw.capability(capability).parameter_bytes)
      local ints = math.floor((most - 8) / 8) * 2 -- and a pointer, at a multiple of 8
      assert.is_table(compile(capability, ints) and {}, capability)
      local _, why = compile(capability, ints + 2)
      assert.matches("the parameters of k take %d+ bytes, and compute capability [%d.]+ has " .. most, why)
    end
    local m, values = compile(nil, 8188), {}
    for i = 1, 8188 do values[i] = i end
    local r = mw.zeros(1, "int")
    m.k(1, 1)({ v = values }, r)
    assert.equal(8188, r[1])
    assert.is_nil((compile(nil, 8190)))
    mw.use(before)
  end)

  it("is named by all that open a device", function()
    local device = mw.device("cpu", { capability = "1.1" })
    assert.equal("cpu:0@1.1", device.name)
    assert.equal("1.1", device.capability)
    assert.equal(device, mw.device "cpu:0@1.1")
    assert.not_equal(device, mw.device())
    assert.equal(device, mw.use("cpu:0", { capability = "1.1" }))
    assert.equal("cpu:0@1.1", mw.device().name)
    assert.equal("2.0", mw.use("cpu@1.1", { capability = "2.0" }).capability)
    mw.use(usual)
  end)

  it("is only one that there is", function()
    for _, wrong in ipairs { "1.4", "10", "", "1.1.1", "x.y" } do
      local ok, err = pcall(mw.device, "cpu", { capability = wrong })
      assert.is_false(ok)
      assert.matches("there is no compute capability '" .. wrong:gsub("%.", "%%."), err.message)
      assert.matches("1%.0, 1%.1, 1%.2", err.message)
    end
    assert.has_error(function() mw.device("cpu", { capability = 1.1 }) end)
    assert.has_error(function() mw.device("cpu", { capabilities = "1.1" }) end)
    assert.equal("9.0", mw.capabilities()[#mw.capabilities()])
  end)

  it("is the source's __CUDA_ARCH__", function()
    local source = "__global__ void arch(int *p) { *p = __CUDA_ARCH__; }"
    for _, capability in ipairs { "1.0", "2.1", "9.0" } do
      local arch = on(capability, function()
        local a = mw.zeros(1, "int")
        mw.compile(source).arch(1, 1)(a)
        return a[1]
      end)
      assert.equal(tonumber((capability:gsub("%.", ""))) * 10, arch)
    end
  end)

  it("keeps to the limits of blocks, grids, shared memory and parameters", function()
    local source = [[
struct wide { int v[80]; };
__global__ void f(int *p) { extern __shared__ int s[]; s[threadIdx.x] = 1; p[0] = s[0]; }
]]
    on("1.1", function()
      local m = mw.compile(source)
      assert.equal(512, m.f.max_threads)
      m.f({ 2, 2 }, 512, 16384)(mw.zeros(1, "int"))
      mw.synchronize()
      local function refused(pattern, ...)
        local ok, err = pcall(m.f, ...)
        assert.is_false(ok)
        assert.equal("cudaErrorInvalidConfiguration", err.code)
        assert.matches(pattern, err.message)
      end
      refused("its x may be 512 at most", 1, 513)
      refused("takes 512 at most", 1, { 32, 32 })
      refused("its x may be 65535 at most", 65536, 1)
      refused("its z may be 1 at most", { 1, 1, 2 }, 1)
      refused("a block on cpu:0@1%.1 has 16384", 1, 1, 16385)
      local _, err = mw.try_compile(source .. "__global__ void g(wide w, int *p) { p[0] = w.v[0]; }")
      assert.matches("the parameters of g take %d+ bytes, and compute capability 1%.1 has 256", err.message)
    end)
    on("2.0", function()
      mw.compile(source).f({ 1, 1, 2 }, 1024, 49152)(mw.zeros(1, "int"))
      assert.has_error(function() mw.compile(source).f(1, 1, 49153) end)
      assert.truthy(mw.try_compile(source .. "__global__ void g(wide w, int *p) { p[0] = w.v[0]; }"))
      local _, err = mw.try_compile "__constant__ int c[20000]; __global__ void f(int *p) { p[0] = c[1]; }"
      assert.matches("take 80000 bytes, and compute capability 2%.0 has 65536", err.message)
    end)
  end)

  it("keeps to the limits of textures, surfaces and managed memory", function()
    on("1.1", function()
      mw.cuda_array(nil, { kind = "1d", dtype = "float", width = 8192 })
      local ok, err = pcall(mw.cuda_array, nil, { kind = "1d", dtype = "float", width = 8193 })
      assert.is_false(ok)
      assert.matches("8192 at most", err.message)
      ok, err = pcall(mw.cuda_array, nil, { kind = "cubemap", dtype = "float", width = 4 })
      assert.is_false(ok)
      assert.matches("has no cubemap", err.message)
      ok, err = pcall(mw.surface, mw.cuda_array(nil, { kind = "1d", dtype = "float", width = 8 }))
      assert.is_false(ok)
      assert.matches("surfaces came with compute capability 2%.0", err.message)
      local rt = require "moonwarp.runtime"
      assert.equal(rt.cudaErrorNotSupported, (rt.cudaMallocManaged(100)))
      assert.equal(0, rt.cudaGetDevice() + select(2, rt.cudaGetDevice()))
      local _, prop = rt.cudaGetDeviceProperties(0)
      assert.equal(11, prop.major * 10 + prop.minor)
      assert.equal(8192, prop.maxTexture1D)
      assert.same({ 0, 0, 0 }, prop.maxSurface3D)
      assert.equal(0, prop.managedMemory)
      rt.cudaGetLastError()
    end)
  end)

  it("names the line of the script", function()
    local line = debug.getinfo(1, "l").currentline
    local _, err = on("1.0", mw.try_compile, [[
__global__ void f(int *p) {
  p[0] = 1;
  atomicAdd(p, 1);
}]])
    assert.equal(line + 4, err.line)
    assert.matches("capability_spec.lua$", err.file)
    assert.matches("^atomic functions came with compute capability 1%.1, and this is compiled for 1%.0: ", err.message)
  end)

  it("lets a program define missing functions, such as the guide's atomicAdd of double", function()
    on("5.2", function()
      local m = mw.compile [[
#if __CUDA_ARCH__ < 600
__device__ double atomicAdd(double *address, double value) {
  unsigned long long *bits = (unsigned long long *)address, old = *bits, assumed;
  do {
    assumed = old;
    old = atomicCAS(bits, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
  } while (assumed != old);
  return __longlong_as_double(old);
}
#endif
__global__ void sum(double *x) { atomicAdd(x, threadIdx.x * 0.5); }
]]
      local x = mw.zeros(1, "double")
      m.sum(1, 64)(x)
      assert.equal(1008, x[1])
    end)
  end)

  it("lets constants without an f pass before 1.3, and keeps no double", function()
    on("1.2", function()
      local x = mw.array { 3, 5 }
      mw.compile("__global__ void f(float *x) { x[threadIdx.x] = x[threadIdx.x] * 0.5 + 1.0; }").f(1, 2)(x)
      assert.same({ 2.5, 3.5 }, x:totable())
      for _, source in ipairs {
        "__global__ void f(double *x) { x[0] = 1; }",
        "__global__ void f(float *x, double a) { x[0] = a; }",
        "__shared__ double s; __global__ void f(float *x) { s = x[0]; __syncthreads(); x[1] = s; }",
      } do
        local m, err = mw.try_compile(source)
        assert.is_nil(m)
        assert.matches("double came with compute capability 1%.3, and this is compiled for 1%.2: write float", err.log)
      end
    end)
  end)

  it("can be requested by an option on any CPU device", function()
    local source = "__global__ void f(int *p) { p[0] = __CUDA_ARCH__; }"
    local a = mw.zeros(1, "int")
    mw.compile({ source = source, options = { "--capability=1.3" } }).f(1, 1)(a)
    assert.equal(130, a[1])
    local ok, err = pcall(on, "2.0", mw.compile, { source = source, options = { "--capability=1.3" } })
    assert.is_false(ok)
    assert.matches("compiled for compute capability 1%.3, and the device is opened as 2%.0", err.message)
    ok, err = pcall(mw.compile, { source = source, options = { "--capability=1.4" } })
    assert.is_false(ok)
    assert.matches("there is no compute capability '1%.4'", err.message)
  end)
end)
