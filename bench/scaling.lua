-- make bench ARGS=--scaling: what more processors give the kernels that compute much, with MOONWARP_THREADS = 1, 2, 4 …
-- up to all processors, or to as many as MOONWARP_THREADS says. Efficiency is the time of one thread over that of n
-- threads times n. A second table has four times as many elements: with many threads what is in the other tables takes
-- less than a millisecond, and of that it is a part how quickly threads wake and that the last of them end together.
--
-- Processors do not always scale by themselves: two hardware threads may share a core and its arithmetic units, and
-- clocks fall when many work. So the last line is what independent multiply-adds by so many threads get, which need no
-- memory and never wait: how many times as many by all threads as by one is how many cores the machine is worth,
-- whatever it says of itself. The last column is how much faster than one thread all of them run a kernel, over that
-- number. Where others work on the machine, it is another one from minute to minute: all is measured in several rounds,
-- and the best of them counts.

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

-- Milliseconds by name, of a process with so many threads and `times` as many elements, where they are better than
-- those `found` before.
local function better_times(threads, times, found)
  local command = ("MOONWARP_THREADS=%d %s bench/scaling_times.lua %d %s"):format(threads, peers.interpreter, times,
    table.concat(scaling.names, " "))
  for name, time in (peers.capture(command) or ""):gmatch("(%S+) (%S+)\n") do
    found[name] = math.min(found[name] or math.huge, tonumber(time))
  end
end

local function measure(threads, times)
  local measured, arithmetic = {}, {}
  for _, n in ipairs(threads) do measured[n], arithmetic[n] = {}, 0 end
  for _ = 1, ROUNDS do
    for _, n in ipairs(threads) do
      better_times(n, times, measured[n])
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
  head[#head + 1] = "over cores"
  local report = sheet.new((table.unpack or unpack)(head))
  local measured, arithmetic = measure(threads, times)
  local most = threads[#threads]
  local cores = arithmetic[most] / arithmetic[1]
  for _, name in ipairs(scaling.names) do
    local alone = measured[1][name]
    local row = { name, alone and ("%.2f"):format(alone) or "-" }
    for _, n in ipairs(threads) do
      local time = measured[n][name]
      if n > 1 then
        row[#row + 1] = time and ("%.2f"):format(time) or "-"
        row[#row + 1] = alone and time and ("%.2f"):format(alone / time / n) or "-"
      end
    end
    row[#row + 1] = alone and measured[most][name] and ("%.2f"):format(alone / measured[most][name] / cores) or "-"
    report:add((table.unpack or unpack)(row))
  end
  local row = { "(multiply-adds alone)", "" }
  for _, n in ipairs(threads) do
    if n > 1 then row[#row + 1], row[#row + 2] = "", ("%.2f"):format(arithmetic[n] / arithmetic[1] / n) end
  end
  row[#row + 1] = ("%.1f cores"):format(cores)
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
