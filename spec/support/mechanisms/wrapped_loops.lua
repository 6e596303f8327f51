-- Loops and conditions over indices that may pass the largest number of their type within a gang: see fuzz.lua.

return function(draw)
  local block = draw.pick { 32, 64, 96, 256, { 16, 4 }, { 32, 2 } }
  local sizes = type(block) == "table" and block or { block }
  local grid = draw.between(1, 4)
  local count = grid * sizes[1] * (sizes[2] or 1)
  local index = draw.pick { "unsigned", "unsigned", "int", "uint64_t", "int64_t" }
  local wide = index:find "64" ~= nil
  local from = draw.pick { "at", "at", "threadIdx.x", "(at * 2)", "(at ^ 32)", "(0u - at)", "(7u - 3 * threadIdx.x)" }

  local function comparison(value)
    local less = ("%s %s n"):format(value, draw.pick { "<", "<", "<", "<=", ">", ">=" })
    if draw.chance(30) then return ("(%s && %s %s m)"):format(less, value, draw.pick { ">", "<", "!=" }) end
    return less
  end

  local head = draw.pick {
    "for (U i = first + from; C && rounds < limit; i += by) {", "U i = first + from; while (C && rounds < limit) {",
    "for (U i = first + from; rounds < limit; i += by) { if (!(C)) break;",
    "{ U i = first + from; if (C) rounds += 3;",
  }
  local body = draw.pick {
    "sum += x[(unsigned)i % size] * 3;", "sum = sum * 5 + (unsigned)i;",
    "if (C) sum += x[at]; else sum -= (unsigned)i;",
    "out[at] += x[(unsigned)(i - first) % size];", "sum += x[at]; if (rounds > 2) sum ^= (unsigned)i;",
    "if (i < size) sum += x[(I)i] * 3;", "if (i + 3 < (x[at] | size)) sum += x[(I)(i + 3) % size];",
  }
  local advance = head:find "while" and " i += by;" or ""
  local source = ([[
__global__ void NAME(const unsigned *x, unsigned *out, unsigned size, I n, I m, U first, U by, unsigned limit) {
  unsigned at = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x, rounds = 0, sum = 0;
  HEAD
    rounds++;
    BODY
  }
  out[at] += sum * 16 + rounds;
}]]):gsub("HEAD", head):gsub("BODY", function() return body .. advance end)
    :gsub("%f[%w_]C%f[^%w_]", function() return comparison "(I)i" end)
    :gsub("%f[%w_]from%f[^%w_]", from):gsub("%f[%w_]I%f[^%w_]", index)
    :gsub("%f[%w_]U%f[^%w_]", wide and "uint64_t" or "unsigned")

  local function near()
    local list = wide and { 0, 0, 2 ^ 31, 2 ^ 32, 2 ^ 40 } or { 0, 2 ^ 31, 2 ^ 31, 2 ^ 32, 2 ^ 32 }
    return draw.pick(list) + draw.between(-2, 2) * draw(count + 2)
  end
  local function unsigned(value)
    if wide then return math.max(value, 0) end
    return value % 2 ^ 32
  end
  local function limit()
    local value = unsigned(near())
    if index == "int" and value >= 2 ^ 31 then value = value - 2 ^ 32 end
    return value
  end
  local function launch()
    local by = draw.pick { 1, 32, count, count, 2 * count, 2 ^ 31, 2 ^ 32 - draw.between(1, 2 * count), 0 }
    return { grid = grid, block = block, arguments = { { type = "uint", size = count }, { type = "uint", size = count },
      count, limit(), limit(), unsigned(near()), by % 2 ^ 32, draw.between(1, 12) } }
  end
  return { source = source, launches = { launch(), launch(), launch() } }
end
