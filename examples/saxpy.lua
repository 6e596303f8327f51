-- y = a*x + y for ten million elements: data goes to the device, a kernel runs, the result is checked and timed.

local mw = require "moonwarp"

local m = mw.compile [==[
__global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
]==]

local n = 1e7
local x = mw.arange(n)                           -- 0, 1, 2, …
local y = mw.full(n, 1)

-- A prepared launch: converted and checked once, run often.
local run = m.saxpy(mw.cdiv(n, 256), 256):bind(n, 2, x, y)
run()
print(y[1], y[2], y[1000])                       --> 1.0  3.0  1999.0

local seconds = math.huge
for _ = 1, 5 do
  local start = mw.time()
  run()
  mw.synchronize()                               -- a launch returns at once; this waits for it
  seconds = math.min(seconds, mw.time() - start)
end
-- For each element 8 bytes are read and 4 written.
print(("%.1f ms, %.1f GB/s"):format(seconds * 1e3, 12 * n / seconds / 1e9)) --> … ms, … GB/s
