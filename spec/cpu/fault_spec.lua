-- Faults of kernels and launches end in an error: the host continues, its memory and other arrays are unchanged, and
-- the next launch works.
-- CPU device only: after a fault the process cannot use a GPU any more

local mw = require "moonwarp"
local child = require "support.child"
local faults = require "support.faults.faults"
local check_works = require "support.faults.works"

local function failure(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok, "no error was raised")
  return err
end

describe("shared memory that a block does not have", function()
  local m = mw.compile [[
    __global__ void dyn(float *x, int i) { extern __shared__ float s[]; s[i] = 1; x[threadIdx.x] = s[i]; }
    __global__ void fixed(float *x, int i) { __shared__ float s[64]; s[i] = 1; x[threadIdx.x] = s[i]; }
  ]]

  local function said(launch, ...)
    launch(mw.zeros(32), ...)
    return failure(mw.synchronize).message
  end

  it("is reported as such, with the byte", function()
    assert.matches("^kernel dyn wrote to byte 400 of the block's shared memory, which has 128; ",
      said(m.dyn(1, 32, 128), 100))
    assert.matches("^kernel fixed wrote to byte 256 of the block's shared memory, which has 256; ",
      said(m.fixed(1, 32), 64))
  end)

  it("is reported with the missing argument of the launch", function()
    local message = said(m.dyn(1, 32), 0)
    assert.matches("^kernel dyn wrote to byte 0 of the block's shared memory, which has 0; extern __shared__ arrays " ..
      "have the bytes that the launch names, here none: write dyn%(grid, block, bytes%); ", message)
    assert.not_matches("extern", said(m.dyn(1, 32, 128), 100))
    assert.not_matches("extern", said(m.fixed(1, 32), 64))
  end)
end)

describe("a kernel that does wrong, in this process:", function()
  for _, case in ipairs(faults.cases) do
    if not case.prints and not case.alone then
      it(case.name, function() faults.check(case) end)
    end
  end

  it("any number of times", function()
    for _ = 1, 10 do
      for i = 1, #faults.cases, 5 do
        local case = faults.cases[i]
        if not (case.limit or case.prints or case.alone) then faults.check(case) end
      end
    end
  end)

  it("guards arrays again after there were too many of them", function()
    do
      local hold = {}
      for i = 1, 20000 do hold[i] = mw.zeros(8) end
      assert.equal(20000, #hold)
    end
    local count = 0
    for _, case in ipairs(faults.cases) do
      if case.name:find "freed" or case.name:find "right behind" then
        faults.check(case)
        count = count + 1
      end
    end
    assert.equal(4, count)
  end)
end)

describe("a kernel that does wrong, in another process:", function()
  -- Several cases a process, because a process costs more than a case.
  local most = 8
  for first = 1, #faults.cases, most do
    local last = math.min(first + most - 1, #faults.cases)
    it(("%s, and up to %s"):format(faults.cases[first].name, faults.cases[last].name), function()
      local result = child([[
        local first, last = ...
        local faults = require "support.faults.faults"
        for i = tonumber(first), tonumber(last) do
          io.stderr:write("now: ", faults.cases[i].name, "\n")
          faults.check(faults.cases[i])
        end
        print "alive"
      ]], first, last)
      assert.is_true(result.ok, ("%s %d: %s"):format(result.how, result.code, result.output))
      assert.matches("alive\n$", result.output)
    end)
  end

  it("is reported at the end if nothing waits, and does not end the script", function()
    local result = child [[
      local mw = require "moonwarp"
      local m = mw.compile "__global__ void wild(int *p) { p[threadIdx.x] = 1; }"
      m.wild(100, 32)(nil)
      print "alive"
    ]]
    assert.equal("exit", result.how, result.output)
    assert.equal(1, result.code)
    assert.matches("^alive\nmoonwarp: kernel wild wrote", result.output)
  end)
end)

describe("failures of several launches", function()
  local m = mw.compile [[
    __global__ void fail(int *p, long long at) { p[at + threadIdx.x] = 1; }
    __global__ void other(int *p, long long at) { p[at + threadIdx.x] = 2; }
  ]]

  it("are reported once, by the first of them", function()
    local a = mw.zeros(100, "int")
    m.other(1, 100)(a, 0)
    m.fail(1, 32)(a, 1 << 40)
    m.other(1, 32)(a, 1 << 40)
    m.other(1, 50)(a, 50)
    assert.equal("fail", failure(mw.synchronize).kernel)
    mw.synchronize()
    assert.equal(200, a:sum())
  end)

  it("do not stop later launches", function()
    local a = mw.zeros(100, "int")
    for i = 0, 99 do
      m.fail(1, 1)(a, 1 << 40)
      m.other(1, 1)(a, i)
    end
    failure(mw.synchronize)
    assert.equal(200, a:sum())
  end)
end)

-- ---- what is refused before anything runs

describe("a launch that requests too much", function()
  local m = mw.compile [[
    __global__ void f(int *p) { p[0] = 1; }
    __global__ void with_static(int *p) { __shared__ int cell[4000]; cell[threadIdx.x] = p[0]; p[1] = cell[0]; }
    __global__ void too_static(int *p) {
      __shared__ int cell[100000];
      int at = p[2];
      cell[threadIdx.x] = p[0];
      p[1] = cell[at];
    }
    __global__ void large_local(int *p, int n) {
      int local[100000];
      for (int i = 0; i < 100000; i++) local[i] = i * n;
      __syncthreads();
      p[0] = local[n];
    }
    __global__ void huge_local(int *p, int n) {
      volatile int local[300000000];
      for (int i = 0; i < 300000000; i++) local[i] = i * n;
      p[0] = local[n];
    }
  ]]

  local function refused(code, message, kernel, grid, block, shared)
    local p = mw.zeros(10, "int")
    local err = failure(function() m[kernel](grid, block, shared)(p) end)
    assert.equal(code, err.code)
    assert.equal(kernel, err.kernel)
    assert.matches(message, err.message)
    mw.synchronize()
    assert.equal(0, p:sum())
    check_works()
  end

  it("of threads is refused", function()
    refused("cudaErrorInvalidConfiguration", "1025", "f", 1, 1025)
    refused("cudaErrorInvalidConfiguration", "1056 threads", "f", 1, { 33, 32 })
    refused("cudaErrorInvalidConfiguration", "z may be 64", "f", 1, { 1, 1, 65 })
    refused("cudaErrorInvalidConfiguration", "1024", "f", 1, 4294967295)
  end)

  it("of blocks is refused", function()
    refused("cudaErrorInvalidConfiguration", "y may be 65535", "f", { 1, 65536 }, 1)
    refused("cudaErrorInvalidConfiguration", "z may be 65535", "f", { 1, 1, 65536 }, 1)
    refused("cudaErrorInvalidConfiguration", "2147483648", "f", 2147483648, 1)
  end)

  it("of shared memory is refused", function()
    local most = mw.properties().shared_per_block_optin
    refused("cudaErrorInvalidConfiguration", "shared memory", "f", 1, 1, most + 1)
    refused("cudaErrorInvalidConfiguration", "16000 bytes that with_static declares", "with_static", 1, 1, most - 15999)
    refused("cudaErrorInvalidConfiguration", "too_static declares 400000 bytes of shared memory", "too_static", 1, 1)
    m.with_static(1, 1, most - 16000)(mw.zeros(10, "int"))
    mw.synchronize()
  end)

  it("of local memory is refused, with the limit to raise", function()
    local before = mw.limit "stack"
    local err = failure(function() m.large_local(1, 32)(mw.zeros(1, "int"), 5) end)
    assert.equal("cudaErrorLaunchOutOfResources", err.code)
    local wanted = err.message:match 'mw.limit%("stack", (%d+)%)'
    assert.is_string(wanted, err.message)
    mw.limit("stack", tonumber(wanted))
    local p = mw.zeros(1, "int")
    m.large_local(2, 40)(p, 5)
    assert.equal(25, p[1])
    mw.limit("stack", before)
    assert.equal("cudaErrorLaunchOutOfResources",
      failure(function() m.huge_local(1, 32)(mw.zeros(1, "int"), 5) end).code)
    check_works()
  end)
end)

describe("an address in a module's code or constants, given as a pointer,", function()
  local m = mw.compile [[
typedef int (*function)(int);
__device__ int twice(int x) { return 2 * x; }
template <int N> __device__ int times(int x) { return N * x; }
__device__ function pointer = twice, another;
__device__ const char *text = "hello";
__constant__ int table[4] = {1, 2, 3, 4};
__device__ const int *in_table = table;
template <int N> __global__ void choose() { another = times<N>; }
__global__ void calls(int *p, function f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int j = 0; j < 4; j++) p[i] = f(p[i]) % 1000;
}
__global__ void reads(int *p, const char *s, const int *t) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  p[i] = 0;
  for (int j = 0; j < 4; j++) p[i] += s[j] + t[j];
}
]]

  -- so often that there is code for blocks of this size, in another object than the pointer's target
  it("is taken by code for one size of blocks", function()
    local p = mw.full(64 * 256, 21, "int")
    for _ = 1, 40 do
      m.calls(64, 256)(p, m.pointer)
    end
    local model = 21
    for _ = 1, 160 do model = 2 * model % 1000 end
    assert.equal(model, p[1])
    assert.equal(model, p[64 * 256])
    for _ = 1, 40 do m.reads(64, 256)(p, m.text, m.in_table) end
    assert.equal(("hell"):byte(1) + ("hell"):byte(2) + ("hell"):byte(3) + ("hell"):byte(4) + 10, p[64 * 256])
  end)

  it("is taken by kernels of another unit of the module", function()
    m["choose<3>"](1, 1)()
    local p = mw.full(32, 1, "int")
    m.calls(1, 32)(p, m.another)
    assert.equal(81, p[32])
  end)

  it("is refused where it is another module's", function()
    local other = mw.compile [[
__global__ void calls(int *p, int (*f)(int)) { *p = f(1); }]]
    local err = failure(function() other.calls(1, 1)(mw.zeros(1, "int"), m.pointer) end)
    assert.equal("cudaErrorInvalidDevicePointer", err.code)
  end)
end)

describe("an address of the host's, given as a pointer,", function()
  local m = mw.compile [[
    struct holder { int n; int *p; struct { float f; const int *q[3]; } inner; };
    __global__ void plain(int *p, int v) { if (p) p[threadIdx.x] = v; }
    __global__ void in_struct(holder h, int v) { if (h.p) h.p[threadIdx.x] = v; }
  ]]
  local value = 5
  local address = debug.upvalueid(function() return value end, 1) -- light userdata, of memory that Lua needs

  local function refused(what, launch)
    local err = failure(launch)
    assert.equal("cudaErrorInvalidDevicePointer", err.code)
    assert.matches(what, err.message)
    mw.synchronize()
    assert.equal(5, value)
    check_works()
  end

  it("is refused", function()
    refused("parameter 1 'p' of plain is the address 0x%x+, which is not the device's",
      function() m.plain(1, 32)(address, 7) end)
    refused("parameter 1 'p' of plain", function() m.plain(1, 32):bind(address, 7)() end)
  end)

  it("is refused within a struct as well", function()
    local none = { f = 1, q = { mw.null, mw.null, mw.null } }
    refused("parameter 1 'h' of in_struct holds the address 0x%x+, which",
      function() m.in_struct(1, 32)({ n = 1, p = address, inner = none }, 7) end)
    none.q[3] = address
    refused("parameter 1 'h' of in_struct holds",
      function() m.in_struct(1, 32)({ n = 1, p = mw.null, inner = none }, 7) end)
    none.q[3] = mw.zeros(1, "int")
    local a = mw.zeros(32, "int")
    m.in_struct(1, 32)({ n = 1, p = a, inner = none }, 7)
    assert.equal(7 * 32, a:sum())
  end)
end)
