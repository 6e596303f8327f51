-- The documentation is true: every Lua snippet in README.md and docs/ runs, every example runs, and both print the text
-- after --> (runs of white space are equal, … matches anything); links lead to files and headings.

local mw = require "moonwarp"
local suite = require "support.suite"
local interpreter = arg[-1]
local read = require("support.files").read

local function list(command)
  local pipe, found = assert(io.popen(command)), {}
  for line in pipe:lines() do found[#found + 1] = line end
  pipe:close()
  return found
end

local function squeeze(line) return (line:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")) end

-- The lines that a text should print: the rest of each line after -->.
local function promised(text)
  local lines = {}
  for line in text:gmatch("[^\n]+") do
    local promise = line:match("%-%->%s+(%S.*)")
    if promise then lines[#lines + 1] = squeeze(promise) end
  end
  return lines
end

-- LuaJIT has one type of number, and prints 12 where Lua 5.4 prints 12.0.
local function without_zeros(lines)
  for i, line in ipairs(lines) do lines[i] = line:gsub("%f[%d](%d+)%.0%f[^%d]", "%1") end
  return lines
end

local function matches(promise, line)
  local pattern = promise:gsub("[%^%$%(%)%%%.%[%]%*%+%-%?]", "%%%0"):gsub("…", ".*")
  return line:match("^" .. pattern .. "$") ~= nil
end

local function assert_printed(promises, printed, where)
  for i = 1, math.max(#promises, #printed) do
    local promise, line = promises[i], printed[i]
    if not (promise and line and matches(promise, line)) then
      local report = "%s, output line %d:\n  promised  %s\n  printed   %s"
      error(report:format(where, i, promise or "nothing", line or "nothing"), 0)
    end
  end
end

-- A document without its code.
local function prose(path) return (read(path):gsub("\n```.-\n```", ""):gsub("`[^`\n]*`", "")) end

-- The anchors of a page's headings, as GitHub and pandoc make them: lower case, no punctuation, hyphens for spaces.
local function anchors(path)
  local found = {}
  for heading in ("\n" .. read(path):gsub("\n```.-\n```", "")):gmatch "\n#+ +([^\n]*)" do
    found[heading:lower():gsub("[^%w_ %-]", ""):gsub(" ", "-")] = true
  end
  return found
end

-- ```lua blocks with the line on which each begins.
local function snippets(path)
  local found, open, number = {}, nil, 0
  for line in (read(path) .. "\n"):gmatch("(.-)\n") do
    number = number + 1
    if open and line:match("^```") then
      found[#found + 1] = open
      open = nil
    elseif open then
      open.lines[#open.lines + 1] = line
    elseif line:match("^```lua%s*$") then
      open = { line = number + 1, lines = {} }
    end
  end
  for _, snippet in ipairs(found) do snippet.text = table.concat(snippet.lines, "\n") end
  return found
end

-- The lines that a snippet prints in a process of its own, without leak detection: libmpi leaves memory to the system.
local function run_apart(snippet, path)
  local file = os.tmpname()
  require("support.files").write(file, ("\n"):rep(snippet.line - 1) .. snippet.text)
  local lines = list(("ASAN_OPTIONS='%s' '%s' '%s' 2>&1; echo status $?"):format(
    require("support.mpi.ranks").sanitizer_options, interpreter, file))
  os.remove(file)
  local status = table.remove(lines)
  if status ~= "status 0" then error(path .. ":\n" .. table.concat(lines, "\n"), 0) end
  for i, line in ipairs(lines) do lines[i] = squeeze(line) end
  return lines
end

-- Run a snippet as a script of its own; returns the lines that it printed.
local function run_snippet(snippet, path)
  if (os.getenv "ASAN_OPTIONS" or "") ~= "" and (snippet.text:find "mw%.mpi" or snippet.text:find "mw%.dist") then
    return run_apart(snippet, path)
  end
  local printed = {}
  local function write(...)
    local parts = { n = select("#", ...), ... }
    for i = 1, parts.n do parts[i] = tostring(parts[i]) end
    for line in (table.concat(parts, "\t") .. "\n"):gmatch("(.-)\n") do printed[#printed + 1] = squeeze(line) end
  end
  local environment = setmetatable({ print = write }, { __index = _G })
  -- Blank lines before it, so that errors name the line of the document.
  local chunk = assert(load(("\n"):rep(snippet.line - 1) .. snippet.text, "@" .. path, "t", environment))
  local before = mw.warnings "error" -- the kernels that are shown must compile without warnings
  local ok, err = pcall(chunk)
  mw.warnings(before)
  if not ok then error(err, 0) end
  return printed
end

-- Snippets about the CPU device: host memory, tiers, failing kernels, the alignment of textures' memory.
local function is_for_cpu(text)
  local signs = { ":host()", ".tier", "wild", "__trap", "pitch", "texture_memory", "mw.devices {", "ChannelDescriptor",
    "mw.measure", "mw.check(", "mw.debug" }
  for _, sign in ipairs(signs) do
    if text:find(sign, 1, true) then return true end
  end
  return false
end

-- What run() returns; nil, and the case is pending, where it needs MPI and there is none.
local function unless_mpi_is_missing(run)
  local ok, result = pcall(run)
  if ok then return result end
  if tostring(result):find("there is no MPI library", 1, true) and not mw.mpi.available() then
    pending "there is no MPI library: sh setup.sh --mpi"
  end
  error(result, 0)
end

local documents = list("ls README.md CONTRIBUTING.md docs/README.md docs/*/*.md")

describe("kernels in the documentation and in examples", function()
  it("are in long strings that no index ends", function()
    for _, path in ipairs(list "ls README.md docs/*/*.md examples/*.lua examples/*/*.lua") do
      for content in read(path):gmatch "%[%[(.-)%]%]" do
        assert.is_nil(content:match "\n[^\n]*__[%a]+__[^\n]*", path)
      end
    end
  end)
end)

describe("the documentation", function()
  for _, path in ipairs(documents) do
    for _, snippet in ipairs(snippets(path)) do
      local where = path .. ":" .. snippet.line
      it("runs as printed: " .. where, function()
        if suite.on_gpu and is_for_cpu(snippet.text) then return pending "CPU device only: it shows what that does" end
        local printed = unless_mpi_is_missing(function() return run_snippet(snippet, path) end)
        assert_printed(without_zeros(promised(snippet.text)), without_zeros(printed), where)
      end)
    end
  end

  it("shows Lua snippets in the README", function() assert.is_true(#snippets("README.md") >= 1) end)

  it("shows the first screen that examples/first_screen.lua runs", function()
    local first = snippets("README.md")[1].text
    local example = read("examples/first_screen.lua"):gsub("^%-%-[^\n]*\n\n", "")
    assert.equal(squeeze(example), squeeze(first))
  end)

  it("names only make targets that there are", function()
    local makefile = read("Makefile") .. read("bench.mk") .. read("install.mk")
    for _, path in ipairs(documents) do
      local fenced, code = "\n```.-\n```", {}
      for block in read(path):gmatch(fenced) do code[#code + 1] = block end
      for inline in read(path):gsub(fenced, ""):gmatch "`([^`\n]+)`" do code[#code + 1] = inline end
      for target in (table.concat(code, "\n") .. "\n"):gmatch "%f[%w]make ([a-z]+)[\n ]" do
        if not makefile:match("\n" .. target .. ":") then error(path .. " speaks of make " .. target, 0) end
      end
    end
  end)

  it("links only to files and headings that there are", function()
    local count, pages = 0, list "ls CHANGELOG.md examples/README.md examples/*/README.md"
    for _, path in ipairs(documents) do pages[#pages + 1] = path end
    for _, path in ipairs(pages) do
      local folder = path:match "^(.*/)" or ""
      for file, anchor in prose(path):gmatch "%]%(([^)#:]*)#?([^):]*)%)" do
        count = count + 1
        local target = file == "" and path or folder .. file
        assert(io.open(target), path .. " links to " .. target):close()
        if anchor ~= "" then assert(anchors(target)[anchor], path .. " links to " .. target .. "#" .. anchor) end
      end
    end
    assert.is_true(count > 50, count .. " links")
  end)

  it("names only files and folders of the source that there are", function()
    local folders = { src = true, lua = true, spec = true, bench = true, docs = true }
    for _, path in ipairs(documents) do
      for name in read(path):gmatch "`([%w_]+/[%w_/.]+)`" do
        local file = not folders[name:match "^[^/]+"] or io.open(name)
        if not file then error(path .. " names " .. name, 0) end
        if file ~= true then file:close() end
      end
    end
  end)
end)

describe("the architecture page", function()
  it("has every folder of the library and of the compiler", function()
    local page = read "docs/build/architecture.md"
    local folders = list "find src -mindepth 2 -type f -printf '%h/\\n' | grep -v src/device/. | sort -u"
    assert.is_true(#folders > 30)
    for _, folder in ipairs(folders) do
      local name = folder:match "[%w_]+/$"
      local named = page:find("`" .. name .. "`", 1, true) or page:find("`" .. folder .. "`", 1, true)
      if not named then error("docs/build/architecture.md does not name " .. folder, 0) end
    end
  end)
end)

describe("make docs", function()
  it("renders all pages, whose links lead somewhere", function()
    if rawget(_G, "jit") then return pending "once is enough" end
    if #list "command -v pandoc" == 0 then return pending "there is no pandoc (apt install pandoc)" end
    local pipe = io.popen "env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -s docs 2>&1"
    local output = pipe:read "*a"
    assert(pipe:close(), output)
    local count, pages = 0, list "ls build/html/*.html"
    for _, page in ipairs(pages) do
      local text = read(page)
      for link in text:gmatch 'href="([%w_]+%.html)#?' do
        count = count + 1
        assert(io.open("build/html/" .. link), page .. " links to " .. link):close()
      end
    end
    assert.is_true(#pages >= #documents, #pages .. " pages")
    assert.is_true(count > 30, count .. " links between pages")
  end)
end)

-- The interpreters that can run examples: the one that runs this, and LuaJIT where it and its module are.
local interpreters = { [interpreter] = true }
local luajit_module = io.open(os.getenv("MOONWARP_HOME") .. "/lib/lua/5.1/moonwarp/core.so")
if luajit_module then
  luajit_module:close()
  if list("command -v luajit")[1] then interpreters.luajit = true end
end

-- What the output of an example contains that has no line of its own to promise.
local contains = {
  ["examples/photo.lua"] = "checked: a plain Lua loop gives the same",
  ["examples/texture.lua"] = "checked: reference and object give the same picture",
  ["examples/mandelbrot.lua"] = "@@\n0\t243\n", -- after its picture
  ["examples/bicubic.lua"] = "checked: four bilinear fetches differ by at most",
}

-- From another folder than their own. Ranks of MPI have options of their own under the sanitizers.
local function run_example(command, path)
  local options = path:find "distributed/" and require("support.mpi.ranks").sanitizer_options
    or os.getenv "ASAN_OPTIONS" or ""
  local words = ("here=$PWD; cd / && ASAN_OPTIONS='%s' NO_COLOR=1 '%s' \"$here/%s\" 2>&1; echo status $?"):format(
    options, command, path)
  local pipe = assert(io.popen(words))
  local text = pipe:read("*a")
  pipe:close()
  local output, status = text:match("^(.*)status (%d+)\n$")
  if status ~= "0" then error(path .. " failed:\n" .. output, 0) end
  return output
end

describe("the examples", function()
  for command in pairs(interpreters) do
    for _, path in ipairs(list("ls examples/*.lua examples/arrays/*.lua examples/distributed/*.lua")) do
      it(("run on %s and print what they promise: %s"):format(command, path), function()
        local output = unless_mpi_is_missing(function() return run_example(command, path) end)
        assert.truthy(output:find(contains[path] or "", 1, true), output)
        if contains[path] then return end
        local printed = {}
        for line in output:gmatch("[^\n]+") do printed[#printed + 1] = squeeze(line) end
        assert_printed(without_zeros(promised(read(path))), without_zeros(printed), path)
      end)
    end
  end

  it("include a C host without Lua", function()
    local pipe = assert(io.popen("'" .. os.getenv("MOONWARP_HOME") .. "/bin/embed' 2>&1; echo status $?"))
    local text = pipe:read("*a")
    pipe:close()
    assert.truthy(text:match("status 0\n$"), text)
  end)
end)
