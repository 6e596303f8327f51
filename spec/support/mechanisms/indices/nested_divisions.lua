-- Kernels that take an index apart by products of lengths, `i / (h * w) % c`, in any order, with lengths that may be
-- negative, 1 or 0: see fuzz.lua.

return function(draw)
  local index = draw.pick { "int", "int", "int", "int", "long long", "long long", "long long", "unsigned", "short" }
  local block = draw.pick { 32, 64, 96, 128, 256, { 32, 4 } }
  local threads = type(block) == "number" and block or block[1] * block[2]
  local grid = draw.pick { 1, 3, 7, 20 }
  local names = { "a", "b", "c", "d" }

  local function shuffled(count)
    local list, taken = {}, {}
    while #list < count do
      local name = draw.pick(names)
      if not taken[name] or draw.chance(15) then
        taken[name] = true
        list[#list + 1] = name
      end
    end
    return list
  end
  local function product(list)
    if #list == 3 and draw.chance(50) then return ("(%s * (%s * %s))"):format(list[1], list[2], list[3]) end
    return "(" .. table.concat(list, " * ") .. ")"
  end

  -- Axes from the innermost on, as people write them, and parts that share no more than a factor.
  local order, parts = shuffled(4), {}
  for n = 1, 4 do
    local inner = {}
    for k = 1, n - 1 do inner[k] = order[k] end
    local quotient = n == 1 and "N" or n == 2 and draw.chance(50) and "N / " .. inner[1] or "N / " .. product(inner)
    parts[#parts + 1] = n < 4 and ("(%s) %% %s"):format(quotient, order[n]) or quotient
  end
  for _ = 1, draw.between(0, 3) do
    parts[#parts + 1] = ("N %s %s"):format(draw.pick { "/", "/", "%" }, product(shuffled(draw.between(1, 3))))
  end
  if draw.chance(30) then parts[#parts + 1] = "N / 8 % (a * 2)" end
  if draw.chance(30) then parts[#parts + 1] = "N / (8 * a)" end
  for n = #parts, 2, -1 do
    local other = draw.between(1, n)
    parts[n], parts[other] = parts[other], parts[n]
  end
  local number = draw.pick { "i", "i", "(i - p)", "(p - i)", "(i * 3)", "(i % 7)" }
  local lines = {}
  for n, part in ipairs(parts) do
    local line = ("sum = sum * 31u + (unsigned long long)(%s);"):format((part:gsub("N", function() return number end)))
    if draw.chance(6) then line = ("if (i %% %d) %s"):format(draw.between(2, 5), line) end
    if draw.chance(4) then line = ("for (int k = 0; k < 3; k++) %s"):format(line) end
    if draw.chance(25) and n > 1 then line = ("out[at] = (unsigned)sum; %s"):format(line) end
    lines[#lines + 1] = line
  end
  local source = ([[
__global__ void NAME(unsigned *out, int n, I a, I b, I c, I d, I p) {
  int at = (blockIdx.x * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  if (at >= n) return;
  I i = (I)at;
  unsigned long long sum = 0;
  BODY
  out[at] = (unsigned)(sum ^ sum >> 32);
}]]):gsub("BODY", function() return table.concat(lines, "\n  ") end):gsub("%f[%w_]I%f[^%w_]", index)

  local count = grid * threads
  local function launch()
    local function length()
      local value = draw.pick { 1, 2, 3, 7, 8, 16, 30, 33, 56, 14, draw.between(1, 60), draw.between(1, 60) }
      if index ~= "unsigned" and draw.chance(20) then value = draw.pick { -1, -1, -2, -7 } end
      return draw.chance(3) and 0 or value
    end
    return { grid = grid, block = block, arguments = { { type = "uint", size = count },
      draw.chance(50) and count or draw.between(1, count), length(), length(), length(), length(),
      draw.pick { 0, 1, 5, 1000 } } }
  end
  return { source = source, launches = { launch(), launch(), launch() } }
end
