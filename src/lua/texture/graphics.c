/* OpenGL resources: registration, mapping, and access to mapped resources. */
#include "lua/binding.h"

static unsigned number_at(lua_State *L, mwl_state *state, int index, const char *what) {
  int64_t value;
  if (lua_isnoneornil(L, index)) return 0;
  if (!mwl_whole(L, index, &value) || value < 0 || value > UINT32_MAX) mwl_refusal(L, state, "size", "sv", what, index);
  return (unsigned)value;
}

static mwl_graphics *check_graphics(lua_State *L, mwl_state *state, int index, const char *what) {
  mwl_graphics *graphics = mwl_check(L, state, index, MWL_GRAPHICS, what);
  if (!graphics->handle) mwl_usage(L, state, "%s: this resource was unregistered", what);
  return graphics;
}

static mwl_graphics *push_graphics(lua_State *L, mwl_state *state) {
  mwl_graphics *graphics = mwl_plain(L, sizeof *graphics);
  *graphics = (mwl_graphics){.device = mwl_current(L, state)};
  mwl_set_class(L, state, MWL_GRAPHICS);
  return graphics;
}

/* graphics_buffer(name, flags) -> graphics */
static int graphics_buffer(lua_State *L) {
  mwl_state *state = mwl_of(L);
  unsigned name = number_at(L, state, 1, "a buffer's name"), flags = number_at(L, state, 2, "flags");
  mwl_graphics *graphics = push_graphics(L, state);
  mwl_must(L, state, mw_graphics_buffer(graphics->device->handle, name, flags, &graphics->handle));
  return 1;
}

/* graphics_image(name, target, flags) -> graphics */
static int graphics_image(lua_State *L) {
  mwl_state *state = mwl_of(L);
  unsigned name = number_at(L, state, 1, "an image's name"), target = number_at(L, state, 2, "a target");
  unsigned flags = number_at(L, state, 3, "flags");
  mwl_graphics *graphics = push_graphics(L, state);
  mwl_must(L, state, mw_graphics_image(graphics->device->handle, name, target, flags, &graphics->handle));
  return 1;
}

/* The arguments of the core's functions that map and unmap. */
typedef struct mapping {
  mw_stream *stream;
  mw_graphics **list;
  size_t count;
} mapping;

/* The arguments (stream, {graphics}); the list is a userdata, left on the stack. */
static mapping check_mapping(lua_State *L, mwl_state *state) {
  mapping m = {.stream = mwl_check_stream(L, state, 1, "mapping")->handle};
  luaL_checktype(L, 2, LUA_TTABLE);
  m.count = lua_rawlen(L, 2);
  m.list = mwl_plain(L, (m.count + 1) * sizeof(mw_graphics *));
  for (size_t i = 0; i < m.count; i++) {
    lua_rawgeti(L, 2, (int)i + 1);
    m.list[i] = check_graphics(L, state, -1, "mapping")->handle;
    lua_pop(L, 1);
  }
  return m;
}

static int unmap(void *context) {
  const mapping *m = context;
  return mw_graphics_unmap(m->stream, m->list, m->count);
}

static int graphics_map(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mapping m = check_mapping(L, state);
  mwl_must(L, state, mw_graphics_map(m.stream, m.list, m.count));
  return 0;
}

static int graphics_unmap(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mapping m = check_mapping(L, state);
  mwl_must(L, state, mwl_wait(L, state, unmap, &m));
  return 0;
}

/* ---- methods ---- */

static int graphics_gc(lua_State *L) {
  mwl_graphics *graphics = mwl_test(L, mwl_of(L), 1, MWL_GRAPHICS);
  if (!graphics) return 0;
  mw_graphics_release(graphics->handle);
  graphics->handle = NULL;
  return 0;
}

/* g:set_flags(flags): how kernels will access it */
static int set_flags(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_graphics *graphics = check_graphics(L, state, 1, "set_flags");
  mwl_must(L, state, mw_graphics_set_flags(graphics->handle, number_at(L, state, 2, "flags")));
  return 0;
}

/* g:pointer() -> address, bytes */
static int pointer(lua_State *L) {
  mwl_state *state = mwl_of(L);
  uint64_t address;
  size_t bytes;
  mwl_must(L, state, mw_graphics_pointer(check_graphics(L, state, 1, "pointer")->handle, &address, &bytes));
  mwl_pushinteger(L, (int64_t)address);
  mwl_pushinteger(L, (int64_t)bytes);
  return 2;
}

/* g:array(layer, level) -> CUDA array; both from 0 */
static int array(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_graphics *graphics = check_graphics(L, state, 1, "array");
  unsigned layer = number_at(L, state, 2, "a layer"), level = number_at(L, state, 3, "a level");
  mwl_cuda_array *out = mwl_plain(L, sizeof *out);
  *out = (mwl_cuda_array){.device = graphics->device};
  mwl_set_class(L, state, MWL_CUDA_ARRAY);
  mwl_must(L, state, mw_graphics_array(graphics->handle, layer, level, &out->handle));
  return 1;
}

/* g:whole() -> CUDA array: the image's layers and levels */
static int whole(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_graphics *graphics = check_graphics(L, state, 1, "whole");
  mwl_cuda_array *out = mwl_plain(L, sizeof *out);
  *out = (mwl_cuda_array){.device = graphics->device};
  mwl_set_class(L, state, MWL_CUDA_ARRAY);
  mwl_must(L, state, mw_graphics_mipmap(graphics->handle, &out->handle));
  return 1;
}

/* graphics_devices(list) -> a sequence of names */
static int graphics_devices(lua_State *L) {
  mwl_state *state = mwl_of(L);
  unsigned list = number_at(L, state, 1, "a list of devices");
  char name[32];
  int code;
  lua_newtable(L);
  for (int i = 0; (code = mw_graphics_device(list, (size_t)i, name)) == MW_SUCCESS; i++) {
    lua_pushstring(L, name);
    lua_rawseti(L, -2, i + 1);
  }
  if (code != MW_INVALID_DEVICE) mwl_must(L, state, code);
  return 1;
}

static int get_device(lua_State *L) {
  mwl_device_push(L, check_graphics(L, mwl_of(L), 1, "device")->device);
  return 1;
}

static int get_mapped(lua_State *L) {
  lua_pushboolean(L, mw_graphics_is_mapped(check_graphics(L, mwl_of(L), 1, "mapped")->handle));
  return 1;
}

void mwl_open_graphics(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"graphics_buffer", graphics_buffer},   {"graphics_image", graphics_image},
                                       {"graphics_map", graphics_map},         {"graphics_unmap", graphics_unmap},
                                       {"graphics_devices", graphics_devices}, {NULL, NULL}};
  static const luaL_Reg meta[] = {{"__gc", graphics_gc}, {"__close", graphics_gc}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"free", graphics_gc}, {"set_flags", set_flags}, {"pointer", pointer},
                                     {"array", array},      {"whole", whole},         {NULL, NULL}};
  static const luaL_Reg facts[] = {{"device", get_device}, {"mapped", get_mapped}, {NULL, NULL}};
  mwl_functions(L, functions, state);
  mwl_class_new(L, state, MWL_GRAPHICS, meta, methods, facts);
}
