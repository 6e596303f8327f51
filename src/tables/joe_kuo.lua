-- Writes Joe and Kuo's direction numbers of 20000 dimensions in short:
--   lua5.4 src/tables/joe_kuo.lua new-joe-kuo-6.21201 > lua/moonwarp/random/joe_kuo.lua
-- The file given is the one that they publish (https://web.maths.unsw.edu.au/~fkuo/sobol/): a heading, and of each
-- dimension from the second on its number, its polynomial's degree s and inner coefficients a, and s numbers m.

local DIMENSIONS, PER_LINE = 20000, 60

local file = assert(io.open(arg[1] or error "which file?"))
file:read "l" -- the heading

local function base64(bytes)
  local digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
  return (bytes:gsub("...", function(three)
    local n, text = string.unpack(">I3", three), ""
    for shift = 18, 0, -6 do
      local digit = (n >> shift & 63) + 1
      text = text .. digits:sub(digit, digit)
    end
    return text
  end))
end

-- Six words: the polynomial, then (m[k] - 1) / 2 in k - 1 bits each.
local function words_of(polynomial, m)
  local words, at = { polynomial, 0, 0, 0, 0, 0 }, 0
  for k, number in ipairs(m) do
    assert(number % 2 == 1 and number < 1 << k)
    local shifted, word = (number >> 1) << (at & 31), (at >> 5) + 2
    words[word] = words[word] | shifted & 0xffffffff
    if shifted >> 32 ~= 0 then words[word + 1] = words[word + 1] | shifted >> 32 end
    at = at + k - 1
  end
  return string.pack("<I4I4I4I4I4I4", table.unpack(words))
end

local rows = { words_of(1, {}) }
for line in file:lines() do
  if #rows == DIMENSIONS then break end
  local numbers = {}
  for number in line:gmatch "%d+" do numbers[#numbers + 1] = math.tointeger(tonumber(number)) end
  local dimension, degree, inner = table.unpack(numbers, 1, 3)
  assert(dimension == #rows + 1 and #numbers == 3 + degree, line)
  rows[#rows + 1] = words_of(1 << degree | inner << 1 | 1, table.move(numbers, 4, #numbers, 1, {}))
end
assert(#rows == DIMENSIONS)

print [==[
-- Joe and Kuo's primitive polynomials and direction numbers of 20000 dimensions, as they published them. (Joe and Kuo,
-- "Constructing Sobol sequences with better two-dimensional projections", 2008) In base 64, a dimension 32 digits: six
-- words of 32 bits, the polynomial (bit k is the coefficient of x^k) and then one after the other (m - 1) / 2 of the
-- numbers m, of the k-th in k - 1 bits. The first dimension has no polynomial: 1. Written by src/tables/joe_kuo.lua.
--
-- The numbers are under a licence of their own (https://web.maths.unsw.edu.au/~fkuo/sobol/licence):
--
-- Copyright (c) 2008, Frances Y. Kuo and Stephen Joe
-- All rights reserved.
--
-- Redistribution and use in source and binary forms, with or without modification, are permitted provided that the
-- following conditions are met:
--
--     * Redistributions of source code must retain the above copyright notice, this list of conditions and the
--       following disclaimer.
--
--     * Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the
--       following disclaimer in the documentation and/or other materials provided with the distribution.
--
--     * Neither the names of the copyright holders nor the names of the University of New South Wales and the
--       University of Waikato and its contributors may be used to endorse or promote products derived from this
--       software without specific prior written permission.
--
-- THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS ``AS IS'' AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT
-- NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN
-- NO EVENT SHALL THE COPYRIGHT HOLDERS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR
-- CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE,
-- DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT,
-- STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS SOFTWARE,
-- EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.

return [[]==]
for first = 1, DIMENSIONS, PER_LINE do
  print(base64(table.concat(rows, "", first, math.min(first + PER_LINE - 1, DIMENSIONS))))
end
print "]]"
