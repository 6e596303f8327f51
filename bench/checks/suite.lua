-- The suite of planted bugs and clean twins on a device: how many a checked run finds, misses, and reports without
-- reason, by kind. Several processes do some cases each, with a limit of time; where one ends, hangs or loses a GPU,
-- the bug or its twin counts as lost or failed, and another process goes on after it.
--
--   MOONWARP_DEVICE=cuda lua bench/checks/suite.lua [theme …] [--jobs=N] [--limit=SECONDS] [--deadline=SECONDS] [--all]
--
-- limit: of one process; deadline: no case begins later.

package.path = "./?.lua;./spec/?.lua;" .. package.path

local themes = { "shared", "tiles", "cooperation", "global", "ordering", "memory", "bounds", "waits", "participation",
  "initialisation", "values" }
local words, options = {}, { jobs = "4", limit = "60", deadline = "3600" }
for _, word in ipairs(arg) do
  local name, value = word:match "^%-%-(%w+)=?(.*)"
  if name then options[name] = value else words[#words + 1] = word end
end
local last = tonumber(options.last) or os.time() + tonumber(options.deadline)

local function case_of(id)
  local theme, number = id:match "(%w+):(%d+)"
  return require("support.check_suite." .. theme)[tonumber(number)]
end

local function flat(text) return (tostring(text):gsub("%s+", " ")) end

-- ---- a process that runs cases, one after the other ----

local function try(suite, case, bug)
  local ok, report = pcall(suite.report_of, case, bug, nil, "all")
  if not ok then return "failed", flat(report) end
  local found = bug and suite.count_found(case, report) > 0
  local verdict = found and "found" or #report > 0 and "other" or #report.unchecked > 0 and "unchecked" or "none"
  return verdict, flat(report)
end

local function say(...)
  io.write(table.concat({ ... }, "\t"), "\n")
  io.flush()
end

local function is_lost(mw) return not pcall(function() return mw.ones(1):sum() end) end

-- "theme:number", or "theme:number/clean" for the clean twin only
local function run(list)
  local suite = require "support.check_suite.suite"
  local mw = require "moonwarp"
  pcall(mw.limit, "time", 4)
  for id in list:gmatch "[^,]+" do
    if os.time() > last then break end
    local name, part = id:match "^([^/]+)(.*)"
    local case = case_of(name)
    say("CASE", name)
    if part == "" then
      if case.has_bug ~= false then say("BUG", try(suite, case, true)) else say("BUG", "-", "") end
      if is_lost(mw) then os.exit(0, false) end
    end
    say("CLEAN", try(suite, case, false))
    if is_lost(mw) then os.exit(0, false) end
  end
  say "END"
  os.exit(0, false)
end

-- ---- one that starts such processes for its share of the cases ----

local function work(list, path)
  local rest, file = {}, io.open(path, "w")
  for id in list:gmatch "[^,]+" do rest[#rest + 1] = id end
  while #rest > 0 and os.time() <= last do
    local command = ("timeout -k 2 %s %s bench/checks/suite.lua --cases=%s --last=%d 2>/dev/null"):format(options.limit,
      arg[-1], table.concat(rest, ","), last)
    local done, open = false, nil
    for line in io.popen(command):lines() do
      file:write(line, "\n")
      file:flush()
      if line:match "^CASE" then open = table.remove(rest, 1) end
      if line:match "^CLEAN" then open = nil end
      done = done or line == "END"
    end
    if done then break end
    if open and not open:find "/clean" then table.insert(rest, 1, open .. "/clean") end
  end
  file:close()
end

if options.cases then return run(options.cases) end
if options.share then return work(options.share, options.out) end

-- ---- all ----

local folder, jobs, cases, shares = os.tmpname(), tonumber(options.jobs), {}, {}
os.remove(folder)
os.execute("mkdir -p " .. folder)
for _, theme in ipairs(#words > 0 and words or themes) do
  for number in ipairs(require("support.check_suite." .. theme)) do
    cases[#cases + 1] = ("%s:%d"):format(theme, number)
    local share = #cases % jobs + 1
    shares[share] = shares[share] and shares[share] .. "," .. cases[#cases] or cases[#cases]
  end
end
local commands = {}
for i, share in ipairs(shares) do
  commands[i] = ("%s bench/checks/suite.lua --share=%s --out=%s/%d --last=%d --limit=%s &"):format(arg[-1], share,
    folder, i, last, options.limit)
end
os.execute(table.concat(commands, "\n") .. "\nwait")

local results = {}
for i in ipairs(shares) do
  local current
  for line in io.lines(folder .. "/" .. i) do
    local what, verdict, said = line:match "^(%u+)\t?(%S*)\t?(.*)"
    if what == "CASE" then
      current = results[verdict] or { said = {} }
      results[verdict] = current
    elseif current and (what == "BUG" or what == "CLEAN") then
      current[what], current.said[what] = verdict, said
    end
  end
end
os.execute("rm -rf " .. folder)

local columns = { "bug found", "other", "none", "unchecked", "failed", "lost", "clean none", "other", "unchecked",
  "failed", "lost" }
local place = { BUG = { found = 1, other = 2, none = 3, unchecked = 4, failed = 5, lost = 6 },
  CLEAN = { none = 7, other = 8, unchecked = 9, failed = 10, lost = 11 } }
local kinds, order, notes, left = {}, {}, {}, 0
local function count(kind, at)
  if not kinds[kind] then
    kinds[kind], order[#order + 1] = {}, kind
    for i in ipairs(columns) do kinds[kind][i] = 0 end
  end
  kinds[kind][at] = kinds[kind][at] + 1
end
for _, id in ipairs(cases) do
  local result, case = results[id], case_of(id)
  if result then
    local bug, clean = result.BUG or "lost", result.CLEAN or "lost"
    if bug ~= "-" then count(case.kind, place.BUG[bug]) end
    count(case.kind, place.CLEAN[clean])
    if (bug ~= "found" and bug ~= "-") or clean ~= "none" then
      local said = result.said[bug ~= "found" and bug ~= "-" and "BUG" or "CLEAN"] or ""
      notes[#notes + 1] = ("%-18s %-40s %s/%s %s"):format(id, case[1]:sub(1, 40), bug, clean,
        said:sub(1, options.all and 400 or 90))
    end
  else
    left = left + 1
  end
end
print(("%-20s %s"):format("kind", table.concat(columns, " | ")))
for _, kind in ipairs(order) do print(("%-20s %s"):format(kind, table.concat(kinds[kind], "  "))) end
if left > 0 then print(left .. " cases were not begun") end
for _, note in ipairs(notes) do print(note) end
