-- Loops by the size of the grid, whose rounds are run one after the other for many blocks; and those that must not be.
-- Lua 5.4 only: what is tested is the compiler.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

-- Each is a body of kernel(int n, unsigned un, long long ln, const int *x, int *o); x and o have room for n elements
-- and 64 more.
local rounds = {
  usual = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) o[i] += 3 * x[i];]],
  unsigned_count = [[
    unsigned stride = blockDim.x * gridDim.x;
    for (unsigned i = threadIdx.x + blockIdx.x * blockDim.x; i < un; i += stride) o[i] += x[i] ^ i;]],
  long_count = [[
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < ln; i += (long long)gridDim.x * blockDim.x)
      o[i] += x[i] + (int)i;]],
  size_t_count = [[
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < (size_t)ln; i += gridDim.x * blockDim.x)
      o[i] = x[i] - o[i];]],
  while_loop = [[
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    while (n > i) {
      if (x[i] & 1) o[i] = i; else o[i] -= x[i];
      i += blockDim.x * gridDim.x;
    }]],
  a_part = [[
    int most = min(n / 3 + 2, n);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < most; i += gridDim.x * blockDim.x) o[i] = o[i] * 5;]],
  inner_loop = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
      int sum = 0;
      for (int j = 0; j < (x[i] & 7); j++) sum = sum * 3 + x[(i + j) % n];
      if (sum % 5 == 0) continue;
      o[i] += sum;
    }]],
  next_too = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      o[i] = x[i] + (i + int(gridDim.x * blockDim.x));]],
  own_element_before = [[ // what the same thread wrote in the round before
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
      int before = i - int(gridDim.x * blockDim.x);
      o[i] = (before >= 0 ? o[before] : 1) + x[i];
    }]],
  far_end = [[ // through an address of many indices; it is a multiple of 4, which the compiler cannot know
    struct cube { int a[4][4][4][4][4][4][4][4]; };
    const int *place = &((const cube *)x)[n].a[n & 3][n & 2][un & 1][un & 3][ln & 1][ln & 2][ln & 3][n / 2 & 3];
    int end = n + (int)((size_t)place & 3);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < end; i += gridDim.x * blockDim.x) o[i] += x[i];]],
  whole_numbers_added = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      atomicAdd(&o[x[i] & 15], x[i]);]],
}

local blocks = {
  sum = [[
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    if (blockIdx.x * blockDim.x + threadIdx.x < n) o[blockIdx.x * blockDim.x + threadIdx.x] = sum;]],
  way_out = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
      if (x[i] % 11 == 0) break;
      o[i] = x[i];
    }]],
  early_return = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
      if (x[i] % 13 == 0) return;
      o[i] = x[i];
    }]],
  behind = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) o[i] = x[i];
    if (blockIdx.x * blockDim.x + threadIdx.x < n) o[blockIdx.x * blockDim.x + threadIdx.x] ^= 5;]],
  loaded_before = [[
    int factor = o[n];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      o[n] = o[i] = x[i] * factor;]],
  own_memory = [[
    int last[3];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
      o[i] = i < gridDim.x * blockDim.x ? 0 : last[x[i] & 1];
      last[0] = last[1] = x[i];
    }]],
  end_that_moves = [[
    int end = n;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < end; i += gridDim.x * blockDim.x)
      o[i] = x[i], end--;]],
  other_start = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x + 1; i < n; i += gridDim.x * blockDim.x) o[i] = x[i];]],
  other_stride = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 2 * gridDim.x * blockDim.x) o[i] = x[i];]],
  seen_by_others = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      o[i] = atomicAdd(&o[n], 0) + x[i];]],
  counted_down = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i > n - 64; i -= gridDim.x * blockDim.x) o[n - 1] = 1;]],
  left_at_the_end = [[
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i <= n; i += gridDim.x * blockDim.x) o[i] = x[i];]],
}

local parameters = "(int n, unsigned un, long long ln, const int *x, int *o)"

local function source_of(list)
  local text = {}
  for name, body in pairs(list) do
    text[#text + 1] = ("__global__ void %s%s {%s\n}\n"):format(name, parameters, body)
  end
  table.sort(text)
  return table.concat(text)
end

local function is_in_rounds(list, name)
  local report = mwcc.run(source_of(list), ("--verify --report --launch=_Z%d%sijxPKiPi:64x1x1"):format(#name, name))
  assert(report:find(("kernel %s: simd"):format(name), 1, true), report)
  return report:find("round by round of the whole grid", 1, true) ~= nil
end

local shapes = { { 1, 1 }, { 3, 31 }, { 70, 64 }, { 7, 256 }, { 3, 1000 }, { 4, 16, 4 } }
local lengths = { 0, 1, 30, 257, 4096, 10007 }

-- Whose outcome depends on who comes first: these are only compiled. In blocks of several rows as many threads have an
-- element, so that there only what gives it the same value every time is known.
local races = { loaded_before = true, counted_down = true }
local function is_known(name, shape) return not races[name] and (not shape[3] or name == "next_too") end

-- o after a launch with blocks of shape[2] (by shape[3]) threads.
local function run(m, name, shape, n)
  local values = {}
  for i = 1, n + 64 do values[i] = i * 7919 % 1009 - 300 end
  local x = mw.array(values, "int")
  local o = mw.array(values, "int")
  m[name](shape[1], { shape[2], shape[3] or 1 })(n, n, n, x, o)
  return o:totable()
end

describe("a grid-stride loop", function()
  local before
  setup(function() before = mw.limit "specialise" end)
  teardown(function() mw.limit("specialise", before) end)

  it("is run round by round", function()
    for name in pairs(rounds) do assert(is_in_rounds(rounds, name), name) end
  end)

  it("is run block by block where a thread keeps something, or comes to an end in other ways", function()
    for name in pairs(blocks) do assert.is_false(is_in_rounds(blocks, name), name) end
  end)

  it("may have a count of 128 bits, as threads one after the other", function()
    local body = [[
      for (__int128 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) o[i] = x[i];]]
    local report = mwcc.run(source_of { wide_count = body }, "--verify --report --launch=_Z10wide_countijxPKiPi:64x1x1")
    assert.matches("does not run as SIMD lanes", report, 1, true)
  end)

  for kind, list in pairs { rounds = rounds, blocks = blocks } do
    it("has the results of threads one after the other: " .. kind, function()
      local source = source_of(list)
      local one_by_one = mw.compile { source = source, options = { "--width=1" } }
      local m = mw.compile(source)
      for name in pairs(list) do
        for _, shape in ipairs(shapes) do
          for _, n in ipairs(lengths) do
            if is_known(name, shape) then
              mw.limit("specialise", 1e15)
              local want = run(one_by_one, name, shape, n)
              mw.limit("specialise", 1)
              local got = run(m, name, shape, n)
              for i = 1, #want do
                if want[i] ~= got[i] then
                  error(("%s: %d, not %d, at %d of %d, %d blocks of %d"):format(name, got[i], want[i], i, n, shape[1],
                    shape[2]))
                end
              end
            end
          end
        end
      end
    end)
  end

  it("writes past the caches as other kernels do", function()
    local text = mwcc.ir(source_of { copy = rounds.usual:gsub("%+= 3 %*", "=") }, "_Z4copyijxPKiPi:256x1x1")
    assert(mwcc.count(text, "!nontemporal") > 0, text)
  end)

  it("ends where a kernel fails, and the next launch works", function()
    mw.limit("specialise", 1)
    local m = mw.compile [[
      __global__ void fill(int n, int *o) {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) o[i] = i;
      }]]
    local o = mw.zeros(5000, "int")
    local ok, failure = pcall(function()
      m.fill(2, 64)(2 ^ 31 - 1, o)
      mw.synchronize()
    end)
    assert.is_false(ok)
    assert.equal("cudaErrorIllegalAddress", failure.code)
    mw.device "cpu":reset()
    o = mw.zeros(5000, "int")
    m = mw.compile "__global__ void one(int *o) { o[threadIdx.x] = 1; }"
    m.one(1, 32)(o)
    assert.equal(1, o[32])
  end)
end)
