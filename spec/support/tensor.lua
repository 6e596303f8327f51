-- Products of matrices by tensor cores: the results of an H100 (spec/data/tensor/h100.npz; docs/notes/tensor.md), and
-- kernels that compute the same products.

local mw = require "moonwarp"

local M = {}

---The samples of a kind, a class of inputs each: matrices one after the other, row by row, as bits.
---@class spec.tensor.kind
---@field name string
---@field m integer rows of A
---@field n integer columns of B
---@field k integer columns of A
---@field factor string PTX's name of the type of A and B
---@field sum string of C and D
---@field mode? "rna"|"sat" factors are rounded to tf32; sums saturate
M.kinds = {
  { name = "wmma_f16_f32", m = 16, n = 16, k = 16, factor = "f16", sum = "f32" },
  { name = "wmma_f16_f16", m = 16, n = 16, k = 16, factor = "f16", sum = "f16" },
  { name = "wmma_bf16_f32", m = 16, n = 16, k = 16, factor = "bf16", sum = "f32" },
  { name = "wmma_tf32_f32", m = 16, n = 16, k = 8, factor = "tf32", sum = "f32", mode = "rna" },
  { name = "wmma_tf32raw_f32", m = 16, n = 16, k = 8, factor = "tf32", sum = "f32" },
  { name = "wmma_s8_s32", m = 16, n = 16, k = 16, factor = "s8", sum = "s32" },
  { name = "wmma_u8_s32", m = 16, n = 16, k = 16, factor = "u8", sum = "s32" },
  { name = "wmma_f64", m = 8, n = 8, k = 4, factor = "f64", sum = "f64" },
  { name = "mma_f16_f32_k16", m = 16, n = 8, k = 16, factor = "f16", sum = "f32" },
  { name = "mma_f16_f16_k16", m = 16, n = 8, k = 16, factor = "f16", sum = "f16" },
  { name = "mma_f16_f32_k8", m = 16, n = 8, k = 8, factor = "f16", sum = "f32" },
  { name = "mma_bf16_f32_k16", m = 16, n = 8, k = 16, factor = "bf16", sum = "f32" },
  { name = "mma_tf32_f32_k8", m = 16, n = 8, k = 8, factor = "tf32", sum = "f32" },
  { name = "mma_tf32_f32_k4", m = 16, n = 8, k = 4, factor = "tf32", sum = "f32" },
  { name = "mma_s8_s32_k32", m = 16, n = 8, k = 32, factor = "s8", sum = "s32" },
  { name = "mma_s8_s32_k32_sat", m = 16, n = 8, k = 32, factor = "s8", sum = "s32", mode = "sat" },
  { name = "mma_e4m3_f32_k32", m = 16, n = 8, k = 32, factor = "e4m3", sum = "f32" },
  { name = "mma_e5m2_f32_k32", m = 16, n = 8, k = 32, factor = "e5m2", sum = "f32" },
  { name = "mma_e4m3_f16_k32", m = 16, n = 8, k = 32, factor = "e4m3", sum = "f16" },
}

local c_type = { f16 = "__half", bf16 = "__nv_bfloat16", f32 = "float", s8 = "signed char", u8 = "unsigned char",
  s32 = "int", f64 = "double", tf32 = "float" }
local in_word = { f16 = 2, bf16 = 2, tf32 = 1, s8 = 4, u8 = 4, e4m3 = 4, e5m2 = 4 }

local function fill(text, values) return (text:gsub("%$(%a+)", values)) end

---A kernel `k(A, B, C, D)` with nvcuda::wmma, one sample per block.
function M.wmma(kind)
  local factor = kind.factor == "tf32" and "wmma::precision::tf32" or c_type[kind.factor]
  local round = kind.mode ~= "rna" and "" or [[
  for (int i = 0; i < a.num_elements; i++) a.x[i] = wmma::__float_to_tf32(a.x[i]);
  for (int i = 0; i < b.num_elements; i++) b.x[i] = wmma::__float_to_tf32(b.x[i]);]]
  return fill([[
#include <mma.h>
using namespace nvcuda;
__global__ void k(const void *A_, const void *B_, const void *C_, void *D_) {
  const $T *A = (const $T *)A_ + blockIdx.x * $m * $k, *B = (const $T *)B_ + blockIdx.x * $k * $n;
  const $S *C = (const $S *)C_ + blockIdx.x * $m * $n;
  $S *D = ($S *)D_ + blockIdx.x * $m * $n;
  wmma::fragment<wmma::matrix_a, $m, $n, $k, $F, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, $m, $n, $k, $F, wmma::row_major> b;
  wmma::fragment<wmma::accumulator, $m, $n, $k, $S> c;
  wmma::load_matrix_sync(a, A, $k);
  wmma::load_matrix_sync(b, B, $n);
  wmma::load_matrix_sync(c, C, $n, wmma::mem_row_major);
$round
  wmma::mma_sync(c, a, b, c);
  wmma::store_matrix_sync(D, c, $n, wmma::mem_row_major);
}]], { T = c_type[kind.factor], S = c_type[kind.sum], F = factor, m = kind.m, n = kind.n, k = kind.k, round = round })
end

local function list(first, count)
  local names = {}
  for i = 1, count do names[i] = ("%%%d"):format(first + i - 1) end
  return "{" .. table.concat(names, ",") .. "}"
end

local function operands(form, count)
  local all = {}
  for i = 1, count do all[i] = form:format(i - 1) end
  return table.concat(all, ", ")
end

---The same with mma.sync: fragments as PTX's manual spreads them.
function M.mma(kind)
  local words, sums = math.floor(kind.k / (4 * in_word[kind.factor])), kind.sum == "f16" and 2 or 4
  local text = ("mma.sync.aligned.m16n8k%d.row.col%s.%s.%s.%s.%s %s, %s, %s, %s;"):format(kind.k,
    kind.mode == "sat" and ".satfinite" or "", kind.sum, kind.factor, kind.factor, kind.sum, list(0, sums),
    list(sums, 2 * words), list(sums + 2 * words, words), list(sums + 3 * words, sums))
  return fill([[
typedef unsigned $T T;
typedef unsigned $S S;
__device__ unsigned part(const T *from, int stride) {
  const int PER = 4 / sizeof(T);
  unsigned word = 0;
  for (int i = 0; i < PER; i++) word |= (unsigned)from[i * stride] << (32 / PER * i) % 32;
  return word;
}
__global__ void k(const T *A, const T *B, const S *C, S *D) {
  const int K = $k, PER = 4 / sizeof(T), WORDS = $words;
  int g = threadIdx.x / 4, t = threadIdx.x % 4;
  A += blockIdx.x * 16 * K, B += blockIdx.x * K * 8, C += blockIdx.x * 128, D += blockIdx.x * 128;
  unsigned a[2 * WORDS], b[WORDS], c[4], d[4];
  for (int w = 0; w < WORDS; w++) {
    for (int r = 0; r < 2; r++) a[2 * w + r] = part(A + (g + 8 * r) * K + (w * 4 + t) * PER, 1);
    b[w] = part(B + (w * 4 + t) * PER * 8 + g, 8);
  }
  for (int i = 0; i < 4; i++) {
    unsigned x = C[(g + i / 2 * 8) * 8 + 2 * t + i % 2];
    if (sizeof(S) == 4) c[i] = x;
    else c[i / 2] = i % 2 ? c[i / 2] | x << 16 : x;
  }
  asm volatile("$text" : $out : $a, $b, $c);
  for (int i = 0; i < 4; i++)
    D[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = sizeof(S) == 4 ? d[i] : d[i / 2] >> i % 2 * 16;
}]], { T = ({ "int", "short", [4] = "char" })[in_word[kind.factor]], S = kind.sum == "f16" and "short" or "int",
    k = kind.k, words = words, text = text, out = operands('"=r"(d[%d])', sums), a = operands('"r"(a[%d])', 2 * words),
    b = operands('"r"(b[%d])', words), c = operands('"r"(c[%d])', sums) })
end

---How many elements of a kind's samples differ from the H100's, of how many.
---@param kind spec.tensor.kind
---@param source string
---@return integer differ
---@return integer count
---@return string tier
function M.compare(kind, source)
  M.samples = M.samples or mw.load_npz "spec/data/tensor/h100.npz"
  local function of(matrix) return M.samples[kind.name .. "_" .. matrix] end
  local A, B, C, D = of "A", of "B", of "C", of "D"
  local result, kernel = mw.zeros(D.shape, D.dtype), mw.compile(source).k
  kernel(D.shape[1], 32)(A, B, C, result)
  return result:ne(D):count_nonzero(), D.shape[1] * kind.m * kind.n, kernel.tier
end

return M
