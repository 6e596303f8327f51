-- The compilers of a source: mwcc for the CPU device, mwcc for a GPU, and NVRTC. NVRTC is a fake one, whose PTX is made
-- by mwcc (fake/nvrtc.c), and also NVIDIA's own if the machine has it: compiling needs no GPU.

local child = require "support.child"
local gpu = require "support.fake.gpu"

local M = {}

local function first_file(...)
  for _, path in ipairs { ... } do
    local file = io.open(path)
    if file then
      file:close()
      return path
    end
  end
end

local folder = "/usr/local/cuda/lib64/libnvrtc.so"
M.nvrtc = first_file(folder .. ".13", folder .. ".12", folder)

---The outputs of a script on each path, by its name.
---@param script string
---@return table<string, string>
function M.outputs(script)
  local all = {
    cpu = child { 'local mw = require "moonwarp"\n' .. script, environment = { MOONWARP_DEVICE = "cpu" } },
    ["mwcc for a GPU"] = gpu { script, environment = { MOONWARP_NVRTC = "off" } },
    ["a false NVRTC"] = gpu { script, nvrtc = "mwcc=1" },
    NVRTC = M.nvrtc and gpu { script, environment = { MOONWARP_NVRTC = M.nvrtc } },
  }
  for path, result in pairs(all) do all[path] = result.output end
  return all
end

return M
