-- nvcuda::wmma: shapes, layouts and types compared with plain loops, with numbers whose sums are exact in any order.
-- Lua 5.4 only: the compiler is tested.

local mw = require "moonwarp"
local suite = require "support.suite"

local names = { half = "float16", ["signed char"] = "char", ["unsigned char"] = "uchar", float = "float", int = "int",
  double = "double", __nv_bfloat16 = "bfloat16" }

-- A kernel of one product; the matrices' layouts and the types by name.
local function product(m, n, k, factor, sum, layout_a, layout_b, layout_c)
  local fragment = factor == "float" and "wmma::precision::tf32" or factor
  return ([[
#include <mma.h>
using namespace nvcuda;
__global__ void k(const $F *A, const $F *B, const $S *C, $S *D) {
  wmma::fragment<wmma::matrix_a, $m, $n, $k, $T, wmma::$la_major> a;
  wmma::fragment<wmma::matrix_b, $m, $n, $k, $T, wmma::$lb_major> b;
  wmma::fragment<wmma::accumulator, $m, $n, $k, $S> c, d;
  wmma::load_matrix_sync(a, A, $sa);
  wmma::load_matrix_sync(b, B, $sb);
  wmma::load_matrix_sync(c, C, $sc, wmma::mem_$lc_major);
  wmma::mma_sync(d, a, b, c);
  for (int i = 0; i < d.num_elements; i++) d.x[i] = d.x[i] + c.x[i];
  wmma::store_matrix_sync(D, d, $sc, wmma::mem_$lc_major);
}]]):gsub("%$(%a+)", { F = factor, S = sum, T = fragment, m = m, n = n, k = k, la = layout_a, lb = layout_b,
    lc = layout_c, sa = layout_a == "row" and k or m, sb = layout_b == "row" and n or k,
    sc = layout_c == "row" and n or m })
end

-- rows x columns small integers, and the function that returns element (i, j), from 0.
local function matrix(rows, columns, layout, dtype, first)
  local values, at = {}, {}
  for i = 0, rows - 1 do
    at[i] = {}
    for j = 0, columns - 1 do
      local value = (i * 7 + j * 3 + first) % 11 - (dtype == "uchar" and 0 or 5)
      at[i][j] = value
      values[(layout == "row" and i * columns + j or j * rows + i) + 1] = value
    end
  end
  return mw.array(values, dtype), at
end

local function check(m, n, k, factor, sum, layout_a, layout_b, layout_c)
  local A, a = matrix(m, k, layout_a, names[factor], 1)
  local B, b = matrix(k, n, layout_b, names[factor], 4)
  local C, c = matrix(m, n, layout_c, names[sum], 2)
  local D = mw.zeros(m * n, names[sum])
  mw.compile(product(m, n, k, factor, sum, layout_a, layout_b, layout_c)).k(1, 32)(A, B, C, D)
  for i = 0, m - 1 do
    for j = 0, n - 1 do
      local want = 2 * c[i][j]
      for x = 0, k - 1 do want = want + a[i][x] * b[x][j] end
      assert.equal(want, tonumber(D[(layout_c == "row" and i * n + j or j * m + i) + 1]))
    end
  end
end

describe("nvcuda::wmma", function()
  for _, shape in ipairs { { 16, 16, 16 }, { 32, 8, 16 }, { 8, 32, 16 } } do
    local m, n, k = shape[1], shape[2], shape[3]
    it(("multiplies matrices of %d x %d x %d, of every type"):format(m, n, k), function()
      check(m, n, k, "half", "float", "row", "col", "row")
      check(m, n, k, "half", "half", "col", "row", "col")
      check(m, n, k, "__nv_bfloat16", "float", "row", "row", "col")
      check(m, n, k, "signed char", "int", "col", "col", "row")
      check(m, n, k, "unsigned char", "int", "row", "row", "row")
    end)
  end

  it("multiplies matrices of tf32 and of doubles, in all layouts", function()
    for _, a in ipairs { "row", "col" } do
      for _, b in ipairs { "row", "col" } do
        check(16, 16, 8, "float", "float", a, b, a)
        check(8, 8, 4, "double", "double", a, b, b)
      end
    end
  end)

  it("multiplies integers of 4 bits and counts bits", function()
    local m = mw.compile [[
#include <mma.h>
using namespace nvcuda;
namespace small = wmma::experimental;
template <typename T, int K> __device__ void load(const unsigned *A, const unsigned *B,
    wmma::fragment<wmma::matrix_a, 8, 8, K, T, wmma::row_major> &a,
    wmma::fragment<wmma::matrix_b, 8, 8, K, T, wmma::col_major> &b) {
  wmma::load_matrix_sync(a, A, K);
  wmma::load_matrix_sync(b, B, K);
}
template <typename T> __device__ void nibbles(const unsigned *A, const unsigned *B, int *D, bool saturates) {
  wmma::fragment<wmma::matrix_a, 8, 8, 32, T, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 8, 8, 32, T, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 8, 8, 32, int> c;
  load(A, B, a, b);
  wmma::fill_fragment(c, saturates ? 2147483647 - 20 : 1);
  wmma::mma_sync(c, a, b, c, saturates);
  wmma::store_matrix_sync(D, c, 8, wmma::mem_row_major);
}
__global__ void s4(const unsigned *A, const unsigned *B, int *D) { nibbles<small::precision::s4>(A, B, D, false); }
__global__ void u4(const unsigned *A, const unsigned *B, int *D) { nibbles<small::precision::u4>(A, B, D, true); }
__global__ void bits(const unsigned *A, const unsigned *B, int *X, int *Y) {
  wmma::fragment<wmma::matrix_a, 8, 8, 128, small::precision::b1, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 8, 8, 128, small::precision::b1, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 8, 8, 128, int> c, d;
  load(A, B, a, b);
  wmma::fill_fragment(c, 3);
  wmma::bmma_sync(d, a, b, c, small::bmmaBitOpXOR);
  wmma::store_matrix_sync(X, d, 8, wmma::mem_row_major);
  small::bmma_sync(d, a, b, c, small::bmmaBitOpAND);
  wmma::store_matrix_sync(Y, d, 8, wmma::mem_col_major);
}]]
    local words_a, words_b = {}, {}
    for i = 1, 32 do words_a[i], words_b[i] = i * 2654435761 % 2 ^ 32, i * 40503 * 65537 % 2 ^ 32 end
    local function bits_of(word, first, count) return math.floor(word / 2 ^ first) % 2 ^ count end
    local A, B = mw.array(words_a, "uint"), mw.array(words_b, "uint")
    local S, U, X, Y = mw.zeros(64, "int"), mw.zeros(64, "int"), mw.zeros(64, "int"), mw.zeros(64, "int")
    m.s4(1, 32)(A, B, S)
    m.u4(1, 32)(A, B, U)
    m.bits(1, 32)(A, B, X, Y)
    local function signed(x) return x < 8 and x or x - 16 end
    for i = 0, 7 do
      for j = 0, 7 do
        local s, u, x, y = 1, 2147483647 - 20, 3, 3
        for w = 0, 3 do
          local a, b = words_a[i * 4 + w + 1], words_b[j * 4 + w + 1]
          for e = 0, 7 do
            local p, q = bits_of(a, 4 * e, 4), bits_of(b, 4 * e, 4)
            s, u = s + signed(p) * signed(q), u + p * q
          end
          for e = 0, 31 do
            local p, q = bits_of(a, e, 1), bits_of(b, e, 1)
            x, y = x + (p ~= q and 1 or 0), y + p * q
          end
        end
        assert.equal(s, S[i * 8 + j + 1])
        assert.equal(math.min(u, 2147483647), U[i * 8 + j + 1])
        assert.equal(x, X[i * 8 + j + 1])
        assert.equal(y, Y[j * 8 + i + 1])
      end
    end
  end)

  it("converts between half and float sums, and rounds to tf32", function()
    local m = mw.compile [[
#include <mma.h>
using namespace nvcuda;
__global__ void mixed(const half *A, float *D) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, half> h;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> f;
  wmma::load_matrix_sync(a, A, 16);
  wmma::load_matrix_sync(b, A, 16);
  wmma::fill_fragment(h, __float2half(1.0f));
  wmma::mma_sync(f, a, b, h);
  wmma::mma_sync(h, a, b, f);
  wmma::mma_sync(f, a, b, h);
  wmma::store_matrix_sync(D, f, 16, wmma::mem_row_major);
}
__global__ void rounded(float *x) { x[threadIdx.x] = wmma::__float_to_tf32(x[threadIdx.x]); }]]
    local A, D = mw.eye(16, 16, "float16"), mw.zeros(256)
    m.mixed(1, 32)(A, D)
    assert.equal(4, D[1])
    assert.equal(1, D[2])
    local x = mw.array { 1 + 2 ^ -11, 1 + 2 ^ -11 - 2 ^ -23, -1 - 2 ^ -11, 3 }
    m.rounded(1, 4)(x)
    assert.same({ 1 + 2 ^ -10, 1, -1 - 2 ^ -10, 3 }, x:totable())
  end)

  it("is exact on several warps, in loops, from shared memory", function()
    local m = mw.compile [[
#include <mma.h>
using namespace nvcuda;
// A: 64 x 64, row by row; B: 64 x 64, column by column; a warp a tile of 16 x 16
__global__ void k(const half *A, const half *B, float *D) {
  __shared__ half tile[16 * 64];
  int warp = threadIdx.x / 32;
  for (int i = threadIdx.x; i < 16 * 64; i += blockDim.x) tile[i] = A[blockIdx.x * 16 * 64 + i];
  __syncthreads();
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int k = 0; k < 64; k += 16) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::load_matrix_sync(a, tile + k, 64);
    wmma::load_matrix_sync(b, B + warp * 16 * 64 + k, 64);
    wmma::mma_sync(sum, a, b, sum);
  }
  wmma::store_matrix_sync(D + blockIdx.x * 16 * 64 + warp * 16, sum, 64, wmma::mem_row_major);
}]]
    local A, a = matrix(64, 64, "row", "float16", 3)
    local B, b = matrix(64, 64, "col", "float16", 8)
    local D = mw.zeros(64, 64)
    m.k(4, 128)(A, B, D)
    for i = 0, 63, 7 do
      for j = 0, 63, 5 do
        local want = 0
        for x = 0, 63 do want = want + a[i][x] * b[x][j] end
        assert.equal(want, D[i + 1][j + 1])
      end
    end
  end)

  it("is on fibers what it is on lanes", function()
    if suite.on_gpu then return pending "CPU device only: a GPU has no tiers" end
    local source = product(16, 16, 16, "half", "float", "row", "col", "row")
    local A, B = mw.arange(256):sin():to "float16", mw.arange(256):cos():to "float16"
    local C, results = mw.arange(256), {}
    for i, options in ipairs { {}, { "--width=1" } } do
      results[i] = mw.zeros(256)
      local k = mw.compile({ source = source, options = options }).k
      assert.equal(i == 1 and "simd" or "fiber", k.tier)
      k(1, 32)(A, B, C, results[i])
    end
    assert.equal(results[1]:bytes(), results[2]:bytes())
  end)

  it("refuses shapes and types that do not exist", function()
    local ok, message = pcall(mw.compile, [[
#include <mma.h>
__global__ void k() { nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 4, half, nvcuda::wmma::row_major> a; }]])
    assert.is_false(ok)
    assert.matches("tensor cores have no matrices of this shape and type", tostring(message))
  end)
end)
