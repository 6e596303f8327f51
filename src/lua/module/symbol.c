/* Symbol objects: a module's __device__ and __constant__ variables, read and assigned as Lua values.
 *
 * A symbol's environment keeps its module ([1]) and the arrays whose addresses were last assigned to it ([2]), or the
 * texture that a reference was last bound to. Binding is texture.c's. */
#include "lua/binding.h"

bool mwl_symbol_push(lua_State *L, mwl_state *state, int module_index, const char *name) {
  mwl_module *module = lua_touserdata(L, module_index);
  mwl_symbol *symbol = mwl_userdata(L, sizeof *symbol);
  *symbol = (mwl_symbol){.device = module->device};
  mwl_set_class(L, state, MWL_SYMBOL);
  lua_createtable(L, 2, 0);
  lua_pushvalue(L, module_index);
  lua_rawseti(L, -2, 1);
  mwl_setenv(L, -2);
  int code = mw_module_symbol(module->handle, name, &symbol->handle);
  if (code == MW_SUCCESS) return true;
  if (code != MW_SYMBOL_NOT_FOUND) mwl_raise(L, state);
  lua_pop(L, 1);
  return false;
}

static mwl_symbol *check_symbol(lua_State *L, mwl_state *state, int index) {
  mwl_symbol *symbol = mwl_check(L, state, index, MWL_SYMBOL, "a symbol's method");
  if (!symbol->handle) mwl_closed(L, state, "a symbol's method", "symbol");
  return symbol;
}

static bool has_pointer(const mw_type *type) {
  if (type->kind == MW_TYPE_POINTER) return true;
  if (type->kind == MW_TYPE_ARRAY) return has_pointer(type->element);
  for (size_t i = 0; type->kind == MW_TYPE_STRUCT && i < type->count; i++)
    if (has_pointer(type->fields[i].type)) return true;
  return false;
}

/* Push what a pointer variable holds: the array assigned to it if it still points there, nil, or an address. */
static int push_pointer(lua_State *L, mwl_state *state, int index, uint64_t address) {
  if (!address) {
    lua_pushnil(L);
    return 1;
  }
  mwl_getenv(L, index);
  lua_rawgeti(L, -1, 2);
  if (lua_type(L, -1) == LUA_TTABLE) {
    lua_rawgeti(L, -1, 1);
    mwl_array *array = mwl_test(L, state, -1, MWL_ARRAY);
    if (array && array->handle &&
        mw_buffer_address(mw_array_buffer(array->handle)) + mw_array_offset(array->handle) == address)
      return 1;
  }
  lua_pushlightuserdata(L, (void *)(uintptr_t)address);
  return 1;
}

/* Room for `bytes`: `local` where they fit, else a userdata left on the stack. */
static void *room(lua_State *L, void *local, size_t size, size_t bytes) {
  return bytes <= size ? local : mwl_plain(L, bytes);
}

int mwl_symbol_get(lua_State *L, mwl_state *state, int index) {
  mwl_symbol *symbol = check_symbol(L, state, index);
  if (mw_symbol_reference(symbol->handle)) return mwl_reference_get(L, state, index);
  const mw_type *type = mw_symbol_type(symbol->handle);
  _Alignas(32) unsigned char local[1024];
  void *bytes = room(L, local, sizeof local, type->size);
  mwl_settle(L, state, symbol->device);
  mwl_must(L, state, mw_symbol_read(symbol->handle, 0, bytes, type->size));
  if (type->kind == MW_TYPE_POINTER) {
    uint64_t address;
    memcpy(&address, bytes, sizeof address);
    return push_pointer(L, state, index, address);
  }
  mwl_push(L, type, bytes);
  return 1;
}

int mwl_symbol_set(lua_State *L, mwl_state *state, int index, int value) {
  mwl_symbol *symbol = check_symbol(L, state, index);
  if (mw_symbol_reference(symbol->handle)) return mwl_reference_set(L, state, index, value);
  const mw_type *type = mw_symbol_type(symbol->handle);
  _Alignas(32) unsigned char local[1024];
  void *bytes = room(L, local, sizeof local, type->size);
  mwl_place place = {NULL, mw_symbol_name(symbol->handle), 0};
  mwl_keeper keeper = {.device = symbol->device};
  if (has_pointer(type)) {
    lua_newtable(L);
    keeper.anchors = lua_gettop(L);
  }
  if (!mwl_pack(L, state, value, type, bytes, &place, &keeper)) return mwl_usage_top(L, state, NULL);
  mwl_drain(L, state, symbol->device);
  mwl_must(L, state, mw_symbol_write(symbol->handle, 0, bytes, type->size));
  if (keeper.anchors) { /* not before: kernels before the write used the old ones */
    mwl_getenv(L, index);
    lua_pushvalue(L, keeper.anchors);
    lua_rawseti(L, -2, 2);
  }
  return 0;
}

/* ---- the class ---- */

static int symbol_get(lua_State *L) { return mwl_symbol_get(L, mwl_of(L), 1); }

static int symbol_set(lua_State *L) {
  lua_settop(L, 2);
  return mwl_symbol_set(L, mwl_of(L), 1, 2);
}

static int symbol_bytes(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_symbol *symbol = check_symbol(L, state, 1);
  size_t size = mw_symbol_size(symbol->handle);
  void *bytes = mwl_plain(L, size + 1);
  mwl_settle(L, state, symbol->device);
  mwl_must(L, state, mw_symbol_read(symbol->handle, 0, bytes, size));
  lua_pushlstring(L, bytes, size);
  return 1;
}

/* s:set_bytes(string[, offset in bytes]): cudaMemcpyToSymbol */
static int symbol_set_bytes(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_symbol *symbol = check_symbol(L, state, 1);
  size_t length;
  const char *bytes = luaL_checklstring(L, 2, &length);
  size_t offset = lua_isnoneornil(L, 3) ? 0 : mwl_check_size(L, state, 3, "an offset");
  mwl_drain(L, state, symbol->device);
  mwl_must(L, state, mw_symbol_write(symbol->handle, offset, bytes, length));
  return 0;
}

static int get_name(lua_State *L) {
  lua_pushstring(L, mw_symbol_name(check_symbol(L, mwl_of(L), 1)->handle));
  return 1;
}

static int get_type(lua_State *L) {
  lua_pushstring(L, mw_symbol_type(check_symbol(L, mwl_of(L), 1)->handle)->name);
  return 1;
}

static int get_size(lua_State *L) {
  mwl_pushinteger(L, mw_symbol_size(check_symbol(L, mwl_of(L), 1)->handle));
  return 1;
}

static int get_address(lua_State *L) {
  mwl_pushinteger(L, (int64_t)mw_symbol_address(check_symbol(L, mwl_of(L), 1)->handle));
  return 1;
}

static int symbol_gc(lua_State *L) {
  mwl_symbol *symbol = mwl_test(L, mwl_of(L), 1, MWL_SYMBOL);
  if (!symbol || !symbol->handle) return 0;
  mw_symbol_release(symbol->handle);
  symbol->handle = NULL;
  return 0;
}

void mwl_open_symbol(lua_State *L, mwl_state *state) {
  static const luaL_Reg meta[] = {{"__gc", symbol_gc}, {NULL, NULL}};
  static const luaL_Reg methods[] = {
      {"get", symbol_get}, {"set", symbol_set}, {"bytes", symbol_bytes}, {"set_bytes", symbol_set_bytes}, {NULL, NULL}};
  static const luaL_Reg facts[] = {
      {"name", get_name}, {"type", get_type}, {"size", get_size}, {"address", get_address}, {NULL, NULL}};
  mwl_class_new(L, state, MWL_SYMBOL, meta, methods, facts);
}
