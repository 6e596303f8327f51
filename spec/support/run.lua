-- Runs busted on the interpreter that runs this file: /usr/bin/busted would pick one of its own.
--   lua5.4 spec/support/run.lua [busted's options] [files or folders]
require "busted.runner"({ standalone = false })
