-- Checked runs that must find nothing: the scripts of examples/ that need neither a display nor another process, and
-- the kernels of bench/, including held-out ones. Each runs in a process of its own.
--
--   lua bench/checks/clean.lua [examples|kernels|a script|a kernel …] [--seconds=N] [--jobs=N]
--
-- Prints a line for each, and the findings. --seconds: how long one may take (300); --jobs: how many run at a time (2).
--
-- They run on the device of MOONWARP_DEVICE, or else on the CPU device. There GPUs are hidden, since scripts of the
-- driver API use the first device whatever it is. The slowest there is examples/bicubic.lua, with up to 2 minutes of
-- one processor: its kernels have a texture reference, and such kernels are checked thread by thread.

package.path = "./?.lua;" .. package.path
local device = os.getenv "MOONWARP_DEVICE" or ""
if device == "" then device = "cpu" end
local mw = require "moonwarp"
mw.use(device)
local peers = require "bench.peers"
local problems = require "bench.problems.problems"

local seconds, jobs, wanted = 300, 2, {}
for _, word in ipairs(arg) do
  local option, count = word:match "^%-%-(%l+)=(%d+)$"
  local name = word:match "^%-%-kernel=(.+)$"
  if name then -- in the process of its own
    local run = problems.open(name, mw.compile { source = problems.read(problems.path(name)) }).run
    print(tostring(mw.check(function()
      -- Threads that find the same node write equal numbers.
      if name == "bfs" then mw.allow_race "next" end
      run()
      mw.synchronize()
    end)))
    os.exit(0)
  elseif option == "seconds" then
    seconds = tonumber(count)
  elseif option == "jobs" then
    jobs = tonumber(count)
  else
    wanted[#wanted + 1] = word
  end
end
if #wanted == 0 then wanted = { "examples", "kernels" } end

local function lines_of(command)
  local pipe, list = assert(io.popen(command)), {}
  for line in pipe:lines() do list[#list + 1] = line end
  pipe:close()
  return list
end

-- The scripts, and the commands that check them, as { name, command }; then the kernels.
local function list_all()
  local all = {}
  local function add(name, command)
    local hidden = device:find "^cpu" and "CUDA_VISIBLE_DEVICES= " or ""
    all[#all + 1] = { name, ("%sMOONWARP_DEVICE=%s timeout %d %s </dev/null"):format(hidden, device, seconds, command) }
  end
  for _, word in ipairs(wanted) do
    local scripts = word == "examples"
      and lines_of "find examples -name '*.lua' -not -path '*/support/*' -not -path '*/distributed/*' | sort"
      or word:match "%.lua$" and { word } or {}
    for _, script in ipairs(scripts) do add(script, "moonwarp --check " .. script) end
    local names = word ~= "kernels" and #scripts == 0 and word ~= "examples" and { word } or {}
    if word == "kernels" then
      for _, list in ipairs { problems.classics, problems.functions, problems.fields } do
        for _, name in ipairs(list) do names[#names + 1] = name end
      end
      for _, group in pairs(problems.groups()) do
        for _, name in ipairs(group) do names[#names + 1] = name end
      end
      table.sort(names)
    end
    for _, name in ipairs(names) do
      add(name, ("%s bench/checks/clean.lua --kernel=%s"):format(peers.interpreter, name))
    end
  end
  return all
end

-- A file with the output of each, in a folder of its own.
local all, folder = list_all(), lines_of("mktemp -d")[1]
local list = assert(io.open(folder .. "/list", "w"))
for i, one in ipairs(all) do
  list:write(("(%s; [ $? = 124 ] && echo not finished in time) > %s/%d 2>&1\n"):format(one[2], folder, i))
end
list:close()
os.execute(("xargs -P %d -d '\\n' -I LINE sh -c LINE < %s/list"):format(jobs, folder))

local other = 0
for i, one in ipairs(all) do
  local output = lines_of(("cat %s/%d"):format(folder, i))
  if output[#output] ~= "no findings" then
    other = other + 1
    print(one[1])
    for n = math.max(1, #output - 8), #output do print("    " .. output[n]) end
  end
end
os.execute("rm -r " .. folder)
print(("%d checked, %d with findings or not finished"):format(#all, other))
os.exit(other == 0 and 0 or 1)
