-- Modules for a GPU on machines without NVRTC: mwcc compiles them to PTX. With a fake driver (support/fake/cuda.c),
-- which accepts any module; spec/gpu/nvptx_spec.lua is about the PTX.

local gpu = require "support.fake.gpu"

local function off(script, spec)
  spec = spec or {}
  spec[1] = script
  spec.environment = spec.environment or {}
  spec.environment.MOONWARP_NVRTC = "off"
  return gpu(spec)
end

local source = [==[
local source = [[
struct Point { float x, y; };
enum Mode { SLOW, FAST };
__constant__ float gain;
texture<uchar4, 2, cudaReadModeNormalizedFloat> img;
namespace ns {
template <typename T, int N> __global__ void fill(T *p) { p[threadIdx.x] = N * gain; }
}
extern "C" __global__ void __launch_bounds__(256) scale(int count, const float *from, float *to, Point p, Mode mode) {
  if (threadIdx.x < count) to[threadIdx.x] = gain * from[threadIdx.x] + p.x + mode;
}
__global__ void look(float4 *to) { to[0] = tex2D(img, 0, 0); }
]]
]==]

describe("a source with a header that NVRTC does not have", function()
  local log = '/*LOG kernel.cu(1): catastrophic error: cannot open source file "%s"\n*/ /*ERROR*/'

  it("is compiled by mwcc", function()
    local result = gpu([[
      local m = mw.compile [==[
        #include <complex>
        ]] .. log:format "complex" .. [[

        __global__ void k(float *p) { std::complex<float> z(1, 2); p[0] = z.imag(); }
      ]==]
      print(m.k)
      m.k(1, 1)(mw.zeros(1))]])
    assert.equal("kernel k(float *p)\n", result.output)
    assert.equal(1, gpu.count(result, "cuLaunchKernel"))
  end)

  it("is refused if mwcc does not have it either", function()
    local result = gpu("print(mw.try_compile [==[\n#include <nowhere.h>\n" .. log:format "nowhere.h" .. "]==])")
    assert.matches("there is no file 'nowhere.h'", result.output, 1, true)
  end)

  it("is refused without mwcc", function()
    local result = gpu {
      "print(mw.try_compile [==[\n#include <nowhere.h>\n" .. log:format "nowhere.h" .. "]==])",
      environment = { MOONWARP_HOME = "/nonexistent" },
    }
    assert.matches("there is no file 'nowhere.h'", result.output, 1, true)
  end)
end)

describe("a module without NVRTC", function()
  it("is PTX by mwcc, and has kernels, types, names and references", function()
    local result = off(source .. [[
      local m = mw.compile(source)
      print(m.scale)
      print(m["fill<float,4>"])
      print(m.look)
      print(m:symbol("img").type)
      print(pcall(m.scale, 1, 300))
      local x = mw.zeros(4)
      print(pcall(m.scale(1, 4), 4, x, x, { x = 1 }, 0))
      print(pcall(m.scale(1, 4), 4, x, "no", { x = 1, y = 2 }, 0))
      m.scale(1, 4)(4, x, x, { x = 1, y = 2 }, 1)
      m.gain = 2.5
      print(m.gain)
      print(pcall(m.look(1, 1), mw.zeros(1, "float4")))
      m.img = mw.texture(mw.cuda_array(("\1\2\3\4"):rep(16), { dtype = "uchar4", width = 4, height = 4 }))
      m.look(1, 1)(mw.zeros(1, "float4"))
    ]])
    assert.is_true(result.ok, result.output)
    assert.matches("kernel scale(int count, const float *from, float *to, Point p, Mode mode)\n" ..
      "kernel ns::fill<float, 4>(float *p)\nkernel look(float4 *to)\n" ..
      "texture<uchar4, 2, cudaReadModeNormalizedFloat>\n", result.output, 1, true)
    assert.matches("1 x 1 = 300 threads, and the kernel is compiled for 256 at most", result.output, 1, true)
    assert.matches("parameter 4 'p' of scale lacks the field 'y'", result.output, 1, true)
    assert.matches("parameter 3 'to' of scale", result.output, 1, true)
    assert.matches("\n2.5\n", result.output, 1, true)
    assert.matches("look reads the texture reference 'img', and nothing is bound to it", result.output, 1, true)
    assert.matches("\ncuModuleLoadData //", "\n" .. table.concat(result.calls, "\n"))
    assert.equal(2, gpu.count(result, "cuLaunchKernel"))
    assert.is_true(gpu.count(result, "cuTexObjectCreate") >= 1)
    assert.same({}, result.compiler)
  end)

  it("is for the device's architecture, with a version of PTX that the driver knows, and takes options", function()
    local script = [==[
      local m = mw.compile { source = "__global__ void k(float *x) { *x = N / *x; }", options = OPTIONS }
      local path = os.tmpname()
      m:save(path)
      local text = io.open(path, "rb"):read "*a"
      print(text:match "%.version ([%d.]+)", text:match "%.target ([%w_]+)", text:match "%.maxnreg (%d+)",
        text:match "(div%.[%w.]+)", text:match "%.loc" )
      os.remove(path)
    ]==]
    local function said(options, cuda)
      local result = off((script:gsub("OPTIONS", options)), { cuda = cuda })
      assert.is_true(result.ok, result.output)
      return result.output
    end
    assert.equal("8.5\tsm_90\tnil\tdiv.rn.f32\tnil\n", said '{ "-DN=3" }')
    assert.equal("8.2\tsm_86\t32\tdiv.approx.ftz.f32\t.loc\n",
      said('{ "-D", "N=3", "-use_fast_math", "-maxrregcount=32", "-lineinfo", "-O3" }', "version=12020 capability=86"))
    assert.equal("8.0\tsm_75\tnil\tdiv.rn.f32\tnil\n", said('{ "-DN=3", "-arch=sm_75" }', "version=12000"))
    assert.equal("8.5\tsm_90\tnil\tdiv.rn.f32\tnil\n", said('{ "-DN=3" }', "capability=120"))
    local wrong = off [[print(pcall(mw.compile, { source = "", options = { "-fno-such" } }))]]
    assert.matches("unknown compile option '-fno-such': there are -DNAME", wrong.output, 1, true)
  end)

  it("that does not compile names the script's line and column", function()
    local result = off [==[
      local m, err = mw.try_compile [[

        __global__ void k(int *x) { *x = zork; }
      ]]
      print(err.kind, err.line, err.column, err.message)
      local again, other = mw.try_compile { source = '#include "own.h"', headers = { ["own.h"] = "zork;" } }
      print(other.file, other.line)
    ]==]
    assert.matches("^compile\t5\t42\tuse of undeclared identifier 'zork'\nown.h\t1\n", result.output)
  end)

  it("is saved with its source, loaded, and kept in the cache", function()
    local result = off(source .. [[
      local m = mw.compile(source)
      local path = os.tmpname()
      m:save(path)
      local again = mw.load(path)
      print(again.scale, again["fill<double,2>"])
      os.remove(path)
    ]])
    assert.equal("kernel scale(int count, const float *from, float *to, Point p, Mode mode)\t" ..
      "kernel ns::fill<double, 2>(double *p)\n", result.output)
    local folder = os.tmpname()
    os.remove(folder)
    local function cached()
      return off([[
        mw.compile "__global__ void k(int *x) { *x = 1; }"
        print(mw.cache.hits, mw.cache.misses)
      ]], { environment = { MOONWARP_CACHE = folder } }).output
    end
    local first, second = cached(), cached()
    os.execute("rm -rf " .. folder)
    assert.equal("0\t1\n1\t0\n", first .. second)
  end)

  it("may be a .ptx file that mwcc wrote", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write "struct P { int a, b; };\n__global__ void k(P p, const double *x) {}\n"
    file:close()
    assert(os.execute(("'%s/bin/mwcc' --target=nvptx --arch=sm_80 %s -o %s.ptx"):format(os.getenv "MOONWARP_HOME", path,
      path)))
    local result = off(("print(mw.load('%s.ptx').k)"):format(path))
    os.remove(path)
    os.remove(path .. ".ptx")
    assert.equal("kernel k(P p, const double *x)\n", result.output)
  end)

  it("that the driver refuses is an error with its compiler's log", function()
    local result = off([[print(mw.try_compile "__global__ void k(int *x) {}")]],
      { fail = "cuModuleLoadData@*=218", cuda = "log=ptxas_says_no" })
    assert.matches("the driver refuses .*Its compiler says: ptxas_says_no", result.output)
  end)

  it("cannot be compiled where there is no mwcc either", function()
    local result = off([[print(mw.try_compile "__global__ void k(int *x) {}")]],
      { environment = { MOONWARP_HOME = "/nowhere" } })
    assert.matches("MOONWARP_NVRTC is 'off'; without NVRTC no kernel for a GPU can be compiled: the kernel compiler " ..
      "mwcc was not found", result.output, 1, true)
  end)
end)
