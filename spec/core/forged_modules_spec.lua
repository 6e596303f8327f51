-- Modules with invalid tables and a valid checksum: the loader refuses them with a reason.
-- Lua 5.4 only: the trailer is calculated in 64-bit integers.

local mw = require "moonwarp"
local files = require "support.files"
local seal = require "support.compile.seal"

local text = [[
struct block { char bytes[1234]; };
__global__ void k(block b, char *out) { *out = b.bytes[threadIdx.x]; }
]]

-- The module, with the bytes of `from` (which stand in it once) replaced.
local function forged(from, to)
  local path = os.tmpname()
  mw.compile(text):save(path)
  local bytes = files.read(path)
  local at = assert(bytes:find(from, 1, true), "the table is not where it was")
  assert.is_nil(bytes:find(from, at + 1, true))
  files.write(path, seal(bytes:sub(1, at - 1) .. to .. bytes:sub(at + #from)))
  local m, err = mw.try_load(path)
  os.remove(path)
  return m, err
end

local params = string.pack("<I8I8", 2, 1248) -- how many, and the bytes of their block

describe("a module whose checksum fits", function()
  it("is loaded as it was written", function()
    assert.is_truthy(forged(params, params))
  end)

  for name, bytes in pairs { large = 1 << 40, ["as large as a size can be"] = -1, ["beyond any launch"] = 65537 } do
    it("is refused where a kernel's parameters are " .. name, function()
      local m, err = forged(params, string.pack("<i8i8", 2, bytes))
      assert.is_nil(m)
      assert.equal("cudaErrorInvalidKernelImage", err.code)
      assert.matches("parameter block", err.message)
    end)
  end

  it("is refused where a kernel has more parameters than bytes", function()
    local m, err = forged(params, string.pack("<i8i8", 1 << 40, 1248))
    assert.is_nil(m)
    assert.matches("parameters lie outside it", err.message)
  end)
end)
