/* Tensor maps: the bytes of a CUtensorMap. */
#include "lua/binding.h"

#include <string.h>

/* tensor_map(array or address, layout) -> 128 bytes. layout: the numbers of mw_tensor_layout, in its order. */
static int tensor_map(lua_State *L) {
  mwl_state *state = mwl_of(L);
  bool by_address = lua_type(L, 1) == LUA_TNUMBER;
  const mwl_array *array = by_address ? NULL : mwl_check_array(L, state, 1, "a tensor map");
  mw_tensor_layout layout;
  int64_t numbers[sizeof layout / sizeof(int64_t)];
  unsigned char map[128];
  luaL_checktype(L, 2, LUA_TTABLE);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    lua_rawgeti(L, 2, (int)i + 1);
    if (!mwl_whole(L, -1, &numbers[i])) mwl_refusal(L, state, "tensor_map", "v", -1);
    lua_pop(L, 1);
  }
  memcpy(&layout, numbers, sizeof layout);
  int64_t address = 0;
  if (by_address && !mwl_whole(L, 1, &address)) mwl_refusal(L, state, "tensor_map", "v", 1);
  if (array) address = (int64_t)(mw_buffer_address(mw_array_buffer(array->handle)) + mw_array_offset(array->handle));
  mw_device *device = array ? array->device->handle : mwl_current(L, state)->handle;
  mwl_must(L, state, mw_tensor_map_encode(device, (uint64_t)address, &layout, map));
  lua_pushlstring(L, (const char *)map, sizeof map);
  return 1;
}

void mwl_open_tensor_map(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"tensor_map", tensor_map}, {NULL, NULL}};
  mwl_functions(L, functions, state);
}
