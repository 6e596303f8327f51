-- Counted divergent loops in blocks that are one gang of many vectors: loop masks are computed from the exit
-- comparison.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"
local ir, count = mwcc.ir, mwcc.count

-- A barrier makes the block one gang. The code after it stores each thread's iterations, and where it left.
local function kernel(name, loop)
  return ([[
    __global__ void %s(int from, int n, int by, const int *x, int *o) {
      __shared__ int part[256], visits[256]; // visits: of lanes that are out of the loop, too, if those went on
      const int t = threadIdx.x;
      int rounds = 0, sum = 0, i = -1;
      visits[t] = 0;
      %s
      part[t] = rounds;
      __syncthreads();
      const int other = blockDim.x - 1 - t;
      o[4 * t] = part[other];
      o[4 * t + 1] = sum;
      o[4 * t + 2] = i;
      o[4 * t + 3] = visits[t];
    }
  ]]):format(name, loop)
end

-- In each: whether thread t begins with index i, and its values when it continues. The same in Lua.
local loops = {
  { "less", "for (i = from + t; i < n; i += blockDim.x) rounds++, visits[t]++, sum += x[i & 1023] ^ i;",
    function(i, n) return i < n end, "threads" },
  { "at_most", "for (i = from + t; i <= n; i += 32) rounds++, visits[t]++, sum += x[i & 1023] ^ i;",
    function(i, n) return i <= n end, 32 },
  { "unlike", "for (i = from + t; !(i >= n); i += 256) { visits[t]++; rounds++; if (i & 1) sum += x[i & 1023] ^ i; }",
    function(i, n) return i < n end, 256, odd = true },
  { "swapped", "for (i = from + t; n > i; i += 97) rounds++, visits[t]++, sum += x[i & 1023] ^ i;",
    function(i, n) return i < n end, 97 },
  { "first", "i = from + t; do { rounds++, visits[t]++, sum += x[i & 1023] ^ i; i += 256; } while (i < n);",
    function(i, n) return i < n end, 256, once = true },
  { "inside", "if (t & 1) for (i = from + t; i < n; i += 256) rounds++, visits[t]++, sum += x[i & 1023] ^ i;",
    function(i, n) return i < n end, 256, every = 2 },
  { "other", "if (t < by) for (i = from + t; i < n; i += 256) rounds++, visits[t]++, sum += x[i & 1023] ^ i;",
    function(i, n) return i < n end, 256, below = true },
  { "left", "for (i = from + t; i < n; i += 256) " ..
    "{ rounds++, visits[t]++, sum += x[i & 1023] ^ i; if (sum & 64) break; }",
    function(i, n) return i < n end, 256, left = true },
  { "limited", "int to = n; for (i = from + t; i < to; i += 256) " ..
    "{ rounds++, visits[t]++, sum += x[i & 1023] ^ i; to -= 64; }",
    function(i, n, round) return i < n - 64 * round end, 256 },
  { "by_itself", "for (i = from + t; i < n; i += by) rounds++, visits[t]++, sum += x[i & 1023] ^ i;",
    function(i, n) return i < n end },
  { "nested", "for (int k = 0; k < 3; k++) " ..
    "for (i = from + t + k * 64; i < n; i += 256) rounds++, visits[t]++, sum += x[i & 1023] ^ i;",
    function(i, n) return i < n end, 256, nested = 3 },
  { "backwards", "for (i = from - t; i < n; i += 256) rounds++, visits[t]++, sum += x[i & 1023] ^ i;",
    function(i, n) return i < n end, 256, sign = -1 },
}

local function wrapped(number) return (number + 2 ^ 31 | 0) % 4294967296 - 2 ^ 31 | 0 end

local function expected(loop, threads, from, n, by, x)
  local rounds, out = {}, {}
  for t = 0, threads - 1 do
    local round, sum, i = 0, 0, -1
    local comes = (not loop.every or t % 2 == 1) and (not loop.below or t < by)
    for k = 0, comes and (loop.nested or 1) - 1 or -1 do
      i = from + (loop.sign or 1) * t + k * 64
      local again = loop.once or loop[3](i, n, 0)
      while again do
        round = round + 1
        if not loop.odd or i % 2 == 1 then sum = wrapped(sum + wrapped(x[(i & 1023) + 1] ~ i)) end
        if loop.left and sum & 64 ~= 0 then break end
        i = i + (loop[4] == "threads" and threads or loop[4] or by)
        again = loop[3](i, n, round)
      end
    end
    rounds[t] = round
    out[4 * t + 2], out[4 * t + 3], out[4 * t + 4] = sum, i, round
  end
  for t = 0, threads - 1 do out[4 * t + 1] = rounds[threads - 1 - t] end
  return out
end

describe("counted divergent loops", function()
  local before, x, numbers
  setup(function()
    before = mw.limit("specialise", 0)
    numbers = {}
    for i = 1, 1024 do numbers[i] = i * 2654435761 % 4294967296 - 2147483648 end
    x = mw.array(numbers, "int")
  end)
  teardown(function() mw.limit("specialise", before) end)

  it("compute masks without the previous one, and test one lane for another iteration", function()
    local plain = kernel("up", "for (i = from + t; i < n; i += blockDim.x) rounds++, sum += i;")
    local text = ir(plain, "_Z2upiiiPKiPi:256x1x1")
    assert.equal(15, count(text, "or <16 x i1>")) -- before the loop: whether any lane enters it
    assert.equal(1, count(text, "%%again[%w.]* = icmp"))
    -- if lanes also leave by another exit, masks remain
    text = ir(plain:gsub("sum %+= i", "sum += i; else break"):gsub("rounds%+%+,", "if (rounds++ < t)"),
      "_Z2upiiiPKiPi:256x1x1")
    assert.truthy(count(text, "or <16 x i1>") > 15)
    assert.equal(0, count(text, "%%again[%w.]* = icmp"))
  end)

  it("have the same results as the loop tier", function()
    local texts = {}
    for i, loop in ipairs(loops) do texts[i] = kernel(loop[1], loop[2]) end
    local m = mw.compile(table.concat(texts, "\n"))
    for _, loop in ipairs(loops) do
      for _, threads in ipairs(loop == loops[1] and { 256, 128, 96 } or { 256 }) do
        local o = mw.empty(4 * threads, "int")
        for _, case in ipairs { { 0, 1000 }, { 0, 256 }, { 0, 257 }, { 0, 1 }, { 0, 0 }, { 3, -5 }, { -300, 70 },
          { 5, 100 }, { -20, 12 } } do
          local from, n, by = case[1], case[2], 100
          m[loop[1]](1, threads)(from, n, by, x, o)
          local want = expected(loop, threads, from, n, by, numbers)
          assert.same(want, o:totable(), ("%s, %d threads, from %d to %d"):format(loop[1], threads, from, n))
        end
      end
    end
  end)

  it("are right if a limit is near the largest number", function()
    local last = 2 ^ 31 - 1 | 0
    local m, o = mw.compile(kernel("up", loops[1][2])), mw.empty(1024, "int")
    for i = 1, 3 do
      local from, n = last - 1500, last - 300 - i
      m.up(1, 256)(from, n, 1, x, o)
      assert.same(expected(loops[1], 256, from, n, 1, numbers), o:totable())
    end
  end)

  it("has no lanes that wrap, where these are far apart", function()
    local source = [[
      __global__ void apart(int n, const int *x, int *o) {
        int most = min(n, 1 << 30), sum = 0;
        for (int i = (int)threadIdx.x * 100000000 - 1000000000; i < most; i += 1048576) sum += x[(i >> 18) & 1023];
        o[threadIdx.x] = sum;
      }]]
    local results = {}
    for n, options in ipairs { {}, { "-G", "--width=1" } } do
      local o = mw.zeros(16, "int")
      mw.compile { source = source, options = options }.apart(1, 16)(2 ^ 30, x, o)
      results[n] = o:bytes()
    end
    assert.is_true(results[1] == results[2])
  end)
end)
