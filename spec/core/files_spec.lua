-- Special files, and files larger than memory, in place of a picture, a module or a source: an error says what is
-- wrong, and the process neither ends nor waits nor reads data that it cannot use.

local run = require "support.child"
local shell = require "support.shell" "LD_PRELOAD"
local suite = require "support.suite"

local no_module = suite.on_gpu and "is not a module for a GPU" or "is not a moonwarp module"

-- `what` completes "local value, err = "; the script is in a folder of its own.
local function try(what, prepare)
  local folder = shell.must("mktemp -d"):gsub("\n", "")
  shell.must("cd " .. folder .. " && " .. prepare)
  local result = run { ([[
    local mw = require "moonwarp"
    local folder = %q
    mw.device()
    local value, err = %s
    print(value, err.kind, err.code, err.message)
    for line in io.lines "/proc/self/status" do
      local peak = line:match "^VmHWM:%%s*(%%d+)"
      if peak then print("peak", peak) end
    end
  ]]):format(folder, what), seconds = 60 }
  shell.must("rm -rf " .. folder)
  assert.is_true(result.ok, result.output)
  return result.output, tonumber(result.output:match "peak\t(%d+)")
end

local uses = {
  ["a picture"] = 'mw.try_read_image(folder .. "/x.ppm")',
  ["a module"] = 'mw.try_load(folder .. "/x.mwo")',
  ["a source text"] = 'mw.try_compile { file = folder .. "/x.cu" }',
}
local endings = { ["a picture"] = "ppm", ["a module"] = "mwo", ["a source text"] = "cu" }

for use, what in pairs(uses) do
  local name = "x." .. endings[use]
  describe(use .. " that is", function()
    it("a pipe is refused, and not waited for", function()
      assert.matches("a pipe\n", (try(what, "mkfifo " .. name)))
    end)

    it("a device is refused", function()
      assert.matches("a device\n", (try(what, "ln -s /dev/zero " .. name)))
    end)

    it("a folder is refused", function()
      assert.matches("a folder\n", (try(what, "mkdir " .. name)))
    end)

    it("larger than memory is refused", function()
      local output = try(what, "truncate -s 15T " .. name)
      if use == "a module" then
        assert.matches("cudaErrorInvalidKernelImage\t[^\n]* " .. no_module, output)
      else
        assert.matches("memory\tcudaErrorMemoryAllocation\tcannot read '[^']*': the host has no memory", output)
      end
    end)
  end)
end

describe("a module", function()
  it("that is damaged is recognised by its end, at any size", function()
    local output, peak = try(uses["a module"], "truncate -s 3G x.mwo")
    assert.matches(no_module, output)
    assert.is_true(peak < 1024 * 1024, output)
  end)
end)
