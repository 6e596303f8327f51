-- SIMD within a register (__vadd4 …) and DPX (__vimax3_s32 …) against arithmetic of one element at a time.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local suite = require "support.suite"
local random = require "support.random" "simd_in_word_spec"

-- The elements of a word, lowest first, as numbers with or without a sign; and the word of such elements.
local function elements(word, bits, signed)
  local list, mask = {}, (1 << bits) - 1
  for i = 0, 32 // bits - 1 do
    local x = word >> bits * i & mask
    if signed and x >> (bits - 1) == 1 then x = x - mask - 1 end
    list[i + 1] = x
  end
  return list
end
local function word_of(list, bits)
  local word = 0
  for i, x in ipairs(list) do word = word | (x & (1 << bits) - 1) << bits * (i - 1) end
  return word
end

-- Every pair of bytes, four per word; random halves with the corners among them.
local words = { [8] = { {}, {} }, [16] = { {}, {} } }
for a = 0, 255 do
  for b = 0, 255, 4 do
    table.insert(words[8][1], word_of({ a, a, a, a }, 8))
    table.insert(words[8][2], word_of({ b, b + 1, b + 2, b + 3 }, 8))
  end
end
local corners = { 0, 1, 2, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff }
local function half() return corners[random(1, 2 * #corners)] or random(0, 0xffff) end
for i = 1, 3000 do
  for n = 1, 2 do words[16][n][i] = word_of({ half(), half() }, 16) end
end

-- The same words in elements: many functions walk them.
local split = {}
for bits, operands in pairs(words) do
  split[bits] = { [true] = {}, [false] = {} }
  for signed, lists in pairs(split[bits]) do
    for n, list in ipairs(operands) do
      lists[n] = {}
      for i, word in ipairs(list) do lists[n][i] = elements(word, bits, signed) end
    end
  end
end

local function saturated(x, low, high) return x < low and low or x > high and high or x end

-- name: {whether elements have a sign, the function of two elements and their width}
local pairs_of = {
  add = { false, function(a, b) return a + b end },
  addss = { true, function(a, b, bits) return saturated(a + b, -1 << (bits - 1), (1 << bits - 1) - 1) end },
  addus = { false, function(a, b, bits) return saturated(a + b, 0, (1 << bits) - 1) end },
  sub = { false, function(a, b) return a - b end },
  subss = { true, function(a, b, bits) return saturated(a - b, -1 << (bits - 1), (1 << bits - 1) - 1) end },
  subus = { false, function(a, b) return a > b and a - b or 0 end },
  absdiffs = { true, function(a, b) return math.abs(a - b) end },
  absdiffu = { false, function(a, b) return math.abs(a - b) end },
  avgs = { true, function(a, b) return a + b < 0 and (a + b) // 2 or (a + b + 1) // 2 end },
  avgu = { false, function(a, b) return (a + b + 1) // 2 end },
  haddu = { false, function(a, b) return (a + b) // 2 end },
  maxs = { true, function(a, b) return math.max(a, b) end },
  maxu = { false, function(a, b) return math.max(a, b) end },
  mins = { true, function(a, b) return math.min(a, b) end },
  minu = { false, function(a, b) return math.min(a, b) end },
}
local comparisons = {
  eq = { false, function(a, b) return a == b end },
  ne = { false, function(a, b) return a ~= b end },
}
for name, compare in pairs {
  lt = function(a, b) return a < b end,
  le = function(a, b) return a <= b end,
  gt = function(a, b) return a > b end,
  ge = function(a, b) return a >= b end,
} do
  comparisons[name .. "s"], comparisons[name .. "u"] = { true, compare }, { false, compare }
end
for name, entry in pairs(comparisons) do
  pairs_of["cmp" .. name] = { entry[1], function(a, b) return entry[2](a, b) and -1 or 0 end }
  pairs_of["set" .. name] = { entry[1], function(a, b) return entry[2](a, b) and 1 or 0 end }
end
local single = {
  abs = function(a) return math.abs(a) end,
  absss = function(a, bits) return saturated(math.abs(a), 0, (1 << bits - 1) - 1) end,
  neg = function(a) return -a end,
  negss = function(a, bits) return saturated(-a, 0 - (1 << bits - 1), (1 << bits - 1) - 1) end,
}
local sums = { sads = true, sadu = false }

-- The kernel's results for the words, and how it ran.
local function run(expression, type, ...)
  local arrays = { ... }
  local names = { "a", "b", "c" }
  local parameters, n = {}, #arrays[1]
  for i, values in ipairs(arrays) do
    parameters[i] = ("const %s *%s"):format(type, names[i])
    arrays[i] = mw.array(values, type)
  end
  local m = mw.compile(([[extern "C" __global__ void k(%s *out, int n, %s) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = %s;
  }]]):format(type, table.concat(parameters, ", "), expression))
  local out = mw.zeros(n, type)
  m.k((n + 255) // 256, 256)(out, n, table.unpack(arrays))
  return out:totable(), m.k.tier
end

local function check(expression, expected, ...)
  local got, tier = run(expression, "uint", ...)
  if not suite.on_gpu then assert.equal("simd", tier) end
  for i, x in ipairs(expected) do
    if got[i] ~= x then
      local inputs = {}
      for n, list in ipairs { ... } do inputs[n] = ("%08x"):format(list[i]) end
      assert.equal(("%08x"):format(x), ("%08x of %s"):format(got[i], table.concat(inputs, " ")), expression)
    end
  end
end

local function sorted(t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = name end
  table.sort(names)
  return names
end

describe("SIMD within a register:", function()
  for _, name in ipairs(sorted(pairs_of)) do
    it("__v" .. name, function()
      local signed, f = table.unpack(pairs_of[name])
      for _, bits in ipairs { 8, 16 } do
        local expected, left, right = {}, words[bits][1], words[bits][2]
        for i = 1, #left do
          local a, b, r = split[bits][signed][1][i], split[bits][signed][2][i], {}
          for n = 1, #a do r[n] = f(a[n], b[n], bits) end
          expected[i] = word_of(r, bits)
        end
        check(("__v%s%d(a[i], b[i])"):format(name, 32 // bits), expected, left, right)
      end
    end)
  end

  for _, name in ipairs(sorted(single)) do
    it("__v" .. name, function()
      for _, bits in ipairs { 8, 16 } do
        local expected = {}
        for i in ipairs(words[bits][2]) do
          local r = {}
          for n, a in ipairs(split[bits][true][2][i]) do r[n] = single[name](a, bits) end
          expected[i] = word_of(r, bits)
        end
        check(("__v%s%d(a[i])"):format(name, 32 // bits), expected, words[bits][2])
      end
    end)
  end

  for _, name in ipairs(sorted(sums)) do
    it("__v" .. name, function()
      for _, bits in ipairs { 8, 16 } do
        local expected, left, right = {}, words[bits][1], words[bits][2]
        for i = 1, #left do
          local a, b, sum = split[bits][sums[name]][1][i], split[bits][sums[name]][2][i], 0
          for n = 1, #a do sum = sum + math.abs(a[n] - b[n]) end
          expected[i] = sum
        end
        check(("__v%s%d(a[i], b[i])"):format(name, 32 // bits), expected, left, right)
      end
    end)
  end
end)

describe("DPX:", function()
  local kinds = { s32 = { 32, true }, u32 = { 32, false }, s16x2 = { 16, true }, u16x2 = { 16, false } }
  local numbers = {}
  for n = 1, 3 do
    numbers[n] = {}
    for i = 1, 3000 do numbers[n][i] = word_of({ half(), half() }, 16) end
  end
  local function wrapped(x, bits, signed) return elements(x & (1 << bits) - 1, bits, signed)[1] end
  local forms = {
    ["__vimax3_%s(a[i], b[i], c[i])"] = function(a, b, c) return math.max(a, b, c) end,
    ["__vimin3_%s(a[i], b[i], c[i])"] = function(a, b, c) return math.min(a, b, c) end,
    ["__viaddmax_%s(a[i], b[i], c[i])"] = function(a, b, c, w) return math.max(w(a + b), c) end,
    ["__viaddmin_%s(a[i], b[i], c[i])"] = function(a, b, c, w) return math.min(w(a + b), c) end,
  }
  local relu = {
    ["__vimax_%s_relu(a[i], b[i])"] = function(a, b) return math.max(a, b, 0) end,
    ["__vimin_%s_relu(a[i], b[i])"] = function(a, b) return math.max(math.min(a, b), 0) end,
  }
  for form, f in pairs(forms) do
    relu[form:gsub("%%s", "%%s_relu")] = function(...) return math.max(f(...), 0) end
  end

  local function try(form, f, kind)
    local bits, signed = table.unpack(kinds[kind])
    local function wrap(x) return wrapped(x, bits, signed) end
    local expected = {}
    for i = 1, #numbers[1] do
      local a, b, c = numbers[1][i], numbers[2][i], numbers[3][i]
      a, b, c = elements(a, bits, signed), elements(b, bits, signed), elements(c, bits, signed)
      local r = {}
      for n = 1, #a do r[n] = f(a[n], b[n], c[n], wrap) end
      expected[i] = word_of(r, bits)
    end
    check("(unsigned)" .. form:format(kind), expected, table.unpack(numbers))
  end

  for kind, entry in pairs(kinds) do
    for form, f in pairs(forms) do
      it(form:format(kind), function() try(form, f, kind) end)
    end
    if entry[2] then
      for form, f in pairs(relu) do
        it(form:format(kind), function() try(form, f, kind) end)
      end
    end

    -- The choices of the elements are added as bits 0 (low or only) and 1 (high) to a second sum.
    for _, extreme in ipairs { "max", "min" } do
      local name = ("__vib%s_%s"):format(extreme, kind)
      it(name, function()
        local bits, signed = entry[1], entry[2]
        local arguments = bits == 32 and "&low" or "&high, &low"
        local body = "[=] { bool low, high = false; unsigned r = %s(a[i], b[i], %s); return %s; }()"
        local result, choice = {}, {}
        for i = 1, #numbers[1] do
          local a, b, r, chosen = elements(numbers[1][i], bits, signed), elements(numbers[2][i], bits, signed), {}, 0
          for n = 1, #a do
            local first = a[n] == b[n] or (a[n] > b[n]) == (extreme == "max")
            r[n] = first and a[n] or b[n]
            if first then chosen = chosen | 1 << (n - 1) end
          end
          result[i], choice[i] = word_of(r, bits), chosen
        end
        check(body:format(name, arguments, "r"), result, numbers[1], numbers[2])
        check(body:format(name, arguments, "(unsigned)low | (unsigned)high << 1"), choice, numbers[1], numbers[2])
      end)
    end
  end
end)
