-- Kernels whose indices are sums of 8 and 16 bits, which wrap in the middle of a gang, alone and in sums of 32 and 64
-- bits, with clamps, divisions and loops' counters: see fuzz.lua.

local types = {
  { name = "float", dtype = "float" }, { name = "int", dtype = "int" }, { name = "double", dtype = "double" },
  { name = "unsigned char", dtype = "uchar" }, { name = "short", dtype = "short" },
}

return function(draw)
  local t = draw.pick(types)
  local block = draw.pick { 16, 64, 64, 128, 256, 96, { 16, 4 }, { 32, 4 }, { 8, 8 } }
  local threads = type(block) == "number" and block or block[1] * block[2]
  local grid = draw.between(1, 4)
  local narrow = draw.pick { "unsigned short", "unsigned short", "unsigned char", "short", "signed char" }
  local index = draw.pick { "int", "int", "unsigned", "long long", "size_t" }
  local counter = draw.pick { "int", "int", "unsigned", "unsigned char", "unsigned short", "short" }

  -- a number of few bits
  local function small(depth)
    if depth == 0 then return draw.pick { "x", "x", "x", "y", "p", "q", "(N)i", "(N)k", "g" } end
    if draw.chance(60) then
      return draw.pick { "(N)(x + p)", "(N)(y + p)", "(N)(x + q)", "(N)(g + p)", "(N)(p - x)", "(N)(x + p + k)",
        "(N)(x * 2 + p)", "(N)(x * 3 + q)", "(N)(y + (p + q))", "(N)(x + k * q)", "(N)(i + p)" }
    end
    local form = draw.pick { "(N)(A + B)", "(N)(A + B)", "(N)(A - B)", "(N)(A * 3)", "(N)(A << 1)",
      "(N)((unsigned)A * B)", "(N)max((int)A, (int)B)", "(N)(A + 100)", "(N)(A ^ q)", "(N)(A / 2)", "(N)(A >> 1)",
      "(N)~A", "(N)-A", "(N)(A & B)", "(N)(A + k)", "(N)(A + B * k)", "(N)(A % 7)" }
    return (form:gsub("[AB]", function() return small(depth - 1) end))
  end
  local function wide()
    local form = draw.pick { "S", "S + (I)r", "S + (I)r", "S + (I)e", "S + (I)(r * k)", "S + (I)i", "S * 2", "(I)r - S",
      "(I)(S + (N)r)", "max(S + (I)r, (I)e)", "min(S + (I)r, (I)e + 900)", "(S + (I)r) / (I)(e + 1)",
      "(S + (I)r) % (I)(e + 31)", "(S < (N)9 ? S : S + (I)e)", "(unsigned)S + r", "(I)(unsigned)(S + r)", "k * r + S",
      "S ^ (I)e", "(S & (I)~7) + e", "max(S, (I)e) + (I)r", "min(S + (I)r, (I)60000)", "max(S - (I)r, (I)0)" }
    return (form:gsub("S", function() return "(I)" .. small(draw.pick { 1, 1, 2 }) end))
  end

  local lines, shared = {}, draw.chance(20)
  local function add(text) lines[#lines + 1] = text end
  for _ = 1, draw.between(1, 3) do
    local guard = draw.pick { "", "", "if (i % 3 != 1) ", "if (x > p) ", "if (a[i] > (T)3) " }
    local from, size = "a", 2 ^ 16
    if draw.chance(25) then from, size = "tile", 256 end
    local e = wide()
    if index == "int" or index == "long long" then e = ("(%s) + %d"):format(e, draw.pick { 0, 0, 32768, 128 }) end
    local access = draw.chance(50) and ("I at = %s; if (at >= 0 && at < (I)%d) s += %s[at];"):format(e, size, from) or
      ("I at = %s; s += %s[at & (I)%d];"):format(e, from, size - 1)
    if draw.chance(30) then -- no test, since the number has few bits
      local n = small(draw.between(1, 2))
      if from == "tile" then
        access = ("s += tile[(unsigned char)%s + (I)%s];"):format(n, draw.pick { "0", "e", "(r & 63)" })
      else
        access = ("s += a[((unsigned short)%s >> %s) + (I)%s];"):format(n, draw.pick { "0", "2" },
          draw.pick { "0", "e", "e * (r & 3)", "(k * r & 2047)" })
      end
    end
    shared = shared or from == "tile"
    if draw.chance(50) then
      add(("for (%s k = %s; k < (%s)%s; k++) { %s%s }"):format(counter, draw.pick { "0", "0", "1" }, counter,
        draw.pick { "(e & 7)", "5", "(r & 15)" }, guard, "{ " .. access .. " }"))
    else
      add(("%s{ %s }"):format(guard, access))
    end
  end
  local fill = "__shared__ T tile[512]; for (int j = t; j < 512; j += THREADS) tile[j] = a[j + 7]; __syncthreads();"
  local source = ([[
__global__ void NAME(const T *a, T *out, N p, N q, unsigned r, int e) {
  const int k = e & 3;
  N x = (N)threadIdx.x, y = (N)(threadIdx.x + threadIdx.y * blockDim.x), g = (N)(blockIdx.x * 64 + x);
  int t = threadIdx.x + threadIdx.y * blockDim.x, i = blockIdx.x * THREADS + t;
  FILL
  T s = (T)1;
  BODY
  out[i] = s;
}]]):gsub("BODY", function() return table.concat(lines, "\n  ") end):gsub("FILL", shared and fill or "")
    :gsub("THREADS", threads):gsub("%f[%w_]T%f[^%w_]", t.name):gsub("%f[%w_]N%f[^%w_]", narrow)
    :gsub("%f[%w_]I%f[^%w_]", index)
  local limits = { ["unsigned short"] = { 0, 2 ^ 16 - 1 }, ["unsigned char"] = { 0, 255 },
    short = { -2 ^ 15, 2 ^ 15 - 1 }, ["signed char"] = { -128, 127 } }
  local limit = limits[narrow]
  local function number()
    return draw.pick { limit[1], limit[2], limit[2] - 8, limit[2] - draw(60), limit[2] - draw(60), limit[1] + draw(50),
      draw(100), 0, 1 }
  end
  local function launch()
    return { grid = grid, block = block, arguments = {
      { type = t.dtype, size = 2 ^ 16 + 4096 }, { type = t.dtype, size = threads * grid }, number(), number(),
      draw.pick { 0, 1, 16, 64, 100, 1000, 2 ^ 32 - 16, 2 ^ 32 - 5 }, draw.between(0, 40) } }
  end
  return { source = source, launches = { launch(), launch(), launch() } }
end
