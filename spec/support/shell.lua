-- Runs commands as a user would: without the build tree's environment and without the named variables.
--   local shell = require "support.shell" "LD_PRELOAD"
--   local output, ok = shell.run "make --version"   what it printed, errors too, and whether it succeeded
--   local output = shell.must "…"                    it has to succeed

local assert = require "luassert"

local build_tree = "MAKEFLAGS MAKELEVEL MOONWARP_HOME MOONWARP_BINDING LUA_PATH LUA_CPATH LUA_CPATH_5_4 "

return function(others)
  local shell = {}

  function shell.run(command)
    local pipe = io.popen(("(unset %s; %s) 2>&1"):format(build_tree .. others, command))
    local output = pipe:read "*a"
    return output, pipe:close() == true
  end

  function shell.must(command)
    local output, ok = shell.run(command)
    assert.is_true(ok, command .. "\n" .. output)
    return output
  end

  return shell
end
