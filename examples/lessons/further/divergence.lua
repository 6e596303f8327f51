-- Lesson 17, solved: the first warp takes the even elements, the second one the odd ones.
local mw = require "moonwarp"

local m = mw.compile [==[
__device__ int even(int x) { for (int k = 0; k < 12; k++) x = (5 * x + 1) & 65535; return x; }
__device__ int odd(int x) { for (int k = 0; k < 20; k++) x = (3 * x + 7) & 65535; return x; }

__global__ void mixed(int *out, const int *a, int n) {
  int t = threadIdx.x;
  int i = blockIdx.x * 64 + (t < 32 ? 2 * t : 2 * (t - 32) + 1);
  if (i < n) {
    if (i % 2 == 0) out[i] = even(a[i]);
    else out[i] = odd(a[i]);
  }
}
]==]

return { kernel = m.mixed, launch = function(n) return mw.cdiv(n, 64), 64 end }
