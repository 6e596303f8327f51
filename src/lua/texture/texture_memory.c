/* Memory that textures read: pitched arrays, whose rows are padded, and CUDA arrays; copies between them and arrays.
 *
 * All coordinates that pass here count from 0, in elements; the Lua layer counts from 1 and knows tables and defaults. */
#include "lua/binding.h"

/* ---- numbers ---- */

static size_t field_count(lua_State *L, mwl_state *state, int table, const char *name) {
  lua_getfield(L, table, name);
  size_t value = lua_isnil(L, -1) ? 0 : mwl_check_size(L, state, -1, name);
  lua_pop(L, 1);
  return value;
}

/* ---- pitched arrays ---- */

static mwl_pitched *check_pitched(lua_State *L, mwl_state *state, const char *what) {
  mwl_pitched *pitched = mwl_check(L, state, 1, MWL_PITCHED, what);
  if (!pitched->rows.handle) mwl_closed(L, state, what, "array");
  return pitched;
}

/* pitched_new(dtype, height, width) -> pitched, contents undefined */
static int pitched_new(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_module *module;
  const mw_type *dtype = mwl_check_dtype(L, state, 1, "float", &module);
  size_t height = mwl_check_size(L, state, 2, "a height"), width = mwl_check_size(L, state, 3, "a width");
  mwl_device *device = mwl_current(L, state);
  size_t shape[2] = {height, 0};
  mwl_must(L, state, mw_pitched_elements(device->handle, dtype, width, &shape[1]));
  mwl_pitched *pitched = mwl_plain(L, sizeof *pitched);
  *pitched = (mwl_pitched){.rows = {.device = device}, .width = width};
  mwl_set_class(L, state, MWL_PITCHED);
  mwl_array_fill_new(L, state, &pitched->rows, dtype, module, 2, shape);
  return 1;
}

static int pitched_gc(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_pitched *pitched = mwl_test(L, state, 1, MWL_PITCHED);
  if (pitched) mwl_array_close(state, &pitched->rows);
  return 0;
}

static int pitched_free(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_pitched *pitched = mwl_check(L, state, 1, MWL_PITCHED, "free");
  if (pitched->rows.handle) mwl_must(L, state, mwl_array_free(state, &pitched->rows));
  return 0;
}

/* p[i]: row i, a view of its elements. */
static int pitched_index(lua_State *L) {
  if (lua_type(L, 2) != LUA_TNUMBER) return mwl_index_rest(L);
  mwl_state *state = mwl_of(L);
  mwl_pitched *pitched = check_pitched(L, state, "indexing");
  mwl_array *rows = &pitched->rows;
  int64_t i;
  if (!mwl_whole(L, 2, &i) || i < 1 || (uint64_t)i > rows->shape[0]) {
    if (lua_tonumber(L, 2) == (lua_Number)rows->shape[0] + 1) return 0;
    return mwl_refusal(L, state, "row", "vn", 2, (double)rows->shape[0]);
  }
  mwl_array *row = mwl_array_push(L, state, rows->device);
  mw_array *handle;
  size_t pitch = rows->shape[1] * rows->dtype->size;
  mwl_must(L, state, mw_array_view(rows->handle, (size_t)(i - 1) * pitch, rows->dtype, 1, &pitched->width, &handle));
  mwl_array_adopt(state, row, handle, rows->module, 0);
  return 1;
}

static int pitched_len(lua_State *L) {
  mwl_pushinteger(L, check_pitched(L, mwl_of(L), "#")->rows.shape[0]);
  return 1;
}

static int pitched_shape(lua_State *L) {
  mwl_pitched *pitched = check_pitched(L, mwl_of(L), "shape");
  lua_createtable(L, 2, 0);
  mwl_pushinteger(L, pitched->rows.shape[0]);
  lua_rawseti(L, -2, 1);
  mwl_pushinteger(L, pitched->width);
  lua_rawseti(L, -2, 2);
  return 1;
}

static int pitched_pitch(lua_State *L) {
  mwl_pitched *pitched = check_pitched(L, mwl_of(L), "pitch");
  mwl_pushinteger(L, pitched->rows.shape[1] * pitched->rows.dtype->size);
  return 1;
}

static int pitched_dtype(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_pitched *pitched = check_pitched(L, state, "dtype");
  mwl_dtype_push(L, state, pitched->rows.dtype, pitched->rows.module);
  return 1;
}

static int pitched_device(lua_State *L) {
  mwl_device_push(L, check_pitched(L, mwl_of(L), "device")->rows.device);
  return 1;
}

static int pitched_address(lua_State *L) {
  mwl_pushinteger(L, (int64_t)mw_buffer_address(mw_array_buffer(check_pitched(L, mwl_of(L), "address")->rows.handle)));
  return 1;
}

static int pitched_nbytes(lua_State *L) {
  mwl_pushinteger(L, mw_array_bytes(check_pitched(L, mwl_of(L), "nbytes")->rows.handle));
  return 1;
}

static int pitched_freed(lua_State *L) {
  mwl_pitched *pitched = mwl_check(L, mwl_of(L), 1, MWL_PITCHED, "freed");
  lua_pushboolean(L, !pitched->rows.handle || mw_buffer_is_freed(mw_array_buffer(pitched->rows.handle)));
  return 1;
}

/* ---- CUDA arrays ---- */

static mwl_cuda_array *check_cuda_array(lua_State *L, mwl_state *state, int index, const char *what) {
  mwl_cuda_array *array = mwl_check(L, state, index, MWL_CUDA_ARRAY, what);
  if (!array->handle) mwl_closed(L, state, what, "CUDA array");
  return array;
}

/* cuda_array_new(dtype, {kind = number, width =, height =, depth =, layers =, levels =}) -> CUDA array */
static int cuda_array_new(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_module *module;
  const mw_type *dtype = mwl_check_dtype(L, state, 1, "float", &module);
  luaL_checktype(L, 2, LUA_TTABLE);
  mw_cuda_array_desc desc = {.kind = (mw_cuda_array_kind)field_count(L, state, 2, "kind"),
                             .width = field_count(L, state, 2, "width"),
                             .height = field_count(L, state, 2, "height"),
                             .depth = field_count(L, state, 2, "depth"),
                             .layers = field_count(L, state, 2, "layers"),
                             .levels = field_count(L, state, 2, "levels")};
  mwl_must(L, state, mw_channels_of(dtype, &desc.channels));
  mwl_cuda_array *array = mwl_plain(L, sizeof *array);
  *array = (mwl_cuda_array){.device = mwl_current(L, state)};
  mwl_set_class(L, state, MWL_CUDA_ARRAY);
  int code = mw_cuda_array_new(array->device->handle, &desc, &array->handle);
  for (int attempt = 0; code == MW_MEMORY_ALLOCATION && mwl_collect_all(L, state, array->device, attempt); attempt++)
    code = mw_cuda_array_new(array->device->handle, &desc, &array->handle);
  mwl_must(L, state, code);
  array->counted = mw_cuda_array_bytes(array->handle);
  state->live += array->counted;
  mwl_collect_step(L, state, array->counted);
  return 1;
}

/* cuda_array_level(array, level from 0) -> the level as a CUDA array, which keeps the whole */
static int cuda_array_level(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_cuda_array *whole = check_cuda_array(L, state, 1, "a level");
  size_t level = mwl_check_size(L, state, 2, "a level");
  mwl_cuda_array *array = mwl_plain(L, sizeof *array);
  *array = (mwl_cuda_array){.device = whole->device};
  mwl_set_class(L, state, MWL_CUDA_ARRAY);
  mwl_must(L, state, mw_cuda_array_level(whole->handle, level, &array->handle));
  return 1;
}

static void uncount(mwl_state *state, mwl_cuda_array *array) {
  state->live -= array->counted;
  array->counted = 0;
}

static int cuda_array_gc(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_cuda_array *array = mwl_test(L, state, 1, MWL_CUDA_ARRAY);
  if (!array || !array->handle) return 0;
  uncount(state, array);
  mw_cuda_array_release(array->handle);
  array->handle = NULL;
  return 0;
}

static int cuda_array_free(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_cuda_array *array = mwl_check(L, state, 1, MWL_CUDA_ARRAY, "free");
  if (!array->handle) return 0;
  mwl_must(L, state, mw_cuda_array_free(array->handle));
  uncount(state, array);
  return 0;
}

/* a:describe([level from 0]) -> dtype, kind as a number, width, height, slices of the level, layers, levels */
static int cuda_array_describe(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_cuda_array *array = check_cuda_array(L, state, 1, "a CUDA array");
  const mw_cuda_array_desc *desc = mw_cuda_array_describe(array->handle);
  const mw_type *dtype;
  size_t level = lua_isnoneornil(L, 2) ? 0 : mwl_check_size(L, state, 2, "a level"), extent[3];
  mwl_must(L, state, mw_channels_dtype(&desc->channels, &dtype));
  mwl_must(L, state, mw_cuda_array_extent(array->handle, level, extent));
  lua_pushstring(L, mw_type_dtype(dtype));
  lua_pushinteger(L, desc->kind);
  for (int i = 0; i < 3; i++) mwl_pushinteger(L, extent[i]);
  mwl_pushinteger(L, desc->layers);
  mwl_pushinteger(L, desc->levels);
  return 7;
}

static int cuda_array_nbytes(lua_State *L) {
  mwl_pushinteger(L, mw_cuda_array_bytes(check_cuda_array(L, mwl_of(L), 1, "nbytes")->handle));
  return 1;
}

static int cuda_array_device(lua_State *L) {
  mwl_device_push(L, check_cuda_array(L, mwl_of(L), 1, "device")->device);
  return 1;
}

static int cuda_array_freed(lua_State *L) {
  mwl_cuda_array *array = mwl_check(L, mwl_of(L), 1, MWL_CUDA_ARRAY, "freed");
  lua_pushboolean(L, !array->handle || mw_cuda_array_is_freed(array->handle));
  return 1;
}

/* ---- copies ---- */

/* The last three dimensions of an array are its box; a pitched one's rows are longer than they count. */
static void array_side(mwl_array *array, mw_box_side *side) {
  size_t size = array->dtype->size, width = array->shape[array->rank - 1];
  side->buffer = mw_array_buffer(array->handle);
  side->offset = mw_array_offset(array->handle);
  side->row_pitch = width * size;
  side->slice_pitch = side->row_pitch * (array->rank > 1 ? array->shape[array->rank - 2] : 1);
}

/* The side at stack places index..index+4: memory, x, y, z, level. Returns the size of an element. */
static size_t check_side(lua_State *L, mwl_state *state, int index, mw_box_side *side) {
  size_t size;
  mwl_array *memory = mwl_test_memory(L, state, index);
  *side = (mw_box_side){.y = mwl_check_size(L, state, index + 2, "y"),
                        .z = mwl_check_size(L, state, index + 3, "z"),
                        .level = mwl_check_size(L, state, index + 4, "a level")};
  if (memory && memory->handle) {
    array_side(memory, side);
    size = memory->dtype->size;
  } else {
    mwl_cuda_array *array = check_cuda_array(L, state, index, "a copy");
    const mw_type *dtype;
    mwl_must(L, state, mw_channels_dtype(&mw_cuda_array_describe(array->handle)->channels, &dtype));
    side->array = array->handle;
    size = dtype->size;
  }
  side->x = mwl_check_size(L, state, index + 1, "x") * size;
  return size;
}

/* box_copy(target, x, y, z, level, source, x, y, z, level, width, height, depth[, queued]): elements, from 0 */
static int box_copy(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_box_side target, source;
  size_t to = check_side(L, state, 1, &target), from = check_side(L, state, 6, &source);
  if (to != from) return mwl_refusal(L, state, "box_elements", "nn", (double)from, (double)to);
  size_t width = mwl_check_size(L, state, 11, "a width"), height = mwl_check_size(L, state, 12, "a height");
  size_t depth = mwl_check_size(L, state, 13, "a depth");
  mw_owner_use(state->owner);
  mwl_must(L, state,
           lua_toboolean(L, 14) ? mw_copy_box_queued(&target, &source, width * to, height, depth)
                                : mw_copy_box(&target, &source, width * to, height, depth));
  return 0;
}

mwl_array *mwl_test_memory(lua_State *L, mwl_state *state, int index) {
  mwl_array *array = mwl_test(L, state, index, MWL_ARRAY);
  mwl_pitched *pitched = array ? NULL : mwl_test(L, state, index, MWL_PITCHED);
  return pitched ? &pitched->rows : array;
}

void mwl_open_texture_memory(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"pitched_new", pitched_new},
                                       {"cuda_array_new", cuda_array_new},
                                       {"cuda_array_level", cuda_array_level},
                                       {"box_copy", box_copy},
                                       {NULL, NULL}};
  static const luaL_Reg pitched_meta[] = {{"__gc", pitched_gc},
                                          {"__close", pitched_free},
                                          {"__index", pitched_index},
                                          {"__len", pitched_len},
                                          {NULL, NULL}};
  static const luaL_Reg pitched_methods[] = {{"free", pitched_free}, {NULL, NULL}};
  static const luaL_Reg pitched_facts[] = {
      {"shape", pitched_shape},   {"pitch", pitched_pitch},     {"dtype", pitched_dtype}, {"nbytes", pitched_nbytes},
      {"device", pitched_device}, {"address", pitched_address}, {"freed", pitched_freed}, {NULL, NULL}};
  static const luaL_Reg array_meta[] = {{"__gc", cuda_array_gc}, {"__close", cuda_array_free}, {NULL, NULL}};
  static const luaL_Reg array_methods[] = {{"free", cuda_array_free}, {"describe", cuda_array_describe}, {NULL, NULL}};
  static const luaL_Reg array_facts[] = {
      {"nbytes", cuda_array_nbytes}, {"device", cuda_array_device}, {"freed", cuda_array_freed}, {NULL, NULL}};
  mwl_functions(L, functions, state);
  mwl_class_new(L, state, MWL_PITCHED, pitched_meta, pitched_methods, pitched_facts);
  mwl_class_new(L, state, MWL_CUDA_ARRAY, array_meta, array_methods, array_facts);
}
