/* 64-bit integers for Luas that only have doubles. LuaJIT represents integers beyond 2^53 as int64_t and uint64_t of its
 * FFI, which C functions cannot access, so two small Lua functions split and combine them. Plain Lua 5.1 and 5.2 have no
 * such values; there the nearest double is used. */
#include "lua/binding.h"

#if !MWL_HAS_INTEGERS

#define LUA_TCDATA 10 /* LuaJIT's type of FFI values, which its headers do not name */
#define EXACT      9007199254740992.0

static const char split_key, combine_key; /* keys of the two functions in the registry; absent without FFI */

/* split(value) -> low and high half, whether it is unsigned; nothing for another kind of cdata. */
static const char split_text[] =
    "local ffi = require 'ffi'\n"
    "local int64, uint64 = ffi.typeof 'int64_t', ffi.typeof 'uint64_t'\n"
    "return function(value)\n"
    "  if not (ffi.istype(int64, value) or ffi.istype(uint64, value)) then return end\n"
    "  local bits = ffi.cast(uint64, value)\n"
    "  return tonumber(bits % 4294967296ULL), tonumber(bits / 4294967296ULL), ffi.istype(uint64, value)\n"
    "end\n";

static const char combine_text[] = "local ffi = require 'ffi'\n"
                                   "return function(low, high, unsigned)\n"
                                   "  local bits = ffi.cast('uint64_t', high) * 4294967296ULL + low\n"
                                   "  return unsigned and bits or ffi.cast('int64_t', bits)\n"
                                   "end\n";

static void keep_function(lua_State *L, const char *text, const void *key) {
  if (luaL_loadstring(L, text) == LUA_OK && lua_pcall(L, 0, 1, 0) == LUA_OK)
    lua_rawsetp(L, LUA_REGISTRYINDEX, key);
  else
    lua_pop(L, 1); /* no FFI */
}

void mwl_open_int64(lua_State *L) {
  keep_function(L, split_text, &split_key);
  keep_function(L, combine_text, &combine_key);
}

bool mwl_test_int64(lua_State *L, int index, int64_t *value, bool *is_unsigned) {
  if (lua_type(L, index) != LUA_TCDATA) return false;
  index = lua_absindex(L, index);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &split_key);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    return false;
  }
  lua_pushvalue(L, index);
  bool found = lua_pcall(L, 1, 3, 0) == LUA_OK && lua_type(L, -3) == LUA_TNUMBER;
  if (found) {
    *value = (int64_t)((uint64_t)lua_tonumber(L, -2) << 32 | (uint64_t)lua_tonumber(L, -3));
    *is_unsigned = lua_toboolean(L, -1);
    lua_pop(L, 3);
    return true;
  }
  lua_settop(L, lua_gettop(L) - (lua_type(L, -1) == LUA_TSTRING ? 1 : 3));
  return false;
}

void mwl_push_int64(lua_State *L, int64_t value, bool is_unsigned) {
  double number = is_unsigned ? (double)(uint64_t)value : (double)value;
  if (!(number > -EXACT && number < EXACT)) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &combine_key);
    if (!lua_isnil(L, -1)) {
      lua_pushnumber(L, (lua_Number)(uint32_t)value);
      lua_pushnumber(L, (lua_Number)((uint64_t)value >> 32));
      lua_pushboolean(L, is_unsigned);
      lua_call(L, 3, 1);
      return;
    }
    lua_pop(L, 1);
  }
  lua_pushnumber(L, number);
}

#else

void mwl_open_int64(lua_State *L) { (void)L; }

bool mwl_test_int64(lua_State *L, int index, int64_t *value, bool *is_unsigned) {
  (void)L, (void)index, (void)value, (void)is_unsigned;
  return false; /* Lua 5.3 and newer have 64-bit integers */
}

void mwl_push_int64(lua_State *L, int64_t value, bool is_unsigned) {
  (void)is_unsigned;
  lua_pushinteger(L, value);
}

#endif
