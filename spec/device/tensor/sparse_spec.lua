-- mma.sp, products of sparse matrices, compared with a model (support/models/sparse.lua), and with digests of what an
-- H100 returned (spec/data/tensor/h100_sparse.txt): all forms for compute capability 9.0, all sparsity selectors.
-- Lua 5.4 only: the compiler is tested.

local mw = require "moonwarp"
local sparse = require "support.models.sparse"

-- By the form's name: { class, number of the sample, selector, FNV-1a digest of the sums of all lanes }.
local recorded = {}
for line in io.lines "spec/data/tensor/h100_sparse.txt" do
  local name, class, number, selector, digest = line:match "^(.-) (%l+) (%d+) (%d) (%x+)$"
  recorded[name] = recorded[name] or {}
  table.insert(recorded[name], { class, math.tointeger(number), math.tointeger(selector), digest })
end

local function digest_of(words)
  local hash = 0xcbf29ce484222325
  for i = 1, #words do
    for shift = 0, 24, 8 do hash = (hash ~ words[i] >> shift & 255) * 0x100000001b3 end
  end
  return ("%016x"):format(hash)
end

local function kernels(form)
  local texts = {}
  for selector = 0, form.selectors - 1 do
    texts[selector + 1] = sparse.kernel("select" .. selector, form, selector)
  end
  return mw.compile { source = table.concat(texts, "\n"), options = { "-arch=compute_90" } }
end

local function run(kernel, form, sample)
  local D = mw.zeros(#sample.c, "uint")
  kernel(1, 32)(mw.array(sample.a, "uint"), mw.array(sample.b, "uint"), mw.array(sample.c, "uint"),
    mw.array(sample.e, "uint"), D)
  return function(lane, i)
    if form.sum == "f16" then return D[lane * 2 + i // 2 + 1] >> 16 * (i % 2) & 0xffff end
    return D[lane * 4 + i + 1]
  end, D:totable()
end

local function check(form, sample, selector, result, step)
  for lane = 0, 31, step do
    for i = 0, 3 do
      local expected = sparse.expected(form, sample, selector, lane, i)
      if result(lane, i) ~= expected then
        error(("%s, selector %d, lane %d, sum %d: %x instead of %x"):format(form.name, selector, lane, i,
          result(lane, i), expected))
      end
    end
  end
end

describe("mma.sp", function()
  for _, form in ipairs(sparse.forms) do
    it("multiplies the numbers that the metadata selects: " .. form.name, function()
      local m = kernels(form)
      for selector = 0, form.selectors - 1 do
        local sample = sparse.sample(form, "exact", selector + 1)
        check(form, sample, selector, (run(m["select" .. selector], form, sample)), 1)
      end
      for n, class in ipairs(form.sum == "s32" and {} or sparse.classes) do
        local sample = sparse.sample(form, class, n + 10)
        check(form, sample, 0, (run(m.select0, form, sample)), 3)
      end
      for _, of in ipairs(recorded[form.name]) do
        local class, number, selector, digest = table.unpack(of)
        local _, words = run(m["select" .. selector], form, sparse.sample(form, class, number))
        assert.equal(digest, digest_of(words), class .. " " .. number)
      end
    end)
  end

  it("takes metadata whose order is promised, and saturates", function()
    local form
    for _, other in ipairs(sparse.forms) do form = other.name == "m16n8k64 s8 s8 s32" and other or form end
    local sample = sparse.sample(form, "exact", 1)
    for i = 1, #sample.c do sample.c[i] = i % 2 == 0 and 0x7fffffff or 0x80000000 end
    local ordered = form.text:gsub("mma%.sp", "mma.sp::ordered_metadata")
    local m = mw.compile { source = sparse.kernel("k", form, 0, ordered) .. "\n" ..
      sparse.kernel("l", form, 0, (form.text:gsub("col", "col.satfinite"))), options = { "-arch=compute_90" } }
    check(form, sample, 0, (run(m.k, form, sample)), 1)
    local result = run(m.l, form, sample)
    for lane = 0, 31 do
      for i = 0, 3 do
        local c = sample.c[lane * 4 + i + 1]
        local sum = (sparse.expected(form, sample, 0, lane, i) - c) & 0xffffffff
        local saturates = (c == 0x7fffffff) == (sum < 2 ^ 31)
        assert.equal(saturates and c or (c + sum) & 0xffffffff, result(lane, i))
      end
    end
  end)
end)
