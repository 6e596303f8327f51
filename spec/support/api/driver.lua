-- Shared by the specs of moonwarp.driver: checks of result codes, a context to work in, and memory read back.

local assert = require "luassert"
local cu = require "moonwarp.driver"

local driver = {}

---The results after a code that has to be CUDA_SUCCESS.
function driver.ok(err, ...)
  assert.equal(0, err, err ~= 0 and tostring(cu.story()) or nil)
  return ...
end
local ok = driver.ok

---The code has to be the one of that name, which comes first so that a message says it.
function driver.code(name, err) assert.equal(name, select(2, cu.cuGetErrorName(err))) end

---A new context, the current one from now on: cuCtxDestroy is the caller's.
function driver.context()
  ok(cu.cuInit(0))
  return ok(cu.cuCtxCreate(0, 0))
end

---@return table the first `count` elements of device memory, as a sequence
function driver.fetch(p, dtype, count)
  local h = cu.malloc(cu.sizeof(dtype) * count, dtype)
  ok(cu.cuMemcpyDtoH(h, p, cu.sizeof(dtype) * count))
  local values = h:totable(count)
  cu.free(h)
  return values
end

return driver
