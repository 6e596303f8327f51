/* OpenGL for specs: functions for Lua, of support/native/gl_context.h. Written against what Lua 5.4 and LuaJIT have in common, which
 * is declared here, so that one library does for both. */
#include "gl_context.h"

#include <stddef.h>
#include <stdint.h>

typedef struct lua_State lua_State;
const char *lua_tolstring(lua_State *L, int index, size_t *length);
long long lua_tointegerx(lua_State *L, int index, int *is_number);
int lua_type(lua_State *L, int index);
int lua_toboolean(lua_State *L, int index);
int lua_gettop(lua_State *L);
void lua_pushnil(lua_State *L);
void lua_pushnumber(lua_State *L, double number);
void lua_pushstring(lua_State *L, const char *text);
void lua_pushlstring(lua_State *L, const char *text, size_t length);
void lua_pushboolean(lua_State *L, int value);

enum { LUA_BOOLEAN = 1, LUA_NUMBER = 3, LUA_STRING = 4 };

#define PUBLIC __attribute__((visibility("default")))

static int answer(lua_State *L, const char *why) {
  if (why) {
    lua_pushnil(L);
    lua_pushstring(L, why);
    return 2;
  }
  lua_pushboolean(L, 1);
  return 1;
}

/* open("gl" or "es") -> true, or nil and why not */
PUBLIC int gl_open(lua_State *L);
int gl_open(lua_State *L) { return answer(L, gl_context_open(lua_tolstring(L, 1, NULL))); }

/* current(on) */
PUBLIC int gl_current(lua_State *L);
int gl_current(lua_State *L) { return answer(L, gl_context_current((int)lua_tointegerx(L, 1, NULL))); }

/* call(bytes, name, …) -> the result, and what the function has written to `bytes` bytes of memory, for which an argument
   `true` stands. Numbers are integers, strings their bytes, false is NULL. */
PUBLIC int gl_call(lua_State *L);
int gl_call(lua_State *L) {
  typedef intptr_t function(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t,
                            intptr_t, intptr_t);
  size_t bytes = (size_t)lua_tointegerx(L, 1, NULL);
  void *address = gl_context_function(lua_tolstring(L, 2, NULL));
  char *memory = calloc(1, bytes + 1);
  intptr_t a[11] = {0};
  function *f;
  memcpy(&f, &address, sizeof address);
  for (int i = 3; i <= lua_gettop(L) && i < 14; i++) {
    int type = lua_type(L, i);
    a[i - 3] = type == LUA_NUMBER                           ? (intptr_t)lua_tointegerx(L, i, NULL)
               : type == LUA_STRING                         ? (intptr_t)lua_tolstring(L, i, NULL)
               : type == LUA_BOOLEAN && lua_toboolean(L, i) ? (intptr_t)memory
                                                            : 0;
  }
  intptr_t result = f ? f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10]) : -1;
  lua_pushnumber(L, (double)(uint32_t)result);
  lua_pushlstring(L, memory, bytes);
  free(memory);
  return 2;
}
