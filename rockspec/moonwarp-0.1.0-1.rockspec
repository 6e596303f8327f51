rockspec_format = "3.0"
package = "moonwarp"
version = "0.1.0-1"

-- With the tarball of `make dist` beside it: luarocks build moonwarp-0.1.0-1.rockspec
source = { url = "moonwarp-0.1.0.tar.gz", dir = "moonwarp-0.1.0" }

description = {
  summary = "CUDA for Lua: kernels in CUDA C strings, on any machine",
  detailed = [[
Allocate arrays and launch kernels written in CUDA C strings, from Lua 5.4 and LuaJIT. Kernels are compiled at run time
and run on the embedded CPU device, which needs no GPU and no NVIDIA software.]],
  license = "MIT",
}

-- LLVM and clang 19 to 22, a C compiler and make have to be there: sh setup.sh installs them on Debian.
supported_platforms = { "linux" }
dependencies = { "lua >= 5.1, < 5.5" }

build = {
  type = "make",
  build_target = "rock",
  build_variables = { ROCK_LUA = "$(LUA)", ROCK_INCDIR = "$(LUA_INCDIR)" },
  install_target = "install-rock",
  install_variables = {
    ROCK_LUA = "$(LUA)", ROCK_INCDIR = "$(LUA_INCDIR)",
    LUA_CDIR = "$(LIBDIR)", LUADIR = "$(LUADIR)", BINDIR = "$(BINDIR)",
  },
}
