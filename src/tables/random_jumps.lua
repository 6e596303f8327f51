-- Writes the tables by which generators jump:
--   lua5.4 src/tables/random_jumps.lua xorwow > src/device/moonwarp/random/xorwow_jumps.h, and mrg32k3a likewise.
--
-- A linear generator's state after n steps is A^n s. A satisfies its own characteristic polynomial p, so A^n is the
-- polynomial x^n mod p in A, and a few coefficients stand for a matrix. The tables have these for n = digit * base^i *
-- stride, so that a jump takes one polynomial for each digit of n that is not 0.
-- (Haramoto et al., "Efficient jump ahead for F2-linear random number generators", 2008)

-- ---- XORWOW's linear part: 160 bits over GF(2). A polynomial is an array of 0 and 1, [1] is the constant term. ----

local DEGREE = 160

local function bits_of_sequence(count)
  local v = { 1, 0, 0, 0, 0 }
  local bits = {}
  for i = 1, count do
    bits[i] = v[1] & 1
    local t = v[1] ~ (v[1] >> 2)
    local last = v[5]
    v = { v[2], v[3], v[4], v[5], ((last ~ (last << 4)) ~ (t ~ (t << 1))) & 0xffffffff }
  end
  return bits
end

-- The shortest recurrence of a sequence of bits. (Massey, "Shift-register synthesis and BCH decoding", 1969)
local function connection_polynomial(bits)
  local c, b, length, shift = { [0] = 1 }, { [0] = 1 }, 0, 1
  for n = 0, #bits - 1 do
    local difference = bits[n + 1]
    for i = 1, length do difference = difference ~ ((c[i] or 0) & bits[n + 1 - i]) end
    if difference == 1 then
      local before = table.move(c, 0, DEGREE * 2, 0, {})
      for i = 0, DEGREE * 2 - shift do c[i + shift] = (c[i + shift] or 0) ~ (b[i] or 0) end
      if 2 * length <= n then length, b, shift = n + 1 - length, before, 0 end
    end
    shift = shift + 1
  end
  return c, length
end

local function characteristic_polynomial()
  local connection, length = connection_polynomial(bits_of_sequence(4 * DEGREE))
  assert(length == DEGREE)
  local p = {}
  for i = 0, DEGREE do p[i + 1] = connection[DEGREE - i] or 0 end
  return p
end

local p

local function product(a, b)
  local sum = {}
  for i = 1, 2 * DEGREE do sum[i] = 0 end
  for i = 1, DEGREE do
    if a[i] == 1 then
      for j = 1, DEGREE do sum[i + j - 1] = sum[i + j - 1] ~ b[j] end
    end
  end
  for i = 2 * DEGREE, DEGREE + 1, -1 do
    if sum[i] == 1 then
      for j = 0, DEGREE do sum[i - j] = sum[i - j] ~ p[DEGREE + 1 - j] end
    end
  end
  return table.move(sum, 1, DEGREE, 1, {})
end

-- Word k has in its bit j the coefficient of x^(5 j + k): the loop that applies it goes round a state of five words.
local function words(a)
  local list = {}
  for k = 0, 4 do
    local word = 0
    for j = 0, 31 do word = word | a[5 * j + k + 1] << j end
    list[#list + 1] = ("0x%08x"):format(word)
  end
  return list
end

local function write_list(list, indent)
  local line = indent
  for i, item in ipairs(list) do
    local more = item .. (i < #list and ", " or "")
    if #line + #more > 120 then
      print((line:gsub("%s+$", "")))
      line = indent
    end
    line = line .. more
  end
  print(line)
end

local function write_xorwow_digits(name, what, base)
  print(("\n/* x^(d %s) for d from 1 to 15 and i from 0 to 15. */"):format(what))
  print(("static __device__ const unsigned int %s[16][15][5] = {"):format(name))
  local list = {}
  for _ = 0, 15 do
    local power = base
    for _ = 1, 15 do
      for _, word in ipairs(words(power)) do list[#list + 1] = word end
      power = product(power, base)
    end
    base = power
  end
  write_list(list, "    ")
  print "};"
  return base
end

local function xorwow()
  p = characteristic_polynomial()
  print [[
/* Jumps of XORWOW's linear part, as polynomials modulo its characteristic polynomial. Written by
 * src/tables/random_jumps.lua, which describes them. */
#ifndef MOONWARP_RANDOM_XORWOW_JUMPS_H
#define MOONWARP_RANDOM_XORWOW_JUMPS_H

/* clang-format off */]]
  local x = {}
  for i = 1, DEGREE do x[i] = i == 2 and 1 or 0 end
  local base = write_xorwow_digits("__mw_xorwow_steps", "16^i", x) -- x^(2^64)
  for _ = 65, 67 do base = product(base, base) end
  write_xorwow_digits("__mw_xorwow_subsequences", "16^i 2^67", base)
  print "\n#endif"
end

-- ---- MRG32k3a's two components, of degree 3 modulo m. {c0, c1, c2} is c0 + c1 x + c2 x^2. (L'Ecuyer 1999) ----

local components = {
  { m = 4294967087, a = 1403580, b = -810728, c = 0 }, -- x^3 = a x + b
  { m = 4294944443, a = 0, b = -1370589, c = 527612 }, -- x^3 = c x^2 + b
}

-- u v mod m, of 32 bits each.
local function times(u, v, m)
  return ((u * (v >> 16) % m << 16) + u * (v & 0xffff)) % m
end

local function multiply(component, u, v)
  local m = component.m
  local sum = { 0, 0, 0, 0, 0 }
  for i = 1, 3 do
    for j = 1, 3 do sum[i + j - 1] = (sum[i + j - 1] + times(u[i], v[j], m)) % m end
  end
  for i = 5, 4, -1 do
    local high = sum[i]
    sum[i - 1] = (sum[i - 1] + times(component.c, high, m)) % m
    sum[i - 2] = (sum[i - 2] + times(component.a, high, m)) % m
    sum[i - 3] = (sum[i - 3] + times(component.b % m, high, m)) % m
  end
  return { sum[1], sum[2], sum[3] }
end

local function write_mrg_digits(name, what, bases)
  print(("\n/* x^(d %s) for d from 1 to 3 and i from 0 to 31, of both components. */"):format(what))
  print(("static __device__ const unsigned int %s[32][3][2][3] = {"):format(name))
  local list = {}
  for _ = 0, 31 do
    local powers = { bases[1], bases[2] }
    for _ = 1, 3 do
      for k = 1, 2 do
        for i = 1, 3 do list[#list + 1] = ("%du"):format(powers[k][i]) end
        powers[k] = multiply(components[k], powers[k], bases[k])
      end
    end
    bases = powers
  end
  write_list(list, "    ")
  print "};"
  return bases
end

local function mrg32k3a()
  print [[
/* Jumps of MRG32k3a's components, as polynomials modulo their characteristic polynomials. Written by
 * src/tables/random_jumps.lua, which describes them. */
#ifndef MOONWARP_RANDOM_MRG32K3A_JUMPS_H
#define MOONWARP_RANDOM_MRG32K3A_JUMPS_H

/* clang-format off */]]
  local x = { 0, 1, 0 }
  local function squared(bases, n)
    for _ = 1, n do
      bases = { multiply(components[1], bases[1], bases[1]), multiply(components[2], bases[2], bases[2]) }
    end
    return bases
  end
  write_mrg_digits("__mw_mrg_steps", "4^i", { x, x })
  write_mrg_digits("__mw_mrg_subsequences", "4^i 2^76", squared({ x, x }, 76))
  write_mrg_digits("__mw_mrg_sequences", "4^i 2^127", squared({ x, x }, 127))
  print "\n#endif"
end

local tables = { xorwow = xorwow, mrg32k3a = mrg32k3a }
local write = tables[arg[1]] or error "which table: xorwow or mrg32k3a?"
write()
