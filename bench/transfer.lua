-- Transfers of data and work between host and device: copies compared with memcpy, tables with the goal, overlapping
-- streams with one stream, and graphs with the same launches. The two figures of a ratio are measured in the same
-- minute.

local mw = require "moonwarp"
local rt = require "moonwarp.runtime"
local measure = require "bench.measure"
local peers = require "bench.peers"
local sheet = require "bench.sheet"

local best, best_of_each = measure.best, measure.best_of_each

local MIB = 1024 * 1024

local function must(code, ...)
  assert(code == 0, rt.cudaGetErrorName(code))
  return ...
end

-- ---- copies ----

local function copies(report)
  local bytes = 64 * MIB
  local device = { must(rt.cudaMalloc(bytes)), must(rt.cudaMalloc(bytes)) }
  local pinned, pageable = must(rt.cudaMallocHost(bytes)), rt.malloc(bytes)
  for _, p in ipairs { device[1], device[2], pinned, pageable } do must(rt.cudaMemset(p, 1, bytes)) end
  local plain = peers.memcpy(bytes)
  local function row(name, to, from, kind)
    local seconds = best(25, function() must(rt.cudaMemcpy(to, from, bytes, kind)) end)
    local speed = bytes / seconds * 1e-9
    report:add(name, ("%.1f GB/s"):format(speed), plain and ("%.1f GB/s"):format(plain) or "-",
      plain and ("%.2fx"):format(speed / plain) or "-")
  end
  row("copy pinned host to device, 64 MiB", device[1], pinned, 1)
  row("copy device to pinned host", pinned, device[1], 2)
  row("copy pageable host to device", device[1], pageable, 1)
  row("copy device to device", device[2], device[1], 3)
  for _, p in ipairs(device) do must(rt.cudaFree(p)) end
  must(rt.cudaFreeHost(pinned))
  rt.free(pageable)
end

-- ---- tables ----

local GOAL = 50 -- million numbers per second, from Lua 5.4

local function tables(report)
  local count, list = 1000000, {}
  for i = 1, count do list[i] = i * 0.5 end
  local array = mw.array(list)
  local function row(name, run)
    local speed = count / best(25, run) * 1e-6
    report:add(name, ("%.0f M/s"):format(speed), ("%d M/s"):format(GOAL), ("%.2fx"):format(speed / GOAL))
  end
  row("table of a million numbers to array", function() array:copy_from(list) end)
  row("array to table", function() array:totable() end)
  local whole = {}
  for i = 1, count do whole[i] = i end
  local integers = mw.array(whole, "int")
  row("table of integers to array of int", function() integers:copy_from(whole) end)
  row("array of int to table", function() integers:totable() end)
end

-- ---- streams ----

local source = [[
__global__ void work(const float *x, float *y, int n, int rounds) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float v = x[i];
    for (int r = 0; r < rounds; r++) v = v * 0.999f + 0.5f;
    y[i] = v;
  }
}
__global__ void step(float *x) { x[threadIdx.x] += 1; }
]]

-- Repeated copy, kernel, copy, with the pieces in one stream or alternately in two. The kernel has too few blocks to
-- fill the device, so that overlap is visible.
local function overlap(report, m)
  local count, pieces = 2 ^ 18, 16
  local host_in, host_out, x, y = {}, {}, {}, {}
  for i = 1, 2 do
    host_in[i], host_out[i] = must(rt.cudaMallocHost(4 * count)), must(rt.cudaMallocHost(4 * count))
    x[i], y[i] = must(rt.cudaMalloc(4 * count)), must(rt.cudaMalloc(4 * count))
    must(rt.cudaMemset(host_in[i], 0, 4 * count))
  end
  local streams = { must(rt.cudaStreamCreate()), must(rt.cudaStreamCreate()) }
  local function run(used, blocks)
    for piece = 1, pieces do
      local i = (piece - 1) % 2 + 1
      local stream = streams[used == 2 and i or 1]
      must(rt.cudaMemcpyAsync(x[i], host_in[i], 4 * count, 1, stream))
      must(rt.cudaLaunchKernel(m.work, blocks, 256, { x[i], y[i], count, 100 }, 0, stream))
      must(rt.cudaMemcpyAsync(host_out[i], y[i], 4 * count, 2, stream))
    end
  end
  for _, blocks in ipairs { 1, 256 } do
    local one, two = best_of_each(30, { function() run(1, blocks) end, function() run(2, blocks) end })
    report:add(("copy, kernel of %d block%s, copy: two streams"):format(blocks, blocks == 1 and "" or "s"),
      ("%.2f ms"):format(two * 1e3), ("%.2f ms"):format(one * 1e3), ("%.2fx"):format(one / two))
  end
  for i = 1, 2 do
    must(rt.cudaStreamDestroy(streams[i]))
    for _, p in ipairs { x[i], y[i] } do must(rt.cudaFree(p)) end
    for _, p in ipairs { host_in[i], host_out[i] } do must(rt.cudaFreeHost(p)) end
  end
end

-- ---- graphs ----

local function graphs(report, m)
  local nodes, x, stream = 100, mw.zeros(64), mw.stream()
  local launch = m.step(1, 64, 0, stream)
  local bound = launch:bind(x)
  local graph = mw.capture(stream, function()
    for _ = 1, nodes do launch(x) end
  end)
  local exec = graph:instantiate()
  local replayed, prepared, plain = best_of_each(30, {
    function() exec:launch(stream) end,
    function() for _ = 1, nodes do bound() end end,
    function() for _ = 1, nodes do m.step(1, 64, 0, stream)(x) end end,
  })
  local each = 1e6 / nodes
  replayed, prepared, plain = replayed * each, prepared * each, plain * each
  report:add("a node of a graph, and a prepared launch", ("%.2f us"):format(replayed), ("%.2f us"):format(prepared),
    ("%.2fx"):format(prepared / replayed))
  report:add("the same, and a launch that is not prepared", ("%.2f us"):format(replayed), ("%.2f us"):format(plain),
    ("%.2fx"):format(plain / replayed))
end

local M = {}

function M.print()
  local m = mw.compile(source)
  local report = sheet.new("what", "moonwarp", "reference", "ratio")
  copies(report)
  tables(report)
  overlap(report, m)
  graphs(report, m)
  report:print()
  sheet.say("Copies are compared with memcpy in C, tables with the goal of 50 million numbers per second, two streams\n"
    .. "with one, graphs with separate launches.")
end

return M
