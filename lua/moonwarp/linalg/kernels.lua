-- Factorisations by moonwarp's own kernels (src/device/moonwarp/algorithms/factor.h, jacobi.h), used if there is no
-- LAPACK or cuSOLVER, and on GPUs for many small matrices. Each matrix has a block. The arrays are those of
-- mw_array_factor.

local kernels = require "moonwarp.array.kernels"
local mw = require "moonwarp"

local M = {}

local text = [[
#include <moonwarp/algorithms/jacobi.h>
typedef $T T;
#define EACH(i) for (long long i = blockIdx.x; i < count; i += gridDim.x)
#define STORE(info, i, value) { int result = value; if (threadIdx.x == 0 && threadIdx.y == 0) info[i] = result; }
// kernels
extern "C" __global__ void lu(T *a, int *pivots, int *info, int n, long long count) {
  EACH(i) STORE(info, i, moonwarp::lu(a + i * n * n, n, pivots + i * n))
}
extern "C" __global__ void solve(T *a, T *x, int *pivots, int *info, int n, int right, long long count) {
  EACH(i) {
    int failed = moonwarp::lu(a + i * n * n, n, pivots + i * n);
    STORE(info, i, failed)
    if (!failed) moonwarp::lu_solve(a + i * n * n, n, pivots + i * n, x + i * n * right, right);
  }
}
extern "C" __global__ void cholesky(T *a, int *info, int n, long long count) {
  EACH(i) STORE(info, i, moonwarp::cholesky(a + i * n * n, n))
}
extern "C" __global__ void qr(T *a, T *r, T *tau, int m, int n, long long count) {
  int k = m < n ? m : n;
  EACH(i) moonwarp::qr(a + i * m * n, m, n, r + i * k * n, tau + i * k);
}
extern "C" __global__ void eigh(T *a, T *v, T *values, T *w, T *vectors, int *info, int n, long long count) {
  EACH(i) STORE(info, i, moonwarp::eigh(a + i * n * n, n, v + i * n * n, values + i * n, w + i * n,
    vectors + i * n * n))
}
extern "C" __global__ void svd(T *a, T *v, T *values, T *s, T *u, T *vt, int *info, int m, int n, long long count) {
  EACH(i) STORE(info, i, moonwarp::svd(a + i * m * n, m, n, v + i * n * n, values + i * n, s + i * n, u + i * m * n,
    vt + i * n * n))
}
]]

local modules = {}
local function kernel_of(a, name)
  local dtype = a.dtype
  if not modules[dtype] then
    modules[dtype] = kernels.module(text:gsub("%$T", dtype), "linear algebra")
  end
  return modules[dtype](a.device)[name]
end

local MOST = 65535

local function launch(name, a, ...)
  kernel_of(a, name)({ math.min(a.shape[1], MOST) }, { 32, 8 })(...)
end

local function like(a, ...) return kernels.empty(a.device, a.dtype, { ... }) end

local factor = {}

function factor.lu(a, pivots, info) launch("lu", a, a, pivots, info, a.shape[2], a.shape[1]) end

function factor.solve(a, x, pivots, info)
  launch("solve", a, a, x, pivots, info, a.shape[2], x.shape[2], a.shape[1])
end

function factor.cholesky(a, info) launch("cholesky", a, a, info, a.shape[2], a.shape[1]) end

function factor.qr(a, r, info)
  local count, n, m = a.shape[1], a.shape[2], a.shape[3]
  launch("qr", a, a, r, like(a, count, math.min(m, n)), m, n, count)
  info:fill(0)
end

function factor.eigh(a, w, info)
  local count, n = a.shape[1], a.shape[2]
  local vectors = like(a, count, n, n)
  launch("eigh", a, a, like(a, count, n, n), like(a, count, n), w, vectors, info, n, count)
  a:copy_from(vectors)
end
factor.eigvalsh = factor.eigh

-- The columns of u whose value counts as 0, and those that a square u has more, become a basis of the rest: those of
-- a QR decomposition of u and columns of zeros.
local function complete(u, s, count, m, k, columns)
  local basis = like(u, count, columns, m):fill(0)
  basis[{ {}, { 1, k }, {} }] = u
  factor.qr(basis, like(u, count, columns, columns), kernels.empty(u.device, "int", { count }))
  local own = s:gt(s[{ {}, { 1, 1 } }] * (u.dtype == "float" and 2 ^ -23 or 2 ^ -52))
  if columns == k then return mw.where(own:expand(3), u, basis) end
  basis[{ {}, { 1, k }, {} }] = mw.where(own:expand(3), u, basis[{ {}, { 1, k }, {} }])
  return basis
end

-- Of matrices with at least as many rows as columns.
function factor.svd(a, s, info, u, vt)
  local count, n, m = a.shape[1], a.shape[2], a.shape[3]
  local left, right = like(a, count, n, m), like(a, count, n, n)
  launch("svd", a, a, like(a, count, n, n), like(a, count, n), s, left, right, info, m, n, count)
  if not u then return end
  u:assign(complete(left, s, count, m, n, u.shape[2]))
  vt:assign(right)
end
factor.svdvals = factor.svd

---Run a factorisation of floats or doubles; false if there are no kernels for it.
---@param name string
---@param a moonwarp.array
---@param ... moonwarp.array
---@return boolean
function M.factor(name, a, ...)
  if not factor[name] or a.dtype ~= "float" and a.dtype ~= "double" then return false end
  factor[name](a, ...)
  return true
end

return M
