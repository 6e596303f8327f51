-- make bench: moonwarp's overheads and the speed of its kernels, compared with OpenCL (PoCL, Intel's runtime), with C
-- for this machine, and with the machine's limits. Names of kernels select those (make bench ARGS='saxpy nbody');
-- --held runs only kernels that nothing was tuned for; --markdown prints docs/build/benchmarks.md, --scaling the
-- scaling with the number of processors; --textures, --transfers (copies, tables, streams and graphs), --grids
-- (grids of few blocks), --random (random numbers, compared with NVIDIA's and Python's) and --arrays (operations on
-- arrays, compared with NumPy, numexpr and JAX; names select cases) run only those tables.
--
-- Every figure is the median of at least 7 warm runs. The peers solve the same problem in the same minute, and a digest
-- of the result confirms it; ratios are comparable between machines, milliseconds are not. The speed of memory depends
-- on the pages that a process gets, and on other machines on the same host, so each peer runs in several processes in
-- turn, and the median of these counts.

package.path = "./?.lua;" .. package.path
local mw = require "moonwarp"
local peers = require "bench.peers"
local problems = require "bench.problems.problems"
local sheet = require "bench.sheet"

local function same(a, b, scale) return math.abs(a - b) <= 1e-4 * scale end

local function cell(format, value) return value and format:format(value) or "-" end

-- ---- a table of kernels, with peers and limits ----

local titles = { pocl = "PoCL", intel = "Intel", native = "C" }

local ROUNDS = 3

-- moonwarp's own process: see solve.lua.
local function solve(name)
  local command = ("%s bench/solve.lua %s 2>&1"):format(peers.interpreter, name)
  local output = peers.capture(command) or ""
  local time, sum, tier, bytes, operations = output:match "^(%S+) (%S+) (%S+) (%S+) (%S+)\n$"
  if not tonumber(time) then return nil, output:match "[^\n]*" end
  return { time = tonumber(time), sum = tonumber(sum), tier = tier, bytes = tonumber(bytes),
    operations = tonumber(operations) }
end

-- The one with the median time.
local function median(list)
  table.sort(list, function(a, b) return a.time < b.time end)
  return list[math.ceil(#list / 2)]
end

-- moonwarp's solution, or nil and the reason why there is none, and by name those of the peers that have one.
local function solve_all(name, list)
  local own, others = {}, {}
  for _ = 1, ROUNDS do
    local solved, why = solve(name)
    if not solved then return nil, why end
    own[#own + 1] = solved
    for _, peer in ipairs(list) do
      local time, sum, scale = peers.solve(peer, name)
      others[peer] = others[peer] or {}
      if time then table.insert(others[peer], { time = time, sum = sum, scale = scale }) end
    end
  end
  for peer, all in pairs(others) do others[peer] = median(all) end
  return median(own), others
end

-- The ratio of the time that the kernel's memory traffic or its arithmetic would take at the machine's limit, whichever
-- is longer, to the kernel's time.
local function of_limit(solved, limits)
  local moving = (solved.bytes or 0) / limits.bytes
  local computing = (solved.operations or 0) / limits.operations
  if moving + computing == 0 then return "-" end
  local least, what = moving, "memory"
  if computing > moving then least, what = computing, "arithmetic" end
  return ("%.0f %% %s"):format(100 * least / solved.time, what)
end

-- A peer's cells: its time, and how many times faster moonwarp is, which also goes into the peer's mean.
local function peer_cells(other, solved, mean)
  if not other then return "-", "-" end
  if not same(solved.sum, other.sum, other.scale) then return cell("%.2f", other.time), "DIFFERS" end
  local ratio = other.time / solved.time
  mean.logs, mean.count = mean.logs + math.log(ratio), mean.count + 1
  mean.least, mean.ahead = math.min(mean.least, ratio), mean.ahead + (ratio > 1 and 1 or 0)
  return cell("%.2f", other.time), cell("%.2fx", ratio)
end

local function add_means(report, list, means)
  local geometric, least = { "geometric mean", "", "", "" }, { "least", "", "", "" }
  local ahead = { "faster", "", "", "" }
  for _, peer in ipairs(list) do
    local mean = means[peer]
    local some = mean.count > 0
    for _, row in ipairs { geometric, least, ahead } do row[#row + 1] = "" end
    geometric[#geometric + 1] = some and ("%.2fx"):format(math.exp(mean.logs / mean.count)) or "-"
    least[#least + 1] = some and ("%.2fx"):format(mean.least) or "-"
    ahead[#ahead + 1] = ("%d of %d"):format(mean.ahead, mean.count)
  end
  for _, row in ipairs { geometric, least, ahead } do report:add((table.unpack or unpack)(row)) end
end

local function kernels(names, list, limits)
  local head, means = { "kernel", "tier", "moonwarp ms", "of limit" }, {}
  for _, peer in ipairs(list) do
    head[#head + 1], head[#head + 2] = titles[peer] .. " ms", "vs " .. titles[peer]
    means[peer] = { logs = 0, count = 0, least = math.huge, ahead = 0 }
  end
  local report = sheet.new((table.unpack or unpack)(head))
  for _, name in ipairs(names) do
    local solved, others = solve_all(name, list)
    local row = { name, "", others, "" }
    if solved then row = { name, solved.tier, cell("%.2f", solved.time), of_limit(solved, limits) } end
    for _, peer in ipairs(list) do
      row[#row + 1], row[#row + 2] = "", ""
      if solved then row[#row - 1], row[#row] = peer_cells(others[peer], solved, means[peer]) end
    end
    report:add((table.unpack or unpack)(row))
  end
  add_means(report, list, means)
  report:print()
end

-- ---- the introduction: method and machine ----

local function first_line(command) return (peers.capture(command) or ""):match("[^\n]*") end

local function present(list)
  local there = {}
  for _, peer in ipairs(list) do
    if peers.command(peer) then there[#there + 1] = peer end
  end
  return there
end

local function introduce(limits)
  if sheet.markdown then
    sheet.say("# Benchmarks")
    sheet.say [[
## Methods

`make -s bench ARGS=--markdown` prints this page.

- Every figure is the median of at least 7 warm runs; for kernels, the median of three processes.
- The peers solve the same problem in the same minute, and a digest of the result confirms it. A ratio above 1
  means that moonwarp is faster.
- The kernels are in `bench/kernels/` (CUDA C) and `bench/opencl/` (OpenCL C), the C with OpenMP in
  `bench/peers/native.c`.
- "Of limit" compares with the time in which the bytes can be copied, or the arithmetic be done by independent
  multiply-adds, both measured in the same run. Memory traffic that stays in the caches can exceed the limit.]]
  end
  sheet.say(("moonwarp %s on %s: %s"):format(mw.version, mw.device().name, mw.properties().name))
  sheet.say(("The machine: a copy moves %.1f GB/s, multiply-adds make %.0f GFLOP/s"):format(limits.bytes * 1e-6,
    limits.operations * 1e-6))
  if peers.command "pocl" then
    sheet.say("PoCL: " .. peers.device "pocl")
  else
    sheet.say("PoCL is not measured: its column needs ocl-icd-opencl-dev and pocl-opencl-icd")
  end
  if peers.command "intel" then
    sheet.say("Intel's OpenCL runtime: " .. peers.device "intel")
  else
    sheet.say("Intel's OpenCL runtime is not measured: its column needs ocl-icd-opencl-dev and a Python with "
      .. "`pip install intel-opencl-rt intel-cmplr-lib-rt`")
  end
  sheet.say("C: " .. first_line("cc --version") .. ", -O3 -march=native -ffast-math -fopenmp")
  local load = tonumber(first_line("cut -d' ' -f1 /proc/loadavg"))
  if load and load > 0.8 then
    sheet.say(("The machine was not idle (load %.1f at the start): the figures are not reliable."):format(load))
  end
  if not sheet.markdown then print() end
end

local names = {}
for _, word in ipairs(arg) do
  if word == "--markdown" then
    sheet.markdown = true
  elseif word == "--textures" then
    require("bench.texture").print()
    os.exit(0)
  elseif word == "--transfers" then
    require("bench.transfer").print()
    os.exit(0)
  elseif word == "--grids" then
    require("bench.grids").print()
    os.exit(0)
  elseif word == "--random" then
    os.exit(os.execute "luajit bench/random/random.lua" and 0 or 1)
  elseif word == "--arrays" then
    local cases = {}
    for _, name in ipairs(arg) do
      if not name:find "^%-%-" then cases[#cases + 1] = name end
    end
    require("bench.arrays.arrays").print(cases)
    os.exit(0)
  elseif word == "--held" then
    for _, name in ipairs(problems.held) do names[#names + 1] = name end
  elseif word == "--scaling" then
    require("bench.scaling").run()
    os.exit(0)
  else
    names[#names + 1] = word
  end
end
local bytes, operations = peers.limits()
local limits = { bytes = bytes, operations = operations }
introduce(limits)
if #names > 0 then
  kernels(names, present { "pocl", "intel", "native" }, limits)
else
  sheet.heading("What happens once, and what a launch costs")
  require("bench.once")()
  sheet.heading("Kernels")
  kernels(problems.classics, present { "pocl", "intel", "native" }, limits)
  sheet.heading("Mathematical functions")
  kernels(problems.functions, present { "pocl", "intel", "native" }, limits)
  sheet.heading("Kernels from different fields")
  kernels(problems.fields, present { "pocl", "intel" }, limits)
  sheet.heading("Copies, tables, streams and graphs")
  require("bench.transfer").print()
  sheet.heading("Grids of few blocks")
  require("bench.grids").print()
  sheet.heading("Texture fetches")
  require("bench.texture").print()
  sheet.heading("Compilation of each kernel")
  require("bench.compiles").print()
end
