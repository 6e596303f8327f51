-- Runs a function on the ranks of one process: on emulated ones of several numbers, or (MOONWARP_DEVICE=cuda) over NCCL
-- on all GPUs there are.

local mw = require "moonwarp"

local on_gpus = (os.getenv "MOONWARP_DEVICE" or ""):match "^cuda"

local function gpus()
  local list = {}
  for _, device in ipairs(mw.devices()) do
    if tostring(device):match "^cuda" then list[#list + 1] = tostring(device) end
  end
  return list
end

local groups = on_gpus and { gpus() } or { 1, 2, 3, 4, 7 }

---@param f fun(comm: table)
return function(f)
  if not on_gpus then mw.use "cpu" end
  for _, group in ipairs(groups) do mw.nccl.run(group, f) end
end
