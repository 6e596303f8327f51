-- What kernels of a measured run on a GPU count themselves (device/moonwarp/measured_run/count.h), run on the CPU
-- device with the lanes of random warps, and what measuring these accesses on the CPU device counts.
-- CPU device only: no other runs both

local mw = require "moonwarp"
local random = require "support.random" "measured warps"

local WARPS, BYTES = 128, 16384
local COUNTS = { "requests", "sectors", "ideal", "wavefronts", "least", "lane_bytes", "used", "collisions", "rounds",
  "round_wavefronts", "moved" }
local RULES = { [0] = "9.0", "1.1", "1.2" }

-- An access of `bytes` at p, its kind (mw_site_kind), and flags (MW_MEASURED_…).
local ACCESSES = {
  { "load of 1", "sum += *(unsigned char *)p", bytes = 1, kind = 0 },
  { "load of 2", "sum += *(short *)p", bytes = 2, kind = 0 },
  { "load of 4", "sum += *(int *)p", bytes = 4, kind = 0 },
  { "load of 8", "sum += *(double *)p", bytes = 8, kind = 0 },
  { "load of 16", "float4 v = *(float4 *)p; sum += v.x + v.y + v.z + v.w", bytes = 16, kind = 0 },
  { "load of 4 that is not aligned", "sum += *(loose_int *)p", bytes = 4, kind = 0, align = 1 },
  { "load of 8 that is not aligned", "sum += *(loose_long *)p", bytes = 8, kind = 0, align = 2 },
  { "store of 1", "*(char *)p = 1", bytes = 1, kind = 1 },
  { "store of 4", "*(int *)p = 1", bytes = 4, kind = 1 },
  { "store of 8 that is not aligned", "*(loose_long *)p = 1", bytes = 8, kind = 1, align = 4 },
  { "store of 16", "*(int4 *)p = make_int4(1, 2, 3, 4)", bytes = 16, kind = 1 },
  { "atomic of 4", "sum += atomicAdd((int *)p, 1)", bytes = 4, kind = 2 },
  { "atomic of 8", "sum += atomicMax((unsigned long long *)p, 1ull)", bytes = 8, kind = 2 },
  { "reduction of 4", "atomicAdd((int *)p, 1)", bytes = 4, kind = 3 },
  { "sum of floats", "atomicAdd((float *)p, 1.f)", bytes = 4, kind = 3, swapped = true },
}

local source = [[
#include "moonwarp/measured_run/count.h"
typedef int loose_int __attribute__((aligned(1)));
typedef long long loose_long __attribute__((aligned(1)));
__global__ void count(char *memory, const int *offsets, const unsigned *masks, unsigned bytes, unsigned what,
                      unsigned rules, bool shared, unsigned long long *out) {
  __shared__ __align__(128) char own[16384];
  unsigned lanes = masks[blockIdx.x];
  if (!(lanes >> threadIdx.x & 1)) return;
  __mw_measured_call c = { (unsigned long long)(shared ? own : memory) + offsets[blockIdx.x * 32 + threadIdx.x], lanes,
                           threadIdx.x, bytes, what };
  mw_measured_sums s = {};
  if (shared) __mw_measured_shared(c, rules, s); else __mw_measured_global(c, rules, s);
  if (threadIdx.x != __mw_measured_lowest(lanes)) return;
  unsigned long long all[] = { s.requests, s.sectors, s.ideal, s.wavefronts, s.least, s.bytes, s.used, s.collisions,
                               s.rounds, s.round_wavefronts, s.moved };
  for (int i = 0; i < 11; i++) out[blockIdx.x * 11 + i] = all[i];
}
]]

local line = select(2, source:gsub("\n", "\n"))
for i, access in ipairs(ACCESSES) do
  for space = 0, 1 do
    source = source .. ([[
__global__ void access_%d_%d(char *memory, const int *offsets, const unsigned *masks, double *out) {
  %s
  char *p = %s + offsets[blockIdx.x * 32 + threadIdx.x];
  double sum = 0;
  if (!(masks[blockIdx.x] >> threadIdx.x & 1)) return;
  %s;
  out[blockIdx.x * 32 + threadIdx.x] = sum;
}
]]):format(i, space, space == 1 and "__shared__ __align__(128) char own[16384];" or "",
      space == 1 and "own" or "memory", access[2])
    access[space] = line + 6
    line = line + 8
  end
end

-- ---- random warps ----

local function shapes(align)
  local function within(n) return random(0, n - 1) end
  local start, stride = within(64) * align, within(40) * align
  local near, far = within(256) + 1, math.floor((BYTES - 4096) / align)
  return {
    function(lane) return start + lane * stride end,                                -- ascending
    function(lane) return start + (31 - lane) * stride end,                         -- descending
    function(lane) return start + lane % 16 * align + math.floor(lane / 16) * 64 * align end, -- rows of 16
    function() return start end,                                                    -- one address
    function() return within(near) * align end,                                     -- collisions
    function() return within(far) * align end,
    function(lane) return start + (lane % 4 == 0 and within(8) or lane) * align end, -- nearly in order
    function(lane) return lane * align end,                                         -- in order from a segment on
  }
end

local function mask()
  local kind = random(1, 5)
  if kind <= 2 then return 0xffffffff end
  if kind == 3 then return 2 ^ random(0, 31) end
  if kind == 4 then return 2 ^ random(1, 32) - 1 end
  return random(1, 0xffffffff)
end

local function warps(access)
  local align = access.align or access.bytes
  local offsets, masks = {}, {}
  for w = 1, WARPS do
    local list = shapes(align)
    local at = list[random(1, #list)]
    for lane = 0, 31 do offsets[#offsets + 1] = at(lane) % (BYTES - 64) end
    masks[w] = mask()
  end
  return mw.array(offsets, "int"), mw.array(masks, "uint")
end

describe("the counts of a kernel that measures itself", function()
  local module = mw.compile { name = "counts.cu", source = source }
  local memory, results = mw.zeros(BYTES, "char"), mw.zeros(WARPS * 32, "double")

  local function counted(access, space, rules, offsets, masks)
    local out, sums = mw.zeros(WARPS * 11, "ulong"), {}
    local what = access.kind + (space == 1 and access.swapped and 512 or 0)
    module.count(WARPS, 32)(memory, offsets, masks, access.bytes, what, rules, space == 1, out)
    local numbers = out:totable()
    for i, name in ipairs(COUNTS) do
      sums[name] = 0
      for w = 0, WARPS - 1 do sums[name] = sums[name] + tonumber(numbers[w * 11 + i]) end
    end
    return sums
  end

  local function measured(access, i, space, rules, offsets, masks)
    local kernel = module["access_" .. i .. "_" .. space]
    local run = mw.measure(kernel, WARPS, 32, 0, { capability = RULES[rules] })(memory, offsets, masks, results)
    local sums = {}
    for _, site in ipairs(run.sites) do
      if site.line == access[space] and site.kind == access.kind then
        for _, name in ipairs(COUNTS) do sums[name] = (sums[name] or 0) + site[name] end
      end
    end
    return sums
  end

  for i, access in ipairs(ACCESSES) do
    for space = 0, 1 do
      it(("are the CPU device's: %s, %s memory"):format(access[1], space == 1 and "shared" or "global"), function()
        for rules = 0, 2 do
          local offsets, masks = warps(access)
          local expected = measured(access, i, space, rules, offsets, masks)
          assert.same(expected, counted(access, space, rules, offsets, masks), RULES[rules])
          assert.equal(WARPS, expected.requests)
        end
      end)
    end
  end
end)

-- ---- whole kernels, with the calls that mwcc would make, written by hand ----

local marked = [[
#include "moonwarp/measured_run/calls.h"
#define CODE(n) __mw_guard_measured_code(l, n, __activemask(), MW_MEASURED_COMES)
#define EVENT(n) __mw_guard_measured_event(l, n, __activemask())
#define BRANCH(n, takes) __mw_guard_measured_branch(l, n, __activemask(), takes)
#define ACCESS(n, what, bytes, p) \
  __mw_guard_measured_access(l, n, __activemask(), what, bytes, (unsigned long long)(p))
__global__ void prepare(char *memory, unsigned long long *sums, char *samples, unsigned sites, unsigned rules) {
  mw_measured_launch *launch = (mw_measured_launch *)memory;
  launch->sums = (unsigned long long)sums;
  launch->samples = (unsigned long long)samples;
  launch->site_count = sites;
  launch->rules = rules;
}
__global__ void steps(const char *memory, const char *samples, unsigned site, unsigned *out) {
  const mw_measured_launch *launch = (const mw_measured_launch *)memory;
  const mw_measured_sample *sample = (const mw_measured_sample *)samples + site;
  out[0] = launch->step_count;
  for (int i = 0; i < 512; i++) { out[1 + 2 * i] = launch->steps[i].site; out[2 + 2 * i] = launch->steps[i].lanes; }
  out[1025] = sample->lanes;
  for (int lane = 0; lane < 32; lane++) out[1026 + lane] = (unsigned)(sample->at[lane] - sample->at[0]);
}
]]

local plain = [[
#define CODE(n)
#define EVENT(n)
#define BRANCH(n, takes)
#define ACCESS(n, what, bytes, p)
]]

local kernel = [[
__global__ void k(char *memory, int n, int *x, float *y) {
  __shared__ float tile[256];
  unsigned long long l = (unsigned long long)memory;
  int i = threadIdx.x;
  unsigned all = __activemask();
  CODE(0); BRANCH(1, i < n);
  if (i < n) {
    ACCESS(2, 0 | 1 << 4, 4, y + 2 * i);
    float v = y[2 * i];                     // LOAD
    ACCESS(3, 1 | 3 << 4, 4, tile + i * 4 % 256);
    tile[i * 4 % 256] = v;                  // SHARED
  }
  __syncwarp(all); // lanes are active together again
  EVENT(4); __syncthreads();
  float *where = i / 32 % 2 ? tile + i : y + i;
  ACCESS(5, 0, 4, where);
  float w = *where;                         // ANY
  ACCESS(6, 3 | 1 << 4, 4, x + i % 5);
  atomicAdd(x + i % 5, (int)w);             // ATOMIC
}
]]

describe("a kernel that tells what it does", function()
  local SITES, PER_SPACE, SPACES, COPIES = 7, 15, 6, 8
  local ORDER = { "executed", "lanes", "full", "divergent", "requests", "sectors", "ideal", "wavefronts", "least",
    "lane_bytes", "used", "collisions", "rounds", "round_wavefronts", "moved" }
  local KINDS = { 7, 0, 1, 4, 0, 3 } -- of sites 1 to 6
  local LINES = { [2] = "LOAD", [3] = "SHARED", [5] = "ANY", [6] = "ATOMIC" }
  local m = mw.compile { name = "marked.cu", source = marked .. kernel }
  local same = mw.compile { name = "plain.cu", source = plain .. kernel }
  local sums, samples = mw.zeros(COPIES * SITES * SPACES * PER_SPACE, "ulong"), mw.zeros(SITES * 264, "char")
  local launch, x, y = mw.zeros(8192, "char"), mw.zeros(256, "int"), mw.ones(1024, "float")
  local drawn = mw.zeros(1058, "uint")
  m.prepare(1, 1)(launch, sums, samples, SITES, 0)
  m.k(3, 200)(launch, 77, x, y)
  m.steps(1, 1)(launch, samples, 2, drawn)
  local run = mw.measure(same.k, 3, 200)(launch, 77, x, y)
  local numbers, picture = sums:totable(), drawn:totable()

  local function told(site, space)
    local total = {}
    for i, name in ipairs(ORDER) do
      total[name] = 0
      for copy = 0, COPIES - 1 do
        local at = ((copy * SITES + site) * SPACES + space) * PER_SPACE + i
        total[name] = total[name] + tonumber(numbers[at])
      end
    end
    return total
  end

  local function measured(site, space)
    local before = LINES[site] and (plain .. kernel):match("^(.-)[^\n]*// " .. LINES[site])
    local at = before and select(2, before:gsub("\n", "")) + 1
    for _, s in ipairs(run.sites) do
      if s.kind == KINDS[site] and s.space == space and (not at or s.line == at) then
        local counts = {}
        for _, name in ipairs(ORDER) do counts[name] = s[name] end
        return counts
      end
    end
  end

  for _, case in ipairs { { 1, 0, "branches" }, { 2, 1, "global memory" }, { 3, 3, "shared memory" },
    { 4, 0, "barriers" }, { 5, 1, "either memory, global" }, { 5, 3, "either memory, shared" },
    { 6, 1, "atomic operations" } } do
    it("adds up what the CPU device counts: " .. case[3], function()
      local expected = measured(case[1], case[2])
      assert.is_true(expected.executed > 0)
      assert.same(expected, told(case[1], case[2]))
    end)
  end

  it("keeps the first warp's steps and the first access of each place, of the first block", function()
    assert.equal(21, told(0, 0).executed)
    assert.same({ 1, 0, 0xffffffff }, { picture[1], picture[2], picture[3] })
    assert.equal(0xffffffff, picture[1026])
    assert.same({ 0, 8, 248 }, { picture[1027], picture[1028], picture[1058] })
  end)

  it("counts nothing where nothing is measured", function()
    local before = sums:totable()
    m.k(1, 64)(nil, 64, x, y)
    assert.same(before, sums:totable())
  end)
end)
