-- Votes, matches and reductions of warps, and the numbers of their lanes. Each against its definition, in blocks of all
-- shapes, by several tiers.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local suite = require "support.suite"
local tiers = require "support.compile.warp_tiers"
local warps = require "support.models.warps"
local random = require "support.random" "warp_vote_spec"

local int, warpwise, ballot, fold = warps.int, warps.warpwise, warps.ballot, warps.fold
local list_of, array_of, compare = warps.list_of, warps.array_of, warps.compare

require "support.time_limit" (setup, teardown)

local together = warps.preamble .. [==[
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

local function everyone(count) return (1 << count) - 1 end
local function any(test) return function(v, count) return ballot(test)(v, count) ~= 0 and 1 or 0 end end
local function all(test) return function(v, count) return ballot(test)(v, count) == everyone(count) and 1 or 0 end end

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

for _, tier in ipairs(tiers) do
  describe("a warp, " .. tier.name .. ",", function()
    local compile = tiers.compiler(tier, setup, teardown)

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
          check("reductions", n, list_of(n, warps.any_int), reduction_models, block)
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
            if suite.on_gpu then parts[2], parts[8] = nil, nil end -- there they are numbers of the hardware's
            for at, part in pairs(parts) do wanted[(at - 1) * n + i] = int(part) end
          end
          compare(wanted, out, 8 * n, tostring(block))
        end
      end)
    end)
  end)
end
