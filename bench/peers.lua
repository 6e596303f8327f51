-- The programs that moonwarp is compared with, the machine's limits, and new Lua processes for costs of each process.

local home = os.getenv("MOONWARP_HOME") or "build/release"

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- A command's output, or nil if it fails.
local function capture(command)
  local pipe = assert(io.popen(command, "r"))
  local output = pipe:read("*a")
  return pipe:close() and output or nil
end

local function exists(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

local function built(program)
  local path = home .. "/bench/" .. program
  return exists(path) and quote(path) or nil
end

-- Where `pip install intel-opencl-rt intel-cmplr-lib-rt` has put Intel's runtime: in the libraries of the active Python
-- or of the user, or in BENCH_INTEL.
local function intel_folder()
  local places = capture("python3 -c 'import site, sys; print(sys.prefix); print(site.USER_BASE)' 2>/dev/null") or ""
  places = (os.getenv("BENCH_INTEL") or "") .. "\n" .. places
  for place in places:gmatch("[^\n]+") do
    for _, folder in ipairs { place, place .. "/lib" } do
      if exists(folder .. "/libintelocl.so") then return folder end
    end
  end
end

-- The command that runs a peer, or nil if it is not installed.
local commands = {}

function commands.native() return built "native" end

function commands.texture() return built "texture" end

function commands.pocl() return built "opencl" and built "opencl" .. " Portable" end

function commands.intel()
  local folder, program = intel_folder(), built "opencl"
  if not folder or not program then return nil end
  local library = quote(folder .. "/libintelocl.so")
  local command = ("LD_LIBRARY_PATH=%s OCL_ICD_FILENAMES=%s %s Intel"):format(quote(folder), library, program)
  return capture(command .. " --device 2>/dev/null") and command
end

local peers = { capture = capture, quote = quote }

local found = {}

-- The command of the peer "native", "texture", "pocl" or "intel"; false if it is not installed.
function peers.command(peer)
  if found[peer] == nil then found[peer] = commands[peer]() or false end
  return found[peer]
end

-- Solve problem `name`: milliseconds, digest, scale.
function peers.solve(peer, name)
  local output = peers.command(peer) and capture(peers.command(peer) .. " " .. name .. " 2>/dev/null") or ""
  local time, sum, scale = output:match("^%S+ (%S+) (%S+) (%S+)")
  return tonumber(time), tonumber(sum), tonumber(scale)
end

-- The name of an OpenCL peer's device.
function peers.device(peer) return (capture(peers.command(peer) .. " --device") or ""):match("[^\n]*") end

-- PoCL's milliseconds from the source to the end of the first launch, with its cache in `folder`.
function peers.pocl_build(name, folder)
  if not peers.command "pocl" then return nil end
  local command = "POCL_CACHE_DIR=" .. quote(folder) .. " " .. peers.command "pocl" .. " --build " .. name
  return tonumber((capture(command) or ""):match("^%S+ (%S+)"))
end

-- The machine's limits, the best of several processes: bytes and floating-point operations per millisecond.
function peers.limits()
  local most_bytes, most_operations = 0, 0
  for _ = 1, 3 do
    local bytes, operations = (capture(built "limits") or ""):match("^(%S+) (%S+)")
    most_bytes, most_operations = math.max(most_bytes, tonumber(bytes)), math.max(most_operations, tonumber(operations))
  end
  return most_bytes * 1e6, most_operations * 1e6
end

-- Floating-point operations per millisecond, with that many processors.
function peers.arithmetic(threads)
  local output = capture(("OMP_NUM_THREADS=%d %s --arithmetic"):format(threads, built "limits")) or ""
  return tonumber(output:match("%S+")) * 1e6
end

-- GB/s of C's memcpy, with one processor; nil if the program does not exist.
function peers.memcpy(bytes)
  return tonumber((capture(("%s --memcpy %d"):format(built "limits", bytes)) or ""):match("%S+"))
end

-- The command that starts an interpreter of the kind that runs this one.
peers.interpreter = quote(arg[-1])

-- Run `code` in a fresh interpreter of the kind that runs this one; the number that it prints.
function peers.fresh(code)
  return assert(tonumber(capture(peers.interpreter .. " -e " .. quote(code))), "a fresh process failed; see above")
end

return peers
