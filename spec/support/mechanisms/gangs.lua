-- Kernels whose best gang is hard to guess: gathers, loops that lanes leave at different times, arrays of a thread,
-- sums of products, barriers: see fuzz.lua. Floats have all their bits, so that contraction shows, and are below 1/2,
-- so that few sums grow.

local function floats(draw, count)
  local list = {}
  for i = 1, count do list[i] = (draw(2 ^ 24) - 2 ^ 23) / 2 ^ draw.between(24, 28) end
  return list
end

return function(draw)
  local block = draw.pick { 4, 8, 16, 32, 48, 64, 128 }
  local blocks, places = draw.between(1, 9), draw.between(3, 16)
  local waits, guarded = draw.chance(35), draw.chance(50)
  local n = guarded and math.max(1, blocks * block - draw.between(0, block)) or blocks * block
  local real = draw.pick { "float", "float", "double" }

  local statements = {
    "h = t[h & 255] ^ (h >> 8);",
    "h = h * 1664525u + (t[(h >> 24) & 255] & 255u);",
    "sum = sum * REAL(0.75) + x[h & 255];",
    "sum -= x[(h >> 3) & 255] * x[k & 255];",
    "row[(h >> 5) % PLACES] += x[h & 255] * sum;",
    "row[k % PLACES] = row[(k + 1) % PLACES] * x[k & 255] - sum;",
    "if (h & 64) sum += x[(h + k) & 255] / (REAL(2) + (h & 3)); else h += 3u;",
    "if ((h & 31) == 7) break;",
    "if (h & 1) { h ^= 0x5bd1e995u; row[0] = fmaf_(row[0], REAL(0.5), sum); }",
    "sum = row[(i + k) % PLACES] * sum + x[(i * 7 + k) & 255] * row[0];",
  }
  local body = {}
  for s = 1, draw.between(2, 6) do body[s] = draw.pick(statements) end
  local limit = draw.pick { "steps", "steps + i % 5", "(int)(h & 15)", "9" }
  local shares = waits and [[
  __shared__ T shared[BLOCK];
  shared[threadIdx.x] = sum;
  __syncthreads();
  for (int d = 1; d < BLOCK; d *= 2) {
    T other = (int)threadIdx.x >= d ? shared[threadIdx.x - d] : REAL(0);
    __syncthreads();
    shared[threadIdx.x] += other * x[d & 255];
    __syncthreads();
  }
  sum = shared[threadIdx.x];]] or ""
  local guard = not guarded and "" or waits and "bool on = i < n;" or "if (i >= n) return;"
  local source = ([[
static __device__ T NAME_fma(T a, T b, T c) { return a * b + c; }
__global__ void NAME(int n, int steps, const unsigned *t, const T *x, unsigned *out, T *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  GUARD
  unsigned h = i * 0x9E3779B9u + 1u;
  T sum = 0, row[PLACES];
  for (int k = 0; k < PLACES; k++) row[k] = x[(i + k) & 255];
  for (int k = 0; k < LIMIT; k++) { BODY }
  SHARES
  for (int k = 0; k < PLACES; k++) sum += row[k] * x[k];
  STORE { out[i] = h; y[i] = sum; }
}]]):gsub("BODY", function() return table.concat(body, "\n    ") end):gsub("SHARES", function() return shares end)
    :gsub("GUARD", guard):gsub("STORE", guarded and waits and "if (on)" or "")
    :gsub("LIMIT", function() return limit end)
    :gsub("fmaf_", "NAME_fma")
    :gsub("PLACES", tostring(places)):gsub("BLOCK", tostring(block))
    :gsub("REAL", "T"):gsub("%f[%w_]T%f[^%w_]", real)
  local words = {}
  for k = 1, 256 do words[k] = draw(2 ^ 31) * 2 + draw(2) end
  return { source = source, launches = { { grid = blocks, block = block, arguments = {
    n, draw.between(1, 12), { type = "uint", size = 256, values = words },
    { type = real, size = 256, values = floats(draw, 256) },
    { type = "uint", size = blocks * block }, { type = real, size = blocks * block } } } } }
end
