-- Watching launches: one watch at a time, for the launches of this thread.

local ffi = require "ffi"
local C = require("moonwarp.ffi.library").C
local errors = require "moonwarp.ffi.error"
local device = require "moonwarp.ffi.device"

local watch -- the one that has begun, or nil

return {
  raw = {
    -- watch_begin(watchers): launches are watched from now on
    watch_begin = function(watchers)
      if watch then
        errors.usage "launches are being watched already: a watch cannot begin inside another one"
      end
      local out = ffi.new "mw_watch *[1]"
      errors.must(C.mw_watch_new(device.current()._handle, watchers, out))
      watch = out[0]
      errors.must(C.mw_watch_begin(watch))
    end,
    -- watch_end(): launches are not watched any more
    watch_end = function()
      if watch then C.mw_watch_end(watch) end
    end,
    -- watch_result() -> what the watchers saw, after watch_end and when the device is done; the watch is released
    watch_result = function()
      if not watch then errors.usage "no launches were watched" end
      local text, seen = ffi.new "const char *[1]", watch
      local code = C.mw_watch_result(seen, text)
      watch = nil
      local result = code == 0 and ffi.string(text[0]) or nil
      if code == 0 then C.mw_watch_release(seen) return result end
      local ok, err = pcall(errors.must, code)
      C.mw_watch_release(seen)
      if not ok then error(err, 0) end
    end,
  },
}
