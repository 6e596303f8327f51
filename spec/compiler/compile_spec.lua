-- The compiler as a command: a precompiled header changes the time that a compilation takes and nothing else, also when
-- headers change, files are damaged, processes compete, or there is no folder for it.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about mwcc

local home = assert(os.getenv "MOONWARP_HOME", "MOONWARP_HOME is not set")
local write = require("support.files").write

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

local function shell(command)
  local pipe = assert(io.popen(command))
  local output = pipe:read("*a")
  pipe:close()
  return output
end

local function read(path)
  local file = io.open(path, "rb")
  local bytes = file and file:read("*a")
  if file then file:close() end
  return bytes
end

-- The build's precompiled header is not used: the headers are a copy without one, so that a precompiled header is in
-- the cache folder or does not exist.
local scratch, counter = shell("mktemp -d"):gsub("\n", ""), 0
local headers = scratch .. "/home/share/moonwarp/device"
shell(("mkdir -p %s && cp -rL %s/share/moonwarp/device/. %s"):format(headers, quote(home), headers))

local function fresh(kind)
  counter = counter + 1
  return ("%s/%s%d"):format(scratch, kind, counter)
end

local function command(source, setup)
  local input = setup.input or fresh "kernel" .. ".cu"
  write(input, source)
  local environment = ("MOONWARP_HOME=%s MOONWARP_CACHE=%s"):format(
    quote(setup.home or scratch .. "/home"), quote(setup.cache))
  return ("%s %s/bin/mwcc %s --emit=ir %s -o - 2>&1; echo exit status $?"):format(
    environment, quote(home), setup.options or "", quote(input))
end

-- The compiler's output: the module as text, messages, the exit status.
local function compile(source, setup) return shell(command(source, setup)) end

-- Whether clang used a precompiled header.
local function is_quick(setup)
  local output = compile("__global__ void f(int *out) { *out = 1; }",
    { cache = setup.cache, home = setup.home, options = "--timings " .. (setup.options or "") })
  assert.matches("exit status 0", output)
  return output:find("front pch", 1, true) ~= nil
end

local function kept(cache)
  local list = {}
  for path in shell(("find %s -name 'device-*.pch' 2>/dev/null"):format(quote(cache))):gmatch("[^\n]+") do
    list[#list + 1] = path
  end
  return list
end

teardown(function() shell("rm -rf " .. quote(scratch)) end)

describe("a precompiled header", function()
  it("is part of the build", function()
    assert.is_true(is_quick { cache = "off", home = home })
  end)

  it("is made if there is none, and kept", function()
    local cache = fresh "cache"
    assert.is_true(is_quick { cache = cache })
    assert.equal(1, #kept(cache))
    local first = read(kept(cache)[1])
    assert.is_true(is_quick { cache = cache })
    assert.equal(1, #kept(cache))
    assert.equal(first, read(kept(cache)[1]))
  end)

  it("is for one language standard", function()
    local cache = fresh "cache"
    for i, options in ipairs { "", "-std=c++14", "-use_fast_math", "-std=c++20 -use_fast_math" } do
      assert.is_true(is_quick { cache = cache, options = options })
      assert.equal(i, #kept(cache))
    end
    assert.is_true(is_quick { cache = cache, options = "-O3 -DN=4 -Uunused -I/usr -G" })
    assert.equal(4, #kept(cache))
  end)

  it("changes neither the module nor a message", function()
    local cache = fresh "cache"
    for _, source in ipairs {
      "__global__ void f(float *x, int n) { x[threadIdx.x] = powf(x[0], 2) + rsqrtf(n); __syncthreads(); }",
      "struct S { float3 a; }; __global__ void f(S s, S *t) { *t = s; atomicAdd(&t->a.x, 1.0f); assert(s.a.x > 0); }",
      "#include <cmath>\n#include <cstdint>\n__global__ void f(double *x) { *x = std::fma(*x, 2.0, M_PI); }",
      "__global__ void f(int *x) { int unused = 3; x[0] = 1 / 0; }",
      "__global__ void f(int *x) { *x = sin(x); }",
      "__global__ void f(int *x) { atomicAdd(x, \"a\"); float4 v = make_float4(1, 2); }",
      "#define M_PI 3\n#define N 1\n__global__ void f(float *x) { *x = M_PI * Z; }",
      "__global__ void f() { g();\n",
      "float rsqrtf(int); __device__ int min; struct float4 {};",
    } do
      local input = fresh "kernel" .. ".cu"
      local plain = compile(source, { cache = "off", input = input, options = "-DN=2" })
      local quick = compile(source, { cache = cache, input = input, options = "-DN=2" })
      assert.equal(plain, quick)
    end
    assert.equal(1, #kept(cache))
  end)

  it("is remade when a header changes", function()
    local cache, path = fresh "cache", headers .. "/moonwarp/arithmetic/limits.h"
    local before = read(path)
    local source = "__global__ void f(int *out) { *out = PROBE; }"
    assert.matches("exit status 1", compile(source, { cache = cache }))
    write(path, before .. "\n#define PROBE 424242\n")
    local output = compile(source, { cache = cache })
    assert.matches("exit status 0", output)
    assert.matches("i32 424242", output)
    write(path, before .. "\n#define PROBE 535353\n") -- of the same length
    assert.matches("i32 535353", compile(source, { cache = cache }))
    write(path, before)
    assert.matches("exit status 1", compile(source, { cache = cache }))
    assert.is_true(is_quick { cache = cache })
    assert.equal(1, #kept(cache))
  end)

  it("is remade when it is damaged", function()
    local cache = fresh "cache"
    assert.is_true(is_quick { cache = cache })
    local path = kept(cache)[1]
    local whole = read(path)
    for _, damage in ipairs {
      function(bytes) return bytes:sub(1, math.floor(#bytes / 2)) end,
      function() return "" end,
      function() return "no precompiled header" end,
      function(bytes)
        local at = math.floor(#bytes / 3)
        return bytes:sub(1, at) .. "damage" .. bytes:sub(at + 7)
      end,
    } do
      write(path, damage(whole))
      assert.is_true(is_quick { cache = cache })
      assert.equal(whole, read(path))
    end
  end)

  it("may be made by many processes at once", function()
    local cache = fresh "cache"
    local pipes = {}
    for i = 1, 8 do
      local line = command(("__global__ void f(int *out) { *out = %d; }"):format(1000 + i), { cache = cache })
      pipes[i] = assert(io.popen(line))
    end
    for i = 1, 8 do
      local output = pipes[i]:read("*a")
      pipes[i]:close()
      assert.matches("exit status 0", output)
      assert.matches("i32 " .. 1000 + i, output)
    end
    assert.equal(1, #kept(cache))
    assert.equal(kept(cache)[1] .. "\n", shell(("find %s -type f"):format(quote(cache))))
  end)

  it("is left out if there is no folder for it, or only one that others can write to", function()
    assert.is_false(is_quick { cache = "off" })
    write(scratch .. "/file", "")
    assert.is_false(is_quick { cache = scratch .. "/file/cache" })
    assert.is_false(is_quick { cache = "relative/cache" })
    local open = fresh "cache"
    shell(("mkdir -p %s/moonwarp && chmod 777 %s/moonwarp"):format(open, open))
    local line = command("__global__ void f() {}", { cache = "", options = "--timings" })
    local output = shell(("XDG_CACHE_HOME=%s %s"):format(open, line))
    assert.matches("exit status 0", output)
    assert.not_matches("front pch", output)
    assert.same({}, kept(open))
  end)

  it("is deleted if there are many newer ones", function()
    local cache = fresh "cache"
    shell("mkdir -p " .. cache)
    write(cache .. "/device-of-somebody-else.pch", "")
    for i = 1, 30 do write(("%s/device-%032x.pch"):format(cache, i), "") end
    shell(("touch -d '2020-01-01' %s/device-*"):format(cache))
    assert.is_true(is_quick { cache = cache })
    assert.is_true(#kept(cache) <= 17, #kept(cache))
    assert.is_true(is_quick { cache = cache })
    assert.equal("", read(cache .. "/device-of-somebody-else.pch"))
  end)

  it("does not hide what a template of the source must not call", function()
    local source = "void on_host(); template <class T> __device__ T twice(T x) { %s return 2 * x; }" ..
      "__global__ void f(int *p) { *p = twice(1); }"
    local setup = { cache = "off", home = home }
    assert.matches("exit status 0", compile(source:format "", setup))
    local output = compile(source:format "on_host();", setup)
    assert.matches("on_host is a function of the host", output)
    assert.matches("exit status 1", output)
  end)

  it("is deleted when the compile cache is cleared", function()
    local cache = fresh "cache"
    assert.is_true(is_quick { cache = cache })
    write(cache .. "/device-of-somebody-else.pch", "")
    shell(("MOONWARP_CACHE=%s %s -e 'require(\"moonwarp\").cache.clear()'"):format(cache, arg[-1]))
    assert.equal(cache .. "/device-of-somebody-else.pch\n", shell("find " .. cache .. " -type f"))
  end)
end)

describe("a compilation to standard output", function()
  it("writes nothing into its working folder", function()
    local folder, program = fresh "folder", quote(home .. "/bin/mwcc")
    shell("mkdir " .. quote(folder))
    write(folder .. "/-.d", "mine")
    local line = "cd %s && echo '__global__ void f() {}' | %s --emit=ir -o - - 2>&1"
    local text = shell(line:format(quote(folder), program))
    assert.matches("define", text)
    assert.equal("mine", shell(("cat %s/-.d"):format(quote(folder))))
    assert.equal("-.d\n", shell("ls " .. quote(folder)))
  end)

  it("leaves no files if it fails", function()
    local folder, program = fresh "folder", quote(home .. "/bin/mwcc")
    shell("mkdir " .. quote(folder))
    local line = "echo '__global__ void f() {}' | TMPDIR=%s %s --mcpu=none-such -o - - 2>&1"
    assert.matches("none-such", shell(line:format(quote(folder), program)), 1, true)
    assert.equal("", shell("ls " .. quote(folder)))
  end)
end)

describe("a macro of the command line", function()
  local function with(options, source, cache)
    return compile(source, { options = options, cache = cache or "off" })
  end

  it("applies to the source, but not to CUDA's built-in declarations", function()
    local source = "__global__ void f(T *p) { *p = x + rsqrt(*p) + min(x, 2); }"
    local output = with("-DT=double -Dx=3 -Dname=wrong -Dfloat4", source)
    assert.matches("exit status 0", output)
    assert.matches("exit status 1", with("-DT=double -DT -Dx=3 -UT", source))
  end)

  it("may have parameters, has the default value 1, and may be undefined", function()
    local source = "__global__ void f(int *p) {\n#ifndef C\n*p = A(40, 2) + B;\n#endif\n}"
    assert.matches("i32 43", with("-D'A(x, y)=x + y' -DB -DC=7 -UC", source))
  end)

  it("is named in messages", function()
    local output = with("-DA=1 -DB=2+", "__global__ void f(int *p) { *p = B; }")
    assert.matches("exit status 1", output)
    assert.matches("%.cu:1:35: error: expected expression", output)
    assert.matches("<command line>:2:9: note: previous", with("-DA=1 -DB=2", "#define B 3\n"))
  end)

  it("turns assertions off", function()
    local source = "__global__ void f(int *p) { assert(*p == 77777); }"
    for _, cache in ipairs { "off", fresh "cache" } do
      local test = "icmp %w+ i32 %%%d+, 77777"
      assert.matches(test, with("", source, cache))
      assert.not_matches(test, with("-DNDEBUG", source, cache))
      assert.matches(test, with("-DNDEBUG -UNDEBUG", source, cache))
    end
  end)
end)

describe("code for lanes", function()
  -- LLVM scalarises its saturating conversions.
  it("converts floats to integers without scalarisation", function()
    local source = "__global__ void f(const float *x, int *out) { out[threadIdx.x] = (int)x[threadIdx.x]; }"
    local output = compile(source, { cache = "off", options = "--width=8 --mcpu=x86-64-v3" })
    assert.matches("fptosi <8 x float>", output)
    assert.is_nil(output:find("fptosi.sat", 1, true))
  end)

  it("loads a texture's record once for all gangs of a row", function()
    local source = "__global__ void f(cudaTextureObject_t t, float *out) "
      .. "{ out[threadIdx.x] = tex2D<float>(t, threadIdx.x, 0); }"
    local output = compile(source, { cache = "off" })
    assert.matches("load float, ptr [^\n]*!invariant%.load", output)
  end)
end)
