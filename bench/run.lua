-- make bench: what moonwarp costs and how fast its kernels are, beside PoCL and beside C written by hand for this
-- machine. With names of kernels (make bench ARGS='saxpy nbody') only those; --markdown prints docs/benchmarks.md.
--
-- Every figure is a median of at least 7 warm runs. The peers solve the same problem in the same minute, and a digest
-- of the result shows that they did; ratios are comparable between machines, milliseconds are not.

package.path = "./?.lua;" .. package.path
local mw = require "moonwarp"
local peers = require "bench.peers"
local problems = require "bench.problems"
local sheet = require "bench.sheet"

local RUNS = 7

local function milliseconds(run)
  local times = {}
  run()
  mw.synchronize()
  for i = 1, RUNS do
    local start = mw.time()
    run()
    mw.synchronize()
    times[i] = (mw.time() - start) * 1000
  end
  table.sort(times)
  return times[math.ceil(RUNS / 2)]
end

-- The kernel's own result (of its first run), its time and how the device runs it.
local function measure(name)
  local run, digest, kernel = problems.open(name)
  run()
  local sum, scale = digest()
  return milliseconds(run), sum, scale, kernel.tier
end

local function same(a, b, scale) return math.abs(a - b) <= 1e-4 * scale end

local function cell(format, value) return value and format:format(value) or "-" end

local means = { pocl = { 0, 0 }, native = { 0, 0 } }

-- The peer's cells: its time, and how many times faster moonwarp is.
local function beside(peer, name, time, sum)
  local peer_time, peer_sum, scale = peers.solve(peer, name)
  if not peer_time then return "-", "-" end
  if not same(sum, peer_sum, scale) then return cell("%.2f", peer_time), "DIFFERS" end
  local mean = means[peer]
  mean[1], mean[2] = mean[1] + math.log(peer_time / time), mean[2] + 1
  return cell("%.2f", peer_time), cell("%.2fx", peer_time / time)
end

local function mean(peer)
  local logs, count = means[peer][1], means[peer][2]
  return count > 0 and ("%.2fx"):format(math.exp(logs / count)) or "-"
end

local function kernels(names)
  local report = sheet.new("kernel", "tier", "moonwarp ms", "PoCL ms", "vs PoCL", "C ms", "vs C")
  for _, name in ipairs(names) do
    local ok, time, sum, _, tier = pcall(measure, name)
    collectgarbage()
    if ok then
      local pocl, vs_pocl = beside("pocl", name, time, sum)
      local native, vs_native = beside("native", name, time, sum)
      report:add(name, tier, cell("%.2f", time), pocl, vs_pocl, native, vs_native)
    else
      report:add(name, "", tostring(time):match("[^\n]*"), "", "", "", "")
    end
  end
  report:add("geometric mean", "", "", "", mean("pocl"), "", mean("native"))
  report:print()
end

local function first_line(command) return (peers.capture(command) or ""):match("[^\n]*") end

local function introduce()
  if sheet.markdown then
    sheet.say("# Benchmarks")
    sheet.say [[
Made by `make -s bench ARGS=--markdown`. Every figure is a median of at least 7 warm runs. The peers solve the same
problem in the same minute, which a digest of the result confirms. A ratio above 1 means that moonwarp is faster. The
kernels stand in `bench/kernels/` as CUDA C and as OpenCL C, the C with OpenMP in `bench/native.c`.]]
  end
  sheet.say(("moonwarp %s on %s: %s"):format(mw.version, mw.device().name, mw.properties().name))
  if peers.has("pocl") then
    sheet.say("PoCL: " .. first_line(peers.quote(os.getenv("MOONWARP_HOME") .. "/bench/pocl") .. " --device"))
  else
    sheet.say("PoCL is not measured: its column needs ocl-icd-opencl-dev and pocl-opencl-icd")
  end
  sheet.say("C: " .. first_line("cc --version") .. ", -O3 -march=native -ffast-math -fopenmp")
  local load = tonumber(first_line("cut -d' ' -f1 /proc/loadavg"))
  if load and load > 0.8 then
    sheet.say(("The machine was not idle (load %.1f at the start): the figures say little."):format(load))
  end
  if not sheet.markdown then print() end
end

local names = {}
for _, word in ipairs(arg) do
  if word == "--markdown" then sheet.markdown = true else names[#names + 1] = word end
end
introduce()
if #names == 0 then
  sheet.heading("What happens once, and what a launch costs")
  require("bench.once")()
end
sheet.heading("Kernels")
kernels(#names > 0 and names or problems.names)
