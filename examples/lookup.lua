-- A function from a table, by one fetch: the texture unit interpolates between the entries (CUDA 1.1 guide, appendix
-- F.3). A table of N values over [0, 1] is read at (N - 1) x + 0.5, so that 0 is its first entry and 1 its last.

local mw = require "moonwarp"

local N = 65
local m = mw.compile [==[
texture<float> table;  // a 1-D texture, by linear filter

__global__ void look_up(int n, int entries, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = tex1D(table, (entries - 1) * x[i] + 0.5f);
}
]==]

local function f(x) return math.sin(math.pi * x) ^ 2 end

local values = {}
for i = 1, N do values[i] = f((i - 1) / (N - 1)) end
m.table = mw.texture(values, { filter = "linear", address = "clamp" })

-- It is exact at the entries; between them it is the error of linear interpolation.
local nodes = mw.linspace(0, 1, N)
local y = mw.zeros(N)
m.look_up:each(N)(N, N, nodes, y)
local wrong = 0
for i = 1, N do
  if math.abs(y[i] - values[i]) > 1e-7 then wrong = wrong + 1 end
end
print(wrong)                                     --> 0

local n = 10000
local x = mw.linspace(0, 1, n)
y = mw.zeros(n)
m.look_up:each(n)(n, N, x, y)
local worst = 0
local xs, ys = x:totable(), y:totable()
for i = 1, n do worst = math.max(worst, math.abs(ys[i] - f(xs[i]))) end
print(worst < 7e-4)                              --> true

-- The table can be exchanged, and so can the filter: with the filter "point", look-ups are steps.
m.table.filter = "point"
m.look_up:each(n)(n, N, x, y)
local steps, last = 0, nil
for _, value in ipairs(y:totable()) do
  if value ~= last then steps = steps + 1 end
  last = value
end
print(steps)                                     --> 65
