-- The direction of includes: src/ is a house of floors, and nobody includes upward (docs/architecture.md).

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

local function floor_of(path)
  if path == "src/moonwarp_abi.h" or path == "src/moonwarp.h" then return "interface" end
  if path == "src/mwo.h" then return "format" end
  if path == "src/device/moonwarp/texture/texture_descriptor.h" or path == "src/device/moonwarp/guard_layout.h" then
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
  base = { interface = true },
  record = {}, -- what the host writes and kernels read: C and CUDA C alike
  core = { interface = true, base = true, record = true, generated = true },
  cpu = { interface = true, base = true, core = true, format = true },
  cuda = { interface = true, base = true, core = true, record = true, generated = true },
  mwcc = { interface = true, base = true, format = true },
  host = { interface = true, format = true },
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
