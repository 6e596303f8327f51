-- The order of blocks: by their numbers if one may wait for another, else the fastest one.
-- Lua 5.4 only: this tests the compiler and the runtime.
-- CPU device only: about the code that mwcc makes, and its workers

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local run = require "support.child"

describe("blocks run in any order", function()
  -- what the table of a module says of its only kernel, which has the body
  local function is_free(body, before)
    local source = ([[%s
      extern "C" __global__ void k(int *x, const int *y, volatile int *v) {
        __shared__ int s[64];
        int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
        %s
      }]]):format(before or "", body)
    local text = mwcc.run(source, "--emit=ir")
    return assert(text:match("@run%.k, ptr [^,]*, ptr [^,]*, i32 %d, i32 (%d)"), text) == "1"
  end

  it("where they have nothing to do with each other", function()
    for _, body in ipairs {
      "x[i] = 2 * y[i];", "for (; t < 64; t++) x[i] += y[t];",
      "s[t] = y[i]; __syncthreads(); x[i] = s[63 - t];", "x[i] = __shfl_down_sync(~0u, y[i], 1);",
      "atomicAdd(&x[y[i]], 1);", "s[t] = atomicAdd(&s[y[t]], 1); x[i] = s[t];",
      "x[i] = y[i] > 2 ? sinf(y[i]) : __popc(y[i]);",
      "volatile int *o = s; o[t] = y[i]; x[i] = o[t ^ 1];",
      "struct four { int a[4]; }; ((four *)x)[i] = ((four *)y)[i];",
    } do
      assert.is_true(is_free(body), body)
    end
    local called = "__device__ __noinline__ int below(int n) { return n < 2 ? n : below(n - 1) + below(n - 2); }"
    assert.is_true(is_free("x[i] = below(y[i]);", called))
  end)

  it("but not if one may wait for another, or observe which ran before it", function()
    for _, body in ipairs {
      "while (v[0] != blockIdx.x) {} v[0] = blockIdx.x + 1;", "v[i] = 1;", "x[i] = atomicAdd(x, 1);",
      "if (atomicCAS(x, 0, 1)) x[1] = 2;", "x[i] = 1; __threadfence(); x[i + 1] = 2;", 'printf("%d", i);',
      "x[i] = *(int *)malloc(4);", "assert(y[i]);", "x[i] = clock();",
    } do
      assert.is_false(is_free(body, "#include <cassert>\n#include <cstdio>"), body)
    end
    local called = "__device__ __noinline__ int next(int *x, int n) { return n ? next(x, n - 1) : atomicAdd(x, 1); }"
    assert.is_false(is_free("x[i] = next(x, i);", called))
    local pointer = called .. "__device__ int (*chosen)(int *, int) = next;"
    assert.is_false(is_free("x[i] = chosen(x, i);", pointer))
  end)

  it("and run once each, however many workers there are and however long they take", function()
    local script = [[
      local mw = require "moonwarp"
      local m = mw.compile [=[
        __global__ void count(int longest, int *counts, int *work) {
          int sum = 0;
          for (int i = 0; i < longest * (blockIdx.x % 7); i++) sum = sum * 5 + i;
          if (threadIdx.x == 0) counts[blockIdx.x]++;
          work[threadIdx.x] = sum;
        }]=]
      local work = mw.zeros(64, "int")
      for _, blocks in ipairs { 1, 2, 3, 7, 19, 20, 21, 63, 1000, 4099, 70001 } do
        local counts = mw.zeros(blocks, "int")
        for round = 1, 6 do m.count(blocks, 64)(round % 3 * 50, counts, work) end
        for block, count in ipairs(counts:totable()) do
          if count ~= 6 then error(("block %d of %d: %d times"):format(block - 1, blocks, count)) end
        end
      end
      local s, counts = mw.stream(), mw.zeros(5000, "int")
      local graph = mw.capture(s, function()
        for round = 1, 4 do m.count(5000, 64, 0, s)(round * 20, counts, work) end
      end)
      local exec = graph:instantiate()
      exec:launch(s)
      exec:launch(s)
      mw.synchronize()
      print(counts:min(), counts:max())
    ]]
    for _, threads in ipairs { "1", "2", "5" } do
      local result = run { script, environment = { MOONWARP_THREADS = threads } }
      assert.equal("8\t8\n", result.output)
    end
  end)

  it("and by their numbers otherwise, so that one can wait for those before it", function()
    local m = mw.compile [[
      __global__ void chain(volatile int *turn, int *sums) {
        int b = blockIdx.x;
        while (*turn != b) {}
        sums[b] = b + (b ? sums[b - 1] : 0);
        __threadfence();
        *turn = b + 1;
      }]]
    for _ = 1, 5 do
      local turn, sums = mw.zeros(1, "int"), mw.zeros(500, "int")
      m.chain(500, 1)(turn, sums)
      assert.equal(499 * 250, sums[500])
    end
  end)
end)
