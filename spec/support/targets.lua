-- Other processors with code that this machine can run, as compile options: x86-64 has levels, each with
-- all of the one before. --mcpu=x86-64-v2 stands for SSE4 (4 lanes), --mcpu=x86-64-v3 for AVX2 (8 lanes).

local function cpu_flags()
  local file = io.open("/proc/cpuinfo")
  local text = file and file:read("*a") or ""
  if file then file:close() end
  return " " .. (text:match("flags%s*:([^\n]*)") or "") .. " "
end

if os.getenv "MOONWARP_TARGET" == "aarch64" then
  return { { name = "for Neoverse N1", options = { "--mcpu=neoverse-n1" }, lanes = 4 } }
end

local flags = cpu_flags()
local targets = {}

if flags:find(" sse4_2 ", 1, true) then
  targets[#targets + 1] = { name = "for SSE4", options = { "--mcpu=x86-64-v2" }, lanes = 4 }
end
if flags:find(" avx2 ", 1, true) and flags:find(" fma ", 1, true) then
  targets[#targets + 1] = { name = "for AVX2", options = { "--mcpu=x86-64-v3" }, lanes = 8 }
end

return targets
