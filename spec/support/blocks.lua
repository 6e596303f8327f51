-- Block sizes of awkward shapes for launches, with their numbers of threads.
--   for _, block in ipairs(blocks) do k(1, block.size)(…) … block.threads … tostring(block) end

local shapes = { { 1 }, { 31 }, { 33 }, { 96 }, { 1000 }, { 1024 }, { 10, 10 }, { 4, 4, 4 }, { 1, 256 } }

local list = {}
local text = { __tostring = function(block) return table.concat(block.size, "x") .. " threads" end }
for i, size in ipairs(shapes) do
  list[i] = setmetatable({ size = size, threads = size[1] * (size[2] or 1) * (size[3] or 1) }, text)
end
return list
