-- The stack that a kernel's threads need, as the compiler measures it (src/mwcc/codegen/stack_depth.c).
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: a GPU's compiler has its own count

local mw = require "moonwarp"

-- A chain of `depth` functions with 64 bytes each that ends with one of 4096 bytes. `again`: a call back to its start.
local function bytes_of(depth, again)
  local m = mw.compile {
    source = ([[
      template <int N> __device__ __noinline__ int f(int x, int n) {
        int a[16];
        for (int i = 0; i < 16; i++) a[i] = x * i;
        if (n < 0) return AGAIN;
        return f<N - 1>(a[x & 15] + a[n & 15], n - 1) + a[(x + n) & 15];
      }
      template <> __device__ __noinline__ int f<0>(int x, int n) {
        int a[1024];
        for (int i = 0; i < 1024; i++) a[i] = i * x;
        return a[n & 1023];
      }
      __global__ void k(int *p, int n) { p[threadIdx.x] = f<DEPTH>(p[threadIdx.x], n); }]])
      :gsub("AGAIN", again):gsub("DEPTH", tostring(depth)),
  }
  return m.k.local_bytes
end

describe("the stack of a chain of calls", function()
  local depths = { 10, 64, 80 }

  it("is the sum of all its functions, however many they are", function()
    local first = bytes_of(depths[1], "x")
    assert.is_true(first >= 10 * 64 + 4096, first)
    for _, depth in ipairs(depths) do assert.equal(first + (depth - depths[1]) * 64, bytes_of(depth, "x"), depth) end
  end)

  it("counts each function of a recursion once", function()
    local first = bytes_of(depths[1], "f<DEPTH>(x, n + 1)")
    assert.is_true(first >= 10 * 64 + 4096, first)
    for _, depth in ipairs(depths) do
      assert.equal(first + (depth - depths[1]) * 64, bytes_of(depth, "f<DEPTH>(x, n + 1)"), depth)
    end
  end)
end)
