-- The programs that moonwarp is compared with, and fresh Lua processes for what happens once in each.

local home = os.getenv("MOONWARP_HOME") or "build/release"

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- What a command prints, or nil where it fails.
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

local peers = { capture = capture, quote = quote }

-- Whether the peer "native" or "pocl" was built here.
function peers.has(peer) return exists(home .. "/bench/" .. peer) end

-- Solve problem `name`: milliseconds, digest, scale.
function peers.solve(peer, name)
  local output = peers.has(peer) and capture(quote(home .. "/bench/" .. peer) .. " " .. name) or ""
  local time, sum, scale = output:match("^%S+ (%S+) (%S+) (%S+)")
  return tonumber(time), tonumber(sum), tonumber(scale)
end

-- PoCL's milliseconds from the source to the end of the first launch, its own cache in `folder`.
function peers.pocl_build(name, folder)
  if not peers.has("pocl") then return nil end
  local command = "POCL_CACHE_DIR=" .. quote(folder) .. " " .. quote(home .. "/bench/pocl") .. " --build " .. name
  return tonumber((capture(command) or ""):match("^%S+ (%S+)"))
end

-- Run `code` in a fresh interpreter of the kind that runs this one; the number that it prints.
function peers.fresh(code)
  local interpreter = arg[-1]
  return assert(tonumber(capture(quote(interpreter) .. " -e " .. quote(code))), "a fresh process failed; see above")
end

return peers
