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
  const char *path = luaL_checkstring(L, 1);
  mwl_array *array = mwl_array_push(L, state, mwl_current(L, state));
  int code = read_into(L, state, array, path);
  for (int attempt = 0; code == MW_MEMORY_ALLOCATION && mwl_collect_all(L, state, array->device, attempt); attempt++)
    code = read_into(L, state, array, path);
  if (code == MW_INVALID_VALUE) mwl_raise_as(L, state, "io"); /* the file is at fault, not the script */
  mwl_must(L, state, code);
  return 1;
}

/* image_write(path, array) */
static int image_write(lua_State *L) {
  mwl_state *state = mwl_of(L);
  const char *path = luaL_checkstring(L, 1);
  mwl_array *array = mwl_check_array(L, state, 2, "mw.write_image");
  int channels;
  mwl_must(L, state, mw_array_channels(array->handle, "mw.write_image", &channels));
  size_t bytes = mw_array_bytes(array->handle);
  unsigned char *pixels = mwl_plain(L, bytes + 1);
  mwl_settle(L, state, array->device);
  mwl_must(L, state, mw_array_read(array->handle, 0, mw_array_count(array->handle), pixels));
  mwl_must(L, state, mw_image_write(path, (int)array->shape[1], (int)array->shape[0], channels, pixels));
  return 0;
}

/* image_texels(array of pixels, dtype) -> array {height, width} of texels */
static int image_texels(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_array *array = mwl_check_array(L, state, 1, "texels of a picture");
  mw_module *module;
  const mw_type *dtype = mwl_check_dtype(L, state, 2, NULL, &module);
  int channels;
  mwl_must(L, state, mw_array_channels(array->handle, "a picture", &channels));
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
