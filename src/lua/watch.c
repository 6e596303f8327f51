/* Watching launches: one watch at a time, for the launches of this thread. */
#include "binding.h"

/* watch_begin(watchers): launches are watched from now on. */
static int watch_begin(lua_State *L) {
  mwl_state *state = mwl_of(L);
  const char *watchers = luaL_checkstring(L, 1);
  mw_watch *watch;
  mwl_must(L, state, mw_watch_new(mwl_current(L, state)->handle, watchers, &watch));
  int code = mw_watch_begin(watch);
  if (code != MW_SUCCESS) mw_watch_release(watch);
  mwl_must(L, state, code);
  mw_watch_release(state->watch); /* its result was not requested */
  state->watch = watch;
  return 0;
}

/* watch_end(): launches are not watched any more. */
static int watch_end(lua_State *L) {
  mwl_state *state = mwl_of(L);
  if (state->watch) mw_watch_end(state->watch);
  return 0;
}

/* watch_result() -> what the watchers saw, after watch_end and when the device is done; the watch is released. */
static int watch_result(lua_State *L) {
  mwl_state *state = mwl_of(L);
  const char *text = NULL;
  mw_watch *watch = state->watch;
  int code = mw_watch_result(watch, &text);
  state->watch = NULL;
  if (code != MW_SUCCESS) {
    mw_watch_release(watch);
    mwl_must(L, state, code);
  }
  lua_pushstring(L, text); /* out of memory here leaks the watch, and nothing else */
  mw_watch_release(watch);
  return 1;
}

void mwl_open_watch(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {
      {"watch_begin", watch_begin}, {"watch_end", watch_end}, {"watch_result", watch_result}, {NULL, NULL}};
  mwl_functions(L, functions, state);
}
