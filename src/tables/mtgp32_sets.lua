-- Writes MTGP32's 200 sets of parameters for period 2^11213 - 1, as their authors' program MTGPDC found them, in short:
--   lua5.4 src/tables/mtgp32_sets.lua mtgp32dc_p_11213.h > src/device/moonwarp/random/mtgp32_sets.h
-- The file given is the table of the MTGP project (Saito and Matsumoto), or of the CUDA toolkit, which has the same
-- numbers. Of each table's 16 words those of the powers of two are kept, as the others are sums of them; what tempers
-- floats is what tempers words, shifted. This checks that.

local file = assert(io.open(arg[1] or error "which file?"))
local text = file:read("a"):gsub("/%*.-%*/", "")
file:close()

local function check_linear(t)
  for i = 0, 15 do
    local sum = 0
    for bit = 0, 3 do
      if i >> bit & 1 == 1 then sum = sum ~ t[1 << bit] end
    end
    assert(t[i] == sum)
  end
end

local rows = {}
for body in text:gsub("11213,", "\0"):gmatch "%z([^%z]+)" do -- from one set's period to the next one's
  local numbers = {}
  for token in body:gmatch "%w+" do
    local value = math.tointeger(tonumber(token))
    if value and #numbers < 52 then numbers[#numbers + 1] = value end
  end
  local position, first_shift, second_shift = table.unpack(numbers, 1, 3)
  local tables = {}
  for k = 0, 2 do
    tables[k] = {}
    for i = 0, 15 do tables[k][i] = numbers[4 + 16 * k + i] end
  end
  check_linear(tables[0])
  check_linear(tables[1])
  for i = 0, 15 do assert(tables[2][i] == tables[1][i] >> 9 | 0x3f800000) end
  assert(numbers[52] == 0xfff80000)
  local row = { position, first_shift, second_shift }
  for k = 0, 1 do
    for bit = 0, 3 do row[#row + 1] = ("0x%08x"):format(tables[k][1 << bit]) end
  end
  rows[#rows + 1] = "    {" .. table.concat(row, ", ") .. "}"
end
assert(#rows == 200, #rows)

print [[
/* MTGP32's 200 sets of parameters for period 2^11213 - 1, as their authors published them: the place of the word that
 * is picked up, two shifts, and of the recurrence's table and the tempering one the entries 1, 2, 4 and 8. (Saito and
 * Matsumoto, MTGPDC) Written by src/tables/mtgp32_sets.lua. */
#ifndef MOONWARP_RANDOM_MTGP32_SETS_H
#define MOONWARP_RANDOM_MTGP32_SETS_H

/* clang-format off */

static __device__ const unsigned int __mw_mtgp_sets[200][11] = {]]
print(table.concat(rows, ",\n"))
print "};\n\n#endif"
