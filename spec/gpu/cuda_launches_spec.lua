-- Launches from kernels on a GPU: relocatable code, linked with CUDA's device runtime. With a fake driver and a fake
-- NVRTC (support/fake), and with NVIDIA's own NVRTC where the machine has it.

local gpu = require "support.fake.gpu"
local mwcc = require "support.mwcc"
local paths = require "support.compile.paths"

local refusal = "kernel.cu(2): error: kernel launch from __device__ or __global__ functions requires separate " ..
  "compilation mode"
local source = ([==[
  print(pcall(mw.compile, [[/*ERRORS OF A WHOLE*/ /*LOG %s
*/
/*PTX .version 8.0
.extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2 ();
.visible .entry k(.param .u64 k_param_0) { ret; }*/]]))
]==]):format(refusal)

describe("a module whose kernels launch kernels", function()
  local library = os.tmpname()
  teardown(function() os.remove(library) end)

  it("is compiled as relocatable code and linked with the device runtime", function()
    local result = gpu { source, environment = { MOONWARP_CUDADEVRT = library } }
    assert.matches("^true", result.output)
    local options = table.concat(result.compiler, "\n")
    assert.matches("option --relocatable-device-code=true", options, 1, true)
    assert.equal("cuLinkAddFile 4 " .. library, gpu.call(result, "cuLinkAddFile"))
    assert.equal("cuModuleLoadData //linked", gpu.call(result, "cuModuleLoadData"))
    assert.equal(1, gpu.count(result, "cuLinkDestroy"))
  end)

  it("says what to install where the device runtime is not there", function()
    local result = gpu { source, environment = { MOONWARP_CUDADEVRT = "/nowhere/libcudadevrt.a" } }
    assert.matches("launches from kernels need CUDA's device runtime library, libcudadevrt.a, which is not at " ..
      "/nowhere/libcudadevrt.a. It is part of the CUDA toolkit and of `pip install nvidia-cuda-runtime`", result.output,
      1, true)
  end)

  it("reports what the driver's linker says", function()
    local result = gpu { source, environment = { MOONWARP_CUDADEVRT = library }, fail = "cuLinkComplete@*=218" }
    assert.matches("the driver cannot link this module with " .. library, result.output, 1, true)
    assert.equal(gpu.count(result, "cuLinkCreate"), gpu.count(result, "cuLinkDestroy"))
  end)

  it("is compiled by mwcc without NVRTC, and linked with the device runtime", function()
    local script = [==[
      print(mw.compile([[
        __global__ void child(int *p) { p[0] = 1; }
        __global__ void k(int *p) { child<<<1, 1>>>(p); }]]).k)]==]
    local result = gpu { script, environment = { MOONWARP_NVRTC = "off", MOONWARP_CUDADEVRT = library } }
    assert.equal("kernel k(int *p)\n", result.output)
    assert.equal("cuLinkAddFile 4 " .. library, gpu.call(result, "cuLinkAddFile"))
    assert.equal("cuModuleLoadData //linked", gpu.call(result, "cuModuleLoadData"))
    result = gpu { script, environment = { MOONWARP_NVRTC = "off", MOONWARP_CUDADEVRT = "/nowhere/lib.a" } }
    assert.matches("launches from kernels need CUDA's device runtime library, libcudadevrt.a, which is not at " ..
      "/nowhere/lib.a", result.output, 1, true)
  end)

  it("has errors of the device runtime, and needs none of it to read them", function()
    local result = gpu { [==[
      print(mw.compile("__global__ void k(int *p) { p[0] = cudaGetLastError() + cudaPeekAtLastError(); }").k)]==],
      environment = { MOONWARP_NVRTC = "off", MOONWARP_CUDADEVRT = "/nowhere/lib.a" } }
    assert.equal("kernel k(int *p)\n", result.output)
    assert.equal(0, gpu.count(result, "cuLinkCreate"))
  end)

  it("is neither checked nor measured", function()
    for _, option in ipairs { "--checks=1", "--observe=all" } do
      local output, status = mwcc.try([[
        __global__ void child(int *p) { p[0] = 1; }
        __global__ void k(int *p) { child<<<1, 1>>>(p); }]], "--target=nvptx " .. option)
      assert.matches("launches from kernels are neither checked nor measured on a GPU", output, 1, true)
      assert.equal(1, status)
    end
  end)

  it("does not wait for children", function()
    local result = gpu { [==[
      print(mw.try_compile "__global__ void k(int *p) { cudaDeviceSynchronize(); }")]==],
      environment = { MOONWARP_NVRTC = "off" } }
    assert.matches("kernels on GPUs do not wait for their children: launch what follows into the stream " ..
      "cudaStreamTailLaunch", result.output, 1, true)
  end)

  it("is not a module that has the same error for another reason", function()
    local result = gpu { (source:gsub("ERRORS OF A WHOLE", "ERROR")), environment = { MOONWARP_CUDADEVRT = library } }
    assert.matches("a launch is host code", result.output, 1, true)
    assert.equal(0, gpu.count(result, "cuLinkCreate"))
  end)

  it("is compiled by NVRTC with all that the device runtime has", function()
    if not paths.nvrtc then return pending "NVRTC is not installed" end
    local script = [==[
      print(mw.compile([[
        __global__ void child(int *p, int n) { p[threadIdx.x] += n; }
        __global__ void k(int *p, int depth) {
          cudaStream_t s;
          cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
          cudaEvent_t e;
          cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
          child<<<1, 32, 0, s>>>(p, 3);
          cudaEventRecord(e, s);
          cudaStreamWaitEvent(s, e);
          cudaEventDestroy(e);
          cudaStreamDestroy(s);
          child<<<1, 32, 0, cudaStreamTailLaunch>>>(p, 1);
          child<<<1, 32, 0, cudaStreamFireAndForget>>>(p, 1);
          cudaMemsetAsync(p + 64, 0, 16);
          cudaMemcpyAsync(p + 64, p, 16, cudaMemcpyDeviceToDevice);
          int *q;
          cudaMalloc(&q, 64);
          cudaFree(q);
          p[100] = cudaGetLastError();
          p[101] = cudaGetErrorString(cudaSuccess)[0];
          if (depth) k<<<1, 1>>>(p, depth - 1);
        }]]).k)]==]
    local result = gpu { script, environment = { MOONWARP_NVRTC = paths.nvrtc, MOONWARP_CUDADEVRT = library } }
    assert.equal("kernel k(int *p, int depth)\n", result.output)
    assert.equal("cuModuleLoadData //linked", gpu.call(result, "cuModuleLoadData"))
  end)
end)
