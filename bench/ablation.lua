-- The gain of each optional pass of the compiler: kernels compiled with and without it (--without=NAME) are timed in
-- turn in one process. Kernels whose code is the same are not timed.
--
--   MOONWARP_SPECIALISE=0 lua5.4 bench/ablation.lua [--part=1/7] [--pass=NAME,NAME] [--mcpu=NAME] [kernels]
--
-- Prints a line for each pass and kernel whose code differs: pass, kernel, the ratio of the kernel's time without the
-- pass to that with it, and the same ratio of compile times. --table=FILE makes a table from such lines.

package.path = "./?.lua;" .. package.path

local MWCC = os.getenv "MOONWARP_HOME" .. "/bin/mwcc"
local ROUNDS = 15

local function read_command(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read "*a"
  pipe:close()
  return text
end

-- The names of optional passes, in their order.
local function optional_passes()
  local names = {}
  for line in read_command(MWCC .. " --passes"):gmatch "[^\n]+" do
    local name, optional = line:match "^%S+%s+(%S+)%s+(optional)%f[%W]"
    if optional then names[#names + 1] = name end
  end
  return names
end

-- ---- measuring ----

local function measure(part, parts, only, mcpu, names)
  local mw = require "moonwarp"
  local problems = require "bench.problems.problems"
  local best_of_each = require("bench.measure").best_of_each
  if #names == 0 then
    local lists, groups = { problems.classics, problems.functions, problems.fields }, {}
    for group in pairs(problems.groups()) do groups[#groups + 1] = group end
    table.sort(groups)
    for _, group in ipairs(groups) do lists[#lists + 1] = problems.groups()[group] end
    for _, list in ipairs(lists) do
      for _, name in ipairs(list) do names[#names + 1] = name end
    end
  end

  local options = mcpu and { "--mcpu=" .. mcpu } or {}
  local few = 8 * mw.properties().multiprocessors

  -- The launch class to compile for: the block size, whether the grid's width is even, whether it has few blocks.
  local function class_of(problem)
    local block, grid = problem.block, problem.grid
    local blocks = grid[1] * grid[2] * grid[3]
    return ("%s:%dx%dx%d%s%s"):format(problem.kernel.linkage, block[1], block[2], block[3],
      grid[1] % 2 == 0 and ":2" or "", blocks == 1 and ":one" or blocks < few and ":few" or "")
  end

  local function command(name, class, option, rest)
    return ("%s %s %s --launch=%s %s %s"):format(MWCC, table.concat(options, " "), option, class, problems.path(name),
      rest)
  end

  -- The instructions of a kernel, rather than the module, which contains the options.
  local function code_of(name, class, option)
    local text = read_command(command(name, class, option, "--emit=asm -o - 2>&1"))
    local instructions = {}
    for line in text:gmatch "[^\n]+" do
      if line:find "^\t%l" then instructions[#instructions + 1] = line end
    end
    return table.concat(instructions, "\n")
  end

  local function compile_seconds(name, class, option)
    local least = math.huge
    for _ = 1, 3 do
      local start = mw.time()
      os.execute(command(name, class, option, "-o /dev/null 2>/dev/null"))
      least = math.min(least, mw.time() - start)
    end
    return least
  end

  local passes = only and {} or optional_passes()
  for pass in (only or ""):gmatch "[^,]+" do passes[#passes + 1] = pass end
  for i, name in ipairs(names) do
    if (i - 1) % parts == part - 1 then
      local base = problems.open(name, problems.compile(name, options))
      base.run()
      local sum, scale = base.digest()
      local class = class_of(base)
      local code, seconds = code_of(name, class, ""), compile_seconds(name, class, "")
      for _, pass in ipairs(passes) do
        local option = "--without=" .. pass
        if code_of(name, class, option) ~= code then
          local ok, without = pcall(function()
            return problems.open(name, problems.compile(name, { option, options[1] }))
          end)
          if ok then
            without.run()
            local other = without.digest()
            local a, b = best_of_each(ROUNDS, { base.run, without.run })
            local same = math.abs(sum - other) <= 1e-4 * scale
            local compiling = compile_seconds(name, class, option) / seconds
            print(("%s\t%s\t%.3f\t%.3f\t%s"):format(pass, name, b / a, compiling,
              same and "same" or "DIFFERS"))
          else
            print(("%s\t%s\t-\t-\t%s"):format(pass, name, tostring(without):gsub("\n.*", "")))
          end
          io.flush()
        end
      end
    end
  end
end

-- ---- a table of the measurements ----

local function table_of(path)
  local by_pass = {}
  for line in io.lines(path) do
    local pass, kernel, time, compiling = line:match "^(%S+)\t(%S+)\t(%S+)\t(%S+)\t"
    if tonumber(time) then
      by_pass[pass] = by_pass[pass] or {}
      table.insert(by_pass[pass], { kernel = kernel, time = tonumber(time), compiling = tonumber(compiling) })
    end
  end
  print "| pass | code differs for | mean there | gains most | loses most | compile time |"
  print "|---|--:|--:|---|---|--:|"
  for _, pass in ipairs(optional_passes()) do
    local list = by_pass[pass]
    if list then
      table.sort(list, function(a, b) return a.time > b.time end)
      local logs, compile_logs = 0, 0
      for _, it in ipairs(list) do
        logs, compile_logs = logs + math.log(it.time), compile_logs + math.log(it.compiling)
      end
      local most, least = list[1], list[#list]
      print(("| `%s` | %d | %.2f | %s %.2f | %s | %.2f |"):format(pass, #list, math.exp(logs / #list), most.kernel,
        most.time, least.time < 0.98 and ("%s %.2f"):format(least.kernel, least.time) or "",
        1 / math.exp(compile_logs / #list)))
    else
      print(("| `%s` | 0 | | | | |"):format(pass))
    end
  end
end

local part, parts, only, mcpu, names = 1, 1, nil, nil, {}
for _, word in ipairs(arg) do
  local option, value = word:match "^%-%-(%a+)=(.*)$"
  if option == "table" then return table_of(value) end
  if option == "part" then part, parts = tonumber(value:match "^%d+"), tonumber(value:match "%d+$")
  elseif option == "pass" then only = value
  elseif option == "mcpu" then mcpu = value
  else names[#names + 1] = word end
end
measure(part, parts, only, mcpu, names)
