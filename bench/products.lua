-- Products of matrices and factorisations on the CPU device, compared with NumPy's in the same minute: milliseconds and
-- ratios. The two alternate, and the best of several runs counts.
--   lua5.4 bench/products.lua [float|double]
-- pip install numpy; without it its columns are empty.

package.path = "./?.lua;" .. package.path
local mw = require "moonwarp"
local peers = require "bench.peers"
local measure = require "bench.measure"

local dtype = arg[1] or "float"
local ROUNDS, TURNS = 5, 3

local function matrix(shape) return mw.rand(shape, dtype) - 0.5 end

-- Each: a name, moonwarp's function, what NumPy prepares and what it computes.
local cases = {}
for _, n in ipairs { 256, 512, 1024, 2048, 4096 } do
  cases[#cases + 1] = { ("%d x %d"):format(n, n), function()
    local a, b, c = matrix { n, n }, matrix { n, n }, mw.zeros({ n, n }, dtype)
    return function() a:mm(b, { out = c }) end
  end, ("a, b = rand(%d, %d), rand(%d, %d); c = np.empty_like(a)"):format(n, n, n, n), "np.matmul(a, b, out=c)" }
end
for _, n in ipairs { 8, 16, 32, 64 } do
  cases[#cases + 1] = { ("batch of 10000, %d x %d"):format(n, n), function()
    local a, b, c = matrix { 10000, n, n }, matrix { 10000, n, n }, mw.zeros({ 10000, n, n }, dtype)
    return function() a:mm(b, { out = c }) end
  end, ("a, b = rand(10000, %d, %d), rand(10000, %d, %d); c = np.empty_like(a)"):format(n, n, n, n),
    "np.matmul(a, b, out=c)" }
end
cases[#cases + 1] = { "matrix and vector, 4096", function()
  local a, v, c = matrix { 4096, 4096 }, matrix { 4096 }, mw.zeros({ 4096 }, dtype)
  return function() a:mm(v, { out = c }) end
end, "a, v = rand(4096, 4096), rand(4096)", "a @ v" }
cases[#cases + 1] = { "einsum bij,bjk->ik", function()
  local a, b = matrix { 64, 128, 128 }, matrix { 64, 128, 128 }
  return function() return mw.einsum("bij,bjk->ik", a, b) end
end, "a, b = rand(64, 128, 128), rand(64, 128, 128)", "np.einsum('bij,bjk->ik', a, b, optimize=True)" }
for _, name in ipairs { "inv", "cholesky", "qr", "svd", "eigh" } do
  for _, shape in ipairs { "512, 512", "1000, 16, 16" } do
    cases[#cases + 1] = { ("%s, %s"):format(name, shape:gsub(", ", " x ")), function()
      local sizes = {}
      for size in shape:gmatch "%d+" do sizes[#sizes + 1] = tonumber(size) end
      local a = matrix(sizes)
      if name == "cholesky" or name == "eigh" then
        a = a:mm(a:transpose()) + mw.eye(sizes[#sizes], sizes[#sizes], { dtype = dtype })
      end
      return function() return mw.linalg[name](a) end
    end, ("a = rand(%s)%s"):format(shape, (name == "cholesky" or name == "eigh")
      and "; a = a @ a.swapaxes(-1, -2) + np.eye(a.shape[-1], dtype=a.dtype)" or ""),
      name == "svd" and "np.linalg.svd(a, full_matrices=False)" or ("np.linalg.%s(a)"):format(name) }
  end
end

-- NumPy's time of a case in a process of its own, or nil.
local function numpy(case)
  local script = ([[
import time, numpy as np
rng = np.random.default_rng(1)
rand = lambda *shape: (rng.random(shape) - 0.5).astype(np.%s)
%s
best = 1e9
for _ in range(%d):
    start = time.perf_counter()
    %s
    best = min(best, time.perf_counter() - start)
print(best)]]):format(dtype == "double" and "float64" or "float32", case[3]:gsub("; ", "\n"), ROUNDS + 1, case[4])
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(script)
  file:close()
  local output = peers.capture("python3 " .. path .. " 2>/dev/null")
  os.remove(path)
  return tonumber(output)
end

print(("products and factorisations of %s: ms"):format(dtype))
print(("%-28s %10s %10s %8s"):format("", "moonwarp", "NumPy", "ratio"))
for _, case in ipairs(cases) do
  local run = case[2]()
  local own, other = math.huge, math.huge
  for _ = 1, TURNS do
    own = math.min(own, measure.best(ROUNDS, run))
    other = math.min(other, numpy(case) or math.huge)
  end
  local has = other < math.huge
  print(("%-28s %10.3f %10s %8s"):format(case[1], own * 1e3, has and ("%.3f"):format(other * 1e3) or "-",
    has and ("%.2fx"):format(other / own) or "-"))
end
