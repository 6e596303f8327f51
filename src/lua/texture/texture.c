/* Texture and surface objects, and the references of a module that are bound to them.
 *
 * An object's environment keeps at [1] the memory that it reads, so that it can be asked for. How a texture is read comes
 * as a table of numbers with a field for each member of mw_texture_desc; the Lua layer makes it from words. */
#include "lua/convert/value.h"

/* ---- how it is read ---- */

static lua_Number number_field(lua_State *L, int table, const char *name) {
  lua_getfield(L, table, name);
  lua_Number value = lua_isboolean(L, -1) ? lua_toboolean(L, -1) : lua_tonumber(L, -1);
  lua_pop(L, 1);
  return value;
}

static lua_Number item(lua_State *L, int table, const char *name, int i) {
  lua_getfield(L, table, name);
  if (!lua_istable(L, -1)) {
    lua_pop(L, 1);
    return 0;
  }
  lua_rawgeti(L, -1, i);
  lua_Number value = lua_tonumber(L, -1);
  lua_pop(L, 2);
  return value;
}

static mw_texture_desc read_desc(lua_State *L, int table) {
  luaL_checktype(L, table, LUA_TTABLE);
  mw_texture_desc desc = {.filter = (mw_filter_mode)number_field(L, table, "filter"),
                          .read = (mw_read_mode)number_field(L, table, "read"),
                          .normalized = (int)number_field(L, table, "normalized"),
                          .srgb = (int)number_field(L, table, "srgb"),
                          .seamless = (int)number_field(L, table, "seamless"),
                          .mip_filter = (mw_filter_mode)number_field(L, table, "mip_filter"),
                          .lod_bias = (float)number_field(L, table, "lod_bias"),
                          .lod_min = (float)number_field(L, table, "lod_min"),
                          .lod_max = (float)number_field(L, table, "lod_max"),
                          .max_anisotropy = (int)number_field(L, table, "max_anisotropy")};
  for (int i = 0; i < 3; i++) desc.address[i] = (mw_address_mode)item(L, table, "address", i + 1);
  for (int i = 0; i < 4; i++) desc.border[i] = (float)item(L, table, "border", i + 1);
  return desc;
}

static void set_number(lua_State *L, const char *name, lua_Number value) {
  lua_pushnumber(L, value);
  lua_setfield(L, -2, name);
}

static void set_flag(lua_State *L, const char *name, int value) {
  lua_pushboolean(L, value);
  lua_setfield(L, -2, name);
}

static void push_desc(lua_State *L, const mw_texture_desc *desc) {
  lua_newtable(L);
  set_number(L, "filter", desc->filter);
  set_number(L, "read", desc->read);
  set_flag(L, "normalized", desc->normalized);
  set_flag(L, "srgb", desc->srgb);
  set_flag(L, "seamless", desc->seamless);
  set_number(L, "mip_filter", desc->mip_filter);
  set_number(L, "lod_bias", (lua_Number)desc->lod_bias);
  set_number(L, "lod_min", (lua_Number)desc->lod_min);
  set_number(L, "lod_max", (lua_Number)desc->lod_max);
  set_number(L, "max_anisotropy", desc->max_anisotropy);
  lua_createtable(L, 3, 0);
  for (int i = 0; i < 3; i++) {
    lua_pushnumber(L, desc->address[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "address");
  lua_createtable(L, 4, 0);
  for (int i = 0; i < 4; i++) {
    lua_pushnumber(L, (lua_Number)desc->border[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "border");
}

/* ---- what is read ---- */

static void describe_memory(lua_State *L, mwl_state *state, int index, mw_resource *resource) {
  mwl_cuda_array *array = mwl_test(L, state, index, MWL_CUDA_ARRAY);
  mwl_pitched *pitched = mwl_test(L, state, index, MWL_PITCHED);
  mwl_array *memory = mwl_test_memory(L, state, index);
  if (array && array->handle) {
    resource->array = array->handle;
    return;
  }
  if (!memory || !memory->handle) mwl_refusal(L, state, "texture_memory", "v", index);
  mwl_must(L, state, mw_array_as_resource(memory->handle, resource));
  if (pitched) resource->width = pitched->width;
}

static mwl_texture *push_closed(lua_State *L, mwl_state *state, mwl_class which, mwl_device *device) {
  mwl_texture *texture = mwl_userdata(L, sizeof *texture);
  *texture = (mwl_texture){.device = device};
  mwl_set_class(L, state, which);
  return texture;
}

/* The object on top keeps the memory at stack place 1. */
static void keep_memory(lua_State *L) {
  lua_createtable(L, 1, 0);
  lua_pushvalue(L, 1);
  lua_rawseti(L, -2, 1);
  mwl_setenv(L, -2);
}

/* texture_new(memory, description[, width, height, pitch]) -> texture; with sizes, rows of `width` elements, `pitch`
   bytes apart, of an array of one dimension (cudaBindTexture2D) */
static int texture_new(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_resource resource = {0};
  describe_memory(L, state, 1, &resource);
  if (!lua_isnoneornil(L, 3)) {
    resource.width = (size_t)luaL_checkinteger(L, 3);
    resource.height = (size_t)luaL_checkinteger(L, 4);
    resource.row_pitch = (size_t)luaL_checkinteger(L, 5);
  }
  mw_texture_desc desc = read_desc(L, 2);
  mwl_texture *texture = push_closed(L, state, MWL_TEXTURE, mwl_current(L, state));
  keep_memory(L);
  int code = mw_texture_new(&resource, &desc, &texture->handle);
  for (int attempt = 0; code == MW_MEMORY_ALLOCATION && mwl_collect_all(L, state, texture->device, attempt); attempt++)
    code = mw_texture_new(&resource, &desc, &texture->handle);
  mwl_must(L, state, code);
  return 1;
}

/* surface_new(CUDA array, level from 0) -> surface */
static int surface_new(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_cuda_array *array = mwl_check(L, state, 1, MWL_CUDA_ARRAY, "mw.surface");
  if (!array->handle) return mwl_closed(L, state, "mw.surface", "CUDA array");
  mwl_texture *surface = push_closed(L, state, MWL_SURFACE, array->device);
  keep_memory(L);
  mwl_must(L, state, mw_surface_new(array->handle, (size_t)luaL_optinteger(L, 2, 0), &surface->handle));
  return 1;
}

/* ---- life ---- */

mwl_texture *mwl_test_texture(lua_State *L, mwl_state *state, int index) {
  mwl_texture *texture = mwl_test(L, state, index, MWL_TEXTURE);
  if (!texture) texture = mwl_test(L, state, index, MWL_SURFACE);
  return texture && texture->handle ? texture : NULL;
}

static mwl_texture *check_texture(lua_State *L, mwl_state *state) {
  mwl_texture *texture = mwl_test_texture(L, state, 1);
  if (texture) return texture;
  texture = mwl_test(L, state, 1, MWL_SURFACE);
  if (!texture) texture = mwl_check(L, state, 1, MWL_TEXTURE, "a texture's method");
  mwl_refusal(L, state, "texture_freed", "");
  return texture;
}

/* free, __close, __gc: the object lets go of the texture. Where it is bound, the module still keeps it. */
static int texture_free(lua_State *L) {
  mwl_texture *texture = mwl_test_texture(L, mwl_of(L), 1);
  if (!texture) return 0;
  mw_texture_release(texture->handle);
  texture->handle = NULL;
  return 0;
}

/* ---- facts ---- */

static int texture_describe(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_texture_desc desc;
  mwl_must(L, state, mw_texture_describe(check_texture(L, state)->handle, NULL, &desc));
  push_desc(L, &desc);
  return 1;
}

static int texture_configure(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_texture *texture = check_texture(L, state);
  mw_texture_desc desc = read_desc(L, 2);
  mwl_must(L, state, mw_texture_configure(texture->handle, &desc));
  return 0;
}

/* Assigning a field is the Lua layer's method __newindex. */
static int texture_newindex(lua_State *L) {
  lua_pushliteral(L, "__newindex");
  lua_rawget(L, lua_upvalueindex(2));
  lua_insert(L, 1);
  lua_call(L, 3, 0);
  return 0;
}

static int get_handle(lua_State *L) {
  mwl_state *state = mwl_of(L);
  uint64_t handle;
  mwl_must(L, state, mw_texture_handle(check_texture(L, state)->handle, &handle));
  mwl_pushinteger(L, (int64_t)handle);
  return 1;
}

static int get_offset(lua_State *L) {
  mwl_pushinteger(L, mw_texture_offset(check_texture(L, mwl_of(L))->handle));
  return 1;
}

static int get_memory(lua_State *L) {
  check_texture(L, mwl_of(L));
  mwl_getenv(L, 1);
  lua_rawgeti(L, -1, 1);
  return 1;
}

static int get_device(lua_State *L) {
  mwl_device_push(L, check_texture(L, mwl_of(L))->device);
  return 1;
}

static int get_freed(lua_State *L) {
  lua_pushboolean(L, mwl_test_texture(L, mwl_of(L), 1) == NULL);
  return 1;
}

/* ---- references: a symbol's environment keeps the object at [2] ---- */

int mwl_reference_get(lua_State *L, mwl_state *state, int index) {
  mwl_symbol *symbol = lua_touserdata(L, index);
  mw_texture *bound = mw_symbol_bound(symbol->handle);
  if (!bound) {
    lua_pushnil(L);
    return 1;
  }
  mwl_getenv(L, index);
  lua_rawgeti(L, -1, 2);
  mwl_texture *known = mwl_test_texture(L, state, -1);
  if (known && known->handle == bound) {
    mw_texture_release(bound);
    return 1;
  }
  /* Bound by another Lua state or by C, or freed here: another object for the same texture. */
  mwl_texture *texture =
      push_closed(L, state, mw_texture_is_surface(bound) ? MWL_SURFACE : MWL_TEXTURE, symbol->device);
  texture->handle = bound;
  lua_newtable(L);
  mwl_setenv(L, -2);
  return 1;
}

int mwl_reference_set(lua_State *L, mwl_state *state, int index, int value) {
  mwl_symbol *symbol = lua_touserdata(L, index);
  mwl_texture *texture = mwl_test_texture(L, state, value);
  bool surface = mw_symbol_reference(symbol->handle)->kind == MW_REFERENCE_SURFACE;
  if (!texture && !lua_isnoneornil(L, value))
    return mwl_refusal(L, state, "reference", "ssbv", mw_symbol_name(symbol->handle),
                       mw_symbol_type(symbol->handle)->name, surface, value);
  mwl_must(L, state, mw_symbol_bind(symbol->handle, texture ? texture->handle : NULL));
  mwl_getenv(L, index);
  if (texture)
    lua_pushvalue(L, value);
  else
    lua_pushnil(L);
  lua_rawseti(L, -2, 2);
  return 0;
}

/* ---- values: a handle where a 64-bit unsigned integer is wanted ---- */

bool mwl_pack_texture(lua_State *L, mwl_state *state, int index, const mw_type *type, void *out, const mwl_place *place,
                      const mwl_keeper *keeper) {
  const mwl_texture *texture = mwl_test(L, state, index, MWL_TEXTURE);
  if (!texture) texture = mwl_test(L, state, index, MWL_SURFACE);
  if (!texture) return mwl_refuse_number(L, state, index, type, place);
  char what[MWL_PLACE];
  uint64_t handle;
  if (mw_texture_as_value(texture->handle, mwl_place_text(place, what), &handle) ||
      (keeper->launch && mw_launch_keep_texture(keeper->launch, texture->handle)))
    return mwl_refused(L);
  if (keeper->anchors) {
    lua_pushvalue(L, index);
    lua_rawseti(L, keeper->anchors, (int)lua_rawlen(L, keeper->anchors) + 1);
  }
  memcpy(out, &handle, sizeof handle);
  return true;
}

void mwl_open_texture(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"texture_new", texture_new}, {"surface_new", surface_new}, {NULL, NULL}};
  static const luaL_Reg meta[] = {
      {"__gc", texture_free}, {"__close", texture_free}, {"__newindex", texture_newindex}, {NULL, NULL}};
  static const luaL_Reg texture_methods[] = {
      {"free", texture_free}, {"describe", texture_describe}, {"configure", texture_configure}, {NULL, NULL}};
  static const luaL_Reg surface_methods[] = {{"free", texture_free}, {NULL, NULL}};
  static const luaL_Reg facts[] = {{"handle", get_handle}, {"offset", get_offset}, {"memory", get_memory},
                                   {"device", get_device}, {"freed", get_freed},   {NULL, NULL}};
  mwl_functions(L, functions, state);
  mwl_class_new(L, state, MWL_TEXTURE, meta, texture_methods, facts);
  mwl_class_new(L, state, MWL_SURFACE, meta, surface_methods, facts);
}
