-- Tables for a terminal, or in Markdown for docs/build/benchmarks.md.

local sheet = {}
local Table = {}
Table.__index = Table

sheet.markdown = false

-- A table with these column titles; the first column is text, the others are aligned to the right.
function sheet.new(...) return setmetatable({ rows = { { ... } } }, Table) end

function Table:add(...) self.rows[#self.rows + 1] = { ... } end

local function widths(rows)
  local list = {}
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do list[i] = math.max(list[i] or 0, #cell) end
  end
  return list
end

local function line(row, wide)
  local cells = {}
  for i, cell in ipairs(row) do
    local space = (" "):rep(wide[i] - #cell)
    cells[i] = i == 1 and cell .. space or space .. cell
  end
  return cells
end

function Table:print()
  local wide = widths(self.rows)
  for i, row in ipairs(self.rows) do
    local cells = line(row, wide)
    if sheet.markdown then
      print("| " .. table.concat(cells, " | ") .. " |")
      if i == 1 then print("|---|" .. ("--:|"):rep(#row - 1)) end
    else
      print(table.concat(cells, "  "))
    end
  end
  print()
end

function sheet.heading(text)
  if sheet.markdown then print("## " .. text .. "\n") end
end

function sheet.say(text) print(sheet.markdown and text .. "\n" or text) end

return sheet
