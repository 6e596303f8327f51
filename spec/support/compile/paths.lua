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

-- NVIDIA's own. LeakSanitizer fails in a process that has loaded it (spec/sanitize/README.md).
local function nvidia(script, home)
  return gpu { script, environment = { MOONWARP_NVRTC = M.nvrtc, MOONWARP_HOME = home or os.getenv "MOONWARP_HOME",
    ASAN_OPTIONS = (os.getenv "ASAN_OPTIONS" or "") .. ":detect_leaks=0" } }
end

local paths = {
  cpu = function(script)
    return child { 'local mw = require "moonwarp"\n' .. script, environment = { MOONWARP_DEVICE = "cpu" } }
  end,
  ["mwcc for a GPU"] = function(script) return gpu { script, environment = { MOONWARP_NVRTC = "off" } } end,
  ["a false NVRTC"] = function(script) return gpu { script, nvrtc = "mwcc=1" } end,
  NVRTC = M.nvrtc and nvidia,
}

-- NVRTC where there is no mwcc, which otherwise compiles what NVRTC cannot, and says what kernels' parameters are.
local alone = M.nvrtc and function(script) return nvidia(script, "/nonexistent") end

---The outputs of a script on each path, or on those that are named, by the path's name.
---@param script string
---@param names? string[]
---@return table<string, string>
function M.outputs(script, names)
  local all = {}
  for name, run in pairs(paths) do
    local wanted = not names
    for _, other in ipairs(names or {}) do wanted = wanted or name == other end
    if wanted then all[name] = run(script).output end
  end
  for _, name in ipairs(names or {}) do
    if name == "NVRTC alone" and alone then all[name] = alone(script).output end
  end
  return all
end

---Asserts that mwcc and NVRTC, or those of them that are named, compile a source for GPUs.
---@param source table as mw.compile takes it: source, options
---@param names? string[] "NVRTC alone" is only taken if it is named
function M.assert_compiles_for_gpus(source, names)
  local options = {}
  for i, option in ipairs(source.options) do options[i] = ("%q"):format(option) end
  local script = ("mw.warnings(false) local m, why = mw.try_compile { source = %q, options = { %s } }\n" ..
    "print(m and 'compiled' or why.message)"):format(source.source, table.concat(options, ", "))
  for path, output in pairs(M.outputs(script, names or { "mwcc for a GPU", "NVRTC" })) do
    assert(output == "compiled\n", path .. ": " .. output)
  end
end

return M
