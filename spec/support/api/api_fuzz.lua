-- Random calls of the whole API with random arguments of every kind: a script for random_calls_spec.lua.
--   lua api_fuzz.lua seed calls log
-- The log holds the last calls. It ends with "done", or says what was wrong: a message of Lua's own, a changed array.

local seed, calls, log_path = tonumber(arg[1]), tonumber(arg[2]), arg[3]
local unpack = table.unpack or unpack -- luacheck: ignore 143
local random = math.random
math.randomseed(seed)

local mw = require "moonwarp"
mw.limit("memory", 256 * 2 ^ 20)
mw.limit("time", 2)
mw.on_print(function() end)
mw.warnings(function() end) -- of launches that are dropped
io.write = function() end -- luacheck: ignore 122 (pictures)

local function pick(list) return list[random(#list)] end

-- ---- the log: a ring of the last calls, written before each so that a crash leaves it ----

local log = assert(io.open(log_path, "w"))
log:setvbuf "no"
local written = 0

local function note(text)
  if written > 200 then
    log:seek("set", 0)
    written = 0
  end
  log:write(text:sub(1, 300), "\n")
  written = written + 1
end

-- ---- what is called ----

local module = mw.compile [[
struct pair { float x; int *q; };
__constant__ float gain; __device__ int counts[16]; __device__ pair both;
texture<float, 2, cudaReadModeElementType> img;
__global__ void one(int *p, int n) { if (threadIdx.x < n && threadIdx.x < 8) p[threadIdx.x] = n; }
__global__ void two(pair s, float4 v, double d, bool b, unsigned long long u) { if (b) counts[0] = d + v.x + u; }
]]

-- Never passed to a call, so that they must not change.
local witnesses = {}
for i = 1, 8 do witnesses[i] = mw.full(64, i, "int") end

local dtypes = { "float", "int", "uchar4", "double", "char", "float4", "half", "bool", "uchar", "longlong" }
local strings = { "", "\0", "cpu", "cpu:0", "x", ("y"):rep(300), "%s%n", "/nonexistent/f", "linear", "clamp", "one",
  "gain", "time", "2d", "8.0", "pair", "blocks" }
local keys = { "filter", "address", "dtype", "kind", "width", "height", "depth", "levels", "level", "to", "from", "x",
  "priority", "timing", "threads", "capability", "graphics", "cpu" }

local pool = {}

local function keep(object)
  if object ~= nil then pool[#pool < 60 and #pool + 1 or random(#pool)] = object end
end

local makers = {
  function() return mw.zeros(random(64), pick(dtypes)) end,
  function() return mw.zeros({ random(8), random(8) }, pick(dtypes)) end,
  mw.stream, mw.event, mw.graph, mw.device,
  function() return mw.pitched(random(8), random(8)) end,
  function() return mw.cuda_array { kind = pick { "2d", "cubemap" }, width = 8, height = 8, dtype = "float" } end,
  function() return mw.texture(mw.zeros { 8, 8 }) end,
  function() return mw.surface(mw.cuda_array { kind = "2d", width = 8, height = 8, dtype = "float" }) end,
  function() return module end,
  function() return module.one end,
  function() return module.two(1, 1) end,
  function() return module.one(1, 32):bind(mw.zeros(32, "int"), 3) end,
  function() return module:symbol(pick { "gain", "counts", "both" }) end,
  function() return module:dtype "pair" end,
  function() return mw.zeros(8, "int"):host() end,
  function() return mw.capture(function() module.one(1, 32)(mw.zeros(32, "int"), 3) end):instantiate() end,
}

local function refill()
  for _, make in ipairs(makers) do
    local ok, object = pcall(make)
    if ok then keep(object) end
  end
end

-- ---- arguments ----

local value

local plain = {
  function() return nil end,
  function() return pick { 0 / 0, 1 / 0, -1 / 0, 0.5, -1.5, 1e308 } end,
  function() return pick { 2 ^ 31, 2 ^ 32, 2 ^ 53, 2 ^ 62, 2 ^ 64, -2 ^ 63, 2 ^ 40 } end,
  function() return random(0, 10) end,
  function() return random(-10, 100) end,
  function() return pick { true, false } end,
  function() return pick(strings) end,
  function() return pick(dtypes) end,
  function() return ("\1\2\3\4"):rep(random(0, 20)) end,
  function() return pick { function() error "callback" end, function(...) return ... end, mw.zeros } end,
  function() return io.stdout end,
  function() return coroutine.create(function() end) end,
}

local function tabled(depth)
  local t = {}
  for i = 1, random(0, 4) do t[i] = value(depth + 1) end
  if random(2) == 1 then t[pick(keys)] = value(depth + 1) end
  if random(20) == 1 then t[1] = t end
  return t
end

function value(depth)
  local r = random(10)
  if r <= 4 then return pick(pool) end
  if r == 5 and depth < 4 then return tabled(depth) end
  return pick(plain)()
end

local function describe(v)
  if type(v) == "string" then return ("%q"):format(v:sub(1, 24)) end
  return mw.type(v) or type(v) == "table" and "table" or tostring(v)
end

-- ---- calls ----

-- Functions that end the script's own device or take long; they are called rarely or never.
local never = { ["mw.doctor"] = true, ["mw.gl_buffer"] = true, ["mw.gl_image"] = true, ["mw.devices"] = true,
  ["device:reset"] = true, ["module:save"] = true, ["mw.limit"] = true, ["device:limit"] = true, ["mw.on_print"] = true,
  ["texture:describe"] = true, ["texture:configure"] = true, ["cuda_array:describe"] = true, -- the Lua layer's own
  ["mw.write_image"] = true, ["mw.try_write_image"] = true, ["mw.warnings"] = true, ["mw.check_memory"] = true }
local rarely = { ["mw.compile"] = true, ["mw.try_compile"] = true, ["mw.use"] = true, ["mw.try_use"] = true,
  ["array:free"] = true, ["array:show"] = true, ["array:plot"] = true }

local functions = {}
for name, f in pairs(mw) do
  if type(f) == "function" and not never["mw." .. name] then functions[#functions + 1] = name end
end
table.sort(functions)

local raw = require "moonwarp.binding"
local methods = {}
for class, list in pairs(raw.classes) do
  methods[class] = {}
  for name in pairs(list) do
    if not never[class .. ":" .. name] and not name:find "^__" then table.insert(methods[class], name) end
  end
  for name in pairs(raw.properties[class]) do table.insert(methods[class], name) end
  table.sort(methods[class])
end

-- The names of an object's methods; a class that is the Lua layer's own has them in its metatable.
local function methods_of(object, class)
  if not methods[class] then
    local index = (getmetatable(object) or {}).__index
    methods[class] = {}
    for name, method in pairs(type(index) == "table" and index or {}) do
      if type(method) == "function" and not name:find "^__" then table.insert(methods[class], name) end
    end
    table.sort(methods[class])
  end
  return methods[class]
end

-- A call to make: its name, and a function of the arguments.
local function choose()
  local r = random(10)
  if r <= 4 then
    local name = pick(functions)
    return "mw." .. name, mw[name]
  end
  local object = pick(pool)
  local class = mw.type(object)
  if r <= 8 and class and #methods_of(object, class) > 0 then
    local name = pick(methods_of(object, class))
    return class .. ":" .. name, function(...)
      local member = object[name]
      if type(member) == "function" then return member(object, ...) end
      return member
    end
  end
  local how = random(3)
  local words = { "index", "assign", "call" }
  return words[how] .. " " .. tostring(class), function(a, b)
    if how == 1 then return object[a] end
    if how == 2 then object[a] = b return end
    local launch = object(a, b)
    return launch
  end
end

-- Whether Lua itself raised the message, apart from errors of this file's own functions and its misuse of objects.
local function is_raw(err)
  if type(err) ~= "string" or err:find("callback", 1, true) then return false end
  if err:find "bad argument" or err:find "cannot convert" or err:find "stack overflow" then return true end
  return err:find "attempt to" ~= nil and not err:find("api_fuzz.lua", 1, true)
end

local function check_witnesses()
  pcall(mw.use, "cpu")
  pcall(mw.synchronize)
  pcall(mw.synchronize)
  for i, witness in ipairs(witnesses) do
    local ok, sum = pcall(witness.sum, witness)
    if not ok or sum ~= 64 * i then error("witness " .. i .. ": " .. tostring(sum), 0) end
  end
end

local succeeded, wrong = 0, {}
refill()
for i = 1, calls do
  local name, f = choose()
  if not rarely[name] or random(40) == 1 then
    local count, list, words = random(0, 4), {}, {}
    for k = 1, count do
      list[k] = value(0)
      words[k] = describe(list[k])
    end
    note(("%d %s(%s)"):format(i, name, table.concat(words, ", ")))
    local ok, result = pcall(f, unpack(list, 1, count))
    if ok then
      succeeded = succeeded + 1
      if mw.type(result) and mw.type(result) ~= "error" then keep(result) end
    elseif is_raw(result) then
      wrong[#wrong + 1] = ("call %d, %s: %s"):format(i, name, (result:gsub("\n.*", "")))
      note("  !! " .. result)
    end
  end
  if i % 500 == 0 then refill() end
  if i % 2000 == 0 then
    collectgarbage()
    check_witnesses()
  end
end
check_witnesses()
print(("seed %d: %d of %d calls succeeded"):format(seed, succeeded, calls))
for k = 1, math.min(#wrong, 20) do print(wrong[k]) end
print(#wrong == 0 and "done" or #wrong .. " messages of Lua's own")
