-- The NVIDIA driver's own logic, on machines without a GPU: its calls of libcuda and NVRTC, and how it handles their
-- failures. Kernels' results are tested by the whole suite, with MOONWARP_DEVICE=cuda on a machine with a GPU.

local gpu = require "support.fake.gpu"

-- A source that the false NVRTC knows the machine code of.
local scale = [==[
local function field(struct, name, offset, size, type)
  local question = "__mw_field<__INTADDR__(&((S*)0)->N), sizeof(((S*)0)->N), decltype(S::N)>"
  return ("/*NAME %s =_Z10__mw_fieldILm%dELm%dE%sEvv*/\n"):format(
    (question:gsub("%f[%w][SN]%f[%W]", { S = struct, N = name })), offset, size, type)
end
local source = [[
struct Point { float x, y; };
struct Mixed { union { int i; float f; }; struct { int hidden; } s; struct { short low, high; }; };
__constant__ float gain;
texture<float, 2> img;
extern "C" __global__ void scale(int count, const float *from, float *to, Point p) {
  if (threadIdx.x < count) to[threadIdx.x] = gain * from[threadIdx.x] + p.x + tex2D(img, 0, 0);
}
extern "C" __global__ void mix(Mixed m) {}
__global__ void clear(float *to) { to[threadIdx.x] = 0; }
/*PTX
.version 9.0
.target sm_90
.address_size 64
.visible .const .align 4 .f32 gain;
.visible .global .align 8 .b8 img[8];
.visible .entry scale(
	.param .u32 scale_param_0,
	.param .u64 scale_param_1,
	.param .u64 .ptr .align 1 scale_param_2,
	.param .align 4 .b8 scale_param_3[8]
)
.maxntid 256, 1, 1
{
	ld.global.u64 	%rd3, [img];
	ld.const.f32 	%f3, [gain];
	ret;
}
.visible .entry mix(
	.param .align 4 .b8 mix_param_0[12]
)
{
	ret;
}
.visible .entry _Z5clearPf(
	.param .u64 _Z5clearPf_param_0
)
{
	ret;
}
*/
/*NAME __mw_sig<decltype(gain)> =_Z8__mw_sigIfEvv*/
/*NAME __mw_sig<decltype(img)> =_Z8__mw_sigI7textureIfLi2EL19cudaTextureReadMode0EEEvv*/
/*NAME __mw_sig<decltype(scale)> =_Z8__mw_sigIFviPKfPf5PointEEvv*/
/*NAME __mw_shape<Point, sizeof(Point), alignof(Point)> =_Z10__mw_shapeI5PointLm8ELm4EEvv*/
/*NAME __mw_sig<decltype(mix)> =_Z8__mw_sigIFv5MixedEEvv*/
/*NAME __mw_shape<Mixed, sizeof(Mixed), alignof(Mixed)> =_Z10__mw_shapeI5MixedLm12ELm4EEvv*/
]] .. field("Point", "x", 0, 4, "f") .. field("Point", "y", 4, 4, "f") .. field("Mixed", "i", 0, 4, "i")
  .. field("Mixed", "f", 0, 4, "f") .. field("Mixed", "low", 8, 2, "s") .. field("Mixed", "high", 10, 2, "s")
local m = mw.compile(source)
local x = mw.array { 1, 2, 3 }
m.img = mw.texture(mw.zeros { 8, 8 })
]==]

describe("a GPU", function()
  it("is taken by mw.use() before the CPU device, and by its number", function()
    local result = gpu {
      [[print(mw.use().name, mw.use("cuda:1").name, mw.device().name, mw.use("cpu").name)]],
      cuda = "devices=2", environment = { MOONWARP_DEVICE = "" },
    }
    assert.equal("cuda:0\tcuda:1\tcuda:1\tcpu:0\n", result.output)
  end)

  it("has its own facts", function()
    local result = gpu {
      [[local p = mw.properties()
        print(p.name, p.driver, p.major, p.minor, p.multiprocessors, p.shared_per_block_optin, p.max_grid[2],
          p.l2_cache)]],
      cuda = "capability=89",
    }
    assert.equal("Fake GPU 0\tcuda\t8\t9\t4\t232448\t65535\t4194304\n", result.output)
  end)

  it("that does not open leaves the CPU device, and says why by name", function()
    local script = [[print(mw.use().name); print(tostring(select(2, mw.try_use "cuda")))]]
    local result = gpu { script, fail = "cuDevicePrimaryCtxRetain@*=2", environment = { MOONWARP_DEVICE = "" } }
    assert.matches("^cpu:0\n", result.output)
    assert.matches("making a context on cuda:0 failed: out of memory (CUDA_ERROR_OUT_OF_MEMORY)", result.output, 1,
      true)
  end)

  it("of an old generation is refused, with the one that is needed", function()
    local script = [[print(mw.try_use "cuda")]]
    local result = gpu { script, cuda = "capability=37", environment = { MOONWARP_DEVICE = "cpu" } }
    assert.matches("compute capability 3.7, and moonwarp needs 5.0", result.output, 1, true)
  end)

  it("is not available without a driver, or with one that lacks a function or is too old", function()
    local script = [[print(#mw.array { 1 }, mw.device().name) io.write(mw.doctor())]]
    local none = gpu { script, environment = { MOONWARP_DEVICE = "", MOONWARP_CUDA = "/nowhere/libcuda.so.1" } }
    assert.matches("^1\tcpu:0\n.*was not found under these names: /nowhere/libcuda.so.1", none.output)
    assert.matches("mw.use() takes cpu:0", none.output, 1, true)
    local lacking = gpu { script, fail = "cuLaunchHostFunc@0=1", environment = { MOONWARP_DEVICE = "" } }
    assert.matches("has no function cuLaunchHostFunc .of CUDA 10.0.: install a newer driver", lacking.output)
    local old = gpu { script, cuda = "version=11080", environment = { MOONWARP_DEVICE = "" } }
    assert.matches("supports CUDA 11.8, and 12.0 is needed", old.output, 1, true)
    local broken = gpu { script, fail = "cuInit@1=100", environment = { MOONWARP_DEVICE = "" } }
    assert.matches("found no usable GPU: a failure that was ordered (error 100)", broken.output, 1, true)
    for _, result in ipairs { none, lacking, old, broken } do assert.is_true(result.ok, result.output) end
  end)

  it("is listed by mw.doctor() with the libraries that were found", function()
    local result = gpu { "io.write(mw.doctor())" }
    assert.matches("libfakecuda.so, CUDA 13.0", result.output, 1, true)
    assert.matches("NVRTC: .*libfakenvrtc.so, CUDA 13.0", result.output)
    assert.matches("cuda:0: Fake GPU 0, compute capability 9.0", result.output, 1, true)
    local without = gpu { "io.write(mw.doctor())", environment = { MOONWARP_NVRTC = "off" } }
    assert.matches("NVRTC: not usable. NVRTC is not loaded: MOONWARP_NVRTC is 'off'\n" ..
      "without NVRTC kernels for GPUs are compiled by [^\n]*/bin/mwcc\n", without.output)
    assert.is_nil(without.output:find("it cannot compile", 1, true))
    local nowhere = { MOONWARP_NVRTC = "off", MOONWARP_HOME = "/nowhere" }
    local neither = gpu { "io.write(mw.doctor())", environment = nowhere }
    assert.matches("it cannot compile: NVRTC is not loaded: MOONWARP_NVRTC is 'off'; without NVRTC no kernel " ..
      "for a GPU can be compiled: the kernel compiler mwcc was not found", neither.output, 1, true)
  end)
end)

describe("a module for a GPU", function()
  it("is described by NVRTC: types, names, fields, references, limits", function()
    local result = gpu { scale .. [[
      print(m.scale)
      print(m.clear)
      print(pcall(m.scale, 1, 300))
      print(pcall(m.scale(1, 3), 1, x, x, { x = 1 }))
      print(pcall(m.mix(1, 1), { i = 1, low = 2, high = 3 }))
      print(pcall(m.mix(1, 1), ("x"):rep(11)))
      print(pcall(m.mix(1, 1), ("x"):rep(12)))
      m.gain = 2.5
      print(m.gain)
    ]], environment = { MOONWARP_HOME = "/nowhere" } }
    assert.matches("kernel scale(int count, const float *from, float *to, Point p)\nkernel clear(float *to)\n",
      result.output, 1, true)
    assert.matches("1 x 1 = 300 threads, and the kernel is compiled for 256 at most", result.output, 1, true)
    assert.matches("parameter 4 'p' of scale lacks the field 'y'", result.output, 1, true)
    -- nobody can name the type of its member s, so nothing says what else it has
    assert.matches("parameter 1 'm' of mix wants Mixed, whose fields are not known: give its 12 bytes as a string",
      result.output, 1, true)
    assert.matches("parameter 1 'm' of mix wants Mixed, which has 12 bytes, got a string of 11", result.output, 1, true)
    assert.matches("\ntrue\n2.5\n$", result.output)
  end)

  it("is described by mwcc if that is available", function()
    local result = gpu { scale .. [[
      print(m.scale)
      print(m.clear)
      print(m:symbol "img".type)
      print(pcall(m.mix(1, 1), { f = 1, s = { hidden = 2 }, low = 3 }))
      print(pcall(m.mix(1, 1), { f = 1, s = { hidden = 2 }, low = 3, high = 4 }))
    ]] }
    assert.matches("kernel scale(int count, const float *from, float *to, Point p)\nkernel clear(float *to)\n" ..
      "texture<float, 2, cudaReadModeElementType>\n", result.output, 1, true)
    assert.matches("parameter 1 'm' of mix lacks the field 'high'", result.output, 1, true)
    assert.matches("\ntrue\n$", result.output)
    local asked = table.concat(result.compiler, "\n")
    assert.is_nil(asked:find("__mw_sig", 1, true)) -- NVRTC need not be asked
  end)

  it("is compiled for the device's architecture, with our headers and the script's options", function()
    local result = gpu [[
      mw.compile { source = "/*PTX */", options = { "-DN=4", "-use_fast_math", "-maxrregcount=32" } }
    ]]
    local said = "\n" .. table.concat(result.compiler, "\n") .. "\n"
    for _, line in ipairs {
      "option -DN=4", "option -use_fast_math", "option --maxrregcount=32", "option --gpu-architecture=sm_90",
      "option -default-device", "option -diag-suppress=1444", "option --pre-include=moonwarp/prelude.h",
      "header moonwarp/prelude.h", "header curand_kernel.h", "header moonwarp/random/xorwow.h",
      "header cooperative_groups.h", "header cuda_fp16.h", "header stdio.h",
    } do
      assert.matches("\n" .. line .. "\n", said, 1, true)
    end
    local newer = gpu { [[mw.compile "/*PTX */"]], nvrtc = "archs=80" }
    assert.matches("option --gpu-architecture=compute_80", table.concat(newer.compiler, "\n"), 1, true)
    local wrong = gpu { [[print(pcall(mw.compile, { source = "", options = { "-fno-such" } }))]] }
    assert.matches("unknown compile option '-fno-such': there are -DNAME", wrong.output, 1, true)
  end)

  it("that does not compile names the script's line and column", function()
    local result = gpu [==[
      local m, err = mw.try_compile [[
        __global__ void k() { zork; }
        /*ERROR*/
/*LOG kernel.cu(1): error: identifier "zork" is undefined
          __global__ void k() { zork; }
                                ^

1 error detected in the compilation of "kernel.cu".
*/]]
      print(err.kind, err.column, err.message)
      print(err.log)
    ]==]
    assert.matches('^compile\t31\tidentifier "zork" is undefined\n', result.output)
    assert.matches(":31: error: identifier", result.output, 1, true)
    assert.is_nil(result.output:find("detected in the compilation", 1, true))
  end)

  it("is saved and loaded, and a damaged file or one for the CPU is refused", function()
    local result = gpu { scale .. [[
      local path = os.tmpname()
      m:save(path)
      local again = mw.load(path)
      print(again.scale)
      local file = io.open(path, "r+b") file:seek("set", 40) file:write "X" file:close()
      print(pcall(mw.load, path))
      local other = io.open(path, "wb") other:write("\127ELF" .. ("\0"):rep(100)) other:close()
      print(pcall(mw.load, path))
      os.remove(path)
    ]] }
    assert.matches("kernel scale(int count, const float *from, float *to, Point p)", result.output, 1, true)
    assert.matches("is damaged: it is not as it was written", result.output, 1, true)
    assert.matches("It may be one for the CPU device", result.output, 1, true)
  end)

  it("may be PTX, whose linkage names give the parameters' types", function()
    local result = gpu [==[
      local path = os.tmpname()
      local file = io.open(path, "w")
      file:write [[
.version 8.0
.target sm_80
.address_size 64
.visible .entry _ZN2ns3addIfLi3EEEvPKT_RKmhPFviE(
	.param .u64 a,
	.param .u64 b,
	.param .u8 c,
	.param .u64 d
)
{ ret; }
]]
      file:close()
      print(mw.load(path)["ns::add<float, 3>"])
      os.remove(path)
    ]==]
    assert.equal("kernel ns::add<float, 3>(const float *, const unsigned long &, unsigned char, void (*)(int))\n",
      result.output)
    assert.equal("cuModuleLoadData .version ", gpu.call(result, "cuModuleLoadData"))
  end)

  it("for another GPU says for which it is", function()
    local script = scale:match "^(.-)local m = " .. "print(mw.try_compile(source))"
    local result = gpu { script, fail = "cuModuleLoadData@*=209" }
    assert.matches("is compiled for sm_90, and cuda:0 is sm_90", result.output, 1, true)
  end)
end)

describe("a launch on a GPU", function()
  it("passes the parameter block as the kernel has it, and binds textures before", function()
    local result = gpu { scale .. [[
      m.scale(2, 3)(3, nil, nil, { x = 1, y = 2 })
      m.scale(2, 3)(3, nil, nil, { x = 1, y = 2 })
    ]] }
    assert.is_true(result.ok, result.output)
    assert.equal("cuLaunchKernel (2,1,1) (3,1,1) shared 0 stream 0 params "
      .. "0300000000000000" .. "0000000000000000" .. "0000000000000000" .. "0000803f00000040",
      gpu.call(result, "cuLaunchKernel"))
    local bound = 0
    for _, line in ipairs(result.calls) do bound = bound + (line == "cuMemcpyHtoDAsync 8" and 1 or 0) end
    assert.equal(1, bound, "what is bound already is not written again")
  end)

  it("opts in to large shared memory, once", function()
    local result = gpu { scale .. [[
      for _ = 1, 2 do m.clear(1, 1, 100000)(x) end
      print(pcall(m.clear, 1, 1, 300000))
    ]] }
    assert.equal(1, gpu.count(result, "cuFuncSetAttribute"))
    assert.equal("cuFuncSetAttribute 8 100000", gpu.call(result, "cuFuncSetAttribute"))
    assert.matches("requests 300000 bytes of shared memory, and a block on cuda:0 has 232448", result.output, 1, true)
  end)

  it("that CUDA refuses gives the arithmetic", function()
    local result = gpu { scale .. "print(pcall(m.clear(1, 1024), x))", fail = "cuLaunchKernel@1=701" }
    assert.matches("clear cannot be launched.*block .1024, 1, 1. = 1024 threads x 32 registers = 32768", result.output)
  end)

  it("that is prepared makes one call of the driver's each time", function()
    local result = gpu { scale .. [[
      local go = m.clear(1, 32):bind(x)
      go()
      collectgarbage()
      for _ = 1, 10 do go() end
    ]] }
    local between, seen = 0, 0
    for _, line in ipairs(result.calls) do
      if line:match "^cuLaunchKernel" then seen = seen + 1
      elseif seen > 0 and seen < 11 and not line:match "^cuCtxSetCurrent" then between = between + 1 end
    end
    assert.equal(11, seen)
    assert.equal(0, between)
  end)

  it("that is repeated is one command, whose arrays are the kernel's until its last run", function()
    local result = gpu { scale .. [[
      local y = mw.zeros(1000)
      local go = m.clear(1, 32):bind(y)
      for _ = 1, 300 do go() end
      y:free()
      print(pcall(go))
      print(mw.memory().count)
      mw.synchronize()
      print(mw.memory().count)
    ]], cuda = "busy=1000000" }
    assert.matches("false\t.*parameter 1 'to' of clear is an array that was freed\n3\n2\n$", result.output)
    assert.is_true(gpu.count(result, "cuEventRecord") >= 1, "a mark every 256 launches")
  end)

  it("that fails after others is reported with them, and with the number of launches of each", function()
    local result = gpu { scale .. [[
      local go = m.clear(1, 3):bind(x)
      for _ = 1, 3 do go() end
      m.clear(1, 3)(x)
      print(pcall(mw.synchronize))
    ]], cuda = "fault=700" }
    assert.matches("kernel clear read or wrote.* it is one of the 4 that were running: "
      .. "clear launched at %S+ %(3 times%), clear launched at %S+ %(with", result.output)
  end)

  it("that fails is named though its module is garbage by then", function()
    local result = gpu { scale .. [[
      m.clear(1, 3)(x)
      m = nil
      collectgarbage() collectgarbage()
      print(pcall(mw.synchronize))
    ]], cuda = "fault=700" }
    assert.matches("false\t.*kernel clear read or wrote memory that no array holds; clear launched at", result.output)
  end)

  it("that fails loses the device, names the kernel and its line, and reset brings it back", function()
    local result = gpu {
      scale .. [[
      m.clear(1, 3)(x) -- here
      local ok, err = pcall(mw.synchronize)
      print(err.code, err.kind, err.kernel, (err.message:gsub("[^ ]*[/\\][^ :]*", "SCRIPT")))
      print(pcall(mw.zeros, 3))
      mw.device():reset()
      print(#mw.zeros(3))
      print(pcall(x.sum, x))
      print(pcall(m.clear(1, 3), x))
      m = mw.compile(source)
      m.clear(1, 3)(mw.zeros(3))
      mw.synchronize()
    ]],
      cuda = "fault=700",
    }
    assert.is_true(result.ok, result.output)
    assert.matches("^cudaErrorIllegalAddress\tkernel\tclear\tkernel clear read or wrote memory that no array holds; "
      .. "clear launched at SCRIPT:%d+%. The device is lost", result.output)
    assert.matches("cuda:0 was lost in an earlier failure: kernel clear", result.output, 1, true)
    assert.matches("\n3\n.*this memory was lost when cuda:0 was reset", result.output)
    assert.equal(1, gpu.count(result, "cuDevicePrimaryCtxReset"))
  end)
end)

describe("textures on a GPU", function()
  it("are the hardware's, with the requested modes", function()
    local result = gpu [[
      local image = mw.cuda_array(nil, { kind = "2d", dtype = "uchar4", width = 16, height = 8 })
      local t = mw.texture(image, { filter = "linear", address = "mirror", normalized = true })
      assert(t.handle > 0)
      local cube = mw.cuda_array(nil, { kind = "cubemap_layered", dtype = "float", width = 4, layers = 2 })
      local mip = mw.cuda_array(nil, { kind = "2d", dtype = "float", width = 16, height = 16, levels = 3 })
    ]]
    assert.is_true(result.ok, result.output)
    assert.equal("cuArray3DCreate 16 x 8 x 0 format 1 channels 4 flags 10", gpu.call(result, "cuArray3DCreate"))
    assert.equal("cuTexObjectCreate kind 0 address 2 2 2 filter 1 flags 34", gpu.call(result, "cuTexObjectCreate"))
    assert.equal("cuMipmappedArrayCreate 16 x 16 x 0 levels 3", gpu.call(result, "cuMipmappedArrayCreate"))
  end)
end)

describe("a module for a GPU", function()
  it("is not read to its end where its beginning and its end are not a module's", function()
    local result = gpu [[
      local path = os.tmpname()
      for _, start in ipairs { "zeros", "MWCUDA2\n" } do
        local file = io.open(path, "w")
        file:write(start ~= "zeros" and start or "")
        file:close()
        os.execute("truncate -s 3G " .. path)
        print((select(2, mw.try_load(path)).message:gsub("^%S+ ", "")))
      end
      os.remove(path)
      for line in io.lines "/proc/self/status" do
        local peak = line:match "^VmHWM:%s*(%d+)"
        if peak then print(tonumber(peak) < 1024 * 1024) end
      end
    ]]
    assert.equal("is not a module for a GPU: neither one that m:save wrote on a GPU, nor a cubin or PTX\n" ..
      "is damaged: it is not as it was written. Compile it again\ntrue\n", result.output)
  end)
end)

describe("a template's arguments that NVRTC refuses", function()
  it("are explained by the template's parameters, as by mwcc", function()
    local result = gpu [[
      mw.warnings(function() end)
      local m = mw.compile [==[
        template <typename T, int W = 8> __global__ void f(T *out) { out[0] = W; }
        /*PTX .version 9.0
.visible .entry k(.param .u64 k_param_0) { ret; }
        */
        /*NO f<1>*/
        /*LOG __nv_name_map(3): error: cannot determine which instance of function template "f" is intended
*/
      ]==]
      local ok, err = pcall(function() return m["f<1>"] end)
      print(ok, err.kind, err.message)
      print(err.file, err.line)
    ]]
    assert.equal("false\tcompile\t'f<1>' cannot be compiled: cannot determine which instance of function template " ..
      "\"f\" is intended; the template takes <typename T, int W = 8>, as in 'f<float,8>'\nnil\tnil\n", result.output)
  end)
end)
