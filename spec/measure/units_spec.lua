-- Measured runs count functions of a GPU's other units, textures, surfaces and asynchronous copies, alike on the CPU
-- device and on a GPU.

local mw = require "moonwarp"
local suite = require "support.suite"

-- All figures of the launch but the counts of instructions, where they are not 0.
local function counted(kernel, block, ...)
  local found = {}
  for name, value in pairs(mw.measure(kernel, 1, block)(...).total) do
    local is_access = name:find "_requests$" or name:find "_sectors$" or name:find "_wavefronts$"
    if (is_access or name == "branches") and value > 0 then found[name] = value end
  end
  return found
end

-- A store of a float for each of 64 threads, and what else there is.
local function with_store(figures)
  local all = { global_store_requests = 2, global_store_sectors = 8, global_store_ideal_sectors = 8 }
  for name, value in pairs(figures) do all[name] = value end
  return all
end

describe("a measured run", function()
  local y = mw.zeros(64)
  local m = mw.compile [[
texture<float, 1, cudaReadModeElementType> line;
__global__ void reference(float *y) { y[threadIdx.x] = tex1Dfetch(line, threadIdx.x); }
__global__ void filtered(cudaTextureObject_t image, float *y) {
  float v;
  tex2DLod(&v, image, threadIdx.x + .25f, 1.25f, 0.f);
  y[threadIdx.x] = tex2D<float>(image, threadIdx.x + .25f, 1.25f) + v;
}
__global__ void looped(int n, cudaTextureObject_t image, float *y) {
  float sum = 0;
  for (int i = 0; i < n; i++)
    if (threadIdx.x < 32) sum += tex1D<float>(image, threadIdx.x + i);
  y[threadIdx.x] = sum;
}
__global__ void surfaces(cudaSurfaceObject_t image) {
  float v;
  surf1Dread(&v, image, 4 * threadIdx.x);
  surf1Dwrite(v + 1, image, 4 * threadIdx.x);
}]]

  it("counts a texture function as one request of each warp, whatever it reads for it", function()
    m.line = mw.texture(mw.zeros(64))
    assert.same(with_store { texture_requests = 2 }, counted(m.reference, 64, y))
    for _, filter in ipairs { "point", "linear" } do
      local image = mw.texture(mw.cuda_array(mw.zeros(64, 64)), { filter = filter })
      assert.same(with_store { texture_requests = 4 }, counted(m.filtered, 64, image, y))
    end
  end)

  it("counts it as often as it is called, and the branches around it", function()
    local image = mw.texture(mw.cuda_array(mw.zeros(64)))
    local figures = counted(m.looped, 64, 5, image, y)
    assert.equal(5, figures.texture_requests)
    assert.is_nil(figures.global_load_requests)
    assert.is_true(figures.branches >= 10 and figures.branches <= 22, figures.branches) -- of two warps
  end)

  it("counts a surface function as one request", function()
    local image = mw.cuda_array { kind = "1d", width = 64, dtype = "float" }
    assert.same({ texture_requests = 4 }, counted(m.surfaces, 64, mw.surface(image)))
  end)

  it("counts cp.async as a load and a store to shared memory", function()
    if suite.on_gpu and tonumber(mw.device().capability) < 8 then return pending "GPU of compute capability 8.0" end
    local copies = mw.compile [[
__global__ void k(const float *x, float *y) {
  __shared__ float4 s[64];
  unsigned to = (unsigned)__cvta_generic_to_shared(s + threadIdx.x);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(x + 4 * threadIdx.x) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  y[threadIdx.x] = s[threadIdx.x].x;
}]]
    assert.same(with_store {
      global_load_requests = 2, global_load_sectors = 32, global_load_ideal_sectors = 32,
      shared_store_requests = 2, shared_store_wavefronts = 8, shared_store_ideal_wavefronts = 8,
      shared_load_requests = 2, shared_load_wavefronts = 8, shared_load_ideal_wavefronts = 2,
    }, counted(copies.k, 64, mw.zeros(256), y))
  end)
end)
