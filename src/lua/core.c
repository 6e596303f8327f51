/* The Lua module moonwarp.core: the raw table on which the Lua layer is built.
 *
 * The raw table is a contract, which the other binding (LuaJIT's FFI: lua/moonwarp/ffi.lua) also fulfils, file by file:
 *   functions      what the files of this folder register: array_new, compile, synchronize, …
 *   classes        class name -> table of methods. The Lua layer adds its own; a `__tostring` there makes tostring, and
 *                  a `__missing` is called with the object and a name that it does not have.
 *   properties     class name -> table of functions of an object: object.name calls properties[class].name(object)
 *   error          the metatable of error objects, which the Lua layer fills
 *   vector         the metatable of vector values ({1, 2, 3} that answers to x, y, z, w), filled here
 * Objects are userdata of the classes; what indexing with anything but a method's or property's name means is the
 * class's own affair. */
#include "binding.h"

static const char *const class_names[MWL_CLASS_COUNT] = {
    [MWL_DEVICE] = "device",
    [MWL_ARRAY] = "array",
    [MWL_MODULE] = "module",
    [MWL_KERNEL] = "kernel",
    [MWL_SYMBOL] = "symbol",
    [MWL_LAUNCH] = "launch",
    [MWL_BOUND] = "bound",
    [MWL_DTYPE] = "dtype",
    [MWL_PITCHED] = "pitched",
    [MWL_CUDA_ARRAY] = "cuda_array",
    [MWL_TEXTURE] = "texture",
    [MWL_SURFACE] = "surface",
    [MWL_GRAPH] = "graph",
    [MWL_GRAPH_EXEC] = "graph_exec",
    [MWL_STREAM] = "stream",
    [MWL_EVENT] = "event",
    [MWL_HOST] = "host",
    [MWL_GRAPHICS] = "graphics",
    [MWL_ELEMENTWISE] = "elementwise",
    [MWL_COMMUNICATOR] = "communicator",
    [MWL_MPI_COMM] = "mpi_comm",
    [MWL_MPI_REQUEST] = "mpi_request",
    [MWL_MPI_WINDOW] = "mpi_window_handle",
    [MWL_MPI_FILE] = "mpi_file_handle",
};

const char *mwl_class_name(mwl_class which) { return class_names[which]; }

/* ---- classes ---- */

bool mwl_index_named(lua_State *L) {
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(2));
  if (!lua_isnil(L, -1)) return true;
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(3));
  if (lua_isnil(L, -1)) return false;
  /* A function of the binding needs the object and the state, which this function has in the same places. */
  lua_CFunction own = lua_tocfunction(L, -1);
  if (own) {
    lua_settop(L, 1);
    if (own(L) == 0) lua_pushnil(L);
    return true;
  }
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  return true;
}

int mwl_index_rest(lua_State *L) {
  if (mwl_index_named(L)) return 1;
  lua_pushliteral(L, "__missing");
  lua_rawget(L, lua_upvalueindex(2));
  if (lua_isnil(L, -1)) return 1;
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 2);
  lua_call(L, 2, 1);
  return 1;
}

/* tostring: the Lua layer's method __tostring, else the class's name. */
static int class_tostring(lua_State *L) {
  lua_pushliteral(L, "__tostring");
  lua_rawget(L, lua_upvalueindex(2));
  if (lua_isnil(L, -1)) {
    lua_pushfstring(L, "moonwarp object: %p", lua_topointer(L, 1));
    return 1;
  }
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  return 1;
}

static void push_method(lua_State *L, mwl_state *state, lua_CFunction function, int methods, int properties) {
  lua_pushlightuserdata(L, state);
  lua_pushvalue(L, methods);
  lua_pushvalue(L, properties);
  lua_pushcclosure(L, function, 3);
}

void mwl_class_new(lua_State *L, mwl_state *state, mwl_class which, const luaL_Reg *meta, const luaL_Reg *methods,
                   const luaL_Reg *properties) {
  int raw = lua_gettop(L);
  lua_getfield(L, raw, "classes");
  lua_newtable(L);
  if (methods) mwl_functions(L, methods, state);
  int method_table = lua_gettop(L);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, class_names[which]);
  lua_getfield(L, raw, "properties");
  lua_newtable(L);
  if (properties) mwl_functions(L, properties, state);
  int property_table = lua_gettop(L);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, class_names[which]);

  lua_newtable(L);
  state->metatables[which] = lua_topointer(L, -1);
  push_method(L, state, mwl_index_rest, method_table, property_table);
  lua_setfield(L, -2, "__index");
  push_method(L, state, class_tostring, method_table, property_table);
  lua_setfield(L, -2, "__tostring");
  lua_pushfstring(L, "moonwarp.%s", class_names[which]);
  lua_setfield(L, -2, "__name");
  for (; meta && meta->name; meta++) {
    push_method(L, state, meta->func, method_table, property_table);
    lua_setfield(L, -2, meta->name);
  }
  lua_rawsetp(L, LUA_REGISTRYINDEX, &state->metatables[which]);
  lua_settop(L, raw);
}

void mwl_set_class(lua_State *L, mwl_state *state, mwl_class which) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &state->metatables[which]);
  lua_setmetatable(L, -2);
}

static const void *metatable_of(lua_State *L, int index) {
  if (!lua_getmetatable(L, index)) return NULL;
  const void *metatable = lua_topointer(L, -1);
  lua_pop(L, 1);
  return metatable;
}

void *mwl_test(lua_State *L, mwl_state *state, int index, mwl_class which) {
  if (metatable_of(L, index) != state->metatables[which]) return NULL;
  return lua_type(L, index) == LUA_TUSERDATA ? lua_touserdata(L, index) : NULL;
}

void *mwl_check(lua_State *L, mwl_state *state, int index, mwl_class which, const char *what) {
  void *object = mwl_test(L, state, index, which);
  if (object) return object;
  char got[64];
  mwl_usage(L, state, "%s wants %s %s, got %s", what, mwl_article(class_names[which]), class_names[which],
            mwl_describe(L, state, index, got, sizeof got));
  return NULL;
}

/* type(value): the name of its class, or nil. */
static int class_of(lua_State *L) {
  mwl_state *state = mwl_of(L);
  const void *metatable = lua_type(L, 1) == LUA_TUSERDATA ? metatable_of(L, 1) : NULL;
  for (int i = 0; metatable && i < MWL_CLASS_COUNT; i++) {
    if (metatable != state->metatables[i]) continue;
    lua_pushstring(L, class_names[i]);
    return 1;
  }
  lua_pushnil(L);
  return 1;
}

/* is(value, class) */
static int is_of_class(lua_State *L) {
  mwl_state *state = mwl_of(L);
  const void *metatable = lua_type(L, 1) == LUA_TUSERDATA ? metatable_of(L, 1) : NULL;
  const char *name = luaL_checkstring(L, 2);
  bool is = false;
  for (int i = 0; metatable && i < MWL_CLASS_COUNT; i++)
    if (metatable == state->metatables[i]) is = strcmp(class_names[i], name) == 0;
  lua_pushboolean(L, is);
  return 1;
}

/* ---- the module ---- */

static int now(lua_State *L) {
  lua_pushnumber(L, mw_time());
  return 1;
}

/* own(prefix): set the prefix of the Lua layer's source names. */
static int own(lua_State *L) {
  mwl_state *state = mwl_of(L);
  size_t length;
  const char *prefix = luaL_checklstring(L, 1, &length);
  if (length < sizeof state->own) memcpy(state->own, prefix, length + 1);
  return 0;
}

static const luaL_Reg functions[] = {
    {"time", now}, {"own", own}, {"type", class_of}, {"is", is_of_class}, {NULL, NULL}};

static const char state_key, raw_key;

__attribute__((visibility("default"))) int luaopen_moonwarp_core(lua_State *L);

int luaopen_moonwarp_core(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &raw_key);
  if (lua_istable(L, -1)) return 1; /* required again: objects of the first time must stay ours */
  lua_settop(L, 0);
  lua_newtable(L);
  mwl_state *state = mwl_plain(L, sizeof *state);
  memset(state, 0, sizeof *state);
  state->owner = mw_owner_new();
  lua_rawsetp(L, LUA_REGISTRYINDEX, &state_key);

  lua_newtable(L);
  lua_setfield(L, -2, "classes");
  lua_newtable(L);
  lua_setfield(L, -2, "properties");
  lua_pushstring(L, mw_version());
  lua_setfield(L, -2, "version");
  mwl_functions(L, functions, state);
  mwl_open_error(L, state);
  mwl_open_int64(L);
  mwl_open_value(L, state);
  mwl_open_dtype(L, state);
  mwl_open_capability(L, state);
  mwl_open_check(L, state);
  mwl_open_device(L, state);
  mwl_open_array(L, state);
  mwl_open_array_facts(L, state);
  mwl_open_host(L, state);
  mwl_open_bulk(L, state);
  mwl_open_elementwise(L, state);
  mwl_open_linear(L, state);
  mwl_open_tensor_map(L, state);
  mwl_open_dlpack(L, state);
  mwl_open_fourier(L, state);
  mwl_open_image(L, state);
  mwl_open_bytes(L, state);
  mwl_open_module(L, state);
  mwl_open_symbol(L, state);
  mwl_open_stream(L, state);
  mwl_open_memory(L, state);
  mwl_open_graph(L, state);
  mwl_open_kernel(L, state);
  mwl_open_launch(L, state);
  mwl_open_texture_memory(L, state);
  mwl_open_texture(L, state);
  mwl_open_graphics(L, state);
  mwl_open_communicator(L, state);
  mwl_open_cache(L, state);
  mwl_open_watch(L, state);
  mwl_open_mpi(L, state);

  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &raw_key);
  return 1;
}
