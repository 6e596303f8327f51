-- Rates of tensor cores' products compared with that of float multiply-adds, by type: lua bench/tensor.lua [seconds for
-- each]
--
-- A multiply-add of integers or of small numbers counts as one, as a float's does. Fragments stay in registers, so that
-- loads and stores do not count. MOONWARP_THREADS=1 MOONWARP_DEVICE=cpu: processor time is measured, of one thread.

local mw = require "moonwarp"

local seconds = tonumber(arg and arg[1]) or 0.3

local header = "#include <mma.h>\nusing namespace nvcuda;\n"

-- Two sums of independent products, so that neither waits for the other. Factors are multiples of `unit`: products of
-- whole numbers are faster.
local function wmma(m, n, k, factor, sum, unit)
  return header .. ([[extern "C" __global__ void k(int times, %s *out) {
    wmma::fragment<wmma::matrix_a, %d, %d, %d, %s, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, %d, %d, %d, %s, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, %d, %d, %d, %s> c, d;
    wmma::fill_fragment(c, 0); wmma::fill_fragment(d, 0);
    for (int i = 0; i < a.num_elements; i++) a.x[i] = ((int)(threadIdx.x %% 7) + i) * %s;
    for (int i = 0; i < b.num_elements; i++) b.x[i] = ((int)(threadIdx.x %% 5) - i) * %s;
    for (int i = 0; i < times; i++) { wmma::mma_sync(c, a, b, c); wmma::mma_sync(d, a, b, d); }
    for (int i = 0; i < d.num_elements; i++) c.x[i] = c.x[i] + d.x[i];
    wmma::store_matrix_sync(out + (blockIdx.x %% 64) * %d, c, %d, wmma::mem_row_major);
  }]]):format(sum, m, n, k, factor, m, n, k, factor, m, n, k, sum, unit or 1, unit or 1, m * n, n), 2 * m * n * k
end

local function mma(shape, types, sum, registers, k)
  local name, letter = sum, sum == "float" and "f" or "r"
  local function list(kind, count, from)
    local items = {}
    for i = 0, count - 1 do items[i + 1] = (kind):format(from and from + i or i) end
    return table.concat(items, ", ")
  end
  local function call(c)
    local text = [[asm volatile("mma.sync.aligned.%s.row.col.%s {%s}, {%s}, {%s}, {%s};" : %s : %s, %s);]]
    return text:format(shape, types,
      list("%%%d", 4), list("%%%d", registers, 4), list("%%%d", registers / 2, 4 + registers), list("%%%d", 4),
      list('"+' .. letter .. '"(' .. c .. "[%d])", 4), list('"r"(a[%d])', registers), list('"r"(b[%d])', registers / 2))
  end
  return ([[extern "C" __global__ void k(int times, %s *out) {
    unsigned a[4], b[2]; %s c[4] = {}, d[4] = {};
    for (int i = 0; i < 4; i++) a[i] = 0x3c3c3c00u + threadIdx.x * 64 + i;
    for (int i = 0; i < 2; i++) b[i] = 0x34343400u + threadIdx.x * 32 + i;
    for (int i = 0; i < times; i++) { %s %s }
    for (int i = 0; i < 4; i++) out[blockIdx.x %% 64 * 128 + threadIdx.x * 4 + i] = c[i] + d[i];
  }]]):format(name, name, call "c", call "d"), 2 * 16 * 8 * k
end

-- Of a warp as well: 24 sums per thread.
local fused = [[extern "C" __global__ void k(int times, float *out) {
  float s[24], x = threadIdx.x, y = 1.0f / (threadIdx.x + 1);
  for (int i = 0; i < 24; i++) s[i] = i;
  for (int i = 0; i < times; i++)
    for (int j = 0; j < 24; j++) s[j] = fmaf(s[j], y, x);
  float all = 0;
  for (int j = 0; j < 24; j++) all += s[j];
  out[blockIdx.x % 64 * 32 + threadIdx.x] = all;
}]]

local function rate(source, of_iteration, dtype)
  local m = mw.compile(source)
  local out, blocks, times = mw.zeros(64 * 1024, dtype), 256, 16
  local best = 0
  local function run()
    local start = os.clock()
    m.k(blocks, 32)(times, out)
    mw.synchronize()
    return os.clock() - start
  end
  while run() < seconds do times = times * 2 end
  for _ = 1, 5 do best = math.max(best, blocks * times * of_iteration / run()) end
  return best / 1e9
end

local peak = rate(fused, 24 * 32, "float")
print(("%-28s %8.1f G/s"):format("float multiply-adds", peak))
local function row(name, dtype, source, of_iteration)
  local here = rate(source, of_iteration, dtype)
  print(("%-28s %8.1f G/s  %5.2f"):format(name, here, here / peak))
end

row("half, wmma", "float", wmma(16, 16, 16, "half", "float", "0.37f"))
row("  whole numbers", "float", wmma(16, 16, 16, "half", "float"))
row("half to half, wmma", "half", wmma(16, 16, 16, "half", "half", "0.37f"))
row("bfloat16, wmma", "float", wmma(16, 16, 16, "__nv_bfloat16", "float", "0.37f"))
row("  whole numbers", "float", wmma(16, 16, 16, "__nv_bfloat16", "float"))
row("tf32, wmma", "float", wmma(16, 16, 8, "wmma::precision::tf32", "float", "0.37f"))
row("  whole numbers", "float", wmma(16, 16, 8, "wmma::precision::tf32", "float"))
row("double, wmma", "double", wmma(8, 8, 4, "double", "double"))
row("s8, wmma", "int", wmma(16, 16, 16, "signed char", "int"))
row("u8, wmma", "int", wmma(16, 16, 16, "unsigned char", "int"))
row("half, mma m16n8k16", "float", mma("m16n8k16", "f32.f16.f16.f32", "float", 4, 16))
row("e4m3, mma m16n8k32", "float", mma("m16n8k32", "f32.e4m3.e4m3.f32", "float", 4, 32))
row("s8, mma m16n8k32", "int", mma("m16n8k32", "s32.s8.s8.s32", "int", 4, 32))
row("s4, mma m16n8k64", "int", mma("m16n8k64", "s32.s4.s4.s32", "int", 4, 64))
row("b1, mma m16n8k256", "int", mma("m16n8k256", "s32.b1.b1.s32.xor.popc", "int", 4, 256))
