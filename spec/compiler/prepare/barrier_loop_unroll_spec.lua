-- Which loops of kernels with barriers are unrolled, by the size of their code
-- (src/mwcc/prepare/barrier_loop_unroll.c).
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

-- Each step exchanges the threads' values, and stores some of them in one of several elements.
local function source(rounds, pragma)
  return ([[
    __global__ void steps(int *a, int *out) {
      __shared__ int row[1024], copy[1024];
      int t = threadIdx.x, p = a[t], q = a[t + 1024];
      #pragma unroll PRAGMA
      for (int k = 0; k < ROUNDS; k++) {
        if (t % 64 == k) row[t] = p;
        if (t % 64 + 1 == k) row[t] = q;
        __syncthreads();
        int c = row[(t + k) % 1024 % blockDim.x], d = row[(t + 2 * k) % 1024 % blockDim.x];
        p = min(p, c + k), q = min(q, d + p);
        if (t % 64 == k) copy[t] = p;
        if (t % 64 + 32 == k) out[t + k] = q;
        __syncthreads();
      }
      a[t] = p + copy[t];
      a[t + 1024] = q;
    }]]):gsub("PRAGMA", tostring(pragma)):gsub("ROUNDS", tostring(rounds))
end

local function lines_of(rounds, pragma, options)
  local text, status = mwcc.try(source(rounds, pragma), "--emit=ir --mcpu=x86-64-v3 " .. (options or ""))
  assert.equal(0, status, text)
  return mwcc.count(text, "\n")
end

describe("a loop with barriers and #pragma unroll", function()
  for _, options in ipairs { "", "--launch=_Z5stepsPiS_:512x1x1" } do
    it("is unrolled if that is little code " .. options, function()
      local few, loop = lines_of(6, 6, options), lines_of(6, 1, options)
      assert.is_true(few > 1.2 * loop, ("%d lines, %d as a loop"):format(few, loop))
    end)

    it("stays a loop if each of many steps would be a region " .. options, function()
      local loop = lines_of(64, 1, options)
      for _, pragma in ipairs { "", 64, 100 } do
        local lines = lines_of(64, pragma, options)
        assert.is_true(lines <= 1.1 * loop, ("%s: %d lines, %d as a loop"):format(pragma, lines, loop))
      end
    end)
  end

  it("stays a loop if it has no barrier itself and is long, in code for blocks of any size", function()
    local function lines(pragma, array)
      local text, status = mwcc.try(([[
        __global__ void k(const int *a, int *out) {
          __shared__ int row[4096], column[4096];
          int t = threadIdx.x, g = t % 32, h = t / 32, p = a[t], q = 0, kept[64];
          for (int i = t; i < 4096; i += blockDim.x) row[i] = a[i], column[i] = a[i + 4096];
          __syncthreads();
          #pragma unroll PRAGMA
          for (int k = 0; k < 64; k++) {
            int c = row[g], d = row[g + 32];
            p = min(p, column[h] + c), q = max(q, column[h + 32] + d), p += q & 3;
            g += 64, h += 64;
            if (ARRAY) kept[k] = p * c;
          }
          if (ARRAY) for (int k = 0; k < 64; k++) q += kept[k] * k;
          out[t] = p + q;
        }]]):gsub("PRAGMA", tostring(pragma)):gsub("ARRAY", tostring(array)), "--emit=ir --mcpu=x86-64-v3")
      assert.equal(0, status, text)
      return mwcc.count(text, "\n")
    end
    local loop = lines(1, false)
    assert.is_true(lines(64, false) <= 1.1 * loop)
    assert.is_true(lines(64, true) > 2 * loop)
  end)

  it("has the same results", function()
    local values = {}
    for i = 1, 2048 do values[i] = i * 7919 % 1009 end
    local expected
    for _, pragma in ipairs { 1, 8, 64 } do
      local m = mw.compile(source(64, pragma))
      local a, out = mw.array(values, "int"), mw.zeros(2048, "int")
      m.steps(1, 512)(a, out)
      local got = { a:totable(), out:totable() }
      expected = expected or got
      assert.same(expected, got, "#pragma unroll " .. pragma)
    end
  end)
end)
