-- A regression: carbon dioxide in the air by year, from a CSV file, fitted by a parabola with least squares. The points
-- and the fitted curve are drawn to examples/out/regression.svg.
--   lua5.4 examples/arrays/regression.lua

local mw = require "moonwarp"
local examples = (arg[0]:match "^(.*/)" or "./") .. "../"

local data, names = mw.read_csv(examples .. "data/co2.csv", { header = true, dtype = "double" })
print(#data, names[1], names[2])                                   --> 56 year ppm
local year, ppm = data[{ {}, 1 }], data[{ {}, 2 }]

-- Columns 1, t and t^2, where t counts decades from 1990: each row times the coefficients is a year's prediction.
local t = (year - 1990) / 10
local columns = mw.stack({ mw.ones(t.shape, t.dtype), t, t * t }, 2)
local coefficients, residual = mw.linalg.lstsq(columns, ppm)
print(("ppm = %.2f + %.2f t + %.2f t^2"):format(coefficients[1], coefficients[2], coefficients[3]))
--> ppm = 353.04 + 15.93 t + 1.20 t^2

-- R^2 is the share of the variance that the curve explains: the rest is in the residual, a sum of squares.
local spread = ((ppm - ppm:mean()) ^ 2):sum()
print(("R^2 = %.4f"):format(1 - residual / spread))                --> R^2 = 0.9993

-- The same in closed form: the normal equations, whose entries are sums over the years.
local function sum(power, y) return (t ^ power * (y or 1)):sum() end
local normal = { { sum(0), sum(1), sum(2) }, { sum(1), sum(2), sum(3) }, { sum(2), sum(3), sum(4) } }
local right = { sum(0, ppm), sum(1, ppm), sum(2, ppm) }
local closed = mw.linalg.solve(mw.array(normal, "double"), mw.array(right, "double"))
print((closed - coefficients):abs():max() < 1e-9)                  --> true

os.execute("mkdir -p '" .. examples .. "out'")
ppm:plot {
  columns:mm(coefficients), x = year, kind = "scatter", labels = { "measured", "fitted" },
  title = "Carbon dioxide at Mauna Loa", xlabel = "year", ylabel = "ppm", width = 560, height = 340,
  file = examples .. "out/regression.svg",
}
