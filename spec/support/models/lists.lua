-- Lists of numbers that specs pass to kernels and compare with the results.

local assert = require "luassert"

local lists = {}

---`n` whole numbers from `least` to `most`; support.random says from which seed.
function lists.random(n, least, most)
  local list = {}
  for i = 1, n do list[i] = math.random(least, most) end
  return list
end

---The lists' elements, compared with a short message: luassert would print both lists whole.
function lists.check_equal(wanted, got, what)
  assert.equal(#wanted, #got, what)
  for i = 1, #wanted do
    if wanted[i] ~= got[i] then
      error(("%s: element %d is %s, not %s"):format(what, i, tostring(got[i]), tostring(wanted[i])), 2)
    end
  end
end

return lists
