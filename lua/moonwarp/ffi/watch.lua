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
      local out = ffi.new "mw_watch *[1]"
      errors.must(C.mw_watch_new(device.current()._handle, watchers, out))
      local code = C.mw_watch_begin(out[0])
      if code ~= 0 then C.mw_watch_release(out[0]) end
      errors.must(code)
      C.mw_watch_release(watch) -- whose result nobody wanted
      watch = out[0]
    end,
    -- watch_end(): launches are not watched any more
    watch_end = function()
      if watch then C.mw_watch_end(watch) end
    end,
    -- watch_result() -> what the watchers saw, after watch_end and when the device is done; the watch is released
    watch_result = function()
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
