-- Random numbers for specs, from a seed with which a failing run can be repeated:
--   local random = require "support.random" "what for"
-- prints the seed; MOONWARP_SEED=… sets it.

return function(name)
  local seed = tonumber(os.getenv("MOONWARP_SEED")) or os.time()
  print(("seed of %s: %d"):format(name, seed))
  math.randomseed(seed)
  return math.random
end
