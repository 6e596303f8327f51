/* Memory by address, for moonwarp.runtime and moonwarp.driver. Addresses are Lua numbers here. */
#include "binding.h"

static const char *const kinds[] = {"unknown", "host", "pinned", "registered", "device", "managed"};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

/* A whole number that is not negative at `index`; absent: 0. */
static uint64_t count_at(lua_State *L, mwl_state *state, int index, const char *what) {
  if (lua_isnoneornil(L, index)) return 0;
  if (lua_type(L, index) == LUA_TLIGHTUSERDATA) return (uint64_t)(uintptr_t)lua_touserdata(L, index);
  return mwl_check_size(L, state, index, what);
}

static uint64_t address_at(lua_State *L, mwl_state *state, int index) {
  return count_at(L, state, index, "an address");
}

/* A stream; nil means the default stream, and that the call blocks. */
static mw_stream *stream_at(lua_State *L, mwl_state *state, int index) {
  return lua_isnoneornil(L, index) ? NULL : mwl_check_stream(L, state, index, "a copy")->handle;
}

/* ---- memory that the state owns ----
 *
 * Addresses have no finalizer. Memory that was allocated here and not freed is freed when the state closes, after all
 * other objects. The current stream is reset then, too: the script may have ended within mw.with. */

static const char owned_key; /* in the registry: address -> true */

static void own_address(lua_State *L, uint64_t address, bool owned) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &owned_key);
  mwl_pushinteger(L, (int64_t)address);
  if (owned)
    lua_pushboolean(L, 1);
  else
    lua_pushnil(L);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

static int owner_gc(lua_State *L) {
  (void)mw_stream_use(NULL, NULL);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &owned_key);
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) (void)mw_memory_free((uint64_t)lua_tonumber(L, -2));
  return 0;
}

/* A userdata in the table, which is collected when the state closes. */
static void make_owner(lua_State *L, mwl_state *state) {
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_createtable(L, 0, 1);
  lua_pushlightuserdata(L, state);
  lua_pushcclosure(L, owner_gc, 1);
  lua_setfield(L, -2, "__gc");
  mwl_plain(L, 1);
  lua_pushvalue(L, -2);
  lua_setmetatable(L, -2);
  lua_setfield(L, -3, "owner");
  lua_pop(L, 1);
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &owned_key);
}

/* memory_new(kind, bytes, flags) -> address */
static int memory_new(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_device *device = mwl_current(L, state);
  const char *name = luaL_checkstring(L, 1);
  int kind = 0;
  while (kind < KIND_COUNT && strcmp(kinds[kind], name) != 0) kind++;
  size_t bytes = count_at(L, state, 2, "a size");
  unsigned flags = (unsigned)count_at(L, state, 3, "flags");
  uint64_t address;
  int code = mw_memory_new(device->handle, (mw_memory_kind)kind, flags, bytes, &address);
  for (int attempt = 0; code == MW_MEMORY_ALLOCATION && mwl_collect_all(L, state, device, attempt); attempt++)
    code = mw_memory_new(device->handle, (mw_memory_kind)kind, flags, bytes, &address);
  mwl_must(L, state, code);
  if (address) own_address(L, address, true);
  mwl_pushinteger(L, (int64_t)address);
  return 1;
}

static int memory_free(lua_State *L) {
  mwl_state *state = mwl_of(L);
  if (state->calls > 0) mwl_settle(L, state, mwl_current(L, state));
  uint64_t address = address_at(L, state, 1);
  mwl_must(L, state, mw_memory_free(address));
  own_address(L, address, false);
  return 0;
}

/* memory_free_in(address, stream) */
static int memory_free_in(lua_State *L) {
  mwl_state *state = mwl_of(L);
  uint64_t address = address_at(L, state, 1);
  mw_owner_use(state->owner);
  mwl_must(L, state, mw_memory_free_in(mwl_check_stream(L, state, 2, "cudaFreeAsync")->handle, address));
  own_address(L, address, false);
  return 0;
}

/* memory_register(address, bytes, flags) */
static int memory_register(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_must(L, state,
           mw_memory_register(mwl_current(L, state)->handle, address_at(L, state, 1), count_at(L, state, 2, "a size"),
                              (unsigned)count_at(L, state, 3, "flags")));
  return 0;
}

static int memory_unregister(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_must(L, state, mw_memory_unregister(address_at(L, state, 1)));
  return 0;
}

static int push_info(lua_State *L, const mw_memory_info *info) {
  lua_createtable(L, 0, 5);
  lua_pushstring(L, kinds[info->kind]);
  lua_setfield(L, -2, "kind");
  mwl_pushinteger(L, (int64_t)info->address);
  lua_setfield(L, -2, "address");
  mwl_pushinteger(L, (int64_t)info->bytes);
  lua_setfield(L, -2, "bytes");
  mwl_pushinteger(L, (int64_t)info->flags);
  lua_setfield(L, -2, "flags");
  if (info->device) {
    lua_pushstring(L, mw_device_name(info->device));
    lua_setfield(L, -2, "device");
  }
  return 1;
}

/* memory_find(address) -> {kind =, address =, bytes =, flags =, device =}, or nil if nothing is known at that address */
static int memory_find(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_memory_info info;
  mwl_must(L, state, mw_memory_find(mwl_current(L, state)->handle, address_at(L, state, 1), &info));
  return info.kind == MW_MEMORY_UNKNOWN ? 0 : push_info(L, &info);
}

/* memory_live() -> a sequence of such tables, one for each allocation of memory_new that was not freed */
static int memory_live(lua_State *L) {
  mw_memory_info info;
  lua_newtable(L);
  for (size_t i = 0; mw_memory_live(i, &info) == MW_SUCCESS; i++) {
    push_info(L, &info);
    lua_rawseti(L, -2, (int)i + 1);
  }
  return 1;
}

/* A CUDA array as a side of a copy, at (x, y, z); NULL where the argument is an address. */
static mw_cuda_array *array_at(lua_State *L, mwl_state *state, int index, int x, int z, mw_array_place *out) {
  mwl_cuda_array *array = mwl_test(L, state, index, MWL_CUDA_ARRAY);
  if (!array || !array->handle) return NULL;
  *out = (mw_array_place){.array = array->handle,
                          .x = count_at(L, state, x, "x"),
                          .y = count_at(L, state, x + 1, "y"),
                          .z = count_at(L, state, z, "z")};
  return array->handle;
}

/* memory_copy(stream, target, source, direction, width, height, depth, target_pitch, target_rows, source_pitch,
   source_rows, target_z, source_z): a side is an address with a pitch and rows, or a CUDA array with x in bytes and y in
   their place, and z. */
static int memory_copy(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_device *device = mwl_current(L, state);
  mw_copy copy = {.direction = (mw_direction)luaL_checkinteger(L, 4),
                  .width = count_at(L, state, 5, "a width"),
                  .height = lua_isnoneornil(L, 6) ? 1 : count_at(L, state, 6, "a height"),
                  .depth = lua_isnoneornil(L, 7) ? 1 : count_at(L, state, 7, "a depth")};
  if (!array_at(L, state, 2, 8, 12, &copy.target_in)) {
    copy.target = address_at(L, state, 2);
    copy.target_pitch = count_at(L, state, 8, "a pitch");
    copy.target_rows = count_at(L, state, 9, "a height");
  }
  if (!array_at(L, state, 3, 10, 13, &copy.source_in)) {
    copy.source = address_at(L, state, 3);
    copy.source_pitch = count_at(L, state, 10, "a pitch");
    copy.source_rows = count_at(L, state, 11, "a height");
  }
  mw_stream *stream = stream_at(L, state, 1);
  if (!stream || mw_memory_copy_waits(device->handle, &copy)) mwl_drain(L, state, device);
  mwl_must(L, state, mw_memory_copy(device->handle, stream, &copy));
  return 0;
}

/* memory_fill(stream, target, value, size, width, height, depth, pitch, rows) */
static int memory_fill(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_device *device = mwl_current(L, state);
  mw_fill fill = {.target = address_at(L, state, 2),
                  .value = (unsigned)(int64_t)luaL_checknumber(L, 3),
                  .size = count_at(L, state, 4, "an element's size"),
                  .width = count_at(L, state, 5, "a width"),
                  .height = lua_isnoneornil(L, 6) ? 1 : count_at(L, state, 6, "a height"),
                  .depth = lua_isnoneornil(L, 7) ? 1 : count_at(L, state, 7, "a depth"),
                  .pitch = count_at(L, state, 8, "a pitch"),
                  .rows = count_at(L, state, 9, "a height")};
  mw_stream *stream = stream_at(L, state, 1);
  if (!stream) mwl_drain(L, state, device);
  mwl_must(L, state, mw_memory_fill(device->handle, stream, &fill));
  return 0;
}

/* ---- host access by address ---- */

static unsigned char *host_at(lua_State *L, mwl_state *state, size_t bytes) {
  void *memory = mw_memory_host(address_at(L, state, 1), bytes);
  if (!memory) mwl_raise(L, state);
  return memory;
}

/* memory_get(address, dtype[, count]) -> a value, or a sequence of them */
static int memory_get(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_module *module;
  const mw_type *type = mwl_check_dtype(L, state, 2, NULL, &module);
  bool many = !lua_isnoneornil(L, 3);
  size_t count = many ? count_at(L, state, 3, "a count") : 1;
  const unsigned char *memory = count ? host_at(L, state, count * type->size) : NULL;
  if (!many) {
    mwl_push(L, type, memory);
    return 1;
  }
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    mwl_push(L, type, memory + i * type->size);
    lua_rawseti(L, -2, (int)i + 1);
  }
  return 1;
}

/* memory_set(address, dtype, value[, count]): with a count, a sequence of values */
static int memory_set(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_module *module;
  const mw_type *type = mwl_check_dtype(L, state, 2, NULL, &module);
  bool many = !lua_isnoneornil(L, 4);
  size_t count = many ? count_at(L, state, 4, "a count") : 1;
  unsigned char *memory = count ? host_at(L, state, count * type->size) : NULL;
  const mwl_place place = {NULL, "the value", 0};
  const mwl_keeper no_keeper = {0};
  for (size_t i = 0; i < count; i++) {
    if (many)
      lua_rawgeti(L, 3, (int)i + 1);
    else
      lua_pushvalue(L, 3);
    if (!mwl_pack(L, state, lua_gettop(L), type, memory + i * type->size, &place, &no_keeper))
      return mwl_usage_top(L, state, NULL);
    lua_settop(L, 4);
  }
  return 0;
}

/* memory_bytes(address, bytes) -> string */
static int memory_bytes(lua_State *L) {
  mwl_state *state = mwl_of(L);
  size_t bytes = count_at(L, state, 2, "a size");
  lua_pushlstring(L, bytes ? (const char *)host_at(L, state, bytes) : "", bytes);
  return 1;
}

/* memory_set_bytes(address, string) */
static int memory_set_bytes(lua_State *L) {
  mwl_state *state = mwl_of(L);
  size_t bytes;
  const char *source = luaL_checklstring(L, 2, &bytes);
  if (bytes) memcpy(host_at(L, state, bytes), source, bytes);
  return 0;
}

/* memory_array(address, dtype, shape) -> an array over memory that memory_new allocated */
static int memory_array(lua_State *L) {
  mwl_state *state = mwl_of(L);
  uint64_t address = address_at(L, state, 1);
  size_t shape[MWL_MAX_RANK];
  mw_module *module;
  const mw_type *dtype = mwl_check_dtype(L, state, 2, NULL, &module);
  int rank = mwl_check_shape(L, state, 3, shape);
  mwl_array *array = mwl_array_push(L, state, mwl_current(L, state));
  mw_array *handle;
  mwl_must(L, state, mw_memory_array(address, dtype, rank, shape, &handle));
  mwl_array_adopt(state, array, handle, module, 0);
  return 1;
}

/* pointer(address) -> a value that launches accept for a pointer parameter */
static int pointer(lua_State *L) {
  lua_pushlightuserdata(L, (void *)(uintptr_t)address_at(L, mwl_of(L), 1));
  return 1;
}

void mwl_open_memory(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"memory_new", memory_new},
                                       {"memory_free", memory_free},
                                       {"memory_free_in", memory_free_in},
                                       {"memory_register", memory_register},
                                       {"memory_unregister", memory_unregister},
                                       {"memory_find", memory_find},
                                       {"memory_live", memory_live},
                                       {"memory_copy", memory_copy},
                                       {"memory_fill", memory_fill},
                                       {"memory_get", memory_get},
                                       {"memory_set", memory_set},
                                       {"memory_bytes", memory_bytes},
                                       {"memory_set_bytes", memory_set_bytes},
                                       {"memory_array", memory_array},
                                       {"pointer", pointer},
                                       {NULL, NULL}};
  mwl_functions(L, functions, state);
  make_owner(L, state);
}
