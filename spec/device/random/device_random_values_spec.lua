-- Every function of curand_kernel.h that one thread can call, compared with values of NVIDIA's: all generators,
-- distributions and jumps. Words, uniform, Poisson and discrete numbers are equal.
-- Lua 5.4 only: this tests the compiler and device headers.
-- CPU device only: the values are those of a host's sine and logarithm

-- By generator and function; functions that are called several times have a number.
local function read(lines)
  local list = {}
  for line in lines do
    local key, values = line:match "^([%w_]+ [%w_]+) ?(.*)"
    if key then
      local n = 1
      while list[key .. " " .. n] do n = n + 1 end
      list[#list + 1] = key .. " " .. n
      list[key .. " " .. n] = values
    end
  end
  return list
end

-- What spec/support/random/random_values.lua prints: MTGP32's rows are another program's.
local function ours_has(key) return not key:find "^mtgp" end

local function number(word)
  local bytes = word:gsub("%x%x", function(hex) return string.char(tonumber(hex, 16)) end)
  return (string.unpack(#word == 16 and ">d" or ">f", bytes))
end

-- In units in the last place of the largest number of the line.
local function difference(expected, got)
  local largest, worst, places = 0, 0, #expected:match "%x+" == 16 and 52 or 23
  for word in expected:gmatch "%x+" do largest = math.max(largest, math.abs(number(word))) end
  local next_word = got:gmatch "%x+"
  for word in expected:gmatch "%x+" do worst = math.max(worst, math.abs(number(word) - number(next_word()))) end
  return worst / 2.0 ^ (math.floor(math.log(largest, 2)) - places)
end

describe("cuRAND's device functions", function()
  local ours
  setup(function()
    local pipe = assert(io.popen "lua5.4 spec/support/random/random_values.lua")
    ours = read(pipe:lines())
    pipe:close()
  end)

  local theirs = read(io.lines "spec/data/random/device_functions.txt")
  for _, key in ipairs(theirs) do
    it("have NVIDIA's values: " .. key, function()
      if key:find " .*normal" and not key:find "discrete" then
        assert.is_true(difference(theirs[key], ours[key]) <= 2)
      else
        assert.equal(theirs[key], ours[key])
      end
    end)
  end

  local h100 = read(io.lines "spec/data/random/h100.txt")
  for _, key in ipairs(h100) do
    if ours_has(key) and not key:find "normal" then
      it("have an H100's values: " .. key, function()
        assert.equal(h100[key], ours[key])
      end)
    end
  end
end)
