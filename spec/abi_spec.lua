-- One C interface: what moonwarp_abi.h declares is what the library exports, and what the Lua binding calls.

local home = os.getenv("MOONWARP_HOME")

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

-- The functions that the header declares.
local function declared()
  local text = read("src/moonwarp_abi.h"):gsub("/%*.-%*/", "")
  local names = {}
  for statement in text:gmatch("[^;]+;") do
    local name = statement:match("(mw_[%w_]+)%s*%(")
    if name and not statement:match("^%s*typedef") then names[#names + 1] = name end
  end
  return names
end

-- The mw_ symbols of a shared object as `nm` lists them, a set.
local function symbols(path, options)
  local pipe, found = assert(io.popen("nm -D " .. options .. " '" .. path .. "'")), {}
  for line in pipe:lines() do
    local name = line:match("%s[TUDRBW]%s+([%w_]+)$")
    if name then found[name] = true end
  end
  pipe:close()
  return found
end

-- Not called by the Lua binding, because:
local not_in_lua = {
}

describe("the C interface", function()
  local names = declared()
  local exported = symbols(home .. "/lib/libmoonwarp.so", "--defined-only")

  it("is read whole by this spec", function()
    assert.is_true(#names > 80)
    local set = {}
    for _, name in ipairs(names) do
      assert.is_nil(set[name], name .. " is declared twice")
      set[name] = true
    end
    assert.is_true(set.mw_error_last and set.mw_launch_run and set.mw_image_release)
  end)

  it("is exported by the library, function by function", function()
    local missing = {}
    for _, name in ipairs(names) do
      if not exported[name] then missing[#missing + 1] = name end
    end
    assert.same({}, missing)
  end)

  it("is all that the library exports", function()
    local set, more = {}, {}
    for _, name in ipairs(names) do set[name] = true end
    for name in pairs(exported) do
      if not set[name] then more[#more + 1] = name end
    end
    assert.same({}, more)
  end)

  it("is reached from Lua, or there is a reason why not", function()
    local module = home .. "/lib/lua/" .. _VERSION:match("%d.%d") .. "/moonwarp/core.so"
    local called, missing = symbols(module, "--undefined-only"), {}
    for _, name in ipairs(names) do
      local reason = not_in_lua[name]
      if not called[name] and not reason then missing[#missing + 1] = name end
      assert.is_falsy(called[name] and reason, name .. " is listed as not called from Lua, but it is")
    end
    assert.same({}, missing)
  end)
end)
