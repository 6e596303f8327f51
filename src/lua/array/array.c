/* Array objects: making, viewing and freeing them, their elements, and what is done to all of them at once.
 *
 * Indices are Lua's, from 1. Reading one past the end gives nil, which is how ipairs finds it; any other index outside
 * is a mistake and raises. Of an array with several dimensions a[i] is row i, a view. */
#include "lua/binding.h"

#define ELEMENT 32 /* bytes of the largest built-in dtype, double4; structs may have more */

/* ---- life ---- */

mwl_array *mwl_array_push(lua_State *L, mwl_state *state, mwl_device *device) {
  mwl_array *array = mwl_plain(L, sizeof *array);
  *array = (mwl_array){.device = device};
  mwl_set_class(L, state, MWL_ARRAY);
  return array;
}

void mwl_array_adopt(mwl_state *state, mwl_array *array, mw_array *handle, mw_module *module, size_t counted) {
  array->handle = handle;
  array->module = module ? mw_module_retain(module) : NULL;
  array->dtype = mw_array_dtype(handle);
  array->shape = mw_array_shape(handle);
  array->rank = mw_array_rank(handle);
  array->counted = counted;
  state->live += counted;
}

void mwl_array_fill_new(lua_State *L, mwl_state *state, mwl_array *array, const mw_type *dtype, mw_module *module,
                        int rank, const size_t *shape) {
  size_t bytes = dtype->size;
  for (int i = 0; i < rank; i++)
    if (__builtin_mul_overflow(bytes, shape[i], &bytes)) bytes = SIZE_MAX / 2;
  mwl_collect_step(L, state, bytes);
  mw_memory_kind kind = array->kind ? array->kind : MW_MEMORY_DEVICE;
  mw_array *handle = NULL;
  int code = mw_array_new_kind(array->device->handle, kind, dtype, rank, shape, &handle);
  for (int attempt = 0; code == MW_MEMORY_ALLOCATION; attempt++) {
    if (!mwl_collect_all(L, state, array->device, attempt)) break;
    code = mw_array_new_kind(array->device->handle, kind, dtype, rank, shape, &handle);
  }
  mwl_must(L, state, code);
  mwl_array_adopt(state, array, handle, module, bytes);
}

static void uncount(mwl_state *state, mwl_array *array) {
  state->live -= array->counted;
  array->counted = 0;
}

void mwl_array_close(mwl_state *state, mwl_array *array) {
  if (!array->handle) return;
  uncount(state, array);
  mw_array_release(array->handle);
  mw_module_release(array->module);
  array->handle = NULL;
  array->module = NULL;
}

int mwl_array_free(mwl_state *state, mwl_array *array) {
  state->freed += array->counted;
  uncount(state, array);
  return mw_array_free(array->handle);
}

static int array_gc(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_array *array = mwl_test(L, state, 1, MWL_ARRAY);
  if (array) mwl_array_close(state, array);
  return 0;
}

/* free, __close: release the memory, also of every view. Shape and dtype stay readable. */
static int array_free(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_array *array = mwl_check(L, state, 1, MWL_ARRAY, "free");
  if (!array->handle) return 0;
  mwl_must(L, state, mwl_array_free(state, array));
  return 0;
}

mwl_array *mwl_check_array(lua_State *L, mwl_state *state, int index, const char *what) {
  mwl_array *array = mwl_check(L, state, index, MWL_ARRAY, what);
  if (!array->handle) mwl_closed(L, state, what, "array");
  return array;
}

/* ---- shapes and making ---- */

static size_t check_dimension(lua_State *L, mwl_state *state, int index) {
  int64_t size;
  if (!mwl_whole(L, index, &size) || size < 0) mwl_refusal(L, state, "shape", "v", index);
  return (size_t)size;
}

int mwl_check_shape(lua_State *L, mwl_state *state, int index, size_t shape[MWL_MAX_RANK]) {
  if (lua_type(L, index) != LUA_TTABLE) {
    shape[0] = check_dimension(L, state, index);
    return 1;
  }
  size_t rank = lua_rawlen(L, index);
  if (rank < 1 || rank > MWL_MAX_RANK) mwl_refusal(L, state, "rank", "nn", (double)rank, (double)MWL_MAX_RANK);
  for (size_t i = 0; i < rank; i++) {
    lua_rawgeti(L, index, (int)i + 1);
    shape[i] = check_dimension(L, state, -1);
    lua_pop(L, 1);
  }
  return (int)rank;
}

/* array_new(dtype, shape[, "pinned" or "managed"]) -> array, contents undefined */
static int array_new(lua_State *L) {
  mwl_state *state = mwl_of(L);
  size_t shape[MWL_MAX_RANK];
  mw_module *module;
  lua_settop(L, 3);
  const mw_type *dtype = mwl_check_dtype(L, state, 1, "float", &module);
  int rank = mwl_check_shape(L, state, 2, shape);
  mwl_array *array = mwl_array_push(L, state, mwl_current(L, state));
  if (!lua_isnoneornil(L, 3)) array->kind = *luaL_checkstring(L, 3) == 'p' ? MW_MEMORY_PINNED : MW_MEMORY_MANAGED;
  mwl_array_fill_new(L, state, array, dtype, module, rank, shape);
  return 1;
}

/* array_view(array, offset in bytes, dtype or nil, shape) -> a view of the same memory */
static int array_view(lua_State *L) {
  mwl_state *state = mwl_of(L);
  size_t shape[MWL_MAX_RANK];
  mwl_array *array = mwl_check_array(L, state, 1, "a view");
  size_t offset = check_dimension(L, state, 2);
  mw_module *module = array->module;
  const mw_type *dtype = lua_isnil(L, 3) ? array->dtype : mwl_check_dtype(L, state, 3, NULL, &module);
  int rank = mwl_check_shape(L, state, 4, shape);
  mwl_array *view = mwl_array_push(L, state, array->device);
  mw_array *handle;
  mwl_must(L, state, mw_array_view(array->handle, offset, dtype, rank, shape, &handle));
  mwl_array_adopt(state, view, handle, module, 0);
  return 1;
}

/* array_strided(array, offset in bytes, dtype or nil, shape, strides in bytes) -> a view of the same memory */
static int array_strided(lua_State *L) {
  mwl_state *state = mwl_of(L);
  size_t shape[MWL_MAX_RANK];
  int64_t strides[MWL_MAX_RANK], offset;
  mwl_array *array = mwl_check_array(L, state, 1, "a view");
  mw_module *module = array->module;
  if (!mwl_whole(L, 2, &offset)) return mwl_refusal(L, state, "offset", "");
  const mw_type *dtype = lua_isnil(L, 3) ? array->dtype : mwl_check_dtype(L, state, 3, NULL, &module);
  int rank = mwl_check_shape(L, state, 4, shape);
  luaL_checktype(L, 5, LUA_TTABLE);
  for (int d = 0; d < rank; d++) {
    lua_rawgeti(L, 5, d + 1);
    if (!mwl_whole(L, -1, &strides[d])) return mwl_refusal(L, state, "strides", "");
    lua_pop(L, 1);
  }
  mwl_array *view = mwl_array_push(L, state, array->device);
  mw_array *handle;
  mwl_must(L, state, mw_array_view_strided(array->handle, offset, dtype, rank, shape, strides, &handle));
  mwl_array_adopt(state, view, handle, module, 0);
  return 1;
}

/* Push row `i` (0-based) as a view. */
static mwl_array *push_row(lua_State *L, mwl_state *state, mwl_array *array, size_t i) {
  mwl_array *row = mwl_array_push(L, state, array->device);
  mw_array *handle;
  mwl_must(L, state, mw_array_row(array->handle, i, &handle));
  mwl_array_adopt(state, row, handle, array->module, 0);
  return row;
}

/* ---- elements ---- */

static int bad_index(lua_State *L, mwl_state *state, size_t size) {
  return mwl_refusal(L, state, "index", "vn", 2, (double)size);
}

/* Room for an element: `local`, of ELEMENT bytes, or for a larger struct a userdata left on the stack. */
static unsigned char *room(lua_State *L, const mwl_array *array, unsigned char *local) {
  return array->dtype->size <= ELEMENT ? local : mwl_plain(L, array->dtype->size);
}

static int push_element(lua_State *L, mwl_state *state, mwl_array *array, size_t i) {
  _Alignas(ELEMENT) unsigned char local[ELEMENT];
  unsigned char *element = room(L, array, local);
  mwl_settle(L, state, array->device);
  mwl_must(L, state, mw_array_read(array->handle, i, 1, element));
  mwl_push(L, array->dtype, element);
  return 1;
}

static void set_element(lua_State *L, mwl_state *state, mwl_array *array, size_t i, int value) {
  _Alignas(ELEMENT) unsigned char local[ELEMENT];
  unsigned char *element = room(L, array, local);
  if (!mwl_pack_number(L, value, array->dtype, element)) {
    const mwl_place place = {NULL, "this element", 0};
    const mwl_keeper no_keeper = {0};
    if (!mwl_pack(L, state, value, array->dtype, element, &place, &no_keeper)) mwl_usage_top(L, state, NULL);
  }
  mwl_drain(L, state, array->device);
  mwl_must(L, state, mw_array_write(array->handle, i, 1, element));
}

/* What array_selectors was given: [1] reads a[key], [2] assigns to it, where the key is neither a number nor a name. */
static const char selectors;

static int select_by(lua_State *L, int which, int arguments) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &selectors);
  lua_rawgeti(L, -1, which);
  for (int i = 1; i <= arguments; i++) lua_pushvalue(L, i);
  lua_call(L, arguments, 1);
  return 1;
}

static bool is_selector(lua_State *L, int index) {
  int type = lua_type(L, index);
  return type == LUA_TTABLE || type == LUA_TUSERDATA || type == LUA_TBOOLEAN; /* booleans, to refuse them */
}

static int array_index(lua_State *L) {
  mwl_state *state = mwl_of(L);
  if (lua_type(L, 2) != LUA_TNUMBER) return is_selector(L, 2) ? select_by(L, 1, 2) : mwl_index_rest(L);
  mwl_array *array = mwl_check_array(L, state, 1, "indexing");
  int64_t i;
  size_t size = array->shape[0];
  if (!mwl_whole(L, 2, &i) || i < 1 || (uint64_t)i > size) {
    if (lua_tonumber(L, 2) == (lua_Number)size + 1) return 0;
    return bad_index(L, state, size);
  }
  if (array->rank == 1) return push_element(L, state, array, (size_t)i - 1);
  push_row(L, state, array, (size_t)i - 1);
  return 1;
}

static int array_fill(lua_State *L);

static int array_newindex(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_array *array = mwl_check_array(L, state, 1, "indexing");
  int64_t i;
  if (is_selector(L, 2)) return select_by(L, 2, 3), 0;
  if (lua_type(L, 2) != LUA_TNUMBER) return mwl_refusal(L, state, "key", "v", 2);
  if (!mwl_whole(L, 2, &i) || i < 1 || (uint64_t)i > array->shape[0]) return bad_index(L, state, array->shape[0]);
  if (array->rank == 1) {
    set_element(L, state, array, (size_t)i - 1, 3);
    return 0;
  }
  lua_settop(L, 3);
  mwl_array *row = push_row(L, state, array, (size_t)i - 1);
  if (lua_type(L, 3) == LUA_TNUMBER || lua_isboolean(L, 3)) { /* into each element */
    lua_replace(L, 1);
    lua_remove(L, 2);
    array_fill(L);
  } else {
    mwl_array_assign(L, state, row, 3);
  }
  return 0;
}

/* The element at the indices from stack place 2 on, as many as there are dimensions. */
static size_t check_indices(lua_State *L, mwl_state *state, mwl_array *array, const char *name, int given) {
  if (given != array->rank) mwl_refusal(L, state, "indices", "snn", name, (double)array->rank, (double)given);
  size_t place = 0;
  for (int d = 0; d < array->rank; d++) {
    int64_t i;
    if (!mwl_whole(L, d + 2, &i) || i < 1 || (uint64_t)i > array->shape[d])
      mwl_refusal(L, state, "index", "vnn", d + 2, (double)array->shape[d], (double)(d + 1));
    place = place * array->shape[d] + (size_t)i - 1;
  }
  return place;
}

static int array_get(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_array *array = mwl_check_array(L, state, 1, "get");
  return push_element(L, state, array, check_indices(L, state, array, "get", lua_gettop(L) - 1));
}

static int array_set(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_array *array = mwl_check_array(L, state, 1, "set");
  size_t place = check_indices(L, state, array, "set", lua_gettop(L) - 2);
  set_element(L, state, array, place, lua_gettop(L));
  return 0;
}

static int array_len(lua_State *L) {
  mwl_array *array = mwl_check_array(L, mwl_of(L), 1, "#");
  mwl_pushinteger(L, array->shape[0]);
  return 1;
}

static int next_element(lua_State *L) {
  int64_t i = (int64_t)lua_tointeger(L, 2) + 1;
  mwl_pushinteger(L, i);
  lua_pushvalue(L, -1);
  lua_gettable(L, 1);
  return lua_isnil(L, -1) ? 1 : 2;
}

/* ipairs in Luas that ask for this metamethod; the others index. */
static int array_ipairs(lua_State *L) {
  lua_pushcfunction(L, next_element);
  lua_pushvalue(L, 1);
  lua_pushinteger(L, 0);
  return 3;
}

/* ---- all elements at once ---- */

static int array_fill(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_array *array = mwl_check_array(L, state, 1, "fill");
  _Alignas(ELEMENT) unsigned char local[ELEMENT];
  const mwl_place place = {NULL, "the value to fill with", 0};
  const mwl_keeper no_keeper = {0};
  lua_settop(L, 2);
  unsigned char *element = room(L, array, local);
  if (!mwl_pack(L, state, 2, array->dtype, element, &place, &no_keeper)) return mwl_usage_top(L, state, NULL);
  mwl_must(L, state, mw_array_fill(array->handle, element));
  lua_settop(L, 1);
  return 1;
}

/* array_ramp(array, start, step) */
static int array_ramp(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_array *array = mwl_check_array(L, state, 1, "a ramp");
  mwl_drain(L, state, array->device);
  mwl_must(L, state, mw_array_ramp(array->handle, luaL_checknumber(L, 2), luaL_checknumber(L, 3)));
  return 0;
}

static int array_copy(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_array *array = mwl_check_array(L, state, 1, "copy");
  mwl_array *copy = mwl_array_push(L, state, array->device);
  mwl_array_fill_new(L, state, copy, array->dtype, array->module, array->rank, array->shape);
  mwl_must(L, state, mw_array_copy(copy->handle, array->handle));
  return 1;
}

mwl_array *mwl_array_packed(lua_State *L, mwl_state *state, mwl_array *array) {
  if (mw_array_is_contiguous(array->handle)) return array;
  mwl_array *copy = mwl_array_push(L, state, array->device);
  mwl_array_fill_new(L, state, copy, array->dtype, array->module, array->rank, array->shape);
  mwl_must(L, state, mw_array_copy(copy->handle, array->handle));
  return copy;
}

/* array_poll(array, flag, ticket) -> the element of the array, or nil: see mw_array_poll */
static int poll(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_array *array = mwl_check_array(L, state, 1, "a result"), *flag = mwl_check_array(L, state, 2, "a flag");
  _Alignas(ELEMENT) unsigned char local[ELEMENT];
  unsigned char *element = room(L, array, local);
  mw_owner_use(state->owner);
  int code = mw_array_poll(array->handle, flag->handle, (unsigned)luaL_checkinteger(L, 3), element);
  if (code == MW_NOT_READY) {
    lua_pushnil(L);
    return 1;
  }
  mwl_must(L, state, code);
  mwl_push(L, array->dtype, element);
  return 1;
}

static int reduce(lua_State *L, mw_reduction which, const char *name) {
  mwl_state *state = mwl_of(L);
  mwl_array *array = mwl_check_array(L, state, 1, name);
  double number = 0;
  int64_t integer = 0;
  int is_integer = 0;
  mwl_settle(L, state, array->device);
  mwl_must(L, state, mw_array_reduce(array->handle, which, &number, &integer, &is_integer));
  if (is_integer)
    mwl_push_int64(L, integer, false);
  else
    lua_pushnumber(L, number);
  return 1;
}

static int array_sum(lua_State *L) { return reduce(L, MW_SUM, "sum"); }
static int array_min(lua_State *L) { return reduce(L, MW_MIN, "min"); }
static int array_max(lua_State *L) { return reduce(L, MW_MAX, "max"); }

/* array_selectors(read, assign): functions of (array, key[, value]) for keys that are tables or objects */
static int array_selectors(lua_State *L) {
  lua_settop(L, 2);
  lua_createtable(L, 2, 0);
  lua_insert(L, 1);
  lua_rawseti(L, 1, 2);
  lua_rawseti(L, 1, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &selectors);
  return 0;
}

/* array_metamethods{__add = …}: operators of arrays */
static int array_metamethods(lua_State *L) {
  mwl_state *state = mwl_of(L);
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &state->metatables[MWL_ARRAY]);
  lua_pushnil(L);
  while (lua_next(L, 1)) {
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, 2);
  }
  return 0;
}

void mwl_open_array(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"array_new", array_new},
                                       {"array_view", array_view},
                                       {"array_strided", array_strided},
                                       {"array_ramp", array_ramp},
                                       {"array_poll", poll},
                                       {"array_selectors", array_selectors},
                                       {"array_metamethods", array_metamethods},
                                       {NULL, NULL}};
  static const luaL_Reg meta[] = {{"__gc", array_gc},   {"__close", array_free},        {"__index", array_index},
                                  {"__len", array_len}, {"__newindex", array_newindex}, {"__ipairs", array_ipairs},
                                  {NULL, NULL}};
  static const luaL_Reg methods[] = {{"free", array_free}, {"get", array_get},   {"set", array_set},
                                     {"fill", array_fill}, {"copy", array_copy}, {"sum", array_sum},
                                     {"min", array_min},   {"max", array_max},   {NULL, NULL}};
  mwl_functions(L, functions, state);
  mwl_class_new(L, state, MWL_ARRAY, meta, methods, mwl_array_facts);
}
