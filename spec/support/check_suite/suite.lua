-- The suite of planted bugs and their clean twins in support/check_suite: texts, launches, and which findings fit.

local mw = require "moonwarp"

local M = { themes = { "shared", "tiles", "cooperation", "global", "ordering", "memory", "bounds", "waits",
  "participation", "initialisation", "values", "bulk", "structs", "clusters" } }

-- The text with each @{bug|repair} replaced by one side.
function M.variant(case, bug)
  if bug and case.bug then return case.bug end
  if not bug and case.clean then return case.clean end
  return (case.text:gsub("@{(.-[^\\]?)|(.-)}", function(bad, good) return bug and bad or (good:gsub("\\|", "|")) end))
end

local function line_of(text, mark)
  local number = 0
  for line in (text .. "\n"):gmatch "(.-)\n" do
    number = number + 1
    for found in line:gmatch "//(%d)" do if found == mark then return number end end
  end
end

local function argument(spec)
  if type(spec) ~= "string" then return spec end
  local dtype, count = spec:match "(%w+):(%d+)$"
  return (spec:match "^empty " and mw.empty or mw.zeros)(tonumber(count), dtype)
end

local function launch(case, m, bug)
  if case.call then return case.call(mw, m, bug) end
  local grid, block, given, shared = case.run[1], case.run[2], case.run[3], case.run[4]
  local arguments = {}
  for i, spec in ipairs(given) do arguments[i] = argument(spec) end
  m.k(grid, block, shared)((unpack or table.unpack)(arguments))
end

-- compiled: for which checks the module is compiled, or nil.
function M.report_of(case, bug, checks, compiled)
  local m = mw.compile { source = M.variant(case, bug), name = "case.cu", checks = compiled }
  return mw.check(function() launch(case, m, bug) end, { checks = checks })
end

-- Whether a finding is at the marked lines.
local function is_there(finding, text)
  local first, second = line_of(text, "1"), line_of(text, "2")
  if not first then return true end
  local other = finding.other and finding.other.line
  if not second then return finding.line == first end
  return finding.line == first and other == second or finding.line == second and other == first
end

function M.count_found(case, report)
  local text, count = M.variant(case, true), 0
  for _, f in ipairs(report) do
    if f.kind == case.kind and (case.lines == false or is_there(f, text)) then count = count + 1 end
  end
  return count
end

return M
