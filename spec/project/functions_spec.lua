-- The table of CUDA's functions: it is complete, all its functions exist, and each is tested.
-- Lua 5.4 only: this does not depend on the binding.

local page = dofile "docs/use/functions.lua"

local function sorted(list)
  table.sort(list)
  return list
end

describe("the table of CUDA's functions", function()
  local list = page.functions()

  it("agrees with its sources: make functions writes it", function()
    local file = assert(io.open "docs/use/functions.md")
    local text = file:read "*a"
    file:close()
    assert.equal(page.text(list), text)
  end)

  it("has every function once, and none that there is not", function()
    for _, api in ipairs(page.apis) do
      local module, listed, wrong = require(api.name), {}, {}
      for _, entry in ipairs(list) do
        if entry.api == api then
          if listed[entry.name] then wrong[#wrong + 1] = entry.name .. " is listed twice" end
          if type(module[entry.name]) ~= "function" then wrong[#wrong + 1] = entry.name .. " is not there" end
          listed[entry.name] = true
        end
      end
      for name, value in pairs(module) do
        if name:find "^cu" and type(value) == "function" and not listed[name] then
          wrong[#wrong + 1] = name .. " is not listed"
        end
      end
      assert.same({}, sorted(wrong))
    end
  end)

  it("names a test of every function that works and of every error", function()
    assert.same({}, page.untested(list))
  end)

  it("has functions of every section of the appendices", function()
    for _, api in ipairs(page.apis) do
      local sections, found = {}, 0
      for _, entry in ipairs(list) do
        if entry.api == api and entry.guide then
          assert.matches("^" .. api.guide .. "%.%d+$", entry.guide)
          if not sections[entry.guide] then found = found + 1 end
          sections[entry.guide] = true
        end
      end
      assert.equal(api.guide == "D" and 10 or 11, found)
    end
  end)

  it("gives a reason where a function refuses, and the error is the one for that", function()
    for _, entry in ipairs(list) do
      if entry.refuses then
        assert.matches("%w %w", entry.refuses)
        local code = entry.errors[1].code:lower():gsub("_", "")
        assert.is_truthy(code:find "notsupported" or code:find "peeraccess", entry.name .. " refuses with " .. code)
      end
    end
  end)
end)
