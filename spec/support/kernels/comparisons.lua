-- Random kernels that compare indices with limits, so that gangs agree, diverge at an edge, or leave loops one by one.
--   local g = require "support.kernels.comparisons"(seed)
--   g.kernel "k1"   -- __global__ void k1(int n, int m, int width, const int *in, int *out, int *far, int *counts) {…}

local function generator(seed)
  local state = seed
  local function random(n)
    state = state * 6364136223846793005 + 1442695040888963407
    return (state >> 33) % n + 1
  end
  local function pick(list) return list[random(#list)] end
  local g = { random = random, loops = 0 }

  function g.index()
    return pick { "i", "i", "i", "y", "x", "i + 3", "i - 5", "x + y", "(int)threadIdx.x", "j", "j" }
  end
  function g.limit() return pick { "n", "n", "m", "n - 7", "m + 2", "width", "n / 2", "20" } end
  function g.comparison()
    local a, b = g.index(), g.limit()
    if random(5) == 1 then a, b = "(unsigned)(" .. a .. ")", "(unsigned)" .. b end
    if random(4) == 1 then a, b = b, a end
    return ("%s %s %s"):format(a, pick { "<", "<", "<=", ">", ">=", "!=" }, b)
  end
  function g.condition()
    local one = g.comparison()
    if random(3) > 1 then return one end
    return pick { "%s && %s", "%s || %s", "!(%s) && %s", "!(%s || %s)" }:format(one, g.comparison())
  end
  -- Loops that lanes leave when a number is large enough, which NaN never is.
  function g.escape()
    local more = pick { "v < 9.5f", "!(v >= 9.5f)", "9.5f > v", "v < 9.5f && v > -3.25f" }
    local all = pick { "%s && r < LIMIT", "r < LIMIT && %s", "(%s || r < 2) && r < LIMIT", "r < (i & 15) && %s" }
    all = all:format(more):gsub("LIMIT", pick { "20", "m", "(n & 31)" })
    local step = pick { "v = v * 0.75f + u, r++;", "if (v == u) v += 1; v = v * 0.75f + u, r++;",
      "r++; if (r == 7) break; v += u;", "v = u / v - v, r += 2;" }
    local loop = ("while (%s) { %s }"):format(all, step)
    if random(3) == 1 then loop = ("do { %s } while (%s);"):format(step, all) end
    return ("{ float u = (in[%s] & 31) * 0.25f, v = u * 0.5f; int r = 0; %s sum = sum * 5 + r + (int)(v * 8); }")
      :format(pick { "i & 1023", "i >> 6 & 15", "3" }, loop)
  end
  function g.simple()
    if random(6) == 1 then return g.escape() end
    local own = g.alone and "sum -= in[i + 7];" or "sum += shared[threadIdx.x + blockDim.x * threadIdx.y];"
    return pick {
      "sum = sum * 3 + i;", "sum ^= in[i];", "sum += in[(j * 5 + sum) & 1023];", "sum += in[i + 16];", "sum -= j;",
      "out[i] += sum;", "out[i] = j;", "atomicAdd(&counts[sum & 15], 1);", "atomicAdd(&counts[x & 15], y);",
      own, "if (sum & 1) sum += 7;",
      "sum += in[min(max(x + 2, 0), width - 1) + y];", "sum ^= in[min(max(i - 4, 0), abs(n) & 1023)];",
      "sum += in[j < width ? i : i + 9];", "sum += in[i ^ FLIP];", "far[i ^ FLIP] = sum + j;", "far[i ^ FLIP] += i;",
    }
  end
  function g.statement(depth, inside)
    local kind = random(9)
    if depth == 0 or kind <= 3 then return g.simple() end
    if kind <= 5 then
      local text = ("if (%s) { %s }"):format(g.condition(), g.list(depth - 1, inside))
      return random(2) == 1 and text or ("%s else { %s }"):format(text, g.list(depth - 1, inside))
    end
    if kind == 6 and inside then return ("if (%s) %s;"):format(g.condition(), pick { "break", "continue" }) end
    if kind == 7 and inside == nil and g.may_return then return ("if (%s) return;"):format(g.condition()) end
    local name = ("k%d"):format(g.loops)
    g.loops = g.loops + 1
    local head = pick {
      "for (int %s = i, turns = 0; %s < n && turns < 9; turns++, %s += total)", "for (int %s = 0; %s < 5; %s++)",
      "for (int %s = i; %s < n; %s += total)", "for (int %s = x; %s < width; %s += 48)",
    }
    return ("%s { int j = %s; %s }"):format(head:format(name, name, name), name, g.list(depth - 1, true))
  end
  function g.list(depth, inside)
    local lines = {}
    for n = 1, random(3) do lines[n] = g.statement(depth, inside) end
    return table.concat(lines, " ")
  end
  -- Alone: threads are independent, and those that return do so at once, so that divergent gangs may start over in the
  -- fallback.
  function g.kernel(name)
    g.alone = random(2) == 1
    g.may_return = g.alone or random(2) == 1
    local lines = {}
    for n = 1, 3 + random(3) do
      lines[n] = g.statement(3)
      if not g.may_return and random(2) == 1 then
        lines[n] = lines[n] .. " __syncthreads(); shared[(threadIdx.x + blockDim.x * threadIdx.y) ^ 1] = i + width;" ..
          " __syncthreads();"
      end
    end
    if g.alone then
      lines[1] = ("sum = in[min(max(i - %d, 0), n)]; if (!(%s)) return;"):format(random(4), g.condition())
      g.declaration, g.start = "", ""
    else
      g.declaration = "__shared__ int shared[256];"
      g.start = "shared[threadIdx.x + blockDim.x * threadIdx.y] = i; __syncthreads();"
    end
    local text = table.concat(lines, "\n  "):gsub("FLIP", pick { "8", "16", "32", "3", "64", "m", "(m & 192)" })
    return ([[
__global__ void %s(int n, int m, int width, const int *in, int *out, int *far, int *counts) {
  %s
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int i = y * gridDim.x * blockDim.x + x, j = i, total = gridDim.x * blockDim.x * gridDim.y * blockDim.y;
  unsigned sum = 0; // it wraps
  %s
  %s
  out[i] = out[i] * 5u + sum + j;
}
]]):format(name, g.declaration, g.start, text)
  end
  return g
end

return generator
