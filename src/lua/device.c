/* Devices: the one in use, its facts and limits, and waiting for it.
 *
 * A device object is made once for each device of the core, so that equal devices are equal objects and everything made
 * on one may point at it: the registry keeps them as long as the Lua state lives. */
#include "binding.h"

static const char devices_key; /* in the registry: light userdata of a handle -> device object */

/* Push the object of `handle` (whose reference becomes the object's, or is given back). */
static mwl_device *push_device(lua_State *L, mwl_state *state, mwl_device *fresh) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &devices_key);
  lua_rawgetp(L, -1, fresh->handle);
  mwl_device *known = mwl_test(L, state, -1, MWL_DEVICE);
  if (known) {
    mw_device_release(fresh->handle);
    fresh->handle = NULL;
    lua_remove(L, -2);
    lua_remove(L, -2);
    return known;
  }
  lua_pop(L, 1);
  lua_pushvalue(L, -2);
  lua_rawsetp(L, -2, fresh->handle);
  lua_pop(L, 1);
  mwl_collect_know(state, fresh->handle);
  return fresh;
}

static mwl_device *open_device(lua_State *L, mwl_state *state, const char *name) {
  mwl_device *device = mwl_plain(L, sizeof *device);
  *device = (mwl_device){0};
  mwl_set_class(L, state, MWL_DEVICE);
  mwl_must(L, state, mw_device_open(name, &device->handle));
  return push_device(L, state, device);
}

mwl_device *mwl_current(lua_State *L, mwl_state *state) {
  mw_owner_use(state->owner);
  if (!state->current) {
    mwl_device *device = open_device(L, state, NULL);
    lua_pop(L, 1);
    state->current = device;
  }
  return state->current;
}

void mwl_device_push(lua_State *L, mwl_device *device) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &devices_key);
  lua_rawgetp(L, -1, device->handle);
  lua_remove(L, -2);
}

void mwl_settle(lua_State *L, mwl_state *state, mwl_device *device) {
  mw_owner_use(state->owner);
  if (!device->pending || !device->handle) return;
  device->pending = false;
  mwl_must(L, state, mwl_wait_device(L, state, device));
}

/* The device at stack place 1; without one, the device in use. */
static mwl_device *check_device(lua_State *L, mwl_state *state) {
  if (lua_isnoneornil(L, 1)) return mwl_current(L, state);
  mwl_device *device = mwl_check(L, state, 1, MWL_DEVICE, "device");
  if (!device->handle) mwl_closed(L, state, "device", "device");
  return device;
}

/* ---- the raw table ---- */

/* use(name) -> device: what arrays and modules are made on from now on. */
static int use(lua_State *L) {
  mwl_state *state = mwl_of(L);
  state->current = open_device(L, state, luaL_optstring(L, 1, NULL));
  return 1;
}

/* open(name) -> device: without using it. */
static int open_named(lua_State *L) {
  open_device(L, mwl_of(L), luaL_checkstring(L, 1));
  return 1;
}

/* simulate(driver, devices): see mw_device_simulate. */
static int simulate(lua_State *L) {
  mwl_must(L, mwl_of(L), mw_device_simulate(luaL_checkstring(L, 1), lua_tostring(L, 2)));
  return 0;
}

/* device:can_access_peer(other) -> boolean; device:enable_peer_access(other), device:disable_peer_access(other) */
static int can_access_peer(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_device *device = check_device(L, state), *peer = mwl_check(L, state, 2, MWL_DEVICE, "the peer");
  int can = 0;
  mwl_must(L, state, mw_device_can_reach(device->handle, peer->handle, &can));
  lua_pushboolean(L, can);
  return 1;
}

static int enable_peer_access(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_device *device = check_device(L, state), *peer = mwl_check(L, state, 2, MWL_DEVICE, "the peer");
  mwl_must(L, state, mw_device_reach(device->handle, peer->handle));
  return 0;
}

static int disable_peer_access(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_device *device = check_device(L, state), *peer = mwl_check(L, state, 2, MWL_DEVICE, "the peer");
  mwl_must(L, state, mw_device_unreach(device->handle, peer->handle));
  return 0;
}

/* device_list() -> a sequence of names */
static int device_list(lua_State *L) {
  char name[32];
  lua_newtable(L);
  for (size_t i = 0; mw_device_list(i, name) == MW_SUCCESS; i++) {
    lua_pushstring(L, name);
    lua_rawseti(L, -2, (int)i + 1);
  }
  return 1;
}

/* result(code) -> CUDA's name of it, and its sentence */
static int result(lua_State *L) {
  int code = (int)luaL_checkinteger(L, 1);
  lua_pushstring(L, mw_result_name(code));
  lua_pushstring(L, mw_result_text(code));
  return 2;
}

static int current(lua_State *L) {
  mwl_device_push(L, mwl_current(L, mwl_of(L)));
  return 1;
}

static int synchronize(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_device *device = check_device(L, state);
  device->pending = false;
  mwl_must(L, state, mwl_wait_device(L, state, device));
  return 0;
}

/* device:reset() */
static int reset(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_device *device = check_device(L, state);
  device->pending = false;
  mwl_must(L, state, mw_device_reset(device->handle));
  return 0;
}

/* doctor() -> a text */
static int doctor(lua_State *L) {
  size_t length = mw_doctor(NULL, 0) + 1;
  char *text = lua_newuserdata(L, length);
  mw_doctor(text, length);
  lua_pushstring(L, text);
  return 1;
}

/* interrupt_watch(on) */
static int interrupt_watch(lua_State *L) {
  mwl_must(L, mwl_of(L), mw_interrupt_watch(lua_toboolean(L, 1)));
  return 0;
}

/* interrupted() -> whether there was an interrupt since the last call */
static int interrupted(lua_State *L) {
  lua_pushboolean(L, mw_interrupt_seen());
  return 1;
}

/* interrupt_wait(descriptor) -> whether there is something to read, and no interrupt */
static int interrupt_wait(lua_State *L) {
  lua_pushboolean(L, mw_interrupt_wait((int)luaL_checkinteger(L, 1)));
  return 1;
}

/* ---- what kernels print ---- */

static const char print_key; /* in the registry: the function */

void mwl_deliver_printed(lua_State *L, mwl_state *state) {
  if (!state->printing || !state->printing->handle) return;
  char piece[1024];
  size_t length = mw_device_printed(state->printing->handle, piece, sizeof piece);
  if (!length) return;
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &print_key);
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  for (; length; length = mw_device_printed(state->printing->handle, piece, sizeof piece))
    luaL_addlstring(&text, piece, length);
  luaL_pushresult(&text);
  lua_call(L, 1, 0);
}

/* on_print(f): f(text) gets what kernels of the device in use print; nil: stdout does again. */
static int on_print(lua_State *L) {
  mwl_state *state = mwl_of(L);
  if (!lua_isnoneornil(L, 1)) luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  if (state->printing && state->printing->handle) {
    mwl_must(L, state, mwl_wait_device(L, state, state->printing));
    mwl_must(L, state, mw_device_keep_printed(state->printing->handle, 0));
  }
  state->printing = NULL;
  if (lua_isnil(L, 1)) return 0;
  mwl_device *device = mwl_current(L, state);
  mwl_must(L, state, mw_device_keep_printed(device->handle, 1));
  lua_rawsetp(L, LUA_REGISTRYINDEX, &print_key);
  state->printing = device;
  return 0;
}

static const char *const limit_names[] = {"time",           "memory",     "stack", "compile_time",
                                          "compile_memory", "specialise", "heap",  "launches"};

/* limit(device, name[, value]) -> the value before. */
static int limit(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_device *device = check_device(L, state);
  int which = -1;
  if (lua_type(L, 2) == LUA_TSTRING)
    for (int i = 0; i < (int)(sizeof limit_names / sizeof *limit_names); i++)
      if (strcmp(lua_tostring(L, 2), limit_names[i]) == 0) which = i;
  if (which < 0) return mwl_refusal(L, state, "limit", "v", 2);
  double old;
  mwl_must(L, state, mw_device_limit_get(device->handle, (mw_limit)which, &old));
  if (!lua_isnoneornil(L, 3)) {
    if (lua_type(L, 3) != LUA_TNUMBER) return mwl_refusal(L, state, "limit_value", "vv", 2, 3);
    mwl_must(L, state, mw_device_limit_set(device->handle, (mw_limit)which, lua_tonumber(L, 3)));
  }
  lua_pushnumber(L, old);
  return 1;
}

static void set_count(lua_State *L, const char *field, int64_t value) {
  mwl_pushinteger(L, value);
  lua_setfield(L, -2, field);
}

static int memory(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_device *device = check_device(L, state);
  mw_memory facts;
  mwl_must(L, state, mw_device_memory(device->handle, &facts));
  lua_createtable(L, 0, 4);
  set_count(L, "bytes", (int64_t)facts.bytes);
  set_count(L, "count", (int64_t)facts.count);
  set_count(L, "peak", (int64_t)facts.peak);
  set_count(L, "total", (int64_t)facts.total);
  return 1;
}

static int properties(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_device *device = check_device(L, state);
  mw_properties facts;
  mwl_must(L, state, mw_device_properties(device->handle, &facts));
  lua_createtable(L, 0, 18);
  lua_pushstring(L, facts.name);
  lua_setfield(L, -2, "name");
  lua_pushstring(L, facts.driver);
  lua_setfield(L, -2, "driver");
#define COUNT(field) set_count(L, #field, (int64_t)facts.field)
  COUNT(major);
  COUNT(minor);
  COUNT(multiprocessors);
  COUNT(warp_size);
  COUNT(max_threads_per_block);
  COUNT(max_cluster);
  COUNT(shared_per_block);
  COUNT(shared_per_block_optin);
  COUNT(total_constant);
  COUNT(total_memory);
  COUNT(l2_cache);
  COUNT(registers_per_block);
  COUNT(clock_khz);
  COUNT(memory_pitch);
  COUNT(texture_alignment);
  COUNT(texture_pitch_alignment);
#undef COUNT
  lua_createtable(L, 3, 0);
  lua_createtable(L, 3, 0);
  for (int i = 0; i < 3; i++) {
    mwl_pushinteger(L, facts.max_block[i]);
    lua_rawseti(L, -3, i + 1);
    mwl_pushinteger(L, facts.max_grid[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -3, "max_grid");
  lua_setfield(L, -2, "max_block");
  mwl_push_textures(L, &facts.textures);
  lua_setfield(L, -2, "textures");
  return 1;
}

/* ---- the class ---- */

/* Whether an interpreter runs a script, which has its name in `arg`: then the process's status is the script's. */
static bool is_script(lua_State *L) {
  lua_getglobal(L, "arg");
  bool is = lua_type(L, -1) == LUA_TTABLE;
  lua_pop(L, 1);
  return is;
}

static int device_gc(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_device *device = mwl_test(L, state, 1, MWL_DEVICE);
  if (!device || !device->handle) return 0;
  if (state->current == device) state->current = NULL;
  mw_owner_use(state->owner);
  if (device->pending) mw_device_leave(device->handle, is_script(L));
  mw_device_release(device->handle);
  device->handle = NULL;
  return 0;
}

static int device_resets(lua_State *L) {
  mwl_pushinteger(L, mw_device_resets(check_device(L, mwl_of(L))->handle));
  return 1;
}

static int device_name(lua_State *L) {
  lua_pushstring(L, mw_device_name(check_device(L, mwl_of(L))->handle));
  return 1;
}

void mwl_open_device(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"use", use},
                                       {"open", open_named},
                                       {"simulate", simulate},
                                       {"device", current},
                                       {"synchronize", synchronize},
                                       {"limit", limit},
                                       {"memory", memory},
                                       {"properties_of", properties},
                                       {"device_list", device_list},
                                       {"doctor", doctor},
                                       {"result", result},
                                       {"interrupt_watch", interrupt_watch},
                                       {"interrupted", interrupted},
                                       {"interrupt_wait", interrupt_wait},
                                       {"on_print", on_print},
                                       {NULL, NULL}};
  static const luaL_Reg meta[] = {{"__gc", device_gc}, {"__tostring", device_name}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"synchronize", synchronize},
                                     {"limit", limit},
                                     {"memory", memory},
                                     {"properties", properties},
                                     {"can_access_peer", can_access_peer},
                                     {"enable_peer_access", enable_peer_access},
                                     {"disable_peer_access", disable_peer_access},
                                     {"reset", reset},
                                     {NULL, NULL}};
  static const luaL_Reg facts[] = {{"name", device_name}, {"resets", device_resets}, {NULL, NULL}};
  mwl_functions(L, functions, state);
  mwl_class_new(L, state, MWL_DEVICE, meta, methods, facts);
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &devices_key);
}
