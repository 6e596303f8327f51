-- A source that fetches from textures at very many places: the fetches are calls, and equal the inlined ones.
-- Lua 5.4 only: this tests the compiler.
-- CPU device only: about its compiler

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local head = {
  objects = "__global__ void k(cudaTextureObject_t t, float *o) {",
  references = "texture<float, 2, cudaReadModeElementType> t; __global__ void k(float *o) {",
}

-- A kernel with these fetches of a list that has no end.
local function kernel(kind, first, last)
  local lines, fetch = { head[kind] }, kind == "objects" and "tex2D<float>" or "tex2D"
  lines[2] = "float x = threadIdx.x, y = threadIdx.y, sum = o[threadIdx.x + 16 * threadIdx.y];"
  for i = first, last do
    lines[#lines + 1] = ("sum += %s(t, x + %d.25f, y * 0.5f + %d) * %d;"):format(fetch, i % 7, i % 5, i % 3 + 1)
  end
  lines[#lines + 1] = "o[threadIdx.x + 16 * threadIdx.y] = sum; }"
  return table.concat(lines, "\n")
end

describe("fetches at many places", function()
  it("are calls", function()
    local function calls(count)
      local ir = mwcc.run(kernel("objects", 1, count), "--stop-after=inline-helpers")
      return mwcc.count(ir, "call[^\n]*@_ZL5tex2D")
    end
    assert.equal(0, calls(20))
    assert.equal(60, calls(60))
  end)

  for kind in pairs(head) do
    it("have the results of few: " .. kind, function()
      local image = mw.zeros(32, 32)
      for i = 1, 32 do
        for j = 1, 32 do image[{ i, j }] = (i * 7 + j * 13) % 29 end
      end
      local texture, results = mw.texture(image, { filter = "linear", address = "clamp" }), {}
      for n, parts in ipairs { { { 1, 40 } }, { { 1, 20 }, { 21, 40 } } } do
        local out = mw.zeros(256)
        for _, part in ipairs(parts) do
          local m = mw.compile(kernel(kind, part[1], part[2]))
          if kind == "objects" then
            m.k(1, { 16, 16 })(texture, out)
          else
            m.t = texture
            m.k(1, { 16, 16 })(out)
          end
        end
        results[n] = out:totable()
      end
      assert.same(results[2], results[1])
      assert.is_true(results[1][100] > 0)
    end)
  end
end)
