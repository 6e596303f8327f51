-- Kernels whose threads load and store elements of regions of their own, at offsets of which some are known when the
-- kernel runs, in straight code and in loops, in global, shared and local memory: see fuzz.lua.

local types = {
  { name = "float", dtype = "float" }, { name = "int", dtype = "int" }, { name = "double", dtype = "double" },
  { name = "unsigned char", dtype = "uchar" }, { name = "short", dtype = "short" },
  { name = "long long", dtype = "int64" },
}

return function(draw)
  local t = draw.pick(types)
  local room = draw.pick { 8, 16, 32, 32, 64 } -- elements of a region
  local block = draw.pick { 16, 32, 64, 64, 40, { 16, 4 }, { 8, 8 } }
  local threads = type(block) == "number" and block or block[1] * block[2]
  local grid = draw.between(1, 3)
  local where = draw.pick { "global", "global", "global", "shared", "local" }
  local columns = where ~= "local" and draw.chance(30) -- element k is k * THREADS away
  local sum = t.dtype == "float" and "float" or t.dtype == "double" and "double" or "long long"
  local M = room - 1

  local function at(k) -- an index within the region
    local form = draw.pick { "K", "K", "K + 1", "K - 1", "K + d", "K + d", "K + e", "K + 2", "LAST - K", "(K) ^ one",
      "K + d - 1", "K * 2", "d", "e", "3", "0", "1" }
    local text = form:gsub("K", k or tostring(draw(room))):gsub("LAST", M)
    local constant = text:match "^%d+$"
    -- without a mask where the loop's limits leave room for the offsets, so that addresses are simple
    local simple = k and text:find "k" and not text:find "[%*%^]" and not text:find "%d %-" and draw.chance(75)
    if not simple and not (constant and tonumber(constant) < room) then text = ("(%s) & %d"):format(text, M) end
    return columns and ("(%s) * THREADS"):format(text) or text
  end
  local pointers = { "p", "p", "p", "q" }
  local function load(k) return ("%s[%s]"):format(draw.pick(pointers), at(k)) end
  local function value(k)
    return draw.pick { "v", "v", load(k), load(k), ("v + %s"):format(load(k)), ("%s + %s"):format(load(k), load(k)),
      k and ("(T)%s"):format(k) or "(T)d", "w" }
  end
  local function statement(k)
    local form = draw.pick { "store", "store", "store", "load", "load", "load", "both", "if" }
    local text
    if form == "store" then
      text = ("%s[%s] = (T)(%s);"):format(draw.pick(pointers), at(k), value(k))
    elseif form == "load" then
      text = ("v = (S)(v * (S)0.5f + %s);"):format(load(k))
    elseif form == "both" then
      text = ("w = %s; %s[%s] = (T)v;"):format(load(k), draw.pick(pointers), at(k))
    else
      local condition = draw.pick { "v > 3", "(threadIdx.x + d) & 1", "e > 1", k and k .. " & 1" or "d > 1" }
      text = ("if (%s) { %s[%s] = (T)(%s); }"):format(condition, draw.pick(pointers), at(k), value(k))
    end
    if t.dtype ~= "float" and t.dtype ~= "double" then text = text:gsub("v %* %(S%)0%.5f", "v * 3") end
    return text
  end
  local lines = {}
  for _ = 1, draw.between(1, 3) do
    local n = draw.between(1, 5)
    local list = {}
    if draw.chance(70) then
      for _ = 1, n do list[#list + 1] = statement("k") end
      local low, high = 4, room - 4
      local loop = draw.pick { "for (int k = LOW; k < HIGH; k++)", "for (int k = LOW; k < HIGH; k++)",
        "for (int k = LOW; k < LOW + n; k++)",
        "for (int k = HIGH - 1; k >= LOW; k--)", "for (unsigned k = LOW; k < HIGH; k++)",
        "for (int k = LOW; k < HIGH; k += 2)", "for (long long k = LOW; k < HIGH; k++)" }
      if room == 8 then low, high = 3, 5 end
      loop = loop:gsub("LOW", low):gsub("HIGH", high)
      lines[#lines + 1] = loop .. " { " .. table.concat(list, " ") .. " }"
    else
      for _ = 1, n * 2 do list[#list + 1] = statement(nil) end
      lines[#lines + 1] = table.concat(list, " ")
    end
  end
  local base = columns and "t" or "t * ROOM"
  local memory = where == "global" and ("T *p = out + blockIdx.x * THREADS * ROOM + %s;"):format(base)
    or where == "shared" and ("__shared__ T s[THREADS * ROOM]; T *p = s + %s;"):format(base) or "T s[ROOM]; T *p = s;"
  local step = columns and "THREADS" or "1"
  local offset = draw.chance(60) and "T *q = p;" or "T *q = p + (d & 1) * STEP;"
  if offset:find "STEP" then -- q may reach one element further
    memory = memory:gsub("ROOM%]", "ROOM + THREADS]")
  end
  local source = ([[
__global__ void NAME(const T *a, T *out, T *results, int n, int d, int e) {
  const int one = 1;
  int t = threadIdx.x + threadIdx.y * blockDim.x, i = blockIdx.x * THREADS + t;
  MEMORY
  OFFSET
  S v = (S)1; T w = (T)2;
  for (int k = 0; k < ROOM; k++) p[k * STEP] = a[i * 3 + k];
  BODY
  for (int k = 0; k < ROOM; k++) v = (S)(v * (S)3 + p[k * STEP]);
  results[i] = (T)v; results[i + gridDim.x * THREADS] = w;
}]]):gsub("MEMORY", function() return memory end):gsub("OFFSET", function() return offset end)
    :gsub("BODY", function() return table.concat(lines, "\n  ") end):gsub("STEP", step):gsub("THREADS", threads)
    :gsub("ROOM", room):gsub("%f[%w_]T%f[^%w_]", t.name):gsub("%f[%w_]S%f[^%w_]", sum)
  if offset:find "STEP" then -- no access by q of the last element: it would be another thread's
    source = source:gsub("q%[([^%]]*)& %d+", function(index)
      return ("q[%s& %d"):format(index, math.floor(room / 2) - 1)
    end):gsub("q%[(%(?)" .. M .. "%f[%W]", "q[%10")
  end
  local function launch()
    return { grid = grid, block = block, arguments = {
      { type = t.dtype, size = threads * grid * 3 + room }, { type = t.dtype, size = threads * (room + 1) * grid },
      { type = t.dtype, size = 2 * threads * grid }, draw.between(0, room == 8 and 2 or room - 8),
      draw.between(-2, 2), draw.between(-1, 2) } }
  end
  return { source = source, launches = { launch(), launch(), launch(), launch() } }
end
