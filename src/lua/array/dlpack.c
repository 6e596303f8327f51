/* Arrays as DLPack's tensors, which scripts see as pointers. */
#include "lua/binding.h"

/* array_to_dlpack(array, versioned) -> the tensor's address, as light userdata; the receiver calls its deleter */
static int array_to_dlpack(lua_State *L) {
  mwl_state *state = mwl_of(L);
  void *tensor;
  mwl_array *array = mwl_check_array(L, state, 1, "dlpack");
  mwl_settle(L, state, array->device);
  mwl_must(L, state, mw_array_to_dlpack(array->handle, lua_toboolean(L, 2), &tensor));
  lua_pushlightuserdata(L, tensor);
  return 1;
}

/* array_from_dlpack(pointer, versioned) -> an array on the device in use with the tensor's elements; the tensor is
   deleted */
static int array_from_dlpack(lua_State *L) {
  mwl_state *state = mwl_of(L);
  void *tensor = lua_touserdata(L, 1);
  if (!lua_islightuserdata(L, 1)) return mwl_refusal(L, state, "tensor", "v", 1);
  mwl_array *array = mwl_array_push(L, state, mwl_current(L, state));
  mwl_settle(L, state, array->device);
  mw_array *handle;
  mwl_must(L, state, mw_array_from_dlpack(array->device->handle, tensor, lua_toboolean(L, 2), &handle));
  mwl_array_adopt(state, array, handle, NULL, mw_array_bytes(handle));
  return 1;
}

void mwl_open_dlpack(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {
      {"array_to_dlpack", array_to_dlpack}, {"array_from_dlpack", array_from_dlpack}, {NULL, NULL}};
  mwl_functions(L, functions, state);
}
