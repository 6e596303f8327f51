-- Kernels that take the number of a thread in the grid apart into digits and put them together in another order, with
-- rows that end in gangs and in blocks, lengths that may be 0, 1 or negative, and numbers that tell where a block
-- begins: see fuzz.lua.

local types = {
  { name = "float", dtype = "float" }, { name = "int", dtype = "int" }, { name = "unsigned char", dtype = "uchar" },
  { name = "short", dtype = "short" }, { name = "double", dtype = "double" }, { name = "long long", dtype = "int64" },
}

return function(draw)
  local t = draw.pick(types)
  local block = draw.pick { 32, 64, 96, 128, 128, 256, 320, 512, { 64, 2 } }
  local threads = type(block) == "number" and block or block[1] * block[2]
  local grid = draw.pick { 1, 2, 3, 7, 40, 70, { 5, 3 }, { 33, 2 } }
  local blocks = type(grid) == "number" and grid or grid[1] * grid[2]
  local index = draw.pick { "int", "int", "unsigned", "long long", "long long", "unsigned long long" }
  local signed = index == "int" or index == "long long"
  local count = blocks * threads

  -- The digits of N, innermost first, by nested quotients or by products.
  local axes = draw.between(2, 4)
  local names, digits = { "a", "b", "c" }, {}
  local number = draw.pick { "i", "i", "i", "i", "(i + p)", "(i - p)" }
  local nested = draw.chance(50)
  for n = 1, axes do
    local quotient = number
    if nested then
      for k = 1, n - 1 do quotient = quotient .. " / " .. names[k] end
    elseif n > 1 then
      quotient = ("%s / (%s)"):format(number, table.concat(names, " * ", 1, n - 1))
    end
    digits[n] = n < axes and ("(%s) %% %s"):format(quotient, names[n]) or quotient
  end
  -- The innermost digit often stays where it is; the outermost, which has no end, does.
  local order = {}
  for n = 1, axes - 1 do order[n] = n end
  for n = axes - 1, 2, -1 do
    local other = draw.between(draw.chance(80) and 2 or 1, n)
    order[n], order[other] = order[other], order[n]
  end
  local to = ("t%d"):format(axes)
  for n = axes - 1, 1, -1 do to = ("(%s * %s + t%d)"):format(to, names[order[n]], order[n]) end

  local lines, positive = {}, {}
  for n = 1, axes do
    local line = ("I t%d = %s;"):format(n, digits[n])
    lines[#lines + 1] = line
  end
  for n = 1, axes - 1 do positive[n] = names[n] .. " > 0" end
  local function extra()
    local size = type(block) == "number" and block or block[1]
    return draw.pick { "i / " .. size, "i % " .. size, "i & 31", "i & 127", "i >> 7", "i / 96", "(i ^ 64)", "t1", "t2",
      "(t1 == 0)", "(i % 4)", "max(t1 - 1, (I)0)", "(i < q)", "(I)(i / 32 * 32 == i)", "i - t1" }
  end
  local sum = {}
  for _ = 1, draw.between(0, 3) do sum[#sum + 1] = (" + (T)(%s)"):format(extra()) end
  local loads = draw.pick { "in[i]", "in[i]", "in[i < q ? i : q]", "(T)(t1 < q ? in[t1 < 0 ? 0 : t1] : (T)1)" }
  if not signed then loads = draw.pick { "in[i]", "in[i]", "in[i < q ? i : q]" } end
  if draw.chance(15) then sum[#sum + 1] = " + (T)blockIdx.x" end
  if draw.chance(10) then sum[#sum + 1] = " + (T)threadIdx.x" end
  local guard = draw.chance(15) and ("if (%s > q) return;"):format(draw.pick { "t1", "t2", "i" }) or ""
  local source = ([[
__global__ void NAME(const T *in, T *out, long long room, I n, I a, I b, I c, I p, I q) {
  I i = (I)PLACE;
  if (i >= n) return;
  DIGITS
  GUARD
  I to = TO;
  if (!(POSITIVE)) to = i;
  if (SIGNEDto < (I)room) out[to] = (T)(BEFORELOADSUM);
}]])
  -- Unsigned numbers that wrap have digits of another period, whose places others have.
  local stored = signed and "to >= 0 && " or number == "(i - p)" and "i >= p && " or ""
  local place = type(block) ~= "number" and
    "(((blockIdx.y * gridDim.x + blockIdx.x) * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x)" or
    type(grid) ~= "number" and "((blockIdx.y * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x)" or
    draw.pick { "blockIdx.x * blockDim.x + threadIdx.x", "(blockIdx.x * blockDim.x + threadIdx.x)" }
  source = source:gsub("PLACE", place):gsub("DIGITS", function() return table.concat(lines, "\n  ") end)
    :gsub("GUARD", function() return guard end):gsub("%f[%w]TO%f[%W]", function() return to end)
    :gsub("POSITIVE", table.concat(positive, " && ")):gsub("SIGNED", stored)
    :gsub("BEFORE", draw.chance(50) and "out[to] + " or "")
    :gsub("LOADSUM", function() return loads .. table.concat(sum) end)
    :gsub("%f[%w_]T%f[^%w_]", t.name):gsub("%f[%w_]I%f[^%w_]", index)

  local room = 2 * count + 64
  local function launch()
    local function length()
      local value = draw.pick { 1, 2, 3, 5, 12, 13, 16, 30, 31, 32, 33, 48, 100, draw.between(1, 80),
        draw.between(12, 80) }
      if signed and draw.chance(6) then value = draw.pick { -1, -2, -30 } end
      return draw.chance(2) and 0 or value
    end
    local row = draw.chance(75)
      and draw.pick { 12, 13, 15, 24, 30, 30, 31, 33, 47, 64, 100, 150, draw.between(12, 300) } or length()
    return { grid = grid, block = block, arguments = {
      { type = t.dtype, size = count + 512 }, { type = t.dtype, size = room }, room,
      draw.chance(50) and count or draw.between(1, count), row, length(), length(), draw.pick { 0, 0, 1, 5, 100 },
      draw.between(0, count) } }
  end
  return { source = source, launches = { launch(), launch(), launch() } }
end
