-- "did you mean": the name nearest to a misspelt one.

local M = {}

-- The edit distance: insertions, deletions, replacements and swaps of adjacent letters that turn b into a.
local function distance(a, b)
  local before, last
  local row = {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    before, last, row = last, row, { [0] = i }
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      row[j] = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + cost)
      local swapped = i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j)
      if swapped then row[j] = math.min(row[j], before[j - 2] + 1) end
    end
  end
  return row[#b]
end

---The most similar name, if it is near enough: at most a third of its letters may differ.
---@param wanted any
---@param names string[]
---@return string?
function M.name(wanted, names)
  if type(wanted) ~= "string" or #wanted > 64 then return nil end
  local best, least = nil, nil
  for _, name in ipairs(names) do
    local apart = distance(wanted:lower(), name:lower())
    if apart <= math.max(1, math.floor(#name / 3)) and (not least or apart < least) then best, least = name, apart end
  end
  return best
end

return M
