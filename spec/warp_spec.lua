-- What threads of a warp do together: shuffles, votes, matches, reductions. Each against its definition, in blocks of
-- all shapes, by several tiers.
-- Lua 5.4 only: what is tested is the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local tiers = require "support.warp_tiers"
local random = require "support.random" "warp_spec"

local limit
setup(function() limit = mw.limit("time", 60) end)
teardown(function() mw.limit("time", limit) end)

local function int(value)
  value = value & 0xffffffff
  return value >= 0x80000000 and value - 0x100000000 or value
end

-- ---- types: the dtype of arrays, and random values of it

local function any_int() return int(random(0, 0xffffffff)) end
local function any_float() return random(-1000000, 1000000) / 8 end

local types = {
  { c = "int", dtype = "int", any = any_int, by_constants = true },
  { c = "unsigned", dtype = "uint", any = function() return random(0, 0xffffffff) end },
  { c = "long", dtype = "long", any = function() return random(0) end },
  { c = "unsigned long", dtype = "unsigned long", any = function() return random(0, math.maxinteger) end },
  { c = "long long", dtype = "longlong", any = function() return random(0) end },
  { c = "unsigned long long", dtype = "unsigned long long", any = function() return random(0, math.maxinteger) end },
  { c = "float", dtype = "float", any = any_float },
  { c = "double", dtype = "double", any = any_float, by_constants = true },
}

-- ---- models: of a block's warps, cut from linear ids

-- Calls f(first, count) for each warp of n threads.
local function each_warp(n, f)
  for first = 0, n - 1, 32 do f(first, math.min(32, n - first)) end
end

local function list_of(n, make)
  local list = {}
  for i = 0, n - 1 do list[i] = make(i) end
  return list
end

local function array_of(list, n, dtype) return mw.array(table.move(list, 0, n - 1, 1, {}), dtype) end

-- From which lane a shuffle reads. (CUDA C++ Programming Guide, B.22: lanes in groups of `width`)
local source = {}
function source.idx(lane, from, width) return lane // width * width + from % width end
function source.up(lane, delta, width) return lane % width - delta < 0 and lane or lane - delta end
function source.down(lane, delta, width) return lane % width + delta >= width and lane or lane + delta end
function source.xor(lane, bits, width)
  local from = lane ~ bits
  return from // width > lane // width and lane or from
end

local function compare(wanted, got, n, what)
  local list = got:totable()
  for i = 0, n - 1 do
    local value = wanted[i]
    if value ~= nil and value ~= list[i + 1] then
      error(("%s: thread %d has %s, not %s"):format(what, i, tostring(list[i + 1]), tostring(value)), 2)
    end
  end
end

local preamble = [==[
__device__ int linear() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__device__ int threads() { return blockDim.x * blockDim.y * blockDim.z; }
]==]

-- ---- shuffles

-- The lane comes from memory, or from the thread's own number, or is a constant.
local shuffles = preamble .. [==[
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

-- out[part * n + i] for the parts, each {which shuffle, lane of thread i, width}.
local function shuffled(values, n, parts)
  local wanted = {}
  for at, part in ipairs(parts) do
    each_warp(n, function(first, count)
      for lane = 0, count - 1 do
        local i = first + lane
        local from = source[part[1]](lane, part[2](i), part[3])
        wanted[(at - 1) * n + i] = from < count and values[first + from] or nil -- nobody says what others hold
      end
    end)
  end
  return wanted
end

-- ---- votes, matches and reductions

local together = preamble .. [==[
__global__ void votes(const int *in, int *out) {
  int i = linear(), n = threads(), x = in[i];
  out[i] = __ballot_sync(0xffffffff, x & 1);
  out[n + i] = __any_sync(0xffffffff, x == 77);
  out[2 * n + i] = __all_sync(0xffffffff, x != 77);
  out[3 * n + i] = __ballot(x & 4);
  out[4 * n + i] = __any(x == 78);
  out[5 * n + i] = __all(x != 78);
  out[6 * n + i] = __activemask();
  out[7 * n + i] = __uni_sync(0xffffffff, x & 8);
}
template <typename T> __device__ void match(T value, int *out) {
  int i = linear(), n = threads(), same;
  out[i] = __match_any_sync(0xffffffff, value);
  out[n + i] = __match_all_sync(0xffffffff, value, &same);
  out[2 * n + i] = same;
}
__global__ void match_int(const int *in, int *out) { match(in[linear()] & 3, out); }
__global__ void match_wide(const int *in, int *out) { match((unsigned long long)(in[linear()] & 3) << 40, out); }
__global__ void match_float(const int *in, int *out) { match((in[linear()] & 3) * 0.5f, out); }
__global__ void match_double(const int *in, int *out) { match((in[linear()] & 3) * 0.5, out); }
__global__ void match_one(const int *in, int *out) { match(in[linear() / 32 * 32] & 3, out); }
__global__ void reductions(const int *in, int *out) {
  int i = linear(), n = threads(), x = in[i];
  out[i] = __reduce_add_sync(0xffffffff, x);
  out[n + i] = __reduce_min_sync(0xffffffff, x);
  out[2 * n + i] = __reduce_max_sync(0xffffffff, x);
  out[3 * n + i] = __reduce_min_sync(0xffffffff, (unsigned)x);
  out[4 * n + i] = __reduce_max_sync(0xffffffff, (unsigned)x);
  out[5 * n + i] = __reduce_and_sync(0xffffffff, x | 0xf0);
  out[6 * n + i] = __reduce_or_sync(0xffffffff, x & 0xff00ff);
  out[7 * n + i] = __reduce_xor_sync(0xffffffff, x);
  out[8 * n + i] = __reduce_add_sync(0xffffffff, (unsigned)x);
}
__global__ void numbers(int *out) {
  int i = linear(), n = threads();
  out[i] = __nvvm_read_ptx_sreg_laneid();
  out[n + i] = __nvvm_read_ptx_sreg_warpid();
  out[2 * n + i] = __nvvm_read_ptx_sreg_lanemask_lt();
  out[3 * n + i] = __nvvm_read_ptx_sreg_lanemask_le();
  out[4 * n + i] = __nvvm_read_ptx_sreg_lanemask_eq();
  out[5 * n + i] = __nvvm_read_ptx_sreg_lanemask_ge();
  out[6 * n + i] = __nvvm_read_ptx_sreg_lanemask_gt();
  out[7 * n + i] = __nvvm_read_ptx_sreg_nwarpid();
}
]==]

-- Per warp, `f(values, count, lane)`, values from 0.
local function warpwise(values, n, parts)
  local wanted = {}
  each_warp(n, function(first, count)
    local here = table.move(values, first, first + count - 1, 0, {})
    for at, f in ipairs(parts) do
      for lane = 0, count - 1 do wanted[(at - 1) * n + first + lane] = int(f(here, count, lane)) end
    end
  end)
  return wanted
end

local function ballot(test)
  return function(values, count)
    local bits = 0
    for lane = 0, count - 1 do if test(values[lane]) then bits = bits | 1 << lane end end
    return bits
  end
end

local function everyone(count) return (1 << count) - 1 end
local function any(test) return function(v, count) return ballot(test)(v, count) ~= 0 and 1 or 0 end end
local function all(test) return function(v, count) return ballot(test)(v, count) == everyone(count) and 1 or 0 end end

local function fold(f)
  return function(values, count)
    local sum = values[0]
    for lane = 1, count - 1 do sum = f(sum, values[lane]) end
    return sum
  end
end

local function unsigned(f) return function(a, b) return int(f(a & 0xffffffff, b & 0xffffffff)) end end

local vote_models = {
  ballot(function(x) return x & 1 == 1 end),
  any(function(x) return x == 77 end),
  all(function(x) return x ~= 77 end),
  ballot(function(x) return x & 4 ~= 0 end),
  any(function(x) return x == 78 end),
  all(function(x) return x ~= 78 end),
  function(_, count) return everyone(count) end,
  function(v, count)
    local bits = ballot(function(x) return x & 8 ~= 0 end)(v, count)
    return (bits == 0 or bits == everyone(count)) and 1 or 0
  end,
}

local reduction_models = {
  fold(function(a, b) return a + b end),
  fold(math.min),
  fold(math.max),
  fold(unsigned(math.min)),
  fold(unsigned(math.max)),
  function(v, count) return fold(function(a, b) return a & b | 0xf0 end)(v, count) | 0xf0 end,
  function(v, count) return fold(function(a, b) return (a | b) & 0xff00ff end)(v, count) & 0xff00ff end,
  fold(function(a, b) return a ~ b end),
  fold(function(a, b) return a + b end),
}

local function same_as(values, count, lane) return ballot(function(x) return x == values[lane] end)(values, count) end
local match_models = {
  same_as,
  function(v, count) return same_as(v, count, 0) == everyone(count) and everyone(count) or 0 end,
  function(v, count) return same_as(v, count, 0) == everyone(count) and 1 or 0 end,
}

-- ---- where lanes part

local apart = preamble .. [==[
// A shuffle among the lanes that come here, which they name.
__global__ void subset(const int *in, int *out) {
  int i = linear(), x = in[i], result = -1;
  unsigned odd = __ballot_sync(0xffffffff, x & 1);
  if (x & 1) {
    int first = __ffs(odd) - 1;
    result = __shfl_sync(odd, x, first) + __popc(odd);
  } else {
    result = __reduce_add_sync(~odd & __activemask(), 1);
  }
  out[i] = result;
}
// Half of the lanes by themselves, in two places.
__global__ void halves(const int *in, int *out) {
  int i = linear(), x = in[i], lane = i % 32;
  if (lane < 16)
    x += __shfl_down_sync(0x0000ffff, x, 1, 16);
  else
    x -= __shfl_xor_sync(0xffff0000, x, 1);
  out[i] = x;
}
// Threads that have returned vote for nothing.
__global__ void exited(const int *in, int *out) {
  int i = linear(), x = in[i];
  if ((x & 3) == 0) {
    out[i] = -5;
    return;
  }
  out[i] = __ballot_sync(0xffffffff, 1) ^ __popc(__activemask());
}
// Lanes leave the loop one by one, and vote as long as they are in it.
__global__ void in_loop(const int *in, int *out) {
  int i = linear(), rounds = in[i] & 7, sum = 0;
  for (int k = 0; k < rounds; k++) {
    unsigned here = __activemask();
    sum += __popc(__ballot_sync(here, (k & 1) == 0)) << (2 * k);
  }
  out[i] = sum;
}
// One ticket for each thread that wants one, drawn by one thread for all of its warp.
__global__ void tickets(const int *in, int *counter, int *out) {
  int i = linear();
  out[i] = -1;
  if ((in[i] & 3) != 1) {
    unsigned active = __activemask(), lane = i % 32;
    int leader = __ffs(active) - 1, first;
    if (lane == leader) first = atomicAdd(counter, __popc(active));
    first = __shfl_sync(active, first, leader);
    out[i] = first + __popc(active & ((1u << lane) - 1));
  }
}
// The sum of a warp, by halves, and of a block by its warps' sums.
__device__ int sum_of_warp(int x) {
  for (int delta = 16; delta > 0; delta /= 2) x += __shfl_down_sync(0xffffffff, x, delta);
  return x;
}
__global__ void sum_of_block(const int *in, int *out) {
  __shared__ int sums[32];
  int i = linear(), n = threads(), lane = i % 32, warp = i / 32;
  int x = sum_of_warp(in[i]);
  if (n % 32) return; // whole warps only
  if (lane == 0) sums[warp] = x;
  __syncthreads();
  if (warp == 0) {
    x = sum_of_warp(lane < n / 32 ? sums[lane] : 0);
    if (lane == 0) *out = x;
  }
}
// The last warp of the SDK's reduction: 32 threads in step, no barrier.
__device__ void last_warp(volatile int *cell, int i) {
  cell[i] += cell[i + 32];
  cell[i] += cell[i + 16];
  cell[i] += cell[i + 8];
  cell[i] += cell[i + 4];
  cell[i] += cell[i + 2];
  cell[i] += cell[i + 1];
}
__global__ void in_step(const int *in, int *out) {
  __shared__ int cell[1024 + 64];
  int i = linear(), n = threads();
  cell[i] = in[i];
  for (int k = n + i; k < 1024 + 64; k += n) cell[k] = 0;
  __syncthreads();
  for (int half = 512; half > 32; half /= 2) {
    for (int k = i; k < half; k += n) cell[k] += cell[k + half];
    __syncthreads();
  }
  if (n >= 32) {
    if (i < 32) last_warp(cell, i);
  } else if (i == 0) {
    for (int k = 1; k < 64; k++) cell[0] += cell[k];
  }
  if (i == 0) *out = cell[0];
}
// Each warp by itself, in step.
__global__ void step_by_step(const int *in, int *out) {
  __shared__ volatile int cell[1024 + 32];
  int i = linear();
  for (int k = i; k < 32; k += threads()) cell[threads() + k] = 0;
  __syncthreads();
  cell[i] = in[i];
  cell[i] += cell[i + 1];
  cell[i] += cell[i + 2];
  out[i] = cell[i];
}
// The same by __syncwarp.
__global__ void with_syncwarp(const int *in, int *out) {
  __shared__ int cell[1024];
  int i = linear(), lane = i % 32, n = threads();
  cell[i] = in[i];
  for (int delta = 16; delta > 0; delta /= 2) {
    __syncwarp();
    int other = lane + delta < 32 && i + delta < n ? cell[i + delta] : 0;
    __syncwarp();
    cell[i] += other;
  }
  __syncwarp();
  out[i] = cell[i / 32 * 32];
}
// A function that each thread calls for itself, between two that they call together.
__device__ __noinline__ int place() { return threadIdx.x + 10000 * threadIdx.y + 1000000 * threadIdx.z; }
__global__ void alone(const int *in, int *out) {
  int i = linear(), x = in[i];
  x += __popc(__ballot_sync(0xffffffff, x & 1));
  if (x & 2) x += place();
  out[i] = __shfl_xor_sync(0xffffffff, x, 1);
}
// A warp waits for what another one writes.
__global__ void waiting(int *out) {
  __shared__ volatile int flag;
  int i = linear();
  if (i == 0) flag = 0;
  __syncthreads();
  if (i / 32 == 0) {
    if (threads() > 32)
      while (!__any_sync(0xffffffff, flag)) {}
    out[i] = threads() > 32 ? flag : 5;
  } else {
    if (i == 32) flag = 5;
    out[i] = 6;
  }
}
]==]

for _, tier in ipairs(tiers) do
  describe("a warp, " .. tier.name .. ",", function()
    local specialise
    setup(function() specialise = tier.specialise and mw.limit("specialise", tier.specialise) end)
    teardown(function() if specialise then mw.limit("specialise", specialise) end end)

    local function compile(text) return mw.compile { source = text, options = tier.options } end

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

    describe("together", function()
      local m = compile(together)
      local function check(name, n, values, parts, block)
        local out = mw.zeros(#parts * n, "int")
        m[name](1, block.size)(array_of(values, n, "int"), out)
        compare(warpwise(values, n, parts), out, #parts * n, name .. ", " .. tostring(block))
      end

      it("votes", function()
        for _, block in ipairs(tier.blocks) do
          local n = block.threads
          for _, most in ipairs { 100, 1 } do
            check("votes", n, list_of(n, function() return random(most == 1 and 1 or 0, most) end), vote_models, block)
          end
          check("votes", n, list_of(n, function(i) return i % 32 == 31 and 77 or 78 end), vote_models, block)
        end
      end)

      it("finds lanes that have the same", function()
        for _, name in ipairs { "match_int", "match_wide", "match_float", "match_double" } do
          for _, block in ipairs(tier.blocks) do
            local n = block.threads
            check(name, n, list_of(n, function() return random(0, 3) end), match_models, block)
          end
        end
        for _, block in ipairs(tier.blocks) do
          local n = block.threads
          check("match_one", n, list_of(n, function() return 2 end), match_models, block)
        end
      end)

      it("reduces", function()
        for _, block in ipairs(tier.blocks) do
          local n = block.threads
          check("reductions", n, list_of(n, any_int), reduction_models, block)
        end
      end)

      it("numbers its lanes by the linear id", function()
        for _, block in ipairs(tier.blocks) do
          local n = block.threads
          local out, wanted = mw.zeros(8 * n, "int"), {}
          m.numbers(1, block.size)(out)
          for i = 0, n - 1 do
            local lane = i % 32
            local parts = { lane, i // 32, (1 << lane) - 1, (2 << lane) - 1, 1 << lane, -1 << lane, -2 << lane,
              (n + 31) // 32 }
            for at, part in ipairs(parts) do wanted[(at - 1) * n + i] = int(part) end
          end
          compare(wanted, out, 8 * n, tostring(block))
        end
      end)
    end)

    describe("that parts", function()
      local m = compile(apart)
      local function run(name, block, values, size)
        local n = block.threads
        local out = mw.zeros(size or n, "int")
        m[name](1, block.size)(array_of(values, n, "int"), out)
        return out
      end
      local function inputs(block) return list_of(block.threads, function() return random(-1000, 1000) end) end

      it("shuffles among the lanes that are there", function()
        for _, block in ipairs(tier.blocks) do
          local n, values = block.threads, inputs(block)
          local wanted = warpwise(values, n, { function(v, count, lane)
            local odd = ballot(function(x) return x & 1 == 1 end)(v, count)
            local many, first = 0, nil
            for l = 0, count - 1 do
              if odd >> l & 1 == 1 then many, first = many + 1, first or l end
            end
            return v[lane] & 1 == 1 and v[first] + many or count - many
          end })
          compare(wanted, run("subset", block, values), n, tostring(block))
        end
      end)

      it("shuffles in two halves", function()
        for _, block in ipairs(tier.blocks) do
          local n, values = block.threads, inputs(block)
          local wanted = {}
          each_warp(n, function(first, count)
            for lane = 0, count - 1 do
              local i, other = first + lane, lane < 16 and (lane == 15 and 15 or lane + 1) or lane ~ 1
              if other < count then
                wanted[i] = lane < 16 and values[i] + values[first + other] or values[i] - values[first + other]
              end
            end
          end)
          compare(wanted, run("halves", block, values), n, tostring(block))
        end
      end)

      it("does not count threads that have returned", function()
        for _, block in ipairs(tier.blocks) do
          local n, values = block.threads, inputs(block)
          local wanted = warpwise(values, n, { function(v, count, lane)
            local bits, many = ballot(function(x) return x & 3 ~= 0 end)(v, count), 0
            for l = 0, count - 1 do many = many + (bits >> l & 1) end
            return v[lane] & 3 == 0 and -5 or bits ~ many
          end })
          compare(wanted, run("exited", block, values), n, tostring(block))
        end
      end)

      it("votes in a loop that lanes leave one by one", function()
        for _, block in ipairs(tier.blocks) do
          local n, values = block.threads, inputs(block)
          local wanted = warpwise(values, n, { function(v, count, lane)
            local sum = 0
            for k = 0, (v[lane] & 7) - 1 do
              local many = 0
              for l = 0, count - 1 do many = many + (v[l] & 7 > k and 1 or 0) end
              if k & 1 == 0 then sum = sum + (many << 2 * k) end
            end
            return sum
          end })
          compare(wanted, run("in_loop", block, values), n, tostring(block))
        end
      end)

      it("draws tickets by one lane for all", function()
        for _, block in ipairs(tier.blocks) do
          local n, values = block.threads, inputs(block)
          local counter, out = mw.zeros(1, "int"), mw.zeros(n, "int")
          m.tickets(1, block.size)(array_of(values, n, "int"), counter, out)
          local drawn, list = {}, out:totable()
          for i = 0, n - 1 do
            if values[i] & 3 == 1 then
              assert.equal(-1, list[i + 1])
            else
              drawn[#drawn + 1] = list[i + 1]
            end
          end
          table.sort(drawn)
          for i, ticket in ipairs(drawn) do assert.equal(i - 1, ticket) end
          assert.equal(#drawn, counter[1])
        end
      end)

      it("sums", function()
        for _, block in ipairs(tier.blocks) do
          local n, values, sum = block.threads, inputs(block), 0
          for i = 0, n - 1 do sum = sum + values[i] end
          if n % 32 == 0 then assert.equal(sum, run("sum_of_block", block, values, 1)[1], tostring(block)) end
          assert.equal(sum, run("in_step", block, values, 1)[1], tostring(block))
          local wanted = warpwise(values, n, { fold(function(a, b) return a + b end) })
          compare(wanted, run("with_syncwarp", block, values), n, tostring(block))
        end
      end)

      it("runs in step", function()
        for _, block in ipairs(tier.blocks) do
          local n, values = block.threads, inputs(block)
          local wanted = warpwise(values, n, { function(v, _, lane)
            local function at(l) return v[l] or 0 end
            return at(lane) + at(lane + 1) + at(lane + 2) + at(lane + 3)
          end })
          -- the last lanes read of the next warp, whenever that runs
          for i = 0, n - 1 do
            if i % 32 > 28 and i < (n - 1) // 32 * 32 then wanted[i] = nil end
          end
          compare(wanted, run("step_by_step", block, values), n, tostring(block))
        end
      end)

      it("calls functions lane by lane", function()
        for _, block in ipairs(tier.blocks) do
          local n, values = block.threads, inputs(block)
          local width, height = block.size[1], block.size[2] or 1
          local function place(i)
            return i % width + 10000 * (i // width % height) + 1000000 * (i // width // height)
          end
          local made = {}
          for first = 0, n - 1, 32 do
            local count = math.min(32, n - first)
            local here = table.move(values, first, first + count - 1, 0, {})
            local odd = 0
            for lane = 0, count - 1 do odd = odd + (here[lane] & 1) end
            for lane = 0, count - 1 do
              local x = here[lane] + odd
              made[first + lane] = x & 2 ~= 0 and x + place(first + lane) or x
            end
          end
          local wanted = {}
          for i = 0, n - 1 do wanted[i] = made[i ~ 1] end
          compare(wanted, run("alone", block, values), n, tostring(block))
        end
      end)

      it("waits for another", function()
        for _, block in ipairs(tier.blocks) do
          local n = block.threads
          local out = mw.zeros(n, "int")
          m.waiting(1, block.size)(out)
          compare(list_of(n, function(i) return i < 32 and 5 or 6 end), out, n, tostring(block))
        end
      end)
    end)
  end)
end

describe("lanes that wait for others that never come", function()
  it("end the launch, with the reason and the line", function()
    local m = mw.compile {
      source = [[
        __global__ void k(int *p) {
          if (threadIdx.x < 4)
            __syncwarp(0xff);
          else
            __syncthreads();
          p[threadIdx.x] = 1;
        }
      ]],
      options = { "--width=1" },
    }
    m.k(1, 32)(mw.zeros(32, "int"))
    local ok, err = pcall(mw.synchronize)
    assert.is_false(ok)
    assert.equal("cudaErrorLaunchFailure", err.code)
    assert.matches("kernel k waits at a warp function for lanes %(mask 0x000000f0%) that wait elsewhere", err.message)
    assert.matches("warp_spec.lua:%d+", tostring(err))
    assert.equal(0, err.thread[1])
  end)
end)
