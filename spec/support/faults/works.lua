-- Checks that the device still works after failures: compiles a module, makes an array, and runs a kernel on it.
--   local check_works = require "support.faults.works"

local assert = require "luassert"
local mw = require "moonwarp"

return function()
  local m = mw.compile "__global__ void plus(int *p, int n) { p[threadIdx.x] += n; }"
  local a = mw.arange(100, "int")
  m.plus(1, 100)(a, 3)
  assert.equal(4950 + 300, a:sum())
end
