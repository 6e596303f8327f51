-- Kernels that make numbers from a generator's words or uniform numbers, a fixed count of them for each.

local sources = require "moonwarp.random.sources"

local M = {}

local kernels = {}
-- The upper half of a 64-bit product; the probabilities of two values differ by less than range / 2^64.
kernels.integers = [[
extern "C" __global__ void integers(int count, const unsigned *words, long long low, ull range, long long *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = low + (long long)__umul64hi((ull)words[2 * i] << 32 | words[2 * i + 1], range);
}
]]
kernels.bernoulli = [[
extern "C" __global__ void bernoulli(int count, const double *u, double p, bool *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = u[i] <= p;
}
]]
kernels.exponential = [[
extern "C" __global__ void exponential(int count, double scale, float *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) x[i] = (float)scale * -logf(x[i]);
}
]]
kernels.exponential_double = [[
extern "C" __global__ void exponential_double(int count, double scale, double *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) x[i] = scale * -log(x[i]);
}
]]
-- The Fisher-Yates shuffle: each exchange depends on those before it, so one thread makes them all.
kernels.permutation = [[
extern "C" __global__ void permutation(int count, const unsigned *words, int *out) {
  for (int i = 0; i < count; i++) {
    int j = (int)__umul64hi((ull)words[2 * i] << 32 | words[2 * i + 1], (ull)(i + 1));
    if (j < i) out[i] = out[j];
    out[j] = i + 1;
  }
}
]]
-- The first number whose cumulative weight is at least u.
kernels.weighted = [[
extern "C" __global__ void weighted(int count, const double *u, int n, const double *sums, long long *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  double goal = u[i] * sums[n - 1];
  int below = 0, above = n - 1;
  while (below < above) {
    int middle = (below + above) >> 1;
    if (sums[middle] >= goal) above = middle;
    else below = middle + 1;
  }
  out[i] = below + 1;
}
]]
-- Rows of `size` words each by their numbers, which count from 1; a thread has a word.
kernels.rows = [[
template <class W>
__device__ void rows(long long count, long long size, const long long *numbers, const W *in, W *out) {
  long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = in[(numbers[i / size] - 1) * size + i % size];
}
extern "C" __global__ void NAME(long long count, long long size, const long long *numbers, const WORD *in, WORD *out) {
  rows(count, size, numbers, in, out);
}
]]
kernels.rows_of_bytes = kernels.rows:gsub("NAME", "rows_of_bytes"):gsub("WORD", "unsigned char")
kernels.rows_of_words = kernels.rows:gsub("NAME", "rows_of_words"):gsub("WORD", "unsigned")
kernels.rows = nil
local source = sources.new("distributions", "typedef unsigned long long ull;\n", kernels)

local samples = sources.new("samples", "#include <moonwarp/random/distributions/samples.h>\n", {
  gamma = "MW_SAMPLES(gamma, float, gamma_sample(&stream, a, b))\n",
  gamma_double = "MW_SAMPLES(gamma_double, double, gamma_sample(&stream, a, b))\n",
  beta = "MW_SAMPLES(beta, float, beta_sample(&stream, a, b))\n",
  beta_double = "MW_SAMPLES(beta_double, double, beta_sample(&stream, a, b))\n",
  binomial = "MW_SAMPLES(binomial, long long, binomial_sample(&stream, a, b))\n",
})

---Run the kernel of a name with one thread for each of `count` numbers; the count is its first argument.
---@param name string
---@param count integer
function M.run(name, count, ...)
  if count == 0 then return end
  source:kernel(name)(math.ceil(count / 128), 128)(count, ...)
end

---Numbers made from two words each.
---@param name string
---@param out moonwarp.array
function M.sample(name, words, a, b, out)
  if out.count > 0 then samples:kernel(name)(math.ceil(out.count / 128), 128)(out.count, words, a, b, out) end
end

---Copy rows of an array, by their numbers, into an array of the same dtype.
---@param numbers moonwarp.array longlong, from 1
---@param from moonwarp.array
---@param out moonwarp.array
function M.take(numbers, from, out)
  if out.count == 0 then return end
  local bytes = out.nbytes / numbers.count
  local name, word, size = "rows_of_words", "uint", 4
  if bytes % 4 ~= 0 then name, word, size = "rows_of_bytes", "uchar", 1 end
  local words = out.nbytes / size
  source:kernel(name)(math.ceil(words / 128), 128)(words, bytes / size, numbers, from:as(word), out:as(word))
end

---The numbers 1 to count in the order that the words determine.
function M.permute(count, words, out)
  if count > 0 then source:kernel "permutation"(1, 1)(count, words, out) end
end

return M
