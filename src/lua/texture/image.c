/* Images in files: arrays of uchar, {height, width} or {height, width, channels}. */
#include "lua/binding.h"

/* Read the file into the closed array object; the pixels are held only while nothing can raise. */
static int read_into(lua_State *L, mwl_state *state, mwl_array *array, const char *path) {
  int width, height, channels;
  unsigned char *pixels;
  mw_array *handle = NULL;
  int code = mw_image_read(path, &width, &height, &channels, &pixels);
  if (code) return code;
  size_t shape[3] = {(size_t)height, (size_t)width, (size_t)channels};
  code = mw_array_new(array->device->handle, mw_dtype("uchar"), channels == 1 ? 2 : 3, shape, &handle);
  if (!code) code = mw_array_write(handle, 0, mw_array_count(handle), pixels);
  mw_image_release(pixels);
  if (code) {
    mw_array_release(handle);
    return code;
  }
  mwl_array_adopt(state, array, handle, NULL, mw_array_bytes(handle));
  mwl_collect_step(L, state, mw_array_bytes(handle));
  return MW_SUCCESS;
}

/* image_read(path) -> array */
static int image_read(lua_State *L) {
  mwl_state *state = mwl_of(L);
  char got[64];
  if (lua_type(L, 1) != LUA_TSTRING)
    return mwl_usage(L, state, "mw.read_image wants a path, got %s", mwl_describe(L, state, 1, got, sizeof got));
  const char *path = lua_tostring(L, 1);
  mwl_array *array = mwl_array_push(L, state, mwl_current(L, state));
  int code = read_into(L, state, array, path);
  for (int attempt = 0; code == MW_MEMORY_ALLOCATION && mwl_collect_all(L, state, array->device, attempt); attempt++)
    code = read_into(L, state, array, path);
  if (code == MW_INVALID_VALUE) mwl_raise_as(L, state, "io"); /* the file is at fault, not who asked for it */
  mwl_must(L, state, code);
  return 1;
}

/* How many channels an array has as an image, or 0 where it is none: {h, w} of uchar, {h, w, c} of uchar, {h, w} of
   uchar1, uchar3 or uchar4. */
static int channels_of(const mwl_array *array) {
  const mw_type *type = array->dtype;
  bool vector = type->kind == MW_TYPE_VECTOR;
  const mw_type *scalar = vector ? type->element : type;
  if (scalar->kind != MW_TYPE_UINT || scalar->size != 1) return 0;
  size_t channels = vector ? type->count : 1;
  if (array->rank == 3 && !vector)
    channels = array->shape[2];
  else if (array->rank != 2)
    return 0;
  return channels == 1 || channels == 3 || channels == 4 ? (int)channels : 0;
}

/* image_write(path, array) */
static int image_write(lua_State *L) {
  mwl_state *state = mwl_of(L);
  char got[64];
  if (lua_type(L, 1) != LUA_TSTRING)
    return mwl_usage(L, state, "mw.write_image wants a path and an array, got %s",
                     mwl_describe(L, state, 1, got, sizeof got));
  mwl_array *array = mwl_check_array(L, state, 2, "mw.write_image");
  int channels = channels_of(array);
  if (!channels)
    return mwl_usage(L, state,
                     "mw.write_image wants uchar pixels of shape {height, width} or {height, width, 1, 3 or 4}, got an "
                     "array of %s with %d dimension%s",
                     mw_type_dtype(array->dtype), array->rank, array->rank == 1 ? "" : "s");
  size_t bytes = mw_array_bytes(array->handle);
  unsigned char *pixels = mwl_plain(L, bytes + 1);
  mwl_settle(L, state, array->device);
  mwl_must(L, state, mw_array_read(array->handle, 0, mw_array_count(array->handle), pixels));
  mwl_must(L, state, mw_image_write(lua_tostring(L, 1), (int)array->shape[1], (int)array->shape[0], channels, pixels));
  return 0;
}

/* image_texels(array of pixels, dtype) -> array {height, width} of texels */
static int image_texels(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_array *array = mwl_check_array(L, state, 1, "texels of a picture");
  mw_module *module;
  const mw_type *dtype = mwl_check_dtype(L, state, 2, NULL, &module);
  int channels = channels_of(array);
  if (!channels) return mwl_usage(L, state, "a picture is uchar of shape {height, width} or {height, width, 3 or 4}");
  size_t bytes = mw_array_bytes(array->handle), *shape = (size_t[]){array->shape[0], array->shape[1]};
  unsigned char *pixels = mwl_plain(L, bytes + 1);
  void *texels = mwl_plain(L, shape[0] * shape[1] * dtype->size + 1);
  mwl_settle(L, state, array->device);
  mwl_must(L, state, mw_array_read(array->handle, 0, mw_array_count(array->handle), pixels));
  mwl_must(L, state, mw_image_texels((int)shape[1], (int)shape[0], channels, pixels, dtype, texels));
  mwl_array *result = mwl_array_push(L, state, array->device);
  mwl_array_fill_new(L, state, result, dtype, NULL, 2, shape);
  mwl_must(L, state, mw_array_write(result->handle, 0, mw_array_count(result->handle), texels));
  return 1;
}

void mwl_open_image(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {
      {"image_read", image_read}, {"image_write", image_write}, {"image_texels", image_texels}, {NULL, NULL}};
  mwl_functions(L, functions, state);
}
