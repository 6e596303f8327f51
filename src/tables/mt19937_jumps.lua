-- Writes the polynomials by which MT19937's streams are 2^2048 steps apart:
--   lua5.4 src/tables/mt19937_jumps.lua > src/device/moonwarp/random/mt19937_jumps.h   (20 seconds)
--
-- Words x of the sequence satisfy the recurrence whose characteristic polynomial is p, so word i + n is the sum of the
-- words i + k at the coefficients k of t^n mod p. (Haramoto et al., "Efficient jump ahead for F2-linear random number
-- generators", 2008) p itself is known in closed form. (Matsumoto and Nishimura, "Mersenne Twister", 1998, appendix A)

local DEGREE, N, M, W, R, A = 19937, 624, 397, 32, 31, 0x9908b0df
local DIGITS, BASE_BITS, STEP_BITS = 5, 3, 2048

-- ---- p, as the set of its exponents: sums of exponents are exclusive ----

local function multiplied(a, b)
  local sum = {}
  for i in pairs(a) do
    for j in pairs(b) do sum[i + j] = not sum[i + j] or nil end
  end
  return sum
end
local function power(a, n)
  local result = { [0] = true }
  for _ = 1, n do result = multiplied(result, a) end
  return result
end

local function characteristic()
  local p = {}
  local function add(term)
    for i in pairs(term) do p[i] = not p[i] or nil end
  end
  local upper, lower = { [N] = true, [M] = true }, { [N - 1] = true, [M - 1] = true }
  local all_upper = power(upper, W - R)
  add(multiplied(all_upper, power(lower, R)))
  for i = 0, W - 1 do
    if A >> i & 1 == 1 then
      add(i < R and multiplied(all_upper, power(lower, R - 1 - i)) or power(upper, W - 1 - i))
    end
  end
  assert(p[DEGREE])
  p[DEGREE] = nil
  return p
end

local exponents = {}
for e in pairs(characteristic()) do exponents[#exponents + 1] = e end
table.sort(exponents)

-- ---- polynomials are arrays of words of 32 bits, [0] has the lowest coefficients ----

local WORDS = DEGREE // 32 -- and one bit

-- Word `word` times t^at, added.
local function add_at(a, word, at)
  local i, shifted = at >> 5, word << (at & 31)
  a[i] = a[i] ~ (shifted & 0xffffffff)
  if shifted >> 32 ~= 0 then a[i + 1] = a[i + 1] ~ (shifted >> 32) end
end

-- p's second exponent is 227 below its first, so that a word is reduced at once.
local function reduced(a, top)
  for i = top, WORDS, -1 do
    local word = i == WORDS and a[i] & ~1 or a[i]
    a[i] = a[i] ~ word
    if word ~= 0 then
      local at = 32 * i - DEGREE
      for _, e in ipairs(exponents) do
        if at + e >= 0 then add_at(a, word, at + e) else add_at(a, word >> -(at + e), 0) end
      end
    end
  end
  return a
end

local function spread(x)
  x = (x | x << 16) & 0x0000ffff0000ffff
  x = (x | x << 8) & 0x00ff00ff00ff00ff
  x = (x | x << 4) & 0x0f0f0f0f0f0f0f0f
  x = (x | x << 2) & 0x3333333333333333
  return (x | x << 1) & 0x5555555555555555
end

local function square(a)
  local b = {}
  for i = 0, WORDS do
    local x = spread(a[i])
    b[2 * i], b[2 * i + 1] = x & 0xffffffff, x >> 32
  end
  return reduced(b, 2 * WORDS + 1)
end

local polynomial = {}
for i = 0, WORDS do polynomial[i] = i == 0 and 2 or 0 end
for _ = 1, STEP_BITS do polynomial = square(polynomial) end

print(([[
/* MT19937's jumps by 2^2048 * 8^i steps, as polynomials, for i = 0, 1, …; bit 0 of the first word is the constant term.
 * Written by src/tables/mt19937_jumps.lua, which describes them. */
#ifndef MOONWARP_RANDOM_MT19937_JUMPS_H
#define MOONWARP_RANDOM_MT19937_JUMPS_H

/* clang-format off */

#define __mw_mt_degree %d

static __device__ const unsigned int __mw_mt_jumps[%d][%d] = {]]):format(DEGREE, DIGITS, WORDS + 1))
for digit = 1, DIGITS do
  local line = "    {"
  for i = 0, WORDS do
    local item = ("0x%08x"):format(polynomial[i]) .. (i < WORDS and "," or "}" .. (digit < DIGITS and "," or "};"))
    if #line + #item + 1 > 120 then
      print(line)
      line = "     " .. item
    else
      line = line .. (line:match "{$" and "" or " ") .. item
    end
  end
  print(line)
  for _ = 1, BASE_BITS do polynomial = square(polynomial) end
end
print "\n#endif"
