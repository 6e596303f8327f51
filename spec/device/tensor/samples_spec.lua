-- Tensor cores' products, bit by bit as an H100 has them.
-- Lua 5.4 only: the compiler is tested.

local tensor = require "support.tensor"

for _, kind in ipairs(tensor.kinds) do
  local with_ptx = kind.name:find "^mma"
  it((with_ptx and "mma.sync" or "nvcuda::wmma") .. " returns an H100's bits: " .. kind.name, function()
    local differ, count = tensor.compare(kind, with_ptx and tensor.mma(kind) or tensor.wmma(kind))
    assert.equal(0, differ)
    assert.is_true(count >= 6 * kind.m * kind.n)
  end)
end
