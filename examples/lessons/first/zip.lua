-- Lesson 2, solved: a thread reads one element of each array.
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void add(float *out, const float *a, const float *b) {
  int i = threadIdx.x;
  out[i] = a[i] + b[i];
}
]==]

return { kernel = m.add, launch = function(n) return 1, n end }
