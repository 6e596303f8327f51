-- Makes hanging kernels fail: a time limit while a file's tests run, far longer than any of them takes.
--   require "support.time_limit" (setup, teardown)

local mw = require "moonwarp"

return function(setup, teardown)
  local limit
  setup(function() limit = mw.limit("time", 60) end)
  teardown(function() mw.limit("time", limit) end)
end
