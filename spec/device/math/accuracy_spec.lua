-- Device code's mathematics compared with MPFR: no function passes the maximum error that CUDA's guide allows it.
-- `make accuracy` runs the same program with more arguments and prints the table of docs/build/accuracy.md.
-- Lua 5.4 only: this tests the device headers.
-- CPU device only: about mwcc

local home = os.getenv("MOONWARP_HOME")

local function run(arguments)
  local pipe = assert(io.popen(("'%s/bin/accuracy' %s 2>&1"):format(home, arguments)))
  local text = pipe:read("*a")
  local ok, _, status = pipe:close()
  return text, ok and 0 or status
end

describe("a mathematical function", function()
  it("is as exact as CUDA's guide promises", function()
    local text, status = run("--points=1500")
    assert.is_true(status == 0, text)
    local functions = tonumber(text:match("(%d+) functions"))
    assert.is_true(functions > 150, text)
  end)

  it("has the same errors in scalar code", function()
    local names = "expf logf sinf cosf powf tanhf erff exp log sin cos tanh cbrtf __expf"
    local text, status = run("--points=500 --width=1 " .. names)
    assert.is_true(status == 0, text)
  end)
end)
