-- mwcc's linker. Its modules are opened by the dynamic linker, parsed by an independent reader, and compared with those
-- that the system's linker makes from the same objects.
-- Lua 5.4 only: the compiler is tested, and programs of their own
-- CPU device only: about the code that mwcc makes

local mw = require "moonwarp"
local elf = require "support.compile.elf"
local files = require "support.files"
local shell = require "support.shell" "LD_PRELOAD"

local home = os.getenv "MOONWARP_HOME"
local run, must = shell.run, shell.must
local emulated = os.getenv "MOONWARP_TARGET" == "aarch64"
local sources = "spec/support/link"
local folder

setup(function()
  folder = os.tmpname()
  os.remove(folder)
  must("mkdir " .. folder)
end)
teardown(function() os.execute("rm -rf " .. folder) end)

local function at(name) return folder .. "/" .. name end

-- `linker`: with MOONWARP_LD
local function mwcc(arguments, linker)
  return run(("cd %s && MOONWARP_HOME=%s MOONWARP_LD='%s' %s/bin/mwcc %s"):format(folder, home, linker or "", home,
    arguments))
end

local function link(arguments, linker)
  local output, ok = mwcc(arguments, linker)
  assert.is_true(ok, output)
  assert.equal("", output)
end

-- Machines whose programs can be run: this one, and AArch64 if there are a compiler and an emulator for it.
local machines = {
  { name = "this machine", compile = "cc", start = "", linker = "ld" },
  { name = "AArch64", compile = "aarch64-linux-gnu-gcc", start = "qemu-aarch64 -L /usr/aarch64-linux-gnu ",
    linker = "aarch64-linux-gnu-ld" },
}

local function has(command) return (select(2, run("command -v " .. command))) end

local function why_not(machine)
  if emulated then return "programs are this machine's, and code the other one's" end
  for _, command in ipairs { machine.compile, machine.linker, machine.start:match "%S+" } do
    if not has(command) then return "there is no " .. command end
  end
  -- A compiler for another machine may be there without that machine's C library to build programs with.
  local _, headers = run(("echo '#include <dlfcn.h>' | %s -E -"):format(machine.compile))
  if not headers then return machine.compile .. " has no headers of a C library" end
end

local function compile(machine, name, options, output)
  local common = "-fPIC -fno-stack-protector -U_FORTIFY_SOURCE"
  must(("%s %s %s -c %s/%s -o %s"):format(machine.compile, common, options or "-O2", sources, name, at(output)))
end

local function make_host(machine)
  must(("%s -O1 -rdynamic -o %s %s/host.c -ldl"):format(machine.compile, at "host", sources))
end

local function start(machine, arguments)
  return must(("cd %s && %s./host ./%s"):format(folder, machine.start, arguments))
end

for _, machine in ipairs(machines) do
  describe("objects of a C compiler, for " .. machine.name .. ",", function()
    local why

    setup(function()
      why = why_not(machine)
      if why then return end
      make_host(machine)
      compile(machine, "first.c", "-O2 -ffunction-sections -fdata-sections -g", "first.o")
      compile(machine, "second.c", "-O2 -g", "second.o")
      link "first.o second.o -o own.mwo"
      link("first.o second.o -o outside.mwo", machine.linker)
    end)

    it("run: variables, tables of addresses, constructors, weak names, imports", function()
      if why then return pending(why) end
      local output = start(machine, "own.mwo")
      assert.equal(start(machine, "outside.mwo"), output)
      assert.matches("^735\n2\n1\n12497500\n6\n0\n18\n81\n21\n", output)
      assert.matches("\n1832038\n1234\n", output) -- the last is the order of constructors
    end)

    it("can be unwound, and have the permissions that they need", function()
      if why then return pending(why) end
      assert.matches("\nwalk\nrun\nmain\ncode r%-x 1\ntables r%-%- 1\nvariables rw%- 1\n$", start(machine, "own.mwo"))
    end)

    it("are found by each of many names, and by no others", function()
      if why then return pending(why) end
      assert.equal("300 found, 300 absent\n", start(machine, "own.mwo names"))
    end)

    it("import the same symbols and versions as those of the system's linker", function()
      if why then return pending(why) end
      local own, outside = elf.read(files.read(at "own.mwo")), elf.read(files.read(at "outside.mwo"))
      assert.same(outside.needed, own.needed)
      assert.same(outside.imports, own.imports)
      assert.same(outside.exports, own.exports)
      assert.same(outside.functions, own.functions)
      assert.is_true(#own.imports >= 4 and #own.needed == 2)
      assert.matches("@GLIBC", table.concat(own.imports, " "))
    end)

    it("have a sorted table of all their unwind records", function()
      if why then return pending(why) end
      local own, outside = elf.read(files.read(at "own.mwo")), elf.read(files.read(at "outside.mwo"))
      assert.is_true(#own.frames > 300)
      for i = 2, #own.frames do assert.is_true(own.frames[i - 1] < own.frames[i]) end
      table.sort(own.frame_functions)
      assert.same(own.frame_functions, own.frames)
      -- There is one more for stubs; the system's linker has one for each of its kinds of stubs, or none.
      assert.is_true(math.abs(#own.frames - #outside.frames) <= 1)
    end)

    it("run unoptimised, with common variables", function()
      if why then return pending(why) end
      compile(machine, "first.c", "-O0 -fcommon", "first0.o")
      compile(machine, "second.c", "-O0 -fcommon", "second0.o")
      link "first0.o second0.o -o own0.mwo"
      assert.equal(start(machine, "own.mwo"):match "^(.-)code", start(machine, "own0.mwo"):match "^(.-)code")
    end)

    it("share COMDAT groups: inline functions, instances of templates", function()
      if why then return pending(why) end
      local plus = machine.compile:gsub("gcc$", "g++"):gsub("^cc$", "c++")
      if not has(plus) then return pending("there is no " .. plus) end
      local cxx = setmetatable({ compile = plus }, { __index = machine })
      for i = 1, 2 do
        compile(cxx, "inline.cpp", "-O2 -g -fno-gnu-unique -DWHICH=" .. i, ("inline%d.o"):format(i))
      end
      link "inline1.o inline2.o -o inline.mwo"
      link("inline1.o inline2.o -o outline.mwo", machine.linker)
      local output = start(machine, "inline.mwo")
      assert.equal(start(machine, "outline.mwo"), output)
      -- The shared state becomes 41 and 42, in the compiler's order.
      assert.matches("^4[12]05[67]\n12\nwalk\nrun\nmain\n", output)
      assert.same(elf.read(files.read(at "outline.mwo")).functions, elf.read(files.read(at "inline.mwo")).functions)
    end)
  end)
end

-- Functions of libm and libmvec, 128-bit integers, constants, tables, calls that are not inlined, printf, assert.
local kernels = [[
__constant__ float scale[4] = { 1, 2, 3, 4 };
__device__ int counter = 40;
__device__ const char *const names[] = { "left", "right" };
__device__ __noinline__ int deep(int n) { return n > 0 ? deep(n - 1) + n : 0; }
typedef int operation(int, int);
__device__ int add(int a, int b) { return a + b; }
__device__ int subtract(int a, int b) { return a - b; }
__device__ operation *const operations[] = { add, subtract };

__global__ void functions(int n, const float *x, const double *y, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = sinf(x[i]) + powf(x[i], 0.3f) + tgamma(y[i]) + j0(y[i]) + exp(y[i]) + lgamma(y[i]);
}
__global__ void integers(int n, const long long *x, long long *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __int128 wide = (__int128)x[i % n] * 1000000007 * 998244353;
  if (i < n) out[i] = (long long)(wide / (x[i] + 3)) + (long long)(wide % 1000003) + deep(i % 50);
}
__global__ void tables(int n, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  assert(i >= 0);
  if (counter < 0) printf("%s %d\n", names[i & 1], i);
  out[i] = operations[i % 2](i, counter) + (int)scale[i & 3] + names[i % 2][i % 3];
}
]]

describe("a module", function()
  local own, outside

  setup(function()
    files.write(at "kernels.cu", kernels)
    link "kernels.cu -o own.mwo"
    own = elf.read(files.read(at "own.mwo"))
    local linker = emulated and "aarch64-linux-gnu-ld" or "ld"
    if not has(linker) then return end
    link("kernels.cu -o outside.mwo", linker)
    outside = elf.read(files.read(at "outside.mwo"))
  end)

  local function results(path)
    local m = mw.load(path)
    local n, x, y, wide = 200, {}, {}, {}
    for i = 1, n do x[i], y[i], wide[i] = i / 7, i / 50 + 0.1, i * 123456789123 end
    local out, longs, ints = mw.zeros(n, "double"), mw.zeros(n, "longlong"), mw.zeros(n, "int")
    m.functions(2, 128)(n, mw.array(x), mw.array(y, "double"), out)
    m.integers(2, 128)(n, mw.array(wide, "longlong"), longs)
    m.tables(2, 128)(n, ints)
    return { out:totable(), longs:totable(), ints:totable() }
  end

  it("computes the same as one from the system's linker", function()
    if not outside then return pending "there is no ld" end
    assert.same(results(at "outside.mwo"), results(at "own.mwo"))
  end)

  it("exports its table and nothing else, and names the libraries that it needs", function()
    assert.same({ "mw_mwo" }, own.exports)
    assert.is_true(own.is_found "mw_mwo")
    assert.is_false(own.is_found "mw_mw")
    local needed = " " .. table.concat(own.needed, " ") .. " "
    assert.is_truthy(needed:find(" libm.so.6 ", 1, true))
    assert.is_truthy(needed:find(" libgcc_s.so.1 ", 1, true))
    if not outside then return end
    assert.same(outside.exports, own.exports)
    if emulated then return end -- there the other linker needs the C library
    assert.same(outside.needed, own.needed)
    assert.same(outside.imports, own.imports)
  end)

  it("may have constants that start at multiples of more than a page", function()
    files.write(at "aligned.cu", [[
      struct __align__(131072) table { int v[4]; };
      __device__ const table numbers = { { 1, 20, 300, 4000 } }, more = { { 5, 6, 7, 8 } };
      __global__ void k(int *o) { o[threadIdx.x] = numbers.v[threadIdx.x] + more.v[threadIdx.x]; }]])
    link "aligned.cu -o aligned.mwo"
    local o = mw.zeros(4, "int")
    mw.load(at "aligned.mwo").k(1, 4)(o)
    assert.same({ 6, 26, 307, 4008 }, o:totable())
  end)

  it("needs no library if it calls no function of one", function()
    files.write(at "plain.cu", "__global__ void plain(int *p) { p[threadIdx.x] = 1; }")
    link "plain.cu -o plain.mwo"
    assert.same({}, elf.read(files.read(at "plain.mwo")).needed)
    assert.same({}, elf.read(files.read(at "plain.mwo")).imports)
  end)

  it("names libmvec if it calls vector functions", function()
    if emulated or not must("uname -m"):match "x86_64" then return pending "there it is not used" end
    files.write(at "vectors.cu", [[
      __global__ void vectors(int n, float *x) {
        int i = threadIdx.x;
        if (i < n) x[i] = __builtin_sinf(x[i]) + __builtin_expf(x[i]);
      }
    ]])
    link "-use_fast_math vectors.cu --emit=obj -o vectors.o"
    link "vectors.o -o vectors.mwo"
    local object = elf.read(files.read(at "vectors.mwo"))
    assert.is_truthy(table.concat(object.needed, " "):find("libmvec.so.1", 1, true))
    assert.matches("_ZGV%w+_sinf@GLIBC_2%.22", table.concat(object.imports, " "))
    if outside then
      link("vectors.o -o vectored.mwo", "ld")
      assert.same(elf.read(files.read(at "vectored.mwo")).imports, object.imports)
    end
    local x = mw.arange(100)
    mw.load(at "vectors.mwo").vectors(1, 128)(100, x)
    for i = 1, 100 do
      local expected = math.sin(i - 1) + math.exp(i - 1)
      if i < 80 then assert.is_true(math.abs(x[i] - expected) < 1e-5 * math.max(1, expected)) end
    end
  end)

  it("has its functions' names and sizes, for debuggers and profilers", function()
    assert.matches("run%._Z6tablesiPi", table.concat(own.functions, "\n"))
    if outside then assert.same(outside.functions, own.functions) end
  end)

  it("has no writable and executable memory, and a stack that is not executable", function()
    local loads = 0
    for _, segment in ipairs(own.segments) do
      assert.is_false(segment.writable and segment.executable)
      if segment.type == elf.LOAD then loads = loads + 1 end
    end
    assert.equal(3, loads) -- nothing of it stays writable
    assert.equal(1, own.count(elf.STACK))
    assert.equal(1, own.count(elf.RELRO))
    assert.is_true(own.binds_now)
  end)

  -- The permissions of unmapped pages cannot be changed, and a system's pages may be smaller than the file's alignment.
  it("maps all of the pages that are made read-only", function()
    files.write(at "plain.cu", "__global__ void plain(int *p) { p[threadIdx.x] = 1; }")
    for _, target in ipairs { "x86_64-linux-gnu", "aarch64-linux-gnu" } do
      link(("--target=%s plain.cu -o target.mwo"):format(target))
      local object = elf.read(files.read(at "target.mwo"))
      local protected, inside
      for _, segment in ipairs(object.segments) do
        if segment.type == elf.RELRO then protected = segment end
      end
      for _, segment in ipairs(object.segments) do
        if segment.type == elf.LOAD and segment.from <= protected.from and protected.to <= segment.to then
          inside = segment
        end
      end
      assert.is_true(inside.writable)
      assert.equal(0, protected.to % (target:match "^x86" and 4096 or 65536))
    end
  end)

  it("is the same to the last byte when it is made again", function()
    link "kernels.cu -o again.mwo"
    assert.is_true(files.read(at "own.mwo") == files.read(at "again.mwo"))
    link "--emit=obj kernels.cu -o kernels.o"
    link "kernels.o -o again.mwo"
    link "kernels.o"
    assert.is_true(files.read(at "again.mwo") == files.read(at "kernels.mwo"))
    assert.same(results(at "own.mwo"), results(at "again.mwo"))
  end)

  it("can be written to a pipe", function()
    link "kernels.o -o - > piped.mwo"
    assert.is_true(files.read(at "again.mwo") == files.read(at "piped.mwo"))
  end)

  -- Where gdb finds a line's code, without the addresses.
  local function lines_of(path)
    local commands = "-ex 'info line crash.cu:2' -ex 'info functions crash'"
    local output = must(("gdb -nx -batch %s %s </dev/null"):format(commands, path))
    return output:gsub("0x%x+", "at")
  end

  it("has the same lines and functions for gdb as with the system's linker", function()
    if not outside or not has "gdb" then return pending "there is no gdb, or no ld" end
    files.write(at "crash.cu", "__global__ void crash(int *p) {\n  p[threadIdx.x] = 1;\n  __trap();\n}\n")
    link "crash.cu --emit=obj -o crash.o"
    link "crash.o -o crash.mwo"
    link("crash.o -o crashed.mwo", emulated and "aarch64-linux-gnu-ld" or "ld")
    local lines = lines_of(at "crash.mwo")
    assert.matches('Line 2 of "crash.cu" starts at address at <[^>]*crash[^>]*> and ends at', lines)
    assert.matches("run%._Z5crashPi", lines)
    assert.equal(lines_of(at "crashed.mwo"), lines)
  end)
end)

describe("the linker", function()
  local machine = machines[1]

  -- A source of C or assembler, compiled.
  local function object(name, text, options)
    local kind = name:match "%.(%a+)$"
    files.write(at(name), text)
    must(("cd %s && %s -fPIC %s -c %s -o %s"):format(folder, machine.compile, options or "", name,
      (name:gsub("%." .. kind .. "$", ".o"))))
  end

  local function assert_refused(pattern, arguments)
    local output, ok = mwcc(arguments .. " -o refused.mwo")
    assert.is_false(ok)
    assert.matches("^mwcc: [^\n]*" .. pattern .. "[^\n]*\n$", output)
    assert.is_nil(io.open(at "refused.mwo"))
  end

  setup(function() object("good.c", "static int x[] = { 1, 2 }; int *run(void) { return x; }") end)

  it("needs no other program", function()
    local command = "PATH=/nowhere MOONWARP_HOME=%s %s/bin/mwcc %s -o %s"
    local output, ok = run(command:format(home, home, at "good.o", at "alone.mwo"))
    assert.is_true(ok, output)
  end)

  it("is the program that MOONWARP_LD names", function()
    local output, ok = mwcc("good.o -o refused.mwo", "/nowhere/ld")
    assert.is_false(ok)
    assert.matches("the linker '/nowhere/ld' %(MOONWARP_LD%) cannot be run", output)
  end)

  it("reports functions that no library has", function()
    object("needs.c", "int frobnicate(void); int run(void) { return frobnicate(); }")
    assert_refused("the code needs 'frobnicate', which none of the system's libraries has", "needs.o")
  end)

  it("refuses two definitions of one name", function()
    object("twice.c", "int run(void) { return 1; }")
    assert_refused("the object 'twice.o' cannot be linked: it defines 'run', which 'good.o' defines as well",
      "good.o twice.o")
  end)

  it("refuses sections that device code cannot have, and does not suggest another linker", function()
    object("threads.c", "__thread int x = 3; int run(void) { return x; }")
    assert_refused("'threads.o' cannot be linked: the section %.tdata holds variables of host threads", "threads.o")
    assert.is_nil((mwcc "threads.o -o bad.mwo"):find("MOONWARP_LD", 1, true))
  end)

  it("refuses unsupported relocations by their number, and suggests the system's linker", function()
    if emulated then return pending "cc is this machine's" end
    local name = must("uname -m"):match "aarch64" and "R_AARCH64_MOVW_UABS_G0" or "R_X86_64_GOTOFF64"
    object("unknown.s", ("  .text\n  .globl run\nrun:  .quad 0\n  .reloc run, %s, run\n"):format(name))
    assert_refused("'unknown.o' cannot be linked: relocation %d+ in %.text is not supported" ..
      ".*MOONWARP_LD=ld", "unknown.o")
  end)

  it("refuses addresses in code that cannot be relocated", function()
    object("fixed.s", "  .text\n  .globl run\nrun:  .quad run\n")
    assert_refused("relocation [%u%d]+ of 'run' in %.text has to be applied by the dynamic linker, " ..
      "in a section that is not writable", "fixed.o")
    object("narrow.s", "  .data\n  .globl run\nrun:  .long run\n")
    assert_refused("relocation [%u%d]+ of 'run' in %.data is too narrow for an address", "narrow.o")
  end)

  it("refuses files that are not objects", function()
    files.write(at "text.o", "this is no object, but text of more than the sixty-four bytes that a header has")
    assert_refused("'text.o' cannot be linked: it is not an ELF file", "text.o")
    assert_refused("no%-such%.o", "no-such.o")
    assert_refused("give either a source file or objects", "good.o kernels.cu")
    files.write(at "cut.o", files.read(at "good.o"):sub(1, 500))
    assert_refused("'cut.o' cannot be linked: .*outside it", "cut.o")
    link "good.o -o good.mwo"
    files.write(at "shared.o", files.read(at "good.mwo"))
    assert_refused("'shared.o' cannot be linked: it is not a 64%-bit, little%-endian relocatable object", "shared.o")
  end)

  -- With bytes of headers, tables and contents changed, or truncated: the object is linked or refused, without a crash.
  it("links or refuses objects that are damaged", function()
    local random = require "support.random" "link_spec"
    local whole = files.read(at "good.o")
    local numbers = {}
    for i = 1, 60 do
      local bytes = { whole:byte(1, -1) }
      for _ = 1, random(1, 4) do bytes[random(1, #bytes)] = random(0, 255) end
      bytes[5], bytes[6] = 2, 1
      local text = string.char(table.unpack(bytes))
      files.write(at(("bad%d.o"):format(i)), i % 4 == 0 and text:sub(1, random(1, #text)) or text)
      numbers[i] = i
    end
    local loop = "for i in %s; do MOONWARP_HOME=%s %s/bin/mwcc bad$i.o -o bad.mwo 2>/dev/null; echo $i $?; done"
    local output = run(("cd %s; " .. loop):format(folder, table.concat(numbers, " "), home, home))
    local linked, refused = 0, 0
    for i, status in output:gmatch "(%d+) (%d+)\n" do
      if status == "0" then linked = linked + 1 elseif status == "2" then refused = refused + 1 end
      assert.is_true(status == "0" or status == "2", ("object %s: status %s"):format(i, status))
    end
    assert.equal(60, linked + refused, output)
  end)
end)
