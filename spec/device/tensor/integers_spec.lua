-- mma.sync of integers of 8 and 4 bits, and of bits, compared with plain loops: all values, and sums at the ends.
-- Lua 5.4 only: the compiler is tested.

local mw = require "moonwarp"
local seeded = require "support.random"
local suite = require "support.suite"
local targets = require "support.targets"

local SAMPLES = 8

local function list(kind, first, count)
  local items = {}
  for i = 1, count do items[i] = kind:format(first + i - 1) end
  return table.concat(items, ", ")
end

-- One product per block: registers of A, B and C, as each lane has them.
local function kernel(name, instruction)
  return ([[__global__ void %s(const unsigned *A, const unsigned *B, const int *C, int *D) {
    const unsigned *a = A + (blockIdx.x * 32 + threadIdx.x) * 4, *b = B + (blockIdx.x * 32 + threadIdx.x) * 2;
    const int *c = C + (blockIdx.x * 32 + threadIdx.x) * 4;
    int *d = D + (blockIdx.x * 32 + threadIdx.x) * 4;
    asm volatile("%s {%s}, {%s}, {%s}, {%s};" : %s : %s, %s, %s);
  }]]):format(name, instruction, list("%%%d", 0, 4), list("%%%d", 4, 4), list("%%%d", 8, 2), list("%%%d", 10, 4),
    list('"=r"(d[%d])', 0, 4), list('"r"(a[%d])', 0, 4), list('"r"(b[%d])', 0, 2), list('"r"(c[%d])', 0, 4))
end

-- Number n of a register.
local function number(word, n, type)
  local bits = tonumber(type:sub(2))
  local value = word >> (bits * n) & ((1 << bits) - 1)
  return type:sub(1, 1) == "s" and value >> (bits - 1) == 1 and value - (1 << bits) or value
end

-- Sum i of a lane of a sample. A's registers 2w and 2w + 1 have rows g and g + 8, B's register w column g.
local function expected(a, b, c, sample, lane, i, form)
  local row, column = lane // 4, lane % 4 * 2 + i % 2
  local sum = c[(sample * 32 + lane) * 4 + i + 1]
  for w = 0, 1 do
    for t = 0, 3 do
      local left = a[(sample * 32 + row * 4 + t) * 4 + 2 * w + i // 2 + 1]
      local right = b[(sample * 32 + column * 4 + t) * 2 + w + 1]
      if form.left == "b1" then
        local both = form.operation == "and" and left & right or left ~ right
        for n = 0, 31 do sum = sum + (both >> n & 1) end
      else
        for n = 0, 32 // tonumber(form.left:sub(2)) - 1 do
          sum = sum + number(left, n, form.left) * number(right, n, form.right)
        end
      end
    end
  end
  if form.saturates then return math.max(-2 ^ 31, math.min(2 ^ 31 - 1, sum)) end
  return (sum + 2 ^ 31) % 2 ^ 32 - 2 ^ 31
end

local forms = {}
for bits, k in pairs { [8] = 32, [4] = 64 } do
  for _, signs in ipairs { "ss", "su", "us", "uu" } do
    for _, saturates in ipairs { false, true } do
      local left, right = signs:sub(1, 1) .. bits, signs:sub(2) .. bits
      forms[#forms + 1] = { left = left, right = right, saturates = saturates,
        text = ("mma.sync.aligned.m16n8k%d.row.col%s.s32.%s.%s.s32"):format(k, saturates and ".satfinite" or "", left,
          right) }
    end
  end
end
for _, operation in ipairs { "xor", "and" } do
  forms[#forms + 1] = { left = "b1", operation = operation,
    text = "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32." .. operation .. ".popc" }
end

describe("mma.sync of integers", function()
  local A, B, C, a, b, c

  setup(function()
    local random = seeded "integers' products"
    a, b, c = {}, {}, {}
    -- The last samples have the least and the greatest numbers only, which make the greatest sums.
    local ends = { 0x80808080, 0x7f7f7f7f, 0xffffffff, 0x88888888, 0x77777777 }
    local function word(sample) return sample < SAMPLES - 3 and random(0, 2 ^ 32 - 1) or ends[random(#ends)] end
    for sample = 0, SAMPLES - 1 do
      for i = 1, 128 do
        a[sample * 128 + i] = sample == SAMPLES - 1 and ends[1] or word(sample)
        c[sample * 128 + i] = i % 3 == 0 and random(-1000, 1000)
          or i % 3 == 1 and random(2 ^ 31 - 20000, 2 ^ 31 - 1) or random(-2 ^ 31, -2 ^ 31 + 20000)
      end
      for i = 1, 64 do b[sample * 64 + i] = sample == SAMPLES - 1 and ends[1] or word(sample) end
    end
    A, B, C = mw.array(a, "uint"), mw.array(b, "uint"), mw.array(c, "int")
  end)

  local others = { { name = "for this processor" } }
  if not suite.on_gpu then
    for _, target in ipairs(targets) do others[#others + 1] = target end
  end
  for _, target in ipairs(others) do
    it("sums the products of all lanes " .. target.name, function()
      local kernels = {}
      for n, form in ipairs(forms) do kernels[n] = kernel("k" .. n, form.text) end
      local m = mw.compile { source = table.concat(kernels, "\n"), options = target.options }
      for n, form in ipairs(forms) do
        local D = mw.zeros(SAMPLES * 128, "int")
        m["k" .. n](SAMPLES, 32)(A, B, C, D)
        for sample = 0, SAMPLES - 1 do
          for lane = 0, 31, sample + 1 do
            for i = 0, 3 do
              assert.equal(expected(a, b, c, sample, lane, i, form), D[(sample * 32 + lane) * 4 + i + 1], form.text)
            end
          end
        end
      end
    end)
  end
end)
