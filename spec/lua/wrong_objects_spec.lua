-- Methods called with wrong objects: freed ones, and ones of another class. For any value as any argument, the script
-- gets a result or one of moonwarp's errors, and the process lives.

local run = require "support.child"

-- Makes one object of each class, and calls every method of every class with each object, open and closed, as the
-- receiver, the next argument and the one after it; and reads every property.
local script = [==[
local mw = require "moonwarp"
local raw = require "moonwarp.binding"
local m = mw.compile [[
  struct pair { int a; float b; };
  __device__ int total;
  __global__ void add(int *p) { p[threadIdx.x] += 1; }
  __global__ void use(pair p) {}
]]
m.add(1, 32)(mw.zeros(32, "int"))
local make = {
  device = mw.device,
  array = function() return mw.zeros(8, "int") end,
  module = function() return mw.compile "__global__ void empty() {}" end,
  kernel = function() return m.add end,
  symbol = function() return m:symbol "total" end,
  launch = function() return m.add(1, 8) end,
  bound = function() return m.add(1, 8):bind(mw.zeros(8, "int")) end,
  graph = mw.graph,
  graph_exec = function()
    local g = mw.graph()
    g:call(nil, function() end)
    return g:instantiate()
  end,
  stream = mw.stream,
  event = mw.event,
  dtype = function() return m:dtype "pair" end,
  host = function() return mw.pinned(8):host() end,
  pitched = function() return mw.pitched(8, 4, "float") end,
  cuda_array = function() return mw.cuda_array { kind = "2d", width = 8, height = 8, dtype = "float" } end,
  texture = function() return mw.texture(mw.zeros { 8, 8 }) end,
  surface = function() return mw.surface(mw.cuda_array { kind = "2d", width = 8, height = 8, dtype = "float" }) end,
}
local function sorted(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end
local kinds = sorted(make)

local function closed(kind)
  local object = make[kind]()
  local ok = pcall(function() object:free() end)
  return ok and object or nil
end

local calls, bad = 0, {}
local function try(what, f, ...)
  io.stdout:write(what, "\n")
  local ok, err = pcall(f, ...)
  calls = calls + 1
  if not ok and getmetatable(err) ~= raw.error and what:find ":" then bad[#bad + 1] = what .. ": " .. tostring(err) end
end

-- What waits for a place of its own in the process, or ends it on purpose.
local left_out = { map = true, unmap = true, reset = true }

for _, class in ipairs(sorted(raw.classes)) do
  for _, name in ipairs(sorted(raw.classes[class])) do
    local method = raw.classes[class][name]
    if make[class] and not left_out[name] and name:sub(1, 2) ~= "__" then
      for _, kind in ipairs(kinds) do
        try(class .. "." .. name .. "(" .. kind .. ")", method, make[kind]())
        local gone = closed(kind)
        if gone ~= nil then try(class .. "." .. name .. "(closed " .. kind .. ")", method, gone) end
        for place = 1, 2 do
          local before = place == 1 and "" or "nil, "
          local function with(state, object)
            local what = ("%s:%s(%s%s%s)"):format(class, name, before, state, kind)
            if place == 1 then
              try(what, method, make[class](), object)
            else
              try(what, method, make[class](), nil, object)
            end
          end
          with("", make[kind]())
          if closed(kind) ~= nil then with("closed ", closed(kind)) end
        end
      end
    end
  end
  for _, name in ipairs(sorted(raw.properties[class])) do
    local function read(object) return object[name] end
    if make[class] then
      try(class .. "." .. name, read, make[class]())
      if closed(class) ~= nil then try(class .. "." .. name .. ", closed", read, closed(class)) end
    end
  end
end
io.stdout:write("ALIVE after ", calls > 1000 and "all" or "too few", " calls\n")
for _, line in ipairs(bad) do print("RAW " .. line) end
]==]

-- What wants no object there at all, but a number, a string or a table: other specs are about those messages.
local wants_values = {
  ["array:reshape"] = true, ["array:sub"] = true, ["symbol:set_bytes"] = true, ["texture:configure"] = true,
  ["cuda_array:array"] = true, ["cuda_array:bytes"] = true, ["cuda_array:totable"] = true,
}

describe("every method, given every object, open and closed,", function()
  it("answers or fails with an error of ours, and the process lives", function()
    local result = run { script, seconds = 120 }
    local last = result.output:sub(-400)
    assert.is_true(result.ok, last)
    assert.matches("ALIVE after all calls", result.output, 1, true)
    local raw = {}
    for line in result.output:gmatch "RAW ([^\n]*)" do
      if not wants_values[line:match "^([%w_]+:[%w_]+)"] then raw[#raw + 1] = line end
    end
    assert.same({}, raw)
  end)
end)

describe("an event that was freed", function()
  for _, use in ipairs { "s:wait(e)", "s:record(e)", "e:record(s)" } do
    it("is refused by " .. use, function()
      local result = run(([[
        local mw = require "moonwarp"
        local s, e = mw.stream(), mw.event()
        e:free()
        local ok, err = pcall(function() %s end)
        print(ok, err.code, err.message)
      ]]):format(use))
      assert.matches("^false\tcudaErrorInvalidValue\t[%w:]+: this event was closed", result.output)
    end)
  end

  it("is recognised as a launch's stream argument, and nowhere else", function()
    local mw = require "moonwarp"
    local s, e = mw.stream(), mw.event()
    local ok, err = pcall(function() s:wait(3, e) end)
    assert.is_false(ok)
    assert.matches("s:wait wants an event .-got the number 3", err.message)
  end)
end)
