-- Installations: by make, into a tree of LuaRocks, moved, embedded, uninstalled.
-- Lua 5.4 only: separate programs run in them, on LuaJIT too.
-- CPU device only: installation does not depend on the device, and needs LLVM.

local shell = require "support.shell" ""

local home = os.getenv "MOONWARP_HOME"
local run, must = shell.run, shell.must

-- What links with archives of instrumented code is instrumented itself.
local cc = os.getenv "MOONWARP_CONFIG" == "sanitize" and "cc -fsanitize=address,undefined" or "cc"
local make = ("make -s BUILD='%s' "):format(home)
local folder
setup(function()
  folder = os.tmpname()
  os.remove(folder)
  must("mkdir " .. folder)
end)
teardown(function() os.execute("rm -rf " .. folder) end)

local function has(program) return (select(2, run("command -v " .. program))) end

local script = [[local m = mw.compile "__global__ void f(float *p) { p[threadIdx.x] = 3; }" ]] ..
  [[local a = mw.zeros(4) m.f(1, 4)(a) print(a:sum() == 12, mw.binding)]]

describe("the build tree", function()
  it("has its programs on the path after make env, and they need nothing else", function()
    local use = ("eval \"$(%s env)\"; cd /; "):format(make)
    local programs = must(use .. "command -v moonwarp; command -v mwcc")
    assert.equal(home .. "/bin/moonwarp\n" .. home .. "/bin/mwcc\n", programs)
    assert.matches("^true\t", must(("%s moonwarp -e '%s'"):format(use, script)))
    assert.equal("true\tc\n", must(("cd / && %s/bin/moonwarp -e '%s'"):format(home, script)))
  end)

  it("has programs that print their versions", function()
    local version = must(home .. "/bin/moonwarp --version"):match "^moonwarp ([%d.]+)\n$"
    assert.matches("mwcc " .. version .. " (LLVM ", must(home .. "/bin/mwcc --version"), 1, true)
    assert.matches("mwcc --help", must(home .. "/bin/moonwarp --help"), 1, true)
    for _, option in ipairs { "--help", "-h" } do
      assert.matches("^usage: moonwarp ", must(("%s/bin/moonwarp %s"):format(home, option)))
      assert.matches("^usage: mwcc ", must(("%s/bin/mwcc %s"):format(home, option)))
    end
    local told, good = run(home .. "/bin/mwcc")
    assert.is_false(good)
    assert.equal("mwcc: no source file: mwcc k.cu -o k.mwo compiles one, and mwcc --help lists the options\n", told)
  end)
end)

describe("an installation", function()
  -- What it says may be pasted.
  it("prints what to export, which suffices", function()
    local at = folder .. "/told"
    local told = must(make .. "install PREFIX=" .. at)
    assert.matches(("installed: %s/bin/moonwarp is the prompt, %s/bin/mwcc the compiler"):format(at, at), told, 1, true)
    local lines = { told:match "\n  (export PATH[^\n]*)\n  (export LUA_PATH_5_4=[^\n]*)\n  ([^\n]*)\n$" }
    local exports = table.concat(lines, "; ")
    assert.matches("export LUA_CPATH_5_4=", exports)
    local use = ("cd /; %s; "):format(exports)
    assert.equal(at .. "/bin/mwcc\n", must(use .. "command -v mwcc"))
    assert.equal("true\tc\n", must(("%s lua5.4 -e 'mw = require \"moonwarp\" %s'"):format(use, script)))
    told = must(("(%s); (%s; %s install PREFIX=%s)"):format("true", exports, make, at))
    assert.matches("lua5.4 and your shell find it: there is nothing to export\n$", told)
    assert.not_matches("export ", (told:gsub("nothing to export", "")))
    assert.equal("", must(make .. "install DESTDIR=" .. folder .. "/package PREFIX=/usr"))
  end)

  it("runs from where it is moved to, on each Lua", function()
    must(make .. "install PREFIX=" .. folder .. "/first")
    if has "luajit" then must(make .. "install LUA_VERSION=5.1 PREFIX=" .. folder .. "/jit") end
    must(("mv %s/first %s/moved"):format(folder, folder))
    assert.equal("true\tc\n", must(("cd / && %s/moved/bin/moonwarp -e '%s'"):format(folder, script)))
    if has "luajit" then
      assert.equal("true\tffi\n", must(("cd / && %s/jit/bin/moonwarp -e '%s'"):format(folder, script)))
      assert.equal("true\tc\n", must(("cd / && MOONWARP_BINDING=c %s/jit/bin/moonwarp -e '%s'"):format(folder, script)))
    end
  end)

  it("has the lessons, and their solutions in a folder of their own", function()
    local learn = ("mkdir -p %s/learner && cd %s/learner && XDG_DATA_HOME=. %s/moved/bin/moonwarp learn"):format(folder,
      folder, folder)
    assert.matches("is new in this folder", (run(learn .. " 1")), 1, true)
    must(("cp %s/moved/share/moonwarp/solutions/first/map.lua %s/learner/01_map.lua"):format(folder, folder))
    assert.matches("To compare: [^\n]*/solutions/first/map.lua", must(learn .. " 1"))
  end)

  it("serves C hosts, by pkg-config and statically", function()
    local at = folder .. "/moved"
    local flags = ("$(PKG_CONFIG_PATH=%s/lib/pkgconfig pkg-config --cflags --libs %%s moonwarp)"):format(at)
    must(("cc -o %s/embed examples/embed.c %s"):format(folder, flags:format ""))
    assert.matches("a prepared launch", must(("LD_LIBRARY_PATH=%s/lib %s/embed"):format(at, folder)))
    must((cc .. " -o %s/static examples/embed.c -I%s/include %s/lib/libmoonwarp.a %s"):format(folder, at, at,
      (flags:format "--static"):gsub("%)$", "") .. " | sed 's/-lmoonwarp//')"))
    assert.not_matches("libmoonwarp", must(("env -u LD_PRELOAD ldd %s/static"):format(folder)))
    assert.matches("a prepared launch", must(("MOONWARP_HOME=%s %s/static"):format(at, folder)))
  end)

  it("serves hosts with Lua inside, statically", function()
    local at = folder .. "/moved"
    local source = assert(io.open(folder .. "/host.c", "w"))
    source:write [[
      #include <lauxlib.h>
      #include <lualib.h>
      int luaopen_moonwarp_core(lua_State *L);
      int main(int count, char **arguments) {
        lua_State *L = luaL_newstate();
        luaL_openlibs(L);
        luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
        lua_pushcfunction(L, luaopen_moonwarp_core);
        lua_setfield(L, -2, "moonwarp.core");
        return count != 2 || luaL_dostring(L, arguments[1]);
      }
    ]]
    source:close()
    local flags = ("$(PKG_CONFIG_PATH=%s/lib/pkgconfig pkg-config --cflags --libs --static moonwarp lua5.4"):format(at)
    local libraries = ("%s/lib/libmoonwarp-lua5.4.a %s/lib/libmoonwarp.a"):format(at, at)
    must((cc .. " -o %s/lua_host %s/host.c %s %s"):format(folder, folder, libraries,
      flags .. " | sed 's/-lmoonwarp//')"))
    local path = ("LUA_PATH='%s/share/lua/5.4/?.lua;%s/share/lua/5.4/?/init.lua' LUA_CPATH=' '"):format(at, at)
    local use = ("cd / && MOONWARP_HOME=%s %s"):format(at, path)
    assert.equal("true\tc\n", must(("%s %s/lua_host 'mw = require \"moonwarp\" %s'"):format(use, folder, script)))
  end)

  it("serves hosts with CUDA's own functions, by pkg-config and statically", function()
    local at = folder .. "/moved"
    local flags = ("$(PKG_CONFIG_PATH=%s/lib/pkgconfig pkg-config --cflags --libs %%s moonwarp-cuda)"):format(at)
    must(("cc -o %s/matmul examples/c/matmul.c %s"):format(folder, flags:format ""))
    assert.matches("%f[%d]0 wrong", must(("LD_LIBRARY_PATH=%s/lib %s/matmul"):format(at, folder)))
    local libraries = ("%s/lib/libmoonwarp_cuda.a %s/lib/libmoonwarp.a"):format(at, at)
    must((cc .. " -o %s/static examples/c/texture.c %s %s"):format(folder, libraries,
      (flags:format "--static"):gsub("%)$", "") .. " | sed 's/-lmoonwarp_cuda//; s/-lmoonwarp//')"))
    assert.not_matches("libmoonwarp", must(("env -u LD_PRELOAD ldd %s/static"):format(folder)))
    assert.matches("turned: 0 wrong", must(("MOONWARP_HOME=%s %s/static"):format(at, folder)))
  end)

  it("is removed without a trace", function()
    must(make .. "uninstall PREFIX=" .. folder .. "/moved")
    assert.equal("", must(("find %s/moved -type f"):format(folder)))
  end)
end)

describe("a tree of LuaRocks", function()
  local function check(version, lua, binding)
    if not has "luarocks" then return pending "there is no luarocks" end
    if not has(lua) then return pending("there is no " .. lua) end
    local tree = folder .. "/rocks" .. version
    must(("luarocks --lua-version %s --tree %s make rockspec/moonwarp-scm-1.rockspec BUILD=%s"):format(version, tree,
      home))
    local path = "LUA_PATH='@/share/lua/V/?.lua;@/share/lua/V/?/init.lua' LUA_CPATH='@/lib/lua/V/?.so' "
    path = path:gsub("[@V]", { ["@"] = tree, V = version })
    local use = ("cd / && %s %s -e 'mw = require \"moonwarp\" %s'"):format(path, lua, script)
    assert.equal(("true\t%s\n"):format(binding), must(use))
    assert.matches("^mwcc %d", must(tree .. "/bin/mwcc --version"))
    must(("cd %s && printf '__global__ void f() {}' | %s/bin/mwcc -o f.mwo - && test -s f.mwo"):format(folder, tree))
  end

  it("has the compiler as it is linked, without BOLT's layout", function()
    local command = "BOLT=llvm-bolt make -n BUILD='%s/none' ROCK_LUA=lua5.4 rock"
    local commands = must(command:format(folder))
    assert.matches("/none/bin/mwcc", commands, 1, true)
    assert.not_matches("lay_out.sh", commands, 1, true)
  end)
  it("has all of moonwarp", function() return check("5.4", "lua5.4", "c") end)
  it("has all of it for LuaJIT", function() return check("5.1", "luajit", "ffi") end)
end)
