-- Products of sparse matrices by mma.sp: the instruction's forms, samples of registers, and kernels that run them.
--
-- Registers are numbers of 32 bits: samples[lane * count + register + 1] for lanes from 0 on.

local sums = require "support.models.tensor_sums"

local sparse = {}

sparse.formats = sums.formats

local function bits_of(type) return type == "tf32" and 32 or tonumber(type:match "^%l+(%d+)$") or 8 end

local function new_form(left, right, sum, k)
  local bits = bits_of(left)
  return { left = left, right = right, sum = sum, k = k, bits = bits,
    words = k * bits // 256, -- of A for each row, and of B half as many as for each column
    selectors = k * bits == 256 and (bits >= 16 and 4 or 2) or bits >= 16 and 2 or 1,
    name = ("m16n8k%d %s %s %s"):format(k, left, right, sum),
    text = ("mma.sp.sync.aligned.m16n8k%d.row.col.%s.%s.%s.%s"):format(k, sum, left, right, sum) }
end

-- The forms of the PTX ISA for compute capability 9.0.
sparse.forms = {}
local function add(...) sparse.forms[#sparse.forms + 1] = new_form(...) end
for _, k in ipairs { 16, 32 } do
  add("f16", "f16", "f32", k)
  add("f16", "f16", "f16", k)
  add("bf16", "bf16", "f32", k)
end
for _, k in ipairs { 8, 16 } do add("tf32", "tf32", "f32", k) end
for _, left in ipairs { "e4m3", "e5m2" } do
  for _, right in ipairs { "e4m3", "e5m2" } do add(left, right, "f32", 64) end
end
for _, bits in ipairs { 8, 4 } do
  for _, signs in ipairs { "ss", "su", "us", "uu" } do
    local left, right = signs:sub(1, 1) .. bits, signs:sub(2) .. bits
    for _, k in ipairs { 256 // bits, 512 // bits } do add(left, right, "s32", k) end
  end
end

-- ---- random numbers: the same everywhere ----

local function generator(seed)
  local state = seed * 2654435761 % 2 ^ 32 // 1 | 1
  return function(first, last)
    state = (state * 6364136223846793005 + 1442695040888963407)
    return first + (state >> 33) % (last - first + 1)
  end
end

sparse.classes = { "exact", "usual", "wide", "zeros", "least", "special", "cancelling" }

-- A number's bits: exponents of `low` to `high`, `fraction` bits of fraction at most.
local function number(random, type, low, high, fraction)
  local exponent_bits, fraction_bits = sparse.formats[type][1], sparse.formats[type][2]
  local bias = (1 << exponent_bits - 1) - 1
  local exponent = math.max(0, math.min((1 << exponent_bits) - 2, random(low, high) + bias))
  local some = random(0, (1 << fraction_bits) - 1)
  if fraction and fraction < fraction_bits then some = some >> fraction_bits - fraction << fraction_bits - fraction end
  return random(0, 1) << exponent_bits + fraction_bits | exponent << fraction_bits | some
end

local function factor(random, type, class)
  local exponent_bits, fraction_bits = sparse.formats[type][1], sparse.formats[type][2]
  if class == "exact" then return number(random, type, 0, 2, 1) end
  if class == "wide" then return number(random, type, -14, 13) end
  if class == "zeros" and random(1, 3) > 1 then return random(0, 1) << exponent_bits + fraction_bits end
  if class == "least" then return number(random, type, -140, -140 + (exponent_bits == 8 and 20 or 140)) end
  if class == "special" and random(1, 40) == 1 then -- an infinity or NaN; e4m3 has only NaN
    local fraction = type == "e4m3" and 7 or random(0, 1) << fraction_bits - 1
    return random(0, 1) << exponent_bits + fraction_bits | (1 << exponent_bits) - 1 << fraction_bits | fraction
  end
  return number(random, type, -3, 3)
end

local function word_of(random, type, class)
  if sparse.formats[type] then
    local bits, word = bits_of(type), 0
    for n = 0, 32 // bits - 1 do word = word | factor(random, type, class) << bits * n end
    return word
  end
  return random(0, 0xffff) << 16 | random(0, 0xffff)
end

local function sum_of(random, type, class)
  if type == "s32" then return random(-1000, 1000) & 0xffffffff end
  local low, high = -2, 4
  if class == "exact" then low, high = 0, 3
  elseif class == "wide" then low, high = -20, 15
  elseif class == "least" then low, high = -140, type == "f16" and -10 or -110
  elseif class == "cancelling" then low, high = 5, 9 end
  if class == "zeros" and random(1, 2) == 1 then return random(0, 1) << (type == "f16" and 15 or 31) end
  local one = number(random, type, low, high, class == "exact" and 1 or nil)
  return type == "f16" and one | number(random, type, low, high, class == "exact" and 1 or nil) << 16 or one
end

-- Which numbers are stored: two bits for each, of four numbers two in order; of tf32 one of two, by two pairs of bits.
local function metadata(random, form)
  local pairs_of_four, word = { 4, 8, 12, 9, 13, 14 }, 0
  for n = 0, 7 do
    word = word | (form.left == "tf32" and ({ 4, 14 })[random(1, 2)] or pairs_of_four[random(1, 6)]) << 4 * n
  end
  return word
end

-- The registers of one sample: a, b, c (lists of all lanes' registers) and e, the metadata.
function sparse.sample(form, class, n)
  local random = generator(n * 1000 + form.k * 16 + #form.name)
  for _ = 1, 8 do random(0, 1) end
  local s = { a = {}, b = {}, c = {}, e = {} }
  for i = 1, 32 * 2 * form.words do s.a[i] = word_of(random, form.left, class) end
  for i = 1, 32 * 2 * form.words do s.b[i] = word_of(random, form.right, class) end
  if class == "cancelling" then -- every other number of A is its neighbour's opposite
    for i = 1, #s.a do
      if form.bits == 16 then s.a[i] = s.a[i] & 0xffff | (s.a[i] & 0xffff ~ 0x8000) << 16 end
    end
  end
  for i = 1, 32 * (form.sum == "f16" and 2 or 4) do s.c[i] = sum_of(random, form.sum, class) end
  for i = 1, 32 do s.e[i] = metadata(random, form) end
  return s
end

-- ---- kernels ----

local function list(text, first, count)
  local items = {}
  for i = 1, count do items[i] = text:format(first + i - 1) end
  return table.concat(items, ", ")
end

-- A kernel: block n multiplies sample n. `text`: the instruction, without it the form's.
function sparse.kernel(name, form, selector, text)
  local factors, count = 2 * form.words, form.sum == "f16" and 2 or 4
  local letter = form.sum == "f32" and "f" or "r"
  local values = { name = name, factors = factors, sums = count, type = letter == "f" and "float" or "unsigned",
    instruction = text or form.text, selector = selector, metadata = 2 * count + 2 * factors,
    d = list("%%%d", 0, count), a = list("%%%d", count, factors), b = list("%%%d", count + factors, factors),
    c = list("%%%d", count + 2 * factors, count), D = list('"=' .. letter .. '"(d[%d])', 0, count),
    A = list('"r"(a[%d])', 0, factors), B = list('"r"(b[%d])', 0, factors),
    C = list('"' .. letter .. '"(c[%d])', 0, count) }
  return (([[__global__ void $name(const unsigned *A, const unsigned *B, const unsigned *C, const unsigned *E,
                                   unsigned *D) {
    unsigned lane = blockIdx.x * 32 + threadIdx.x;
    const unsigned *a = A + lane * $factors, *b = B + lane * $factors;
    const $type *c = (const $type *)(C + lane * $sums);
    $type *d = ($type *)(D + lane * $sums);
    asm volatile("$instruction {$d}, {$a}, {$b}, {$c}, %$metadata, $selector;" : $D : $A, $B, $C, "r"(E[lane]));
  }]]):gsub("%$(%a+)", values))
end

-- ---- a model of the instruction ----

-- 16, 32 or 64 bits of a row's metadata.
local function metadata_of(form, e, row, selector)
  local quad, half, bits = row % 8 * 4 + 1, row // 8, form.words * 128 // form.bits * (form.bits == 32 and 4 or 2)
  if form.bits == 4 then bits = bits // 2 end
  if bits == 16 then return e[quad + selector] >> 16 * half & 0xffff end
  if bits == 64 then return e[quad + half] | e[quad + 2 + half] << 32 end
  local two = quad + 2 * selector
  if form.bits < 16 then return e[two + half] end
  return e[two] >> 16 * half & 0xffff | (e[two + 1] >> 16 * half & 0xffff) << 16
end

-- The columns of a row's stored numbers, from 0 on.
local function columns_of(form, bits)
  local columns = {}
  for n = 0, form.words * 128 // form.bits - 1 do
    if form.bits == 32 then columns[n + 1] = 2 * n + (bits >> 4 * n & 15 == 14 and 1 or 0)
    elseif form.bits == 4 then columns[n + 1] = n // 4 * 8 + (bits >> n // 2 * 2 & 3) * 2 + n % 2
    else columns[n + 1] = n // 2 * 4 + (bits >> 2 * n & 3) end
  end
  return columns
end

-- Number n of a row or column, whose words are in registers `first`, `first` + step, … of four lanes.
local function part(registers, count, lane, first, step, n, bits)
  local in_word = 32 // bits
  local word = registers[(lane + n // in_word % 4) * count + first + n // (4 * in_word) * step + 1]
  return word >> n % in_word * bits & (1 << bits) - 1
end

local function integer(bits, type)
  local size = tonumber(type:sub(2))
  return type:sub(1, 1) == "s" and bits >> size - 1 == 1 and bits - (1 << size) or bits
end

---Register `i` (a sum) of a lane, as bits.
function sparse.expected(form, sample, selector, lane, i)
  local row, column, factors = lane // 4 + i // 2 * 8, lane % 4 * 2 + i % 2, 2 * form.words
  local columns = columns_of(form, metadata_of(form, sample.e, row, selector))
  local left, right = {}, {}
  for n, k in ipairs(columns) do
    left[n] = part(sample.a, factors, row % 8 * 4, row // 8, 2, n - 1, form.bits)
    right[n] = part(sample.b, factors, column * 4, 0, 1, k, form.bits)
  end
  if form.sum == "s32" then
    local total = sample.c[lane * 4 + i + 1]
    for n in ipairs(left) do total = total + integer(left[n], form.left) * integer(right[n], form.right) end
    return total & 0xffffffff
  end
  for n in ipairs(left) do
    left[n], right[n] = sums.decode(left[n], form.left), sums.decode(right[n], form.right)
  end
  local c = form.sum == "f16" and sample.c[lane * 2 + i // 2 + 1] >> 16 * (i % 2) & 0xffff or sample.c[lane * 4 + i + 1]
  return sums.sum({ factor = form.left, sum = form.sum, k = #left }, sums.decode(c, form.sum), left, right)
end

return sparse
