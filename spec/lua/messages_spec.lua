-- The bindings convert values. Messages about wrong values are made above them (lua/moonwarp/check/refusals.lua) or
-- below them (the core), so almost no sentence is in both.

-- Sentences that may stand twice: they are about the bindings themselves.
local allowed = {
  ["the library failed without saying why"] = "when the core has nothing to say",
  ["an array that was closed"] = "raw.describe, which both bindings have",
}

local LENGTH = 24 -- shorter strings are names and pieces

local function read(command)
  local pipe = assert(io.popen("cat $(" .. command .. ")"))
  local text = pipe:read "*a"
  pipe:close()
  return text
end

-- The strings of a source with words in them, as sets; neighbours that the language joins are one. Placeholders differ
-- between C and Lua, so each is a %.
local function sentences(text, joint)
  local set, pieces, last = {}, {}, nil
  local function finish()
    local whole = table.concat(pieces):gsub("%%[%d%.]*[zlh]*[%a]", "%%")
    if #whole >= LENGTH and whole:find " " then set[whole] = true end
    pieces = {}
  end
  for first, piece, past in text:gmatch '()"([^"\n]*)"()' do
    if last and not text:sub(last, first - 1):find(joint) then finish() end
    pieces[#pieces + 1] = piece
    last = past
  end
  finish()
  return set
end

describe("a sentence for the person who made a mistake", function()
  local c = read("find src/lua -name '*.c'"):gsub("/%*.-%*/", ""):gsub('\\"', "'")
  local ffi = read("find lua/moonwarp/ffi -name '*.lua'"):gsub("%-%-[^\n]*", ""):gsub('\\"', "'")

  it("stands in one of the bindings at most", function()
    local ours, theirs, both = sentences(c, "^%s*$"), sentences(ffi, "^%s*%.%.%s*$"), {}
    assert.is_true(ours["the library failed without saying why"]) -- the search finds what is there
    for sentence in pairs(ours) do
      if theirs[sentence] and not allowed[sentence] then both[#both + 1] = sentence end
    end
    table.sort(both)
    assert.same({}, both)
    for sentence in pairs(allowed) do
      assert.is_true(ours[sentence] and theirs[sentence], sentence .. " does not stand twice: it needs no excuse")
    end
  end)

  it("has a function in check/refusals.lua for each name by which a binding asks for one", function()
    require "moonwarp"
    local refusals = require "moonwarp.check.refusals"
    local asked, unused = {}, {}
    for name in c:gmatch 'mwl_refusal%(%s*L,%s*[%w>%-]+,%s*"([%l_]+)"' do asked[name] = "c" end
    for name in c:gmatch 'mwl_sentence%(%s*L,%s*"([%l_]+)"' do asked[name] = "c" end
    local by_ffi = {}
    for name in ffi:gmatch 'errors%.refuse%(?%s*"([%l_]+)"' do by_ffi[name] = true end
    for name in ffi:gmatch 'errors%.sentence%(%s*"([%l_]+)"' do by_ffi[name] = true end
    assert.is_truthy(next(asked))
    for name in pairs(asked) do
      assert.is_function(refusals[name], name)
      assert.is_true(by_ffi[name], name .. " is used by the C module only")
    end
    for name in pairs(refusals) do
      if not asked[name] or not by_ffi[name] then unused[#unused + 1] = name end
    end
    assert.same({}, unused)
  end)
end)
