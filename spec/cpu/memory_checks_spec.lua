-- Memory checks: kernels that were compiled with --check-memory end if an access leaves the array that its pointer
-- was derived from, with the array's name and index, and otherwise behave as without checks.
-- CPU device only: gpu_failing_kernels_spec has the checks on GPUs

local mw = require "moonwarp"
local failure = require "support.failure"

local text = [[
struct pair { float *from, *to; int n; };
__constant__ int chosen[4];
__device__ float total[4];

__global__ void write(float *x, int i) { x[i] = 1; }
__global__ void read(const float *x, float *y, int i) { y[0] = x[i]; }
__global__ void bytes(char *x, int i) { *(short *)(x + i) = 1; }
__global__ void vectors(float4 *x, int i) { x[i] = make_float4(1, 2, 3, 4); }
__global__ void atomics(int *x, int i) { atomicAdd(x + i, 1); }
__global__ void variables(int i) { total[i] = chosen[i & 3]; }
__global__ void shared(float *y, int i) {
  __shared__ float tile[8];
  tile[threadIdx.x] = 1;
  __syncthreads();
  tile[i] = 2;
  y[0] = tile[0];
}
__global__ void dynamic(float *y, int i) {
  extern __shared__ float room[];
  room[i] = 2;
  y[0] = room[i];
}
__global__ void local(float *y, int i) {
  float cells[16];
  for (int k = 0; k < 16; k++) cells[k] = y[0] + k;
  cells[i] = 3;
  for (int k = 0; k < 16; k++) y[0] += cells[(k * 7 + i) & 15];
}
__global__ void copies(pair p) {
  if (threadIdx.x < p.n) p.to[threadIdx.x] = p.from[threadIdx.x];
}
__global__ void blocks(float *x, const float *y, int bytes) { memcpy(x, y, bytes); }
__device__ __noinline__ float last(const float *of, int n) { return of[n - 1]; }
__global__ void sums(float *x, int n) {
  float sum = 0;
  for (const float *c = x; c != x + n; c++) sum += *c;
  x[0] = sum + last(x, n);
}
]]

local checked = mw.compile { source = text, options = { "--check-memory" } }
local plain = mw.compile(text)

local function said(launch) return failure(function() launch() mw.synchronize() end).message end
local function fine(launch) assert.has_no_error(function() launch() mw.synchronize() end) end

describe("memory checks", function()
  it("name array, index, size, line and thread", function()
    local x = mw.zeros(10)
    local err = failure(function() checked.write(1, 1)(x, 10) mw.synchronize() end)
    assert.equal("cudaErrorIllegalAddress", err.code)
    assert.equal("write", err.kernel)
    assert.same({ 0, 0, 0 }, err.thread)
    local what = "kernel write wrote to x[10], and x ends with [9]: it has 10 elements of 4 bytes; "
    assert.equal(1, (err.message:find(what, 1, true)))
    local number = 0
    for line in io.lines "spec/cpu/memory_checks_spec.lua" do
      number = number + 1
      if line:find("void write(", 1, true) then break end
    end
    assert.equal(number, err.line)
  end)

  it("allow accesses in the array, including its first and last element", function()
    local x = mw.zeros(10)
    for _, i in ipairs { 0, 9 } do fine(function() checked.write(1, 1)(x, i) end) end
    assert.equal(2, x:sum())
    fine(function() checked.read(1, 1)(x, x, 9) end)
  end)

  it("find accesses that would not fault: to the rest of a page, to another array", function()
    local x, y = mw.zeros(10), mw.zeros(10)
    for _, i in ipairs { 10, 11, 63, -1, -7, 100000 } do
      local at = ("x[%d], and x ends with [9]"):format(i)
      assert.is_truthy(said(function() checked.write(1, 1)(x, i) end):find("wrote to " .. at, 1, true))
      assert.is_truthy(said(function() checked.read(1, 1)(x, y, i) end):find("read " .. at, 1, true))
    end
    assert.equal(0, x:sum() + y:sum())
  end)

  it("count from where the pointer points, up to the end of the array's memory", function()
    local x = mw.zeros { 10, 10 }
    fine(function() checked.write(1, 1)(x[2], 4) end)
    assert.matches("x%[90%], and x ends with %[89%]", said(function() checked.write(1, 1)(x[2], 90) end))
  end)

  it("report bytes if an access is not an element of the array", function()
    fine(function() checked.bytes(1, 1)(mw.zeros(5, "char"), 3) end)
    assert.matches("wrote to bytes 4 to 5 of x, and there it has 5", said(function()
      checked.bytes(1, 1)(mw.zeros(5, "char"), 4)
    end))
    fine(function() checked.blocks(1, 1)(mw.zeros(4), mw.zeros(4), 16) end)
    assert.matches("of y, and there it has 12", said(function() checked.blocks(1, 1)(mw.zeros(4), mw.zeros(3), 16) end))
    assert.matches("of x, and there it has 12", said(function() checked.blocks(1, 1)(mw.zeros(3), mw.zeros(4), 16) end))
  end)

  it("watch vectors and atomics", function()
    fine(function() checked.vectors(1, 1)(mw.zeros(4, "float4"), 3) end)
    said(function() checked.vectors(1, 1)(mw.zeros(4, "float4"), 4) end)
    fine(function() checked.atomics(1, 1)(mw.zeros(4, "int"), 3) end)
    assert.matches("wrote to x%[4%]", said(function() checked.atomics(1, 1)(mw.zeros(4, "int"), 4) end))
  end)

  it("watch variables, shared and local arrays", function()
    fine(function() checked.variables(1, 1)(3) end)
    assert.matches("wrote to total%[4%], and total ends with %[3%]", said(function() checked.variables(1, 1)(4) end))
    local y = mw.zeros(1)
    fine(function() checked.shared(1, 8)(y, 7) end)
    assert.matches("wrote to tile%[8%], and tile ends with %[7%]", said(function() checked.shared(1, 8)(y, 8) end))
    fine(function() checked.dynamic(1, 1, 32)(y, 7) end)
    assert.matches("wrote to room%[8%]", said(function() checked.dynamic(1, 1, 32)(y, 8) end))
    assert.matches(
      "wrote to bytes 0 to 3 of room, and there it has 0, .* here none: write dynamic%(grid, block, bytes%)",
      said(function() checked.dynamic(1, 1)(y, 0) end))
    fine(function() checked["local"](1, 1)(y, 15) end)
    assert.matches("wrote to a local array%[16%]", said(function() checked["local"](1, 1)(y, 16) end))
  end)

  it("follow pointers of structs, through loops and into functions", function()
    local pair = function(n) return { from = mw.ones(8), to = mw.zeros(8), n = n } end
    fine(function() checked.copies(1, 32)(pair(8)) end)
    assert.matches("p.from%[8%], and p.from ends with %[7%]", said(function() checked.copies(1, 32)(pair(9)) end))
    local x = mw.ones(8)
    fine(function() checked.sums(1, 1)(x, 8) end)
    assert.equal(9, x[1])
    assert.matches("read x%[8%]", said(function() checked.sums(1, 1)(x, 9) end))
  end)

  -- With checks by the record of allocations, without them by the pages' protection.
  it("find memory that was freed, and a result of an operator as well, once a kernel had its address", function()
    for _, options in ipairs { { "--check-memory" }, {} } do
      local m = mw.compile { options = options, source = [[
        __device__ int *kept;
        __global__ void keep(int *x) { kept = x; }
        __global__ void use() { kept[1] = 2; }]] }
      local held = {}
      for _, is_result in ipairs { false, true } do
        for _, is_explicit in ipairs { true, false } do
          held.x = is_result and mw.zeros(100, "int") + 1 or mw.zeros(100, "int")
          m.keep(1, 1)(held.x)
          fine(function() m.use(1, 1)() end)
          if is_explicit then held.x:free() end
          held.x = nil
          collectgarbage()
          collectgarbage()
          assert.matches("kernel use wrote", said(function() m.use(1, 1)() end))
        end
      end
    end
  end)

  it("are optional, and kernels run as lanes with and without them", function()
    assert.equal("simd", plain.write.tier)
    assert.equal("simd", checked.write.tier)
    fine(function() plain.write(1, 1)(mw.zeros(10), 10) end)
  end)

  it("are switched on and off for later compilations", function()
    assert.is_false(mw.check_memory())
    assert.is_false(mw.check_memory(true))
    local m = mw.compile "__global__ void f(int *p) { p[1] = 1; }"
    assert.is_true(mw.check_memory(false))
    assert.matches("p%[1%], and p ends with %[0%]", said(function() m.f(1, 1)(mw.zeros(1, "int")) end))
    fine(function() mw.compile("__global__ void f(int *p) { p[1] = 1; }").f(1, 1)(mw.zeros(1, "int")) end)
    assert.matches("wants true or false as on, got the number 1", failure(mw.check_memory, 1).message)
  end)

  it("leave fetches of textures to the texture", function()
    local m = mw.compile { options = { "--check-memory" }, source = [[
      texture<char, 1, cudaReadModeElementType> t;
      __global__ void f(int *out) { out[threadIdx.x] = tex1Dfetch(t, threadIdx.x); }]] }
    local out = mw.zeros(5, "int")
    m.t = mw.texture(mw.array({ 1, 2, 3, 4, 5 }, "char"), {})
    fine(function() m.f(1, 5)(out) end)
    assert.equal(15, out:sum())
  end)
end)

describe("a kernel that calls a function that is not inlined", function()
  it("fails an assertion as any other", function()
    local m = mw.compile [[
      __device__ __noinline__ int same(const int *x, int i) { return x[i]; }
      __global__ void f(int *x, int i) { x[0] = same(x, i); assert(i == 0); }]]
    fine(function() m.f(1, 1)(mw.zeros(4, "int"), 0) end)
    assert.matches("failed the assertion 'i == 0'", said(function() m.f(1, 1)(mw.zeros(4, "int"), 1) end))
  end)
end)
