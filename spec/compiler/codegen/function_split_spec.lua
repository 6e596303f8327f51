-- Huge functions are compiled as several, so that compile time grows with their length
-- (src/mwcc/codegen/function_split.c).
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local threads = 256

-- A barrier and a step between threads, some of them under masks, `steps` times.
local function barriers(steps)
  local lines = { [[extern "C" __global__ void steps(int *out, const int *in) {
    __shared__ int row[256]; int t = threadIdx.x, x = in[t]; row[t] = x;]] }
  for n = 1, steps do
    local far = 1 << n % 8
    lines[#lines + 1] = n % 3 == 0 and ("__syncthreads(); if (t %% %d == 0) row[t] = x;"):format(n % 7 + 2)
      or ("__syncthreads(); if (t + %d < 256) x = x * 5 + row[t + %d];"):format(far, far)
  end
  lines[#lines + 1] = "out[t] = x; }"
  return table.concat(lines, "\n")
end

local function barriers_result(numbers, steps)
  local x, row = { table.unpack(numbers) }, { table.unpack(numbers) }
  for n = 1, steps do
    local far = 1 << n % 8
    for t = 0, threads - 1 do
      if n % 3 ~= 0 and t + far < threads then x[t + 1] = (x[t + 1] * 5 + row[t + far + 1]) & 0xffffffff end
    end
    for t = 0, threads - 1 do
      if n % 3 == 0 and t % (n % 7 + 2) == 0 then row[t + 1] = x[t + 1] end
    end
  end
  return x
end

-- A long block, whose sums are live to its end, with a loop around it.
local function long_block(statements)
  local lines = { [[extern "C" __global__ void block(int *out, const int *in, int n) {
    int t = threadIdx.x, a = 1, b = 2, c = 3;
    for (int i = 0; i < n; i++) {]] }
  for n = 1, statements do
    lines[#lines + 1] = ("a = a * 3 + in[(t + %d) %% 256]; if (a & %d) b ^= a; else c += b + %d;")
      :format(n, 1 << n % 9, n)
  end
  lines[#lines + 1] = "} out[t] = a ^ b ^ c; }"
  return table.concat(lines, "\n")
end

local function long_block_result(numbers, statements, times)
  local result = {}
  for t = 0, threads - 1 do
    local a, b, c = 1, 2, 3
    for _ = 1, times do
      for n = 1, statements do
        a = (a * 3 + numbers[(t + n) % 256 + 1]) & 0xffffffff
        if a & 1 << n % 9 ~= 0 then b = b ~ a else c = (c + b + n) & 0xffffffff end
      end
    end
    result[t + 1] = a ~ b ~ c
  end
  return result
end

local function longest_function(text)
  local most, length = 0, 0
  for line in text:gmatch "[^\n]+" do
    length = line:find "^define" and 0 or length + 1
    if line == "}" and length > most then most = length end
  end
  return most
end

describe("a huge kernel", function()
  local numbers = {}
  setup(function()
    for t = 0, threads - 1 do numbers[t + 1] = t * t * 7 % 1009 end
  end)

  for name, source in pairs { barriers = barriers(200), ["a long block"] = long_block(900) } do
    it("is compiled as several functions: " .. name, function()
      local text = mwcc.run(source, "--verify --mcpu=x86-64-v4 --stop-after=function-split")
      assert.is_truthy(text:find("define internal void @part1.", 1, true))
      local whole = mwcc.run(source, "--mcpu=x86-64-v4 --stop-after=function-split --without=function-split")
      assert.is_true(longest_function(text) * 2 < longest_function(whole), longest_function(text))
    end)
  end

  -- LLVM removes such stores in short functions only; in a kernel of 1,024 barriers they were three fifths of the code.
  it("saves what lives across hundreds of barriers once", function()
    local lines = { [[__global__ void k(int *out, const int *in) {
      __shared__ int row[256]; int t = threadIdx.x, x = in[t]; bool odd = in[t + 256] & 1; row[t] = x;]] }
    for n = 1, 60 do
      local step = "__syncthreads(); x = x * 5 + row[(t + %d) & 255]; __syncthreads(); if (odd) row[t] = x;"
      lines[#lines + 1] = step:format(n)
    end
    local source = table.concat(lines, "\n") .. "out[t] = x; }"
    local text = mwcc.after(source, "simplify", "--without=barrier-rematerialization")
    assert.equal(1, mwcc.count(text, "store <16 x i1>"))
    assert.equal(61, mwcc.count(text, "store <16 x i32>"))
    assert.equal(1, mwcc.count(text, "store ptr")) -- otherwise recomputed
    assert.equal(0, mwcc.count(mwcc.after(source, "simplify"), "store ptr"))
  end)

  -- In a product whose memory is checked, the loop over tiles is mostly cold code, and has many values.
  it("is not split where its parts would be cold code", function()
    local source = [[__global__ void product(int n, const float *a, const float *b, float *c) {
      __shared__ float as[16][16], bs[16][16];
      int tx = threadIdx.x, ty = threadIdx.y, column = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
      float sum = 0;
      for (int tile = 0; tile < n; tile += 16) {
        as[ty][tx] = a[row * n + tile + tx], bs[ty][tx] = b[(tile + ty) * n + column];
        __syncthreads();
        for (int k = 0; k < 16; k++) sum += as[ty][k] * bs[k][tx];
        __syncthreads();
      }
      c[row * n + column] = sum;
    }]]
    local options = "--checks=1 --launch=_Z7productiPKfS0_Pf:16x16x1"
    local whole = mwcc.after(source, "function-split", options .. " --without=function-split")
    assert.is_true(longest_function(whole) > 8000, longest_function(whole))
    local part, sums = false, { inside = 0, outside = 0 }
    for line in mwcc.after(source, "function-split", options):gmatch "[^\n]+" do
      if line:find "^define" then part = line:find("@part", 1, true) ~= nil end
      local where = part and "inside" or "outside"
      if line:find("call .*@llvm.fma.") then sums[where] = sums[where] + 1 end
    end
    assert.is_true(sums.outside > 100, sums.outside)
    assert.equal(0, sums.inside)
  end)

  local function check(out, expected)
    for t = 1, threads do assert.equal(expected[t], out[t] & 0xffffffff, t) end
  end

  it("has a short one's results, with many barriers", function()
    local m, out = mw.compile(barriers(200)), mw.zeros(threads, "int")
    m.steps(1, threads)(out, mw.array(numbers, "int"))
    check(out, barriers_result(numbers, 200))
  end)

  it("has a short one's results, with a long loop", function()
    local m, out = mw.compile(long_block(900)), mw.zeros(threads, "int")
    m.block(1, threads)(out, mw.array(numbers, "int"), 3)
    check(out, long_block_result(numbers, 900, 3))
  end)
end)
