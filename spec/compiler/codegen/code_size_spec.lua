-- The size of kernels' code: it determines the cost of compiling, and is the same on every machine.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local files = require "support.files"
local mwcc = require "support.mwcc"

-- For a fixed processor.
local function count_instructions(source, options)
  local text = mwcc.run(source, "--mcpu=x86-64-v4 --emit=asm " .. (options or ""))
  local count = mwcc.count(text, "\n\t%l%w*[\t\n]")
  assert(count > 10, text)
  return count
end

describe("the code for blocks of one size", function()
  -- 33 % more than when this was written: a change that exceeds it makes the first launches of new block classes slow,
  -- and needs a reason.
  local kernels = {
    { "saxpy", "_Z5saxpyifPKfPf:256x1x1", 180 },
    { "reduce", "_Z6reduceiPKfPf:256x1x1", 1060 },
    { "conv2d", "_Z6conv2diiPKfS0_Pf:16x16x1", 2400 },
    { "kmeans", "_Z6kmeansiPKfS0_Pi:256x1x1", 750 },
    { "fft", "_Z3fftPK6float2S1_PS_:256x1x1", 1370 },
    { "montecarlo", "_Z10montecarloiifPf:256x1x1", 1820 },
    { "cholesky", "_Z8choleskyPKfPf:16x16x1", 720 },
  }
  for _, kernel in ipairs(kernels) do
    local name, launch, most = table.unpack(kernel)
    it(("of %s has at most %d instructions"):format(name, most), function()
      local count = count_instructions(files.benchmark(name), "--launch=" .. launch)
      assert(count <= most, ("%d instructions, of which %d are the bound"):format(count, most))
    end)
  end
end)

describe("mathematical functions in a module", function()
  -- 25 % more than when this was written. Each compilation of a kernel reads and inlines all of them.
  it("are little more than their arithmetic", function()
    local size = #mwcc.run([[__global__ void k(const double *x, double *y) {
      int i = threadIdx.x;
      y[i] = exp(x[i]) + log(x[i]) + erf(x[i]) + tanh(x[i]) + lgamma(x[i]) + pow(x[i], y[i]);
    }]], "--mcpu=x86-64-v4")
    assert(size > 10000 and size < 60000, size .. " bytes")
  end)
end)

describe("an operation on a float's bits", function()
  -- mwcc hides the bit cast from LLVM's passes for a while (src/mwcc/machine/llvm_fpclass_workaround.c)
  it("needs no instructions: bits stay in vector registers", function()
    local text = mwcc.ir([[__global__ void k(const float *x, const double *y, int *o) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      o[i] = __float_as_int(x[i] * 3) % 7 + __double2hiint(y[i] * 3); }]], "_Z1kPKfPKdPi:64x1x1")
    assert.matches("bitcast <%d+ x float>", text)
    assert.matches("bitcast <%d+ x double>", text)
    assert.is_nil(text:find("__mw_bits", 1, true))
  end)
end)

describe("a loop's constants", function()
  local function count_broadcasts(constants)
    local lines = {}
    for i = 1, constants do lines[i] = ("s = s * v + %d.5f;"):format(7 * i) end
    local text = mwcc.run(([[__global__ void k(const float *x, float *y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      float v = x[i];
      for (int r = 0; r < n; r++) { float s = 1; %s v = s / 8; }
      y[i] = v;
    }]]):format(table.concat(lines, " ")), "--mcpu=x86-64-v4 --emit=asm --launch=_Z1kPKfPfi:256x1x1")
    local before = text:match "^(.-)vfmadd"
    return mwcc.count(text, "\tvbroadcastss\t[^%%]"), mwcc.count(before, "\tvbroadcastss\t[^%%]")
  end

  it("are loaded into registers before it if there are registers for them", function()
    local all, before = count_broadcasts(8)
    assert.equal(all, before)
  end)

  -- The option of LLVM for this is for one version: src/mwcc/machine/constant_rematerialization.c
  local has_words = mwcc.run("", "--version"):find("LLVM 19", 1, true)

  it("are loaded at their uses if there are many more", function()
    local all = count_broadcasts(60)
    if has_words then assert.is_true(all <= 62, all .. " loads of 61 constants, once in registers and again") end
  end)
end)

describe("the values that a block's code has in registers", function()
  it("do not include an earlier block's", function()
    local text = mwcc.run(files.benchmark "reduce",
      "--mcpu=x86-64-v4 --emit=ir --launch=_Z6reduceiPKfPf:256x1x1")
    local start = text:match "\nblock:.-\n\n"
    assert.matches("phi i64", start, 1, true) -- the block's number
    assert.is_nil(start:find "phi <")
  end)
end)

describe("the values that a loop carries in registers", function()
  it("do not include those of joins in the previous iteration", function()
    local text = mwcc.run([[__global__ void k(int n, const float *x, const int *table, float *o) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      float sum = 0;
      for (int j = 0; j < n; j++) {
        float v = x[j * 1024 + i], w;
        if (v > 0) w = table[(int)v]; else w = atomicAdd(&o[(int)-v], v);
        sum += w * v;
      }
      o[i] = sum; }]], "--mcpu=x86-64-v4 --emit=ir --launch=_Z1kiPKfPKiPf:256x1x1")
    assert.matches("phi <16 x float>", text, 1, true)
    assert.is_nil(text:match "phi <16 x float>[^\n]*undef[^\n]*")
  end)

  it("have a sum once, even if lanes leave one by one", function()
    local text = mwcc.run([[__global__ void k(const int *from, const float *x, float *o) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      float sum = 0;
      for (int j = from[i]; j != 0; j = from[j]) sum += x[j];
      o[i] = sum; }]], "--mcpu=x86-64-v4 --emit=ir --width=16x1 --launch=_Z1kPKiPKfPf:256x1x1")
    local round = text:match "\nnode%d+:[^\n]*\n(.-)\n\n"
    assert.equal(1, mwcc.count(round, "= phi <16 x float>"), round)
  end)
end)

describe("a loop that lanes leave one by one", function()
  it("gives each lane the values that it had when it left", function()
    -- by two exits of an inner loop, in each iteration of an outer one
    local m = mw.compile { source = [[__global__ void k(int n, const int *x, int *o) {
      int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0, last = 0;
      for (int a = 0; a < n + i % 3; a++) {
        int j = x[i] + a, found = 0;
        do {
          j = j * 5 % 97;
          if (j % 11 == 3) { found = j; break; }
          last = j;
        } while (j > 20);
        sum += found ? found : 100 + j;
      }
      o[i] = sum * 128 + last; }]], options = { "--width=8" } }
    assert.equal("simd", m.k.tier, m.k.tier_reason)
    local x, o = {}, mw.zeros(64, "int")
    for i = 1, 64 do x[i] = i * 7 % 97 end
    m.k(1, 64)(5, mw.array(x, "int"), o)
    local list = o:totable()
    for i = 0, 63 do
      local sum, last = 0, 0
      for a = 0, 5 + i % 3 - 1 do
        local j, found = x[i + 1] + a, 0
        repeat
          j = j * 5 % 97
          if j % 11 == 3 then found = j break end
          last = j
        until j <= 20
        sum = sum + (found ~= 0 and found or 100 + j)
      end
      assert.equal(sum * 128 + last, list[i + 1], "thread " .. i)
    end
  end)

  it("has the values from before a barrier at its joins", function()
    -- after the barrier, threads continue in the middle of the outer loop, with the values of the join before it
    local m = mw.compile { source = [[__global__ void k(long long q, const int *v, int *o) {
      int i = threadIdx.x, x = 7;
      for (int again = 0, round = 0; round++ < 12; again = 1) {
        for (int j = 0; j < q; j = 1) x = v[i];
        for (int wait = 0; again && wait++ < 12;) __syncthreads_count(0);
      }
      o[i] = x; }]], options = { "--width=16" } }
    assert.equal("simd", m.k.tier, m.k.tier_reason)
    local o = mw.zeros(40, "int")
    m.k(1, 40)(0, mw.zeros(40, "int"), o)
    for i = 1, 40 do assert.equal(7, o[i], "thread " .. i) end
  end)
end)

describe("a sine and a cosine", function()
  -- Above 2^17 an angle is reduced by the bits of 2/pi: the number of calls of that.
  local function reductions(expression)
    local text = mwcc.run(([[__global__ void k(const float *x, float *y) {
      int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = %s; }]]):format(expression),
      "--mcpu=x86-64-v4 --emit=ir --width=16x1 --launch=_Z1kPKfPf:256x1x1")
    return mwcc.count(text, "\n  %%%w+ = call [^\n]*@lanes16%.")
  end

  it("of one angle reduce it together", function()
    local one = reductions "sinf(x[i])"
    assert(one > 0, "none at all")
    assert.equal(one, reductions "sinf(x[i]) + cosf(x[i]) * tanf(x[i])")
    assert.equal(2 * one, reductions "sinf(x[i]) + cosf(y[i])")
  end)
end)

describe("a comparison of threads' numbers with one number", function()
  local source = [[__global__ void k(int n, int *o) {
    int t = threadIdx.x, bits = 0;
    for (int r = 0; r < 3; r++) {
      int c = t + 300 * r - 350, d = -3 * c;
      bits = bits * 16 + (c < n) + 2 * (n >= c) + 4 * (d > n) + 8 * (n <= d);
    }
    o[blockIdx.x * 256 + t] = bits; }]]

  it("is one instruction for each vector if a gang has many", function()
    local text = mwcc.run([[__global__ void k(int n, const float *x, float *y) {
      __shared__ float part[256];
      int t = threadIdx.x;
      float sum = 0;
      for (int c = t; c < n; c += 256) sum += x[c] * y[c];
      part[t] = sum;
      __syncthreads();
      y[t] = part[255 - t]; }]], "--mcpu=x86-64-v4 --emit=ir --launch=_Z1kiPKfPf:256x1x1")
    local node = text:match "\n(node%d+):"
    local round = assert(text:match(("\n%s:.- label %%%%%s,"):format(node, node)), text)
    assert.equal(16, mwcc.count(round, " = icmp %a+ <16 x i32> "), round)
    -- the number itself once, and not sixteen sums with it
    assert(mwcc.count(round, " = shufflevector <16 x i32>") <= 2, round)
  end)

  it("is exact, whatever the number", function()
    local m = mw.compile { source = source, options = { "--width=16x8" } }
    assert.equal("simd", m.k.tier, m.k.tier_reason)
    for _, n in ipairs { -2^31, -2^31 + 1, -1000, -351, -350, -349, -1, 0, 1, 131, 505, 1050, 1e9, 2^30, 2^31 - 1 } do
      n = math.tointeger(n)
      local o = mw.zeros(256, "int")
      m.k(1, 256)(n, o)
      for t, got in ipairs(o:totable()) do
        local bits = 0
        for r = 0, 2 do
          local c = t - 1 + 300 * r - 350
          local d = -3 * c
          bits = bits * 16 + (c < n and 1 or 0) + (n >= c and 2 or 0) + (d > n and 4 or 0) + (n <= d and 8 or 0)
        end
        assert.equal(bits, got, ("thread %d, n = %d"):format(t - 1, n))
      end
    end
  end)
end)

describe("the code for blocks of any size", function()
  local function kernel(statements)
    local lines = {}
    for i = 1, statements do
      lines[i] = ("if (x[i + %d] > %d) sum += x[i] * %d; else sum ^= x[i + %d];"):format(i, i, i, 2 * i)
    end
    return ("__global__ void k(const int *x, int *o) { int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;\n%s\n"
      .. "o[i] = sum; }"):format(table.concat(lines, "\n"))
  end

  it("grows as the kernel does", function()
    local once, twice = count_instructions(kernel(30)), count_instructions(kernel(60))
    assert(twice > 1.5 * once and twice < 2.2 * once, ("%d instructions, then %d"):format(once, twice))
  end)
end)

describe("mwcc --report=spills", function()
  local function report(source, launch)
    return mwcc.run(source, "--mcpu=x86-64-v4 --report=spills --launch=" .. launch)
  end

  it("prints the size of a kernel's code, and that there are no spills", function()
    local output = report([[
      extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }]], "twice:64x1x1")
    assert.matches("kernel twice: simd", output)
    assert.matches("code %S*twice: %d+ instructions\n +no spills\n", output)
  end)

  it("prints the lines with spills", function()
    local lines = { 'extern "C" __global__ void many(float *x) {', "  int t = threadIdx.x;" }
    for i = 1, 48 do lines[#lines + 1] = ("  float v%d = x[t + %d];"):format(i, 64 * i) end
    lines[#lines + 1] = "  __threadfence();"
    for i = 1, 48 do lines[#lines + 1] = ("  x[t + %d] = v%d * v%d;"):format(64 * i, i, i % 48 + 1) end
    local output = report(table.concat(lines, "\n") .. "\n}\n", "many:64x1x1")
    local kept = 0
    for line, count in output:gmatch "\n +(%d+)  spills: (%d+) stores" do
      assert(tonumber(line) > 2 and tonumber(line) < 101, output)
      kept = kept + tonumber(count)
    end
    assert(kept > 10, output)
  end)
end)
