-- moonwarp run -n 4 script.lua: a script in several processes, by the MPI launcher that is found. Each rank gets a GPU
-- if there are any, else its part of the cores; lines of output begin with the rank; when one rank fails, all end.

local raw = require "moonwarp.binding"

local M = {}

local usage = [=[
usage: moonwarp run [-n ranks] [--launcher mpirun] script [arguments]
  -n ranks         how many processes; 2 by default
  --launcher path  of mpirun or mpiexec; by default $MOONWARP_MPIRUN, or the first of mpirun, mpiexec, mpirun.openmpi
                   and mpirun.mpich that is found
  --plain          lines of output without the ranks]=]

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

local function output_of(command)
  local pipe = io.popen(command .. " 2>/dev/null")
  local text = pipe:read "*a"
  pipe:close()
  return text
end

local function find_launcher(named)
  local names = named and { named } or { "mpirun", "mpiexec", "mpirun.openmpi", "mpirun.mpich" }
  for _, name in ipairs(names) do
    local path = output_of("command -v " .. quote(name)):match "[^\n]+"
    if path then return path end
  end
  return nil, table.concat(names, ", ")
end

local function count_gpus()
  local count = 0
  for _, name in ipairs(raw.device_list()) do
    if name:find "^cuda:" then count = count + 1 end
  end
  return count
end

-- What a rank does first, in sh: it takes a GPU or its part of the cores, unless the user has said so.
local function prelude(ranks, gpus)
  local place = "r=${OMPI_COMM_WORLD_LOCAL_RANK:-${MPI_LOCALRANKID:-${SLURM_LOCALID:-0}}}; "
    .. "n=${OMPI_COMM_WORLD_LOCAL_SIZE:-${MPI_LOCALNRANKS:-" .. ranks .. "}}; "
  if gpus > 0 then
    return place .. ("export MOONWARP_DEVICE=${MOONWARP_DEVICE:-cuda:$((r %% %d))}; "):format(gpus)
  end
  return place .. "c=$(($(nproc) / n)); export MOONWARP_THREADS=${MOONWARP_THREADS:-$((c > 0 ? c : 1))}; "
end

---The command that starts the ranks, for sh.
---@param launcher string
---@param ranks integer
---@param words string[] what each rank runs
---@param gpus integer how many there are
---@return string
function M.command(launcher, ranks, words, gpus)
  local version, options = output_of(quote(launcher) .. " --version"), { "-n " .. ranks }
  if version:find "Open MPI" or version:find "OpenRTE" or version:find "PRRTE" then
    options[#options + 1] = "--oversubscribe --bind-to none --tag-output"
    if output_of "id -u":match "^0" then options[#options + 1] = "--allow-run-as-root" end
  else
    options[#options + 1] = "-prepend-rank"
  end
  local list = {}
  for i, word in ipairs(words) do list[i] = quote(word) end
  return ("%s %s sh -c %s sh %s"):format(quote(launcher), table.concat(options, " "),
    quote(prelude(ranks, gpus) .. 'exec "$@"'), table.concat(list, " "))
end

-- A launcher's line: the rank and the rest.
local function split_line(line)
  local rank, rest = line:match "^%[%d+,(%d+)%]<std%l+>:(.*)$" -- Open MPI's --tag-output
  if not rank then rank, rest = line:match "^%[(%d+)%] (.*)$" end -- MPICH's -prepend-rank
  return rank, rest or line
end

local function parse(arguments)
  local options, i = { ranks = 2, launcher = os.getenv "MOONWARP_MPIRUN" }, 1
  while arguments[i] and arguments[i]:find "^%-" do
    local option = arguments[i]
    if option == "-n" or option == "-np" then
      i = i + 1
      options.ranks = tonumber(arguments[i])
      if not options.ranks or options.ranks < 1 or options.ranks % 1 ~= 0 then return nil end
    elseif option == "--launcher" then
      i = i + 1
      options.launcher = arguments[i]
    elseif option == "--plain" then
      options.plain = true
    else
      return nil
    end
    i = i + 1
  end
  options.script = i
  return arguments[i] and options
end

---@param arguments string[] those after "run"
---@return integer the exit status
function M.main(arguments)
  local options = parse(arguments)
  if not options then
    io.stderr:write(usage, "\n")
    return 2
  end
  local launcher, tried = find_launcher(options.launcher)
  if not launcher then
    io.stderr:write("moonwarp run: no MPI launcher is found (tried ", tried,
      "). Install Open MPI or MPICH; on Debian: apt install openmpi-bin\n")
    return 1
  end
  local words, first = {}, -1
  while arg and arg[first - 1] do first = first - 1 end
  words[1] = arg and arg[first] or "lua"
  words[2] = arg and arg[0] or nil
  for i = options.script, #arguments do words[#words + 1] = arguments[i] end
  local command = M.command(launcher, ("%d"):format(options.ranks), words, count_gpus())
  local pipe, status = io.popen("{ " .. command .. "; } 2>&1; echo \"moonwarp run: status $?\""), 1
  for line in pipe:lines() do
    local ended = line:match "^moonwarp run: status (%d+)$"
    if ended then
      status = tonumber(ended)
    else
      local rank, rest = split_line(line)
      io.write(rank and not options.plain and "[" .. rank .. "] " or "", rest, "\n")
      io.flush()
    end
  end
  pipe:close()
  return status
end

return M
