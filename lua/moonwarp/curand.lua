-- cuRAND's host functions under cuRAND's names: local curand = require "moonwarp.curand".
--
-- A function takes cuRAND's arguments except the addresses of its results, and returns a status and then the results,
-- as the functions of moonwarp.runtime do:
--   local status, g = curand.curandCreateGenerator(curand.CURAND_RNG_PSEUDO_DEFAULT)
--   status = curand.curandGenerateUniform(g, p, n)      -- p: an array, or a pointer of moonwarp.runtime
-- Fields without curand in their name are moonwarp's own.

local raw = require "moonwarp.binding"

local curand = {}
for _, name in ipairs { "result", "generator", "generate", "tables" } do
  require("moonwarp.curand." .. name).install(curand)
end

return setmetatable(curand, { __index = function(_, name)
  if type(name) == "string" then raw.part("diagnostics.suggest").missing("moonwarp.curand", name, curand) end
end })
