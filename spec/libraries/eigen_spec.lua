-- Eigen's matrices of fixed size (Debian's libeigen3-dev) with -I in kernels: products, solutions, eigenvalues, half.
-- Lua 5.4 only: this tests the compiler.

local mw = require "moonwarp"
local paths = require "support.compile.paths"

local options = { "-I/usr/include/eigen3", "-O1" }
local source = [==[
#include <Eigen/Dense>
__global__ void k(const float *a, const float *b, float *product, float *unit, float *roots, float *halves) {
  Eigen::Map<const Eigen::Matrix3f> A(a);
  Eigen::Map<const Eigen::Vector3f> x(b);
  Eigen::Map<Eigen::Vector3f> y(product);
  y = A * x + 2 * x;
  Eigen::Map<Eigen::Matrix3f> I(unit);
  I = A.inverse() * A;
  product[3] = A.determinant();
  Eigen::SelfAdjointEigenSolver<Eigen::Matrix3f> solver;
  solver.computeDirect(A);
  for (int i = 0; i < 3; i++) roots[i] = solver.eigenvalues()(i);
  Eigen::half h(b[0]), sum = h * Eigen::half(3.0f) + Eigen::half(0.5f);
  halves[0] = float(sum), halves[1] = float(-sum), halves[2] = sum < h, halves[3] = float(Eigen::numext::sqrt(sum));
}]==]

local file = io.open "/usr/include/eigen3/Eigen/Dense"
if file then file:close() end

describe("Eigen", function()
  if not file then return pending "Eigen is not installed: apt install libeigen3-dev" end

  it("multiplies, inverts and finds eigenvalues", function()
    local product, unit, roots, halves = mw.zeros(4), mw.zeros(9), mw.zeros(3), mw.zeros(4)
    -- symmetric, with the eigenvalues 2 - sqrt 2, 2 and 2 + sqrt 2
    local a = mw.array { 2, -1, 0, -1, 2, -1, 0, -1, 2 }
    mw.compile { source = source, options = options }.k(1, 1)(a, mw.array { 1.5, 2, 3 }, product, unit, roots, halves)
    assert.same({ 4, 3.5, 10 }, { product[1], product[2], product[3] })
    assert.near(4, product[4], 1e-5)
    for i = 0, 8 do assert.near(i % 4 == 0 and 1 or 0, unit[i + 1], 1e-6) end
    for i, root in ipairs { 2 - math.sqrt(2), 2, 2 + math.sqrt(2) } do assert.near(root, roots[i], 1e-5) end
    assert.same({ 5, -5, 0 }, { halves[1], halves[2], halves[3] })
    assert.near(math.sqrt(5), halves[4], 2e-3)
  end)

  it("compiles for GPUs", function()
    paths.assert_compiles_for_gpus({ source = source, options = options }, { "mwcc for a GPU" })
  end)
end)
