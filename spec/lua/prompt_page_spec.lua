-- Lua 5.4 only: the page shows what that prints.
-- The first session in docs/learn/prompt.md is what the prompt shows: it is played in a pseudo-terminal and compared.
-- CPU device only: the page shows its output.

local session = require "support.prompt_session"
local read = require("support.files").read

describe("docs/learn/prompt.md", function()
  it("shows the prompt's output (make prompt writes it)", function()
    local pty = os.tmpname()
    assert(os.execute(("cc -O1 -o '%s' spec/support/native/pty.c"):format(pty)))
    local played = session.play(pty, arg[-1])
    os.remove(pty)
    local page = read "docs/learn/prompt.md"
    assert.equal(page:match "\n```text\n(.-)```", played)
  end)
end)
