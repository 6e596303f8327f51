-- Numbers that are made of a generator's words or uniform numbers, a fixed count each, on the device.

local sources = require "moonwarp.random.sources"

local M = {}

local kernels = {}
-- Of 64 bits the upper part of a product: no value is likelier than another by more than range / 2^64.
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
-- Fisher and Yates's shuffle: each exchange depends on those before it, so one thread makes them all.
kernels.permutation = [[
extern "C" __global__ void permutation(int count, const unsigned *words, int *out) {
  for (int i = 0; i < count; i++) {
    int j = (int)__umul64hi((ull)words[2 * i] << 32 | words[2 * i + 1], (ull)(i + 1));
    out[i] = out[j];
    out[j] = i + 1;
  }
}
]]
local source = sources.new("distributions", "typedef unsigned long long ull;\n", kernels)

---Run the kernel of a name with a thread for each of `count` numbers, which is its first argument.
---@param name string
---@param count integer
function M.run(name, count, ...)
  if count == 0 then return end
  source:kernel(name)(math.ceil(count / 128), 128)(count, ...)
end

---The numbers 1 to count in an order that the words say.
function M.permute(count, words, out)
  if count > 0 then source:kernel "permutation"(1, 1)(count, words, out) end
end

return M
