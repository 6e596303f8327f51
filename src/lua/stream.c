/* Streams and events, and Lua functions that a stream calls.
 *
 * Lua code runs on Lua's own thread only. So a function given to a stream is a hold in the core: the stream stands still
 * there until this state, while it waits for the device or polls, finds the hold reached, calls the function and lets go.
 * Waiting goes through mwl_wait, which calls the function whenever the core reports that it waits for a hold. */
#include "binding.h"

static const char
    calls_key; /* in the registry: a sequence of {hold, function}, in the order in which they were queued */
static const char using_key; /* in the registry: the stream object of mw.with, or nil */

typedef struct mwl_hold {
  mw_hold *handle;
} mwl_hold;

/* ---- functions that streams call ---- */

static int hold_gc(lua_State *L) {
  mwl_hold *hold = lua_touserdata(L, 1);
  mw_hold_release(hold->handle);
  hold->handle = NULL;
  return 0;
}

/* Call the function of the first hold that is reached, and let go of it. False: none is. An error of the function is
   raised once the stream continues. */
static bool run_call(lua_State *L, mwl_state *state) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &calls_key);
  int list = lua_gettop(L), count = (int)lua_rawlen(L, list);
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(L, list, i);
    lua_rawgeti(L, -1, 1);
    mwl_hold *hold = lua_touserdata(L, -1);
    if (!mw_hold_reached(hold->handle)) {
      lua_pop(L, 2);
      continue;
    }
    lua_rawgeti(L, -2, 2);
    for (int k = i; k <= count; k++) { /* taken off first: the function may wait, and so come here again */
      lua_rawgeti(L, list, k + 1);
      lua_rawseti(L, list, k);
    }
    state->calls--;
    mw_hold_enter(hold->handle);
    int failed = lua_pcall(L, 0, 0, 0);
    mw_hold_release(hold->handle);
    hold->handle = NULL;
    if (failed) lua_error(L);
    lua_settop(L, list - 1);
    return true;
  }
  lua_settop(L, list - 1);
  return false;
}

static bool run_calls(lua_State *L, mwl_state *state) {
  bool any = false;
  while (state->calls > 0 && run_call(L, state)) any = true;
  return any;
}

int mwl_wait(lua_State *L, mwl_state *state, int (*wait)(void *), void *handle) {
  for (;;) {
    mw_owner_use(state->owner); /* the functions may have run another state's code */
    int code = wait(handle);
    if (code != MW_NOT_READY || !run_calls(L, state)) {
      mwl_deliver_printed(L, state);
      return code;
    }
  }
}

static int wait_device(void *handle) { return mw_device_synchronize(handle); }
static int wait_stream(void *handle) { return mw_stream_synchronize(handle); }
static int wait_event(void *handle) { return mw_event_synchronize(handle); }

int mwl_wait_device(lua_State *L, mwl_state *state, mwl_device *device) {
  return mwl_wait(L, state, wait_device, device->handle);
}

/* poll(): call the functions that are due; returns their number. */
static int poll(lua_State *L) {
  mwl_state *state = mwl_of(L);
  int count = 0;
  while (state->calls > 0 && run_call(L, state)) count++;
  lua_pushinteger(L, count);
  return 1;
}

/* ---- streams ---- */

static mwl_stream *push_stream(lua_State *L, mwl_state *state, mwl_device *device) {
  mwl_stream *stream = mwl_plain(L, sizeof *stream);
  *stream = (mwl_stream){.device = device};
  mwl_set_class(L, state, MWL_STREAM);
  return stream;
}

mwl_stream *mwl_check_stream(lua_State *L, mwl_state *state, int index, const char *what) {
  mwl_stream *stream = mwl_check(L, state, index, MWL_STREAM, what);
  if (!stream->handle) mwl_closed(L, state, what, "stream");
  return stream;
}

/* stream_new(non-blocking, priority) -> stream */
static int stream_new(lua_State *L) {
  mwl_state *state = mwl_of(L);
  unsigned flags = lua_toboolean(L, 1) ? MW_STREAM_NON_BLOCKING : MW_STREAM_DEFAULT;
  mwl_stream *stream = push_stream(L, state, mwl_current(L, state));
  mwl_must(L, state, mw_stream_new(stream->device->handle, flags, (int)luaL_optinteger(L, 2, 0), &stream->handle));
  return 1;
}

/* stream_default(of the thread) -> stream */
static int stream_default(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_stream *stream = push_stream(L, state, mwl_current(L, state));
  if (lua_toboolean(L, 1))
    mwl_must(L, state, mw_stream_per_thread(stream->device->handle, &stream->handle));
  else
    stream->handle = mw_stream_retain(mw_device_stream(stream->device->handle));
  return 1;
}

/* stream_priorities() -> least, greatest */
static int stream_priorities(lua_State *L) {
  int least, greatest;
  mw_stream_priorities(mwl_current(L, mwl_of(L))->handle, &least, &greatest);
  lua_pushinteger(L, least);
  lua_pushinteger(L, greatest);
  return 2;
}

/* stream_use(stream or nil) -> the one before: where work goes that names none */
static int stream_use(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_stream *stream = lua_isnoneornil(L, 1) ? NULL : mwl_check_stream(L, state, 1, "mw.with");
  lua_settop(L, 1);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &using_key);
  mwl_must(L, state, mw_stream_use(stream ? stream->handle : NULL, NULL));
  lua_pushvalue(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &using_key);
  return 1;
}

/* stream_in_use() -> the stream that stream_use was given last, or nil */
static int stream_in_use(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &using_key);
  return 1;
}

static int stream_gc(lua_State *L) {
  mwl_stream *stream = mwl_test(L, mwl_of(L), 1, MWL_STREAM);
  if (!stream) return 0;
  mw_stream_release(stream->handle);
  stream->handle = NULL;
  return 0;
}

static int stream_synchronize(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_stream *stream = mwl_check_stream(L, state, 1, "synchronize");
  mwl_must(L, state, mwl_wait(L, state, wait_stream, stream->handle));
  return 0;
}

/* Whether it is done, as an mw_result, after calling the functions that are due. */
static int push_done(lua_State *L, mwl_state *state, int code) {
  if (code != MW_SUCCESS && code != MW_NOT_READY) mwl_raise(L, state);
  lua_pushboolean(L, code == MW_SUCCESS);
  return 1;
}

static int stream_query(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_stream *stream = mwl_check_stream(L, state, 1, "query");
  run_calls(L, state);
  return push_done(L, state, mw_stream_query(stream->handle));
}

static int event_new_on(lua_State *L, mwl_state *state, mwl_device *device, unsigned flags);
static mwl_event *check_event(lua_State *L, mwl_state *state, int index, const char *what);

/* s:record([event]) -> event */
static int stream_record(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_stream *stream = mwl_check_stream(L, state, 1, "record");
  lua_settop(L, lua_isnoneornil(L, 2) ? 1 : 2);
  if (lua_gettop(L) == 1) event_new_on(L, state, stream->device, MW_EVENT_DEFAULT);
  mwl_event *event = check_event(L, state, 2, "s:record");
  mwl_must(L, state, mw_event_record(event->handle, stream->handle));
  return 1;
}

/* s:wait(event or stream) -> s */
static int stream_wait(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_stream *stream = mwl_check_stream(L, state, 1, "wait");
  lua_settop(L, 2);
  if (mwl_test(L, state, 2, MWL_STREAM)) {
    mwl_stream *other = mwl_check_stream(L, state, 2, "s:wait");
    event_new_on(L, state, other->device, MW_EVENT_DISABLE_TIMING);
    mwl_event *now = check_event(L, state, 3, "s:wait");
    mwl_must(L, state, mw_event_record(now->handle, other->handle));
  }
  mwl_event *event = check_event(L, state, -1, "s:wait");
  mwl_must(L, state, mw_stream_wait(stream->handle, event->handle));
  lua_settop(L, 1);
  return 1;
}

/* Append {hold, function} to the calls, the function being on top of the stack (and popped). The hold is closed: the
   caller fills it, or takes the entry off again. */
mw_hold **mwl_queue_call(lua_State *L, mwl_state *state) {
  int function = lua_gettop(L);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &calls_key);
  lua_createtable(L, 2, 0);
  mwl_hold *hold = mwl_plain(L, sizeof *hold);
  hold->handle = NULL;
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, hold_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_rawseti(L, -2, 1);
  lua_pushvalue(L, function);
  lua_rawseti(L, -2, 2);
  lua_rawseti(L, -2, (int)lua_rawlen(L, -2) + 1);
  state->calls++;
  lua_settop(L, function - 1);
  return &hold->handle;
}

void mwl_unqueue_calls(lua_State *L, mwl_state *state, size_t count) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &calls_key);
  for (; count > 0; count--, state->calls--) {
    lua_pushnil(L);
    lua_rawseti(L, -2, (int)lua_rawlen(L, -2));
  }
  lua_pop(L, 1);
}

/* s:call(function) -> s */
static int stream_call(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_stream *stream = mwl_check_stream(L, state, 1, "call");
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  mw_graph *graph = mw_stream_capturing(stream->handle, NULL);
  if (graph) { /* the graph keeps it, and calls it at each launch */
    mw_hold *none;
    mwl_must(L, state, mw_stream_hold(stream->handle, &none));
    mwl_graph_keep_function(L, graph, 2);
    lua_settop(L, 1);
    return 1;
  }
  mw_hold **hold = mwl_queue_call(L, state);
  if (mw_stream_hold(stream->handle, hold) != MW_SUCCESS) {
    mwl_unqueue_calls(L, state, 1);
    mwl_raise(L, state);
  }
  stream->device->pending = true;
  return 1;
}

static int get_device(lua_State *L) {
  mwl_device_push(L, mwl_check_stream(L, mwl_of(L), 1, "device")->device);
  return 1;
}

static int get_priority(lua_State *L) {
  lua_pushinteger(L, mw_stream_priority(mwl_check_stream(L, mwl_of(L), 1, "priority")->handle));
  return 1;
}

static int get_id(lua_State *L) {
  mwl_pushinteger(L, (int64_t)mw_stream_id(mwl_check_stream(L, mwl_of(L), 1, "id")->handle));
  return 1;
}

/* "legacy", "blocking" or "non-blocking" */
static int get_kind(lua_State *L) {
  unsigned flags = mw_stream_flags_of(mwl_check_stream(L, mwl_of(L), 1, "kind")->handle);
  lua_pushstring(L, flags & MW_STREAM_LEGACY ? "legacy" : flags & MW_STREAM_NON_BLOCKING ? "non-blocking" : "blocking");
  return 1;
}

/* ---- events ---- */

static int event_new_on(lua_State *L, mwl_state *state, mwl_device *device, unsigned flags) {
  mwl_event *event = mwl_plain(L, sizeof *event);
  *event = (mwl_event){.device = device};
  mwl_set_class(L, state, MWL_EVENT);
  mwl_must(L, state, mw_event_new(device->handle, flags, &event->handle));
  return 1;
}

/* event_new(flags) -> event */
static int event_new(lua_State *L) {
  mwl_state *state = mwl_of(L);
  return event_new_on(L, state, mwl_current(L, state), (unsigned)luaL_optinteger(L, 1, MW_EVENT_DEFAULT));
}

static mwl_event *check_event(lua_State *L, mwl_state *state, int index, const char *what) {
  mwl_event *event = mwl_check(L, state, index, MWL_EVENT, what);
  if (!event->handle) mwl_closed(L, state, what, "event");
  return event;
}

mw_stream *mwl_stream_in_use(lua_State *L, mwl_state *state, mwl_device *device) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &using_key);
  mwl_stream *using = mwl_test(L, state, -1, MWL_STREAM);
  lua_pop(L, 1);
  return using && using->handle && using->device == device ? using->handle : mw_device_stream(device->handle);
}

/* e:record([stream]) -> e; without one, where work goes that names none */
static int event_record(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_event *event = check_event(L, state, 1, "record");
  lua_settop(L, 2);
  if (lua_isnil(L, 2)) {
    mwl_must(L, state, mw_event_record(event->handle, mwl_stream_in_use(L, state, event->device)));
  } else {
    mwl_must(L, state, mw_event_record(event->handle, mwl_check_stream(L, state, 2, "e:record")->handle));
  }
  lua_settop(L, 1);
  return 1;
}

static int event_synchronize(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_event *event = check_event(L, state, 1, "synchronize");
  mwl_must(L, state, mwl_wait(L, state, wait_event, event->handle));
  return 0;
}

static int event_query(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_event *event = check_event(L, state, 1, "query");
  run_calls(L, state);
  return push_done(L, state, mw_event_query(event->handle));
}

/* later - earlier: milliseconds */
static int event_sub(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_event *later = check_event(L, state, 1, "later - earlier");
  mwl_event *earlier = check_event(L, state, 2, "later - earlier");
  double milliseconds;
  mwl_must(L, state, mw_event_elapsed(earlier->handle, later->handle, &milliseconds));
  lua_pushnumber(L, milliseconds);
  return 1;
}

static int event_gc(lua_State *L) {
  mwl_event *event = mwl_test(L, mwl_of(L), 1, MWL_EVENT);
  if (!event) return 0;
  mw_event_release(event->handle);
  event->handle = NULL;
  return 0;
}

static int event_device(lua_State *L) {
  mwl_device_push(L, check_event(L, mwl_of(L), 1, "device")->device);
  return 1;
}

void mwl_open_stream(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"stream_new", stream_new},
                                       {"stream_default", stream_default},
                                       {"stream_priorities", stream_priorities},
                                       {"stream_use", stream_use},
                                       {"stream_in_use", stream_in_use},
                                       {"event_new", event_new},
                                       {"poll", poll},
                                       {NULL, NULL}};
  static const luaL_Reg stream_meta[] = {{"__gc", stream_gc}, {"__close", stream_gc}, {NULL, NULL}};
  static const luaL_Reg stream_methods[] = {{"synchronize", stream_synchronize},
                                            {"query", stream_query},
                                            {"record", stream_record},
                                            {"wait", stream_wait},
                                            {"call", stream_call},
                                            {"free", stream_gc},
                                            {NULL, NULL}};
  static const luaL_Reg stream_facts[] = {
      {"device", get_device}, {"priority", get_priority}, {"id", get_id}, {"kind", get_kind}, {NULL, NULL}};
  static const luaL_Reg event_meta[] = {{"__gc", event_gc}, {"__close", event_gc}, {"__sub", event_sub}, {NULL, NULL}};
  static const luaL_Reg event_methods[] = {{"record", event_record},
                                           {"synchronize", event_synchronize},
                                           {"query", event_query},
                                           {"free", event_gc},
                                           {NULL, NULL}};
  static const luaL_Reg event_facts[] = {{"device", event_device}, {NULL, NULL}};
  mwl_functions(L, functions, state);
  mwl_class_new(L, state, MWL_STREAM, stream_meta, stream_methods, stream_facts);
  mwl_class_new(L, state, MWL_EVENT, event_meta, event_methods, event_facts);
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &calls_key);
}
