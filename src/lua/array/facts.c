/* Properties of arrays: shape, strides, dtype, address, device; several at once; and new arrays like another. */
#include "lua/binding.h"

static int get_shape(lua_State *L) {
  mwl_array *array = mwl_check_array(L, mwl_of(L), 1, "shape");
  lua_createtable(L, array->rank, 0);
  for (int i = 0; i < array->rank; i++) {
    mwl_pushinteger(L, array->shape[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int get_strides(lua_State *L) {
  mwl_array *array = mwl_check_array(L, mwl_of(L), 1, "strides");
  const int64_t *strides = mw_array_strides(array->handle);
  lua_createtable(L, array->rank, 0);
  for (int i = 0; i < array->rank; i++) {
    mwl_pushinteger(L, strides[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int get_is_contiguous(lua_State *L) {
  lua_pushboolean(L, mw_array_is_contiguous(mwl_check_array(L, mwl_of(L), 1, "is_contiguous")->handle));
  return 1;
}

static int get_is_read_only(lua_State *L) {
  lua_pushboolean(L, mw_array_is_read_only(mwl_check_array(L, mwl_of(L), 1, "is_read_only")->handle));
  return 1;
}

static int get_rank(lua_State *L) {
  lua_pushinteger(L, mwl_check_array(L, mwl_of(L), 1, "rank")->rank);
  return 1;
}

static int get_count(lua_State *L) {
  mwl_pushinteger(L, mw_array_count(mwl_check_array(L, mwl_of(L), 1, "count")->handle));
  return 1;
}

static int get_nbytes(lua_State *L) {
  mwl_pushinteger(L, mw_array_bytes(mwl_check_array(L, mwl_of(L), 1, "nbytes")->handle));
  return 1;
}

static int get_dtype(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_array *array = mwl_check_array(L, state, 1, "dtype");
  mwl_dtype_push(L, state, array->dtype, array->module);
  return 1;
}

static int get_device(lua_State *L) {
  mwl_device_push(L, mwl_check_array(L, mwl_of(L), 1, "device")->device);
  return 1;
}

/* The device address of the first element, 0 once freed. */
static int get_address(lua_State *L) {
  mwl_array *array = mwl_check_array(L, mwl_of(L), 1, "address");
  uint64_t address = mw_buffer_address(mw_array_buffer(array->handle));
  mwl_pushinteger(L, (int64_t)(address ? address + mw_array_offset(array->handle) : 0));
  return 1;
}

static int get_freed(lua_State *L) {
  mwl_array *array = mwl_check(L, mwl_of(L), 1, MWL_ARRAY, "freed");
  lua_pushboolean(L, !array->handle || mw_buffer_is_freed(mw_array_buffer(array->handle)));
  return 1;
}

/* array_facts(array) -> dtype, device, whether it is contiguous, elements, dimensions, their first two sizes: what the
   library's functions want to know of an operand, in one call. */
static int array_facts(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_array *array = mwl_check_array(L, state, 1, "shape");
  mwl_dtype_push(L, state, array->dtype, array->module);
  mwl_device_push(L, array->device);
  lua_pushboolean(L, mw_array_is_contiguous(array->handle));
  mwl_pushinteger(L, mw_array_count(array->handle));
  lua_pushinteger(L, array->rank);
  mwl_pushinteger(L, array->shape[0]);
  if (array->rank == 1) return 6;
  mwl_pushinteger(L, array->shape[1]);
  return 7;
}

/* array_beside(array, dtype, shape) -> a new array on that array's device, contents undefined */
static int array_beside(lua_State *L) {
  mwl_state *state = mwl_of(L);
  size_t shape[MWL_MAX_RANK];
  mw_module *module;
  mwl_array *like = mwl_check_array(L, state, 1, "a new array");
  const mw_type *dtype = mwl_check_dtype(L, state, 2, "float", &module);
  int rank = mwl_check_shape(L, state, 3, shape);
  mwl_array *array = mwl_array_push(L, state, like->device);
  mwl_array_fill_new(L, state, array, dtype, module, rank, shape);
  return 1;
}

void mwl_open_array_facts(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"array_facts", array_facts}, {"array_beside", array_beside}, {NULL, NULL}};
  mwl_functions(L, functions, state);
}

const luaL_Reg mwl_array_facts[] = {{"shape", get_shape},
                                    {"rank", get_rank},
                                    {"count", get_count},
                                    {"strides", get_strides},
                                    {"is_contiguous", get_is_contiguous},
                                    {"is_read_only", get_is_read_only},
                                    {"nbytes", get_nbytes},
                                    {"dtype", get_dtype},
                                    {"device", get_device},
                                    {"address", get_address},
                                    {"freed", get_freed},
                                    {NULL, NULL}};
