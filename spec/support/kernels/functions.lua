-- Functions for the Lua text of a kernel (reference.lua): memory that several threads access, checked for races, and
-- arithmetic of integers and floats.

local types = require "support.kernels.types"
local run = types.run

-- The accesses to each element, to find races. Between two barriers only one thread may access it, or all read it, or
-- all apply the same atomic function; for different blocks, this holds for the whole launch.
local function touch(array, i, kind, block, thread, id)
  local seen, conflict = array.seen[i], false
  if not seen then
    array.seen[i] = { first = block, all = kind, block = block, epoch = block.epoch, kind = kind, thread = thread }
    return true
  end
  if seen.first ~= block then
    conflict = seen.all ~= kind or kind == "write"
  elseif seen.epoch == block.epoch and seen.thread ~= thread then
    conflict = seen.kind ~= kind or kind == "write"
  end
  if conflict then
    block.drop[id] = true
    return false
  end
  if seen.all ~= kind then seen.all = "write" end
  if seen.first ~= block then return true end
  if seen.epoch ~= block.epoch then
    seen.epoch, seen.kind, seen.thread = block.epoch, kind, thread
  elseif seen.kind ~= kind then
    seen.kind = "write" -- of the same thread
  elseif seen.thread ~= thread then
    seen.thread = -1 -- several
  end
  return true
end

local helpers = setmetatable({}, { __index = run })
local flag = run.flag

function helpers.load(array, i, mask, id)
  if i < 0 or i > mask then
    flag[id] = true
    i = i & mask
  end
  return array[i]
end

function helpers.store(array, i, mask, id, value)
  if i < 0 or i > mask then
    flag[id] = true
    i = i & mask
  end
  array[i] = value
end

function helpers.look(array, i, mask, id, block, thread)
  if i < 0 or i > mask then
    flag[id] = true
    i = i & mask
  end
  if not touch(array, i, "read", block, thread, id) then return array[i] or 1 end
  if array[i] == nil then
    block.drop[id] = true
    return 1
  end
  return array[i]
end

function helpers.put(array, i, mask, id, value, block, thread)
  if i < 0 or i > mask then
    flag[id] = true
    i = i & mask
  end
  if touch(array, i, "write", block, thread, id) then array[i] = value end
end

local function cut_to(t, v)
  return run["to_" .. t.name] and run["to_" .. t.name](v) or v
end

function helpers.atomic(array, i, mask, id, op, value, block, thread, wanted)
  if i < 0 or i > mask then
    flag[id] = true
    i = i & mask
  end
  local kind = (wanted or op == "Exch") and "write" or op
  if not touch(array, i, kind, block, thread, id) then return 1 end
  local old, t = array[i], array.t
  if old == nil then
    block.drop[id] = true
    return 1
  end
  local less
  if t == types.ulonglong then less = math.ult(old, value) else less = old < value end
  if op == "Add" then array[i] = cut_to(t, old + value)
  elseif op == "Min" then array[i] = less and old or value
  elseif op == "Max" then array[i] = less and value or old
  elseif op == "And" then array[i] = old & value
  elseif op == "Or" then array[i] = old | value
  elseif op == "Xor" then array[i] = old ~ value
  else array[i] = value end
  return old
end

helpers.wait, helpers.error = coroutine.yield, error

function helpers.__popc(x)
  local count = 0
  while x ~= 0 do count, x = count + 1, x & (x - 1) end
  return count
end
helpers.__popcll = helpers.__popc
function helpers.__clz(x)
  local count = 0
  x = x & 0xffffffff
  while count < 32 and x & (0x80000000 >> count) == 0 do count = count + 1 end
  return count
end
function helpers.__ffs(x) return x == 0 and 0 or helpers.__popc((x & -x) - 1) + 1 end
function helpers.__brev(x)
  local r = 0
  for i = 0, 31 do r = r | ((x >> i & 1) << (31 - i)) end
  return r
end
function helpers.__umulhi(a, b) return (a * b) >> 32 end

local function with_sign(r, x) return r == 0 and (x < 0 or 1 / x < 0) and -0.0 or r + 0.0 end
local function whole(f)
  return function(x)
    if x ~= x or x >= 0x1p53 or x <= -0x1p53 then return x end
    return with_sign(f(x), x)
  end
end
helpers.math_floor, helpers.math_ceil = whole(math.floor), whole(math.ceil)
helpers.math_trunc = whole(function(x) return x < 0 and math.ceil(x) or math.floor(x) end)
helpers.math_rint = whole(function(x)
  local low = math.floor(x)
  local rest = x - low
  return (rest > 0.5 or rest == 0.5 and low % 2 == 1) and low + 1 or low
end)
helpers.math_sqrt = math.sqrt
function helpers.math_fabs(x) return x ~= x and x or with_sign(math.abs(x), 1) end

return helpers
