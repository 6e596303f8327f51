/* Products and factorisations of arrays by libraries. What a library cannot do is no error: the functions return false
 * and the reason, and the Lua layer runs kernels instead. */
#include "lua/binding.h"

enum { MOST = 5 };

static int outcome(lua_State *L, mwl_state *state, int code, mwl_device *device) {
  if (code == MW_NOT_SUPPORTED) {
    lua_pushboolean(L, 0);
    lua_pushstring(L, mw_error_last()->message);
    mw_error_clear();
    return 2;
  }
  mwl_must(L, state, code);
  device->pending = true;
  lua_pushboolean(L, 1);
  return 1;
}

/* linear_library(factorisations) -> the name of the current device's library; or nil, why there is none */
static int linear_library(lua_State *L) {
  mwl_state *state = mwl_of(L);
  char name[512];
  int code = mw_linear_library(mwl_current(L, state)->handle, lua_toboolean(L, 1), name, sizeof name);
  return mwl_library_name(L, state, code, name);
}

/* array_product(a, b, c): c = a b -> true; or false, why the library cannot */
static int array_product(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_array *arrays[3];
  for (int i = 0; i < 3; i++) arrays[i] = mwl_check_array(L, state, i + 1, "a product");
  int code = mw_array_product(arrays[0]->handle, arrays[1]->handle, arrays[2]->handle);
  return outcome(L, state, code, arrays[0]->device);
}

/* array_factor(name, arrays…): as mw_array_factor -> true; or false, why the library cannot */
static int array_factor(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_array *arrays[MOST];
  const char *name = luaL_checkstring(L, 1);
  int count = lua_gettop(L) - 1;
  if (count < 1 || count > MOST) return mwl_refusal(L, state, "factorisation", "n", (double)MOST);
  for (int i = 0; i < count; i++) arrays[i] = mwl_check_array(L, state, i + 2, "a factorisation")->handle;
  int code = mw_array_factor(name, arrays, (size_t)count);
  return outcome(L, state, code, mwl_check_array(L, state, 2, "a factorisation")->device);
}

void mwl_open_linear(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"linear_library", linear_library},
                                       {"array_product", array_product},
                                       {"array_factor", array_factor},
                                       {NULL, NULL}};
  mwl_functions(L, functions, state);
}
