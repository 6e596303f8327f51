-- NVIDIA's libcurand as the tests' oracle, where it is: sh setup.sh --peers fetches it, or MOONWARP_CURAND names it.
--   local curand = require "support.random.curand"
--   if curand.missing then pending(curand.missing) end
--   curand.draw { kind = "xorwow", seed = 1234, what = "bits", count = 100 }   --> 400 bytes
-- Fields besides: offset, ordering, dimensions, and a, b, the distribution's parameters. curand_host.lua has `what`.

local M = {}

local function exists(path)
  local file = path and io.open(path)
  return file and file:close() and path
end

M.path = exists(os.getenv "MOONWARP_CURAND") or exists "build/peers/nvidia/curand/lib/libcurand.so.10"
if not M.path then
  M.missing = "no libcurand.so.10 here: sh setup.sh --peers fetches it"
end

local function word(value)
  if value == nil then return "-" end
  return math.type and math.type(value) == "integer" and ("0x%x"):format(value) or tostring(value)
end

---@param request table
---@return string bytes
function M.draw(request)
  local count = ("%d"):format(request.count)
  local path = os.tmpname()
  local command = table.concat({ "luajit spec/support/random/curand_host.lua", "'" .. M.path .. "'", request.kind,
    word(request.seed), word(request.offset), word(request.ordering), word(request.dimensions),
    request.what or "bits", count, request.a or 0, request.b or 1, ">", path }, " ")
  local ok = os.execute(command)
  local file = assert(io.open(path, "rb"))
  local bytes = file:read "*a"
  file:close()
  os.remove(path)
  assert(ok == true or ok == 0, command)
  return bytes
end

return M
