-- Other analyses of the SIMT compiler: control flow, reasons why a kernel cannot be vectorised, and barrier liveness;
-- by mwcc --dump.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mwcc = require "support.mwcc"
local run = mwcc.run

-- The nodes of --dump=graph, by name: { to = {...}, barrier =, returns =, loop = }.
local function graph(source)
  local output = run(source, "--verify --dump=graph")
  assert(output:find("^kernel "), output)
  local nodes, count = {}, 0
  for name, rest in output:gmatch("\n(n%d+)([^\n]*)") do
    local edges = rest:match("%->([ n%d,]*)") or ""
    local node = { to = {}, barrier = rest:find("after a barrier", 1, true) ~= nil,
      returns = rest:find("returns", 1, true) ~= nil, loop = rest:match("in loop (n%d+)") }
    for to in edges:gmatch("n%d+") do node.to[#node.to + 1] = to end
    nodes[name], count = node, count + 1
  end
  return nodes, output, count
end

local function count_of(nodes, what)
  local count = 0
  for _, node in pairs(nodes) do count = count + (node[what] and 1 or 0) end
  return count
end

describe("the graph", function()
  it("is cut after each barrier, at any place", function()
    local nodes = graph [=[
      __global__ void cut(int n, int *o) { // a barrier in a loop of lanes' own length, that no lane reaches
        int t = threadIdx.x;
        for (int i = 0; i < 2 + t; i++) {
          if (n == 12345) __syncthreads();
          o[t] += i;
        }
        __syncthreads();
        o[t] = o[t + 1];
      }]=]
    assert.same(2, count_of(nodes, "barrier"))
    assert.same(1, count_of(nodes, "returns"))
    for _, node in pairs(nodes) do
      if node.barrier then assert.same(1, #node.to) end
    end
  end)

  it("has one return, and one back edge for each loop, however many the source has", function()
    local nodes, output = graph [=[
      __global__ void ways(int n, const int *a, int *o) {
        int t = threadIdx.x;
        for (int i = 0; i < n; i++) {
          __syncthreads();
          if (a[i] > 3) continue;
          o[t] += i;
          if (a[i + 1] > 5) continue;
          if (a[i + 2] == 7) return;
          o[t] *= i;
        }
        if (n > 7) return;
        o[t] = 0;
      }]=]
    assert.same(1, count_of(nodes, "returns"))
    assert.matches("1 loops\n", output)
    local header = output:match("\n(n%d+)[^\n]*%(header%)")
    local ways = 0
    for name, node in pairs(nodes) do
      for _, to in ipairs(node.to) do
        if to == header and node.loop == header and name ~= nil then ways = ways + 1 end
      end
    end
    assert.same(1, ways)
  end)

  it("nests loops with barriers between and in them", function()
    local nodes, output = graph [=[
      __global__ void nest(int n, int m, int *o) {
        int t = threadIdx.x;
        for (int i = 0; i < n; i++) {
          for (int j = 0; j < m; j++) {
            if (n > 5) __syncthreads();
            o[t + j] += i;
            if (m > 5) __syncthreads();
          }
          __syncthreads();
        }
      }]=]
    assert.same(3, count_of(nodes, "barrier"))
    assert.matches("2 loops\n", output)
    assert.matches("at depth 2", output)
  end)

  it("is reducible even if the source jumps into a loop", function()
    local _, output = graph [=[
      __global__ void jump(int n, const int *a, int *o) {
        int i = 0;
        if (a[n] > 3) goto middle;
        while (i < n) {
          atomicAdd(o, i);
        middle:
          atomicAdd(o + 1, i++);
        }
      }]=]
    assert.is_nil(output:find("irreducible"))
  end)

  it("may have an infinite loop", function()
    local nodes = graph [=[
      __global__ void forever(volatile int *flag) {
        while (true) { if (flag[threadIdx.x]) *flag = 1; __syncthreads(); }
      }]=]
    assert.same(0, count_of(nodes, "returns"))
    assert.same(1, count_of(nodes, "barrier"))
  end)
end)

describe("a kernel that no gang can run", function()
  local function refusal(source) return run(source, "--dump=graph"):match("cannot be vectorised: it has ([^\n]+)") end

  it("calls functions that may wait through a pointer", function()
    assert.matches("may wait for other threads", refusal [=[
      typedef int operation(int);
      __device__ int one(int x) { __syncthreads(); return x + 1; }
      __device__ int two(int x) { return x + 2; }
      __device__ operation *table[] = {one, two};
      __global__ void pick(int *o) { o[threadIdx.x] = table[o[threadIdx.x] & 1](3); }
    ]=])
  end)

  it("waits in a function that cannot be inlined", function()
    assert.matches("may wait for other threads", refusal [=[
      __device__ void down(int *o, int n) { __syncthreads(); if (n > 0) { o[n] = n; down(o, n - 1); down(o, n - 2); } }
      __global__ void deep(int *o, int n) { down(o, n); }
    ]=])
  end)

  it("is not one that calls functions through a pointer that do not wait", function()
    assert.is_nil(refusal [=[
      typedef int operation(int);
      __device__ int one(int x) { return x + 1; }
      __device__ int two(int x) { return x + 2; }
      __device__ void other(int *x) { __syncthreads(); *x = 1; }
      __device__ operation *table[] = {one, two};
      __global__ void pick(int *o) { other(o); o[threadIdx.x] = table[o[threadIdx.x] & 1](3); }
    ]=])
  end)

  it("is not one that calls a recursive function", function()
    assert.is_nil(refusal [=[
      __device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
      __global__ void alone(int *o) { o[threadIdx.x] = fib(o[threadIdx.x]); }
    ]=])
  end)
end)

describe("a barrier", function()
  -- For each barrier, in the order of the code, the names and texts of the values that are saved.
  local function saved(source)
    local list = {}
    for line in run(source, "--verify --dump=live"):gmatch("[^\n]+") do
      if line:match("  saves %d+ ") then list[#list + 1] = {} end
      local value = line:match("    saved +(.+)$")
      if value then table.insert(list[#list], value) end
    end
    return list
  end

  local function has(list, pattern)
    for _, text in ipairs(list) do
      if text:find(pattern) then return true end
    end
    return false
  end

  it("saves values that are live after it, and no others", function()
    local list = saved [=[
      __global__ void keep(const float *a, float *o) {
        __shared__ float s[64];
        int t = threadIdx.x;
        float mine = a[t], gone = a[t + 64];
        s[t] = mine * gone;
        __syncthreads();
        o[t] = s[63 - t] + mine;
      }]=]
    assert.same(1, #list)
    local loads = 0
    for _, text in ipairs(list[1]) do loads = loads + (text:find(" = load ") and 1 or 0) end
    assert.same(1, loads)
    assert.is_false(has(list[1], "fmul"))
  end)

  it("saves loop-carried values", function()
    local list = saved [=[
      __global__ void carry(int n, int *s, int *o) {
        int t = threadIdx.x, sum = 0;
        for (int i = 0; i < n; i++) {
          s[t] = i;
          __syncthreads();
          sum += s[t ^ 1];
          __syncthreads();
        }
        o[t] = sum;
      }]=]
    assert.same(2, #list)
    for _, barrier in ipairs(list) do
      local carried = 0 -- the sum, before or after the addition, and the counter
      for _, text in ipairs(barrier) do carried = carried + ((text:find "= phi " or text:find "= add ") and 1 or 0) end
      assert.same(2, carried)
    end
  end)

  it("saves values that only the start of a loop needs", function()
    local list = saved [=[
      __global__ void start(int n, const int *a, int *o) {
        int v = a[threadIdx.x];
        __syncthreads();
        for (int i = 0; i < n; i++) v = v * 3 + a[i];
        o[threadIdx.x] = v;
      }]=]
    assert.is_true(has(list[1], "= load i32"))
  end)

  it("does not save its own result", function()
    local list = saved [=[
      __global__ void count(int *o) {
        int all = __syncthreads_count(o[threadIdx.x]);
        __syncthreads();
        o[threadIdx.x] = all;
      }]=]
    assert.is_false(has(list[1], "__mw_barrier.popc"))
    assert.is_true(has(list[2], "__mw_barrier.popc"))
  end)
end)

describe("a loop with a barrier", function()
  local function source(wish)
    return ([=[
__global__ void k(float *p) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = p[t];
  %s
  for (int step = 1; step < 256; step *= 2) {
    __syncthreads();
    float other = s[t ^ step];
    __syncthreads();
    s[t] += other;
  }
  p[t] = s[t];
}]=]):format(wish)
  end

  -- The number of barriers in the code.
  local function count_barriers(text, options)
    return mwcc.count(run(text, "--dump=graph " .. (options or "")), "after a barrier")
  end

  it("is not unrolled in code for blocks of any size", function() assert.equal(2, count_barriers(source "")) end)

  it("is unrolled if the source requests it, and for one block size", function()
    assert.equal(16, count_barriers(source "#pragma unroll"))
    assert.equal(16, count_barriers(source "", "--launch=_Z1kPf:256x1x1"))
  end)
end)
