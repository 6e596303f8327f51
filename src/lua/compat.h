/* One Lua C API for 5.1 to 5.4 and LuaJIT: what the binding uses of 5.4's, where an older Lua lacks it.
 *
 * Userdata have one user value, a table ("the environment" of an object: what it keeps alive), because that is what
 * every one of these Luas can give them. */
#ifndef MWL_COMPAT_H
#define MWL_COMPAT_H

#include <lauxlib.h>
#include <lua.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- user values ---- */
/* mwl_userdata: a new full userdata that can have an environment. mwl_plain: one that never will.
   mwl_setenv: pop a table, make it the environment. mwl_getenv: push the environment (of an object that has one). */
#if LUA_VERSION_NUM >= 504
#define mwl_userdata(L, bytes) lua_newuserdatauv(L, bytes, 1)
#define mwl_plain(L, bytes)    lua_newuserdatauv(L, bytes, 0)
#define mwl_setenv(L, index)   ((void)lua_setiuservalue(L, index, 1))
#define mwl_getenv(L, index)   ((void)lua_getiuservalue(L, index, 1))
#elif LUA_VERSION_NUM >= 502
#define mwl_userdata(L, bytes) lua_newuserdata(L, bytes)
#define mwl_plain(L, bytes)    lua_newuserdata(L, bytes)
#define mwl_setenv(L, index)   ((void)lua_setuservalue(L, index))
#define mwl_getenv(L, index)   ((void)lua_getuservalue(L, index))
#else
#define mwl_userdata(L, bytes) lua_newuserdata(L, bytes)
#define mwl_plain(L, bytes)    lua_newuserdata(L, bytes)
#define mwl_setenv(L, index)   ((void)lua_setfenv(L, index))
#define mwl_getenv(L, index)   ((void)lua_getfenv(L, index))
#endif

/* ---- integers: only 5.3 and later have them as a subtype ---- */
#if LUA_VERSION_NUM >= 503
#define MWL_HAS_INTEGERS          1
#define mwl_isinteger(L, index)   lua_isinteger(L, index)
#define mwl_pushinteger(L, value) lua_pushinteger(L, (lua_Integer)(value))
#else
#define MWL_HAS_INTEGERS          0
#define mwl_isinteger(L, index)   0
#define mwl_pushinteger(L, value) lua_pushnumber(L, (lua_Number)(value))
#endif

/* A number that is whole, as an integer; strings are not converted. The value -1 of a double above 2^63 cannot occur. */
static inline bool mwl_whole(lua_State *L, int index, int64_t *out) {
  if (lua_type(L, index) != LUA_TNUMBER) return false;
#if LUA_VERSION_NUM >= 503
  int whole;
  *out = lua_tointegerx(L, index, &whole);
  return whole;
#else
  lua_Number number = lua_tonumber(L, index);
  if (!(number >= -9007199254740992.0 && number <= 9007199254740992.0)) return false;
  *out = (int64_t)number;
  return (lua_Number)*out == number;
#endif
}

/* ---- 5.2's functions for 5.1 and LuaJIT ---- */
#if LUA_VERSION_NUM < 502
#define lua_rawlen lua_objlen
#ifndef LUA_OK
#define LUA_OK 0
#endif

static inline int lua_absindex(lua_State *L, int index) {
  return index > 0 || index <= LUA_REGISTRYINDEX ? index : lua_gettop(L) + index + 1;
}

/* Keys are addresses of static variables or of C objects; light userdata serve as they are. */
static inline void lua_rawgetp(lua_State *L, int index, const void *key) {
  index = lua_absindex(L, index);
  lua_pushlightuserdata(L, (void *)(uintptr_t)key);
  lua_rawget(L, index);
}

static inline void lua_rawsetp(lua_State *L, int index, const void *key) {
  index = lua_absindex(L, index);
  lua_pushlightuserdata(L, (void *)(uintptr_t)key);
  lua_insert(L, -2);
  lua_rawset(L, index);
}

/* As debug.traceback, with `level` 0 the calling C function. */
static inline void mwl_traceback(lua_State *L, int level) {
  lua_getglobal(L, "debug");
  if (lua_istable(L, -1)) lua_getfield(L, -1, "traceback");
  if (!lua_isfunction(L, -1)) {
    lua_pop(L, 1);
    lua_pushliteral(L, "");
    return;
  }
  lua_remove(L, -2);
  lua_pushliteral(L, "");
  lua_pushinteger(L, level + 1);
  if (lua_pcall(L, 2, 1, 0) != LUA_OK) {
    lua_pop(L, 1);
    lua_pushliteral(L, "");
  }
}
#else
/* traceback.c */
void mwl_traceback(lua_State *L, int level);
#endif

/* Register `list` into the table on top, each function with the one value `state` as its first upvalue. */
static inline void mwl_functions(lua_State *L, const luaL_Reg *list, void *state) {
  for (; list->name; list++) {
    lua_pushlightuserdata(L, state);
    lua_pushcclosure(L, list->func, 1);
    lua_setfield(L, -2, list->name);
  }
}

#endif
