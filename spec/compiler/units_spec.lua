-- Several sources of one module: in a script, and as files of mwcc.

local mw = require "moonwarp"
local suite = require "support.suite"

local uses = [==[
extern __device__ int factor;
extern __constant__ int offset;
__device__ int triple(int x);
static __device__ int own(int x) { return x + 1; }
__global__ void k(int *p) { p[threadIdx.x] = triple(own(threadIdx.x)) * factor + offset; }
]==]
local defines = [==[
__device__ int factor = 7;
__constant__ int offset = 2;
static __device__ int own(int x) { return 3 * x; }
__device__ int triple(int x) { return own(x); }
template <typename T> __global__ void fill(T *p, T x) { p[threadIdx.x] = x; }
]==]

local function check(m)
  local out = mw.zeros(4, "int")
  m.k(1, 4)(out)
  assert.same({ 23, 44, 65, 86 }, out:totable())
  assert.equal(7, m.factor)
end

describe("several sources of a module", function()
  it("use each other's functions and variables, and have static ones of their own", function()
    local m = mw.compile { source = { uses, defines } }
    check(m)
    m.factor = 1
    local out = mw.zeros(4, "int")
    m.k(1, 4)(out)
    assert.same({ 5, 8, 11, 14 }, out:totable())
  end)

  it("have templates, and inline PTX", function()
    local text = [==[
      __device__ float up(float x);
      __global__ void add(float *p) { asm("add.rp.f32 %0, %1, %2;" : "=f"(p[0]) : "f"(up(1)), "f"(p[1])); }]==]
    local m = mw.compile { source = { defines, text, [==[
      __device__ float up(float x) { float y; asm("add.rp.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(1e-9f)); return y; }
    ]==] } }
    local out = mw.zeros(2)
    m["fill<float>"](1, 2)(out, 1e-9)
    m.add(1, 1)(out)
    assert.equal(1 + 2 ^ -22, out[1])
  end)

  it("are distinguished in messages", function()
    local first, second = [==[
      __device__ int f(int x) { return x; }]==], [==[
      __global__ void k(int *p) {
        p[0] = y;
      }]==]
    local line = debug.getinfo(1, "l").currentline - 2
    local m, e = mw.try_compile { source = { first, second } }
    assert.is_nil(m)
    assert.matches("'y'", e.message)
    assert.equal(line, e.line)
  end)

  it("define a name once", function()
    local m, e = mw.try_compile { source = { defines, defines } }
    assert.is_nil(m)
    assert.matches("is defined in two of the module's sources", e.message)
  end)

  it("are texts", function()
    assert.has_error(function() mw.compile { source = { uses, 3 } } end)
    assert.has_error(function() mw.compile { source = {} } end)
  end)
end)

describe("mwcc", function()
  if suite.on_gpu then return pending "CPU device only: the modules are its own" end
  local program = assert(os.getenv "MOONWARP_HOME") .. "/bin/mwcc"
  local base = os.tmpname()
  os.remove(base)

  local function write(name, text)
    local file = assert(io.open(base .. name, "w"))
    file:write(text)
    file:close()
  end
  local function run(arguments)
    return os.execute(("cd %s && %s %s"):format(base:match "^(.*)/", program,
      (arguments:gsub("@", base))))
  end

  setup(function()
    write("a.cu", uses)
    write("b.cu", defines)
  end)
  teardown(function()
    for _, ending in ipairs { "a.cu", "b.cu", "a.o", "b.o", ".mwo" } do os.remove(base .. ending) end
  end)

  it("makes a module of several files", function()
    run "@a.cu @b.cu -o @.mwo"
    check(mw.load(base .. ".mwo"))
  end)

  it("compiles one after the other with -c, and makes a module of them", function()
    os.remove(base .. ".mwo")
    run "-c @a.cu"
    run "-c @b.cu -o @b.o"
    run "@b.o @a.o -o @.mwo"
    check(mw.load(base .. ".mwo"))
  end)
end)
