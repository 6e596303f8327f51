-- Sums over indices: mw.einsum, mw.tensordot, mw.inner, mw.kron.
--
-- An operand is an array with a label for each axis. Repeated labels are a diagonal, which is a view; labels that only
-- one operand has, and the result has not, are summed first. Then two operands at a time become one: a label that both
-- have is summed if nothing else needs it, and is a batch otherwise, so that each step is a batch of matrix products,
-- or without sums an elementwise product. The pair whose result is the smallest, compared with what it replaces, is
-- next (the greedy order).

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"
local views = require "moonwarp.array.views"
local given = require "moonwarp.array.call_arguments"
local promotion = require "moonwarp.array.promotion"
raw.part "array.operators"

local usage = errors.usage
local shape_text = views.shape_text

local M = {}

-- ---- reading ----

-- The labels of a part of the text, with "..." as one label.
local function labels_of(text, spec)
  local labels, rest = {}, text:gsub("%s", "")
  while rest ~= "" do
    local label = rest:match "^%a" or rest:match "^%.%.%."
    if not label then
      usage("mw.einsum: %q is not an index in %q; indices are letters, and ... stands for the other axes",
        rest:sub(1, 1), spec)
    end
    labels[#labels + 1] = label
    rest = rest:sub(#label + 1)
  end
  return labels
end

-- The labels of an operand's axes: "..." becomes as many labels as there are axes left, counted from the last one.
local function name_axes(labels, array, place, spec)
  local named, rest = {}, array.rank - #labels
  local has_dots = false
  for _, label in ipairs(labels) do has_dots = has_dots or label == "..." end
  if has_dots then rest = rest + 1 end
  if rest < 0 or rest > 0 and not has_dots then
    usage("mw.einsum: operand %d of %q has %d indices, and the array is %s", place, spec,
      #labels - (has_dots and 1 or 0), shape_text(array.shape))
  end
  for _, label in ipairs(labels) do
    if label == "..." then
      for k = rest, 1, -1 do named[#named + 1] = "." .. k end
    else
      named[#named + 1] = label
    end
  end
  return named, has_dots and rest or 0
end

-- The labels of a result that is not given: those of "...", then letters that occur once, in alphabetical order.
local function default_labels(list, dots)
  local times, labels = {}, {}
  for _, of in ipairs(list) do
    for _, label in ipairs(of) do times[label] = (times[label] or 0) + 1 end
  end
  local letters = {}
  for label, count in pairs(times) do
    if count == 1 and label:match "^%a" then letters[#letters + 1] = label end
  end
  table.sort(letters)
  for k = dots, 1, -1 do labels[#labels + 1] = "." .. k end
  for _, label in ipairs(letters) do labels[#labels + 1] = label end
  return labels
end

-- The labels of each operand, and those of the result.
local function read(spec, arrays)
  local left, right = spec:match "^(.-)%->(.*)$"
  local parts = {}
  for part in ((left or spec) .. ","):gmatch "([^,]*)," do parts[#parts + 1] = part end
  if #parts ~= #arrays then
    usage("mw.einsum: %q is about %d arrays, and %d are given", spec, #parts, #arrays)
  end
  local list, dots = {}, 0
  for k, part in ipairs(parts) do
    local named, more = name_axes(labels_of(part, spec), arrays[k], k, spec)
    list[k] = named
    dots = math.max(dots, more)
  end
  if not right then return list, default_labels(list, dots) end
  local result, seen, known = {}, {}, {}
  for _, of in ipairs(list) do
    for _, label in ipairs(of) do known[label] = true end
  end
  for _, label in ipairs(labels_of(right, spec)) do
    if seen[label] then usage("mw.einsum: the result of %q has the index %s twice", spec, label) end
    seen[label] = true
    if label == "..." then
      for k = dots, 1, -1 do result[#result + 1] = "." .. k end
    elseif known[label] then
      result[#result + 1] = label
    else
      usage("mw.einsum: no operand of %q has the index %s of its result", spec, label)
    end
  end
  if dots > 0 and not seen["..."] then
    usage("mw.einsum: the result of %q leaves the axes of ... out; write ... there as well", spec)
  end
  return list, result
end

-- The size of each label; sizes of 1 broadcast.
local function sizes_of(what, list, arrays)
  local sizes = {}
  for k, labels in ipairs(list) do
    local shape = arrays[k].shape
    for d, label in ipairs(labels) do
      local known = sizes[label]
      if known and known ~= shape[d] and known ~= 1 and shape[d] ~= 1 then
        usage("%s: %s is %d in one place, and %d in operand %d, %s", what,
          label:match "^%a" and "index " .. label or "an axis of ...", known, shape[d], k, shape_text(shape))
      end
      if not known or known == 1 then sizes[label] = shape[d] end
    end
  end
  return sizes
end

-- ---- one operand ----

-- The operand with each label once: repeated ones are a diagonal. Axes of one element whose label is longer elsewhere
-- are dropped.
local function once_each(array, labels, sizes)
  local shape, strides, at = array.shape, array.strides, {}
  local new_shape, new_strides, new_labels = {}, {}, {}
  for d, label in ipairs(labels) do
    if shape[d] == sizes[label] then
      if at[label] then
        new_strides[at[label]] = new_strides[at[label]] + strides[d]
      else
        at[label] = #new_labels + 1
        new_labels[#new_labels + 1] = label
        new_shape[#new_shape + 1], new_strides[#new_strides + 1] = shape[d], strides[d]
      end
    end
  end
  if #new_labels == #labels then return { array = array, labels = labels } end
  if #new_labels == 0 then return { array = raw.array_strided(array, 0, nil, { 1 }, { 0 }), labels = {} } end
  return { array = raw.array_strided(array, 0, nil, new_shape, new_strides), labels = new_labels }
end

-- The axis of each label.
local function axes_of(labels)
  local axes = {}
  for d, label in ipairs(labels) do axes[label] = d end
  return axes
end

-- The operand, summed over the labels that are not needed.
local function sum_others(operand, needed, dtype)
  local axes, kept, shape = {}, {}, {}
  for d, label in ipairs(operand.labels) do
    if needed[label] then
      kept[#kept + 1], shape[#shape + 1] = label, operand.array.shape[d]
    else
      axes[#axes + 1] = d
    end
  end
  if #axes == 0 then return operand end
  local sum = operand.array:sum { axis = axes, keepdims = true }:reshape(#shape > 0 and shape or { 1 })
  if sum.dtype ~= dtype then sum = given.new(sum, dtype, sum.shape):assign(sum) end
  return { array = sum, labels = kept }
end

-- ---- two operands ----

local function view_as(operand, order)
  if #order == 0 then return operand.array end
  local axes, permutation = axes_of(operand.labels), {}
  for d, label in ipairs(order) do permutation[d] = axes[label] end
  return operand.array:permute(permutation)
end

local function join(...)
  local all = {}
  for _, list in ipairs { ... } do
    for _, label in ipairs(list) do all[#all + 1] = label end
  end
  return all
end

local function count_of(labels, sizes)
  local count = 1
  for _, label in ipairs(labels) do count = count * sizes[label] end
  return count
end

local function shape_of(labels, sizes)
  local shape = {}
  for d, label in ipairs(labels) do shape[d] = sizes[label] end
  return shape
end

-- What the labels of two operands are in their product.
local function classify(a, b, needed)
  local in_a, in_b = axes_of(a.labels), axes_of(b.labels)
  local roles = { batch = {}, left = {}, right = {}, summed = {} }
  for _, label in ipairs(a.labels) do
    local role = not in_b[label] and roles.left or needed[label] and roles.batch or roles.summed
    role[#role + 1] = label
  end
  for _, label in ipairs(b.labels) do
    if not in_a[label] then roles.right[#roles.right + 1] = label end
  end
  return roles
end

-- a times b without a sum: elementwise, where the labels of the other are axes of one element.
local function spread(operand, order, sizes)
  local axes, own, shape = axes_of(operand.labels), {}, {}
  for d, label in ipairs(order) do
    if axes[label] then own[#own + 1] = label end
    shape[d] = axes[label] and sizes[label] or 1
  end
  return view_as(operand, own):reshape(#shape > 0 and shape or { 1 })
end

-- A matrix for each place of the batch: its first and second labels as one axis each. A view where that needs no copy.
local function matrices(operand, batch, first, second, sizes)
  local x = view_as(operand, join(batch, first, second))
  if #first == 1 and #second == 1 then return x end
  local shape = shape_of(batch, sizes)
  shape[#shape + 1], shape[#shape + 2] = count_of(first, sizes), count_of(second, sizes)
  return x:reshape(shape)
end

local function multiply(a, b, needed, sizes)
  local roles = classify(a, b, needed)
  local labels = join(roles.batch, roles.left, roles.right)
  if #roles.summed == 0 then
    return { array = spread(a, labels, sizes) * spread(b, labels, sizes), labels = labels }
  end
  -- Batches of one index are one axis, so that there is room for the rest.
  local x = matrices(a, roles.batch, roles.left, roles.summed, sizes)
  local y = matrices(b, roles.batch, roles.summed, roles.right, sizes)
  local shape = shape_of(labels, sizes)
  return { array = x:mm(y):reshape(#shape > 0 and shape or { 1 }), labels = labels }
end

-- The labels that the result or an operand other than i and j has.
local function needed_by_others(operands, result, i, j)
  local needed = {}
  for _, label in ipairs(result) do needed[label] = true end
  for k, other in ipairs(operands) do
    if k ~= i and k ~= j then
      for _, label in ipairs(other.labels) do needed[label] = true end
    end
  end
  return needed
end

local function best_pair(operands, result, sizes)
  local best, first, second
  for i = 1, #operands - 1 do
    for j = i + 1, #operands do
      local a, b = operands[i], operands[j]
      local roles = classify(a, b, needed_by_others(operands, result, i, j))
      local cost = count_of(join(roles.batch, roles.left, roles.right), sizes) - count_of(a.labels, sizes)
        - count_of(b.labels, sizes)
      if not best or cost < best then best, first, second = cost, i, j end
    end
  end
  return first, second
end

-- ---- all of them ----

-- The sum of products of arrays by their labels, in an array with the labels of the result.
local function contract(what, arrays, list, result)
  local dtype = promotion.number(given.together(what, arrays), what).name
  local sizes, operands = sizes_of(what, list, arrays), {}
  for k, array in ipairs(arrays) do
    if array.dtype ~= dtype then array = given.new(array, dtype, array.shape):assign(array) end
    operands[k] = once_each(array, list[k], sizes)
  end
  for k, operand in ipairs(operands) do
    operands[k] = sum_others(operand, needed_by_others(operands, result, k, k), dtype)
  end
  while #operands > 1 do
    local i, j = best_pair(operands, result, sizes)
    local product = multiply(operands[i], operands[j], needed_by_others(operands, result, i, j), sizes)
    table.remove(operands, j)
    operands[i] = sum_others(product, needed_by_others(operands, result, i, i), dtype)
  end
  local last = operands[1]
  local array, shape = view_as(last, result), shape_of(result, sizes)
  return array:reshape(#shape > 0 and shape or { 1 }), shape
end

-- What a caller gets: an array that is its own, a number, or `out`.
local function deliver(what, array, shape, arrays, out)
  if out then return given.out(what, out, array, array.dtype, #shape > 0 and shape or { 1 }):assign(array) end
  if #shape == 0 then return array[1] end
  for _, source in ipairs(arrays) do
    if given.overlap(array, source) then return array:copy() end
  end
  return array:contiguous()
end

---The sum of products by indices, as Einstein wrote them: mw.einsum("ij,jk->ik", a, b) is a:mm(b).
---
---Each axis has a letter. Axes with the same letter share an index, and letters that the result lacks are summed over.
---A letter twice in one operand is its diagonal. `...` stands for all other axes, which broadcast. Without `->`
---the result has the letters that occur once, in alphabetical order.
---@param spec string
---@param ... moonwarp.array as many as the text has operands, then perhaps { out = y }
---@return number|moonwarp.array a number where no axis is left
function M.einsum(spec, ...)
  local arrays, count = { ... }, select("#", ...)
  local last, options = arrays[count], {}
  if type(last) == "table" and not raw.type(last) then
    options = given.options("mw.einsum", table.remove(arrays), { "out" }, {})
    count = count - 1
  end
  for k = 1, count do given.array("mw.einsum", arrays[k]) end
  local list, result = read(spec, arrays)
  local array, shape = contract("mw.einsum", arrays, list, result)
  return deliver("mw.einsum", array, shape, arrays, options.out)
end

-- ---- products of tensors ----

-- Labels for the axes of two arrays of which some are summed together, and those of the result.
local function labels_for(a, b, first, second)
  local p, q, result = {}, {}, {}
  for k, d in ipairs(first) do p[d], q[second[k]] = "s" .. k, "s" .. k end
  for d = 1, a.rank do
    if not p[d] then
      p[d] = "a" .. d
      result[#result + 1] = p[d]
    end
  end
  for d = 1, b.rank do
    if not q[d] then
      q[d] = "b" .. d
      result[#result + 1] = q[d]
    end
  end
  return p, q, result
end

local function axes_given(what, axes, a, b)
  local first, second = {}, {}
  if type(axes) == "number" then
    given.whole(what, axes, 0, "the number of axes")
    if axes > a.rank or axes > b.rank then
      usage("%s: %d axes of %s and %s are more than there are", what, axes, shape_text(a.shape), shape_text(b.shape))
    end
    for k = 1, axes do first[k], second[k] = a.rank - axes + k, k end
    return first, second
  end
  local function list(given_axes) return type(given_axes) == "table" and given_axes or { given_axes } end
  if type(axes) ~= "table" or #axes ~= 2 or #list(axes[1]) ~= #list(axes[2]) then
    usage("%s wants a number of axes, or as many of either array: { {1, 2}, {2, 1} }", what)
  end
  local seen = { {}, {} }
  for k, d in ipairs(list(axes[1])) do
    first[k], second[k] = views.axis(what, d, a.rank), views.axis(what, list(axes[2])[k], b.rank)
    if seen[1][first[k]] or seen[2][second[k]] then usage("%s: an axis is summed twice", what) end
    seen[1][first[k]], seen[2][second[k]] = true, true
  end
  return first, second
end

-- Both summed over pairs of axes, without broadcasting.
local function contract_axes(what, a, b, first, second)
  for k, d in ipairs(first) do
    if a.shape[d] ~= b.shape[second[k]] then
      usage("%s: axis %d of %s and axis %d of %s have different sizes", what, d, shape_text(a.shape), second[k],
        shape_text(b.shape))
    end
  end
  local p, q, result = labels_for(a, b, first, second)
  local array, shape = contract(what, { a, b }, { p, q }, result)
  return deliver(what, array, shape, { a, b })
end

---Sums of products over the last axes of a and the first ones of b, or over pairs of axes.
---@param a moonwarp.array
---@param b moonwarp.array
---@param axes? integer|table how many, 2 by default; or two lists of axes: { {1, 2}, {2, 1} }
---@return number|moonwarp.array with the other axes of a, then those of b
function M.tensordot(a, b, axes)
  local first, second = axes_given("mw.tensordot", axes == nil and 2 or axes, a, b)
  return contract_axes("mw.tensordot", a, b, first, second)
end

---Sums of products over the last axis of both.
---@param a moonwarp.array
---@param b moonwarp.array
---@return number|moonwarp.array with the other axes of a, then those of b
function M.inner(a, b) return contract_axes("mw.inner", a, b, { a.rank }, { b.rank }) end

---Kronecker's product: b times each element of a, in place of that element.
---@param a moonwarp.array
---@param b moonwarp.array
---@return moonwarp.array
function M.kron(a, b)
  local rank = math.max(a.rank, b.rank)
  local p, q, shape = {}, {}, {}
  for d = 1, rank do
    local m, n = a.shape[d - rank + a.rank] or 1, b.shape[d - rank + b.rank] or 1
    p[2 * d - 1], p[2 * d], q[2 * d - 1], q[2 * d], shape[d] = m, 1, 1, n, m * n
  end
  if rank > 4 then usage("mw.kron is of arrays of up to 4 dimensions, got %d", rank) end
  return (a:reshape(p) * b:reshape(q)):reshape(shape)
end

return M
