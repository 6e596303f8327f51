-- The notebook, run by Jupyter with the kernel ilua where `sh setup.sh --notebook` has installed them.
-- Lua 5.4 only: Jupyter starts the Lua that runs in it.
-- CPU device only: the notebook shows its output.

local files = require "support.files"

local programs = "build/notebook/bin"
local look = ("test -x %s/jupyter && %s/python -c 'import ilua' 2>/dev/null"):format(programs, programs)
local has_jupyter = os.execute(look)

describe("the notebook", function()
  it("runs, and shows arrays, charts, reports and errors", function()
    if not has_jupyter then return pending "there is no Jupyter with ilua (sh setup.sh --notebook)" end
    local folder = os.tmpname()
    os.remove(folder)
    assert(os.execute(("mkdir -p %s/runtime && cp examples/notebook.ipynb %s"):format(folder, folder)))
    local path = ("%s/%s"):format(os.getenv "PWD", programs)
    local environment = ("PATH='%s':\"$PATH\" HOME=%s JUPYTER_RUNTIME_DIR=%s/runtime ILUA_LUA_INTERPRETER='%s'")
      :format(path, folder, folder, arg[-1])
    local command = ("cd %s && %s jupyter nbconvert --execute --to html --embed-images notebook.ipynb 2>&1")
      :format(folder, environment)
    local pipe = assert(io.popen(command))
    local output = pipe:read "*a"
    assert.is_true(pipe:close(), output)
    local page = files.read(folder .. "/notebook.html")
    os.execute("rm -rf " .. folder)
    local pictures = select(2, page:gsub('<img alt="[^"]*" src="data:image/svg', ""))
    assert.equal(select(2, files.read "examples/notebook.ipynb":gsub("!%[[^%]]*%]%(", "")), pictures)
    assert.is_true(pictures >= 3)
    assert.matches("int {60, 80} on ", page, 1, true)
    assert.matches("race on tile[", page, 1, true)
    local sectors = {} -- of 32 floats that are a stride apart
    for stride = 1, 16 do
      local seen, count = {}, 0
      for lane = 0, 31 do
        local sector = lane * stride // 8
        if not seen[sector] then count = count + 1 end
        seen[sector] = true
      end
      sectors[stride] = count
    end
    assert.matches("\n" .. table.concat(sectors, " ") .. "\n", "\n" .. page:gsub("<[^>]*>", "\n"), 1, true)
    assert.matches("\226[\160-\163][\128-\191]", page) -- the chart in braille
    assert.matches("kernel shift read a[8], and a ends with [7]: it has 8 elements of 4 bytes; kernel.cu:3", page,
      1, true)
  end)
end)
