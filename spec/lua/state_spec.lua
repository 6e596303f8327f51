-- Lua states: one that ends at any time, and several in one process.

local child = require "support.child"
local lifetime = require "support.lifetime"
local suite = require "support.suite"

-- Runs to its end with exit status 0 and prints nothing but `expected`.
local function check_end(script, expected)
  local result = child(script)
  assert.is_true(result.ok, ("%s %d: %s"):format(result.how, result.code, result.output))
  assert.equal(expected or "", result.output)
end

local prelude = ([[
  local mw = require "moonwarp"
  local m = mw.compile [==[%s]==]
]]):format(lifetime.text)

describe("a state that ends", function()
  it("with work in flight ends in peace", function()
    check_end(prelude .. [[
      local a, b = mw.ones(100000, "int"), mw.zeros(100000, "int")
      for _ = 1, 200 do m.add:each(100000)(100000, a, b) end
      m.slow(100, 32)(b, 20000)
    ]])
  end)

  it("with work in flight, by os.exit, ends in peace", function()
    -- A state that is not closed leaves its worker threads with what they hold, which is a leak to a sanitizer.
    for _, close in ipairs(lifetime.sanitized and { "true" } or { "true", "false" }) do
      check_end(prelude .. ([[
        local b = mw.zeros(1000, "int")
        for _ = 1, 20 do m.slow(10, 32)(b, 20000) end
        print "done"
        os.exit(true, %s)
      ]]):format(close), "done\n")
    end
  end)

  it("with a failure that nothing waited for reports it and ends", function()
    local result = child(prelude .. [[m.count(100, 32)(nil)]])
    assert.equal("exit", result.how)
    assert.equal(1, result.code)
    local deed = suite.on_gpu and "read or wrote memory that no array holds" or "wrote to address 0x0"
    assert.matches("^moonwarp: kernel count " .. deed, result.output)
  end)

  it("with an error in the script ends with that error", function()
    local result = child(prelude .. [[
      m.slow(10, 32)(mw.zeros(32, "int"), 10000)
      error("the script's own", 0)
    ]])
    assert.equal(1, result.code)
    assert.matches("the script's own", result.output)
  end)

  it("ends without an error after the device's handles were released one by one", function()
    check_end(prelude .. [[
      local things = { mw.device(), m, m.count, m.count(1, 1), mw.zeros(10), m:symbol "total", m.add }
      m.count(1, 1)(mw.zeros(1, "int"))
      m = nil
      while #things > 0 do
        table.remove(things, 1 + #things // 2)
        collectgarbage()
      end
      print(mw.zeros(3):sum() == 0)
    ]], "true\n")
  end)

  it("in a coroutine that never finished ends in peace", function()
    check_end(prelude .. [[
      local routine = coroutine.wrap(function()
        local a <close> = mw.zeros(10, "int")
        for i = 1, 10 do
          m.count(1, 1)(a)
          coroutine.yield(a[1])
        end
      end)
      print(routine(), routine())
    ]], "1\t2\n")
  end)
end)

describe("two states", function()
  -- Lua can make no second state by itself: a C host can.
  local host = [[
#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const char *script;

static int run(lua_State *L, int number) {
  luaL_openlibs(L);
  lua_pushinteger(L, number);
  lua_setglobal(L, "number");
  if (luaL_dofile(L, script)) {
    lua_getglobal(L, "tostring");
    lua_insert(L, -2);
    lua_call(L, 1, 1);
    fprintf(stderr, "state %d: %s\n", number, lua_tostring(L, -1));
    return 1;
  }
  return 0;
}

static void *thread(void *argument) {
  for (int i = 0; i < 5; i++) {
    lua_State *L = luaL_newstate();
    if (run(L, *(int *)argument)) return argument;
    lua_close(L);
  }
  return NULL;
}

/* One after the other, one inside the other, and at once in several threads. */
int main(int argc, char **argv) {
  int failed = 0, numbers[4] = {0, 1, 2, 3};
  pthread_t threads[4];
  (void)argc;
  script = argv[1];
  lua_State *one = luaL_newstate(), *two = luaL_newstate();
  failed |= run(one, 1);
  failed |= run(two, 2);
  lua_close(one);
  failed |= run(two, 3);
  lua_close(two);
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, thread, &numbers[i]);
  for (int i = 0; i < 4; i++) {
    void *result;
    pthread_join(threads[i], &result);
    failed |= result != NULL;
  }
  puts(failed ? "failed" : "fine");
  return failed;
}
]]

  it("of one process, and states in several threads, do not disturb each other", function()
    local package_name = rawget(_G, "jit") and "luajit" or "lua5.4"
    if os.execute("pkg-config --exists " .. package_name) == nil then return pending "no headers of Lua" end
    local base = os.tmpname()
    local function write(path, content)
      local file = assert(io.open(path, "w"))
      file:write(content)
      file:close()
    end
    write(base .. ".c", host)
    write(base .. ".lua", prelude .. [[
      for round = 1, 20 do
        local a, b = mw.full(1000, number, "int"), mw.zeros(1000, "int")
        for _ = 1, 10 do m.add:each(1000)(1000, a, b) end
        assert(b:sum() == 10000 * number)
        m.factor = 1
        local ok, err = pcall(mw.zeros, "x")
        assert(not ok and mw.type(err) == "error")
      end
      assert(m.total == 0)
    ]])
    local build = ("cc -o %s.out %s.c $(pkg-config --cflags --libs %s) -pthread 2>&1"):format(base, base, package_name)
    local pipe = assert(io.popen(build))
    local output = pipe:read "*a"
    assert.is_true(pipe:close(), output)
    pipe = assert(io.popen(("%s.out %s.lua 2>&1"):format(base, base)))
    output = pipe:read "*a"
    local ok = pipe:close()
    for _, ending in ipairs { "", ".c", ".lua", ".out" } do os.remove(base .. ending) end
    assert.equal("fine\n", output)
    assert.is_true(ok)
  end)
end)
