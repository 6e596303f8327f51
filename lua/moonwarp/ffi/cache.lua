-- The compile cache's facts and its two switches.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local errors = require "moonwarp.ffi.error"
local value = require "moonwarp.ffi.convert.value"

return {
  raw = {
    -- cache_info() -> {path =, hits =, misses =, bytes =, entries =, limit =}
    cache_info = function()
      local info = ffi.new "mw_cache_info"
      errors.must(C.mw_cache_describe(info))
      return {
        path = ffi.string(info.path), hits = tonumber(info.hits), misses = tonumber(info.misses),
        bytes = tonumber(info.bytes), entries = tonumber(info.entries), limit = tonumber(info.limit),
      }
    end,
    cache_clear = function() errors.must(C.mw_cache_clear()) end,
    cache_limit = function(bytes)
      errors.must(C.mw_cache_limit(value.check_size(bytes, "mw.cache.limit")))
    end,
  },
}
