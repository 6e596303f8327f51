-- Kernels that begin with a condition by which whole blocks may have no work, some of it near the limits of the index's
-- type: see fuzz.lua.

return function(draw)
  local block = draw.pick { 8, 32, 64, { 8, 8 }, { 16, 4 }, { 16, 16 }, { 4, 4, 2 } }
  local sizes = type(block) == "table" and block or { block }
  local grid = { draw.between(1, 6), #sizes > 1 and draw.between(1, 5) or 1, sizes[3] and draw.between(1, 3) or 1 }
  local function size(axis) return grid[axis] * (sizes[axis] or 1) end
  local index = draw.pick { "int", "int", "unsigned" }

  -- Numbers between, at and beyond the ids, and such that sums with them wrap around.
  local function number()
    local id = draw(size(1) + 3)
    return draw.pick { id, id, id, -id, 0, 1, 2 ^ 31 - 1 - draw(40), -2 ^ 31 + draw(40), draw(size(1) * size(2) + 1) }
  end

  local function ids()
    return draw.pick { "x", "x", "y", "y", "z", "(I)threadIdx.x", "(I)threadIdx.y", "(I)blockIdx.x" }
  end

  -- Sums are unsigned, so that they may wrap around, or of ids alone.
  local function side()
    return draw.pick { ids, ids, function() return "(I)((unsigned)" .. ids() .. " + (unsigned)p)" end,
      function() return "(I)((unsigned)" .. ids() .. " - (unsigned)q)" end,
      function() return ids() .. " + " .. ids() end, function() return ids() .. " - " .. ids() end,
      function() return "(I)((unsigned)p - (unsigned)" .. ids() .. ")" end,
      function() return ids() .. " * 2" end, function() return "(" .. ids() .. " | 1)" end }()
  end

  local function bound()
    return draw.pick { "(I)p", "(I)q", "(I)r", "(I)((unsigned)p - (unsigned)q)", "(I)" .. draw(20), "(I)blockIdx.y",
      "(I)(blockIdx.x * 3)", ids() }
  end

  local function comparison()
    local parts = { side(), draw.pick { "<", "<=", ">", ">=", ">", ">=", "==", "!=" }, bound() }
    if parts[1] == parts[3] then parts[3] = "(I)r" end -- clang warns of such comparisons
    if draw.chance(30) then parts[1], parts[3] = parts[3], parts[1] end
    return table.concat(parts, " ")
  end

  local function condition(depth)
    if depth == 0 or draw.chance(35) then return comparison() end
    local form = draw.pick { "(A && B)", "(A && B)", "(A || B)", "!(A)" }
    return (form:gsub("[AB]", function() return condition(depth - 1) end))
  end

  local guards = {}
  for k = 1, draw.between(1, 3) do
    guards[k] = ("if (%s) %s"):format(condition(2), draw.pick { "return;", "return;", "{" })
  end
  local text = table.concat(guards, "\n  ")
  local open = select(2, text:gsub("{", ""))
  local source = ([[
__global__ void NAME(const int *a, int *out, int width, int height, int p, int q, int r) {
  I x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  I z = blockIdx.z * blockDim.z + threadIdx.z;
  GUARDS
  I at = (z * (I)height + y) * (I)width + x;
  BODY
  CLOSE
}]]):gsub("GUARDS", function() return text end):gsub("CLOSE", ("}"):rep(open))
    :gsub("BODY", draw.pick { "out[at] = a[at] * 3 + 1;", "out[at] += a[at / 2];",
      "for (int k = 0; k < 3; k++) out[at] += a[at] / (k + 1);" })
    :gsub("%f[%w_]I%f[^%w_]", index)

  local count = size(1) * size(2) * size(3)
  local function launch()
    return { grid = grid, block = block, arguments = { { type = "int", size = count }, { type = "int", size = count },
      size(1), size(2), number(), number(), number() } }
  end
  return { source = source, launches = { launch(), launch(), launch() } }
end
