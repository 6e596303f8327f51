-- Shared by the specs of moonwarp.runtime: checks of result codes, and transfers of data.

local assert = require "luassert"
local rt = require "moonwarp.runtime"

local runtime = {}

---The results after a code that has to be cudaSuccess.
function runtime.ok(err, ...)
  assert.equal(0, err, err ~= 0 and tostring(rt.story()) or nil)
  return ...
end

---Whether a code is the one of that name.
function runtime.code(name, err) assert.equal(name, rt.cudaGetErrorName(err)) end

---Host memory of these values.
function runtime.host(dtype, values)
  local p = rt.malloc(rt.sizeof(dtype) * #values, dtype)
  p:set(values)
  return p
end

---Device memory of these values.
function runtime.device(dtype, values)
  local bytes = rt.sizeof(dtype) * #values
  local p = runtime.ok(rt.cudaMalloc(bytes))
  runtime.ok(rt.cudaMemcpy(p, runtime.host(dtype, values), bytes, rt.cudaMemcpyHostToDevice))
  return p:cast(dtype)
end

---The values of device memory, a list.
function runtime.fetch(p, dtype, count)
  local h = rt.malloc(rt.sizeof(dtype) * count, dtype)
  runtime.ok(rt.cudaMemcpy(h, p, rt.sizeof(dtype) * count, rt.cudaMemcpyDeviceToHost))
  local values = h:totable(count)
  rt.free(h)
  return values
end

return runtime
