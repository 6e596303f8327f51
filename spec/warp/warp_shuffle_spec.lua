-- Shuffles among the threads of a warp, of every type and width. Each against its definition, in blocks of all shapes,
-- by several tiers.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local tiers = require "support.compile.warp_tiers"
local warps = require "support.models.warps"
local random = require "support.random" "warp_shuffle_spec"

local list_of, array_of, compare = warps.list_of, warps.array_of, warps.compare

require "support.time_limit" (setup, teardown)

-- ---- types: the dtype of arrays, and random values of it

local function any_float() return random(-1000000, 1000000) / 8 end

local types = {
  { c = "int", dtype = "int", any = warps.any_int, by_constants = true },
  { c = "unsigned", dtype = "uint", any = function() return random(0, 0xffffffff) end },
  { c = "long", dtype = "long", any = function() return random(0) end },
  { c = "unsigned long", dtype = "unsigned long", any = function() return random(0, math.maxinteger) end },
  { c = "long long", dtype = "longlong", any = function() return random(0) end },
  { c = "unsigned long long", dtype = "unsigned long long", any = function() return random(0, math.maxinteger) end },
  { c = "float", dtype = "float", any = any_float },
  { c = "double", dtype = "double", any = any_float, by_constants = true },
}

-- ---- shuffles

-- The lane comes from memory, or from the thread's own number, or is a constant.
local shuffles = warps.preamble .. [==[
template <typename T> __device__ void shuffle(const T *in, const int *lanes, T *out, int width) {
  int i = linear(), n = threads();
  T value = in[i];
  int lane = lanes[i];
  out[i] = __shfl_sync(0xffffffff, value, lane, width);
  out[n + i] = __shfl_up_sync(0xffffffff, value, lane, width);
  out[2 * n + i] = __shfl_down_sync(0xffffffff, value, lane, width);
  out[3 * n + i] = __shfl_xor_sync(0xffffffff, value, lane, width);
}
template <typename T, int width> __device__ void constants(const T *in, T *out) {
  int i = linear(), n = threads();
  T value = in[i];
  out[i] = __shfl_sync(0xffffffff, value, 3, width);
  out[n + i] = __shfl_up_sync(0xffffffff, value, 1, width);
  out[2 * n + i] = __shfl_down_sync(0xffffffff, value, width / 2, width);
  out[3 * n + i] = __shfl_xor_sync(0xffffffff, value, width - 1, width);
  out[4 * n + i] = __shfl(value, 1, width);
  out[5 * n + i] = __shfl_up(value, 2);
  out[6 * n + i] = __shfl_down(value, 7);
  out[7 * n + i] = __shfl_xor(value, 16);
}
]==]
-- Of the narrow types the bits are compared.
shuffles = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n" .. shuffles .. [==[
template <typename T, typename B> __device__ void narrow(const B *in, const int *lanes, B *out) {
  int i = linear(), n = threads();
  T value = __builtin_bit_cast(T, in[i]);
  out[i] = __builtin_bit_cast(B, __shfl_sync(0xffffffff, value, lanes[i], 16));
  out[n + i] = __builtin_bit_cast(B, __shfl_up_sync(0xffffffff, value, 3));
  out[2 * n + i] = __builtin_bit_cast(B, __shfl_down_sync(0xffffffff, value, 5, 8));
  out[3 * n + i] = __builtin_bit_cast(B, __shfl_xor_sync(0xffffffff, value, lanes[i] & 15));
}
__global__ void shuffle_half(const unsigned short *in, const int *lanes, unsigned short *out) {
  narrow<__half>(in, lanes, out);
}
__global__ void shuffle_bfloat16(const unsigned short *in, const int *lanes, unsigned short *out) {
  narrow<__nv_bfloat16>(in, lanes, out);
}
__global__ void shuffle_half2(const unsigned *in, const int *lanes, unsigned *out) {
  narrow<__half2>(in, lanes, out);
}
]==]
local function kernel_name(t) return "shuffle_" .. t.c:gsub(" ", "_") end
for _, t in ipairs(types) do
  shuffles = shuffles .. ([==[
__global__ void $name(const $c *in, const int *lanes, $c *out, int width) { shuffle(in, lanes, out, width); }
]==] .. (t.by_constants and [==[
__global__ void $name_by_constants(const $c *in, $c *out, int width) {
  if (width == 32) constants<$c, 32>(in, out);
  if (width == 8) constants<$c, 8>(in, out);
}
]==] or "")):gsub("%$(%w+)", { name = kernel_name(t), c = t.c }):gsub("%$name", kernel_name(t))
end

-- From which lane a shuffle reads. (CUDA C++ Programming Guide, B.22: lanes in groups of `width`)
local source = {}
function source.idx(lane, from, width) return lane // width * width + from % width end
function source.up(lane, delta, width) return lane % width - delta < 0 and lane or lane - delta end
function source.down(lane, delta, width) return lane % width + delta >= width and lane or lane + delta end
function source.xor(lane, bits, width)
  local from = lane ~ bits
  return from // width > lane // width and lane or from
end

-- out[part * n + i] for the parts, each {which shuffle, lane of thread i, width}.
local function shuffled(values, n, parts)
  local wanted = {}
  for at, part in ipairs(parts) do
    warps.each_warp(n, function(first, count)
      for lane = 0, count - 1 do
        local i = first + lane
        local from = source[part[1]](lane, part[2](i), part[3])
        wanted[(at - 1) * n + i] = from < count and values[first + from] or nil -- nobody says what others hold
      end
    end)
  end
  return wanted
end

for _, tier in ipairs(tiers) do
  describe("a warp, " .. tier.name .. ",", function()
    local compile = tiers.compiler(tier, setup, teardown)

    describe("shuffles", function()
      local m = compile(shuffles)
      for _, t in ipairs(tier.specialise and { types[1] } or types) do
        it("values of type " .. t.c, function()
          for _, block in ipairs(tier.blocks) do
            local n = block.threads
            local values, lanes = list_of(n, t.any), list_of(n, function() return random(0, 31) end)
            local function lane_of(i) return lanes[i] end
            local in_array, lane_array = array_of(values, n, t.dtype), array_of(lanes, n, "int")
            for _, width in ipairs { 2, 4, 8, 16, 32 } do
              local out = mw.zeros(4 * n, t.dtype)
              m[kernel_name(t)](1, block.size)(in_array, lane_array, out, width)
              local wanted = shuffled(values, n,
                { { "idx", lane_of, width }, { "up", lane_of, width }, { "down", lane_of, width },
                  { "xor", lane_of, width } })
              compare(wanted, out, 4 * n, ("%s, width %d"):format(block, width))
            end
          end
        end)

        if t.by_constants then it("values of type " .. t.c .. " by constants", function()
          local function constant(value) return function() return value end end
          for _, block in ipairs(tier.blocks) do
            local n = block.threads
            local values = list_of(n, t.any)
            for _, width in ipairs { 8, 32 } do
              local out = mw.zeros(8 * n, t.dtype)
              m[kernel_name(t) .. "_by_constants"](1, block.size)(array_of(values, n, t.dtype), out, width)
              local wanted = shuffled(values, n, {
                { "idx", constant(3), width }, { "up", constant(1), width }, { "down", constant(width // 2), width },
                { "xor", constant(width - 1), width }, { "idx", constant(1), width }, { "up", constant(2), 32 },
                { "down", constant(7), 32 }, { "xor", constant(16), 32 },
              })
              compare(wanted, out, 8 * n, ("%s, width %d"):format(block, width))
            end
          end
        end) end
      end
    end)

    describe("shuffles bits", function()
      local m = compile(shuffles)
      for name, dtype in pairs { half = "ushort", bfloat16 = "ushort", half2 = "uint" } do
        it("of type " .. name, function()
          for _, block in ipairs(tier.blocks) do
            local n = block.threads
            local values = list_of(n, function() return random(0, dtype == "uint" and 0xffffffff or 0xffff) end)
            local lanes = list_of(n, function() return random(0, 31) end)
            local out = mw.zeros(4 * n, dtype)
            m["shuffle_" .. name](1, block.size)(array_of(values, n, dtype), array_of(lanes, n, "int"), out)
            local wanted = shuffled(values, n, {
              { "idx", function(i) return lanes[i] end, 16 }, { "up", function() return 3 end, 32 },
              { "down", function() return 5 end, 8 }, { "xor", function(i) return lanes[i] & 15 end, 32 },
            })
            compare(wanted, out, 4 * n, tostring(block))
          end
        end)
      end
    end)
  end)
end
