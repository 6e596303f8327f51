-- The report of a checked run: findings as tables, and their sentences.

local errors = require "moonwarp.diagnostics.error"

local M = {}

local report = {}
report.__index = report

local function is_flat(index) return index[2] == 0 and index[3] == 0 end

-- "thread 3", "thread (3,1,0) of block 2"
local function who(finding, with_block)
  local thread, block = finding.thread, finding.block
  if not thread then return "a copy or fill" end
  local text = is_flat(thread) and ("thread %d"):format(thread[1])
    or ("thread (%d,%d,%d)"):format(thread[1], thread[2], thread[3])
  if not with_block then return text end
  return text .. (is_flat(block) and (" of block %d"):format(block[1])
    or (" of block (%d,%d,%d)"):format(block[1], block[2], block[3]))
end

local does = { read = "reads it", write = "writes it", atomic = "updates it atomically" }

local function place(finding) return finding.line and (" at line %d"):format(finding.line) or "" end

local function race(f)
  local where = f.array or "memory"
  if f.index then where = ("%s[%d]"):format(where, f.index) end
  local blocks = f.scope == "grid" or f.scope == "launches"
  local both = ("race on %s: %s %s%s, %s %s%s"):format(where, who(f, blocks), does[f.access], place(f),
    who(f.other, blocks), does[f.other.access], place(f.other))
  if f.scope == "launches" then both = both .. (" of kernel %s"):format(f.other.kernel or "?") end
  return ("%s, and %s; %d %s"):format(both, f.hint, f.count, f.count == 1 and "pair" or "pairs")
end

-- "tile[17]", "element 3 of a local array", "x"
local function element(f)
  if not f.index then return f.array end
  if f.array:match "^a " then return ("element %d of %s"):format(f.index, f.array) end
  return ("%s[%d]"):format(f.array, f.index)
end

-- What the thread did.
local function deed(f)
  if f.kind ~= "uninitialised" or not f.array then return f.text end
  return ("used %s, which nothing has written,"):format(element(f))
end

-- A finding as one line.
local function sentence(f)
  if f.kind == "race" then return race(f) end
  local kind = f.kind:gsub("_", " ")
  local text = ("%s: kernel %s, %s %s%s"):format(kind, f.kernel or "?", who(f, true), deed(f), place(f))
  if f.other then text = ("%s (%s%s)"):format(text, who(f.other, true), place(f.other)) end
  if f.hint then text = text .. "; " .. f.hint end
  if f.count > 1 then text = ("%s; %d times"):format(text, f.count) end
  return text
end

function report:__tostring()
  local lines = {}
  for i, finding in ipairs(self) do lines[i] = sentence(finding) end
  if #self == 0 then lines[1] = "no findings" end
  for _, what in ipairs(self.unchecked or {}) do lines[#lines + 1] = "not checked: " .. what end
  return table.concat(lines, "\n")
end

-- ---- for tools ----

local sanitizer = {
  out_of_bounds = "Invalid __global__ %s of size ? bytes", misaligned = "Misaligned __global__ %s",
  use_after_free = "Use after free: invalid %s", invalid_free = "Malloc/Free error encountered: invalid free",
  leak = "Leaked allocation", barrier_divergence = "Barrier error detected. Divergent thread(s) in block",
  warp_mask = "Barrier error detected. Invalid arguments", race = "Error: Race reported between %s access",
  uninitialised = "Uninitialized __global__ memory read",
}

local function capital(word) return (word:gsub("^%l", string.upper)) end

local function at(f)
  return ("%s in %s:%d"):format(f.kernel or "?", f.file or "?", f.line or 0)
end

local function block_of(lines, f)
  local title = sanitizer[f.kind]:format(capital(f.access or "access"))
  lines[#lines + 1] = "========= " .. title .. " at " .. at(f)
  if f.thread then
    lines[#lines + 1] = ("=========     by thread (%d,%d,%d) in block (%d,%d,%d)"):format(f.thread[1], f.thread[2],
      f.thread[3], f.block[1], f.block[2], f.block[3])
  end
  if f.other then
    lines[#lines + 1] = ("=========     and %s access at %s [%d hazards]"):format(capital(f.other.access or "other"),
      at(f.other), f.count)
  end
  lines[#lines + 1] = "========="
end

---The report as text: as tostring has it, or in the form of NVIDIA's compute-sanitizer, for tools that read that.
---@param form? "plain"|"compute-sanitizer"
---@return string
function report:text(form)
  if form == nil or form == "plain" then return tostring(self) end
  if form ~= "compute-sanitizer" then
    errors.usage('report:text wants "plain" or "compute-sanitizer", got %s', tostring(form))
  end
  local lines = { "========= COMPUTE-SANITIZER" }
  for _, f in ipairs(self) do block_of(lines, f) end
  lines[#lines + 1] = ("========= ERROR SUMMARY: %d %s"):format(#self, #self == 1 and "error" or "errors")
  return table.concat(lines, "\n")
end

---@param findings table[]
function M.new(findings) return setmetatable(findings, report) end

return M
