-- What the judge launches a learner's kernel with: whole numbers, whose sums are exact in any order, and results that
-- begin with a value that no lesson computes, so that an element that no thread wrote can be told.

local mw = require "moonwarp"

local M = {}

M.UNWRITTEN = -999

---A list of `count` whole numbers from 0 to 100; different lists for different `k`.
---@param count integer
---@param k? integer
---@return number[]
function M.numbers(count, k)
  local list = {}
  for i = 1, count do list[i] = (i * 37 + (k or 1) * 53 + math.floor(i / 7) * 11) % 101 end
  return list
end

---The numbers f(0), f(1), … f(count - 1): indices as in the kernel.
---@param count integer
---@param f fun(i: integer): number
---@return number[]
function M.list(count, f)
  local list = {}
  for i = 1, count do list[i] = f(i - 1) end
  return list
end

---An array of floats from a list.
function M.array(list) return mw.array(list, "float") end

---An array for results.
function M.unwritten(count) return mw.full(count, M.UNWRITTEN) end

return M
