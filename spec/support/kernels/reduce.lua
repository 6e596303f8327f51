-- Reduces a failing kernel: edits of its tree are tried one by one, and retained if it still fails.

local E = require "support.kernels.expressions"

local bodies = { "yes", "no", "body" }
local operands = { "a", "b", "c", "e", "index", "from", "to", "next", "step" }

-- ---- all expressions and statements of a kernel

local function visit_expression(owner, key, visit)
  local e = owner[key]
  if type(e) ~= "table" or not e.k then return end
  visit(owner, key)
  for _, name in ipairs(operands) do
    if name ~= "e" then visit_expression(e, name, visit) end
  end
  for i = 1, #(e.args or {}) do visit_expression(e.args, i, visit) end
end

local function visit_list(list, on_list, on_expression)
  on_list(list)
  for _, s in ipairs(list) do
    for _, name in ipairs(operands) do
      if on_expression then visit_expression(s, name, on_expression) end
    end
    for _, name in ipairs(bodies) do
      if s[name] then visit_list(s[name], on_list, on_expression) end
    end
    for _, case in ipairs(s.cases or {}) do visit_list(case.body, on_list, on_expression) end
    if s.k == "list" then visit_list(s, on_list, on_expression) end
  end
end

local function visit_kernel(k, on_list, on_expression)
  visit_list(k.body, on_list, on_expression)
  for _, v in ipairs(k.frame) do
    if on_expression then visit_expression(v, "e", on_expression) end
  end
  for _, f in ipairs(k.all_functions) do
    visit_list(f.body, on_list, on_expression)
    for _, v in ipairs(f.frame) do
      if on_expression then visit_expression(v, "e", on_expression) end
    end
  end
end

-- ---- edits: each is a pair of functions, to do and to undo it

local function removals(k, size)
  local edits = {}
  visit_kernel(k, function(list)
    for at = 1, #list, size do
      local taken
      edits[#edits + 1] = { function()
        taken = table.move(list, at, at + size - 1, 1, {})
        for _ = 1, #taken do table.remove(list, at) end
        return #taken > 0
      end, function()
        for i = #taken, 1, -1 do table.insert(list, at, taken[i]) end
      end }
    end
  end)
  return edits
end

-- Replace a statement by its bodies, or remove its `else`.
local function unwrappings(k)
  local edits = {}
  visit_kernel(k, function(list)
    for _, s in ipairs(list) do
      local inner = s.k == "list" and { s } or { s.yes, s.no, s.body }
      for _, case in ipairs(s.cases or {}) do inner[#inner + 1] = case.body end
      for _, body in pairs(inner) do
        local before
        edits[#edits + 1] = { function()
          local at
          for i, other in ipairs(list) do if other == s then at = i end end
          if not at then return false end
          before = { table.unpack(list) }
          table.remove(list, at)
          for i = #body, 1, -1 do table.insert(list, at, body[i]) end
          return true
        end, function()
          for i = #list, 1, -1 do list[i] = nil end
          table.move(before, 1, #before, 1, list)
        end }
      end
      if s.k == "when" and s.no then
        local no = s.no
        edits[#edits + 1] = { function() s.no = nil return true end, function() s.no = no end }
      end
    end
  end)
  return edits
end

local function simpler(e)
  local list = {}
  if e.k ~= "const" or e.v ~= 0 and e.v ~= 1 then
    list[1] = E.const(e.t.integer and 0 or 0.0, e.t)
    list[2] = E.const(e.t.integer and 1 or 1.0, e.t)
  end
  for _, child in ipairs { e.a or false, e.b or false } do
    if child and (child.t == e.t or e.k ~= "cast") then
      list[#list + 1] = child.t == e.t and child or E.cast(child, e.t)
    end
  end
  return list
end

local function simplifications(k)
  local edits = {}
  visit_kernel(k, function() end, function(owner, key)
    local e = owner[key]
    for _, other in ipairs(simpler(e)) do
      edits[#edits + 1] = { function()
        if owner[key] ~= e then return false end
        owner[key] = other
        return true
      end, function() owner[key] = e end }
    end
  end)
  return edits
end

local function change(t, key, value)
  local old
  return { function()
    old, t[key] = t[key], value
    return old ~= value
  end, function() t[key] = old end }
end

local function threads(size) return size[1] * (size[2] or 1) * (size[3] or 1) end

local function launch_edits(k)
  local edits = {}
  for _, launch in ipairs(#k.launches > 1 and k.launches or {}) do
    edits[#edits + 1] = change(k, "launches", { launch })
  end
  for _, launch in ipairs(k.launches) do
    for _, block in ipairs { { 64 }, { 32 }, { 16 }, { 8 }, { 4 }, { 2 }, { 1 } } do
      if threads(block) < threads(launch.block) then edits[#edits + 1] = change(launch, "block", block) end
    end
    if threads(launch.grid) > 1 then edits[#edits + 1] = change(launch, "grid", { 1 }) end
    for _, name in ipairs { "n", "m", "q" } do
      for _, value in ipairs { 10, 1, 0 } do
        if value < math.abs(launch[name]) then edits[#edits + 1] = change(launch, name, value) end
      end
    end
  end
  return edits
end

local function variable_edits(k)
  local edits = {}
  local function each(frame)
    for _, v in ipairs(frame) do
      edits[#edits + 1] = change(v, "e", nil)
    end
  end
  each(k.frame)
  for _, f in ipairs(k.all_functions) do each(f.frame) end
  return edits
end

-- `fails(k)` tells whether the edited kernel still fails.
return function(k, fails)
  local function try(edits)
    local kept = 0
    for _, edit in ipairs(edits) do
      if edit[1]() then
        if fails(k) then kept = kept + 1 else edit[2]() end
      end
    end
    return kept
  end
  try(launch_edits(k))
  local kept
  repeat
    kept = 0
    for _, size in ipairs { 8, 4, 2, 1 } do kept = kept + try(removals(k, size)) end
    kept = kept + try(unwrappings(k)) + try(simplifications(k)) + try(variable_edits(k))
    kept = kept + try(launch_edits(k))
  until kept == 0
end
