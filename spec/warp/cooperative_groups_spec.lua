-- Cooperative groups: tiles, coalesced threads, partitions, and what groups reduce, scan and copy; compared with Lua
-- models, in blocks of all shapes, by several tiers.
-- Lua 5.4 only: this tests the compiler, and models calculate in 64-bit integers.

local mw = require "moonwarp"
local tiers = require "support.compile.warp_tiers"
local random = require "support.random" "cooperative_groups_spec"

require "support.time_limit" (setup, teardown)

local function int(value)
  value = value & 0xffffffff
  return value >= 0x80000000 and value - 0x100000000 or value
end

local source = [==[
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;

__global__ void block_of_threads(int *out) {
  cg::thread_block block = cg::this_thread_block();
  unsigned i = block.thread_rank(), n = block.size();
  __shared__ unsigned cell[1024];
  cell[i] = i * 3;
  block.sync();
  out[i] = cell[n - 1 - i];
  cg::thread_group any = block;
  any.sync();
  cell[i] = any.thread_rank() + any.size() * 7;
  cg::sync(block);
  out[n + i] = cell[n - 1 - i];
  dim3 t = block.thread_index(), d = block.group_dim(), b = block.group_index();
  out[2 * n + i] = t.x + d.x * (t.y + d.y * t.z) + 100000 * b.x;
}

template <unsigned N> __device__ void in_tile(const int *in, int *out) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<N>(block);
  unsigned i = block.thread_rank(), n = block.size();
  int x = in[i];
  out[i] = tile.thread_rank() + 100 * tile.size() + 10000 * tile.meta_group_rank() + 1000000 * tile.meta_group_size();
  out[n + i] = tile.ballot(x & 1);
  out[2 * n + i] = tile.any(x == 7) + 2 * tile.all(x != 7);
  out[3 * n + i] = tile.match_any(x & 3);
  out[4 * n + i] = tile.shfl(x, 0);
  out[5 * n + i] = tile.shfl_up(x, 1);
}
__global__ void tile_of_1(const int *in, int *out) { in_tile<1>(in, out); }
__global__ void tile_of_4(const int *in, int *out) { in_tile<4>(in, out); }
__global__ void tile_of_16(const int *in, int *out) { in_tile<16>(in, out); }
__global__ void tile_of_32(const int *in, int *out) { in_tile<32>(in, out); }

// Values of any size travel.
struct wide { double a; int b; char c[3]; };
__global__ void structs(const int *in, int *out) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  int i = block.thread_rank(), x = in[i];
  wide mine = { x * 0.5, x ^ 5, { (char)x, (char)(x >> 1), (char)(x >> 2) } };
  wide got = tile.shfl_xor(mine, 3);
  out[i] = (int)(got.a * 2) + got.b + got.c[0] + got.c[1] * 3 + got.c[2] * 5;
}

// Tiles of a size that comes with the launch.
__global__ void tile_of_any(const int *in, int *out, int size) {
  auto block = cg::this_thread_block();
  cg::thread_group tile = cg::tiled_partition(block, size);
  int i = block.thread_rank();
  __shared__ int cell[1024];
  cell[i] = in[i];
  tile.sync();
  int first = i - (int)tile.thread_rank();
  out[i] = cell[first] + (int)tile.size() * 1000000;
}

__global__ void coalesced(const int *in, int *out) {
  auto block = cg::this_thread_block();
  int i = block.thread_rank(), n = block.size(), x = in[i];
  for (int k = 0; k < 6; k++) out[k * n + i] = -1;
  if ((x & 3) != 2) {
    cg::coalesced_group g = cg::coalesced_threads();
    out[i] = g.thread_rank() + 100 * g.size();
    out[n + i] = g.ballot(x & 4);
    out[2 * n + i] = g.shfl(x, g.size() - 1);
    out[3 * n + i] = g.shfl_up(x, 2);
    out[4 * n + i] = g.shfl_down(x, 3);
    out[5 * n + i] = g.match_any(x & 8) + g.any(x & 16) * 3 + g.all(x & 32);
  }
}

__global__ void reductions(const int *in, int *out) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  int i = block.thread_rank(), n = block.size(), x = in[i];
  out[i] = cg::reduce(tile, x, cg::plus<int>());
  out[n + i] = cg::reduce(tile, x, cg::less<int>());
  out[2 * n + i] = cg::reduce(tile, (unsigned)x, cg::greater<unsigned>());
  out[3 * n + i] = cg::reduce(tile, (unsigned)x, cg::bit_xor<unsigned>());
  for (int k = 4; k < 8; k++) out[k * n + i] = -1;
  if (x & 1) {
    auto g = cg::coalesced_threads();
    out[4 * n + i] = cg::reduce(g, x, cg::plus<int>());
    out[5 * n + i] = (int)cg::reduce(g, (long long)x, cg::greater<long long>());
    out[6 * n + i] = cg::reduce(g, x, [](int a, int b) { return a ^ b; });
    out[7 * n + i] = (int)cg::reduce(g, x * 0.5f, cg::less<float>());
  }
}
// Whole tiles only: n is a multiple of 8.
__global__ void small_reductions(const int *in, int *out) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  int i = cg::this_thread_block().thread_rank(), x = in[i];
  out[i] = cg::reduce(tile, x, cg::plus<int>()) + (int)cg::reduce(tile, x * 0.25, cg::greater<double>());
}

__global__ void scans(const int *in, int *out) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  int i = block.thread_rank(), n = block.size(), x = in[i];
  out[i] = cg::inclusive_scan(tile, x);
  out[n + i] = cg::exclusive_scan(tile, x);
  out[2 * n + i] = cg::inclusive_scan(tile, x, cg::greater<int>());
  out[3 * n + i] = out[4 * n + i] = -1;
  if (x % 3 == 0) {
    auto g = cg::coalesced_threads();
    out[3 * n + i] = cg::inclusive_scan(g, x, cg::plus<int>());
    out[4 * n + i] = cg::exclusive_scan(g, x);
  }
}

__global__ void partitions(const int *in, int *out) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  int i = block.thread_rank(), n = block.size(), x = in[i];
  auto same = cg::labeled_partition(tile, x & 3);
  out[i] = same.size() * 100 + same.thread_rank();
  out[n + i] = cg::reduce(same, x, cg::plus<int>());
  auto half = cg::binary_partition(tile, x > 0);
  out[2 * n + i] = half.size() * 100 + half.thread_rank();
  out[3 * n + i] = cg::invoke_one_broadcast(half, [=] { return x; });
}

__global__ void copies(const int *in, int *out, int odd) {
  __shared__ int cell[1024];
  auto block = cg::this_thread_block();
  int i = block.thread_rank(), n = block.size();
  cg::memcpy_async(block, cell, in, sizeof(int) * n);
  cg::wait(block);
  out[i] = cell[n - 1 - i];
  block.sync();
  cg::memcpy_async(block, (char *)cell + odd, (const char *)in, n * 4 - 3);
  cg::wait_prior<0>(block);
  out[n + i] = ((char *)cell)[odd + i];
  block.sync();
  cg::memcpy_async(block, cell, in, cuda::aligned_size_t<4>(sizeof(int) * n));
  cg::wait(block);
  out[2 * n + i] = cell[i];
}
]==]

-- ---- models

-- Per warp of n threads, `f(values from 0, count, lane, i)` for each lane, one or more numbers for the parts of `out`.
local function warpwise(values, n, f)
  local wanted = {}
  for first = 0, n - 1, 32 do
    local count = math.min(32, n - first)
    local here = table.move(values, first, first + count - 1, 0, {})
    for lane = 0, count - 1 do
      local list = { f(here, count, lane, first + lane) }
      for part, value in pairs(list) do wanted[(part - 1) * n + first + lane] = int(value) end
    end
  end
  return wanted
end

local function compare(wanted, got, n, what)
  local list = got:totable()
  for i = 0, n - 1 do
    if wanted[i] ~= nil and wanted[i] ~= list[i + 1] then
      error(("%s: element %d is %s, not %s"):format(what, i, tostring(list[i + 1]), tostring(wanted[i])), 2)
    end
  end
end

-- The lanes of 0 … count - 1 for which test(value) holds, and the rank of `lane` among them.
local function members(values, count, lane, test)
  local list, rank = {}, nil
  for l = 0, count - 1 do
    if test(values[l]) then
      if l == lane then rank = #list end
      list[#list + 1] = values[l]
    end
  end
  return list, rank
end

local function bits_of(list, test)
  local bits = 0
  for i, value in ipairs(list) do if test(value) then bits = bits | 1 << (i - 1) end end
  return bits
end

local function fold(list, f, last)
  local sum = list[1]
  for i = 2, last or #list do sum = f(sum, list[i]) end
  return sum
end

local function add(a, b) return a + b end
local function xor(a, b) return a ~ b end

for _, tier in ipairs(tiers) do
  describe("a cooperative group, " .. tier.name .. ",", function()
    local specialise
    setup(function() specialise = tier.specialise and mw.limit("specialise", tier.specialise) end)
    teardown(function() if specialise then mw.limit("specialise", specialise) end end)

    local m = mw.compile { source = source, options = tier.options }

    local function each_block(name, parts, model, only)
      for _, block in ipairs(tier.blocks) do
        local n, values, list = block.threads, {}, {}
        if not only or n % only == 0 then
          for i = 0, n - 1 do
            values[i] = random(-500, 500)
            list[i + 1] = values[i]
          end
          local out = mw.zeros(parts * n, "int")
          m[name](1, block.size)(mw.array(list, "int"), out)
          compare(model(values, n), out, parts * n, name .. ", " .. tostring(block))
        end
      end
    end

    it("of a whole block waits and knows its threads", function()
      for _, block in ipairs(tier.blocks) do
        local n, wanted = block.threads, {}
        local out = mw.zeros(3 * n, "int")
        m.block_of_threads(1, block.size)(out)
        for i = 0, n - 1 do
          wanted[i], wanted[n + i], wanted[2 * n + i] = 3 * (n - 1 - i), n - 1 - i + n * 7, i
        end
        compare(wanted, out, 3 * n, tostring(block))
      end
    end)

    for _, size in ipairs { 1, 4, 16, 32 } do
      it("that is a tile of " .. size, function()
        each_block("tile_of_" .. size, 6, function(values, n)
          return warpwise(values, n, function(v, count, lane, i)
            local first = lane // size * size
            local list = {}
            for l = first, math.min(first + size, count) - 1 do list[#list + 1] = v[l] end
            local sevens = bits_of(list, function(x) return x == 7 end)
            return lane % size + 100 * size + 10000 * (i // size) + 1000000 * ((n + size - 1) // size),
              bits_of(list, function(x) return x & 1 == 1 end),
              (sevens ~= 0 and 1 or 0) + 2 * (sevens == 0 and 1 or 0),
              bits_of(list, function(x) return x & 3 == v[lane] & 3 end),
              v[first],
              lane == first and v[lane] or v[lane - 1]
          end)
        end)
      end)
    end

    it("shuffles structs", function()
      local function char(x)
        x = x & 255
        return x >= 128 and x - 256 or x
      end
      each_block("structs", 1, function(values, n)
        return warpwise(values, n, function(v, count, lane)
          local x = lane ~ 3 < count and v[lane ~ 3]
          if x then return x + (x ~ 5) + char(x) + char(x >> 1) * 3 + char(x >> 2) * 5 end
        end)
      end)
    end)

    it("is tiles of a size that the launch gives", function()
      for _, size in ipairs { 2, 8, 32 } do
        for _, block in ipairs(tier.blocks) do
          local n, list, wanted = block.threads, {}, {}
          for i = 1, n do list[i] = random(-500, 500) end
          local out = mw.zeros(n, "int")
          m.tile_of_any(1, block.size)(mw.array(list, "int"), out, size)
          for i = 0, n - 1 do wanted[i] = list[i // size * size + 1] + size * 1000000 end
          compare(wanted, out, n, size .. ", " .. tostring(block))
        end
      end
    end)

    it("of coalesced threads counts by rank", function()
      each_block("coalesced", 6, function(values, n)
        return warpwise(values, n, function(v, count, lane)
          local list, rank = members(v, count, lane, function(x) return x & 3 ~= 2 end)
          if not rank then return -1, -1, -1, -1, -1, -1 end
          local x = v[lane]
          local sixteens = bits_of(list, function(y) return y & 16 ~= 0 end)
          local full = bits_of(list, function(y) return y & 32 ~= 0 end) == (1 << #list) - 1
          return rank + 100 * #list,
            bits_of(list, function(y) return y & 4 ~= 0 end),
            list[#list],
            list[(rank < 2 and rank or rank - 2) + 1],
            list[(rank + 3 < #list and rank + 3 or rank) + 1],
            bits_of(list, function(y) return y & 8 == x & 8 end) + (sixteens ~= 0 and 3 or 0) + (full and 1 or 0)
        end)
      end)
    end)

    it("reduces", function()
      each_block("reductions", 8, function(values, n)
        return warpwise(values, n, function(v, count, lane)
          local all = members(v, count, lane, function() return true end)
          local odd, rank = members(v, count, lane, function(x) return x & 1 == 1 end)
          local unsigned = {}
          for i, x in ipairs(all) do unsigned[i] = x & 0xffffffff end
          local a, b, c, d = fold(all, add), fold(all, math.min), fold(unsigned, math.max), fold(all, xor)
          if not rank then return a, b, c, d, -1, -1, -1, -1 end
          local least = fold(odd, math.min)
          return a, b, c, d, fold(odd, add), fold(odd, math.max), fold(odd, xor),
            least < 0 and -(-least // 2) or least // 2
        end)
      end)
      each_block("small_reductions", 1, function(values, n)
        return warpwise(values, n, function(v, _, lane)
          local list = table.move(v, lane // 8 * 8, lane // 8 * 8 + 7, 1, {})
          local most = fold(list, math.max)
          return fold(list, add) + (most < 0 and -(-most // 4) or most // 4)
        end)
      end, 8)
    end)

    it("scans", function()
      each_block("scans", 5, function(values, n)
        return warpwise(values, n, function(v, count, lane)
          local all = members(v, count, lane, function() return true end)
          local third, rank = members(v, count, lane, function(x) return x % 3 == 0 end)
          local sum, most = fold(all, add, lane + 1), fold(all, math.max, lane + 1)
          if not rank then return sum, sum - v[lane], most, -1, -1 end
          local inside = fold(third, add, rank + 1)
          return sum, sum - v[lane], most, inside, inside - v[lane]
        end)
      end)
    end)

    it("falls into partitions", function()
      each_block("partitions", 4, function(values, n)
        return warpwise(values, n, function(v, count, lane)
          local x = v[lane]
          local same, rank = members(v, count, lane, function(y) return y & 3 == x & 3 end)
          local half, place = members(v, count, lane, function(y) return (y > 0) == (x > 0) end)
          return #same * 100 + rank, fold(same, add), #half * 100 + place, half[1]
        end)
      end)
    end)

    it("copies", function()
      for _, block in ipairs(tier.blocks) do
        local n, list, wanted = block.threads, {}, {}
        for i = 1, n do list[i] = random(-2 ^ 31 // 1 | 0, 2 ^ 31 - 1 // 1 | 0) end
        local out = mw.zeros(3 * n, "int")
        m.copies(1, block.size)(mw.array(list, "int"), out, 1)
        local bytes = {}
        for i = 1, n do bytes[i] = string.pack("<i4", list[i]) end
        bytes = table.concat(bytes)
        for i = 0, n - 1 do
          wanted[i], wanted[2 * n + i] = list[n - i], list[i + 1]
          if i < 4 * n - 3 then wanted[n + i] = string.unpack("<i1", bytes, i + 1) end
        end
        compare(wanted, out, 3 * n, tostring(block))
      end
    end)
  end)
end

describe("results that atomic objects receive", function()
  it("are those of a group, combined with what is there", function()
    local m = mw.compile [[
      #include <cuda/atomic>
      #include <cooperative_groups.h>
      #include <cooperative_groups/reduce.h>
      #include <cooperative_groups/scan.h>
      namespace cg = cooperative_groups;
      using number = cuda::atomic<int, cuda::thread_scope_device>;
      __global__ void k(int *p, int *before) {
        auto tile = cg::tiled_partition<8>(cg::this_thread_block());
        int t = threadIdx.x;
        cg::reduce_update_async(tile, *(number *)&p[0], t, cg::plus<int>());
        cg::reduce_update_async(tile, *(number *)&p[1], t, cg::greater<int>());
        if (t < 8) cg::reduce_store_async(tile, *(number *)&p[2], t, cg::plus<int>());
        cuda::atomic_ref<int, cuda::thread_scope_device> all(p[3]);
        before[2 * t] = cg::inclusive_scan_update(tile, all, 1);
        before[2 * t + 1] = cg::exclusive_scan_update(tile, *(number *)&p[4], 1, cg::plus<int>());
        if (t == 0) p[5] = cg::this_thread().size();
      }
    ]]
    local p, before = mw.array({ 100, 5, 0, 50, 0, 0 }, "int"), mw.zeros(64, "int")
    m.k(1, 32)(p, before)
    assert.same({ 100 + 496, 31, 28, 50 + 32, 32, 1 }, p:totable())
    local first, second = {}, {} -- each tile has a range of its own, in any order
    for t = 0, 31 do first[before[2 * t + 1]], second[before[2 * t + 2]] = true, true end
    for n = 0, 31 do assert.is_true(first[51 + n] and second[n]) end
  end)
end)

describe("the group of a grid", function()
  it("knows its ranks", function()
    local m = mw.compile [[
      #include <cooperative_groups.h>
      __global__ void k(int *p) {
        auto grid = cooperative_groups::this_grid();
        p[grid.thread_rank()] = grid.size() * 1000 + grid.block_rank();
      }
    ]]
    local p = mw.zeros(24, "int")
    m.k({ 2, 3 }, 4)(p)
    for i = 0, 23 do assert.equal(24000 + i // 4, p[i + 1]) end
  end)
end)
