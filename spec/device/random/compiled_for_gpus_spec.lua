-- The kernels of mw.random's generators, compiled for GPUs by mwcc and by NVRTC: a fake driver takes what they make.
-- Lua 5.4 only: a process of its own draws.

local gpu = require "support.fake.gpu"
local paths = require "support.compile.paths"

local script = [[
local drawn = 0
for _, kind in ipairs { "xorwow", "mtgp32", "mt19937", "sobol64" } do
  local g = mw.random(1, kind)
  for _, what in ipairs { "normal", "lognormal" } do
    for _, dtype in ipairs { "float", "double" } do
      g[what](g, 8192, { dtype = dtype })
      drawn = drawn + 1
    end
  end
end
io.write(drawn, "\n")
]]

describe("generators' kernels for GPUs", function()
  it("are compiled by mwcc", function()
    local result = gpu { script, environment = { MOONWARP_NVRTC = "off" } }
    assert.equal("16\n", result.output)
  end)

  it("are compiled by NVRTC", function()
    if not paths.nvrtc then return pending "no NVRTC here" end
    local result = gpu { script, environment = { MOONWARP_NVRTC = paths.nvrtc } }
    assert.equal("16\n", result.output)
  end)
end)
