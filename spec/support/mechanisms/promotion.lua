-- Kernels whose loops accumulate in memory: see fuzz.lua.

local types = {
  { name = "float", dtype = "float" }, { name = "double", dtype = "double" }, { name = "int", dtype = "int" },
  { name = "unsigned char", dtype = "uchar" }, { name = "unsigned", dtype = "uint" },
}

return function(draw)
  local t = draw.pick(types)
  local index = draw.pick { "int", "int", "unsigned", "size_t" }
  local fields = draw.pick { 1, 1, 1, 2, 3 }
  local target = draw.pick { "c", "c", "c", "tile", "own" } -- global memory, shared memory, a local array
  local start, limit = draw.pick { "0", "0", "2", "i % 4" }, draw.pick { "n", "n", "n", "i % 7", "n - i % 3" }
  local at = { c = fields == 1 and "i" or ("%d * i"):format(fields), tile = "threadIdx.x", own = "i % 5" }
  local function element(f)
    local shift = target == "c" and f or 0
    return ("%s[(%s)%s%s]"):format(target, index, at[target], shift > 0 and " + " .. shift or "")
  end

  -- further loads: from other arrays, from the thread's own elements, and from what may be the target
  local loads = { "a[k]", "a[i * 3 + k]", "b[k * 2 + i]", "b[(k * 7 + i) % size]", "a[b2[k] % size]", "x", "a[i]",
    "b[i * 3 + 1]", "a[b2[i] % size]" }
  local updates = {}
  for f = 0, (target == "c" and fields or 1) - 1 do
    local value = draw.pick(loads)
    if draw.chance(40) then value = value .. " * " .. draw.pick(loads) end
    local e = element(f)
    updates[#updates + 1] = draw.pick {
      "E = E + V;", "E = E + V;", "E += V;", "E = V;", "if (k % 3 == i % 2) E = E + V;", "if (V > E) E = V;",
      -- a float's sum times a number is not exact, so an FMA would differ
      t.dtype:find "int" and "E = E * (T)3 + V;" or "E = V + E;", "{ T v = E; E = v + V; E = E + v; }",
    }:gsub("%f[%w_][EV]%f[^%w_]", { E = e, V = value })
  end
  local leave = draw.pick { "", "", "", ("if (%s == (T)77) break;"):format(element(0)), "if (a[k] == (T)5) break;",
    "if (k == i % 11) continue;", "if (k == i % 11 + 3) return;" }
  local early = draw.chance(50)
  local body = (early and leave or "") .. " " .. table.concat(updates, " ") .. " " .. (early and "" or leave)
  if draw.chance(25) then
    local from, to = draw.pick { "0", "k", "1" }, draw.pick { "3", "m", "k" }
    body = ("for (int j = %s; j < %s; j++) { %s }"):format(from, to, body)
  end
  local before = draw.pick { "", "", element(0) .. " = (T)1;", element(0) .. " = " .. element(0) .. " + (T)2;" }
  local restrict = draw.chance(25) and "__restrict__" or ""
  local aliased = draw.chance(30) and target == "c" and restrict == ""
  local block = draw.pick { 16, 32, 64, 100 }
  local count = draw.between(1, 2 * block + 5)
  local n = draw.between(0, 30)

  local source = ([[
__global__ void NAME(const T *R a, const T *R b, const unsigned *R b2, T *R c, T *R y, int n, int m, int count,
                     unsigned size, T x) {
  __shared__ T tile[128];
  T own[8] = {0};
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  tile[threadIdx.x] = (T)i;
  BEFORE
  for (int k = START; k < LIMIT; k++) { BODY }
  y[i] = tile[threadIdx.x] + own[i % 5];
}]]):gsub("BEFORE", function() return before end):gsub("%f[%w_]START", function() return start end)
    :gsub("%f[%w_]LIMIT", function() return limit end):gsub("%f[%w_]BODY", function() return body end)
    :gsub("%f[%w_]R%f[^%w_]", restrict):gsub("%f[%w_]T%f[^%w_]", t.name)

  local size = 3 * count + 80
  local function array(dtype, length) return { type = dtype, size = length } end
  local arguments = { array(t.dtype, size), array(t.dtype, size), array("uint", size), array(t.dtype, size),
    array(t.dtype, count), n, draw.between(0, 3), count, size, 3 }
  -- One thread alone has no race, whatever it reads of what it writes.
  if aliased then
    count, block = 1, draw.pick { 1, 16 }
    arguments[8] = 1
    arguments[draw.pick { 1, 2 }] = { of = 4, first = 1 + draw(3) }
    if draw.chance(30) then arguments[5] = { of = 4, first = 1 + draw(5) } end
    arguments[9] = size - 8
  end
  return { source = source, launches = { { grid = math.ceil(count / block), block = block, arguments = arguments } } }
end
