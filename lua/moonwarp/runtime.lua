-- CUDA's host runtime under CUDA's names: local rt = require "moonwarp.runtime".
--
-- A function takes CUDA's arguments except the addresses of its results, and returns a result code and then the
-- results:
--   local err, p = rt.cudaMalloc(1024)            cudaError_t err = cudaMalloc(&p, 1024);
-- Device pointers are values with C's arithmetic, structs are tables with C's field names, enumerations are fields.
-- Kernels and variables are moonwarp's objects, m.name and m:symbol "name", or their names after rt.register(m). Fields
-- without cuda in their name are moonwarp's own.

local raw = require "moonwarp.binding"
local result = require "moonwarp.runtime.result"
local pointer = require "moonwarp.runtime.pointer"
local names = require "moonwarp.runtime.names"
for _, part in ipairs { "graph", "texture.texture" } do require("moonwarp." .. part) end -- the methods of its objects

local rt = {
  ---Make the kernels and variables of a module available by their names, as those of a program are in CUDA.
  register = names.register,
  ---A pointer made from an address (a number), an array or a variable: rt.pointer(address[, dtype]).
  pointer = function(value, dtype) return pointer.new(pointer.address(value), dtype) end,
}

result.install(rt)
for _, name in ipairs {
  "device", "stream", "memory", "pool", "array", "mipmap", "texture", "execution", "launch_attributes", "graph",
  "graphics", "interop",
} do
  require("moonwarp.runtime." .. name).install(rt)
end

return setmetatable(rt, { __index = function(_, name)
  if type(name) == "string" then raw.part("diagnostics.suggest").missing("moonwarp.runtime", name, rt) end
end })
