-- Models of what threads of a warp do together: a block's warps, cut from linear ids. Lists begin at 0, as threads do.

local mw = require "moonwarp"

local warps = {}

---C's int out of a whole number.
function warps.int(value)
  value = value & 0xffffffff
  return value >= 0x80000000 and value - 0x100000000 or value
end

---A random int; support.random says from which seed.
function warps.any_int() return warps.int(math.random(0, 0xffffffff)) end

---Calls f(first, count) for each warp of n threads.
function warps.each_warp(n, f)
  for first = 0, n - 1, 32 do f(first, math.min(32, n - first)) end
end

function warps.list_of(n, make)
  local list = {}
  for i = 0, n - 1 do list[i] = make(i) end
  return list
end

function warps.array_of(list, n, dtype) return mw.array(table.move(list, 0, n - 1, 1, {}), dtype) end

---Raises an error where `got`, an array, has not the `n` values of `wanted`; what is nil there may be anything.
function warps.compare(wanted, got, n, what)
  local list = got:totable()
  for i = 0, n - 1 do
    local value = wanted[i]
    if value ~= nil and value ~= list[i + 1] then
      error(("%s: thread %d has %s, not %s"):format(what, i, tostring(list[i + 1]), tostring(value)), 2)
    end
  end
end

---What kernels begin with.
warps.preamble = require "support.models.linear"

---Per warp, `f(values, count, lane)`, values from 0.
function warps.warpwise(values, n, parts)
  local wanted = {}
  warps.each_warp(n, function(first, count)
    local here = table.move(values, first, first + count - 1, 0, {})
    for at, f in ipairs(parts) do
      for lane = 0, count - 1 do wanted[(at - 1) * n + first + lane] = warps.int(f(here, count, lane)) end
    end
  end)
  return wanted
end

---A model for `warpwise`: a bit for each lane that passes the test.
function warps.ballot(test)
  return function(values, count)
    local bits = 0
    for lane = 0, count - 1 do if test(values[lane]) then bits = bits | 1 << lane end end
    return bits
  end
end

---A model for `warpwise`: the values of all lanes, joined by f(a, b).
function warps.fold(f)
  return function(values, count)
    local sum = values[0]
    for lane = 1, count - 1 do sum = f(sum, values[lane]) end
    return sum
  end
end

return warps
