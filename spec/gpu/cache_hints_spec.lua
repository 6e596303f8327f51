-- Loads and stores with cache hints, and volatile memory, for every type that CUDA has them for: each compiler accepts
-- them, and the loaded values are those in memory.
-- Lua 5.4 only: this does not depend on the binding.

local mw = require "moonwarp"
local paths = require "support.compile.paths"

local loads = { "__ldg", "__ldca", "__ldcg", "__ldcs", "__ldlu", "__ldcv" }
local stores = { "__stwb", "__stcg", "__stcs", "__stwt" }
local types = { "__half", "__half2", "__nv_bfloat16", "__nv_bfloat162", "Odd", "char", "signed char", "unsigned char",
  "short", "unsigned short", "int", "unsigned", "long", "unsigned long", "long long", "unsigned long long", "float",
  "double" }
for _, scalar in ipairs { "char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "longlong", "ulonglong",
  "float", "double" } do
  for count = 1, 4 do types[#types + 1] = scalar .. count end
end

-- Element e of `to` becomes element e of `from`, by load e and one of the stores.
local function kernel(name, type)
  local lines = {}
  for e, load in ipairs(loads) do
    lines[e] = ("  %s(to + %d, %s(from + %d));"):format(stores[e % #stores + 1], e - 1, load, e - 1)
  end
  return ('extern "C" __global__ void %s(%s *to, const %s *from) {\n%s\n}\n'):format(name, type, type,
    table.concat(lines, "\n"))
end

local headers = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\nstruct Odd { short a; char b, c; };\n"
local parts = { headers }
for i, type in ipairs(types) do parts[#parts + 1] = kernel("k" .. i, type) end
local source = table.concat(parts)

describe("loads and stores with cache hints", function()
  it("move all bytes of every type", function()
    local m = mw.compile { source = source, options = { "-O1" } }
    for i, type in ipairs(types) do
      local kernel_i = m["k" .. i]
      local dtype = kernel_i.params[1].dtype
      local size = #mw.zeros(#loads, dtype):bytes()
      local bytes = {}
      for b = 1, size do bytes[b] = string.char((b * 37 + i) % 251) end
      local from, to = mw.from_bytes(table.concat(bytes), dtype), mw.zeros(#loads, dtype)
      kernel_i(1, 1)(to, from)
      assert.equal(table.concat(bytes), to:bytes(), type)
    end
  end)

  it("convert the value that they store to the type", function()
    local x, h = mw.zeros(2), mw.zeros(1, "half")
    mw.compile [[
#include <cuda_fp16.h>
extern "C" __global__ void k(float *x, __half *h) { __stcg(x, 3); __stwt(x + 1, 1.5); __stcs(h, 2.5f); }
]].k(1, 1)(x, h)
    assert.same({ 3, 1.5 }, x:totable())
    assert.equal(2.5, h[1])
  end)

  it("compile wherever a source is compiled", function()
    for path, output in pairs(paths.outputs(([==[
      local m, why = mw.try_compile { source = [[%s]], options = { "-G" } }
      print(m and #m:names() or why)
    ]==]):format(source))) do
      assert.equal(#types .. "\n", output, path)
    end
  end)
end)

describe("volatile half precision and bfloat16", function()
  local copies = [==[
#include <cuda_fp16.h>
#include <cuda_bf16.h>
template <class T> __global__ void copy(volatile T *from, T *to) {
  T v = from[0];
  to[0] = v;
  to[1] = from[1];
  *(volatile T *)(to + 2) = to[0];
  from[1] = v;
}
]==]

  it("are read and written", function()
    local m = mw.compile(copies)
    for name, dtype in pairs { __half = "half", __nv_bfloat16 = "bfloat16" } do
      local from, to = mw.array({ 1.5, -2 }, dtype), mw.zeros(3, dtype)
      m["copy<" .. name .. ">"](1, 1)(from, to)
      assert.same({ 1.5, -2, 1.5 }, to:totable())
      assert.same({ 1.5, 1.5 }, from:totable())
    end
  end)

  it("compile wherever a source is compiled", function()
    for path, output in pairs(paths.outputs(([==[
      local m = mw.compile [[%s]]
      print(m["copy<__half>"], m["copy<__nv_bfloat16>"])
    ]==]):format(copies))) do
      assert.matches("copy<__half>.*copy<__nv_bfloat16>", output, 1, false, path)
    end
  end)
end)
