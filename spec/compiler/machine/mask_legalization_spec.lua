-- Masks that cross basic blocks, on processors without mask registers.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local count = mwcc.count

local text = [[
// Lanes leave the loop one by one.
extern "C" __global__ void rounds(int limit, const float *in, int *out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, i = 0;
  float x = in[t];
  while (x > 1 && i < limit) x *= 0.75f, i++;
  out[t] = i;
}
// The same with lanes of bytes, and of doubles.
extern "C" __global__ void same_bytes(int length, const unsigned char *in, const unsigned char *word, unsigned *found) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, same = 0;
  while (same < length && in[t + same] == word[same]) same++;
  if (same == length) atomicAdd(found, 1);
}
extern "C" __global__ void double_rounds(int limit, const double *in, double *out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  double x = in[t], sum = 0;
  for (int i = 0; x > 1 && i < limit; i++) {
    if (x > 3) sum += x;
    x *= 0.75;
  }
  out[t] = sum;
}
// Some lanes or none: what was added stands behind a loop that others are still in.
extern "C" __global__ void sums(int n, const int *ends, const float *in, float *out) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, end = ends[t];
  float sum = 0;
  for (int i = 0; i < end; i++) {
    float x = in[i * n + t];
    if (x < 0) break;
    sum += x > 2 ? x : 0;
  }
  out[t] = sum;
}
// Lanes that all are active, or none of them.
extern "C" __global__ void halves(float *out) {
  __shared__ float s[256];
  int t = threadIdx.x;
  s[t] = out[blockIdx.x * 256 + t];
  for (int step = 128; step > 0; step /= 2) {
    __syncthreads();
    if (t < step) s[t] += s[t + step];
  }
  if (t == 0) out[blockIdx.x * 256] = s[0];
}
// What lanes know while others are waited for.
extern "C" __global__ void waits(int n, float *out) {
  __shared__ float s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  float x = out[i];
  s[t] = x;
  bool some = x > 1;
  for (int step = 1; step < n; step *= 2) {
    __syncthreads();
    float y = s[t + step & 255];
    __syncthreads();
    if (some) s[t] = (s[t] + y) * 0.5f;
  }
  __syncthreads();
  if (some) out[i] = s[t];
}
// A comparison that another block takes up again.
extern "C" __global__ void least(int n, const float *in, float *out, int *place) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, best = 0;
  float low = 1e30f;
  for (int i = 0; i < n; i++) {
    float x = in[i] - in[i + t], y = x * x;
    if (y < low) low = y, best = i;
  }
  out[t] = low, place[t] = best;
}
]]

local function code(kernel, options, block)
  return mwcc.run(text, ("--verify --launch=%s:%s %s"):format(kernel, block or "64x1x1", options))
end

local avx2 = "--emit=asm --mcpu=x86-64-v3 --width=8x2 "

-- Instructions that pack and unpack masks.
local detours = {
  "vpackss%l%l", "vpmovzx%l%l%s+%%", "vpmovsx%l%l%s+%%", "vpslld%s+$31", "vpsllw%s+$15", "vpbroadcastb",
}

describe("a mask that crosses blocks", function()
  it("is as wide as the lanes, and never less", function()
    for _, kernel in ipairs { "rounds", "sums" } do
      local output = code(kernel, avx2)
      for _, pattern in ipairs(detours) do assert.equal(0, count(output, pattern), output) end
      assert.is_true(count(output, "vblendvps") > 0, output)
      assert.is_true(count(output, "vtestps") + count(output, "vmovmskps") > 0, output)
    end
  end)

  it("is no wider than the lanes that it is for", function()
    local output = code("same_bytes", "--emit=ir --mcpu=x86-64-v3 --width=32x2")
    assert.matches("phi <32 x i8>", output)
    assert.is_nil(output:find "phi <32 x i1>")
    output = code("double_rounds", "--emit=ir --mcpu=x86-64-v3 --width=4x2")
    assert.matches("phi <4 x i64>", output)
    assert.is_nil(output:find "phi <4 x i1>")
  end)

  it("is used for bitwise selects if the processor has them", function()
    local output = code("rounds", "--emit=asm --target=aarch64-linux-gnu --width=4x2")
    assert.is_true(count(output, "\tbi[tf]\t") + count(output, "\tbsl\t") > 0, output)
    assert.equal(0, count(output, "\tcmlt\t"), output) -- whose sign is set
    assert.equal(0, count(output, "\taddv\t") + count(output, "\tumaxv\t"), output)
  end)

  it("is a broadcast integer if all lanes have the same bit", function()
    local output = code("halves", avx2, "256x1x1")
    for _, pattern in ipairs(detours) do assert.equal(0, count(output, pattern), output) end
  end)

  it("is saved at barriers in this form", function()
    for options, lanes in pairs { ["--mcpu=x86-64-v2"] = 4, ["--mcpu=x86-64-v3"] = 8,
      ["--target=aarch64-linux-gnu"] = 4 } do
      local output = code("waits", ("--emit=ir --width=%dx2 %s"):format(lanes, options), "512x1x1")
      assert.is_nil(output:find "load <%d+ x i1>")
      assert.is_nil(output:find "store <%d+ x i1>")
      -- at the two barriers that may be next: the code after them neither changes nor moves it
      assert.equal(4, count(output, ("store <%d x i32>"):format(lanes)), output)
    end
    assert.is_nil(code("waits", "--emit=ir --mcpu=x86-64-v4 --width=16x2", "512x1x1"):find "sext <16 x i1>")
  end)

  it("stays in mask registers with AVX-512", function()
    assert.matches("phi <16 x i1>", code("rounds", "--emit=ir --mcpu=x86-64-v4 --width=16x2"))
  end)

  it("is recomputed if it is only a comparison", function()
    assert.is_true(count(code("least", avx2), "vminps") > 0)
  end)

  it("is the same after a barrier", function()
    local results
    for _, width in ipairs { "1", "4x2", "8x4", "16x2" } do
      local values = {}
      for i = 1, 512 do values[i] = i * 37 % 64 / 16 end
      local m, out = mw.compile { source = text, options = { "--width=" .. width } }, mw.array(values)
      m.waits(2, 256)(9, out)
      results = results or out:totable()
      assert.same(results, out:totable())
    end
    for i = 1, 512 do assert.equal(i * 37 % 64 > 16, results[i] ~= i * 37 % 64 / 16) end
  end)

  it("has the same bit for each lane", function()
    local lanes, limit = 256, 20
    local numbers, bytes, word = {}, {}, { 1, 2, 1 }
    for i = 1, lanes + 4 do numbers[i], bytes[i] = i * i % 977 / 16, i * i % 3 end
    local expected = { rounds = {}, doubles = {}, found = 0 }
    for i = 1, lanes do
      local x, count_of, sum = numbers[i], 0, 0
      while x > 1 and count_of < limit do
        if x > 3 then sum = sum + x end
        x, count_of = x * 0.75, count_of + 1
      end
      expected.rounds[i], expected.doubles[i] = count_of, sum
      local same = true
      for k, byte in ipairs(word) do same = same and bytes[i + k - 1] == byte end
      if same then expected.found = expected.found + 1 end
    end
    for _, width in ipairs { "1", "4x2", "8x4", "16x2", "32x2" } do
      local m = mw.compile { source = text, options = { "--width=" .. width } }
      local rounds, doubles, found = mw.zeros(lanes, "int"), mw.zeros(lanes, "double"), mw.zeros(1, "uint")
      m.rounds(4, 64)(limit, mw.array(numbers), rounds)
      m.double_rounds(4, 64)(limit, mw.array(numbers, "double"), doubles)
      m.same_bytes(4, 64)(#word, mw.array(bytes, "uchar"), mw.array(word, "uchar"), found)
      assert.same(expected.rounds, rounds:totable())
      assert.same(expected.doubles, doubles:totable())
      assert.equal(expected.found, found:totable()[1])
    end
  end)
end)
