-- Collectives of structs and of functions of one's own run on lanes, not on fibers: shuffles of structs are shuffles of
-- their words, and the functions are inlined before the tier is chosen.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the code that mwcc makes for lanes

local mw = require "moonwarp"
local mwcc = require "support.mwcc"

local head = [[
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
struct best { float value; int index; };
struct moments { double sum, squares; float low; int count; };
struct bytes { unsigned char a, b, c; };
struct largest {
  __device__ best operator()(best p, best q) const { return p.value >= q.value ? p : q; }
};
template <typename F> __device__ __noinline__ float apply(F f, float a, float b) { return f(a, b); }
extern "C" __global__ void k(const float *x, const int *label, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  auto eight = cg::tiled_partition<8>(cg::this_thread_block());
]]

local bodies = {
  "out[i] = cg::reduce(warp, best{x[i], i}, largest()).index;",
  "out[i] = cg::reduce(eight, x[i], [](float p, float q) { return fmaxf(fabsf(p), fabsf(q)); });",
  "int calls = 0; out[i] = cg::reduce(warp, x[i], [&](float p, float q) { calls++; return p + q; }) + calls;",
  "moments m = cg::reduce(warp, moments{x[i], x[i] * x[i], x[i], 1}, [](const moments &p, const moments &q) {" ..
    "return moments{p.sum + q.sum, p.squares + q.squares, fminf(p.low, q.low), p.count + q.count}; });" ..
    "out[i] = m.sum + m.low + m.count;",
  "bytes v = warp.shfl_down(bytes{(unsigned char)i, 1, 2}, 3); out[i] = v.a + v.b + v.c;",
  "out[i] = cg::inclusive_scan(warp, best{x[i], i}, largest()).value;",
  "out[i] = cg::exclusive_scan(eight, x[i], [](float p, float q) { return p > q ? p : q; });",
  "auto g = cg::labeled_partition(warp, label[i]); out[i] = cg::reduce(g, best{x[i], i}, largest()).index;",
  "if (x[i] > 0.5f) { auto g = cg::coalesced_threads(); out[i] = cg::reduce(g, best{x[i], i}, largest()).index; }",
  "auto g = cg::binary_partition(warp, x[i] > 0.5f); out[i] = cg::inclusive_scan(g, x[i], cg::plus<float>());",
  "for (int k = i; k < n; k += gridDim.x * blockDim.x) out[k] = cg::reduce(warp, best{x[k], k}, largest()).index;",
  "out[i] = cg::reduce(warp, x[i], [](float p, float q) {" ..
    "return apply([](float a, float b) { return a * b + 1; }, p, q); });",
  "__shared__ best part[8]; best b = cg::reduce(warp, best{x[i], i}, largest());" ..
    "if (warp.thread_rank() == 0) part[threadIdx.x / 32] = b; __syncthreads();" ..
    "if (threadIdx.x < 32) out[i] = cg::reduce(warp, part[threadIdx.x % 8], largest()).index;",
}

describe("a collective of structs or of a function of one's own", function()
  for _, body in ipairs(bodies) do
    it("runs on lanes: " .. body:sub(1, 70), function()
      local source = head .. body .. " }"
      assert.matches("kernel k: simd", mwcc.run(source, "--report --launch=k:256x1x1"))
      assert.matches("kernel k: simd", mwcc.run(source, "--report"))
    end)
  end

  it("of coalesced threads combines them in the order of ranks", function()
    local m = mw.compile [[
      #include <cooperative_groups.h>
      #include <cooperative_groups/reduce.h>
      namespace cg = cooperative_groups;
      struct span { int first, last; };
      __global__ void spans(const int *in, int *first, int *last) {
        if (!in[threadIdx.x]) return;
        span s = cg::reduce(cg::coalesced_threads(), span{(int)threadIdx.x, (int)threadIdx.x},
                            [](span p, span q) { return span{p.first, q.last}; });
        first[threadIdx.x] = s.first, last[threadIdx.x] = s.last;
      }]]
    for step = 1, 31 do
      local present, low, high = {}, {}, {}
      for i = 0, 63 do present[i + 1] = (i * step % 7 < 3 or i % 32 == step) and 1 or 0 end
      for i = 0, 63 do
        if present[i + 1] == 1 then
          local warp = math.floor(i / 32)
          low[warp], high[warp] = low[warp] or i, i
        end
      end
      local first, last = mw.zeros(64, "int"), mw.zeros(64, "int")
      m.spans(1, 64)(mw.array(present, "int"), first, last)
      for i = 0, 63 do
        local warp = math.floor(i / 32)
        assert.equal(present[i + 1] == 1 and low[warp] or 0, first[i + 1])
        assert.equal(present[i + 1] == 1 and high[warp] or 0, last[i + 1])
      end
    end
  end)

  local labelled = [[
    #include <cooperative_groups.h>
    #include <cooperative_groups/reduce.h>
    namespace cg = cooperative_groups;
    __global__ void labelled(const int *label, const int *in, int *sum, int *most) {
      auto alike = cg::labeled_partition(cg::coalesced_threads(), label[threadIdx.x]);
      int2 all = cg::reduce(alike, make_int2(in[threadIdx.x], in[threadIdx.x]), [](int2 p, int2 q) {
        return make_int2(p.x + q.x, max(p.y, q.y));
      });
      sum[threadIdx.x] = all.x, most[threadIdx.x] = all.y;
    }]]

  it("moves two words at a time by permutations, with AVX-512", function()
    local ir = mwcc.run(labelled, "--emit=ir --mcpu=x86-64-v4 --launch=_Z8labelledPKiS0_PiS1_:64x1x1")
    assert.is_truthy(ir:find("call <16 x i32> @llvm.x86.avx512.vpermi2var.d.512", 1, true))
    assert.is_nil(ir:find("call <8 x i64> @llvm.masked.gather", 1, true))
    assert.is_nil(ir:find("call <16 x i64> @llvm.masked.gather", 1, true))
  end)

  it("combines the threads of each label", function()
    local m, label, value, sums, most = mw.compile(labelled), {}, {}, {}, {}
    for i = 0, 63 do
      label[i + 1], value[i + 1] = i * i % 7 % 4, i * 37 % 64 - 20
      local key = i // 32 * 4 + label[i + 1]
      sums[key], most[key] = (sums[key] or 0) + value[i + 1], math.max(most[key] or -99, value[i + 1])
    end
    local sum, greatest = mw.zeros(64, "int"), mw.zeros(64, "int")
    m.labelled(1, 64)(mw.array(label, "int"), mw.array(value, "int"), sum, greatest)
    for i = 0, 63 do
      local key = i // 32 * 4 + label[i + 1]
      assert.equal(sums[key], sum[i + 1])
      assert.equal(most[key], greatest[i + 1])
    end
  end)

  it("moves doubles and 64-bit integers to any lane", function()
    local m = mw.compile [[
      __global__ void moved(const int *from, const double *a, const long long *b, double *x, long long *y) {
        x[threadIdx.x] = __shfl_sync(~0u, a[threadIdx.x], from[threadIdx.x]);
        y[threadIdx.x] = __shfl_sync(~0u, b[threadIdx.x], from[threadIdx.x], 8);
      }]]
    local from, a, b = {}, {}, {}
    for i = 1, 64 do from[i], a[i], b[i] = i * 11 % 32, i / 7 - 3, (i - 30) * 4000000007 end
    local x, y = mw.zeros(64, "double"), mw.zeros(64, "int64")
    m.moved(1, 64)(mw.array(from, "int"), mw.array(a, "double"), mw.array(b, "int64"), x, y)
    for i = 0, 63 do
      assert.equal(a[i // 32 * 32 + from[i + 1] + 1], x[i + 1])
      assert.equal(b[i // 8 * 8 + from[i + 1] % 8 + 1], y[i + 1])
    end
  end)

  local pairs_moved = [[
    #include <cooperative_groups.h>
    namespace cg = cooperative_groups;
    struct words { float a; unsigned b; };
    extern "C" __global__ void pairs_moved(const float *a, const unsigned *b, float *x, unsigned *y) {
      auto tile = cg::tiled_partition<WIDTH>(cg::this_thread_block());
      words own = {a[threadIdx.x], b[threadIdx.x]};
      words other = tile.MOVE(own, BY);
      x[threadIdx.x] = other.a + own.a, y[threadIdx.x] = other.b;
    }]]
  local function moved(width, move, by)
    return (pairs_moved:gsub("WIDTH", width):gsub("MOVE", move):gsub("BY", by))
  end

  it("moves a struct's words apart, by constant distances", function()
    local text = mwcc.ir(moved(32, "shfl_up", 1), "pairs_moved:64x1x1")
    assert.equal(0, mwcc.count(text, "x i64>"))
    local partner = {
      shfl_up = function(i, by, width) return i % width >= by and i - by or i end,
      shfl_down = function(i, by, width) return i % width + by < width and i + by or i end,
      shfl_xor = function(i, by) return i ~ by end,
      shfl = function(i, by, width) return i // width * width + by % width end,
    }
    local a, b = {}, {}
    for i = 1, 64 do a[i], b[i] = i / 8 - 3, i * 40000003 % 2 ^ 32 // 1 | 0 end
    local from_a, from_b = mw.array(a), mw.array(b, "uint")
    for move, from in pairs(partner) do
      for _, width in ipairs { 4, 8, 16, 32 } do
        for _, by in ipairs { 1, 2, 3, width - 1 } do
          local x, y = mw.zeros(64), mw.zeros(64, "uint")
          mw.compile(moved(width, move, by)).pairs_moved(1, 64)(from_a, from_b, x, y)
          for i = 0, 63 do
            local other = from(i, by, width) + 1
            assert.equal(a[other] + a[i + 1], x[i + 1])
            assert.equal(b[other], y[i + 1])
          end
        end
      end
    end
  end)

  it("has vectors of a tile's threads, if the tiles' rows would be gathered", function()
    local function gang(tile)
      local text = mwcc.run(([[
        #include <cooperative_groups.h>
        #include <cooperative_groups/reduce.h>
        namespace cg = cooperative_groups;
        extern "C" __global__ void rows(const float *x, float *out) {
          auto tile = cg::tiled_partition<%d>(cg::this_thread_block());
          int row = (blockIdx.x * blockDim.x + threadIdx.x) / %d;
          float sum = 0;
          for (int k = tile.thread_rank(); k < 64; k += %d) sum += x[64 * row + k];
          sum = cg::reduce(tile, sum, cg::plus<float>());
          if (tile.thread_rank() == 0) out[row] = sum;
        }]]):format(tile, tile, tile), "--report --mcpu=x86-64-v4 --launch=rows:128x1x1")
      return text:match "gangs of (%d+ x %d+) lanes"
    end
    assert.equal("8 x 4", gang(4))
    assert.equal("4 x 8", gang(8))
    assert.equal("2 x 16", gang(16))
    assert.equal("2 x 16", gang(32))
  end)
end)
