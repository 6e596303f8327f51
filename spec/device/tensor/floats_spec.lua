-- Tensor cores' sums of floating-point products compared with a model in integers (docs/notes/tensor.md), with random
-- numbers: usual and whole ones, wide ranges, few bits, zeros, the ends of the types' ranges, infinities, NaN; sums
-- that cancel.
-- Lua 5.4 only: the compiler is tested.

local mw = require "moonwarp"
local model = require "support.models.tensor_sums"
local seeded = require "support.random"
local suite = require "support.suite"
local targets = require "support.targets"
local tensor = require "support.tensor"

local SAMPLES = 16

local formats, decode = model.formats, model.decode
-- Bits of a random number of a class.
local function random_bits(random, type, class)
  local exponent_bits, fraction_bits = table.unpack(formats[type])
  local bias, width = (1 << exponent_bits - 1) - 1, exponent_bits + fraction_bits
  local function near(spread, fraction)
    local exponent = math.max(0, math.min((1 << exponent_bits) - 2, bias + random(-spread, spread)))
    return random(0, 1) << width | exponent << fraction_bits | fraction
  end
  local any = random(0, (1 << fraction_bits) - 1)
  if class == "usual" then return near(4, any) end
  if class == "wide" then return near(bias < 40 and bias or 40, any) end
  if class == "few bits" then return near(3, any & 3 << math.max(fraction_bits - 2, 0)) end
  if class == "whole" then
    -- Small ones, and sums up to 2^24 and a little beyond.
    local exponent = math.min(bias + (type == "f32" and 24 or fraction_bits), (1 << exponent_bits) - 2)
    exponent = random(0, 3) == 0 and exponent or bias + random(0, 3)
    return random(0, 1) << width | exponent << fraction_bits | any >> math.max(0, fraction_bits + bias - exponent) <<
      math.max(0, fraction_bits + bias - exponent)
  end
  if class == "zeros" then return random(0, 3) == 0 and near(6, any) or random(0, 1) << width end
  if class == "largest" then return near(0, (1 << fraction_bits) - 1) & ~(1 << width) end
  if class == "ends" then return random(0, 7) == 0 and random(0, (2 << width) - 1) or near(bias + 1, any) end
  return random(0, 99) == 0 and random(0, (2 << width) - 1) or near(2, any) -- now and then anything
end
local classes = { "usual", "whole", "wide", "few bits", "zeros", "largest", "ends", "anything" }

local function array(list, type)
  local dtype = ({ f16 = "ushort", bf16 = "ushort", e4m3 = "uchar", e5m2 = "uchar" })[type] or "uint"
  return mw.array(list, dtype)
end

local function check(kind, random, options)
  local m, n, k = kind.m, kind.n, kind.k
  local A, B, C = {}, {}, {}
  local sum_type = kind.sum == "f16" and "f16" or "f32"
  for sample = 0, SAMPLES - 1 do
    local class = classes[sample % #classes + 1]
    for _ = 1, m * k do A[#A + 1] = random_bits(random, kind.factor, class) end
    for _ = 1, n * k do B[#B + 1] = random_bits(random, kind.factor, class) end
    local of_c = sample % 3 == 0 and "usual" or (sample % 3 == 1 or class == "whole") and class or "zeros"
    for _ = 1, m * n do C[#C + 1] = random_bits(random, sum_type, of_c) end
  end
  local kernel = mw.compile { source = tensor.mma(kind), options = options }.k
  local a, b = array(A, kind.factor), array(B, kind.factor)
  local D = array(C, sum_type)
  local function compare()
    local c = array(C, sum_type)
    kernel(SAMPLES, 32)(a, b, c, D)
    for sample = 0, SAMPLES - 1 do
      for i = sample % 3, m - 1, 3 do
        for j = 0, n - 1 do
          local left, right = {}, {}
          for x = 0, k - 1 do
            left[x + 1] = decode(A[sample * m * k + i * k + x + 1], kind.factor)
            right[x + 1] = decode(B[sample * k * n + x * n + j + 1], kind.factor)
          end
          local at = sample * m * n + i * n + j + 1
          local expected = model.sum(kind, decode(C[at], sum_type), left, right)
          if expected ~= D[at] then
            error(("%s, sample %d, (%d, %d): %x instead of %x"):format(kind.name, sample, i, j, D[at], expected))
          end
        end
      end
    end
  end
  compare()
  -- Sums that cancel: the last result with the other sign, or a little beside it.
  local sign = sum_type == "f16" and 0x8000 or 0x80000000
  for i = 1, #C do C[i] = (D[i] ~ sign) + (i % 5 == 0 and 1 or 0) & 2 * sign - 1 end
  compare()
end

describe("sums of tensor cores' products", function()
  local others = suite.on_gpu and {} or targets
  for _, kind in ipairs(tensor.kinds) do
    if kind.name:find "^mma" and kind.sum ~= "s32" then
      it("have the model's bits: " .. kind.name, function()
        local random = seeded("sums of " .. kind.name)
        check(kind, random)
        if kind.k ~= 16 or kind.sum == "f16" then
          for _, target in ipairs(others) do check(kind, random, target.options) end
        end
      end)
    end
  end
end)
