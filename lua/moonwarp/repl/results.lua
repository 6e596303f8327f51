-- The text that the prompt shows for a value, and completions.

local mw = require "moonwarp"
local raw = require "moonwarp.binding"
local values = require "moonwarp.repl.values"

local M = {}

-- ---- values ----

local fractional = { half = true, bfloat16 = true, float = true, double = true }

-- Whole numbers without a fraction, whatever their size.
local function figure(array, value)
  return fractional[array.dtype] and ("%g"):format(tonumber(value)) or values.text(value)
end

local function statistics(array)
  if array.freed or array.count == 0 or type(array.dtype) ~= "string" then return nil end
  if array.dtype:find "%d$" or array.dtype == "bool" then return nil end
  local sum, least, most = array:sum(), array:min(), array:max()
  local mean = ("%g"):format(tonumber(sum) / array.count)
  return ("min %s, max %s, mean %s, sum %s"):format(figure(array, least), figure(array, most), mean, figure(array, sum))
end

local function array_text(array)
  local facts = statistics(array)
  return tostring(array) .. (facts and "\n" .. facts or "")
end

-- How many of the block's warps a multiprocessor holds at once: limited by threads, shared memory and registers.
local function occupancy(kernel)
  local properties = mw.properties()
  if kernel.registers == 0 then return nil end
  local threads = math.min(256, kernel.max_threads)
  local most = math.floor(properties.registers_per_block / math.max(1, kernel.registers * threads))
  if kernel.shared_bytes > 0 then
    most = math.min(most, math.floor(properties.shared_per_block / kernel.shared_bytes))
  end
  return ("%d blocks of %d threads a multiprocessor"):format(most, threads)
end

local function kernel_text(kernel)
  local facts = {}
  if kernel.tier ~= "" then facts[#facts + 1] = "runs as " .. kernel.tier .. ": " .. kernel.tier_reason end
  if kernel.registers > 0 then facts[#facts + 1] = kernel.registers .. " registers" end
  facts[#facts + 1] = kernel.shared_bytes .. " bytes of shared memory"
  facts[#facts + 1] = kernel.local_bytes .. " bytes of stack a thread"
  facts[#facts + 1] = "blocks of at most " .. kernel.max_threads .. " threads"
  facts[#facts + 1] = occupancy(kernel)
  return "kernel " .. kernel:signature() .. "\n  " .. table.concat(facts, "\n  ")
end

---@param value any
---@return string
function M.text(value)
  local class = mw.type(value)
  if class == "array" then return array_text(value) end
  if class == "kernel" then return kernel_text(value) end
  return values.text(value)
end

-- ---- completion ----

local function names_of(value)
  local names, class = {}, raw.type(value)
  if class then
    for name in pairs(raw.classes[class]) do names[name] = true end
    for name in pairs(raw.properties[class]) do names[name] = true end
    if class == "module" then
      for _, list in ipairs { value:names() } do
        for _, name in ipairs(list) do names[name] = true end
      end
    end
  elseif type(value) == "table" then
    for name in next, value do names[name] = true end
  elseif type(value) == "string" then
    for name in pairs(string) do names[name] = true end
  end
  return names
end

local function child(value, name)
  if type(value) == "table" then return rawget(value, name) end
  if raw.type(value) then
    local ok, found = pcall(function() return value[name] end)
    return ok and found or nil
  end
  return nil
end

local keywords = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat return then true until
while]]):gmatch "%a+" do keywords[word] = true end

---Completions of the word at the end of a line: names of variables, fields, methods, kernels.
---@param line string up to the cursor
---@param word string its last word, as the editor takes it
---@return string[]
function M.complete(line, word)
  local path = line:match "[%w_%.:]*$"
  local before, start = path:match "^(.*)[%.:]([%w_]*)$"
  local names
  if before then
    local value = _G
    for name in before:gmatch "[%w_]+" do
      value = child(value, name)
      if value == nil then return {} end
    end
    names = names_of(value)
  else
    start, names = path, names_of(_G)
    for keyword in pairs(keywords) do names[keyword] = true end
  end
  local found, head = {}, word:sub(1, #word - #start)
  for name in pairs(names) do
    if type(name) == "string" and name:sub(1, #start) == start and name:find "^[%a][%w_]*$" then
      found[#found + 1] = head .. name
    end
  end
  table.sort(found)
  return found
end

return M
