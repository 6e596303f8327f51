/* Communicators: one rank of a group of devices, and the messages that it queues. Ranks count from 0. */
#include "lua/binding.h"

typedef struct mwl_communicator {
  mw_communicator *handle; /* NULL once closed */
  mwl_device *device;
} mwl_communicator;

static mwl_communicator *check(lua_State *L, mwl_state *state, const char *what) {
  mwl_communicator *communicator = mwl_check(L, state, 1, MWL_COMMUNICATOR, what);
  if (!communicator->handle) mwl_closed(L, state, what, "communicator");
  return communicator;
}

static mwl_communicator *push(lua_State *L, mwl_state *state, mwl_device *device) {
  mwl_communicator *new = mwl_plain(L, sizeof *new);
  *new = (mwl_communicator){.device = device};
  mwl_set_class(L, state, MWL_COMMUNICATOR);
  return new;
}

/* communicator_library() -> the name of the current device's library; or nil, why there is none */
static int communicator_library(lua_State *L) {
  mwl_state *state = mwl_of(L);
  char name[512];
  int code = mw_communicator_library(mwl_current(L, state)->handle, name, sizeof name);
  return mwl_library_name(L, state, code, name);
}

/* communicator_id() -> the bytes that identify a new group */
static int communicator_id(lua_State *L) {
  mwl_state *state = mwl_of(L);
  char id[MW_COMMUNICATOR_ID];
  mwl_must(L, state, mw_communicator_id(mwl_current(L, state)->handle, id));
  lua_pushlstring(L, id, sizeof id);
  return 1;
}

/* communicator_new(id, size, rank, seconds) -> communicator of the current device */
static int communicator_new(lua_State *L) {
  mwl_state *state = mwl_of(L);
  size_t length;
  const char *id = luaL_checklstring(L, 1, &length);
  luaL_argcheck(L, length == MW_COMMUNICATOR_ID, 1, "an id of 128 bytes");
  int size = (int)luaL_checkinteger(L, 2), rank = (int)luaL_checkinteger(L, 3);
  double seconds = luaL_checknumber(L, 4);
  mwl_communicator *new = push(L, state, mwl_current(L, state));
  mwl_must(L, state, mw_communicator_new(new->device->handle, id, size, rank, seconds, &new->handle));
  return 1;
}

/* communicator_split(communicator, color, key) -> communicator, or nil if color is negative */
static int communicator_split(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_communicator *communicator = check(L, state, "communicator_split");
  int color = (int)luaL_checkinteger(L, 2), key = (int)luaL_checkinteger(L, 3);
  mwl_communicator *new = push(L, state, communicator->device);
  mwl_must(L, state, mw_communicator_split(communicator->handle, color, key, &new->handle));
  if (!new->handle) lua_pushnil(L);
  return 1;
}

/* communicator_rank(communicator) -> rank, size */
static int communicator_rank(lua_State *L) {
  mwl_state *state = mwl_of(L);
  int rank, size;
  mwl_must(L, state, mw_communicator_rank(check(L, state, "communicator_rank")->handle, &rank, &size));
  lua_pushinteger(L, rank);
  lua_pushinteger(L, size);
  return 2;
}

/* communicator_queue(communicator, kind, source, target, operation, peer): as mw_communicator_queue */
static int communicator_queue(lua_State *L) {
  mwl_state *state = mwl_of(L);
  char site[512];
  mwl_communicator *communicator = check(L, state, "communicator_queue");
  mw_message_kind kind = (mw_message_kind)luaL_checkinteger(L, 2);
  mw_array *source = lua_isnil(L, 3) ? NULL : mwl_check_array(L, state, 3, "a message")->handle;
  mw_array *target = lua_isnil(L, 4) ? NULL : mwl_check_array(L, state, 4, "a message")->handle;
  mw_message_operation operation = (mw_message_operation)luaL_checkinteger(L, 5);
  int peer = (int)luaL_checkinteger(L, 6);
  mw_owner_use(state->owner);
  communicator->device->pending = true;
  mwl_must(L, state,
           mw_communicator_queue(communicator->handle, kind, source, target, operation, peer,
                                 mwl_site(L, state, site, sizeof site)));
  return 0;
}

/* communicator_group(begins): of the current device's library */
static int communicator_group(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_must(L, state, mw_communicator_group(mwl_current(L, state)->handle, lua_toboolean(L, 1)));
  return 0;
}

/* communicator_abort(communicator, reason) */
static int communicator_abort(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_communicator *communicator = check(L, state, "communicator_abort");
  mwl_must(L, state, mw_communicator_abort(communicator->handle, luaL_checkstring(L, 2)));
  return 0;
}

/* communicator_limit(communicator, seconds) */
static int communicator_limit(lua_State *L) {
  mwl_communicator *communicator = check(L, mwl_of(L), "communicator_limit");
  mw_communicator_limit(communicator->handle, luaL_checknumber(L, 2));
  return 0;
}

/* communicator_free(communicator), and the finalizer */
static int communicator_free(lua_State *L) {
  mwl_communicator *communicator = mwl_test(L, mwl_of(L), 1, MWL_COMMUNICATOR);
  if (!communicator) return 0;
  mw_communicator *handle = communicator->handle;
  communicator->handle = NULL;
  mw_communicator_release(handle);
  return 0;
}

void mwl_open_communicator(lua_State *L, mwl_state *state) {
  static const luaL_Reg meta[] = {{"__gc", communicator_free}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"communicator_library", communicator_library},
                                       {"communicator_id", communicator_id},
                                       {"communicator_new", communicator_new},
                                       {"communicator_split", communicator_split},
                                       {"communicator_rank", communicator_rank},
                                       {"communicator_queue", communicator_queue},
                                       {"communicator_group", communicator_group},
                                       {"communicator_abort", communicator_abort},
                                       {"communicator_limit", communicator_limit},
                                       {"communicator_free", communicator_free},
                                       {NULL, NULL}};
  mwl_class_new(L, state, MWL_COMMUNICATOR, meta, NULL, NULL);
  mwl_functions(L, functions, state);
}
