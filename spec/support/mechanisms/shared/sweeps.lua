-- Kernels that sweep up and down a tree in shared memory, at strides that are powers of two: see fuzz.lua.

local types = {
  { name = "float", dtype = "float" }, { name = "int", dtype = "int" }, { name = "double", dtype = "double" },
  { name = "unsigned", dtype = "uint" }, { name = "long long", dtype = "int64" }, { name = "short", dtype = "short" },
}

return function(draw)
  local t = draw.pick(types)
  local threads = draw.pick { 16, 32, 64, 128, 256 }
  local grid = draw.between(1, 3)
  -- places of the tree's 2 N elements in a level of d threads, w elements apart
  local function place()
    return draw.pick { "w * (2 * x + 2) - 1", "w * (2 * x + 1) - 1", "w * 2 * x", "w * x", "2 * x", "2 * x + 1", "x",
      "x + d", "2 * N - 1 - w * x", "x + N" }
  end
  local function read()
    if draw.chance(6) then return draw.pick { "tree[e]", "tree[places[g] % N]" } end
    return "tree[" .. place() .. "]"
  end
  local lines = {}
  local function add(text, ...) lines[#lines + 1] = ("  " .. text):format(...) end
  for _ = 1, draw.between(1, 2) do
    local down = draw.chance(50)
    add(down and "w = 1;" or "w = N;")
    add(down and "for (int d = N; d > 0; d >>= 1) {" or "for (int d = 1; d <= N; d <<= 1) {")
    local guard = draw.pick { "if (x < d) ", "if (x < d) ", "if (x < d) ", "if (x < d && x < N / 2) ",
      "if (x < d && in[g] > (T)0) " }
    add("  %sv = (T)(%s + %s * (T)3);", guard, read(), read())
    add "  __syncthreads();"
    add("  %stree[%s] = %s;", guard, place(), draw.pick { "v", "v", "(T)(v - (T)d)" })
    if draw.chance(10) then
      add("  __syncthreads();\n    if (x == 0) tree[%s] = (T)d;", draw.pick { "e", "d", "N - 1" })
    end
    add "  __syncthreads();"
    add(down and "  w <<= 1;" or "  w >>= 1;")
    add "}"
    if draw.chance(30) then add "if (x == 0) tree[2 * N - 1] = (T)0;" end
    add "__syncthreads();"
  end
  local source = ([[
__global__ void NAME(const T *in, const unsigned *places, T *out, unsigned e) {
  __shared__ T tree[2 * N];
  int x = threadIdx.x, g = blockIdx.x * N + x, w = 1;
  T v = in[g];
  tree[2 * x] = v, tree[2 * x + 1] = (T)(v + (T)x);
  __syncthreads();
BODY
  out[2 * g] = tree[2 * x] + v;
  out[2 * g + 1] = tree[2 * x + 1];
}]]):gsub("BODY", function() return table.concat(lines, "\n") end):gsub("%f[%w_]N%f[^%w_]", threads)
    :gsub("%f[%w_]T%f[^%w_]", t.name)
  local words = {}
  for k = 1, grid * threads do words[k] = draw(2 ^ 31) end
  local function launch()
    return { grid = grid, block = threads, arguments = { { type = t.dtype, size = grid * threads },
      { type = "uint", size = grid * threads, values = words }, { type = t.dtype, size = 2 * grid * threads },
      draw.between(0, threads - 1) } }
  end
  return { source = source, launches = { launch(), launch() } }
end
