-- Register blocking: loops that carry more vectors than a processor has registers process their sums in groups, with
-- the same results as the loop tier, for iteration counts around the length of a strip.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local text = [==[
/* a sum for each row, of what rows share */
extern "C" __global__ void product(int n, const float *a, const float *b, float *c) {
  int column = threadIdx.x, row = threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * 16 + column];
  c[row * 16 + column] = sum;
}

/* rows that are as far from each other in any launch */
extern "C" __global__ void spread(int n, const float *a, const float *b, float *c) {
  int column = threadIdx.x, row = threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; k++) sum += a[row * 200 + k] * b[k * 16 + column];
  c[row * 16 + column] = sum;
}

/* rows of which some do something else: the sign is in no address */
extern "C" __global__ void unlike(int n, const float *a, const float *b, float *c) {
  int column = threadIdx.x, row = threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; k++) sum += a[k] * (b[k * 16 + column] + (row & 9));
  c[row * 16 + column] = sum;
}

/* rows share what is computed from two arrays; the end is in what is read, and a number of rounds is used behind it */
extern "C" __global__ void computed(int n, const float *a, const float *b, float *c) {
  int column = threadIdx.x, row = threadIdx.y, k = 0;
  float sum = 1, last;
  do {
    float shared = b[k * 16 + column] * 2 - b[column];
    last = a[k];
    sum += a[row] * shared;
    k++;
  } while ((k < n) & (last < 1000));
  c[row * 16 + column] = sum + last + k;
}

/* an index that goes down */
extern "C" __global__ void backwards(int n, const float *a, const float *b, float *c) {
  int column = threadIdx.x, row = threadIdx.y;
  float sum = 0;
  for (int k = n - 1; k >= 0; k--) sum += a[row * n + k] * b[k * 16 + column] + k;
  c[row * 16 + column] = sum;
}

/* two sums of a thread: not in turns */
extern "C" __global__ void two(int n, const float *a, const float *b, float *c) {
  int column = threadIdx.x, row = threadIdx.y;
  float sum = 0, other = 0;
  for (int k = 0; k < n; k++) {
    sum += a[row * n + k] * b[k * 16 + column];
    other += sum - a[row * n + k];
  }
  c[row * 16 + column] = sum + other;
}

/* not to be torn apart: what a row has stored the next round loads */
extern "C" __global__ void stores(int n, const float *a, float *b, float *c) {
  int column = threadIdx.x, row = threadIdx.y;
  float sum = 0;
  for (int k = 0; k < n; k++) {
    sum += a[row * n + k] * b[row * 16 + column];
    b[row * 16 + column] = k % 3;
  }
  c[row * 16 + column] = sum;
}
]==]

local rounds = { 1, 2, 31, 32, 33, 63, 64, 65, 128, 129, 200 }
local names = { "product", "spread", "unlike", "computed", "backwards", "two", "stores" }

-- Numbers with few mantissa bits, whose sums are exact.
local function run(module, name, n, rows)
  local a, b = {}, {}
  rows = rows or 16
  for i = 1, rows * 200 do a[i] = i * 7919 % 51 / 4 end
  for i = 1, 16 * math.max(n, 16) do b[i] = i * 104729 % 75 / 8 end
  if name == "computed" then a[n - n // 4 + 1] = 1000 end
  local c = mw.zeros(16 * rows)
  module[name](1, { 16, rows })(n, mw.array(a), mw.array(b), c)
  return c:totable()
end

describe("blocked sums", function()
  local is_x86 = mwcc.try("", "--mcpu=x86-64-v2 --emit=ir"):find("target triple = \"x86_64", 1, true)
  local one, before

  setup(function()
    one = mw.compile { source = text, options = { "--width=1" } }
    before = mw.limit("specialise", 0)
  end)
  teardown(function() mw.limit("specialise", before) end)

  for _, processor in ipairs(is_x86 and { "native", "x86-64-v3", "x86-64-v2" } or { "native" }) do
    it("are those of the loop tier, for any number of iterations: " .. processor, function()
      for _, width in ipairs { "16x16", "8x32", "16x8", "4x16" } do
        local module = mw.compile { source = text, options = { "--width=" .. width, "--mcpu=" .. processor } }
        for _, name in ipairs(names) do
          for _, n in ipairs(rounds) do
            assert.same(run(one, name, n), run(module, name, n), ("%s, %d rounds, %s"):format(name, n, width))
          end
        end
      end
    end)
  end

  it("are those of the loop tier in blocks of more rows", function()
    local module = mw.compile(text)
    for _, rows in ipairs { 24, 32, 64 } do
      for _, name in ipairs(names) do
        if name ~= "computed" and name ~= "stores" then -- which need sixteen rows
          for _, n in ipairs { 1, 64, 65, 200 } do
            assert.same(run(one, name, n, rows), run(module, name, n, rows), ("%s, %d rounds"):format(name, n))
          end
        end
      end
    end
  end)

  local function ir(name, options, rows)
    return mwcc.run(text, ("--verify --emit=ir --launch=%s:16x%dx1 %s"):format(name, rows or 16, options))
  end

  -- The vectors that the iterations of each group carry.
  local function carried(code)
    local list = {}
    for block in code:gmatch "\niterations%d*:(.-)\n\n" do list[#list + 1] = mwcc.count(block, "= phi <16 x float>") end
    return list
  end

  it("are in groups as large as registers allow", function()
    local x86, arm = "--target=x86_64-linux-gnu --mcpu=", "--target=aarch64-linux-gnu --width=16x16"
    assert.same({ 4, 6 }, carried(ir("product", x86 .. "x86-64-v3 --width=16x16"))) -- the second one twice
    assert.same({ 2, 2 }, carried(ir("product", x86 .. "x86-64-v2 --width=16x16")))
    assert.same({ 4, 6 }, carried(ir("product", arm)))
    -- if registers would hold all, as many as there are registers for the rows' addresses
    assert.same({ 8, 8 }, carried(ir("product", x86 .. "x86-64-v4 --width=16x16")))
    assert.same({ 8, 8 }, carried(ir("product", x86 .. "x86-64-v4", 32))) -- the second one three times
    assert.same({ 4, 4 }, carried(ir("product", x86 .. "x86-64-v3", 32)))
    assert.same({}, carried(ir("product", x86 .. "x86-64-v4 --width=16x8")))
    assert.same({}, carried(ir("product", x86 .. "x86-64-v3 --width=16x4")))
  end)

  it("are one loop over groups that differ in values only", function()
    local x86 = "--target=x86_64-linux-gnu --mcpu=x86-64-v3"
    for _, name in ipairs { "spread", "computed", "backwards" } do
      assert.same({ 4, 6 }, carried(ir(name, x86)), name)
    end
    local all = 0
    for _, count in ipairs(carried(ir("unlike", x86))) do all = all + count end
    assert.equal(16, all)
  end)

  it("share values that the first group computes", function()
    local code = ir("computed", "--target=x86_64-linux-gnu --mcpu=x86-64-v3 --width=16x16")
    local blocks = {}
    for block in code:gmatch "\niterations%d*:(.-)\n\n" do blocks[#blocks + 1] = block end
    assert.equal(1, mwcc.count(blocks[1], "store <16 x float>"))
    for i = 2, #blocks do
      assert.equal(1, mwcc.count(blocks[i], "load <16 x float>"))
      assert.equal(0, mwcc.count(blocks[i], "store "))
    end
  end)

  it("are not used if an iteration stores, or if a thread has several sums", function()
    assert.same({}, carried(ir("two", "--target=x86_64-linux-gnu --mcpu=x86-64-v3 --width=16x16")))
    assert.same({}, carried(ir("stores", "--target=x86_64-linux-gnu --mcpu=x86-64-v3 --width=16x16")))
  end)

  it("have whole blocks as gangs, by the compiler's choice", function()
    for _, processor in ipairs { "x86-64-v3", "x86-64-v4" } do
      local target = "--target=x86_64-linux-gnu --mcpu=" .. processor
      local report = mwcc.run(text, "--report --launch=product:16x16x1 " .. target)
      assert.matches("gangs of 16 x 16 lanes", report)
      report = mwcc.run(text, "--report --launch=product:32x32x1 " .. target)
      assert.matches("gangs of 32 x 16 lanes", report)
    end
  end)

  it("are not used for processors with 512-bit operations in two steps, whose registers hold all sums", function()
    local target = "--target=x86_64-linux-gnu --mcpu=znver4"
    local function gangs(source, rows)
      local report = mwcc.run(source, ("--report --launch=product:%s %s"):format(rows, target))
      return report:match "gangs of (%d+ x %d+) lanes"
    end
    assert.same({}, carried(ir("product", target)))
    assert.same({}, carried(ir("product", target, 32)))
    assert.equal("8 x 16", gangs(text, "16x16x1"))
    assert.equal("16 x 16", gangs(text, "32x16x1")) -- eight rows of two vectors
    assert.equal("8 x 16", gangs(text:gsub("float", "double"), "32x16x1"))
  end)
end)
