-- Runs busted on the interpreter that runs this file, because /usr/bin/busted would choose one itself.
--   lua5.4 spec/support/run.lua [busted's options] [files or folders]
--
-- Several files run one after the other, each in a process of its own, so that garbage, threads or a crash of one do
-- not affect the next. JOBS=2 in the environment runs two at a time.
--
-- Specs are written in Lua 5.4 and run on LuaJIT as well (support/luajit.lua). A line in a spec that begins with one of
-- these, and gives the reason, changes that:
--   -- Lua 5.4 only:       not on LuaJIT: the spec is about the compiler or device headers, not the binding
--   -- CPU device only:    not with MOONWARP_DEVICE=cuda
--   -- Cache of its own:   a compile cache of its own, since the spec examines it; the others share one

local jit = rawget(_G, "jit")
local on_gpu = (os.getenv "MOONWARP_DEVICE" or ""):match "^cuda" ~= nil
local interpreter = arg[-1]

package.path = "./spec/?.lua;" .. package.path
if jit then require("support.luajit").install() end

local function has_line(path, beginning)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return ("\n" .. text):find("\n-- " .. beginning .. ": ", 1, true) ~= nil
end

local function is_left_out(path)
  return jit and has_line(path, "Lua 5.4 only") or on_gpu and has_line(path, "CPU device only")
end

-- The specs that an argument names: a file, a folder with its subfolders, or a file name without its folder.
local function specs_at(path)
  local where, name = path, "*_spec.lua"
  local file = io.open(path)
  if file then file:close() else where, name = "spec", path:match "[^/]+$" end
  return io.popen(("LC_ALL=C; find '%s' -name '%s' | sort"):format(where, name)):lines()
end

-- Divides the arguments into busted's options and spec files; folders become the specs in them.
local options, files, left_out = {}, {}, 0
local takes_value = { ["--filter"] = true, ["--filter-out"] = true, ["-o"] = true, ["--output"] = true }
for i = 1, #arg do
  if arg[i]:find "^%-" or takes_value[arg[i - 1]] then
    options[#options + 1] = arg[i]
  else
    for path in specs_at(arg[i]) do
      if is_left_out(path) then left_out = left_out + 1 else files[#files + 1] = path end
    end
  end
end
if #files + left_out == 0 then error("there is no such spec: " .. table.concat(arg, " "), 0) end
if #files == 0 and left_out > 0 then
  print("nothing here for " .. (jit and "LuaJIT" or "a GPU"))
  os.exit(0)
end

-- Runs all in this process and does not return.
local function run_here()
  for i = #arg, 1, -1 do arg[i] = nil end
  for _, word in ipairs(options) do arg[#arg + 1] = word end
  for _, path in ipairs(files) do arg[#arg + 1] = path end
  require "busted.runner"({ standalone = false })
end

local function quote(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- The command that runs one file and prints its exit status, which LuaJIT's io.popen does not return.
local function command_for(path)
  local words = { interpreter, "spec/support/run.lua", "-o", "plainTerminal" }
  for _, word in ipairs(options) do words[#words + 1] = quote(word) end
  words[#words + 1] = quote(path)
  local caches = os.getenv "XDG_CACHE_HOME"
  if caches and has_line(path, "Cache of its own") then
    table.insert(words, 1, "XDG_CACHE_HOME=" .. quote(caches .. "/" .. path:match "([^/]+)%.lua$"))
  end
  return table.concat(words, " ") .. ' 2>&1; echo "exit status $?"'
end

local COUNTS = "(%d+) success%a* / (%d+) failures? / (%d+) errors? / (%d+) pending[^\n]*\n?"

-- Reads the output of a file's process: its counts, and the text to show, which is empty if all tests passed.
local function result_of(output)
  local status = tonumber(output:match "exit status (%d+)%s*$")
  output = output:gsub("exit status %d+%s*$", ""):gsub("\27%[[%d;]*m", "")
  local first, last, passed, failed, errors, pending = output:find(COUNTS)
  local result = { passed = tonumber(passed) or 0, failed = tonumber(failed) or 0, errors = tonumber(errors) or 0,
    pending = tonumber(pending) or 0, shown = "" }
  local bad = result.failed + result.errors
  if not first or status ~= 0 and bad == 0 then
    result.errors = result.errors + 1
    local when = first and "" or " before its count"
    result.shown = ("Error -> it ended with status %s%s\n%s"):format(tostring(status), when, output)
  else
    result.shown = output:sub(last + 1) -- what failed or is pending, and why
    if bad > 0 then result.shown = output:sub(1, first - 1) .. result.shown end
  end
  return result
end

-- Starts all files, at most `jobs` at a time: the next one whenever one has ended. Returns an iterator of those that
-- have ended, by number and seconds, and the folder with their output, <number>.out.
local function start(jobs)
  local folder = os.tmpname()
  os.remove(folder)
  os.execute("mkdir " .. quote(folder))
  for i, path in ipairs(files) do
    local script = assert(io.open(("%s/%d.sh"):format(folder, i), "w"))
    script:write(("began=$(date +%%s)\n{ %s; } > %s/%d.out\necho %d $(($(date +%%s) - began))\n"):format(
      command_for(path), quote(folder), i, i))
    script:close()
  end
  local pipe = assert(io.popen(("seq %d | xargs -P %d -I @ sh %s/@.sh"):format(#files, jobs, quote(folder))))
  local lines = pipe:lines()
  return function()
    local line = lines()
    if line then
      local i, seconds = line:match "^(%d+) (%d+)$"
      return tonumber(i), tonumber(seconds)
    end
    pipe:close()
    os.execute("rm -r " .. quote(folder))
  end, folder
end

local function run_each(jobs)
  local totals = { passed = 0, failed = 0, errors = 0, pending = 0 }
  local began, bad_files, seen = os.time(), {}, 0
  local ended, folder = start(jobs)
  for i, seconds in ended do
    local file = assert(io.open(("%s/%d.out"):format(folder, i)))
    local result = result_of(file:read "*a")
    file:close()
    seen = seen + 1
    for name in pairs(totals) do totals[name] = totals[name] + result[name] end
    local bad = result.failed + result.errors
    if bad > 0 then bad_files[#bad_files + 1] = files[i] end
    print(("%s: %d passed%s%s, %d s"):format(files[i], result.passed, bad > 0 and (", %d FAILED"):format(bad) or "",
      result.pending > 0 and (", %d pending"):format(result.pending) or "", seconds))
    if result.shown:find "%S" then print((result.shown:gsub("^%s+", ""):gsub("%s+$", "") .. "\n")) end
    io.flush()
  end
  totals.errors = totals.errors + #files - seen -- what was never run
  print(("%d successes / %d failures / %d errors / %d pending : %d seconds"):format(totals.passed, totals.failed,
    totals.errors, totals.pending, os.time() - began))
  if #bad_files > 0 then print("failed: " .. table.concat(bad_files, " ")) end
  os.exit(totals.failed + totals.errors == 0 and 0 or 1)
end

local has_output = false
for _, word in ipairs(options) do has_output = has_output or word:find "^%-o" or word:find "^%-%-output" end
if #files < 2 or has_output then run_here() else run_each(tonumber(os.getenv "JOBS") or 1) end
