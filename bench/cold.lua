-- The time of a compilation without any cache, for each source of bench/kernels and bench/held, alternating with the
-- compiler of another build:
--   luajit bench/cold.lua [--rounds=N] [--other=/path/to/its/bin/mwcc] [--launch] [parts of files' names]
-- Processor time of all threads, the least of the rounds: on a busy machine it is steadier than elapsed time, which the
-- second table column has. With --launch each kernel of bench/held by itself, for the block size of its launches.

package.path = "./?.lua;" .. package.path
local ffi = require "ffi"
local mw = require "moonwarp"
local sheet = require "bench.sheet"
local problems = require "bench.problems.problems"

ffi.cdef [[
  struct cold_usage { long user, user_micro, system, system_micro, rest[14]; };
  int getrusage(int who, struct cold_usage *usage);
]]

local rounds, other, launch, parts = 5, nil, false, {}
for _, word in ipairs(arg) do
  local name, value = word:match "^%-%-(%a+)=?(.*)$"
  if name == "rounds" then rounds = tonumber(value)
  elseif name == "other" then other = value
  elseif name == "launch" then launch = true
  else parts[#parts + 1] = word end
end

local compilers = { os.getenv "MOONWARP_HOME" .. "/bin/mwcc", other }

local function is_chosen(path)
  for _, part in ipairs(parts) do
    if path:find(part, 1, true) then return true end
  end
  return #parts == 0
end

local function sources()
  local list, pipe = {}, io.popen "find bench/kernels bench/held -name '*.cu' | LC_ALL=C sort"
  for path in pipe:lines() do
    if is_chosen(path) then list[#list + 1] = { name = path:match "bench/(.*)%.cu", words = path } end
  end
  pipe:close()
  return list
end

-- Only kernels of held-out folders: the older problems launch several kernels each.
local function launches()
  local list = {}
  for _, names in pairs(problems.groups()) do
    for _, name in ipairs(names) do
      local problem = is_chosen(name) and problems.open(name, problems.compile(name))
      if problem then
        local size, linkage = problem.block, problem.kernel.linkage
        list[#list + 1] = { name = name,
          words = ("--launch=%s:%dx%dx%d %s"):format(linkage, size[1], size[2], size[3], problems.path(name)) }
      end
    end
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

local usage = ffi.new "struct cold_usage"

local function processor_seconds()
  ffi.C.getrusage(-1, usage)
  return tonumber(usage.user + usage.system) + tonumber(usage.user_micro + usage.system_micro) * 1e-6
end

-- Milliseconds of processors, and elapsed; nil if this compiler cannot compile it.
local function measure(compiler, words)
  local start, used = mw.time(), processor_seconds()
  local good = os.execute(("exec %s %s -o /dev/null 2>/dev/null"):format(compiler, words))
  if good ~= 0 and good ~= true then return nil end
  return (processor_seconds() - used) * 1000, (mw.time() - start) * 1000
end

local function least(a, b) return not a and b or b and math.min(a, b) or a end

local list = launch and launches() or sources()
for _ = 1, rounds do
  for _, it in ipairs(list) do
    for i, compiler in ipairs(compilers) do
      local used, elapsed = measure(compiler, it.words)
      it[i] = { used = least(it[i] and it[i].used, used), elapsed = least(it[i] and it[i].elapsed, elapsed) }
    end
  end
end

local function quantile(values, part)
  table.sort(values)
  return values[math.max(1, math.ceil(part * #values))]
end

local report = sheet.new("source", "processor ms", "elapsed ms", "other's ms", "ratio")
local logs, ratios, used, elapsed, held = 0, 0, {}, {}, {}
for _, it in ipairs(list) do
  local own, its = it[1], it[2] or {}
  if own.used then
    used[#used + 1], elapsed[#elapsed + 1] = own.used, own.elapsed
    if launch or it.name:find "^held" then held[#held + 1] = own.elapsed end
    local ratio = its.used and own.used / its.used
    if ratio then logs, ratios = logs + math.log(ratio), ratios + 1 end
    report:add(it.name, ("%.1f"):format(own.used), ("%.1f"):format(own.elapsed),
      its.used and ("%.1f"):format(its.used) or "-", ratio and ("%.3f"):format(ratio) or "-")
  else
    report:add(it.name, "fails", "", "", "")
  end
end
report:print()
local function mean(values)
  local sum = 0
  for _, value in ipairs(values) do sum = sum + math.log(value) end
  return math.exp(sum / #values)
end
print(("processor ms: geometric mean %.1f, median %.1f, 95 %% below %.1f"):format(mean(used), quantile(used, 0.5),
  quantile(used, 0.95)))
print(("elapsed ms: geometric mean %.1f, median %.1f, 95 %% below %.1f; of held-out kernels 95 %% below %.1f"):format(
  mean(elapsed), quantile(elapsed, 0.5), quantile(elapsed, 0.95), #held > 0 and quantile(held, 0.95) or 0))
if ratios > 0 then
  print(("ratio of processor times: geometric mean %.3f of %d"):format(math.exp(logs / ratios), ratios))
end
