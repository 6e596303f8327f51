-- Sums over indices.
local mw = require "moonwarp"
local failure = require "support.failure"
local numpy = require "support.numpy"

local function message(...) return failure(...).message end

numpy.run("linear/einsum", describe, it)

describe("mw.einsum and what is like it", function()
  it("agree with plain loops, for random texts", function()
    local seed = 7
    local function random(n)
      seed = (seed * 1103515245 + 12345) % 2147483648
      return math.floor(seed / 65536) % n + 1
    end
    local letters, size = { "a", "b", "c", "d" }, { a = 2, b = 3, c = 4, d = 3 }
    for _ = 1, 25 do
      local parts, arrays, used = {}, {}, {}
      for k = 1, random(3) do
        local part, shape = "", {}
        for d = 1, random(3) do
          local letter = letters[random(4)]
          part, shape[d], used[letter] = part .. letter, size[letter], true
        end
        local data, count = {}, 1
        for _, n in ipairs(shape) do count = count * n end
        for i = 1, count do data[i] = random(7) - 4 end
        parts[k], arrays[k] = part, { data = data, array = mw.array(data, "double"):reshape(shape) }
      end
      local result = ""
      for _, letter in ipairs(letters) do
        if used[letter] and random(2) == 1 then result = letter .. result end
      end
      local spec = table.concat(parts, ",") .. "->" .. result
      -- The loop over all letters.
      local sums, place, order = {}, {}, {}
      for _, letter in ipairs(letters) do
        if used[letter] then order[#order + 1] = letter end
      end
      local function index(labels)
        local at = 0
        for letter in labels:gmatch "." do at = at * size[letter] + place[letter] end
        return at + 1
      end
      local function walk(d)
        if d <= #order then
          for i = 0, size[order[d]] - 1 do
            place[order[d]] = i
            walk(d + 1)
          end
          return
        end
        local product = 1
        for k, part in ipairs(parts) do product = product * arrays[k].data[index(part)] end
        sums[index(result)] = (sums[index(result)] or 0) + product
      end
      walk(1)
      local list = {}
      for k, it in ipairs(arrays) do list[k] = it.array end
      local got = mw.einsum(spec, table.unpack(list))
      if type(got) == "number" then
        assert.equal(sums[1], got, spec)
      else
        assert.same(sums, got:reshape(-1):totable(), spec)
      end
    end
  end)

  it("give arrays of their own, or write into out", function()
    local a = mw.ones(3, 3)
    mw.einsum("ij->ji", a):fill(5)
    mw.einsum("ii->i", a):fill(5)
    assert.equal(9, a:sum())
    local y = mw.zeros(3)
    assert.is_true(mw.einsum("ij->i", a, { out = y }) == y)
    assert.same({ 3, 3, 3 }, y:totable())
    assert.matches("cannot be written into out", message(mw.einsum, "ij->ij", a, { out = y }))
  end)

  it("that cannot be are refused, with the reason", function()
    local a, b = mw.zeros(2, 3), mw.zeros(4, 2)
    local function refused(words, ...) assert.matches(words, message(...), 1, true) end
    refused("index j is 3 in one place, and 4 in operand 2, {4, 2}", mw.einsum, "ij,jk->ik", a, b)
    refused('operand 1 of "ijk->i" has 3 indices, and the array is {2, 3}', mw.einsum, "ijk->i", a)
    refused('operand 1 of "i->i" has 1 indices', mw.einsum, "i->i", a)
    refused("is about 2 arrays, and 1 are given", mw.einsum, "ij,jk", a)
    refused("wants an array, got nil", mw.einsum, "ij,jk->ik", nil, a)
    refused('no operand of "ij->k" has the index k', mw.einsum, "ij->k", a)
    refused('the result of "ij->ii" has the index i twice', mw.einsum, "ij->ii", a)
    refused('"1" is not an index', mw.einsum, "i1->i", a)
    refused("leaves the axes of ... out", mw.einsum, "...j->j", a)
    refused("an axis of ... is 2 in one place, and 4", mw.einsum, "...,...", a, b)
    refused("works on numbers", mw.einsum, "i->i", mw.zeros(3, "float2"))
    refused("3 axes of {2, 3} and {4, 2}", mw.tensordot, a, b, 3)
    refused("axis 2 of {2, 3} and axis 1 of {4, 2} have different sizes", mw.tensordot, a, b, 1)
    refused("as many of either array", mw.tensordot, a, b, { { 1, 2 }, { 1 } })
    refused("summed twice", mw.tensordot, a, b, { { 1, 1 }, { 1, 2 } })
    refused("axis 2 of {2, 3} and axis 2 of {4, 2}", mw.inner, a, b)
    refused("{2, 3} and {4, 2} have 6 and 8 elements", mw.vdot, a, b)
    refused("matrices first", mw.matvec, mw.zeros(3), b)
  end)
end)
