-- Tensor maps: copies of boxes of tensors by cp.async.bulk.tensor, in both directions, with elements outside, swizzling
-- and reductions (CUDA C++ Programming Guide, "Using TMA to transfer multi-dimensional arrays"; driver API,
-- cuTensorMapEncodeTiled).

local mw = require "moonwarp"
local suite = require "support.suite"

local source = [==[
#include <cuda.h>
#include <cuda/barrier>
namespace cde = cuda::device::experimental;
using barrier = cuda::barrier<cuda::thread_scope_block>;

// The guide's example: a box is loaded, changed, and written back.
__global__ void add_one(const __grid_constant__ CUtensorMap map, int x, int y) {
  __shared__ alignas(128) int tile[8][16];
  __shared__ barrier bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  barrier::arrival_token token = barrier::arrival_token::of(0);
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_global_to_shared(&tile, &map, x, y, bar);
    token = cuda::device::barrier_arrive_tx(bar, 1, sizeof tile);
  } else {
    token = bar.arrive();
  }
  bar.wait(static_cast<barrier::arrival_token &&>(token));
  for (int i = threadIdx.x; i < 128; i += blockDim.x) tile[i / 16][i % 16] += 1;
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_shared_to_global(&map, x, y, &tile);
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  }
}

// The box as it lies in shared memory, word by word.
template <int N>
__global__ void look(const __grid_constant__ CUtensorMap map, const int *at, unsigned int *out, int words) {
  extern __shared__ __align__(1024) unsigned int tile[];
  __shared__ unsigned long long bar;
  unsigned int b = (unsigned int)__cvta_generic_to_shared(&bar), to = (unsigned int)__cvta_generic_to_shared(tile);
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(b));
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" : : "r"(b), "r"(words * 4) : "memory");
    if (N == 1)
      asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];"
                   : : "r"(to), "l"(&map), "r"(at[0]), "r"(b) : "memory");
    if (N == 2)
      asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                   "[%0], [%1, {%2, %3}], [%4];"
                   : : "r"(to), "l"(&map), "r"(at[0]), "r"(at[1]), "r"(b) : "memory");
    if (N == 5)
      asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                   "[%0], [%1, {%2, %3, %4, %5, %6}], [%7];"
                   : : "r"(to), "l"(&map), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4]), "r"(b)
                   : "memory");
  }
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0; @!p bra W; }"
               : : "r"(b) : "memory");
  for (int i = threadIdx.x; i < words; i += blockDim.x) out[i] = tile[i];
}

// Each block adds its box into the tensor.
__global__ void add(const __grid_constant__ CUtensorMap map, int x, int y) {
  __shared__ alignas(128) float tile[4][8];
  tile[threadIdx.x / 8][threadIdx.x % 8] = threadIdx.x;
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%1, {%2, %3}], [%0];"
                 : : "r"((unsigned int)__cvta_generic_to_shared(tile)), "l"(&map), "r"(x), "r"(y) : "memory");
    asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
  }
}
]==]

describe("a tensor map", function()
  local m = mw.compile { source = source, options = { "--std=c++17" } }

  local function message(f, ...)
    local ok, err = pcall(f, ...)
    assert.is_false(ok)
    return tostring(err)
  end

  it("copies the guide's box there and back, and leaves what is outside alone", function()
    local rows, columns = 20, 36
    -- A box that is written may end outside; hardware does not let it begin there.
    for _, place in ipairs { { 4, 3 }, { 28, 16 }, { 20, 17 } } do
      local a = mw.arange(0, rows * columns, 1, "int"):reshape(rows, columns)
      m.add_one(1, 40)(mw.tensor_map(a, { box = { 8, 16 } }), place[1], place[2])
      local list = a:reshape(rows * columns):totable()
      for r = 0, rows - 1 do
        for c = 0, columns - 1 do
          local inside = c >= place[1] and c < place[1] + 16 and r >= place[2] and r < place[2] + 8
          assert.equal(r * columns + c + (inside and 1 or 0), list[r * columns + c + 1])
        end
      end
    end
  end)

  it("fills what is outside with zeros or NaN", function()
    local a = mw.ones(6, 8)
    for fill, bits in pairs { zero = 0, nan = 0x7ff77ff7 } do
      local out = mw.zeros(32, "uint")
      m["look<2>"](1, 32, 1024)(mw.tensor_map(a, { box = { 4, 8 }, fill = fill }), mw.array({ 4, 4 }, "int"), out, 32)
      local list = out:totable()
      for i = 0, 31 do assert.equal((i % 8 < 4 and i < 16) and 0x3f800000 or bits, list[i + 1]) end
    end
  end)

  it("swizzles pieces of 16 bytes", function()
    for swizzle, mask in pairs { [32] = 1, [64] = 3, [128] = 7 } do
      local columns = swizzle / 4
      local rows = 256 / columns
      local a = mw.arange(0, 256, 1, "uint"):reshape(rows, columns)
      local out = mw.zeros(256, "uint")
      local map = mw.tensor_map(a, { box = { rows, columns }, swizzle = swizzle })
      m["look<2>"](1, 32, 2048)(map, mw.array({ 0, 0 }, "int"), out, 256)
      local list = out:totable()
      for i = 0, 255 do
        local piece, line = math.floor(i / 4), math.floor(i / 32) % (mask + 1)
        local other, bit = 0, 1 -- piece xor line
        for _ = 1, 8 do
          if math.floor(piece / bit) % 2 ~= math.floor(line / bit) % 2 then other = other + bit end
          bit = bit * 2
        end
        assert.equal(i, list[other * 4 + i % 4 + 1], swizzle .. " " .. i)
      end
    end
  end)

  it("has one to five dimensions, and steps", function()
    local a = mw.arange(0, 64, 1, "uint")
    local out = mw.zeros(16, "uint")
    m["look<1>"](1, 32, 1024)(mw.tensor_map(a, { box = { 16 } }), mw.array({ 12 }, "int"), out, 16)
    assert.same(mw.arange(12, 28, 1, "uint"):totable(), out:totable())
    a = mw.arange(0, 2 * 3 * 4 * 5 * 8, 1, "uint"):reshape(2, 3, 4, 5, 8)
    out = mw.zeros(2 * 2 * 2 * 4, "uint")
    local map = mw.tensor_map(a, { box = { 2, 1, 2, 3, 4 }, step = { 1, 1, 1, 2, 1 } })
    m["look<5>"](1, 32, 1024)(map, mw.array({ 4, 1, 2, 1, 0 }, "int"), out, 32)
    local wanted = {}
    for i4 = 0, 1 do
      for i2 = 2, 3 do
        for i1 = 1, 3, 2 do
          for i0 = 4, 7 do wanted[#wanted + 1] = (((i4 * 3 + 1) * 4 + i2) * 5 + i1) * 8 + i0 end
        end
      end
    end
    assert.same(wanted, out:totable())
  end)

  it("adds boxes into the tensor", function()
    local a = mw.ones(8, 12)
    local map = mw.tensor_map(a, { box = { 4, 8 } })
    m.add(3, 32)(map, 8, 2)
    local list = a:reshape(96):totable()
    for i = 0, 95 do
      local r, c = math.floor(i / 12) - 2, i % 12 - 8
      local inside = r >= 0 and r < 4 and c >= 0
      assert.equal(inside and 1 + 3 * (r * 8 + c) or 1, list[i + 1])
    end
  end)

  it("refuses what CUDA refuses, by name", function()
    local a = mw.zeros(8, 12)
    assert.matches("2nd size of a tensor map's box is 300: it has to be 1 to 256",
      message(mw.tensor_map, a, { box = { 300, 4 } }))
    assert.matches("a row of a tensor map's box has 12 bytes: it has to be a multiple of 16",
      message(mw.tensor_map, a, { box = { 4, 3 } }))
    assert.matches("swizzling takes 32 at most", message(mw.tensor_map, a, { box = { 4, 12 }, swizzle = 32 }))
    assert.matches("has to be a multiple of 16 below 2%^40",
      message(mw.tensor_map, mw.zeros(8, 13), { box = { 4, 4 } }))
    assert.matches("the box has 1 sizes", message(mw.tensor_map, a, { box = { 4 } }))
    assert.matches("fills with NaN only where",
      message(mw.tensor_map, mw.zeros(8, "int"), { box = { 4 }, fill = "nan" }))
  end)

  it("is checked by the copy", function()
    if suite.on_gpu then return pending "CPU device only: a GPU is lost" end
    assert.matches("cuTensorMapEncodeTiled has not made", message(function()
      m.add(1, 32)(("\0"):rep(128), 0, 0)
      mw.synchronize()
    end))
    local function refusal(map, x, y)
      return message(function()
        m.add(1, 32)(map, x, y)
        mw.synchronize()
      end)
    end
    local map = mw.tensor_map(mw.zeros(8, 12), { box = { 4, 8 } })
    assert.matches("copies with 2 coordinates, and the tensor map has 1",
      refusal(mw.tensor_map(mw.zeros(64), { box = { 8 } }), 0, 0))
    assert.matches("from element 2 of the last dimension on, byte 8: it has to be a multiple of 16 bytes",
      refusal(map, 2, 0))
    assert.matches("writes a box that begins at %-1, before the tensor", refusal(map, 0, -1))
    assert.matches("writes a box that begins at %-4, before the tensor", refusal(map, -4, 0))
  end)
end)
