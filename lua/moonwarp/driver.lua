-- CUDA's driver API under CUDA's names: local cu = require "moonwarp.driver".
--
-- A function takes CUDA's arguments except the addresses of its results, and returns a CUresult and then the results:
--   local err, p = cu.cuMemAlloc(1024)            CUresult err = cuMemAlloc(&p, 1024);
-- Device pointers are values with C's arithmetic, structs are tables with C's field names, enumerations are fields.
-- Modules, functions, arrays, streams and events are moonwarp's objects, contexts and texture references are tables.
-- Fields without cu in their name are moonwarp's own.

local raw = require "moonwarp.binding"
local runtime = require "moonwarp.runtime"

local cu = {}

-- C's malloc, free, sizeof and cast, and pointers made from addresses, arrays and variables, as in moonwarp.runtime.
for _, name in ipairs { "malloc", "free", "sizeof", "cast", "pointer" } do cu[name] = runtime[name] end

for _, name in ipairs {
  "result", "context", "device", "module", "execution", "launch_attributes", "memory", "copy", "array", "texture",
  "stream", "graph", "graphics", "interop",
} do
  require("moonwarp.driver." .. name).install(cu)
end

cu.CU_LIMIT_STACK_SIZE, cu.CU_LIMIT_PRINTF_FIFO_SIZE, cu.CU_LIMIT_MALLOC_HEAP_SIZE = 0, 1, 2
cu.CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, cu.CU_LIMIT_PERSISTING_L2_CACHE_SIZE = 4, 6
cu.CU_CTX_SCHED_AUTO, cu.CU_CTX_SCHED_SPIN, cu.CU_CTX_SCHED_YIELD, cu.CU_CTX_SCHED_BLOCKING_SYNC = 0, 1, 2, 4
cu.CU_CTX_MAP_HOST, cu.CU_CTX_LMEM_RESIZE_TO_MAX = 8, 16
cu.CU_FUNC_CACHE_PREFER_NONE, cu.CU_FUNC_CACHE_PREFER_SHARED = 0, 1
cu.CU_FUNC_CACHE_PREFER_L1, cu.CU_FUNC_CACHE_PREFER_EQUAL = 2, 3
cu.CU_JIT_MAX_REGISTERS, cu.CU_JIT_OPTIMIZATION_LEVEL, cu.CU_JIT_GENERATE_DEBUG_INFO = 0, 7, 11
cu.CU_JIT_GENERATE_LINE_INFO, cu.CU_JIT_LOG_VERBOSE = 13, 12

return setmetatable(cu, { __index = function(_, name)
  if type(name) == "string" then raw.part("diagnostics.suggest").missing("moonwarp.driver", name, cu) end
end })
