-- Lua 5.4 only: the page shows what that prints.
-- The session in docs/learn/debugging.md is what the prompt of mw.debug shows: it is typed and compared.
-- CPU device only: no other device can watch launches

local files = require "support.files"

local PROMPTS = { "^%[%d+%]> ", "^ *>> ", "^%(mw%) " }

local function prompt_of(line)
  for _, pattern in ipairs(PROMPTS) do
    local prompt = line:match(pattern)
    if prompt then return prompt end
  end
end

-- What is typed in a session, and what is printed, in which no typed text is echoed.
local function split(session)
  local typed, printed = {}, {}
  for line in session:gmatch "([^\n]*)\n" do
    local prompt = prompt_of(line)
    if prompt then typed[#typed + 1] = line:sub(#prompt + 1) end
    printed[#printed + 1] = prompt or line .. "\n"
  end
  return table.concat(typed, "\n") .. "\n", table.concat(printed)
end

describe("docs/learn/debugging.md", function()
  it("shows a session as it is", function()
    local typed, printed = split(files.read "docs/learn/debugging.md":match "\n```text\n(.-)```")
    local path = os.tmpname()
    files.write(path, typed)
    local code = 'os.exit(require "moonwarp.repl".main { [0] = "moonwarp", "-q" })'
    local pipe = io.popen(("TERM=dumb NO_COLOR=1 '%s' -e '%s' < '%s' 2>&1"):format(arg[-1], code, path))
    local output = pipe:read "*a":gsub("%(compiled in [^\n]*\n", ""):gsub("%[%d+%]> \n$", "")
    pipe:close()
    os.remove(path)
    assert.equal(printed, output)
  end)
end)
