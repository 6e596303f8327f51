-- The compilers of the CPU device and of GPUs (mwcc for compute capability 9.0; NVRTC if it is there) compile short
-- programs (support/constructs) with one construct each. Each compiler accepts what docs/use/language.md says. Other
-- specs test the results.
-- Lua 5.4 only: this does not depend on the binding.

local paths = require "support.compile.paths"
local read = require("support.files").read

local groups = { require "support.constructs.language", require "support.constructs.hardware" }

-- The compilers, as the programs name them, and by the columns of the table.
local compilers = { { "cpu", "cpu" }, { "mwcc", "mwcc for a GPU" }, { "nvrtc", "NVRTC alone" } }

local function programs()
  local lines = {}
  for _, group in ipairs(groups) do
    for _, construct in ipairs(group) do
      local name, text = construct[1], construct[2]
      if not text:find "__global__" then
        text = "__global__ void k(int *p, float x, double y) {\n" .. text .. "\n}"
      end
      lines[#lines + 1] = ("try(%q, %q)"):format(name, text)
    end
  end
  return [==[
    mw.warnings(false)
    local function try(name, text)
      local m, why = mw.try_compile { source = text, options = { "-O1" } }
      print(name .. "\t" .. (m and "compiled" or why.message:match "[^\n]*"))
    end
  ]==] .. table.concat(lines, "\n")
end

-- The rows of the table on that page: name -> { compiler = "yes" or "no" }.
local function rows()
  local found = {}
  for name, cpu, nvrtc, mwcc in read("docs/use/language.md"):gmatch "\n| (%C-) | (%l+) | (%l+) | (%l+) |%f[\n]" do
    assert(not found[name], name .. " has two rows")
    found[name] = { cpu = cpu, nvrtc = nvrtc, mwcc = mwcc }
  end
  return found
end

describe("constructs of CUDA C", function()
  it("are taken by the compilers, or refused with a reason", function()
    local script = programs()
    for _, compiler in ipairs(compilers) do
      local key, path = compiler[1], compiler[2]
      local output, results, wrong = paths.outputs(script, { path })[path], {}, {}
      for name, result in (output or ""):gmatch "([^\t\n]+)\t([^\n]*)" do results[name] = result end
      for _, group in ipairs(output and groups or {}) do
        for _, construct in ipairs(group) do
          local name, expected = construct[1], construct.refused and construct.refused[key] or "compiled"
          local result = results[name] or output
          if not result:find(expected, 1, true) then wrong[#wrong + 1] = name .. ": " .. result end
        end
      end
      assert.same({}, wrong, path)
    end
    if not paths.nvrtc then pending "NVRTC is not on this machine" end
  end)

  it("are the rows of the table in docs/use/language.md", function()
    local table_rows, count = rows(), 0
    for _, group in ipairs(groups) do
      for _, construct in ipairs(group) do
        local name, refused = construct[1], construct.refused or {}
        local row = assert(table_rows[name], "the page has no row for " .. name)
        for _, compiler in ipairs(compilers) do
          assert.equal(refused[compiler[1]] and "no" or "yes", row[compiler[1]], name .. ", " .. compiler[1])
        end
        table_rows[name] = nil
        count = count + 1
      end
    end
    assert.is_true(count > 50)
    assert.is_nil(next(table_rows))
  end)
end)
