-- cuRAND's host functions in C: a program prints the same lines with this library and with NVIDIA's, whose host
-- generators need no GPU; another program checks functions that need a device.
-- Lua 5.4 only: separate programs run.

local oracle = require "support.random.curand"

local home = os.getenv "MOONWARP_HOME"
local sanitized = os.getenv "MOONWARP_CONFIG" == "sanitize"

local function output_of(command)
  local pipe = assert(io.popen(command .. " 2>&1"))
  local text = pipe:read "*a"
  return text, pipe:close() == true
end

local folder
setup(function()
  folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir " .. folder))
end)
teardown(function() os.execute("rm -rf " .. folder) end)

-- Build a program of spec/support/c with a library; its path.
local function program(name, library, flags)
  local path = folder .. "/" .. name .. #library
  local text, ok = output_of(("cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -Isrc/host/include %s -o %s " ..
    "spec/support/c/%s.c %s -lm"):format(flags or "", path, name, library))
  assert.is_true(ok, text)
  return path
end

local function ours(name)
  return program(name, ("-L%s/lib -lmoonwarp_cuda -Wl,-rpath,%s/lib"):format(home, home),
    sanitized and "-fsanitize=address,undefined")
end

describe("curand.h", function()
  it("has NVIDIA's codes and numbers", function()
    if oracle.missing then return pending(oracle.missing) end
    local nvidia = program("curand", ("%s -Wl,-rpath,$PWD/%s"):format(oracle.path, oracle.path:match "^(.*)/"))
    local mine = ours "curand"
    for _, seed in ipairs { "", "1", "2", "3" } do
      local expected, ok = output_of(nvidia .. " " .. seed)
      assert.is_true(ok, expected)
      local text = output_of(mine .. " " .. seed)
      assert.equal(expected, text)
    end
  end)

  -- The whole comparison is of all kinds with a count of 10000000, and takes hours: MOONWARP_RANDOM_COUNT. Normal and
  -- log-normal numbers may be 2 units of their precision apart; normal doubles by the inverse of the distribution are
  -- equal. Of Poisson's numbers 1 in 10^5 may differ.
  local count = tonumber(os.getenv "MOONWARP_RANDOM_COUNT")
  local few = { "mtgp32", "philox", "sobol32" }
  local all = { "mtgp32", "philox", "xorwow", "mrg32k3a", "mt19937", "sobol32",
    "scrambled_sobol32", "sobol64", "scrambled_sobol64" }
  for _, kind in ipairs(count and all or few) do
    it("makes NVIDIA's numbers for seeds, offsets and orderings: " .. kind, function()
      if oracle.missing then return pending(oracle.missing) end
      local matrix = program("curand_matrix", "-ldl")
      local text, ok = output_of(table.concat({
        matrix, home .. "/lib/libmoonwarp_cuda.so", "$PWD/" .. oracle.path, ("%d"):format(count or 10000), kind,
      }, " "))
      assert.is_true(ok, text)
      if count then print(text) end
      local lines = 0
      for sort, streams, result in text:gmatch "%d%d%d ([%l ]+)%d*: (%d+) streams, ([^\n]+)" do
        lines = lines + 1
        local apart = tonumber(result:match ", apart by ([%d.]+)")
        local differ = tonumber(result:match "^(%d+) differ")
        if sort == "poisson " then
          assert(differ <= 1e-5 * streams * (count or 10000), text)
        elseif not apart then
          assert.equal(0, differ, text)
        else
          local by_inverse = sort == "normal double" and (kind:find "sobol" or kind == "mt19937" or kind == "mtgp32")
          assert(apart <= (by_inverse and 0 or 2), text)
        end
      end
      assert(lines >= 12, text)
    end)
  end

  it("generates in the device's memory, and makes tables", function()
    local text, ok = output_of(ours "curand_device")
    assert.is_true(ok, text)
    assert.matches("^%d+ checks, 0 failed\n$", text)
  end)

  it("has every function of moonwarp.curand, and each of its constants", function()
    local text = output_of "cat src/host/include/curand.h"
    local curand = require "moonwarp.curand"
    local names, missing = {}, {}
    for name in text:gmatch "[%w_]+" do names[name] = true end
    for name, value in pairs(curand) do
      if not names[name] and name:match "^curand%u" or type(value) == "number" and not names[name] then
        missing[#missing + 1] = name
      end
    end
    assert.same({}, missing)
    for name, value in text:gmatch "\n  (CURAND_[%w_]+) = (%d+)" do assert.equal(tonumber(value), curand[name]) end
    for name in text:gmatch "curandStatus_t (curand%u%w*)%(" do assert.equal("function", type(curand[name])) end
  end)
end)
