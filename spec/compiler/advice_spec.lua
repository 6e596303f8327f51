-- Advice in compile errors for constructs of CUDA or C++ that kernels do not have, and which parts of a compiler's
-- output are shown.

local mw = require "moonwarp"
local suite = require "support.suite"
local gpu = require "support.fake.gpu"

-- The error for a source, as a script that does not catch it shows it.
local function refused(text)
  local m, err = mw.try_compile { source = text, name = "k.cu" }
  assert.is_nil(m)
  return tostring(err), err
end

-- Messages of clang; those of the fake NVRTC (spec/support/fake) are below.
local function by_clang()
  if suite.on_gpu then return pending "CPU device only: NVRTC has other words" end
  return true
end

describe("host code in a kernel's text", function()
  it("is answered with how to write a launch", function()
    if not by_clang() then return end
    local kernel = "template <class T> __global__ void k(T *x) {}\n"
    for launch, instead in pairs {
      ["k<float><<<n, 32>>>(x)"] = 'm["k<float>"](n, 32)(x)',
      ["k<float><<<dim3(2, 2), 32>>>(&x[1])"] = 'm["k<float>"](grid, block)(arguments)',
      ["f<<<1, 32, 0, 0>>>()"] = "m.f(1, 32, 0, 0)()",
    } do
      local text = refused(kernel .. "__global__ void f();\nvoid run(float *x, int n) { " .. launch .. "; }")
      assert.matches("^k%.cu:3:%d+: error: a launch is host code, which is the script's job here: ", text)
      assert.is_truthy(text:find("here: " .. instead .. "\n", 1, true), text)
    end
  end)

  it("is one error, with a line for each thing to write in Lua", function()
    if not by_clang() then return end
    local text, err = refused [[
#include <cstdio>
__global__ void k(float *x) { x[0] = 1; }
int main() {
  float *x;
  cudaMalloc(&x, 4);
  cudaMemcpy(x, x, 4, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(x);
  k<<<1, 32>>>(x);
  printf("%d\n", 1);
}
]]
    assert.equal(5, err.line)
    assert.equal("cudaMalloc is host code, which is the script's job here: x = mw.zeros(n), mw.empty(n) or " ..
      "mw.array(table) makes an array", err.message)
    assert.matches("\nk%.cu:6:3: note: cudaMemcpy: mw%.array%(table%)", text)
    assert.is_nil(text:find("cudaMemcpyHostToDevice:", 1, true)) -- an enumerator, which device code has as well
    assert.matches("\nk%.cu:7:4: note: a launch: m%.k%(1, 32%)%(x%)\n", text)
    assert.matches("\nk%.cu:9:3: note: printf: leave the function that uses it out", text)
    assert.is_nil(text:find("k.cu:8", 1, true))
    assert.equal(1, select(2, text:gsub("error", "")))
  end)

  it("is answered with the counterparts of CUDA's functions, and where the others are", function()
    if not by_clang() then return end
    for name, instead in pairs {
      cudaMallocManaged = "mw.zeros(n)", cudaFree = "x:free()", cudaMemcpyToSymbol = "m.name = value",
      cudaMemset = "x:fill(value)", cudaStreamCreate = "mw.stream()", cudaEventRecord = "mw.event()",
      cudaBindTexture = "m.name = mw.texture(x)", cudaMallocArray = "mw.cuda_array",
      cudaGraphCreate = 'require "moonwarp.runtime"', cuMemAlloc = 'require "moonwarp.driver"',
    } do
      local text = refused(("void f() { %s(0); }"):format(name))
      assert.is_truthy(text:find(name .. " is host code", 1, true), text)
      assert.is_truthy(text:find(instead, 1, true), text)
    end
  end)

  it("is accepted if it is not called from kernels", function()
    assert.equal("module with k", tostring(mw.compile "__global__ void k() {}\nint main() { return 0; }"))
  end)

  it("may launch kernels, but not from a function that only an attribute makes one of the device's", function()
    if not by_clang() then return end
    local text = refused [[
      __global__ void k(float *x) {}
      void __attribute__((device)) f(float *x) { k<<<1, 2>>>(x); }
      __global__ void g(float *x) { f(x); }
    ]]
    local words = "error: launches from kernels need __global__ or __device__ before the function, and the CPU " ..
      "device; a script launches by m.k(1, 2)(x)"
    assert.is_truthy(text:find(words, 1, true), text)
  end)
end)

describe("C++'s library in a kernel's text", function()
  it("is answered with one message, whatever the compiler reports", function()
    if not by_clang() then return end
    local includes = "#include <vector>\n#include <string>\n#include <iostream>\n#include <algorithm>\n"
    for statement, words in pairs {
      ["std::vector<float> v(3); v[0] = 1"] = "std::vector is a container of the host's: a kernel takes a pointer",
      ["std::string s = \"a\""] = "std::string is a type of the host's",
      ["std::cout << x[0] << std::endl"] =
        'std::cout is a stream of the host\'s: a kernel prints with printf("%f\\n", x)',
      ["std::sort(x, x + 3)"] = "std::sort is a function of the host's C++ library",
    } do
      for _, headers in ipairs { includes, "" } do
        if headers ~= "" or not statement:find "sort" then
          local text, err = refused(headers .. "__global__ void k(float *x) { " .. statement .. "; }")
          assert.is_truthy(text:find("error: " .. words, 1, true), text)
          assert.equal("k.cu", err.file)
          assert.is_true(select(2, err.log:gsub("\n", "")) <= 3, err.log)
        end
      end
    end
  end)

  it("is recognised without its namespace if it is used as a type or a stream", function()
    if not by_clang() then return end
    assert.matches("vector is a container", refused "__global__ void k() { vector<int> v; }")
    assert.matches("cout is a stream", refused "__global__ void k() { cout << 3; }")
    assert.matches("use of undeclared identifier 'map'", refused "__global__ void k(int *x) { x[0] = map; }")
    assert.matches("use of undeclared identifier 'set'", refused "__global__ void k(int *x) { if (set < 3) x[0] = 1; }")
  end)

  it("has headers that may be missing", function()
    if not by_clang() then return end
    assert.is_truthy(refused '#include "blur.h"':find("there is no file 'blur.h': give its text as headers = " ..
      '{["blur.h"] = text}, or its folder as options = {"-Ifolder"}', 1, true))
    assert.is_truthy(refused "#include <thrust/sort.h>":find("<thrust/sort.h> is not here", 1, true))
  end)
end)

describe("the host's own functions and variables", function()
  it("are distinguished from the device's", function()
    if not by_clang() then return end
    assert.matches("f is a function of the host's: kernels can call it where it is declared __device__",
      refused "float f(float x) { return x; }\n__global__ void k(float *x) { x[0] = f(x[1]); }")
    assert.matches("gain is a variable of the host's: .* the script then has it as m%.gain",
      refused "float gain = 3;\n__global__ void k(float *x) { x[0] = gain; }")
  end)
end)

describe("a compiler's output", function()
  it("is shown up to the first error, and the others are counted", function()
    if not by_clang() then return end
    local text, err = refused "__global__ void k(float *x) {\n  x[0] = one;\n  x[1] = two;\n  x[2] = third;\n}"
    assert.equal("k.cu:2:10: error: use of undeclared identifier 'one' (and 2 more errors)\n  x[0] = one;\n" ..
      "         ^", (text:gsub("\n  %(compiled at .*", "")))
    assert.matches("k%.cu:3:10: error: use of undeclared identifier 'two'", err.log)
    assert.matches("k%.cu:4:10: error: use of undeclared identifier 'third'", err.log)
    text = refused "__global__ void k(float *x) {\n  x[2] = three;\n}" -- clang suggests another name
    assert.is_nil(text:find("more error", 1, true))
  end)

  it("is followed by the compiling line if the source is not in the script itself", function()
    local text = refused "__global__ void k() { one; }"
    assert.matches("\n  %(compiled at [^\n]*advice_spec.lua:%d+%)", text)
    local _, err = mw.try_compile [[__global__ void k() { one; }]]
    assert.is_nil(tostring(err):find("compiled at", 1, true))
  end)

  it("keeps notes about the source, and the text of notes about headers", function()
    if not by_clang() then return end
    assert.matches("note: to match this '{'\n__global__ void k%(%) {\n", refused "__global__ void k() {\n")
    local text, err = refused "__global__ void k(float *x) { atomicAdd(x, 1, 2, 3, 4); }"
    assert.matches("\nk%.cu:1:31: note: candidate function .*requires 2 arguments, but 5 were provided", text)
    assert.is_nil(err.log:find("atomics.h", 1, true))
    assert.is_true(select(2, err.log:gsub("\n", "")) <= 8, err.log)
  end)

  it("has the source's line for errors in our headers", function()
    if not by_clang() then return end
    local text, err = refused("#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n" ..
      "__global__ void k() {\n  auto tile = cg::tiled_partition<33>(cg::this_thread_block());\n}")
    assert.equal("k.cu", err.file)
    assert.equal(4, err.line)
    assert.matches("error: [^\n]*a tile has 1, 2, 4, … or 1024 threads[^\n]*\n  auto tile = ", text)
  end)
end)

describe("NVRTC's output", function()
  -- The source does not matter: the fake prints a given text. (The texts are those of NVRTC 12.)
  local function refused_by_nvrtc(log)
    return gpu("print(select(2, mw.try_compile { name = 'k.cu', source = [==[\n/*ERROR*/\n/*LOG " .. log ..
      "\n*/\n]==] }))").output
  end

  it("gets the same advice", function()
    for log, words in pairs {
      ['kernel.cu(3): error: identifier "cudaMalloc" is undefined\n    cudaMalloc(&x, 4);\n    ^\n'] =
        "k.cu:3:3: error: cudaMalloc is host code, which is the script's job here: x = mw.zeros(n)",
      ['kernel.cu(3): error: name followed by "::" must be a class or namespace name\n' ..
        '    std::vector<float> v;\n    ^\n'] = "k.cu:3:3: error: std::vector is a container of the host's",
      ["kernel.cu(3): error: kernel launch from __device__ or __global__ functions requires separate compilation " ..
        "mode\n    k<<<1, 32>>>(x);\n    ^\n"] =
        "error: a launch is host code, which is the script's job here: m.k(1, 32)(x)",
    } do
      local output = refused_by_nvrtc(log)
      assert.is_truthy(output:find(words, 1, true), output)
    end
  end)
end)
