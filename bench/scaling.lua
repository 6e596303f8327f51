-- make bench ARGS=--scaling: the scaling of compute-bound kernels with MOONWARP_THREADS = 1, 2, 4 … up to all
-- processors, or up to the value of MOONWARP_THREADS. Efficiency is the time of one thread divided by n times that of n
-- threads. A second table has four times as many elements: with many threads, the other tables' problems take less than
-- a millisecond, of which waking the threads and waiting for the last one are a considerable part.
--
-- Processors themselves do not always scale: two hardware threads may share a core and its arithmetic units, clocks are
-- lower when many cores are busy, and the machine may have other load. So the last line is the best speedup of
-- independent multiply-adds, and the last column, "of multiply-adds", is a kernel's speedup with all threads divided by
-- that of multiply-adds that alternate with it every few hundredths of a second. It exceeds 1 if a second hardware
-- thread helps a kernel that stalls. Everything is measured several times; the best time counts, and the median of the
-- ratios.

local measure = require "bench.measure"
local peers = require "bench.peers"
local sheet = require "bench.sheet"

local scaling = {}

local ROUNDS = 3

scaling.names = {
  "sgemm_naive", "sgemm_tiled", "conv2d", "nbody", "blackscholes", "mandelbrot", "kmeans", "sha256", "radix",
  "cholesky", "spheres",
}

local function counts(most)
  local list, n = {}, 1
  while n < most do
    list[#list + 1] = n
    n = n * 2
  end
  list[#list + 1] = most
  return list
end

-- Runs a process with that many threads and `times` as many elements. By name, `found` gets the time in milliseconds if
-- it is better than before, and one more ratio.
local function measure_once(threads, times, found)
  local command = ("MOONWARP_THREADS=%d %s bench/scaling_times.lua %d %s"):format(threads, peers.interpreter, times,
    table.concat(scaling.names, " "))
  for name, time, ratio in (peers.capture(command) or ""):gmatch("(%S+) (%S+) (%S+)\n") do
    found[name] = found[name] or { time = math.huge, ratios = {} }
    found[name].time = math.min(found[name].time, tonumber(time))
    table.insert(found[name].ratios, tonumber(ratio))
  end
end

local function ratio_of(found)
  return measure.median(#found.ratios, function(i) return found.ratios[i] end)
end

local function measure_all(threads, times)
  local measured, arithmetic = {}, {}
  for _, n in ipairs(threads) do measured[n], arithmetic[n] = {}, 0 end
  for _ = 1, ROUNDS do
    for _, n in ipairs(threads) do
      measure_once(n, times, measured[n])
      arithmetic[n] = math.max(arithmetic[n], peers.arithmetic(n))
    end
  end
  return measured, arithmetic
end

local function compare(threads, times)
  local head = { "kernel", "1 thread ms" }
  for _, n in ipairs(threads) do
    if n > 1 then head[#head + 1], head[#head + 2] = ("%d ms"):format(n), "efficiency" end
  end
  head[#head + 1] = "of multiply-adds"
  local report = sheet.new((table.unpack or unpack)(head))
  local measured, arithmetic = measure_all(threads, times)
  local most = threads[#threads]
  for _, name in ipairs(scaling.names) do
    local alone = measured[1][name]
    local row = { name, alone and ("%.2f"):format(alone.time) or "-" }
    for _, n in ipairs(threads) do
      local time = measured[n][name] and measured[n][name].time
      if n > 1 then
        row[#row + 1] = time and ("%.2f"):format(time) or "-"
        row[#row + 1] = alone and time and ("%.2f"):format(alone.time / time / n) or "-"
      end
    end
    local all = measured[most][name]
    row[#row + 1] = alone and all and ("%.2f"):format(ratio_of(alone) / ratio_of(all)) or "-"
    report:add((table.unpack or unpack)(row))
  end
  local row = { "(multiply-adds alone)", "" }
  for _, n in ipairs(threads) do
    if n > 1 then row[#row + 1], row[#row + 2] = "", ("%.2f"):format(arithmetic[n] / arithmetic[1] / n) end
  end
  row[#row + 1] = ("%.1f cores"):format(arithmetic[most] / arithmetic[1])
  report:add((table.unpack or unpack)(row))
  report:print()
end

function scaling.run()
  local threads = counts(tonumber(os.getenv "MOONWARP_THREADS") or tonumber(peers.capture("nproc")))
  sheet.heading("More processors")
  compare(threads, 1)
  sheet.heading("More processors, four times as many elements")
  compare(threads, 4)
end

return scaling
