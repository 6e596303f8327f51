-- Kernels whose threads wait at barriers and own rows of shared memory, walk along diagonals or look up tables, in
-- blocks of any size: see fuzz.lua. Shared memory is written and read on different sides of a barrier.

local types = { { "float", "float" }, { "double", "double" }, { "int", "int" }, { "unsigned", "uint" } }

return function(draw)
  local type, dtype = (table.unpack or unpack)(draw.pick(types))
  local block = draw.pick { 3, 4, 8, 8, 16, 16, 16, 24, 32, 64, { 4, 4 }, { 8, 2 }, { 16, 2 }, { 5, 3 } }
  local x, y = tonumber(block) or block[1], tonumber(block) and 1 or block[2]
  local threads = x * y
  local pitch, grid = threads + draw.pick { 0, 1, 1, 3 }, draw.between(1, 6)
  local real = type == "float" or type == "double"
  local mix = real and "v = v * (T)0.5 + (T)%s;" or "v = v * 3 + (T)%s;"
  local indices = { "(t + 1) % N", "(t ^ 1) % N", "N - 1 - t", "(t * 5 + k) % N", "(h >> 3) % N", "t", "(t + k) % N" }
  local function index() return draw.pick(indices) end
  local function mixed(what) return mix:format(what) end
  local function condition()
    return draw.pick { "", "", "if (t > k) ", "if (t < k) ", "if (t & 1) ", "if (h & 4) ", "if (k - t >= 0) " }
  end

  -- Each reads shared memory between two barriers, and then writes what is the thread's own.
  local steps = {
    function() return mixed(("line[%s]"):format(index())) end,
    function() return mixed(("tile[%s][t]"):format(index())) end,
    function() return mixed(("tile[t][%s]"):format(index())) end,
    function() return ("%sfor (int j = k %% N; j < N; j++) %s"):format(condition(), mixed "tile[k % N][j]") end,
    function() return ("h = h * 1664525u + table[(h >> 24) + (t & 3)]; " .. mixed "table[h & 255]") end,
    function() return "own[k & 3] = v; " .. mixed "own[(h >> 5) & 3]" end,
    function() return "for (int j = 0; j < (int)(h & 7); j++) " .. mixed "tile[t][j % N]" end,
  }
  local writes = {
    function() return condition() .. "line[t] = v;" end,
    function() return ("for (int j = 0; j < N; j++) tile[t][j] %s= v;"):format(draw.pick { "+", "-", "" }) end,
    function() return ("%sfor (int j = k %% N; j < N; j++) tile[t][j] -= v * (T)2;"):format(condition()) end,
    function() return condition() .. "tile[t][(t + k) % N] = v;" end,
    function() return "if (k - t >= 0 && k - t < N) tile[k - t][t] = v;" end, -- a diagonal: each thread its own column
  }
  local waits = { "__syncthreads();", "__syncthreads();", "__syncthreads();",
    "c += __syncthreads_count((int)(h & 1));", "if (__syncthreads_or(t == k)) c += 2;" }
  local body = {}
  for _ = 1, draw.between(1, 3) do
    body[#body + 1] = draw.pick(steps)()
    body[#body + 1] = draw.pick(waits)
    body[#body + 1] = draw.pick(writes)()
    body[#body + 1] = draw.pick(waits)
  end
  local guard = draw.pick { "", "", "if (blockIdx.x == 2) return;", "if (d < 0) return;" }
  local leaves = draw.pick { "", "", "if (c > 40) break;", "if (k == d) break;", "if (k == d) continue;" }
  local source = ([[
__global__ void NAME(const T *in, const unsigned *table, T *out, int d) {
  __shared__ T line[N], tile[N][PITCH];
  int t = threadIdx.y * blockDim.x + threadIdx.x, at = blockIdx.x * N + t, c = 0;
  unsigned h = at * 0x9E3779B9u + 1u;
  T v = in[at], own[4] = {v, 1, 2, 3};
  GUARD
  line[t] = v;
  for (int j = 0; j < N; j++) tile[t][j] = in[(at + j) % N];
  __syncthreads();
  for (int k = 0; k < LIMIT; k++) {
    BODY
    LEAVES
  }
  T sum = v + own[1] + (T)c;
  for (int j = 0; j < N; j++) sum += tile[t][j] + line[j];
  out[at] = sum;
}]]):gsub("BODY", function() return table.concat(body, "\n    ") end):gsub("GUARD", guard):gsub("LEAVES", leaves)
    :gsub("LIMIT", draw.pick { "d", "6", "N", "d + 2" }):gsub("PITCH", pitch):gsub("%f[%w_]N%f[^%w_]", threads)
    :gsub("%f[%w_]T%f[^%w_]", type)
  local words = {}
  for k = 1, 260 do words[k] = draw(2 ^ 31) * 2 + draw(2) end
  local function launch()
    return { grid = grid, block = block, arguments = { { type = dtype, size = grid * threads },
      { type = "uint", size = 260, values = words }, { type = dtype, size = grid * threads }, draw.between(0, 9) } }
  end
  return { source = source, launches = { launch(), launch() } }
end
