-- mwcc --check: diagnostics as JSON, for editors.
-- Lua 5.4 only: the program mwcc is tested.
-- CPU device only: about mwcc

local mwcc = require "support.mwcc"

-- The output of --check for a source, and its exit status.
local function check(text, options)
  return mwcc.try(text, "--check " .. (options or ""))
end

describe("mwcc --check", function()
  it("prints an empty list for a correct source, and writes no file", function()
    local output, status = check "__global__ void f(float *x) { *x = 1; }"
    assert.equal("[]\n", output)
    assert.equal(0, status)
    assert.is_nil(io.open "-.d")
  end)

  it("prints an error's position", function()
    local output, status = check "__global__ void f(float *x) {\n  x[0] = q;\n}\n"
    assert.equal('[{"file": "-", "line": 2, "column": 10, "severity": "error", ' ..
      '"message": "use of undeclared identifier \'q\'"}]\n', output)
    assert.equal(1, status)
  end)

  it("prints several errors, warnings and notes, one object per line", function()
    local output, status = check "#warning careful\nint f(int);\n__device__ int g() { return f(1, 2); }\nint h = zz;\n"
    local severities = {}
    for line in output:gmatch "[^\n]+" do severities[#severities + 1] = line:match '"severity": "(%a+)"' end
    assert.same({ "warning", "error", "note", "error" }, severities)
    assert.matches('"message": "careful %[%-W#warnings%]"', output)
    assert.equal(1, status)
  end)

  it("escapes characters that JSON strings cannot have", function()
    local output = check '#error a "quoted" \\ word\n'
    assert.matches([["message": "a \"quoted\" \\ word"]], output, 1, true)
  end)

  it("takes -D and -I", function()
    assert.equal("[]\n", (check("#ifndef N\n#error no N\n#endif\n", "-DN=1")))
    assert.matches("no N", (check "#ifndef N\n#error no N\n#endif\n"))
  end)
end)
