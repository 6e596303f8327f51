-- Runs many random kernels; it is started by hand (trial.lua has the commands).
package.path = "./spec/?.lua;" .. package.path
local mw = require "moonwarp"
mw.limit("time", tonumber(os.getenv "KERNEL_TIME" or 10))
-- KERNEL_LAUNCHED=1: run code that is compiled for one block size.
if os.getenv "KERNEL_LAUNCHED" == "1" then mw.limit("specialise", 0) end
local kernels = require "support.kernels.trial"

-- KERNEL_WARPS=1: with warp functions; KERNEL_MEMORY=1: with many forms of memory access; KERNEL_STRIDES=1: in
-- grid-stride loops.
local options = { warps = os.getenv "KERNEL_WARPS" == "1", memory = os.getenv "KERNEL_MEMORY" == "1",
  strides = os.getenv "KERNEL_STRIDES" == "1" }
local turn = 0

-- KERNEL_WIDTHS="1 16": these widths for every kernel; "turns": 1 and one other width, which changes with each kernel.
local function widths()
  local words, list = os.getenv "KERNEL_WIDTHS" or "1 4 8 16 32 64", {}
  if words == "turns" then
    turn = turn + 1
    return { 1, kernels.widths[2 + turn % (#kernels.widths - 1)] }
  end
  for word in words:gmatch "%w+" do list[#list + 1] = tonumber(word) or word end
  return list
end

local function report(k, width, what)
  print(("seed %d, width %s: %s"):format(k.seed, width, what))
  io.stdout:flush()
end

local function try(list)
  for _, width in ipairs(widths()) do
    local ok, m = pcall(kernels.compile, list, width)
    if not ok and #list > 1 then
      for _, k in ipairs(list) do
        local fine, one = pcall(kernels.compile, { k }, width)
        if fine then
          local text = kernels.difference(k, one)
          if text then report(k, width, text) end
        else
          report(k, width, tostring(one):sub(1, 600))
        end
      end
    elseif not ok then
      report(list[1], width, tostring(m):sub(1, 600))
    else
      for _, k in ipairs(list) do
        local text = kernels.difference(k, m)
        if text then report(k, width, text) end
      end
    end
  end
end

-- Whether kernel `k` fails at this width, and how: by wrong numbers, or by an error.
local function failure(k, width)
  k.flag, k.drop = {}, {}
  if not kernels.refer(k) then return nil end
  local ok, m = pcall(kernels.compile, { k }, width)
  if not ok then return "error", tostring(m) end
  local text = kernels.difference(k, m)
  return text and (text:find "should be" and "difference" or "launch"), text
end

if arg[1] == "--reduce" then
  local k, width = assert(kernels.make(tonumber(arg[2]), options)), tonumber(arg[3]) or arg[3]
  local kind = assert(failure(k, width), "it does not fail")
  require "support.kernels.reduce"(k, function(smaller)
    local fine, now = pcall(failure, smaller, width)
    return fine and now == kind
  end)
  print(select(2, failure(k, width)))
  print(kernels.source { k })
elseif arg[1] == "--text" then
  print(kernels.source { assert(kernels.make(tonumber(arg[2]), options)) })
else
  local first, last, batch = tonumber(arg[1]), tonumber(arg[2]), tonumber(arg[3] or 8)
  local list, made, given_up, start = {}, 0, 0, os.clock()
  for seed = first, last do
    local k, why = kernels.make(seed, options)
    if k then
      made, list[#list + 1] = made + 1, k
    else
      given_up = given_up + 1
      if os.getenv "KERNEL_WHY" then print("seed " .. seed .. ": " .. why) end
    end
    if #list == batch or seed == last and #list > 0 then
      try(list)
      list = {}
      collectgarbage()
    end
  end
  print(("%d kernels, %d given up, %.1f s"):format(made, given_up, os.clock() - start))
  mw.synchronize()
end
