-- Lesson 5, solved: the thread at (x, y) reads column y's and row x's element.
local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void table(float *out, const float *row, const float *column, int w, int h) {
  int x = threadIdx.x;
  int y = threadIdx.y;
  if (x < w && y < h) {
    out[y * w + x] = column[y] + row[x];
  }
}
]==]

return { kernel = m.table, launch = function() return 1, { 16, 16 } end }
