-- Fourier transforms by the library's own kernels, src/device/moonwarp/algorithms/fft.h: along the middle dimension of
-- outer x n x inner complex numbers, and of real lines.
--
-- A length is divided into radices 8, 4, 2, 3, 5 and other primes up to 61, a kernel for each pass. A length with a
-- larger prime factor is a convolution with a chirp, whose length is a power of two (Bluestein). Roots of unity are
-- made in double precision, once for each length, and kept.

local raw = require "moonwarp.binding"
local kernels = require "moonwarp.array.kernels"

local M = {}

local head = [[
#include <moonwarp/algorithms/fft.h>
using namespace moonwarp;
typedef $T T_;
typedef $T2 V_;
typedef moonwarp::complex<T_> C_;
enum { SIGN_ = $SIGN };
// A pass, by its members: those of a header's struct are not known with NVRTC.
#define PASS unsigned step, unsigned stride, unsigned root, int shift, unsigned long long n
// kernels
extern "C" __global__ void roots(unsigned n, V_ *w) {
  unsigned k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= n) return;
  double s, c;
  sincospi(2.0 * k / n, &s, &c);
  w[k] = C_((T_)c, (T_)(SIGN_ * s));
}
extern "C" __global__ void any_radix(PASS, const V_ *x, V_ *y, const V_ *w, T_ scale, unsigned radix) {
  fft_any({ step, stride, root, shift, n }, radix, x, y, w, scale);
}
extern "C" __global__ void scale_one(long long count, const V_ *x, V_ *y, T_ scale) {
  long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (t < count) y[t] = scaled(C_(x[t]), scale);
}
// Of m numbers: exp(SIGN pi i k^2 / n), and its inverse around 0.
extern "C" __global__ void chirps(unsigned n, unsigned m, V_ *chirp, V_ *around) {
  unsigned k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= m) return;
  C_ z(0);
  if (k < n) chirp[k] = z = moonwarp::chirp<SIGN_, T_>(k, n);
  else if (m - k < n) z = moonwarp::chirp<SIGN_, T_>(m - k, n);
  around[k] = conj(z);
}
extern "C" __global__ void chirp_in(long long count, unsigned n, unsigned m, unsigned inner, const V_ *x,
    const V_ *chirp, V_ *y) {
  long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= count) return;
  long long line = t / inner;
  unsigned k = (unsigned)(line % m);
  y[t] = k < n ? C_(x[(line / m * n + k) * inner + t % inner]) * C_(chirp[k]) : C_(0);
}
extern "C" __global__ void multiply(long long count, unsigned m, unsigned inner, V_ *x, const V_ *by) {
  long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (t < count) x[t] = C_(x[t]) * C_(by[t / inner % m]);
}
extern "C" __global__ void chirp_out(long long count, unsigned n, unsigned m, unsigned inner, const V_ *x,
    const V_ *chirp, V_ *y, T_ scale) {
  long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= count) return;
  long long line = t / inner;
  unsigned k = (unsigned)(line % n);
  y[t] = scaled(C_(x[(line / n * m + k) * inner + t % inner]) * C_(chirp[k]), scale);
}
extern "C" __global__ void from_pairs(unsigned half, const V_ *z, const V_ *w, V_ *y, T_ scale) {
  unsigned k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k > half) return;
  y += blockIdx.z * (half + 1ull), z += blockIdx.z * (unsigned long long)half;
  y[k] = scaled(real_from_pairs<V_, T_>(z, w, half, k), scale);
}
extern "C" __global__ void to_pairs(unsigned half, const V_ *x, const V_ *w, V_ *z) {
  unsigned k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= half) return;
  x += blockIdx.z * (half + 1ull), z += blockIdx.z * (unsigned long long)half;
  z[k] = pairs_from_real<V_, T_>(x, w, half, k);
}
// All n numbers of the transform of a real line, out of its first n / 2 + 1.
extern "C" __global__ void mirror(unsigned n, const V_ *x, V_ *y) {
  unsigned k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= n) return;
  x += blockIdx.z * (n / 2 + 1ull), y += blockIdx.z * (unsigned long long)n;
  C_ z = k <= n / 2 ? C_(x[k]) : conj(C_(x[n - k]));
  if (k == 0) z.im = 0;
  y[k] = z;
}
]]

local pass = [[
extern "C" __global__ void $WALK$R(PASS, const V_ *x, V_ *y, const V_ *w, T_ scale) {
  fft_$WALK<$R, SIGN_>({ step, stride, root, shift, n }, x, y, w, scale);
}
]]

local made = {}

-- The kernels for a complex dtype and the exponent's sign.
local function module_of(device, dtype, sign)
  local key = dtype .. sign
  if not made[key] then
    local text = { head }
    for _, radix in ipairs { 2, 3, 4, 5, 8 } do
      for _, walk in ipairs { "flat", "rows" } do
        text[#text + 1] = pass:gsub("%$(%u+)", { WALK = walk, R = tostring(radix) })
      end
    end
    local T = dtype == "complex64" and "float" or "double"
    local source = table.concat(text):gsub("%$(%w+)", { T = T, T2 = T .. "2", SIGN = tostring(sign) })
    made[key] = kernels.module(source, "fft")
  end
  return made[key](device)
end

-- ---- what is made once for a length ----

local KEPT = 64 -- tables of roots and chirps
local tables, count = {}, 0

local function kept(key, make)
  if not tables[key] then
    if count >= KEPT then tables, count = {}, 0 end
    tables[key], count = make(), count + 1
  end
  return tables[key]
end

local THREADS = 256
local blocks = kernels.blocks

local function roots_of(device, dtype, sign, n)
  return kept(("%s %d %s %d %d"):format(device.name, device.resets, dtype, sign, n), function()
    local w = kernels.empty(device, dtype, { n })
    module_of(device, dtype, sign).roots(blocks(n, THREADS), THREADS)(n, w)
    return w
  end)
end

-- The radices of a length, or nil where one would be larger than 61.
local function radices_of(n)
  local list = {}
  local function divide(by)
    while n % by == 0 do
      list[#list + 1] = by
      n = n / by
    end
  end
  local twos, rest = 0, n
  while rest % 2 == 0 do twos, rest = twos + 1, rest / 2 end
  while twos > 0 do
    local bits = (twos == 4 or twos == 2) and 2 or twos >= 3 and 3 or 1
    list[#list + 1] = 2 ^ bits
    twos = twos - bits
  end
  n = rest
  for by = 5, 3, -2 do divide(by) end
  for by = 7, 61, 2 do divide(by) end
  return n == 1 and list or nil
end

-- Call f(first, count) for parts that the third dimension of a grid can hold.
local function parts_of(outer, f)
  for first = 0, outer - 1, 65535 do f(first, math.min(65535, outer - first)) end
end

local function from(x, at) return at == 0 and x or x:reshape(-1):sub(at + 1) end

-- ---- complex transforms ----

local transform

local function by_chirp(x, y, outer, n, inner, sign, scale)
  local device, dtype, m = x.device, x.dtype, 1
  while m < 2 * n - 1 do m = m * 2 end
  local own = module_of(device, dtype, sign)
  local chirp = kept(("chirp %s %d %s %d %d"):format(device.name, device.resets, dtype, sign, n), function()
    local chirp, around = kernels.empty(device, dtype, { n }), kernels.empty(device, dtype, { m })
    local spectrum = kernels.empty(device, dtype, { m })
    own.chirps(blocks(m, THREADS), THREADS)(n, m, chirp, around)
    transform(around, spectrum, 1, m, 1, -1, 1)
    return { chirp = chirp, spectrum = spectrum }
  end)
  local all = outer * m * inner
  local a, b = kernels.empty(device, dtype, { all }), kernels.empty(device, dtype, { all })
  own.chirp_in(blocks(all, THREADS), THREADS)(all, n, m, inner, x, chirp.chirp, a)
  transform(a, b, outer, m, inner, -1, 1)
  own.multiply(blocks(all, THREADS), THREADS)(all, m, inner, b, chirp.spectrum)
  transform(b, a, outer, m, inner, 1, 1)
  local wanted = outer * n * inner
  own.chirp_out(blocks(wanted, THREADS), THREADS)(wanted, n, m, inner, a, chirp.chirp, y, scale / m)
end

-- One pass over all outer ones.
local function run_pass(m, radix, x, y, w, outer, n, inner, stride, scale)
  local step = n / radix * inner
  local shift = math.log(stride) / math.log(2)
  shift = math.floor(shift + 0.5)
  local is_power = 2 ^ shift == stride
  local root, whole = stride / inner, n * inner
  shift = is_power and shift or -1
  local rows = step / stride
  local function launch(kernel, grid, threads, ...)
    m[kernel](grid, threads)(step, stride, root, shift, whole, ...)
  end
  parts_of(outer, function(first, some)
    local source, target = from(x, first * n * inner), from(y, first * n * inner)
    if radix > 5 and radix ~= 8 then
      launch("any_radix", { blocks(step, THREADS), radix, some }, THREADS, source, target, w, scale, radix)
    elseif stride >= 64 and rows <= 65535 then
      local threads = math.min(THREADS, stride)
      launch(("rows%d"):format(radix), { blocks(stride, threads), rows, some }, threads, source, target, w, scale)
    else
      launch(("flat%d"):format(radix), { blocks(step, THREADS), 1, some }, THREADS, source, target, w, scale)
    end
  end)
end

function transform(x, y, outer, n, inner, sign, scale)
  local device, dtype = x.device, x.dtype
  local radices = radices_of(n)
  if not radices then return by_chirp(x, y, outer, n, inner, sign, scale) end
  local m = module_of(device, dtype, sign)
  if #radices == 0 then
    m.scale_one(blocks(outer * inner, THREADS), THREADS)(outer * inner, x, y, scale)
    return
  end
  local w, stride = roots_of(device, dtype, sign, n), inner
  local other = #radices > 1 and kernels.empty(device, dtype, { outer * n * inner })
  for i, radix in ipairs(radices) do
    local target = (#radices - i) % 2 == 0 and y or other
    run_pass(m, radix, x, target, w, outer, n, inner, stride, i == #radices and scale or 1)
    x, stride = target, stride * radix
  end
end

---Transform the outer x n x inner numbers of x into y, contiguous arrays of one complex dtype.
---@param x moonwarp.array
---@param y moonwarp.array
---@param outer integer
---@param n integer
---@param inner integer
---@param sign integer of the exponent: -1 forward, 1 inverse
---@param scale number what results are multiplied by
M.transform = transform

-- ---- real transforms, of lines ----

local complex_of = { float = "complex64", double = "complex128" }

---The first n / 2 + 1 numbers of the transforms of lines: x is contiguous, outer x n real numbers; n is even.
---@param x moonwarp.array
---@param y moonwarp.array outer x (n / 2 + 1) complex numbers
---@param outer integer
---@param n integer
---@param scale number
function M.real_forward(x, y, outer, n, scale)
  local device, dtype, half = x.device, complex_of[x.dtype], n / 2
  if x.address % raw.dtype_size(dtype) ~= 0 then x = x:copy() end -- pairs are read at once
  local z = kernels.empty(device, dtype, { outer * half })
  transform(raw.array_view(x, 0, dtype, { outer * half }), z, outer, half, 1, -1, 1)
  local w, m = roots_of(device, dtype, -1, n), module_of(device, dtype, -1)
  parts_of(outer, function(first, some)
    m.from_pairs({ blocks(half + 1, THREADS), 1, some }, THREADS)(half, from(z, first * half), w,
      from(y, first * (half + 1)), scale)
  end)
end

---The real lines whose transforms begin with x: the opposite of real_forward.
---@param x moonwarp.array outer x (n / 2 + 1) complex numbers, contiguous
---@param y moonwarp.array outer x n real numbers
---@param outer integer
---@param n integer even
---@param scale number
function M.real_inverse(x, y, outer, n, scale)
  local device, dtype, half = x.device, x.dtype, n / 2
  local z = kernels.empty(device, dtype, { outer * half })
  local w, m = roots_of(device, dtype, 1, n), module_of(device, dtype, 1)
  parts_of(outer, function(first, some)
    m.to_pairs({ blocks(half, THREADS), 1, some }, THREADS)(half, from(x, first * (half + 1)), w, from(z, first * half))
  end)
  transform(z, raw.array_view(y, 0, dtype, { outer * half }), outer, half, 1, 1, scale)
end

---The whole transforms of real lines, out of their first n / 2 + 1 numbers.
---@param x moonwarp.array outer x (n / 2 + 1) complex numbers, contiguous
---@param outer integer
---@param n integer
---@return moonwarp.array of outer x n complex numbers
function M.mirror(x, outer, n)
  local y, m = kernels.empty(x.device, x.dtype, { outer * n }), module_of(x.device, x.dtype, 1)
  parts_of(outer, function(first, some)
    m.mirror({ blocks(n, THREADS), 1, some }, THREADS)(n, from(x, first * (math.floor(n / 2) + 1)), from(y, first * n))
  end)
  return y
end

return M
