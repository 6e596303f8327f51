-- The table of docs/use/from_numpy.md: each piece of its second column occurs in a case whose value is NumPy's
-- (spec/data/arrays/names.lua, which names_spec.lua runs), or is run here.

local assert = require "luassert"
local mw = require "moonwarp"

local function contents(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end

-- The cases' expressions, a line for each.
local function cases()
  local list = {}
  for _, case in ipairs(dofile "spec/data/arrays/names.lua") do list[#list + 1] = case[1] end
  return table.concat(list, "\n")
end

-- The pieces of the second column, quoted as the cases are, by row.
local function rows()
  local list = {}
  for first, second in contents "docs/use/from_numpy.md":gmatch "\n| (`.-`[^|]-) | (.-) |" do
    local row = { numpy = first }
    for piece in second:gmatch "`(.-)`" do row[#row + 1] = (piece:gsub('"', "'")) end
    list[#list + 1] = row
  end
  return list
end

-- What NumPy has no value for: each returns true.
local here = {
  ["a.shape"] = function() return table.concat(mw.zeros(2, 3).shape, " ") == "2 3" end,
  ["a.dtype"] = function() return mw.zeros(2).dtype == "float" end,
  ["a // b"] = function()
    if not _VERSION:find "5%.[3-9]" then return true end
    return load "local mw = ... return (mw.array {7, -7} // mw.array {2, 2})[2] == -4"(mw)
  end,
  ["a:sum { keys = k }"] = function() return mw.array { 1, 2, 4 }:sum { keys = { 5, 5, 7 } }[1] == 3 end,
  ["mw.rand(3)"] = function() return mw.rand(3).count == 3 end,
  ["mw.randn(3)"] = function() return mw.randn(3).count == 3 end,
  ["mw.randint(low, high, 3)"] = function() return mw.randint(4, 4, 3)[3] == 4 end,
  ["mw.load_npy 'x.npy'"] = "file", ["mw.save_npy('x.npy', a)"] = "file", ["mw.load_npz 'x.npz'"] = "file",
  ["mw.save_npz('x.npz', { a = a })"] = "file", ["mw.read_csv('x.csv', { header = true })"] = "file",
}
local function files() -- as the rows write them, in a folder of their own
  local folder = os.tmpname()
  os.remove(folder)
  assert(os.execute("mkdir " .. folder))
  local function at(name) return folder .. "/" .. name end
  local a = mw.array { 1, 2 }
  mw.save_npy(at "x.npy", a)
  mw.save_npz(at "x.npz", { a = a })
  local file = assert(io.open(at "x.csv", "w"))
  file:write "one,two\n3,4\n"
  file:close()
  local table_of, names = mw.read_csv(at "x.csv", { header = true })
  local is_right = mw.load_npy(at "x.npy")[2] == 2 and mw.load_npz(at "x.npz").a[1] == 1 and names[2] == "two"
    and table_of:get(1, 2) == 4
  os.execute("rm -r " .. folder)
  return is_right
end

describe("from NumPy:", function()
  local all = cases()
  local function occurs(piece)
    if all:find(piece, 1, true) then return true end
    -- A bare name stands for the piece before it with this name.
    return piece:match "^[%a_][%w_]*$" and (all:find("[.:]" .. piece .. "[ %(]") or all:find("%." .. piece .. "$"))
  end
  local list = rows()

  it("the table has rows", function() assert.is_true(#list > 55) end)

  for _, row in ipairs(list) do
    it(row.numpy, function()
      for _, piece in ipairs(row) do
        local own = here[piece]
        local is_right = own == "file" and files() or type(own) == "function" and own() or not own and occurs(piece)
        assert.is_true(not not is_right, piece .. " has no case")
      end
    end)
  end
end)
