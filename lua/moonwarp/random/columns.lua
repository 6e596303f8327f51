-- Generators whose stream is woven of columns: XORWOW, Philox and MRG32k3a.
--
-- A column is a subsequence; it has drawn `row` words so far. Numbers are made in units (one number, a pair, Philox's
-- four), and columns make a unit each by turns, from column `column` on. So the stream depends on nothing but the
-- number of columns, which the kind's ordering says. Columns' states are words on the device; rows, of which only few
-- differ, are kept here as runs too, so that a generator can be saved, and be made anew anywhere.

local raw = require "moonwarp.binding"
local sources = require "moonwarp.random.sources"

local floor = math.floor

local M = {}
M.__index = M

local text = [[
#include <curand_kernel.h>
typedef unsigned long long ull;

/* base() for overloads that are templates otherwise. */
struct xorwow : curandStateXORWOW {
  __device__ curandStateXORWOW *base() { return this; }
  __device__ void begin(ull seed, int i, ull row, ull step) {
    curand_init(step ? seed + step * i : seed, step ? 0 : i, row, this);
  }
  __device__ void load(const unsigned *w, int columns, int i) {
    d = w[i];
    for (int k = 0; k < 5; k++) v[k] = w[(k + 1) * columns + i];
  }
  __device__ void store(unsigned *w, int columns, int i) const {
    w[i] = d;
    for (int k = 0; k < 5; k++) w[(k + 1) * columns + i] = v[k];
  }
};
struct mrg32k3a : curandStateMRG32k3a {
  __device__ curandStateMRG32k3a *base() { return this; }
  __device__ void begin(ull seed, int i, ull row, ull step) { curand_init(seed, i, row, this); }
  __device__ void load(const unsigned *w, int columns, int i) {
    for (int k = 0; k < 3; k++) s1[k] = w[k * columns + i], s2[k] = w[(k + 3) * columns + i];
  }
  __device__ void store(unsigned *w, int columns, int i) const {
    for (int k = 0; k < 3; k++) w[k * columns + i] = s1[k], w[(k + 3) * columns + i] = s2[k];
  }
};
/* Columns are at a counter's first word; the key stands once behind the counters. */
struct philox {
  uint4 counter;
  uint2 key;
  __device__ void begin(ull seed, int i, ull row, ull step) {
    key = make_uint2((unsigned)seed, (unsigned)(seed >> 32));
    counter = make_uint4((unsigned)(row >> 2), (unsigned)(row >> 34), i, 0);
  }
  __device__ void load(const unsigned *w, int columns, int i) {
    counter = make_uint4(w[i], w[columns + i], i, 0);
    key = make_uint2(w[2 * columns], w[2 * columns + 1]);
  }
  __device__ void store(unsigned *w, int columns, int i) const {
    w[i] = counter.x;
    w[columns + i] = counter.y;
    if (i == 0) w[2 * columns] = key.x, w[2 * columns + 1] = key.y;
  }
  __device__ uint4 four() {
    uint4 x = curand_Philox4x32_10(counter, key);
    counter.x++;
    counter.y += counter.x == 0;
    return x;
  }
};
]]
-- What makes a unit: V, the unit's type; of one, two or four numbers.
local draws = {
  one = {
    bits = { "unsigned int", "curand(s)" },
    uniform = { "float", "curand_uniform(s)" },
    uniform_double = { "double", "curand_uniform_double(s)" },
    normal = { "float2", "scaled(curand_box_muller(s->base()), a, b)" },
    normal_double = { "double2", "scaled(curand_box_muller_double(s->base()), a, b)" },
    lognormal = { "float2", "powers(curand_box_muller(s->base()), a, b)" },
    lognormal_double = { "double2", "powers(curand_box_muller_double(s->base()), a, b)" },
  },
  four = {
    bits = { "uint4", "s->four()" },
    uniform = { "float4", "_curand_uniform4(s->four())" },
    uniform_double = { "double4", "uniforms(s)" },
    normal = { "float4", "scaled(normals(s->four()), a, b)" },
    normal_double = { "double4", "scaled(normals_double(s), a, b)" },
    lognormal = { "float4", "powers(normals(s->four()), a, b)" },
    lognormal_double = { "double4", "powers(normals_double(s), a, b)" },
  },
}

local helpers = [[
__device__ float2 scaled(float2 x, float a, float b) {
  return make_float2(__mw_scale_and_add(x.x, b, a), __mw_scale_and_add(x.y, b, a));
}
__device__ double2 scaled(double2 x, double a, double b) {
  return make_double2(__mw_scale_and_add(x.x, b, a), __mw_scale_and_add(x.y, b, a));
}
__device__ float2 powers(float2 x, float a, float b) {
  return make_float2(__mw_lognormal_of(x.x, a, b), __mw_lognormal_of(x.y, a, b));
}
__device__ double2 powers(double2 x, double a, double b) {
  return make_double2(__mw_lognormal_of(x.x, a, b), __mw_lognormal_of(x.y, a, b));
}
]]
local helpers_of_four = [[
#define both(f, V, P) \
  __device__ V f(V x, double a, double b) { \
    P u = f(P{x.x, x.y}, a, b), v = f(P{x.z, x.w}, a, b); \
    return V{u.x, u.y, v.x, v.y}; \
  }
both(scaled, float4, float2)
both(scaled, double4, double2)
both(powers, float4, float2)
both(powers, double4, double2)
__device__ double4 uniforms(philox *s) {
  uint4 x = s->four(), y = s->four();
  return make_double4(_curand_uniform_double_hq(x.x, x.y), _curand_uniform_double_hq(x.z, x.w),
                      _curand_uniform_double_hq(y.x, y.y), _curand_uniform_double_hq(y.z, y.w));
}
__device__ float4 normals(uint4 x) {
  float2 u = _curand_box_muller(x.x, x.y), v = _curand_box_muller(x.z, x.w);
  return make_float4(u.x, u.y, v.x, v.y);
}
__device__ double4 normals_double(philox *s) {
  uint4 x = s->four(), y = s->four();
  double2 u = _curand_box_muller_double(x.x, x.y, x.z, x.w), v = _curand_box_muller_double(y.x, y.y, y.z, y.w);
  return make_double4(u.x, u.y, v.x, v.y);
}
]]
local begin = [[
extern "C" __global__ void begin(unsigned low, unsigned high, ull step, int columns, const ull *rows,
                                unsigned *words) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= columns) return;
  STATE s;
  s.begin((ull)high << 32 | low, i, rows[i], step);
  s.store(words, columns, i);
}
]]
-- Thread i has the i-th column from `first` on.
local fill = [[
extern "C" __global__ void NAME(unsigned *words, int columns, int first, int units, double a, double b, V *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= units || i >= columns) return;
  int column = first + i < columns ? first + i : first + i - columns;
  STATE state, *s = &state;
  state.load(words, columns, column);
  int rounds = units / columns;
  V *to = out + i;
  for (int round = 0; round < rounds; round++, to += columns) *to = DRAW;
  if (i < units - rounds * columns) *to = DRAW;
  state.store(words, columns, column);
}
]]

-- The words that a unit takes, and the numbers that it is.
local sizes = {
  one = {
    bits = { 1, 1 }, uniform = { 1, 1 }, uniform_double = { 2, 1 }, normal = { 2, 2 }, normal_double = { 4, 2 },
  },
  four = {
    bits = { 4, 4 }, uniform = { 4, 4 }, uniform_double = { 8, 4 }, normal = { 4, 4 }, normal_double = { 8, 4 },
  },
}
-- MRG32k3a's doubles are of one step.
sizes.mrg32k3a = setmetatable({ uniform_double = { 1, 1 }, normal_double = { 2, 2 } }, { __index = sizes.one })

local function kind_of(struct, group, size)
  local kernels = { begin = begin:gsub("STATE", struct) }
  for name, draw in pairs(draws[group]) do
    kernels[name] = fill:gsub("NAME", name):gsub("STATE", struct):gsub("%f[%w]V%f[%W]", draw[1])
      :gsub("DRAW", draw[2])
  end
  local shared = text .. helpers .. (group == "four" and helpers_of_four or "")
  return { source = sources.new(struct, shared, kernels), sizes = size, words = struct == "philox" and 3 or 6 }
end
local kinds = {
  xorwow = kind_of("xorwow", "one", sizes.one),
  mrg32k3a = kind_of("mrg32k3a", "one", sizes.mrg32k3a),
  philox = kind_of("philox", "four", sizes.four),
}
local columns_of = {
  xorwow = { default = 4096, best = 4096, legacy = 4096, seeded = 4096 },
  mrg32k3a = { default = 81920, best = 81920, legacy = 4096 },
  philox = { default = 65536, best = 65536, legacy = 65536 },
}

---@param kind string
---@return table ordering -> number of columns
function M.orderings(kind) return columns_of[kind] end

---@param g table kind, ordering, seed = {low, high}, offset
function M.begin(g)
  local self = setmetatable({ kind = g.kind, of = kinds[g.kind], seed = g.seed, seeded = g.ordering == "seeded" }, M)
  self.columns = columns_of[g.kind][g.ordering]
  self.column, self.skip, self.runs = 0, 0, { { from = 0, row = 0 } }
  self:jump(g.offset)
  return self
end

-- ---- rows ----

-- The run that begins at a column; one is cut in two for that if need be.
local function cut(runs, column)
  for at, run in ipairs(runs) do
    if run.from == column then return at end
    if run.from > column then
      table.insert(runs, at, { from = column, row = runs[at - 1].row })
      return at
    end
  end
  runs[#runs + 1] = { from = column, row = runs[#runs].row }
  return #runs
end

-- `count` columns from `first` on are `words` further.
function M:advance(first, count, words)
  if first + count > self.columns then
    self:advance(0, first + count - self.columns, words)
    count = self.columns - first
  end
  if count == 0 or words == 0 then return end
  local runs = self.runs
  local from = cut(runs, first)
  local to = first + count < self.columns and cut(runs, first + count) or #runs + 1
  for at = from, to - 1 do runs[at].row = runs[at].row + words end
  for at = #runs, 2, -1 do
    if runs[at].row == runs[at - 1].row then table.remove(runs, at) end
  end
end

-- All columns make `units` units of so many words.
function M:passed(units, words)
  local rounds = floor(units / self.columns)
  local rest = units - rounds * self.columns
  self:advance(0, self.columns, rounds * words)
  self:advance(self.column, rest, words)
  self.column = (self.column + rest) % self.columns
end

---Leave out n words.
function M:jump(n)
  local width = self.of.sizes.bits[1]
  n = n + self.skip
  self:passed(floor(n / width), width)
  self.skip = n % width
  self.states = nil
end

-- ---- drawing ----

function M:prepare()
  if self.states and self.states.device.name == raw.device().name then return end
  local columns, rows = self.columns, {}
  for at, run in ipairs(self.runs) do
    local last = self.runs[at + 1] and self.runs[at + 1].from or columns
    for i = run.from + 1, last do rows[i] = run.row end
  end
  self.states = raw.array_new("uint", { self.of.words, columns })
  self.of.source:kernel "begin"(math.ceil(columns / 128), 128)(self.seed[1], self.seed[2], self.seeded and 3133713 or 0,
    columns, raw.array_from(rows, "ulonglong"), self.states)
end

---How many numbers are made at once.
---@param what string
---@return integer
function M:unit(what) return self.of.sizes[(what:gsub("^log", ""))][2] end

---Draw whole units into an array.
---@param what string
---@param units integer
---@param out moonwarp.array contiguous
function M:draw(what, units, out, a, b)
  self:prepare()
  local threads = math.min(units, self.columns)
  local per_unit = self:unit(what)
  if per_unit > 1 then out = out:as(draws[per_unit == 4 and "four" or "one"][what][1]) end
  self.of.source:kernel(what)(math.ceil(threads / 128), 128)(self.states, self.columns, self.column, units, a, b, out)
  self:passed(units, self.of.sizes[(what:gsub("^log", ""))][1])
end

-- ---- as text ----

function M:save()
  local runs = {}
  for at, run in ipairs(self.runs) do runs[at] = ("%.0f:%.0f"):format(run.from, run.row) end
  return ("%.0f,%.0f,%s"):format(self.column, self.skip, table.concat(runs, ","))
end

function M:restore(saved)
  local column, skip, rest = saved:match "^(%d+),(%d+),(.+)$"
  self.column, self.skip, self.runs, self.states = tonumber(column), tonumber(skip), {}, nil
  for from, row in rest:gmatch "(%d+):(%d+)" do
    self.runs[#self.runs + 1] = { from = tonumber(from), row = tonumber(row) }
  end
end

return M
