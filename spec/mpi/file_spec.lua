-- Files that ranks read and write together, compared with the bytes that Lua reads.

local mpi = require "support.mpi.ranks"

-- What scripts begin with: a path that all ranks know, and the file's numbers as Lua reads them.
local prelude = [[
local path = comm:broadcast(comm.rank == 0 and os.tmpname() or nil)
local function numbers(format)
  local file = assert(io.open(path, "rb"))
  local text, list, at = file:read "*a", {}, 1
  file:close()
  while at <= #text do list[#list + 1], at = string.unpack(format, text, at) end
  return list
end
local r, n = comm.rank, comm.size
]]

describe("a file of several ranks", function()
  local test = mpi.tests(it, pending)

  test("is written and read in pieces", function(run)
    for _, ranks in ipairs(mpi.ranks) do
      mpi.assert_good(run(ranks, prelude .. [[
        local f = comm:open(path, "w+")
        local part = mw.full(5, r, "double")
        f:write_all(part, 5 * 8 * r)
        f:sync()
        assert(f:size() == 40 * n)
        local list = numbers "<d"
        assert(#list == 5 * n)
        for i, x in ipairs(list) do assert(x == math.floor((i - 1) / 5)) end
        local other = (r + 1) % n
        local back = mw.zeros({ 5, 2 }, "double")
        f:read_at(back[{ {}, 2 }], 40 * other)
        assert(back:sum() == 5 * other)
        comm:barrier()
        f:write_at(mw.full(1, 100 + r, "double"), 40 * r + 8)
        f:sync()
        local whole = f:read_all(mw.zeros(5 * n, "double"))
        assert(whole[5 * other + 2] == 100 + other and whole[5 * other + 1] == other)
        f:resize(16)
        assert(f:size() == 16)
        f:close()
        f:close()
        if r == 0 then os.remove(path) end
        io.write "good\n"
      ]]), ranks)
    end
  end)

  test("is an array of which each rank sees a part", function(run)
    for _, ranks in ipairs { 1, 2, 3, 4 } do
      mpi.assert_good(run(ranks, prelude .. [[
        -- Columns of a matrix after a head of 16 bytes; the last rank of three or more has none.
        local with = n > 2 and n - 1 or n
        local columns = r < with and 2 or 0
        local f = comm:open(path, "w+")
        local from = { 1, r < with and 2 * r + 1 or 1 }
        f:view { dtype = "int", shape = { 3, 2 * with }, from = from, count = { 3, columns }, offset = 16 }
        local mine = mw.zeros({ 3, columns }, "int")
        for i = 1, 3 do for j = 1, columns do mine:set(i, j, 10 * i + 2 * r + j) end end
        f:write_all(mine)
        f:sync()
        local back = mw.zeros({ 3, columns }, "int")
        f:read_all(back)
        for i = 1, 3 do for j = 1, columns do assert(back:get(i, j) == mine:get(i, j)) end end
        if columns > 0 then assert(f:read_at(mw.zeros(1, "int"), 3)[1] == 20 + 2 * r + 2) end
        f:view()
        local list = numbers "<i4"
        assert(#list == 4 + 6 * with)
        for i = 1, 3 do for j = 1, 2 * with do assert(list[4 + (i - 1) * 2 * with + j] == 10 * i + j) end end
        assert(f:read_all(mw.zeros(1, "int"), 16)[1] == 11)
        f:close()
        if r == 0 then os.remove(path) end
        io.write "good\n"
      ]]), ranks)
    end
  end)

  test("has a place that all ranks share", function(run)
    mpi.assert_good(run(3, prelude .. [[
      local f = comm:open(path, "w+")
      f:write_ordered(mw.full(r + 1, r, "int"))
      f:sync()
      local list = numbers "<i4"
      assert(table.concat(list, " ") == "0 1 1 2 2 2")
      comm:barrier()
      f:write_shared(mw.full(1, 7, "int"))
      f:sync()
      list = numbers "<i4"
      assert(#list == 9 and list[7] + list[8] + list[9] == 21)
      f:close()
      local g = comm:open(path)
      local piece = g:read_ordered(mw.zeros(2, "int"))
      assert(piece[1] == ({ 0, 1, 2 })[r + 1] and piece[2] == ({ 1, 2, 2 })[r + 1])
      local one = comm:allgather(g:read_shared(mw.zeros(1, "int")))
      assert(one:sum() == 21)
      g:close()
      if r == 0 then os.remove(path) end
      io.write "good\n"
    ]]), 3)
  end)

  test("that is not there, ends too early or is closed is an error by name", function(run)
    local result = run(2, prelude .. [[
      local function try(f)
        local ok, err = pcall(f)
        if comm.rank == 0 then io.write(tostring(ok), " ", tostring(err.kind), " ", tostring(err), "\n") end
      end
      try(function() comm:open "/nowhere/file" end)
      try(function() comm:open(path, "q") end)
      try(function() comm:open(path, "x") end)
      local f = comm:open(path, "w+")
      f:write_all(mw.zeros(3), 12 * r)
      f:sync()
      try(function() f:read_at(mw.zeros(9)) end)
      try(function() f:read_at(mw.zeros(2), -1) end)
      try(function() f:view { dtype = "float", shape = { 4 }, from = { 3 }, count = { 3 } } end)
      f:view { dtype = "double", shape = { 3 }, from = { 1 }, count = { 3 } }
      try(function() f:read_at(mw.zeros(1)) end)
      f:close()
      try(function() f:size() end)
      if r == 0 then os.remove(path) end
    ]])
    for _, text in ipairs {
      "io [^\n]*:%d+: /nowhere/file: opening: [^\n]*",
      'usage [^\n]*:%d+: comm:open: a mode is "r", "r%+", "w", "w%+", "a%+" or "x", got the string "q"',
      "io [^\n]*:%d+: [^\n]+: opening: [^\n]*",
      "io [^\n]*:%d+: [^\n]+: 6 of 9 elements were read: the file ends there",
      "file:read_at: the offset is the number %-1; it counts from 0",
      "axis 1 has 4 elements, and the view 3 from element 3 on",
      "elements of 4 bytes in a view of elements of 8 bytes",
      "was closed",
    } do assert.matches("false [^\n]*" .. text, result.output) end
    assert.is_true(result.ok, result.output)
  end)
end)
