-- The kind of device on which the suite runs, and tests after which a GPU is lost.
--
--   local suite = require "support.suite"
--   if suite.on_gpu then return pending "CPU device only: …" end   in a test that only the CPU device can pass
--   suite.apart(it, "…", function)   instead of it("…", function): on a GPU in a process of its own, because after a
--                                    kernel has failed the process cannot use the GPU any more

local suite = { on_gpu = (os.getenv "MOONWARP_DEVICE" or ""):match "^cuda" ~= nil }

-- The tier of a kernel on lanes; on a GPU there are no tiers.
suite.simd = suite.on_gpu and "" or "simd"

local interpreter = arg[-1]

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

function suite.apart(it, name, test)
  if not suite.on_gpu or os.getenv "MOONWARP_APART" then return it(name, test) end
  local file = debug.getinfo(test, "S").source:sub(2)
  it(name, function()
    local pattern = name:gsub("%W", "%%%0")
    local command = ("MOONWARP_APART=1 %s spec/support/run.lua -o plainTerminal --filter %s %s 2>&1"):format(
      interpreter, quote(pattern), quote(file))
    local pipe = assert(io.popen(command))
    local output = pipe:read "*a"
    assert(pipe:close(), output)
    assert(output:match "%f[%d][1-9]%d* success", output)
  end)
end

return suite
