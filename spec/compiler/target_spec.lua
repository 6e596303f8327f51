-- Code for a named processor instead of the machine's own.
-- Lua 5.4 only: the compiler is tested, and models calculate in 64-bit integers.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local targets = require "support.targets"
local random = require "support.random" "target_spec"

-- Operations for which targets have different instructions: wide integers, conversions, functions, gathers, bits,
-- shuffles of bytes, divisions, atomics. All are exact, so that results are identical.
local exact = [[
__global__ void exact(int n, const int *in, const unsigned char *bytes, const double *real, long long *out) {
  __shared__ int seen[64];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  if (t < 64) seen[t] = 0;
  __syncthreads();
  int x = i < n ? in[i] : 0;
  atomicAdd(&seen[x & 63], 1);
  __syncthreads();
  if (i >= n) return;
  long long sum = (long long)x * in[(unsigned)x % n] + seen[x & 63];
  sum += __popc(x) + __clz(x) + __ffs(x) + (long long)__umulhi(x, 0x12345678) + __brev(x);
  sum ^= (long long)bytes[i] << (x & 31);
  sum -= x / (bytes[i] % 7 + 1) + x % (bytes[n - 1 - i] % 5 - 6);
  sum += (long long)floor(real[i] * 1000) + (int)sqrtf((float)(x & 0xffff)) + __float2int_rn(x * 0.25f);
  sum += __double2ll_rz(real[i] * 1e12) + (long long)fma(real[i], real[n - 1 - i], 0.5);
  for (int k = x & 15; k > 0; k -= 3) sum = sum * 5 + max(min(k, x), -9) + (bytes[(i + k) % n] > 100 ? 7 : -7);
  out[i] = sum;
}
]]

-- Operations that may differ by rounding: functions, and products with a sum, contracted or not.
local rounded = [[
__global__ void rounded(int n, const float *x, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i], sum = 0;
  for (int k = 1; k < 6; k++) sum += sinf(v * k) / k + expf(-v) * logf(v + k) + rsqrtf(v + k) * powf(v + 1, 0.3f);
  out[i] = sum + (float)(exp((double)v) * cos((double)v));
}
]]

describe("code for a named processor", function()
  local n = 5000
  local numbers, bytes, reals, small = {}, {}, {}, {}
  for i = 1, n do
    numbers[i] = random(-2 ^ 31, 2 ^ 31 - 1)
    bytes[i] = random(0, 255)
    reals[i] = random(-10 ^ 6, 10 ^ 6) / 997
    small[i] = random(0, 10 ^ 6) / 10 ^ 5
  end

  local function run_exact(options)
    local out = mw.zeros(n, "longlong")
    local kernel = mw.compile { source = exact, options = options }.exact
    kernel(mw.cdiv(n, 96), 96)(n, mw.array(numbers, "int"), mw.array(bytes, "uchar"), mw.array(reals, "double"), out)
    return out:totable(), kernel
  end

  local function run_rounded(options)
    local out = mw.zeros(n)
    mw.compile { source = rounded, options = options }.rounded(mw.cdiv(n, 96), 96)(n, mw.array(small), out)
    return out:totable()
  end

  for _, target in ipairs(targets) do
    it("has as many lanes as its registers, " .. target.name, function()
      local _, kernel = run_exact(target.options)
      assert.are.equal("simd", kernel.tier)
      assert.is_truthy(kernel.tier_reason:find("^" .. target.lanes .. " "))
    end)

    it("computes the same as for this machine's, " .. target.name, function()
      assert.are.same(run_exact(), (run_exact(target.options)))
    end)

    it("computes functions as accurately as for this machine's, " .. target.name, function()
      local expected, got = run_rounded(), run_rounded(target.options)
      for i = 1, n do
        local most = 2e-6 * math.max(1, math.abs(expected[i]))
        assert.is_true(math.abs(expected[i] - got[i]) <= most, ("%d: %g, %g"):format(i, expected[i], got[i]))
      end
    end)
  end

  it("is for this machine's if it is called native", function()
    if os.getenv "MOONWARP_TARGET" == "aarch64" then return pending "the emulated processor is not at hand" end
    local _, kernel = run_exact { "--mcpu=native" }
    local _, own = run_exact()
    assert.are.equal(own.tier_reason, kernel.tier_reason)
  end)

  it("refuses an unknown processor, and lists the known ones", function()
    local module, failure = mw.try_compile { source = exact, options = { "--mcpu=pdp11" } }
    assert.is_nil(module)
    assert.is_truthy(failure.message:find("--mcpu=pdp11 is not a processor that clang knows", 1, true))
    assert.is_truthy(tostring(failure):find("x86-64-v3", 1, true) or tostring(failure):find("cortex", 1, true))
  end)

  it("refuses names with invalid characters", function()
    for _, name in ipairs { "", "a;b", "x86 64" } do
      local fine, failure = pcall(mw.compile, { source = exact, options = { "--mcpu=" .. name } })
      assert.is_false(fine)
      assert.is_truthy(tostring(failure):find("wants a processor's name", 1, true))
    end
  end)
end)
