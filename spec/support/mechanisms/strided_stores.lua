-- Kernels that store to every second, third or fourth element of shared memory, alone or as structs whose members are
-- loaded between the stores, in blocks of any size and with conditions: see fuzz.lua.

local types = {
  { name = "float", dtype = "float" }, { name = "int", dtype = "int" }, { name = "unsigned char", dtype = "uchar" },
  { name = "short", dtype = "short" }, { name = "double", dtype = "double" }, { name = "long long", dtype = "int64" },
}

return function(draw)
  local t = draw.pick(types)
  local block = draw.pick { 16, 32, 64, 64, 128, 256, 40, 100, { 16, 4 }, { 32, 2 }, { 8, 8 } }
  local threads = type(block) == "number" and block or block[1] * block[2]
  local grid = draw.between(1, 5)
  local steps = draw.pick { 2, 2, 2, 3, 4, 5 }
  local room = threads * steps + 64
  local condition = draw.pick { "", "", "if (x < d) ", "if (x < d) ", "if (a[g] > 0) ", "if (x % 2 == 0) ",
    "if (x >= d) " }

  local function value()
    return draw.pick { "a[g]", "(T)(a[g] + (T)x)", "tile[S * x]", "tile[S * x + 1]", "(T)(tile[x] + a[g])", "b[S * x]",
      "tile[S * x + S - 1]", "(T)k", "a[g + S]", "tile[(x * 7 + k) % (N)]" }
  end

  local lines = {}
  local function add(text) lines[#lines + 1] = text end
  for _ = 1, draw.between(1, 4) do
    local form = draw(6)
    local at = draw.pick { "S * x", "S * x + 1", "S * x + S - 1", "S * x + e", "d * 0 + S * x + 3",
      "S * (N / S - 1 - x)" }
    if form == 0 then -- a struct, member by member
      local members = {}
      for m = 0, steps - 1 do members[#members + 1] = ("tile[S * x + %d] = a[S * x + %d];"):format(m, m) end
      add(condition .. "{ " .. table.concat(members, " ") .. " }")
    elseif form == 1 then -- some members, with values of the others
      add(("%s{ tile[S * x] = a[g]; tile[S * x + 1] = b[S * x + 1]; }"):format(condition))
    elseif form == 2 then -- results from shared memory
      add(("%s{ out[S * g] += tile[S * x]; out[S * g + 1] = tile[S * x + 1]; }"):format(condition))
    elseif form == 3 then
      add(("for (int k = 0; k < 3; k++) { T v = %s; __syncthreads(); %stile[%s] = v; __syncthreads(); }")
        :format(value(), condition, at))
    elseif form == 4 then
      add(("%stile[%s] += a[g];"):format(condition, at))
    else
      add(("{ T v = %s; __syncthreads(); %stile[%s] = v; }"):format(value(), condition, at))
    end
    add "__syncthreads();"
  end
  local source = ([[
__global__ void NAME(const T *a, const T *b, T *out, int d, int e) {
  __shared__ T tile[ROOM];
  int x = threadIdx.y * blockDim.x + threadIdx.x, g = blockIdx.x * THREADS + x, k = 1;
  for (int n = x; n < ROOM; n += THREADS) tile[n] = (T)n;
  __syncthreads();
  BODY
  for (int n = x; n < ROOM; n += THREADS) out[LAST + blockIdx.x * ROOM + n] = tile[n];
}]]):gsub("BODY", function() return table.concat(lines, "\n  ") end):gsub("%f[%w_]N%f[^%w_]", threads * steps)
    :gsub("ROOM", room):gsub("THREADS", threads):gsub("LAST", grid * threads * steps)
    :gsub("%f[%w_]S%f[^%w_]", steps):gsub("%f[%w_]T%f[^%w_]", t.name)
  local function launch()
    return { grid = grid, block = block, arguments = {
      { type = t.dtype, size = grid * threads * steps + 64 }, { type = t.dtype, size = threads * steps + 64 },
      { type = t.dtype, size = grid * (threads * steps + room) }, draw.pick { threads, 16, 5, 1, threads / 2 // 1, 0 },
      draw(5) } }
  end
  return { source = source, launches = { launch(), launch() } }
end
