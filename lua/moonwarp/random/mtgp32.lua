-- MTGP32: states of a set of parameters each, which draw 256 words by turns; a block is a state, a thread a word.

local raw = require "moonwarp.binding"
local sources = require "moonwarp.random.sources"

local M = {}
M.__index = M

local WORDS = 256 -- of a state by turns
local STATE, PARAMETERS = 4112, 40808 -- bytes of curandStateMtgp32_t, and no less than mtgp32_kernel_params_t has
local text = [[
#include <curand_kernel.h>
#include <moonwarp/random/mtgp32_begin.h>
typedef unsigned long long ull;

/* `rounds` turns of all states. Elements below `from` and from `end` on are none of the call's. Where the last turn is
 * `partial`, states stay before it: the next call makes it again. */
template <class Out, class Make>
__device__ void fill(curandStateMtgp32_t *states, mtgp32_kernel_params_t *k, int rounds, int partial, long long from,
                     long long end, Out *out, Make make) {
  __shared__ unsigned ring[1024];
  curandStateMtgp32_t *state = &states[blockIdx.x];
  int t = threadIdx.x, set = state->pIdx, pos = k->pos_tbl[set], sh1 = k->sh1_tbl[set], sh2 = k->sh2_tbl[set];
  unsigned mask = k->mask[0], at = state->offset;
  const unsigned *recursion = k->param_tbl[set], *temper = k->temper_tbl[set];
  for (int i = 0; i < 1024; i += 256) ring[i + t] = state->s[i + t];
  __syncthreads();
  for (int round = 0; round < rounds; round++) {
    unsigned here = at + t;
    unsigned x = (ring[here & 1023] & mask) ^ ring[here + 1 & 1023];
    x ^= x << sh1;
    unsigned y = x ^ ring[here + pos & 1023] >> sh2, word = y ^ recursion[y & 15];
    ring[here + MTGPDC_N & 1023] = word;
    word ^= temper[__mw_mtgp_entry(ring[here + pos - 1 & 1023])];
    long long i = ((long long)round * gridDim.x + blockIdx.x) * 256 + t;
    if (i >= from && i < end) out[i - from] = make(word);
    __syncthreads();
    if (round + 1 < rounds || !partial) at = at + 256 & 1023;
  }
  for (int i = 0; i < 1024; i += 256) state->s[i + t] = ring[i + t];
  if (t == 0) state->offset = at;
}
]]
local begin_parameters = [[
extern "C" __global__ void begin_parameters(void *parameters) {
  int set = blockIdx.x * blockDim.x + threadIdx.x;
  if (set < CURAND_NUM_MTGP32_PARAMS) __mw_mtgp_parameters(set, (mtgp32_kernel_params_t *)parameters);
}
]]
local begin_states = [[
extern "C" __global__ void begin_states(unsigned low, unsigned high, int count, void *parameters, void *states) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  __mw_mtgp_begin((ull)high << 32 | low, i, (mtgp32_kernel_params_t *)parameters, (curandStateMtgp32_t *)states + i);
}
]]
local fill = [[
struct make_NAME {
  double a, b;
  __device__ OUT operator()(unsigned x) const { return DRAW; }
};
extern "C" __global__ void NAME(void *states, void *parameters, int rounds, int partial, long long from,
                                long long end, double a, double b, OUT *out) {
  make_NAME make = {a, b};
  fill((curandStateMtgp32_t *)states, (mtgp32_kernel_params_t *)parameters, rounds, partial, from, end, out, make);
}
]]
local draws = {
  bits = { "unsigned int", "x" },
  uniform = { "float", "_curand_uniform(x)" },
  uniform_double = { "double", "_curand_uniform_double(x)" },
  normal = { "float", "__mw_scale_and_add(_curand_normal_icdf(x), (float)b, (float)a)" },
  -- cuRAND's host generator has no more digits here; of log-normal numbers it has
  normal_double = { "double", "__mw_scale_and_add((double)_curand_normal_icdf(x), b, a)" },
  lognormal = { "float", "__mw_lognormal_of(_curand_normal_icdf(x), (float)a, (float)b)" },
  lognormal_double = { "double", "__mw_lognormal_of(_curand_normal_icdf_double(x), a, b)" },
  poisson = { "unsigned int", "_curand_poisson(x, a)" },
}
do
  local kernels = { begin_parameters = begin_parameters, begin_states = begin_states }
  for name, draw in pairs(draws) do
    kernels[name] = fill:gsub("NAME", name):gsub("OUT", draw[1]):gsub("DRAW", draw[2])
  end
  M.source = sources.new("MTGP32", text, kernels)
end

local states_of = { default = 192, best = 192, legacy = 64 }
function M.orderings() return states_of end

---@param g table ordering, seed = {low, high}, offset
function M.begin(g)
  return setmetatable({ seed = g.seed, count = states_of[g.ordering], at = g.offset, skip = 0 }, M)
end

function M.unit() return 1 end

-- States and parameters on the device in use, at turn 0.
function M:prepare()
  if self.states and self.states.device.name == raw.device().name then return end
  self.parameters = raw.array_new("ulonglong", { PARAMETERS / 8 })
  self.states = raw.array_new("ulonglong", { self.count, STATE / 8 })
  self.source:kernel "begin_parameters"(2, 128)(self.parameters)
  local begin = self.source:kernel "begin_states"
  begin(math.ceil(self.count / 64), 64)(self.seed[1], self.seed[2], self.count, self.parameters, self.states)
  self.turn = 0
end

---Leave out n words: they have to be made, but when the next ones are.
function M:jump(n) self.at = self.at + n end

function M:draw(what, count, out, a, b)
  self:prepare()
  local turn = self.count * WORDS
  local function run(name, rounds, partial, from, last)
    self.source:kernel(name)(self.count, WORDS)(self.states, self.parameters, rounds, partial, from, last, a, b, out)
  end
  local rounds = math.floor(self.at / turn) - self.turn
  if rounds > 0 then run("bits", rounds, 0, 0, 0) end
  local from = self.at % turn
  local last = from + count
  local whole = math.floor(last / turn)
  run(what, math.ceil(last / turn), last % turn > 0 and 1 or 0, from, last)
  self.at = self.at + count
  self.turn = self.turn + math.max(rounds, 0) + whole
end

function M:save() return ("%.0f"):format(self.at) end
function M:restore(saved)
  self.at, self.states = tonumber(saved), nil
end

return M
