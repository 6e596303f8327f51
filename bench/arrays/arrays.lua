-- Operations on arrays compared with NumPy, numexpr, JAX and pyfftw, on the same processors in one run: make bench
-- ARGS=--arrays (pip install numpy numexpr "jax[cpu]" pyfftw; a package that is not installed has an empty column).
-- Arrays are of 10^7 floats unless the line says otherwise, and results are made anew each time. The best of several
-- runs counts.
--
-- A ratio is the peer's time divided by moonwarp's: above 1 moonwarp is faster. "at least" is the ratio that moonwarp
-- aims at.

local mw = require "moonwarp"
local sheet = require "bench.sheet"

local M = {}

local COUNT = 10 ^ 7
local LEAST, SECONDS = 5, 0.5 -- the first runs get memory that nobody has used yet

local function best(run)
  run()
  mw.synchronize()
  local least, spent, runs = math.huge, 0, 0
  while runs < LEAST or spent < SECONDS do
    local start = mw.time()
    local result = run()
    mw.synchronize()
    local took = mw.time() - start
    if type(result) ~= "number" and result then result:free() end
    least, spent, runs = math.min(least, took), spent + took, runs + 1
  end
  return least
end

-- Of a call on ten elements, not waited for.
local function queued()
  local a, least = mw.ones(10), math.huge
  local times = 1000
  for _ = 1, 50 do
    mw.synchronize()
    local start = mw.time()
    for _ = 1, times do local _ = a + a end
    least = math.min(least, (mw.time() - start) / times)
  end
  return least
end

-- Name, what it is called in the table, what is aimed at, and a function that runs it.
local function cases()
  mw.seed(1)
  local a, b = mw.rand(COUNT), mw.rand(COUNT)
  local keys, places = mw.randint(0, 999, COUNT), mw.randint(1, COUNT, COUNT)
  local mask = a:gt(0.5)
  local ones = mw.empty(COUNT, "int"):assign(mask)
  local list = {}
  local function add(name, shown, aim, run) list[#list + 1] = { name = name, shown = shown, aim = aim, run = run } end
  add("copy", "`a:copy()`", "", function() return a:copy() end)
  add("add", "`a + b`", "1.5 NumPy", function() return a + b end)
  add("six", "six operations, one by one", "1.2 NumPy", function() return (a + b) * (a - b) * 2 + a * b end)
  local six = mw.map "(a + b) * (a - b) * 2 + a * b"
  add("six", "six operations, `mw.map`", "6 NumPy, 1.5 numexpr, 1.0 JAX", function() return six { a = a, b = b } end)
  local chain = mw.map "tanhf(logf(expf(a) + b))"
  add("chain", "exp, log, tanh, `mw.map`", "1.5 numexpr, 1.1 JAX", function() return chain { a = a, b = b } end)
  local shapes = { { "10^4,10^3", a:reshape(COUNT / 1000, 1000) }, { "10^7,2", a:reshape(COUNT / 2, 2) },
    { "2,10^7", a:reshape(2, COUNT / 2) } }
  for _, name in ipairs { "sum", "mean", "var", "argmax" } do
    add(name, ("`a:%s()`"):format(name), "2 NumPy, 1.0 JAX", function() return a[name](a) end)
    for _, shape in ipairs(shapes) do
      for axis = 1, 2 do
        local sizes = table.concat(shape[2].shape, ", ")
        local shown = ("%s of {%s}, axis %d"):format(name, sizes, axis)
        add(("%s:%s:%d"):format(name, shape[1], axis), shown, "2 NumPy, 1.0 JAX",
          function() return shape[2][name](shape[2], { axis = axis }) end)
      end
    end
  end
  add("cumsum", "`a:cumsum()`", "3 NumPy", function() return a:cumsum() end)
  add("sort", "`a:sort()`", "1.0 NumPy, 10 JAX", function() return a:sort() end)
  add("argsort", "`a:argsort()`", "1.0 NumPy", function() return a:argsort() end)
  add("topk", "`a:topk(100)`", "1.0 NumPy", function() return (a:topk(100)) end)
  add("take", "`a:take(i)`, i in any order", "1.5 NumPy", function() return a:take(places) end)
  add("scatter_add", "`y:scatter_add(i, a)`", "1.5 NumPy", function() return mw.zeros(COUNT):scatter_add(places, a) end)
  add("unique", "`unique` of 1000 integers", "1.5 NumPy", function() return keys:unique() end)
  add("nonzero", "`nonzero` of a half", "1.5 NumPy", function() return ones:nonzero() end)
  -- Fourier transforms of lines x n complex numbers: powers of two, mixed radices, a prime, and of two axes.
  for _, shape in ipairs { { 16384, 2 ^ 8 }, { 1024, 2 ^ 12 }, { 64, 2 ^ 16 }, { 4, 2 ^ 20 }, { 1, 2 ^ 24 },
    { 4096, 1000 }, { 4096, 1009 } } do
    local lines, n = shape[1], shape[2]
    local x
    add(("fft:%d:%d"):format(lines, n), ("`mw.fft.fft` of {%d, %d}"):format(lines, n), "2 NumPy, 1.0 pyfftw", function()
      if not x or x.count ~= lines * n then x = mw.rand(lines, n):to "complex64" end
      return mw.fft.fft(x)
    end)
  end
  local square = mw.rand(2048, 2048):to "complex64"
  add("fft2:2048:2048", "`mw.fft.fft2` of {2048, 2048}", "2 NumPy, 1.0 pyfftw",
    function() return mw.fft.fft2(square) end)
  for _, n in ipairs { 256, 1024, 4096 } do
    local x, y
    add(("mm:%d"):format(n), ("`a:mm(b)` of {%d, %d}"):format(n, n), "0.9 NumPy", function()
      if not x then x, y = mw.rand(n, n), mw.rand(n, n) end
      return x:mm(y)
    end)
  end
  -- Batches of products of 10^7 / 4 numbers.
  for _, n in ipairs { 8, 16, 32, 64 } do
    local count, x, y = math.floor(COUNT / 4 / (n * n)), nil, nil
    add(("batch:%d"):format(n), ("`a:mm(b)` of {%d, %d, %d}"):format(count, n, n), "2 NumPy", function()
      if not x then x, y = mw.rand(count, n, n), mw.rand(count, n, n) end
      return x:mm(y)
    end)
  end
  add("bincount", "`bincount` of 1000 integers", "1.5 NumPy", function() return keys:bincount() end)
  return list
end

-- Seconds by "peer case".
local function ask_peers(threads, names)
  local found = {}
  local pipe = io.popen(("python3 bench/arrays/peers.py %d %d %s 2>/dev/null"):format(COUNT, threads,
    table.concat(names, " ")))
  for line in pipe:lines() do
    local what, seconds = line:match "^(%S+ %S+) (%S+)$"
    if what then found[what] = tonumber(seconds) end
  end
  pipe:close()
  return found
end

---Print the table; names select cases.
---@param names string[]
function M.print(names)
  local threads = mw.device():properties().multiprocessors
  local peers = ask_peers(threads, names)
  local function ratio(peer, case, own)
    local seconds = peers[peer .. " " .. case]
    return seconds and ("%.2f"):format(seconds / own) or "-"
  end
  local table_of = sheet.new("operation", "ms", "NumPy", "numexpr", "JAX", "pyfftw", "at least")
  local function row(case, shown, own, text, aim)
    table_of:add(shown, text, ratio("numpy", case, own), ratio("numexpr", case, own), ratio("jax", case, own),
      ratio("pyfftw", case, own), aim)
  end
  local wanted = {}
  for _, name in ipairs(names) do wanted[name] = true end
  for _, case in ipairs(cases()) do
    if #names == 0 or wanted[case.name] then
      local own = best(case.run)
      row(case.name, case.shown, own, ("%.2f"):format(own * 1e3), case.aim)
      collectgarbage()
    end
  end
  local own = queued()
  row("ten", "`a + a` of ten elements, queued", own, ("%.5f"):format(own * 1e3), "1.5 µs")
  sheet.say(("%d threads; ratios are the peer's time by moonwarp's"):format(threads))
  table_of:print()
end

return M
