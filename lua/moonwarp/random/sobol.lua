-- Sobol's sequences, of 32 and 64 bits, plain and scrambled: n numbers of d dimensions are n / d elements of the first,
-- then those of the second, …
--
-- Element i is the exclusive or of the direction vectors at the bits of i's Gray code. A thread makes elements that lie
-- 2^k apart: from one to the next the Gray code changes at bit k - 1 and at one bit above, the same for all threads.

local raw = require "moonwarp.binding"
local sources = require "moonwarp.random.sources"
local vectors = require "moonwarp.random.vectors"

local M = {}
M.__index = M



local text = [[
#include <curand_kernel.h>
typedef unsigned long long ull;
typedef WORD word;

/* Elements `first` to `first + count` of each dimension (blockIdx.y); of threads there are 2^k, k > 0. */
template <class Out, class Make>
__device__ void fill(const word *vectors, const word *begins, int k, word first, int count, Out *out, Make make) {
  const int bits = sizeof(word) * 8;
  int thread = blockIdx.x * blockDim.x + threadIdx.x, stride = 1 << k;
  const word *v = vectors + blockIdx.y * bits;
  Out *to = out + (ull)blockIdx.y * count;
  word base = first >> k << k, at = base + thread;
  word gray = at ^ at >> 1, x = begins[blockIdx.y];
  for (int bit = 0; bit < bits; bit++) x ^= gray >> bit & 1 ? v[bit] : 0;
  int lead = (int)(first - base), rounds = (lead + count + stride - 1) >> k;
  word round_at = base >> k, by = v[k - 1];
  for (int round = 0; round < rounds; round++) {
    int i = (round << k) + thread - lead;
    if (i >= 0 && i < count) to[i] = make(x);
    x ^= by ^ v[(k + __mw_lowest_zero(round_at)) & (bits - 1)];
    round_at++;
  }
}
]]
local fill = [[
struct make_NAME {
  double a, b;
  __device__ OUT operator()(word x) const { return DRAW; }
};
extern "C" __global__ void NAME(const word *vectors, const word *begins, int k, word first, int count, double a,
                                double b, OUT *out) {
  make_NAME make = {a, b};
  fill(vectors, begins, k, first, count, out, make);
}
]]
local draws = {
  bits = { "word", "x" },
  uniform = { "float", "_curand_uniform(x)" },
  uniform_double = { "double", "_curand_uniform_double(x)" },
  normal = { "float", "__mw_scale_and_add(_curand_normal_icdf(x), (float)b, (float)a)" },
  normal_double = { "double", "__mw_scale_and_add(_curand_normal_icdf_double(x), b, a)" },
  lognormal = { "float", "__mw_lognormal_of(_curand_normal_icdf(x), (float)a, (float)b)" },
  lognormal_double = { "double", "__mw_lognormal_of(_curand_normal_icdf_double(x), a, b)" },
  poisson = { "unsigned int", "_curand_poisson(x, a)" },
}

local made = {}
local function source_of(word)
  if not made[word] then
    local kernels = {}
    for name, draw in pairs(draws) do
      kernels[name] = fill:gsub("NAME", name):gsub("OUT", draw[1]):gsub("DRAW", draw[2])
    end
    made[word] = sources.new("Sobol", (text:gsub("WORD", word)), kernels)
  end
  return made[word]
end

---@param g table kind, dimensions, offset
function M.begin(g)
  local wide = g.kind:find "64" ~= nil
  return setmetatable({ kind = g.kind, seed = g.seed, wide = wide, dimensions = g.dimensions, at = g.offset, skip = 0,
    source = source_of(wide and "ull" or "unsigned int") }, M)
end

function M:jump(n) self.at = self.at + n end
function M.unit() return 1 end

function M:draw(what, count, out, a, b)
  if not self.vectors or self.vectors.device.name ~= raw.device().name then
    self.vectors, self.begins = vectors.arrays(self.kind, self.dimensions, self.seed)
  end
  count = math.floor(count / self.dimensions)
  local k = 12
  while k > 7 and 2 ^ (k - 1) >= count do k = k - 1 end
  local kernel = self.source:kernel(what)
  kernel({ 2 ^ k / 128, self.dimensions }, 128)(self.vectors, self.begins, k, self.at, count, a, b, out)
  self.at = self.at + count
end

function M:save() return ("%.0f"):format(self.at) end
function M:restore(saved) self.at = tonumber(saved) end

return M
