-- The compile cache as an object: mw.cache.hits, .misses, .bytes, .entries, .path, .limit (which can be assigned) and
-- mw.cache.clear().

local raw = require "moonwarp.binding"
local errors = require "moonwarp.diagnostics.error"

local function clear() raw.cache_clear() end

return setmetatable({}, {
  __name = "moonwarp.cache",
  __index = function(_, name)
    if name == "clear" then return clear end
    return raw.cache_info()[name]
  end,
  __newindex = function(_, name, value)
    if name ~= "limit" then errors.usage("only mw.cache.limit can be assigned, not '%s'", tostring(name)) end
    raw.cache_limit(value)
  end,
  __tostring = function()
    local info = raw.cache_info()
    return ("compile cache %s: %d entries, %.1f of %.1f MB; %d hits, %d misses"):format(
      info.path, info.entries, info.bytes / 1e6, info.limit / 1e6, info.hits, info.misses)
  end,
})
