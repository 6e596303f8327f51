-- Modules with invalid tables and a valid checksum: the loader refuses them with a reason.
-- Lua 5.4 only: the trailer is calculated in 64-bit integers.
-- CPU device only: a module for a GPU has no table of the library's own; its parts have names and lengths.

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

  local tags = { init = 12, needed = 1, hash = 0x6ffffef5, strings = 5, size = 10, symbols = 6, rela = 7, relasz = 8,
    count = 0x6ffffff9, jmprel = 23, relr = 36, init_array = 25, flags = 30 }

  -- The module with its dynamic section's entry of that tag replaced by another entry.
  local function with_entry(tag, change)
    local path = os.tmpname()
    mw.compile(text):save(path)
    local bytes = files.read(path)
    local offset
    local headers, count = string.unpack("<I8", bytes, 33), string.unpack("<I2", bytes, 57)
    for i = 0, count - 1 do
      local kind, _, at = string.unpack("<I4I4I8", bytes, headers + 56 * i + 1)
      if kind == 2 then offset = at end
    end
    while true do
      local found, value = string.unpack("<i8i8", bytes, offset + 1)
      assert.not_equal(0, found, "no such entry")
      if found == tag then
        local entry, value_now, more = change(value)
        bytes = bytes:sub(1, offset) .. string.pack("<i8i8", entry, value_now) .. bytes:sub(offset + 17)
        if more then bytes = more(bytes, value) end
        break
      end
      offset = offset + 16
    end
    files.write(path, seal(bytes))
    local m, err = mw.try_load(path)
    os.remove(path)
    return m, err
  end

  local function check(message, tag, change)
    local m, err = with_entry(tag, change)
    assert.is_nil(m)
    assert.equal("cudaErrorInvalidKernelImage", err.code)
    assert.matches(message, err.message)
  end

  it("is refused where the dynamic linker would run code of it", function()
    for _, name in ipairs { "init", "init_array", "relr" } do
      check("an entry that no module has", tags.flags, function() return tags[name], 0x1000 end)
    end
    check("relocations lie outside", tags.flags, function() return tags.jmprel, 0x1000 end)
  end)

  it("is refused where it needs other libraries", function()
    check("needs a library that no module needs", tags.flags, function() return tags.needed, 1 end)
  end)

  it("is refused where a table lies elsewhere", function()
    check("hash table", tags.hash, function() return tags.hash, 1 << 40 end)
    check("names lie outside", tags.strings, function() return tags.strings, 1 << 30 end)
    check("names lie outside", tags.size, function() return tags.size, -1 end)
    check("symbol", tags.symbols, function() return tags.symbols, 1 << 31 end)
    check("relocations lie outside", tags.rela, function() return tags.rela, 1 << 33 end)
    check("relocations lie outside", tags.relasz, function() return tags.relasz, 1 << 33 end)
    check("relocation", tags.count, function(value) return tags.count, value + 1 end)
  end)

  -- The first relocation changed: where it writes; its kind, or symbol. The first segment's addresses are offsets.
  local function relocated(at, kind, symbol)
    return function(value)
      return tags.rela, value, function(bytes)
        local old, info, rest = string.unpack("<i8i8i8", bytes, value + 1)
        local changed = string.pack("<i8i8i8", at or old, (kind or info) | (symbol or 0) << 32, rest)
        return bytes:sub(1, value) .. changed .. bytes:sub(value + 25)
      end
    end
  end

  it("is refused where a relocation writes outside its data, or is of another kind", function()
    for _, at in ipairs { 0, 64, 1 << 40, -8 } do
      check("writes outside its data", tags.rela, relocated(at))
    end
    check("of a kind that no module has", tags.rela, relocated(nil, 37)) -- calls a function (R_X86_64_IRELATIVE)
    check("of a kind that no module has", tags.rela, relocated(nil, 5)) -- copies a symbol
    check("symbol", tags.rela, relocated(nil, nil, 1 << 20)) -- there is no such symbol
  end)
end)
