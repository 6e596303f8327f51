-- mwcc --check: mistakes in a source as JSON, for editors.
-- Lua 5.4 only: the program is what is tested.
-- CPU device only: about mwcc

local mwcc = require "support.mwcc"

-- What --check prints of a text, and its exit status.
local function check(text, options)
  return mwcc.try(text, "--check " .. (options or ""))
end

describe("mwcc --check", function()
  it("has nothing to say of a good source, and writes nothing", function()
    local output, status = check "__global__ void f(float *x) { *x = 1; }"
    assert.equal("[]\n", output)
    assert.equal(0, status)
    assert.is_nil(io.open "-.d")
  end)

  it("tells where a mistake stands", function()
    local output, status = check "__global__ void f(float *x) {\n  x[0] = q;\n}\n"
    assert.equal('[{"file": "-", "line": 2, "column": 10, "severity": "error", ' ..
      '"message": "use of undeclared identifier \'q\'"}]\n', output)
    assert.equal(1, status)
  end)

  it("tells several, warnings and notes too, an object a line", function()
    local output, status = check "#warning careful\nint f(int);\n__device__ int g() { return f(1, 2); }\nint h = zz;\n"
    local severities = {}
    for line in output:gmatch "[^\n]+" do severities[#severities + 1] = line:match '"severity": "(%a+)"' end
    assert.same({ "warning", "error", "note", "error" }, severities)
    assert.matches('"message": "careful %[%-W#warnings%]"', output)
    assert.equal(1, status)
  end)

  it("escapes what JSON cannot have in a string", function()
    local output = check '#error a "quoted" \\ word\n'
    assert.matches([["message": "a \"quoted\" \\ word"]], output, 1, true)
  end)

  it("knows macros and folders", function()
    assert.equal("[]\n", (check("#ifndef N\n#error no N\n#endif\n", "-DN=1")))
    assert.matches("no N", (check "#ifndef N\n#error no N\n#endif\n"))
  end)
end)
