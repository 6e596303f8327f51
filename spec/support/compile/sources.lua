-- The sources that spec files compile, without running kernels: in order, with options and the requested template
-- instances.
--   local sources = require "support.compile.sources"
--   sources "spec/device/device_std_spec.lua"
--   --> { { source =, options =, headers =, instances = { "fill<float>", … } }, … }
--
-- The file is run with a moonwarp that compiles nothing: its functions return an object that any operation returns
-- again. Assertions fail on that object, so only sources before the first failing assertion of a test are found.

local anything = {}
local operators = {}
for _, name in ipairs {
  "add", "sub", "mul", "div", "mod", "pow", "unm", "idiv", "band", "bor", "bxor", "shl", "shr", "bnot", "call",
} do
  operators["__" .. name] = function() return anything end
end
local function nothing() end
-- Sequences and iterations end.
function operators.__index(_, name)
  if name == "gmatch" or name == "lines" then return function() return nothing end end
  return type(name) ~= "number" and anything or nil
end
function operators.__concat() return "" end
function operators.__len() return 0 end
function operators.__newindex() end
setmetatable(anything, operators)

local function recorder(found)
  local function compile(spec)
    local entry = { instances = {} }
    if type(spec) == "string" then
      entry.source = spec
    elseif type(spec) == "table" then
      for name, value in pairs(spec) do entry[name] = value end
    end
    if type(entry.source) ~= "string" then return anything end
    found[#found + 1] = entry
    local behaviour = {}
    for name, operator in pairs(operators) do behaviour[name] = operator end
    function behaviour.__index(_, name)
      if type(name) == "string" and name:find("<", 1, true) then entry.instances[#entry.instances + 1] = name end
      return anything
    end
    return setmetatable({}, behaviour)
  end
  return setmetatable({ compile = compile, try_compile = compile }, { __index = function() return anything end })
end

local function run(test) pcall(test) end

return function(path)
  local found = {}
  local environment = setmetatable({
    describe = function(_, body) run(body) end,
    it = function(_, test) run(test) end,
    pending = function() error "pending" end,
    print = function() end,
  }, { __index = _G })
  for _, name in ipairs { "setup", "teardown", "before_each", "after_each", "lazy_setup", "lazy_teardown" } do
    environment[name] = function() end
  end
  local moonwarp = recorder(found)
  local loaded = {}
  -- support files are loaded again, with the same moonwarp
  function environment.require(name)
    if name == "moonwarp" then return moonwarp end
    if name == "support.mwcc" or name == "support.child" then return anything end
    if not name:find "^support%." then return require(name) end
    if loaded[name] == nil then
      local chunk = assert(loadfile("spec/" .. name:gsub("%.", "/") .. ".lua", "t", environment))
      loaded[name] = chunk(name) or true
    end
    return loaded[name]
  end
  run(assert(loadfile(path, "t", environment)))
  return found
end
