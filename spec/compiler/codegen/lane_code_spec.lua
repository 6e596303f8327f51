-- Kernels in lanes have LLVM passes of their own, whatever other kernels their module has.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

-- A tile in shared memory that is read back, and a loop that LLVM's default pipeline unrolls.
local lanes = [[
extern "C" __global__ void smooth(int n, float a, const float *x, float *y) {
  __shared__ float tile[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0;
  float v = tile[threadIdx.x];
  for (int k = 0; k < n; k++) v = a * v + k;
  if (i < n) y[i] = v;
}
]]

-- Runs thread by thread: each iteration waits for the gather of the one before.
local threads = [[
extern "C" __global__ void checksum(int n, const int *start, const unsigned char *text, const unsigned *step,
  unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned sum = ~0u;
  for (int at = start[i]; at < start[i + 1]; at++) sum = step[(sum ^ text[at]) & 255] ^ sum >> 8;
  out[i] = ~sum;
}
]]

-- The IR of the function's body, without the numbers of attributes, of debug information, and in values' names.
local function ir_of(source, name)
  local text = mwcc.run(source, "--mcpu=x86-64-v4 --stop-after=dead-shared-stores")
  for head, body in text:gmatch "\ndefine ([^\n]*)(.-\n})" do
    if head:match "@[%w_.]+":find(name, 1, true) then
      return (body:gsub(", !%a[%w.]* !%d+", ""):gsub("#%d+", ""):gsub("%%%w*%.%d+", "%%name"))
    end
  end
  error("there is no function of " .. name .. ":\n" .. text)
end

describe("the code of a kernel in lanes", function()
  it("is the same beside a kernel that runs thread by thread", function()
    assert.matches("kernel checksum: loop", mwcc.run(lanes .. threads, "--mcpu=x86-64-v4 --report"), 1, true)
    assert.equal(ir_of(lanes, ".smooth"), ir_of(lanes .. threads, ".smooth"))
  end)

  it("leaves no marks on functions", function()
    local text = mwcc.run(lanes .. threads, "--mcpu=x86-64-v4 --stop-after=llvm-pipeline")
    for _, mark in ipairs { "optnone", "mw.hidden", "mw.optsize", "mw.inlinable" } do
      assert.is_nil(text:find(mark, 1, true), mark)
    end
    assert.matches("optsize", text, 1, true)
  end)
end)

describe("the code of a kernel that runs thread by thread", function()
  it("is the same beside a kernel in lanes", function()
    assert.equal(ir_of(threads, ".checksum"), ir_of(lanes .. threads, ".checksum"))
  end)
end)

describe("a module with kernels of several tiers", function()
  it("computes what they compute", function()
    local m = mw.compile(lanes .. threads)
    local n = 300
    local x, y = mw.ones(n), mw.zeros(n)
    m.smooth(2, 256)(n, 0.5, x, y)
    local v = 1
    for k = 0, n - 1 do v = 0.5 * v + k end
    assert.near(v, y[1], 1e-3)
    assert.near(v, y[n], 1e-3)
    local text, step = mw.array({ 49, 50, 51, 52, 53, 54, 55, 56, 57 }, "uchar"), {}
    for i = 0, 255 do
      local word = i
      for _ = 1, 8 do word = word % 2 == 1 and word // 2 ~ 0xEDB88320 or word // 2 end
      step[i + 1] = word
    end
    local out = mw.zeros(1, "unsigned")
    m.checksum(1, 32)(1, mw.array({ 0, 9 }, "int"), text, mw.array(step, "unsigned"), out)
    assert.equal(0xCBF43926, out[1]) -- the check value of CRC-32
  end)
end)
