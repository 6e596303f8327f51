-- Checked runs that must find nothing: the scripts of examples/ that need no picture to be looked at and no other
-- process, and the kernels of bench/, held-out ones too. Each runs in a process of its own.
--
--   lua bench/checks/clean.lua [examples|kernels|a script|a kernel …] [--seconds=N]
--
-- Prints a line for each, and the findings. --seconds: how long one may take (120).

package.path = "./?.lua;" .. package.path
local mw = require "moonwarp"
mw.use "cpu"
local peers = require "bench.peers"
local problems = require "bench.problems.problems"

local seconds, wanted = 120, {}
for _, word in ipairs(arg) do
  local count, name = word:match "^%-%-seconds=(%d+)$", word:match "^%-%-kernel=(.+)$"
  if name then -- in the process of its own
    local made = problems.make(name)
    local run = problems.sequence(made, mw.compile { source = problems.read(problems.path(name)) })
    print(tostring(mw.check(function()
      run()
      mw.synchronize()
    end)))
    os.exit(0)
  elseif count then
    seconds = tonumber(count)
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
    all[#all + 1] = { name, ("MOONWARP_DEVICE=cpu timeout %d %s </dev/null 2>&1"):format(seconds, command) }
  end
  for _, word in ipairs(wanted) do
    local scripts = word == "examples"
      and lines_of "find examples -name '*.lua' -not -path '*/support/*' -not -path '*/distributed/*' | sort"
      or word:match "%.lua$" and { word } or {}
    for _, script in ipairs(scripts) do add(script, "moonwarp --check " .. script) end
    local names = word ~= "kernels" and #scripts == 0 and word ~= "examples" and { word } or {}
    if word == "kernels" then
      for _, name in ipairs(problems.classics) do names[#names + 1] = name end
      for _, room in pairs(problems.rooms()) do
        for _, name in ipairs(room) do names[#names + 1] = name end
      end
      table.sort(names)
    end
    for _, name in ipairs(names) do
      add(name, ("%s bench/checks/clean.lua --kernel=%s"):format(peers.interpreter, name))
    end
  end
  return all
end

io.stdout:setvbuf "line"
local clean, other = 0, 0
for _, one in ipairs(list_all()) do
  local start = mw.time()
  local output = lines_of(one[2])
  local is_clean = output[#output] == "no findings"
  print(("%-40s %6.1f s  %s"):format(one[1], mw.time() - start, is_clean and "clean" or "NOT CLEAN"))
  for i = math.max(1, #output - 8), is_clean and 0 or #output do print("    " .. output[i]) end
  clean, other = clean + (is_clean and 1 or 0), other + (is_clean and 0 or 1)
end
print(("%d clean, %d not"):format(clean, other))
os.exit(other == 0 and 0 or 1)
