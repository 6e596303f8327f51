-- Launches from kernels, as the CUDA guide's chapter "CUDA Dynamic Parallelism" describes them: arguments, order in
-- streams, when a grid is finished, errors. Expected values are counted by plain loops.
-- On GPUs with the device runtime library.

local mw = require "moonwarp"
local suite = require "support.suite"

local function run(text, count, grid, block, ...)
  local out = mw.zeros(count, "int")
  mw.compile(text).k(grid, block)(out, ...)
  return out:totable()
end

describe("launches from kernels:", function()
  it("arguments keep their types, order and alignment", function()
    local m = mw.compile [[
      struct pair { char c; double d; };
      __global__ void child(double *out, char a, double b, short c, pair s, const float *f, bool t) {
        out[0] = a, out[1] = b, out[2] = c, out[3] = s.c, out[4] = s.d, out[5] = *f, out[6] = t;
      }
      __global__ void k(double *out, const float *f) {
        pair s = {3, 4.25};
        child<<<1, 1>>>(out, 1, 2.5f, -7, s, f, true);
      }
    ]]
    local out, f = mw.zeros(7, "double"), mw.array({ 0.75 }, "float")
    m.k(1, 1)(out, f)
    assert.same({ 1, 2.5, -7, 3, 4.25, 0.75, 1 }, out:totable())
  end)

  it("grids and blocks of all dimensions, and dynamic shared memory", function()
    local out = run([[
      __global__ void child(int *out) {
        extern __shared__ int tile[];
        int t = threadIdx.z * 6 + threadIdx.y * 3 + threadIdx.x;
        int b = blockIdx.z * 4 + blockIdx.y * 2 + blockIdx.x;
        tile[t] = b * 100 + t;
        __syncthreads();
        out[b * 12 + t] = tile[11 - t];
      }
      __global__ void k(int *out) { child<<<dim3(2, 2, 2), dim3(3, 2, 2), 12 * sizeof(int)>>>(out); }
    ]], 96, 1, 1)
    for b = 0, 7 do
      for t = 0, 11 do assert.equal(b * 100 + 11 - t, out[b * 12 + t + 1]) end
    end
  end)

  it("names of every form: templates, namespaces, macros, bit shifts among the sizes", function()
    assert.same({ 1, 3, 5, 24, 8, 9, 7 }, run([[
      template <typename T, int n> __global__ void fill(T *p, T v) { *p = v + n; }
      template <typename T> __global__ void deduced(T *p, T v) { *p = v; }
      namespace inner { __global__ void set(int *p, int v) { *p = v; } }
      template <typename T> struct holder {
        static __device__ void start(T *p) { fill<T, sizeof(T) * 5><<<1, 1>>>(p, T(4)); }
      };
      #define START(kernel, ...) kernel<<<1, 1>>>(__VA_ARGS__)
      #define FROM_DEVICE static __device__ __forceinline__
      FROM_DEVICE void start(int *p) { inner::set<<<1, 1>>>(p, 7); }
      __global__ void add(int *p) { atomicAdd(p, 1); }
      __global__ void k(int *p, int n) {
        fill<int, 1><<<1, 1>>>(p, 0);
        deduced<<<1, 1>>>(p + 1, n - 13);
        inner::set<<<1, 1>>>(p + 2, 5);
        holder<int>::start(p + 3);
        add<<<n >> 2, (n >> 3)>>>(p + 4);
        START(::inner::set, p + 5, (1, 9));
        start(p + 6);
      }
    ]], 7, 1, 1, 16))
  end)

  it("a comparison of shifts in a string or a comment is not a launch", function()
    assert.same({ 3 }, run([[
      // k<<<1, 1>>>(p)
      __device__ const char text[] = "a<<<b>>>(c)";
      __global__ void k(int *p) { p[0] = text[1] == '<' ? 3 : 4; }
    ]], 1, 1, 1))
  end)

  it("a kernel is finished when its children are, and the stream goes on then", function()
    local m = mw.compile [[
      __global__ void leaf(int *p) { atomicAdd(p, 1); }
      __global__ void middle(int *p) { leaf<<<2, 8>>>(p); }
      __global__ void k(int *p) { middle<<<3, 2>>>(p); }
      __global__ void copy(const int *p, int *q) { *q = *p; }
    ]]
    local p, q, stream = mw.zeros(1, "int"), mw.zeros(1, "int"), mw.stream()
    m.k(4, 5, 0, stream)(p)
    m.copy(1, 1, 0, stream)(p, q)
    stream:synchronize()
    assert.equal(4 * 5 * 3 * 2 * 2 * 8, q[1])
  end)

  it("those of a block run in the order in which its threads launch them", function()
    local out = run([[
      __global__ void append(int *p, int v) { p[1 + p[0]++] = v; }
      __global__ void k(int *p) {
        int *mine = p + blockIdx.x * 16;
        if (threadIdx.x == 0) for (int i = 0; i < 8; i++) append<<<1, 1>>>(mine, i);
        __syncthreads();
        if (threadIdx.x == 31) for (int i = 8; i < 15; i++) append<<<1, 1>>>(mine, i);
      }
    ]], 64, 4, 32)
    for b = 0, 3 do
      for i = 0, 14 do assert.equal(i, out[b * 16 + i + 2]) end
    end
  end)

  it("a child sees what its parent wrote before, and its successor what it wrote, with its own children", function()
    assert.same({ 64, 64, 65 }, run([[
      __global__ void leaf(int *p) { atomicAdd(p, 1); }
      __global__ void both(int *p) { leaf<<<8, 8>>>(p); }
      __global__ void look(int *p) { p[1] = p[0]; p[2] += p[0]; }
      __global__ void k(int *p) {
        p[2] = 1;
        both<<<1, 1>>>(p);
        look<<<1, 1>>>(p);
      }
    ]], 3, 1, 1))
  end)

  it("recursion ten thousand deep, and as a tree", function()
    if suite.on_gpu then return pending "CPU device only: 2048 launches may be pending on a GPU" end
    local m = mw.compile [[
      __global__ void deep(int *p, int n) {
        *p += 1;
        if (n > 1) deep<<<1, 1>>>(p, n - 1);
      }
      __global__ void tree(int *p, int n) {
        atomicAdd(p, 1);
        if (n > 0 && threadIdx.x < 2) tree<<<1, 2>>>(p, n - 1);
      }
    ]]
    local p = mw.zeros(1, "int")
    m.deep(1, 1)(p, 10000)
    assert.equal(10000, p[1])
    p:fill(0)
    m.tree(1, 2)(p, 9)
    assert.equal(2046, p[1])
  end)

  it("more grids at once than wait in a queue", function()
    if suite.on_gpu then return pending "CPU device only: 2048 launches may be pending on a GPU" end
    local m = mw.compile [[
      __global__ void child(int *p) { atomicAdd(p, 1); }
      __global__ void one(int *p, int n) { for (int i = 0; i < n; i++) child<<<1, 1>>>(p); }
      __global__ void many(int *p) { child<<<1, 1, 0, cudaStreamFireAndForget>>>(p); }
    ]]
    local p = mw.zeros(1, "int")
    m.one(1, 1)(p, 20000)
    m.many(100, 100)(p)
    assert.equal(30000, p[1])
  end)

  it("parameter blocks of many kilobytes", function()
    local m = mw.compile [[
      struct large { int v[1000]; };
      __global__ void child(int *p, large s) { p[threadIdx.x] = s.v[threadIdx.x * 100]; }
      __global__ void k(int *p) {
        large s;
        for (int i = 0; i < 1000; i++) s.v[i] = i * 3;
        child<<<1, 10>>>(p, s);
      }
    ]]
    local p = mw.zeros(10, "int")
    m.k(1, 1)(p)
    for i = 0, 9 do assert.equal(i * 300, p[i + 1]) end
  end)

  it("kernels on every tier launch", function()
    if suite.on_gpu then return pending "CPU device only: a GPU has no tiers" end
    local m = mw.compile [[
      __global__ void add(int *p, int v) { atomicAdd(p, v); }
      __global__ void lanes(int *p) { if (threadIdx.x % 3 == 0) add<<<1, 1>>>(p, threadIdx.x); }
      __global__ void waits(int *p) {
        __shared__ int s[64];
        s[threadIdx.x] = threadIdx.x;
        __syncthreads();
        if (s[63 - threadIdx.x] % 3 == 0) add<<<1, 1>>>(p, s[63 - threadIdx.x]);
      }
      __device__ void descend(int *p, int n) {
        if (n == 0) add<<<1, 1>>>(p, threadIdx.x % 3 == 0 ? threadIdx.x : 0);
        else descend(p, n - 1);
      }
      __global__ void recursive(int *p) { descend(p, 5); __syncthreads(); }
    ]]
    for _, name in ipairs { "lanes", "waits", "recursive" } do
      local p = mw.zeros(1, "int")
      m[name](2, 64)(p)
      local sum = 0
      for t = 0, 63, 3 do sum = sum + 2 * t end
      assert.equal(sum, p[1], name)
    end
  end)

  it("in a graph, and with a barrier of the whole grid", function()
    if suite.on_gpu then return pending "CPU device only: a GPU refuses cooperative grids of kernels that launch" end
    local m = mw.compile [[
      #include <cooperative_groups.h>
      __global__ void add(int *p) { atomicAdd(p, 1); }
      __global__ void k(int *p) { add<<<2, 2>>>(p); }
      __global__ void all(int *p) {
        add<<<1, 2>>>(p);
        cooperative_groups::this_grid().sync();
        add<<<1, 1>>>(p);
      }
    ]]
    local p = mw.zeros(1, "int")
    local graph = mw.capture(function(stream)
      m.k(1, 3, 0, stream)(p)
      m.k(1, 1, 0, stream)(p)
    end)
    local ready = graph:instantiate()
    ready:launch()
    ready:launch()
    assert.equal(2 * (12 + 4), p[1])
    p:fill(0)
    m.all:cooperative(3, 4)(p)
    assert.equal(36, p[1])
  end)
end)

describe("errors of launches from kernels:", function()
  it("have names and texts", function()
    local runtime = require "moonwarp.runtime"
    local m = mw.compile [[
      __global__ void k(int error, char *name, char *text) {
        const char *from = cudaGetErrorName((cudaError_t)error);
        while ((*name++ = *from++)) {}
        from = cudaGetErrorString((cudaError_t)error);
        while ((*text++ = *from++)) {}
      }]]
    for _, error in ipairs { 0, 2, 9, 719, 999, 12345 } do
      local name, text = mw.zeros(100, "char"), mw.zeros(100, "char")
      m.k(1, 1)(error, name, text)
      local function word(x) return x:bytes():sub(1, x:bytes():find("\0", 1, true) - 1) end
      assert.equal(runtime.cudaGetErrorName(error), word(name))
      assert.equal(runtime.cudaGetErrorString(error), word(text))
    end
  end)

  it("are kept for each thread until they are read", function()
    assert.same({ 9, 9, 0, 9, 1, 0, 0 }, run([[
      __global__ void child(int *p) { p[6] = 77; }
      __global__ void k(int *p) {
        if (threadIdx.x == 0) {
          child<<<0, 1>>>(p);
          p[0] = cudaPeekAtLastError();
          p[1] = cudaGetLastError();
          p[2] = cudaGetLastError();
          child<<<1, 1025>>>(p);
          p[3] = cudaGetLastError();
          cudaStream_t s;
          p[4] = cudaStreamCreateWithFlags(&s, 12345);
        }
        __syncthreads();
        if (threadIdx.x == 1) p[5] = cudaGetLastError();
      }
    ]], 7, 1, 2))
  end)

  it("handles that are none are refused", function()
    if suite.on_gpu then return pending "CPU device only: a GPU does not look at handles" end
    assert.same({ 400, 400, 400, 400, 400, 0 }, run([[
      __global__ void child(int *p) { p[5] = 1; }
      __global__ void k(int *p) {
        cudaStream_t none = (cudaStream_t)0x123456;
        child<<<1, 1, 0, none>>>(p);
        p[0] = cudaGetLastError();
        p[1] = cudaStreamDestroy(none);
        cudaStream_t s;
        cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
        cudaStreamDestroy(s);
        p[2] = cudaStreamDestroy(s);
        p[3] = cudaEventRecord((cudaEvent_t)s, 0);
        p[4] = cudaEventDestroy((cudaEvent_t)0x7777777);
      }
    ]], 6, 1, 1))
  end)

  it("a failing child is reported by its name and line, and the next launch works", function()
    if suite.on_gpu then return pending "CPU device only: a fault takes the GPU" end
    local m = mw.compile [[
      __global__ void child(int *p, int i) {
        p[i] = 1; // the line
      }
      __global__ void fails(int *p) {
        child<<<1, 1>>>(p, 0);
        child<<<1, 1>>>(p, 1 << 30);
        child<<<1, 1>>>(p, 1);
      }
      __global__ void syncs(int *p) {
        child<<<1, 1>>>(p, 1 << 30);
        cudaDeviceSynchronize();
        p[2] = 1;
      }
      __global__ void works(int *p) { child<<<1, 1>>>(p, 3); }
    ]]
    local p = mw.zeros(4, "int")
    for _, name in ipairs { "fails", "syncs" } do
      m[name](1, 1)(p)
      local good, message = pcall(mw.synchronize)
      assert.is_false(good)
      message = tostring(message)
      assert.matches("kernel child wrote to", message)
      assert.matches("for the launch of " .. name, message)
    end
    m.works(1, 1)(p)
    assert.same({ 1, 0, 0, 1 }, p:totable())
  end)

  it("an endless child is stopped by the time limit", function()
    if suite.on_gpu then return pending "CPU device only: nothing stops it on a GPU" end
    local m = mw.compile [[
      __global__ void child(volatile int *p) { while (!*p) {} }
      __global__ void k(int *p) { child<<<1, 1>>>(p); }
    ]]
    local p, before = mw.zeros(1, "int"), mw.limit "time"
    mw.limit("time", 0.2)
    m.k(1, 1)(p)
    local good, message = pcall(mw.synchronize)
    mw.limit("time", before)
    assert.is_false(good)
    assert.matches("time", tostring(message))
  end)
end)

describe("launches from kernels and compute capabilities:", function()
  local function message(arch, body)
    local text = "__global__ void c(int *p) {}\n__global__ void k(int *p) { " .. body .. " }"
    local module, why = mw.with(mw.device("cpu", { capability = arch }), mw.try_compile, { source = text })
    return module and "compiles" or tostring(why)
  end

  it("came with 3.5; synchronisation with children ended before 9.0", function()
    if suite.on_gpu then return pending "CPU device only: about capabilities of the CPU device" end
    assert.matches("launches from kernels came with compute capability 3.5", message("3.0", "c<<<1, 1>>>(p);"))
    assert.equal("compiles", message("3.5", "c<<<1, 1>>>(p); cudaDeviceSynchronize();"))
    assert.matches("cudaDeviceSynchronize%(%) in kernels ended before compute capability 9.0",
      message("9.0", "c<<<1, 1>>>(p); cudaDeviceSynchronize();"))
  end)
end)

describe("messages about launches from kernels", function()
  it("show them as they are in the source", function()
    if suite.on_gpu then return pending "CPU device only: about mwcc's messages" end
    local _, why = mw.try_compile(table.concat({ "__global__ void child(int *p, int n) {}",
      "__global__ void k(int *p) { child<<<1, 2>>>(p); }" }, "\n"))
    why = tostring(why)
    assert.matches("the arguments of this launch do not suit the kernel", why)
    assert.is_truthy(why:find("{ child<<<1, 2>>>(p); }\n                            ^", 1, true), why)
    assert.is_nil(why:find("__mw_launch", 1, true), why)
  end)
end)
