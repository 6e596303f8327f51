-- make bench: what moonwarp costs and how fast its kernels are, beside PoCL and beside C written by hand for this
-- machine. With names of kernels (make bench ARGS='saxpy nbody') only those.
--
-- Every figure is a median of at least 7 warm runs. The peers solve the same problem in the same minute, and a digest
-- of the result shows that they did; ratios are comparable between machines, milliseconds are not.

package.path = "./?.lua;" .. package.path
local mw = require "moonwarp"
local peers = require "bench.peers"
local problems = require "bench.problems"

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

local function kernels(names)
  local line = "%-14s %-6s %10s %10s %9s %10s %9s"
  print(line:format("kernel", "tier", "moonwarp", "PoCL ms", "vs PoCL", "C ms", "vs C"))
  for _, name in ipairs(names) do
    local ok, time, sum, _, tier = pcall(measure, name)
    collectgarbage()
    if ok then
      local pocl, vs_pocl = beside("pocl", name, time, sum)
      local native, vs_native = beside("native", name, time, sum)
      print(line:format(name, tier, cell("%.2f", time), pocl, vs_pocl, native, vs_native))
    else
      print(("%-14s %s"):format(name, tostring(time):match("[^\n]*")))
    end
  end
  local function mean(peer)
    local logs, count = means[peer][1], means[peer][2]
    return count > 0 and ("%.2fx"):format(math.exp(logs / count)) or "-"
  end
  print(line:format("geometric mean", "", "", "", mean("pocl"), "", mean("native")))
end

local machine = mw.properties()
print(("moonwarp %s on %s: %s"):format(mw.version, mw.device().name, machine.name))
if peers.has("pocl") then
  io.write(peers.capture(peers.quote(os.getenv("MOONWARP_HOME") .. "/bench/pocl") .. " --device") or "")
else
  print("PoCL is not measured: its column needs ocl-icd-opencl-dev and pocl-opencl-icd")
end
print()
if #arg == 0 then
  require("bench.once")()
  print()
end
kernels(#arg > 0 and arg or problems.names)
