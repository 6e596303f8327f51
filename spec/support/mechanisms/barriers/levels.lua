-- Kernels with barriers that work by levels, each with half or twice as many threads as the one before: trees of
-- additions and transforms in shared memory, whose block may be one gang: see fuzz.lua.

local types = { { name = "float", dtype = "float" }, { name = "int", dtype = "int" },
  { name = "double", dtype = "double" } }

return function(draw)
  local t, threads = draw.pick(types), draw.pick { 32, 64, 64, 128, 256, 256 }
  local rows = draw.chance(20) and threads <= 64 and 4 or 1
  local guard = draw.pick { "t < half", "t < half", "t <= half - 1", "half > t", "!(t >= half)", "t < half && t != 3" }
  local first = draw.pick { "threads / 2", "threads", "threads / 4" }
  local down = ("for (int half = %s; half > %d; half /= 2)"):format(first, draw.pick { 0, 0, 1, 3 })
  local up = "for (int half = 1; half <= threads / 2; half *= 2)"
  local levels = {}
  for k = 1, draw.between(1, 2) do
    local pair = draw.pick { "s[2 * t], s[2 * t + 1]", "s[t], s[t + half]", "s[2 * t], s[t]", "s[t], s[half - 1 - t]",
      "s[t], s[2 * t + 1]" }
    local a, b = pair:match "^(.-), (.*)$"
    levels[k] = (draw.chance(80) and down or up) .. ([[ {
      T low = 0, high = 0;
      if (GUARD) low = LEFT + RIGHT, high = LEFT - RIGHT TIMES;
      __syncthreads();
      if (GUARD) { s[t] = low; STORE }
      else { OTHER }
      __syncthreads();
    }]]):gsub("GUARD", guard)
      :gsub("LEFT", a):gsub("RIGHT", b):gsub("TIMES", draw.pick { "", "", "* (T)(1 << (t & 3))" })
      :gsub("STORE", draw.pick { "out[base + half + t] = high;", "s[t + half] = high;", "" })
      :gsub("OTHER", draw.pick { "", "", "if (t == threads - 1) s[t + threads] += (T)1;" })
  end
  local source = ([[
__global__ void NAME(const T *in, T *out) {
  const int threads = THREADS;
  __shared__ T all[ROWS][2 * threads];
  T *s = all[threadIdx.y];
  int t = threadIdx.x, base = (blockIdx.x * ROWS + threadIdx.y) * 2 * threads;
  s[t] = in[base + t];
  s[t + threads] = in[base + t + threads];
  __syncthreads();
  LEVELS
  if (t == 0) out[base] = s[0];
  if (t >= threads / 2) out[base + t] += s[t];
}]]):gsub("THREADS", threads):gsub("ROWS", rows):gsub("LEVELS", function() return table.concat(levels, "\n") end)
    :gsub("%f[%w_]T%f[^%w_]", t.name)
  local grid = draw.between(1, 3)
  local size = grid * rows * 2 * threads
  return { source = source, launches = { { grid = grid, block = { threads, rows }, arguments = {
    { type = t.dtype, size = size }, { type = t.dtype, size = size } } } } }
end
