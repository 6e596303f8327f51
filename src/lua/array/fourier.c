/* Fourier transforms of arrays by libraries. What a library cannot do is no error: the functions return false, or nil,
 * and the reason, and the Lua layer runs kernels instead. */
#include "lua/binding.h"

/* fourier_library() -> the name of the current device's library; or nil, why there is none */
static int fourier_library(lua_State *L) {
  mwl_state *state = mwl_of(L);
  char name[512];
  int code = mw_fourier_library(mwl_current(L, state)->handle, name, sizeof name);
  return mwl_library_name(L, state, code, name);
}

/* array_fourier(x, y, kind, n, inner): as mw_array_fourier -> true; or false, why the library cannot */
static int array_fourier(lua_State *L) {
  static const char *const kinds[] = {"forward", "inverse", "real", "real inverse", NULL};
  mwl_state *state = mwl_of(L);
  mwl_array *x = mwl_check_array(L, state, 1, "a transform"), *y = mwl_check_array(L, state, 2, "a transform");
  mw_fourier_kind kind = (mw_fourier_kind)luaL_checkoption(L, 3, NULL, kinds);
  int code =
      mw_array_fourier(x->handle, y->handle, kind, (size_t)luaL_checknumber(L, 4), (size_t)luaL_checknumber(L, 5));
  lua_pushboolean(L, code == MW_SUCCESS);
  if (code == MW_NOT_SUPPORTED) {
    lua_pushstring(L, mw_error_last()->message);
    mw_error_clear();
    return 2;
  }
  mwl_must(L, state, code);
  x->device->pending = true;
  return 1;
}

void mwl_open_fourier(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {
      {"fourier_library", fourier_library}, {"array_fourier", array_fourier}, {NULL, NULL}};
  mwl_functions(L, functions, state);
}
