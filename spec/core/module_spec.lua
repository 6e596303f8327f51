-- Modules: compiling, names, instances, headers and options, files.

local mw = require "moonwarp"
local failure = require "support.failure"

local function result(launch, ...)
  local out = mw.full(1, -1, "int")
  launch(out, ...)
  return out[1]
end

describe("a module", function()
  local m = mw.compile [[
    __device__ int counter = 5;
    namespace outer { namespace inner { __global__ void deep(int *out) { *out = 11; } } }
    extern "C" __global__ void plain(int *out) { *out = 12; }
    __global__ void cxx(int *out) { *out = 13 + counter; }
    template <typename T, int W> __global__ void wide(int *out) { *out = sizeof(T) * W; }
    template <typename T> __global__ void one(int *out) { *out = sizeof(T); }
    __global__ void over(int *out) { *out = 1; }
    __global__ void over(int *out, float) { *out = 2; }
    __global__ void save(int *out) { *out = 21; }
  ]]

  it("gives its kernels by their names in the source", function()
    assert.equal(12, result(m.plain(1, 1)))
    assert.equal(18, result(m.cxx(1, 1)))
    assert.equal(11, result(m["outer::inner::deep"](1, 1)))
    assert.equal(13 + 5, result(m:kernel "cxx"(1, 1)))
  end)

  it("gives the same object for the same name", function()
    assert.equal(m.plain, m.plain)
    assert.equal(m.plain, m:kernel "plain")
    assert.equal(m:symbol "counter", m:symbol "counter")
  end)

  it("instantiates templates by name", function()
    assert.equal(16, result(m["wide<float,4>"](1, 1)))
    assert.equal(16, result(m["wide< float , 4 >"](1, 1)))
    assert.equal(24, result(m["wide<double,3>"](1, 1)))
    assert.equal(1, result(m["one<char>"](1, 1)))
    assert.equal(8, result(m["one<unsigned long long>"](1, 1)))
  end)

  it("shares its variables with instances made later", function()
    local module = mw.compile [[
      __device__ int total;
      template <int N> __global__ void add() { total += N; }
    ]]
    module["add<3>"](1, 1)()
    module["add<4>"](1, 1)()
    assert.equal(7, module.total)
  end)

  it("picks an overload by its parameters", function()
    assert.equal(1, result(m["over(int *)"](1, 1)))
    assert.equal(2, result(m["over(int *, float)"](1, 1), 0))
    local err = failure(function() return m.over end)
    assert.matches("ambiguous", err.message)
    assert.matches("over%(int%s?%*, float%)", err.message)
  end)

  it("lists its kernels and variables", function()
    local kernels, symbols = m:names()
    local set = {}
    for _, name in ipairs(kernels) do set[name] = true end
    assert.is_true(set.plain and set.cxx and set["outer::inner::deep"])
    assert.same({ "counter" }, symbols)
    assert.matches("^module with .*plain.*; variables counter$", tostring(m))
  end)

  it("keeps kernels of its methods' names within reach", function()
    assert.equal(21, result(m:kernel "save"(1, 1)))
    assert.equal(m:kernel "save", m:kernel "save")
    assert.matches('a kernel called save is m:kernel%("save"%)', failure(function() m.save(1, 1) end).message)
  end)

  it("lists its names if one is not found", function()
    local err = failure(function() return m.plian end)
    assert.equal("cudaErrorSymbolNotFound", err.code)
    assert.matches("'plian'", err.message)
    assert.matches("plain", err.message)
    assert.matches("counter is a symbol, not a kernel", (failure(m.kernel, m, "counter").message:gsub("'", "")))
    assert.matches("plain is a kernel, not a symbol", (failure(m.symbol, m, "plain").message:gsub("'", "")))
    assert.matches("are names in its source", failure(function() return m[1] end).message)
  end)

  it("gives its own types to arrays, and names a missing one", function()
    local p = mw.compile [[
      struct Particle { float x; int age; };
      __global__ void grow(Particle *p) { p[threadIdx.x].age += 1; }
    ]]
    local err = failure(function() p.grow(1, 1)(mw.ones(4)) end)
    assert.matches('m:dtype "Particle"', err.message, 1, true)
    local particles = mw.zeros(2, p:dtype "Particle")
    p.grow(1, 2)(particles)
    assert.equal(1, particles[2].age)
  end)

  it("says why an instance does not compile, once", function()
    local module = mw.compile [[
      template <typename T> __global__ void f(T *out) { out->no_such_member(); }
    ]]
    local err = failure(function() return module["f<int>"] end)
    assert.equal("compile", err.kind)
    assert.not_matches("more error", err.message, 1, true)
  end)

  it("names a template's parameters if its arguments are missing or wrong", function()
    local module = mw.compile [[
      template <typename T, int W = 8, bool up = true> __global__ void f(T *out) { out[0] = up ? W : -W; }
      namespace deep { template <class T, unsigned N, template <class> class A> __global__ void g(T *out) {} }
      template <int N> __device__ int h() { return N; }
      template <> __global__ void f<int, 3, true>(int *out) {}
    ]]
    assert.equal("this module has no kernel 'f': f is a template, whose arguments <typename T, int W = 8, bool up = " ..
      'true> are named as well, as in m["f<float,8,true>"]; its kernels are f<int, 3, true>',
      failure(function() return module.f end).message)
    assert.matches('arguments <class T, unsigned N, template <class> class A> .* as in m%["g<float,4,A>"%]',
      failure(function() return module.g end).message)
    assert.matches("the source has the word, but not as a __global__ function",
      failure(function() return module.h end).message)
    local err = failure(function() return module["f<1>"] end)
    assert.equal("compile", err.kind)
    assert.matches("'f<1>' cannot be compiled: .*the template takes <typename T, int W = 8, bool up", err.message)
    assert.not_matches("__mw_instance", err.message, 1, true)
  end)

  it("suggests a variable with a similar name", function()
    local module = mw.compile "__constant__ float gain; __global__ void saxpy() {}"
    assert.matches("no kernel 'gian'; did you mean the variable 'gain'?",
      failure(function() module.gian = 3 end).message, 1, true)
    assert.matches("no kernel 'sxapy'; did you mean 'saxpy'?", failure(function() return module.sxapy end).message, 1,
      true)
  end)

  it("can be closed, and any use after that is an error", function()
    local kept
    do
      local module <close> = mw.compile "__global__ void f() {}"
      kept = module
    end
    assert.matches("this module was closed", failure(function() return kept.f end).message)
    getmetatable(kept).__gc(kept)
  end)

  it("lives as long as its kernels", function()
    local kernel = mw.compile("__device__ int v = 3; __global__ void f(int *out) { *out = v; }").f
    collectgarbage()
    collectgarbage()
    assert.equal(3, result(kernel(1, 1)))
    assert.equal(3, kernel.module.v)
  end)
end)

describe("mw.compile", function()
  it("takes options", function()
    local m = mw.compile {
      source = "__global__ void f(int *out) { *out = COUNT * (sizeof(REAL) == 8); }",
      options = { "-DCOUNT=42", "-DREAL=double" },
    }
    assert.equal(42, result(m.f(1, 1)))
  end)

  it("takes nvcc's word for the processor, and compiles for the one at hand", function()
    for _, option in ipairs { "-arch=sm_90", "--gpu-architecture=compute_80" } do
      local m = mw.compile { source = "__global__ void k(int *out) { *out = 3; }", options = { option } }
      assert.equal(3, result(m.k(1, 1)))
    end
  end)

  it("finds folders of -I relative to the working directory", function()
    local folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder))
    local header = assert(io.open(folder .. "/seven.h", "w"))
    header:write("#define SEVEN 7\n")
    header:close()
    local m = mw.compile {
      source = "#include <seven.h>\n__global__ void k(int *out) { *out = SEVEN; }",
      options = { "-I" .. folder },
    }
    assert.equal(7, result(m.k(1, 1)))
    os.execute("rm -r " .. folder)
  end)

  it("takes headers as strings", function()
    local m = mw.compile {
      source = '#include "deep/vec.h"\n__global__ void f(int *out) { *out = twice(21); }',
      headers = {
        ["deep/vec.h"] = '#pragma once\n#include "more.h"\n__device__ int twice(int x) { return TWO * x; }',
        ["more.h"] = "#define TWO 2\n",
      },
    }
    assert.equal(42, result(m.f(1, 1)))
  end)

  it("reads a file, and headers beside it", function()
    local folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir " .. folder))
    local function write(name, text)
      local file = assert(io.open(folder .. "/" .. name, "w"))
      file:write(text)
      file:close()
    end
    write("k.cu", '#include "h.h"\n__global__ void f(int *out) { *out = VALUE; }\n')
    write("h.h", "#define VALUE 17\n")
    local m = mw.compile { file = folder .. "/k.cu" }
    assert.equal(17, result(m.f(1, 1)))
    write("bad.cu", "\n\n__global__ void f() { oops; }\n")
    local none, err = mw.try_compile { file = folder .. "/bad.cu" }
    assert.is_nil(none)
    assert.equal(folder .. "/bad.cu", err.file)
    assert.equal(3, err.line)
    os.execute("rm -r " .. folder)
    local gone
    none, gone = mw.try_compile { file = folder .. "/k.cu" }
    assert.is_nil(none)
    assert.equal("io", gone.kind)
  end)

  it("keeps the compiler's warnings", function()
    local before = mw.warnings(false)
    local m = mw.compile "#warning careful\n__global__ void f() {}"
    mw.warnings(before)
    assert.matches("careful", m:log())
    assert.equal("", mw.compile("__global__ void f() {}"):log())
  end)

  it("refuses unknown options", function()
    assert.matches("wants CUDA C as a string", failure(mw.compile).message)
    assert.matches("wants CUDA C as a string, .- got a number", failure(mw.compile, 5).message)
    assert.matches("takes one argument: write mw.compile { source = ",
      failure(mw.compile, "__global__ void f() {}", { options = {} }).message)
    assert.truthy(mw.compile(("__global__ void N() {}"):gsub("N", "f")).f)
    assert.matches("has no option 'option'; did you mean 'options'%? It has source, file, name, options, headers",
      failure(mw.compile, { source = "", option = {} }).message)
    assert.matches("options is a table, got a string", failure(mw.compile, { source = "", options = "-O2" }).message)
    assert.matches("options%[1%] is not a string", failure(mw.compile, { source = "", options = { 5 } }).message)
    assert.matches("source = … or its path as file = …", failure(mw.compile, {}).message, 1, true)
    assert.matches("headers are a table of texts by name",
      failure(mw.compile, { source = "", headers = { "x" } }).message)
  end)
end)

describe("a saved module", function()
  local path = os.tmpname()
  teardown(function() os.remove(path) end)

  it("is loaded and runs the same", function()
    local m = mw.compile [[
      __constant__ float factor = 2.5f;
      struct Pair { int a, b; };
      __global__ void f(Pair p, float *out) { *out = factor * (p.a + p.b); }
      template <typename T> __global__ void size(int *out) { *out = sizeof(T); }
    ]]
    assert.equal(8, result(m["size<double>"](1, 1)))
    assert.equal(m, m:save(path))
    local loaded = mw.load(path)
    local out = mw.zeros(1)
    loaded.f(1, 1)({ a = 3, b = 4 }, out)
    assert.equal(17.5, out[1])
    assert.equal(2.5, loaded.factor)
    assert.equal("kernel f(Pair p, float *out)", tostring(loaded.f))
    assert.equal(8, result(loaded["size<double>"](1, 1)))
  end)

  it("has variables of its own", function()
    local m = mw.compile "__device__ int v = 1; __global__ void f() { v++; }"
    m.v = 10
    m:save(path)
    local loaded = mw.load(path)
    assert.equal(1, loaded.v)
    loaded.f(1, 1)()
    assert.equal(2, loaded.v)
    assert.equal(10, m.v)
  end)

  it("is refused when it is damaged or missing", function()
    mw.compile("__global__ void f() {}"):save(path)
    local file = assert(io.open(path, "rb"))
    local bytes = file:read("*a")
    file:close()
    local function try(text)
      local out = assert(io.open(path, "wb"))
      out:write(text)
      out:close()
      local none, err = mw.try_load(path)
      assert.is_nil(none)
      assert.equal("cudaErrorInvalidKernelImage", err.code)
    end
    try("")
    try("no module at all")
    try(bytes:sub(1, #bytes // 2))
    local middle = #bytes // 2
    try(bytes:sub(1, middle - 1) .. string.char(bytes:byte(middle) ~ 1) .. bytes:sub(middle + 1))
    local none, err = mw.try_load(path .. ".none")
    assert.is_nil(none)
    assert.equal("cudaErrorFileNotFound", err.code)
    assert.matches("wants a path", failure(function() mw.compile("__global__ void f() {}"):save() end).message)
    assert.matches("wants a path", failure(mw.load).message)
  end)
end)
