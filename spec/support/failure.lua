-- failure(f, …): the error that f(…) must raise.

local assert = require "luassert"

return function(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok, "no error was raised")
  return err
end
