-- The results of the divergence analysis by marked lines of a source, from the output of mwcc --dump.
--   local dump = shapes(source, width, what)   -- 16 lanes and --dump=shapes unless others are given
--   dump.accesses "mark"                       -- of the line that ends in //@mark

local run = require("support.mwcc").run

-- The lines of `source` that end in a comment //@name, by name.
local function marks_of(source)
  local marks, number = {}, 0
  for line in (source .. "\n"):gmatch("(.-)\n") do
    number = number + 1
    local name = line:match("//@(%w+)%s*$")
    if name then marks[name] = number end
  end
  return marks
end

-- The output of --dump=shapes, as functions of a line's mark.
local function shapes(source, width, what)
  local output = run(source, ("--verify --dump=%s --width=%d"):format(what or "shapes", width or 16))
  assert(output:find("^kernel "), output)
  local marks, facts = marks_of(source), {}
  for line in output:gmatch("[^\n]+") do
    local at, found, text = line:match("^ *(%d+):%d+  (.-)   +(.+)$")
    if at then facts[#facts + 1] = { line = tonumber(at), found = found, text = text } end
  end
  local function at(mark, want)
    local line, list = assert(marks[mark], "no line is marked " .. mark), {}
    for _, fact in ipairs(facts) do
      local word = fact.line == line and want(fact)
      if word then list[#list + 1] = word end
    end
    return list
  end
  local dump = { output = output }
  -- "contiguous load", "gather" ..., in the order of the code
  function dump.accesses(mark) return at(mark, function(fact) return fact.found:match("%((.-)%)$") end) end
  -- "divergent" or "uniform", for each branch of the line
  function dump.branches(mark) return at(mark, function(fact) return fact.found:match("^(%w+) branch$") end) end
  -- "block", "raced", "gang", "affine", "varying": the shape of the value that the line stores
  function dump.stored(mark)
    local text = at(mark, function(fact) return fact.text:match("^store %S+ (%%[%w_.]+),") end)[1]
    assert(text, output)
    for line in output:gmatch("[^\n]+") do
      local shape = line:match("^ *[%d:]*  (%w+).-   +" .. text:gsub("[%%.]", "%%%0") .. " = ")
      if shape then return shape end
    end
  end
  return dump
end

return shapes
