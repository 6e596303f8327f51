-- mwcc with its code in execution order (src/mwcc/layout) makes the same modules as before.
-- Lua 5.4 only: the compiler is tested.
-- CPU device only: about the program

local files = require "support.files"
local mwcc = require "support.mwcc"

local linked = os.getenv "MOONWARP_HOME" .. "/layout/mwcc"

-- The bytes of the program's output for a source.
local function made(program, path, options)
  local out = os.tmpname()
  local pipe = assert(io.popen(("'%s' %s '%s' -o %s 2>&1"):format(program, options, path, out)))
  local messages = pipe:read "*a"
  pipe:close()
  assert.equal("", messages)
  local bytes = files.read(out)
  os.remove(out)
  return bytes
end

describe("mwcc", function()
  it("contains no code that records its functions for that order", function()
    local program = files.read(mwcc.program)
    assert.is_truthy(program:find("vectorize", 1, true))
    assert.is_nil(program:find("ENTERED_FROM", 1, true))
  end)
end)

describe("mwcc with its code in execution order", function()
  -- BOLT keeps the original code under this name.
  if not files.read(mwcc.program):find(".bolt.org.text", 1, true) then
    pending "has its code as it was linked here: there is no BOLT, or too little memory for it"
    return
  end

  it("is another program", function() assert.is_false(files.read(linked) == files.read(mwcc.program)) end)

  it("makes the same modules", function()
    local path = "src/mwcc/layout/kernels.cu"
    for _, options in ipairs { "", "--mcpu=x86-64-v4", "--mcpu=x86-64-v2 --check-memory", "--launch=trace:16x16x1",
      "--launch=functions:256x1x1 --mcpu=x86-64-v4", "--target=aarch64-linux-gnu --emit=obj" } do
      assert.is_true(made(linked, path, options) == made(mwcc.program, path, options), options)
    end
  end)

  it("prints the same errors", function()
    local path = os.tmpname()
    files.write(path, "__global__ void f(int *p) { *q = 1; }")
    local outputs = {}
    for i, program in ipairs { linked, mwcc.program } do
      local pipe = assert(io.popen(("'%s' %s -x 2>&1; '%s' -o - - < %s 2>&1"):format(program, path, program, path)))
      outputs[i] = pipe:read "*a"
      pipe:close()
    end
    os.remove(path)
    assert.is_truthy(outputs[1]:find("use of undeclared identifier 'q'", 1, true))
    assert.equal(outputs[1], outputs[2])
  end)
end)
