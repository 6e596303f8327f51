-- Sobol's direction vectors, computed on the device from Joe and Kuo's numbers, and their scrambling: each dimension is
-- multiplied by a random lower triangular matrix and begins at a random word. (Matousek, "On the L2-discrepancy for
-- anchored boxes", 1998) Both are made from XORWOW's words for the seed, without the first; seed 0 gives cuRAND's.

local raw = require "moonwarp.binding"
local columns = require "moonwarp.random.columns"
local sources = require "moonwarp.random.sources"

local M = { DIMENSIONS = 20000 }

local source = sources.new("direction vectors", "#include <moonwarp/random/streams/direction_vectors.h>\n", {
  make32 = "MW_MAKE_VECTORS(make32, unsigned)\n", make64 = "MW_MAKE_VECTORS(make64, ull)\n",
})

-- Random words of 64 bits, from number `first` on.
local function random_words(seed, first, count)
  local stream = columns.begin { kind = "xorwow", ordering = "default", seed = seed, offset = 1 + 2 * first }
  local words = raw.array_new("ulonglong", { count })
  stream:draw("bits", 2 * count, words:as "uint", 0, 0)
  return words
end

local digits = {}
for i = 1, 64 do
  digits[("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"):byte(i)] = i - 1
end

-- Decode base64.
local function bytes_of(text_of_digits)
  return (text_of_digits:gsub("....", function(four)
    local a, b, c, d = four:byte(1, 4)
    local n = ((digits[a] * 64 + digits[b]) * 64 + digits[c]) * 64 + digits[d]
    return string.char(math.floor(n / 65536), math.floor(n / 256) % 256, n % 256)
  end))
end

---Direction vectors and first words of a number of dimensions, as arrays on the device in use.
---@param kind string
---@param dimensions integer
---@param seed integer[] low, high
---@return moonwarp.array vectors {dimensions, 32 or 64}
---@return moonwarp.array begins
function M.arrays(kind, dimensions, seed)
  local list, lines = raw.part "random.joe_kuo", {}
  for line in list:gmatch "%S+" do
    if #lines * 60 >= dimensions then break end
    lines[#lines + 1] = line
  end
  local numbers = raw.array_new("uint", { dimensions, 6 })
  numbers:copy_from(bytes_of(table.concat(lines):sub(1, dimensions * 32)))
  local bits = kind:find "64" and 64 or 32
  local dtype = bits == 64 and "ulonglong" or "uint"
  local vectors, begins = raw.array_new(dtype, { dimensions, bits }), raw.array_new(dtype, { dimensions })
  local rows, constants
  if kind:find "scrambled" then -- 64 words for each dimension; the constants follow those of all dimensions
    rows, constants = random_words(seed, 0, 64 * dimensions), random_words(seed, 64 * M.DIMENSIONS, dimensions)
  end
  source:kernel("make" .. bits)(math.ceil(dimensions / 64), 64)(numbers, dimensions, rows, constants, vectors, begins)
  return vectors, begins
end

return M
