-- The host code of the CUDA 1.1 guide, section by section, as programs in examples/guide: each runs, checks itself, and
-- prints its text after -->.

local function squeeze(line) return (line:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", "")) end

-- Lua 5.4 prints 12.0 where LuaJIT prints 12.
local function plain(line) return (line:gsub("%f[%d](%d+)%.0%f[^%d]", "%1")) end

local function promised(path)
  local lines = {}
  for line in io.lines(path) do
    local promise = line:match("%-%->%s+(%S.*)")
    if promise then lines[#lines + 1] = squeeze(promise) end
  end
  return lines
end

-- Run a program here, in one process for all; what it printed, line by line.
local function run(path)
  local printed = {}
  local function write(...)
    local parts = { n = select("#", ...), ... }
    for i = 1, parts.n do parts[i] = tostring(parts[i]) end
    printed[#printed + 1] = plain(squeeze(table.concat(parts, " ")))
  end
  local environment = setmetatable({ print = write }, { __index = _G })
  local program = assert(loadfile(path, "t", environment))
  local set = rawget(_G, "setfenv") -- LuaJIT's
  if set then set(program, environment) end
  program()
  return printed
end

local sections = {
  "4_5_2_3_memory", "4_5_2_4_streams", "4_5_2_5_events", "4_5_2_6_textures", "4_5_3_3_contexts", "4_5_3_4_modules",
  "4_5_3_5_execution", "4_5_3_6_memory", "4_5_3_7_streams", "4_5_3_8_events", "4_5_3_9_textures",
}

describe("the guide's host code", function()
  for _, section in ipairs(sections) do
    it("runs and prints the documented output: " .. section, function()
      local path = "examples/guide/" .. section .. ".lua"
      local printed = run(path)
      assert.same(promised(path), printed)
      assert.equal("checked", printed[#printed])
    end)
  end

  it("is all there", function()
    local found = {}
    local pipe = assert(io.popen "LC_ALL=C ls examples/guide")
    for name in pipe:lines() do found[#found + 1] = name:match "(.*)%.lua$" end
    pipe:close()
    assert.same(sections, found)
  end)
end)
