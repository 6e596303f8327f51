/* The compile cache's facts and its two switches. */
#include "binding.h"

static void set_count(lua_State *L, const char *field, size_t value) {
  mwl_pushinteger(L, value);
  lua_setfield(L, -2, field);
}

/* cache_info() -> {path =, hits =, misses =, bytes =, entries =, limit =} */
static int cache_info(lua_State *L) {
  mw_cache_info info;
  mwl_must(L, mwl_of(L), mw_cache_describe(&info));
  lua_createtable(L, 0, 6);
  lua_pushstring(L, info.path);
  lua_setfield(L, -2, "path");
  set_count(L, "hits", info.hits);
  set_count(L, "misses", info.misses);
  set_count(L, "bytes", info.bytes);
  set_count(L, "entries", info.entries);
  set_count(L, "limit", info.limit);
  return 1;
}

static int cache_clear(lua_State *L) {
  mwl_must(L, mwl_of(L), mw_cache_clear());
  return 0;
}

/* cache_limit(bytes) */
static int cache_limit(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_must(L, state, mw_cache_limit(mwl_check_size(L, state, 1, "mw.cache.limit")));
  return 0;
}

void mwl_open_cache(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {
      {"cache_info", cache_info}, {"cache_clear", cache_clear}, {"cache_limit", cache_limit}, {NULL, NULL}};
  mwl_functions(L, functions, state);
}
