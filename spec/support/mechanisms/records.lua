-- Kernels whose threads load and store members of records of their own: by number, by a table of indices, backwards, in
-- global and in shared memory, with conditions, in loops, and through two pointers to the same memory: see fuzz.lua.

local types = {
  { name = "float", dtype = "float" }, { name = "int", dtype = "int" }, { name = "unsigned", dtype = "uint" },
  { name = "double", dtype = "double" }, { name = "long long", dtype = "int64" }, { name = "short", dtype = "short" },
}

return function(draw)
  local t = draw.pick(types)
  local block = draw.pick { 8, 16, 32, 64, 64, 128, 40, 100, { 16, 4 }, { 8, 8 }, { 4, 16 } }
  local threads = type(block) == "number" and block or block[1] * block[2]
  local grid = draw.between(1, 4)
  local size = draw.pick { 3, 4, 5, 6, 7, 8, 8, 9, 12, 16, 20, 33 } -- elements from one record to the next
  local members = math.min(size, draw.between(2, 12))
  local total = grid * threads

  -- where a thread's record begins, in `a`, `b`, `out` or shared `tile`
  local forms = { "S * g", "S * g", "S * (LAST - g)", "S * index[g]", "S * index[g]", "(long long)S * index[g]",
    "S * (unsigned)g" }
  local own = draw.pick(forms)
  local function member() return draw(members) end
  local function source()
    return draw.pick {
      ("a[at + %d]"):format(member()), ("a[at + %d]"):format(member()), ("out[at + %d]"):format(member()),
      ("r[%d]"):format(member()), ("a[S * index[g] + %d]"):format(member()), ("tile[S * x + %d]"):format(member()),
      ("b[at + %d]"):format(member()), "(T)k", "(T)d",
    }
  end
  local function value()
    local text = source()
    for _ = 1, draw(3) do text = ("(T)(%s %s %s)"):format(text, draw.pick { "+", "-" }, source()) end
    return text
  end

  local lines = {}
  local function add(text) lines[#lines + 1] = text end
  local condition = draw.pick { "", "", "", "if (x < d) ", "if (a[at] > 0) ", "if (g % 3 != 0) ", "if (x >= d) " }
  local function stores(target, count)
    local list, first = {}, draw(members)
    for m = 0, count - 1 do
      list[#list + 1] = ("%s[%d] = %s;"):format(target, draw.chance(85) and (first + m) % members or member(), value())
    end
    return table.concat(list, " ")
  end
  -- Indices that another array shares are widened differently from those of the neighbouring members. The values come
  -- first, because a load of what may be the same array would end the group of stores.
  local function of_sums()
    local first, list = draw(members), {}
    local count = math.min(members, draw.pick { 2, 2, 2, 3, 4, members })
    local function place(m) return ("i * S + %d"):format((first + m) % members) end
    local function any_place() return place(draw(count)) end
    for m = 0, count - 1 do
      local what = draw.pick { "(T)(i + M)", "(T)-i", "(T)d", ("whole[%s]"):format(any_place()), value() }
      list[#list + 1] = ("T v%d = %s;"):format(m, what)
    end
    local reads = draw.chance(40)
    if reads then table.insert(list, draw.between(1, #list), ("double o = other[%s];"):format(any_place())) end
    for m = 0, count - 1 do
      local what = draw.chance(80) and ("v%d"):format(m) or draw.pick { value(), "(T)k" }
      list[#list + 1] = ("whole[%s] = %s;"):format(place(m), what)
      if draw.chance(10) then list[#list + 1] = ("other[%s] = k;"):format(any_place()) end
    end
    for _ = 1, draw.between(1, 2) do
      list[#list + 1] = ("other[%s] = %s;"):format(any_place(), reads and "o" or draw.pick { "x", "0.5", "d" })
    end
    local index = draw.pick {
      type(block) == "number" and "int i = blockIdx.x * blockDim.x + threadIdx.x;" or
        "int i = blockIdx.x * blockDim.x * blockDim.y + x;", "int i = blockIdx.x * THREADS + x;",
      "int all = blockDim.x * blockDim.y * blockDim.z, block = blockIdx.x + gridDim.x * blockIdx.y, " ..
        "own = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z), i = block * all + own;",
      "unsigned i = (blockIdx.x + gridDim.x * blockIdx.y) * (blockDim.x * blockDim.y * blockDim.z) + x;",
    }
    return ("{ %s %s }"):format(index, table.concat(list, " "))
  end
  local only_sums = draw.chance(30)
  add "for (int m = 0; m < M; m++) tile[S * x + m] = a[at + m];"
  if draw.chance(50) then add "__syncthreads();" end
  for _ = 1, draw.between(1, 4) do
    local form = only_sums and 6 or draw(7)
    if form == 6 then
      add(condition .. of_sums())
    elseif form == 0 then -- a whole record at once
      add(("%s{ %s }"):format(condition, stores("(out + at)", members)))
    elseif form == 1 then
      add(("%s{ %s }"):format(condition, stores("r", draw.between(2, 8))))
    elseif form == 2 then -- of shared memory
      add(("%s{ T *s = tile + S * x; %s }"):format(condition, stores("s", draw.between(2, 8))))
    elseif form == 3 then -- a sum over the members, unrolled or not
      add(("{ T sum = 0; for (int m = 0; m < %s; m++) sum += (T)(a[at + m] + b[at + m]); r[%d] = sum; }")
        :format(draw.pick { members, "(d < M ? d : M)", math.min(members, 4) }, member()))
    elseif form == 4 then -- in a loop that lanes leave one by one
      add(("for (int k = x %% 3; k < 4; k++) { %s }"):format(stores("r", draw.between(2, 5))))
    else
      add(("for (int k = 0; k < 3; k++) { %s }"):format(stores("r", draw.between(2, 5))))
    end
  end
  local guard = draw.chance(40) and not table.concat(lines):find "__sync" and "if (g >= n) return;" or ""
  local code = ([[
__global__ void NAME(int n, const T *a, const T *b, T *out, const int *index, int d, double *other, T *whole) {
  __shared__ T tile[S * THREADS];
  int x = threadIdx.y * blockDim.x + threadIdx.x, g = blockIdx.x * THREADS + x, k = 1;
  GUARD
  RECORD at = OWN;
  T *r = out + at;
  BODY
  for (int m = 0; m < M; m++) out[SPAN + S * g + m] = tile[S * x + m];
}]]):gsub("BODY", function() return table.concat(lines, "\n  ") end):gsub("GUARD", guard):gsub("OWN", own)
    :gsub("RECORD", own:find "long" and "long long" or "int"):gsub("LAST", total - 1):gsub("THREADS", threads)
    :gsub("SPAN", size * total):gsub("%f[%w_]S%f[^%w_]", size):gsub("%f[%w_]M%f[^%w_]", members)
    :gsub("%f[%w_]T%f[^%w_]", t.name)

  -- Each thread has a record of its own: a permutation.
  local index = {}
  for i = 1, total do index[i] = i - 1 end
  for i = total, 2, -1 do
    local j = 1 + draw(i)
    index[i], index[j] = index[j], index[i]
  end
  local function launch()
    local n = draw.pick { total, total, total - 1, total // 2, 1, total - threads // 2 }
    return { grid = grid, block = block, arguments = {
      n, { type = t.dtype, size = size * total }, { type = t.dtype, size = size * total },
      { type = t.dtype, size = 2 * size * total }, { type = "int", size = total, values = index },
      draw.pick { 0, 1, 3, 5, threads, threads // 2 }, { type = "double", size = size * total },
      { type = t.dtype, size = size * total } } }
  end
  local launches = { launch(), launch() }
  if draw.chance(30) then -- b is what the kernel writes: each thread reads its own record there
    launches[2].arguments[3] = { of = 4, first = 1, last = size * total }
  end
  return { source = code, launches = launches }
end
