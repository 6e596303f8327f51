-- The features of each compute capability, and that devices before it refuse them, at their source position.
-- Lua 5.4 only: the compiler alone.
-- CPU device only: about mwcc

local mw = require "moonwarp"

local steps = {
  "1.0", "1.1", "1.2", "1.3", "2.0", "3.0", "3.2", "3.5", "5.2", "5.3", "6.0", "6.1", "7.0", "8.0", "9.0",
}

-- Body of a kernel -> the capability that it needs.
local features = {
  { "1.1", "atomicAdd(p, 1);" },
  { "1.1", "atomicExch(x, 1.0f);" },
  { "1.1", "atomicInc((unsigned *)p, 7);" },
  { "1.2", "atomicAdd(u, 1ull);" },
  { "1.2", "p[0] = __all(p[1]);" },
  { "1.3", "double y = x[0]; x[1] = y * y;" },
  { "2.0", "p[0] = __ballot(p[1]);" },
  { "2.0", "p[0] = __syncthreads_count(p[1]);" },
  { "2.0", "atomicAdd(x, 1.0f);" },
  { "2.0", "__threadfence_system();" },
  { "2.0", "printf(\"%d\", p[0]);" },
  { "2.0", "assert(p[0] > 0);" },
  { "2.0", "p[0] = *(int *)malloc(4);" },
  { "2.0", "int *q = new int[n]; p[0] = q[1]; delete[] q;" },
  { "3.0", "p[0] = __shfl(p[1], 3);" },
  { "3.0", "x[0] = __shfl_down_sync(~0u, x[1], 3);" },
  { "3.0", "p[0] = __any_sync(~0u, p[1]);" },
  { "3.0", "__syncwarp();" },
  { "3.0", "x[0] = tex1Dfetch<float>(u[0], 3);" },
  { "3.2", "p[0] = __funnelshift_l(p[1], p[2], 3);" },
  { "3.5", "p[0] = __ldg(p + 1);" },
  { "3.5", "atomicMin(u, 1ull);" },
  { "6.0", "atomicAdd((double *)u, 1.0);" },
  { "6.0", "atomicAdd_block(p, 1);" },
  { "6.0", "atomicAdd_system(p, 1);" },
  { "6.0", "cooperative_groups::this_grid().sync();" },
  { "3.0", "cooperative_groups::this_thread_block().sync();" },
  { "6.1", "p[0] = __dp4a(p[1], p[2], p[3]);" },
  { "7.0", "p[0] = __match_any_sync(~0u, p[1]);" },
  { "7.0", "__nanosleep(10);" },
  { "8.0", "p[0] = __reduce_add_sync(~0u, p[1]);" },
  { "2.0", "p[0] = fib(p[1]);", "recursion" },
  { "2.0", "int (*g)(int) = p[0] ? one : two; p[1] = g(3);" },
  { "2.0", "surf1Dwrite(p[0], s1, 4);" },
  { "2.0", "x[0] = tex2DLayered(layers, 1, 1, 0);" },
  { "5.3", "h[0] = __hadd(h[1], h[2]);" },
  { "5.3", "h[0] = h[1] * h[2];" },
  { "8.0", "b[0] = __hadd(b[1], b[2]);" },
  { "8.0", "b[0] = b[1] * b[2];" },
  { "9.0", "atomicAdd((float2 *)x, make_float2(1, 2));" },
  { "9.0", "atomicAdd_block((float4 *)x, make_float4(1, 2, 3, 4));" },
}

-- On every device.
local always = {
  "x[0] = __half2float(h[0]); h[1] = __float2half(x[1]);",
  "x[0] = __bfloat162float(b[0]); b[1] = __float2bfloat16(x[1]);",
  "x[0] = tex2D(plane, 1.0f, 2.0f) + tex1Dfetch(line, 3) + tex3D(cube, 1.0f, 2.0f, 3.0f);",
  "__threadfence(); __threadfence_block(); __syncthreads(); p[0] = clock();",
  "x[0] = __fadd_ru(x[1], x[2]) + __sinf(x[3]) + fmaf(x[4], x[5], x[6]) + __fdividef(x[7], 3.0f) + pow(x[8], 2.0f);",
  "p[0] = __popc(p[1]) + __clz(p[2]) + __mul24(p[3], 5) + __umulhi(p[4], 7); p[1] = min(p[2], 3) + abs(p[3]);",
  "memset(p, 0, 16); memcpy(p, x, 16);",
}

-- Declarations, then a line for each kernel.
local lines = {
  "#include <cooperative_groups.h>", "#include <cuda_fp16.h>", "#include <cuda_bf16.h>",
  "texture<float, 2> plane; texture<float, 1> line; texture<float, 3> cube; surface<void, 1> s1;",
  "texture<float, cudaTextureType2DLayered> layers;",
  "__device__ int one(int n) { return n + 1; } __device__ int two(int n) { return n + 2; }",
  "__device__ int twice(int n) { return one(one(n)); }",
}
local fib = "__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }"
local parameters = "int *p, float *x, unsigned long long *u, int n, __half *h, __nv_bfloat16 *b"
local line_of = {}
for i, feature in ipairs(features) do
  if feature[3] then lines[#lines + 1] = fib end
  line_of[i] = #lines + (feature[3] and 0 or 1)
  lines[#lines + 1] = ("__global__ void f%d(%s) { %s }"):format(i, parameters, feature[2])
end
local first_always = #lines + 1
for i, body in ipairs(always) do
  lines[#lines + 1] = ("__global__ void a%d(%s) { %s }"):format(i, parameters, body)
end
local source = table.concat(lines, "\n")

local function number(name) return tonumber(name) end

-- Line -> the errors about it.
local function complaints(log)
  local found = {}
  for line, text in log:gmatch "features%.cu:(%d+):%d+: error: ([^\n]+)" do
    line = tonumber(line)
    found[line] = found[line] and found[line] .. "; " .. text or text
  end
  return found
end

describe("features of a compute capability", function()
  for _, capability in ipairs(steps) do
    it("are accepted for " .. capability .. ", and later ones are refused at their position", function()
      local device = mw.device("cpu", { capability = capability })
      local m, err = mw.with(device, mw.try_compile, { source = source, name = "features.cu" })
      local found = m and {} or complaints(err.log)
      for i, feature in ipairs(features) do
        local since, text = feature[1], found[line_of[i]]
        if number(since) > number(capability) then
          assert.truthy(text, ("%s takes what came with %s: %s"):format(capability, since, feature[2]))
          local end_of_text = ("came with compute capability %s, and this is compiled for %s"):format(since, capability)
          assert.truthy(text:find(end_of_text, 1, true), text)
        else
          assert.is_nil(text)
        end
      end
      for line = first_always, #lines do assert.is_nil(found[line]) end
      assert.equal(capability == "9.0", m ~= nil)
    end)
  end

  it("include atomics on shared memory from 1.2 and 2.0 on, however the address is computed", function()
    local shared = [[
__global__ void f(int *p, int n) {
  __shared__ int s[32], t[32];
  int *q = n > 3 ? s : t + 1;
  for (int i = 0; i < n; i++) q++;
  atomicMax(q, 1);
  p[1] = s[1] + t[1];
}]]
    local wide = [[
__device__ unsigned long long count(unsigned long long *at) { return atomicAdd(at, 1ull); }
__global__ void g(unsigned long long *p) {
  __shared__ unsigned long long s;
  s = 0;
  p[1] = count(&s);
}]]
    local function refused(capability, text)
      local m, err = mw.with(mw.device("cpu", { capability = capability }), mw.try_compile,
        { source = text, name = "features.cu" })
      return m and {} or complaints(err.log)
    end
    local found = refused("1.1", shared)
    assert.equal("atomic functions on shared memory came with compute capability 1.2, and this is compiled for 1.1",
      found[5]:match "^[^:]+")
    assert.same({}, refused("1.2", shared))
    found = refused("1.3", wide)
    assert.matches("of 64 bits on shared memory came with compute capability 2%.0", found[1])
    assert.same({}, refused("2.0", wide))
  end)

  it("include managed variables from 3.0 on", function()
    local managed = "__device__ int a;\n__device__ __managed__ int b;\n__global__ void f(int *p) { p[0] = a + b; }"
    local old, new = mw.device("cpu", { capability = "2.1" }), mw.device("cpu", { capability = "3.0" })
    local m, err = mw.with(old, mw.try_compile, { source = managed, name = "features.cu" })
    assert.is_nil(m)
    assert.equal(2, err.line)
    assert.matches("managed memory came with compute capability 3%.0, and this is compiled for 2%.1", err.message)
    assert.truthy(mw.with(new, mw.try_compile, managed))
  end)
end)
