-- Parameter blocks of 32,764 bytes, from compute capability 7.0 on, and struct dtypes of that size.
-- CPU device only: on a GPU its compiler and driver decide how large they may be

local mw = require "moonwarp"

local text = [[
struct large { int v[8189]; };
__global__ void k(int *p, large s) { p[threadIdx.x] = s.v[threadIdx.x * 1023 + 5]; }
__global__ void set(large *s) { for (int i = 0; i < 8189; i++) s[1].v[i] = i * 2; }
]]

describe("a parameter block of 32,764 bytes", function()
  it("takes a struct as a table, and as an element of an array", function()
    local m = mw.compile(text)
    local values, expected, doubled = {}, {}, {}
    for i = 1, 8189 do values[i] = i * 3 end
    for t = 0, 7 do
      expected[t + 1] = values[t * 1023 + 6]
      doubled[t + 1] = (t * 1023 + 5) * 2
    end
    local p, structs = mw.zeros(8, "int"), mw.zeros(2, m:dtype "large")
    m.k(1, 8)(p, { v = values })
    assert.same(expected, p:totable())
    m.set(1, 1)(structs)
    m.k(1, 8)(p, structs[2])
    assert.same(doubled, p:totable())
  end)

  it("may not be larger", function()
    local module, why = mw.try_compile((text:gsub("8189", "8190")))
    assert.is_nil(module)
    assert.is_truthy(tostring(why):find("32764", 1, true), tostring(why))
  end)
end)
