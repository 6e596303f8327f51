-- The direction of includes: src/ has layers, and none includes one above it (docs/build/architecture.md).

local function lines_of(path)
  local list = {}
  for line in io.lines(path) do list[#list + 1] = line end
  return list
end

local function sources()
  local pipe = assert(io.popen("find src examples -name '*.[chS]' | sort"))
  local list = {}
  for path in pipe:lines() do list[#list + 1] = path end
  pipe:close()
  return list
end

local exists = setmetatable({}, {
  __index = function(self, path)
    local file = io.open(path)
    if file then file:close() end
    self[path] = file ~= nil
    return self[path]
  end,
})

-- What `path` includes: project files by their path, system headers as "<name>".
local function includes(path)
  local found = {}
  for _, line in ipairs(lines_of(path)) do
    local system = line:match("^%s*#%s*include%s*(<[^>]+>)")
    local name = line:match('^%s*#%s*include%s*"([^"]+)"')
    if system then found[#found + 1] = system end
    if name then
      local beside = path:gsub("[^/]*$", "") .. name
      local root = path:match("^src/device/") or "src/"
      found[#found + 1] = exists[beside] and beside or root .. name
    end
  end
  return found
end

local records = {}
for _, name in ipairs { "texture/texture_descriptor.h", "guard_layout.h", "checked_run/layout.h", "error_list.h",
  "measured_run/layout.h", "measured_run/rules.h" } do
  records["src/device/moonwarp/" .. name] = true
end

local function floor_of(path)
  if path == "src/moonwarp_abi.h" or path == "src/moonwarp.h" then return "interface" end
  if path == "src/mwo.h" or path == "src/mwo_bulk.h" then return "format" end
  if records[path] then
    return "record"
  end
  local folder = path:match("^src/(%w+)/")
  if folder then return folder end
  if path:match("^examples/") then return "example" end
  return path:match("%.inc$") and "generated" or "core"
end

-- Whom each floor may include besides itself.
local allowed = {
  interface = {},
  format = { interface = true },
  base = { interface = true, record = true },
  record = {}, -- what both sides read: C and CUDA C alike
  core = { interface = true, base = true, record = true, generated = true },
  cpu = { interface = true, base = true, core = true, format = true, record = true },
  cuda = { interface = true, base = true, core = true, record = true, generated = true },
  mwcc = { interface = true, base = true, format = true, record = true },
  mpi = { interface = true, base = true },
  host = { interface = true, format = true, generated = true },
  lua = { interface = true },
  device = { record = true },
  example = { interface = true },
}

describe("the source tree", function()
  local all = sources()

  it("has files on every floor", function()
    local seen = {}
    for _, path in ipairs(all) do seen[floor_of(path)] = true end
    for floor in pairs(allowed) do assert.is_true(seen[floor], "no file on the floor " .. floor) end
  end)

  it("includes nothing upward", function()
    local wrong = {}
    for _, path in ipairs(all) do
      local floor = floor_of(path)
      for _, target in ipairs(includes(path)) do
        local below = floor_of(target)
        if not target:match("^<") and below ~= floor and not allowed[floor][below] then
          wrong[#wrong + 1] = ("%s (%s) includes %s (%s)"):format(path, floor, target, below)
        end
      end
    end
    assert.same({}, wrong)
  end)

  it("includes no file that is not there", function()
    local wrong = {}
    for _, path in ipairs(all) do
      for _, target in ipairs(includes(path)) do
        local generated = target:match("%.inc$")
        if not target:match("^<") and not generated and not exists[target] then
          wrong[#wrong + 1] = path .. " includes " .. target
        end
      end
    end
    assert.same({}, wrong)
  end)

  it("has no circle of includes", function()
    local state = {}
    local function visit(path, trail)
      if state[path] == "done" then return end
      assert(state[path] ~= "open", "a circle: " .. trail .. " > " .. path)
      state[path] = "open"
      for _, target in ipairs(includes(path)) do
        if exists[target] then visit(target, trail .. " > " .. path) end
      end
      state[path] = "done"
    end
    for _, path in ipairs(all) do visit(path, "") end
  end)

  it("knows Lua in src/lua and LLVM in src/mwcc only", function()
    local wrong = {}
    for _, path in ipairs(all) do
      for _, target in ipairs(includes(path)) do
        local lua = target:match("^<lua") or target:match("^<lauxlib")
        local llvm = target:match("^<llvm")
        if (lua and floor_of(path) ~= "lua") or (llvm and floor_of(path) ~= "mwcc") then
          wrong[#wrong + 1] = path .. " includes " .. target
        end
      end
    end
    assert.same({}, wrong)
  end)

  it("keeps the interface's text free of preprocessor lines", function()
    for number, line in ipairs(lines_of("src/moonwarp_abi.h")) do
      assert.is_nil(line:match("^%s*#"), "src/moonwarp_abi.h:" .. number .. ": " .. line)
    end
  end)
end)

-- The compiler's folders, the lowest first: each may use those before it (docs/build/architecture.md). All folders
-- share mwcc.h and the table of passes; main.c and pipeline.c are above all.
local folders = {
  "support", "front", "target", "read", "ptx", "analysis", "divergence", "grid_stride", "staging",
  "prepare/addresses", "prepare", "prepare/values", "prepare/observe", "lower", "widen", "widen/values", "widen/memory",
  "widen/calls", "widen/flow", "opt", "machine", "entry", "link", "codegen", "gpu", ".",
}
local rank = {}
for i, folder in ipairs(folders) do rank[folder] = i end

local function folder_of(path)
  if path == "src/mwcc/mwcc.h" or path == "src/mwcc/passes.def" then return "support" end
  return path:match "^src/mwcc/(.+)/[^/]+$" or "."
end

local function compiler_files(pattern)
  local list = {}
  local pipe = assert(io.popen("find src/mwcc -name '*.c' -o -name '*.cc' -o -name '*.h' | grep -v /layout/ | sort"))
  for path in pipe:lines() do
    if path:find(pattern) then list[#list + 1] = path end
  end
  pipe:close()
  return list
end

-- The object of a source in the build tree; the Lua module's are Lua 5.4's.
local function object_of(path)
  local objects = os.getenv "MOONWARP_HOME" .. "/obj/"
  local in_lua = path:match "^src/lua/(.+)$"
  return objects .. (in_lua and "lua5.4/" .. in_lua or path) .. ".o"
end

-- Which file defines each symbol and which files use it, from the objects in the build tree: { symbol = path },
-- { { path, symbol }, … }.
local function symbols(files)
  local paths, source = {}, {}
  for _, path in ipairs(files) do
    local object = object_of(path)
    local file = io.open(object)
    if file then
      file:close()
      source[object] = path
      paths[#paths + 1] = "'" .. object .. "'"
    end
  end
  local defined, used = {}, {}
  if #paths == 0 then return defined, used end
  local pipe = assert(io.popen("nm -A " .. table.concat(paths, " ")))
  for line in pipe:lines() do
    local object, kind, name = line:match "^(.-%.o):%x* *(%a) (.+)$"
    local path = object and source[object]
    if path and kind:find "[TDBRC]" then defined[name] = path end
    if path and kind == "U" then used[#used + 1] = { path, name } end
  end
  pipe:close()
  return defined, used
end

-- The library's files in C and assembly, without the compiler, which is a program of its own.
local function library_files()
  local list = {}
  for _, path in ipairs(sources()) do
    local floor = path:match "%.[cS]$" and floor_of(path)
    if floor and floor ~= "mwcc" and floor ~= "device" and floor ~= "example" and floor ~= "tables" then
      list[#list + 1] = path
    end
  end
  return list
end

-- The device table of each driver, by which the core reaches it.
local drivers = { mw_cpu_driver = "cpu", mw_cuda_driver = "cuda" }

-- The core's folders, the lowest first. Those of one rank use each other, for the reason that src/core/core.h states.
local core_folders = {
  compile = 1, image = 1,
  [""] = 2, array = 2, copy = 2, elementwise = 2, graph = 2, launch = 2, memory = 2, module = 2,
  texture = 2,
  opengl = 3, linear = 3, fourier = 3, collective = 3,
}

describe("the library's layers", function()
  local defined, used = symbols(library_files())

  it("use no symbol of a layer above; bindings and CUDA's functions use public ones only", function()
    if #used == 0 then pending "there are no objects in the build tree" end
    local public = {}
    for name in table.concat(lines_of "src/moonwarp_abi.h", "\n"):gmatch "[%a_][%w_]*" do public[name] = true end
    local wrong, seen = {}, {}
    for _, use in ipairs(used) do
      local path, name = use[1], use[2]
      local target = defined[name]
      local from, to = floor_of(path), target and floor_of(target)
      if to then seen[from] = true end
      local fine = not to or to == from or allowed[from][to] or allowed[from].interface and public[name]
        or from == "core" and drivers[name] == to
      if not fine then wrong[#wrong + 1] = ("%s uses %s of %s"):format(path, name, target) end
    end
    assert.same({}, wrong)
    for _, floor in ipairs { "core", "cpu", "cuda", "host", "lua" } do
      assert.is_true(seen[floor], "no symbols of the layer " .. floor)
    end
  end)

  it("have folders of the core that use no folder above", function()
    if #used == 0 then pending "there are no objects in the build tree" end
    local wrong = {}
    for _, use in ipairs(used) do
      local path, name = use[1], use[2]
      local target = defined[name]
      if target and floor_of(path) == "core" and floor_of(target) == "core" then
        local from, to = path:match "^src/core/(.-)/?[^/]+$", target:match "^src/core/(.-)/?[^/]+$"
        assert.is_number(core_folders[from], path)
        if core_folders[to] > core_folders[from] then
          wrong[#wrong + 1] = ("%s uses %s of %s"):format(path, name, target)
        end
      end
    end
    assert.same({}, wrong)
  end)
end)

describe("the compiler's folders", function()
  it("are all known, and none has more than 20 files", function()
    local count = {}
    for _, path in ipairs(compiler_files ".") do
      local folder = path:match "^(.+)/"
      assert.is_number(rank[folder_of(path)], path)
      count[folder] = (count[folder] or 0) + 1
    end
    for folder, files in pairs(count) do assert.is_true(files <= 20, folder .. " has " .. files .. " files") end
  end)

  it("include nothing of a folder above", function()
    local wrong = {}
    for _, path in ipairs(compiler_files ".") do
      for _, target in ipairs(includes(path)) do
        if target:match "^src/mwcc/" and rank[folder_of(target)] > rank[folder_of(path)] then
          wrong[#wrong + 1] = path .. " includes " .. target
        end
      end
    end
    assert.same({}, wrong)
  end)

  it("use no symbol of a folder above", function()
    local defined, used = symbols(compiler_files "%.cc?$")
    if #used == 0 then pending "there are no objects of the compiler in the build tree" end
    local wrong = {}
    for _, use in ipairs(used) do
      local path, name = use[1], use[2]
      local target = defined[name]
      if target and rank[folder_of(target)] > rank[folder_of(path)] then
        wrong[#wrong + 1] = ("%s uses %s of %s"):format(path, name, target)
      end
    end
    assert.same({}, wrong)
  end)
end)
