/* MPI: messages, and requests. */
#include "mpi.h"

#include <limits.h>

static mw_mpi_request *check_request(lua_State *L, mwl_state *state) {
  mwl_mpi *object = mwl_check(L, state, 1, MWL_MPI_REQUEST, "MPI");
  if (!object->request) mwl_closed(L, state, "MPI", "request");
  return object->request;
}

/* The array at a stack place; NULL for other values. */
static mwl_array *array_at(lua_State *L, mwl_state *state, int index) {
  mwl_array *array = mwl_test(L, state, index, MWL_ARRAY);
  if (!array) return NULL;
  if (!array->handle) mwl_closed(L, state, "a message", "array");
  mwl_settle(L, state, array->device);
  return array;
}

/* A number that may be left out. */
static int whole_or(lua_State *L, int index, int otherwise) {
  return lua_isnil(L, index) ? otherwise : mwl_mpi_int(L, index);
}

/* Push what is not done as a request. It is on its way, so it would be let go later if there were no memory for it. */
static int push_request(lua_State *L, mwl_state *state, mw_mpi_request *request) {
  mwl_mpi_push(L, state, MWL_MPI_REQUEST)->request = request;
  return 1;
}

/* mpi_send(comm, array, to, tag or nil, seconds) -> nil: it is done; a request; or false: this is no array */
static int mpi_send(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_comm *comm = mwl_mpi_comm(L, state);
  mwl_array *array = array_at(L, state, 2);
  if (!array) return lua_pushboolean(L, 0), 1;
  mw_mpi_request *request;
  mwl_must(L, state,
           mw_mpi_send(comm, array->handle, NULL, 0, mwl_mpi_int(L, 3), whole_or(L, 4, 0), luaL_checknumber(L, 5),
                       &request));
  return request ? push_request(L, state, request) : 0;
}

/* mpi_send_bytes(comm, string, to, tag, seconds) -> nil: it is done; or a request */
static int mpi_send_bytes(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_comm *comm = mwl_mpi_comm(L, state);
  size_t size;
  const char *bytes = luaL_checklstring(L, 2, &size);
  mw_mpi_request *request;
  mwl_must(
      L, state,
      mw_mpi_send(comm, NULL, bytes, size, mwl_mpi_int(L, 3), mwl_mpi_int(L, 4), luaL_checknumber(L, 5), &request));
  return request ? push_request(L, state, request) : 0;
}

/* mpi_receive(comm, array, from, tag, seconds) -> source and tag of what is done; nil and a request; or false: this is
   no array. No from and no tag are any. */
static int mpi_receive(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_comm *comm = mwl_mpi_comm(L, state);
  mwl_array *array = array_at(L, state, 2);
  if (!array) return lua_pushboolean(L, 0), 1;
  mw_mpi_request *request;
  int source, tag;
  mwl_must(L, state,
           mw_mpi_receive(comm, array->handle, whole_or(L, 3, MW_MPI_ANY), whole_or(L, 4, MW_MPI_ANY),
                          luaL_checknumber(L, 5), &source, &tag, &request));
  if (request) return lua_pushnil(L), 1 + push_request(L, state, request);
  lua_pushinteger(L, source);
  lua_pushinteger(L, tag);
  return 2;
}

/* mpi_receive_any(comm, from, tag, seconds) -> a request of whatever was sent */
static int mpi_receive_any(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_request *request;
  int source, tag;
  mwl_must(L, state,
           mw_mpi_receive(mwl_mpi_comm(L, state), NULL, whole_or(L, 2, MW_MPI_ANY), whole_or(L, 3, MW_MPI_ANY),
                          luaL_checknumber(L, 4), &source, &tag, &request));
  return push_request(L, state, request);
}

/* ---- comm:send and comm:recv of arrays ---- */

/* Upvalues of both, after the state. */
enum { SLOW = lua_upvalueindex(2), FINISH = lua_upvalueindex(3), HANDLE = lua_upvalueindex(4) };
static const double MOMENT = 0.002; /* seconds until the Lua layer waits, which knows what for */
static const char table_key;

/* The open communicator of the table at stack place 1; NULL if that is something else. */
static mw_mpi_comm *quick_comm(lua_State *L, mwl_state *state) {
  const void *table = lua_topointer(L, 1);
  if (table && table == state->mpi_table) return state->mpi_comm->comm;
  if (!lua_istable(L, 1)) return NULL;
  lua_pushvalue(L, HANDLE);
  lua_rawget(L, 1);
  const mwl_mpi *object = mwl_test(L, state, -1, MWL_MPI_COMM);
  lua_pop(L, 1);
  if (!object) return NULL;
  lua_pushvalue(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &table_key);
  state->mpi_table = table;
  state->mpi_comm = object;
  return object->comm;
}

/* A whole number from 0 at a stack place, or -1; nothing and nil are `otherwise`. */
static int quick_number(lua_State *L, int index, int otherwise) {
  if (lua_isnoneornil(L, index)) return otherwise;
  if (lua_type(L, index) != LUA_TNUMBER) return -1;
  lua_Number number = lua_tonumber(L, index);
  return number >= 0 && number <= INT_MAX && (int)number == number ? (int)number : -1;
}

/* Call a Lua function with all arguments in place of this one. */
static int call_instead(lua_State *L, int function) {
  lua_pushvalue(L, function);
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  return lua_gettop(L);
}

/* send(comm, array, to, tag) -> nothing */
static int quick_send(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_comm *comm = quick_comm(L, state);
  int to = quick_number(L, 3, -1), tag = quick_number(L, 4, 0);
  mwl_array *array = comm && to >= 0 && tag >= 0 ? array_at(L, state, 2) : NULL;
  if (!array) return call_instead(L, SLOW);
  mw_mpi_request *request;
  mwl_must(L, state, mw_mpi_send(comm, array->handle, NULL, 0, to, tag, MOMENT, &request));
  if (!request) return 0;
  lua_settop(L, 4);
  push_request(L, state, request);
  return call_instead(L, FINISH);
}

/* recv(comm, array, from, tag) -> array, source, tag */
static int quick_receive(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_comm *comm = quick_comm(L, state);
  int from = quick_number(L, 3, MW_MPI_ANY), tag = quick_number(L, 4, MW_MPI_ANY), source;
  bool plain = (from >= 0 || lua_isnoneornil(L, 3)) && (tag >= 0 || lua_isnoneornil(L, 4));
  mwl_array *array = comm && plain ? array_at(L, state, 2) : NULL;
  if (!array) return call_instead(L, SLOW);
  mw_mpi_request *request;
  mwl_must(L, state, mw_mpi_receive(comm, array->handle, from, tag, MOMENT, &source, &tag, &request));
  if (request) {
    lua_settop(L, 4);
    push_request(L, state, request);
    return call_instead(L, FINISH);
  }
  lua_settop(L, 2);
  lua_pushinteger(L, source);
  lua_pushinteger(L, tag);
  return 3;
}

static void push_quick(lua_State *L, mwl_state *state, int slow, lua_CFunction function) {
  lua_pushlightuserdata(L, state);
  lua_pushvalue(L, slow);
  lua_pushvalue(L, slow + 1);
  lua_pushliteral(L, "handle");
  lua_pushcclosure(L, function, 4);
}

/* mpi_quick(send, finish_send, recv, finish_recv) -> send, recv: methods that call these for what is not an array, and
   with a request after (comm, array, rank, tag) for what is not done after a moment. */
static int mpi_quick(lua_State *L) {
  mwl_state *state = mwl_of(L);
  lua_settop(L, 4);
  push_quick(L, state, 1, quick_send);
  push_quick(L, state, 3, quick_receive);
  return 2;
}

/* ---- requests ---- */

static int request_gc(lua_State *L) {
  mwl_mpi *object = mwl_test(L, mwl_of(L), 1, MWL_MPI_REQUEST);
  if (!object) return 0;
  mw_mpi_request_release(object->request);
  object->request = NULL;
  return 0;
}

/* mpi_release(request): what a request that is done holds goes back now, not when it is collected */
static int mpi_release(lua_State *L) { return request_gc(L); }

/* mpi_wait(request, seconds) -> whether it is done */
static int mpi_wait(lua_State *L) {
  mwl_state *state = mwl_of(L);
  int code = mw_mpi_wait(check_request(L, state), luaL_checknumber(L, 2));
  if (code != MW_NOT_READY) mwl_must(L, state, code);
  lua_pushboolean(L, code == MW_SUCCESS);
  return 1;
}

/* mpi_received(request) -> source, tag, contents, dtype, shape; the last two of an array */
static int mpi_received(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_message message;
  mwl_must(L, state, mw_mpi_received(check_request(L, state), &message));
  lua_pushinteger(L, message.source);
  lua_pushinteger(L, message.tag);
  if (message.contents)
    lua_pushlstring(L, message.contents, message.bytes);
  else
    lua_pushnil(L);
  if (message.rank < 0) return 3;
  lua_pushstring(L, message.dtype);
  lua_createtable(L, message.rank, 0);
  for (int i = 0; i < message.rank; i++) {
    mwl_pushinteger(L, message.shape[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 5;
}

/* mpi_place(request) -> source, tag */
static int mpi_place(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_message message;
  mwl_must(L, state, mw_mpi_received(check_request(L, state), &message));
  lua_pushinteger(L, message.source);
  lua_pushinteger(L, message.tag);
  return 2;
}

/* mpi_probe(comm, from, tag) -> source, tag; or nil */
static int mpi_probe(lua_State *L) {
  mwl_state *state = mwl_of(L);
  int source, tag, code = mw_mpi_probe(mwl_mpi_comm(L, state), mwl_mpi_int(L, 2), mwl_mpi_int(L, 3), &source, &tag);
  if (code == MW_NOT_READY) return 0;
  mwl_must(L, state, code);
  lua_pushinteger(L, source);
  lua_pushinteger(L, tag);
  return 2;
}

void mwl_open_mpi_messages(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"mpi_send", mpi_send},
                                       {"mpi_send_bytes", mpi_send_bytes},
                                       {"mpi_receive", mpi_receive},
                                       {"mpi_receive_any", mpi_receive_any},
                                       {"mpi_release", mpi_release},
                                       {"mpi_wait", mpi_wait},
                                       {"mpi_received", mpi_received},
                                       {"mpi_place", mpi_place},
                                       {"mpi_probe", mpi_probe},
                                       {"mpi_quick", mpi_quick},
                                       {NULL, NULL}};
  static const luaL_Reg requests[] = {{"__gc", request_gc}, {NULL, NULL}};
  mwl_functions(L, functions, state);
  mwl_class_new(L, state, MWL_MPI_REQUEST, requests, NULL, NULL);
}
