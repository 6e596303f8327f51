-- The suite of planted bugs and clean twins on a device: how many a checked run finds, misses, and reports without
-- reason, by kind. Each case runs in a process of its own with a time limit, so that one that hangs, or loses a GPU,
-- does not stop the others.
--
--   MOONWARP_DEVICE=cuda lua bench/checks/suite.lua [theme …] [--jobs=N] [--limit=SECONDS] [--all]

package.path = "./?.lua;./spec/?.lua;" .. package.path

local function one(theme, number)
  local suite = require "support.check_suite.suite"
  local mw = require "moonwarp"
  pcall(mw.limit, "time", 5)
  local case = require("support.check_suite." .. theme)[number]
  local function tried(bug)
    local ok, report = pcall(suite.report_of, case, bug)
    if not ok then return "failed", tostring(report) end
    local found = suite.count_found(case, report) > 0
    local verdict = found and "found" or #report > 0 and "other" or #report.unchecked > 0 and "unchecked" or "none"
    return verdict, tostring(report)
  end
  local bug, said = "-", ""
  if case.has_bug ~= false then bug, said = tried(true) end
  io.write(("BUG\t%s\t%s\n"):format(bug, (said:gsub("%s+", " "))))
  io.flush()
  local clean, why = tried(false)
  if clean == "found" then clean = "other" end
  io.write(("CLEAN\t%s\t%s\n"):format(clean, (why:gsub("%s+", " "))))
  io.flush()
  os.exit(0, false)
end

local words, jobs, limit, all = {}, 4, 30, false
for _, word in ipairs(arg) do
  local name, value = word:match "^%-%-(%w+)=?(.*)"
  if name == "one" then return one(value:match "(%w+):(%d+)", tonumber(value:match ":(%d+)")) end
  if name == "jobs" then jobs = tonumber(value) end
  if name == "limit" then limit = tonumber(value) end
  if name == "all" then all = true end
  if not name then words[#words + 1] = word end
end

local themes = #words > 0 and words or { "shared", "tiles", "cooperation", "global", "ordering", "memory", "bounds",
  "waits", "participation", "initialisation", "values" }
local folder = os.tmpname()
os.remove(folder)
os.execute("mkdir -p " .. folder)
local list, cases = io.open(folder .. "/list", "w"), {}
for _, theme in ipairs(themes) do
  for number, case in ipairs(require("support.check_suite." .. theme)) do
    cases[#cases + 1] = { theme = theme, number = number, case = case }
    list:write(theme, ":", number, "\n")
  end
end
list:close()
local interpreter = arg[-1]
local command = "timeout -k 2 %d %s bench/checks/suite.lua --one=CASE >%s/CASE 2>%s/CASE.err; "
command = "xargs -P %d -I CASE sh -c '" .. command .. "echo \"END\t$?\" >>%s/CASE' <%s/list"
os.execute(command:format(jobs, limit, interpreter, folder, folder, folder, folder))

local kinds, order, notes = {}, {}, {}
local function count(kind, what)
  if not kinds[kind] then kinds[kind], order[#order + 1] = {}, kind end
  kinds[kind][what] = (kinds[kind][what] or 0) + 1
end
for _, c in ipairs(cases) do
  local name = ("%s:%d"):format(c.theme, c.number)
  local text = {}
  for line in io.lines(folder .. "/" .. name) do
    local what, verdict, said = line:match "^(%u+)\t(%S+)\t?(.*)"
    if what then text[what], text[what .. "said"] = verdict, said end
  end
  local bug, clean = text.BUG or "lost", text.CLEAN or (text.BUG and "lost" or "not run")
  if bug ~= "-" then count(c.case.kind, "bug " .. bug) end
  count(c.case.kind, "clean " .. clean)
  if (bug ~= "found" and bug ~= "-") or clean ~= "none" then
    notes[#notes + 1] = ("%-18s %-44s %s %s | %s"):format(name, c.case[1]:sub(1, 44), bug, clean,
      ((bug ~= "found" and text.BUGsaid or text.CLEANsaid) or ""):sub(1, all and 400 or 90))
  end
end
local columns = { "bug found", "bug other", "bug none", "bug unchecked", "bug failed", "bug lost", "clean none",
  "clean other", "clean unchecked", "clean failed", "clean lost", "clean not run" }
print(("%-20s %s"):format("kind", table.concat(columns, ", ")))
for _, kind in ipairs(order) do
  local cells = {}
  for i, column in ipairs(columns) do cells[i] = kinds[kind][column] or 0 end
  print(("%-20s %s"):format(kind, table.concat(cells, "  ")))
end
for _, note in ipairs(notes) do print(note) end
os.execute("rm -rf " .. folder)
