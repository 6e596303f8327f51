-- CUDA's constants are in the headers for C hosts and in the Lua interfaces, which cannot read headers. A constant in
-- both has one value, and each device attribute and result code of the headers is in Lua as well.

local runtime = require "moonwarp.runtime"
local driver = require "moonwarp.driver"

local FOLDER = "src/host/include/"

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return (text:gsub("/%*.-%*/", ""))
end

local function headers()
  local pipe = assert(io.popen("ls " .. FOLDER .. "*.h"))
  local list = {}
  for path in pipe:lines() do list[#list + 1] = path end
  pipe:close()
  return list
end

-- Enumerators and macros of CUDA's names with plain numbers: name -> number.
local function constants()
  local found = {}
  for _, path in ipairs(headers()) do
    local text = read(path)
    for name, number in text:gmatch "%f[%w_](c?u?d?C?U?[Uu]?[%w_]+) = (0?x?%x+)%f[%W]" do
      if name:find "^CU" or name:find "^cuda" then found[name] = tonumber(number) end
    end
    for name, number in text:gmatch "#define%s+(C?c?[Uu]%w[%w_]+)%s+(0?x?%x+)%s*\n" do
      if name:find "^CU" or name:find "^cuda" then found[name] = tonumber(number) end
    end
  end
  for number, name in read(FOLDER .. "device_attributes.h"):gmatch "X%((%d+), %w+, ([%w_]+)," do
    found["CU_DEVICE_ATTRIBUTE_" .. name] = tonumber(number)
  end
  for name, number in read(FOLDER .. "cuda_results.h"):gmatch "X%((CUDA_[%w_]+), (%d+)," do
    found[name] = tonumber(number)
  end
  return found
end

-- What a library has under a name, without the error for names that it does not have.
local function value_of(name) return rawget(driver, name) or rawget(runtime, name) end

describe("a constant of CUDA", function()
  local all = constants()

  it("has the same value in the headers and in Lua", function()
    local compared, differ = 0, {}
    for name, number in pairs(all) do
      local value = value_of(name)
      if type(value) == "number" then
        compared = compared + 1
        if value ~= number then differ[#differ + 1] = ("%s: %s in C, %s in Lua"):format(name, number, value) end
      end
    end
    table.sort(differ)
    assert.same({}, differ)
    assert.is_true(compared > 150, compared .. " were compared")
  end)

  it("that is a device attribute or a result code is in both", function()
    local missing = {}
    for name in pairs(all) do
      local wanted = name:find "^CU_DEVICE_ATTRIBUTE_" or name:find "^CUDA_ERROR_" or name == "CUDA_SUCCESS"
      if wanted and type(value_of(name)) ~= "number" then missing[#missing + 1] = name end
    end
    table.sort(missing)
    assert.same({}, missing)
  end)

  it("that is a device attribute stands for the same field of cudaDeviceProp in both", function()
    local attributes, count = require("moonwarp.runtime.properties").attributes, 0
    local pattern = "X%((%d+), %w+, [%w_]+, (%w+)%[?(%d*)%]?%)"
    for number, field, index in read(FOLDER .. "device_attributes.h"):gmatch(pattern) do
      count = count + 1
      local wanted = { field, index ~= "" and index + 1 or nil }
      assert.same(wanted, attributes[tonumber(number)], "attribute " .. number)
    end
    assert.is_true(count > 50)
  end)
end)
