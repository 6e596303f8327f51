-- Sobol's direction vectors, made on the device out of Joe and Kuo's numbers, and what scrambles them: each dimension
-- is multiplied by a random lower triangular matrix and begins at a random word. (Matousek, "On the L2-discrepancy for
-- anchored boxes", 1998) Philox makes those of the seed.

local raw = require "moonwarp.binding"
local sources = require "moonwarp.random.sources"

local M = { DIMENSIONS = 20000 }

local text = [[
#include <curand_kernel.h>
typedef unsigned long long ull;

/* (m - 1) / 2 of the first number m, the second, … stand in 0, 1, … bits. */
__device__ unsigned packed(const unsigned *words, int at, int bits) {
  ull two = words[at >> 5] | (at >> 5 < 4 ? (ull)words[(at >> 5) + 1] << 32 : 0);
  return (unsigned)(two >> (at & 31)) & ((1u << bits) - 1);
}

/* m[k] * 2^(bits - 1 - k), and the recurrence of the polynomial. */
template <class W> __device__ void vectors(const unsigned *numbers, W *v) {
  const int bits = sizeof(W) * 8;
  unsigned polynomial = numbers[0];
  int degree = polynomial == 1 ? 0 : 31 - __clz((int)polynomial);
  for (int k = 0, at = 0; k < bits; k++) {
    if (degree == 0) {
      v[k] = (W)1 << (bits - 1 - k);
    } else if (k < degree) {
      v[k] = (W)(2 * packed(numbers + 1, at, k) + 1) << (bits - 1 - k);
      at += k;
    } else {
      W x = v[k - degree] ^ v[k - degree] >> degree;
      for (int i = 1; i < degree; i++)
        if (polynomial >> (degree - i) & 1) x ^= v[k - i];
      v[k] = x;
    }
  }
}
template <class W> __device__ W random_word(unsigned low, unsigned high, int dimension, int n) {
  uint4 x = curand_Philox4x32_10(make_uint4(n, dimension, 0, 0x50b01), make_uint2(low, high));
  return (W)((ull)x.y << 32 | x.x);
}
template <class W> __device__ void make(const unsigned *numbers, int dimensions, int scrambled, unsigned low,
                                        unsigned high, W *v, W *begins) {
  const int bits = sizeof(W) * 8;
  int d = blockIdx.x * blockDim.x + threadIdx.x;
  if (d >= dimensions) return;
  v += d * bits;
  vectors(numbers + d * 6, v);
  begins[d] = 0;
  if (!scrambled) return;
  W columns[sizeof(W) * 8]; /* of the matrix: 1 at a bit, anything below it */
  for (int k = 0; k < bits; k++) {
    W bit = (W)1 << k;
    columns[k] = bit | (random_word<W>(low, high, d, k) & (bit - 1));
  }
  for (int i = 0; i < bits; i++) {
    W x = 0;
    for (int k = 0; k < bits; k++) x ^= v[i] >> k & 1 ? columns[k] : 0;
    v[i] = x;
  }
  begins[d] = random_word<W>(low, high, d, bits);
}
]]
local make = [[
extern "C" __global__ void NAME(const unsigned *numbers, int dimensions, int scrambled, unsigned low, unsigned high,
                                WORD *v, WORD *begins) {
  make(numbers, dimensions, scrambled, low, high, v, begins);
}
]]
local source = sources.new("direction vectors", text, {
  make32 = make:gsub("NAME", "make32"):gsub("WORD", "unsigned"),
  make64 = make:gsub("NAME", "make64"):gsub("WORD", "ull"),
})

local digits = {}
for i = 1, 64 do
  digits[("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"):byte(i)] = i - 1
end

-- The bytes of a text in base 64.
local function bytes_of(text_of_digits)
  return (text_of_digits:gsub("....", function(four)
    local a, b, c, d = four:byte(1, 4)
    local n = ((digits[a] * 64 + digits[b]) * 64 + digits[c]) * 64 + digits[d]
    return string.char(math.floor(n / 65536), math.floor(n / 256) % 256, n % 256)
  end))
end

---Direction vectors and first words of so many dimensions, as arrays on the device in use.
---@param kind string
---@param dimensions integer
---@param seed integer[] low, high
---@return moonwarp.array vectors {dimensions, 32 or 64}
---@return moonwarp.array begins
function M.arrays(kind, dimensions, seed)
  local list, lines = raw.part "random.joe_kuo", {}
  for line in list:gmatch "%S+" do
    if #lines * 3 >= dimensions then break end
    lines[#lines + 1] = line
  end
  local numbers = raw.array_new("uint", { dimensions, 6 })
  numbers:copy_from(bytes_of(table.concat(lines):sub(1, dimensions * 32)))
  local bits = kind:find "64" and 64 or 32
  local dtype = bits == 64 and "ulonglong" or "uint"
  local vectors, begins = raw.array_new(dtype, { dimensions, bits }), raw.array_new(dtype, { dimensions })
  source:kernel("make" .. bits)(math.ceil(dimensions / 64), 64)(numbers, dimensions,
    kind:find "scrambled" and 1 or 0, seed[1], seed[2], vectors, begins)
  return vectors, begins
end

return M
