-- What the judge asks of checked and of measured runs, and what drawings are made from. Where one of them is not
-- available (launches on GPUs are not watched), these functions return nil, and the judge goes by the rest.

local mw = require "moonwarp"
local raw = require "moonwarp.binding"

local M = {}

-- A function of mw that may be missing.
local function find(name)
  local ok, found = pcall(function() return mw[name] end)
  return ok and found or nil
end

local function on_cpu() return mw.device().name:find "^cpu" ~= nil end

---Whether runs can be checked and measured here.
---@return boolean checked
---@return boolean measured
function M.available()
  return find "check" ~= nil and on_cpu(), find "measure" ~= nil and on_cpu()
end

---The findings of a run: a list, empty if it is clean.
---@param f function which launches kernels
---@return table?
function M.check(f)
  if not M.available() then return nil end
  return mw.check(f)
end

---A measured run of one launch.
---@return moonwarp.measured?
function M.measure(kernel, grid, block, shared, args, count)
  if not select(2, M.available()) then return nil end
  local unpack = table.unpack or unpack -- luacheck: ignore 143
  return mw.measure(kernel, grid, block, shared)(unpack(args, 1, count or #args))
end

-- ---- single accesses ----

local READ, WRITE, SHARED = 0, 1, 3 -- mw_site's kinds and spaces

local function fields(line)
  local list = {}
  for word in (line .. "\t"):gmatch "([^\t]*)\t" do list[#list + 1] = word end
  return list
end

---The accesses of a small launch, each thread's in its order; nil where they cannot be watched, or are too many.
---@param f function which launches kernels
---@return { what: string, shared: boolean, name: string, bytes: integer, block: integer, thread: integer,
---address: integer }[]?
function M.accesses(f)
  if not on_cpu() then return nil end
  raw.watch_begin "accesses"
  local ok, err = pcall(function()
    f()
    mw.synchronize()
  end)
  raw.watch_end()
  local text = raw.watch_result()
  if not ok then error(err, 0) end
  local list = {}
  for line in text:gmatch "[^\n]+" do
    local given = fields(line)
    if given[1] == "left out" then return nil end
    local kind = tonumber(given[3])
    list[#list + 1] = { what = kind == READ and "reads" or kind == WRITE and "writes" or "adds to",
      shared = tonumber(given[4]) == SHARED, bytes = tonumber(given[5]), name = given[12],
      block = tonumber(given[14]), thread = tonumber(given[15]), address = tonumber(given[16]) }
  end
  return list
end

return M
