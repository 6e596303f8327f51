/* MPI: communicators, messages, collective operations. Waits return after a while to the Lua layer, which knows where
 * the script is. */
#include "binding.h"

static mwl_mpi *push(lua_State *L, mwl_state *state, mwl_class which) {
  mwl_mpi *object = mwl_plain(L, sizeof *object);
  *object = (mwl_mpi){0};
  mwl_set_class(L, state, which);
  return object;
}

static mw_mpi_comm *check_comm(lua_State *L, mwl_state *state) {
  mwl_mpi *object = mwl_check(L, state, 1, MWL_MPI_COMM, "MPI");
  if (!object->comm) mwl_closed(L, state, "MPI", "communicator");
  return object->comm;
}

static mw_mpi_request *check_request(lua_State *L, mwl_state *state) {
  mwl_mpi *object = mwl_check(L, state, 1, MWL_MPI_REQUEST, "MPI");
  if (!object->request) mwl_closed(L, state, "MPI", "request");
  return object->request;
}

static int whole(lua_State *L, int index) { return (int)luaL_checknumber(L, index); }

/* mpi_report() -> a text */
static int mpi_report(lua_State *L) {
  size_t length = mw_mpi_report(NULL, 0) + 1;
  char *text = mwl_plain(L, length);
  mw_mpi_report(text, length);
  lua_pushstring(L, text);
  return 1;
}

/* ---- communicators ---- */

/* mpi_world() -> the communicator of all processes */
static int mpi_world(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_mpi *world = push(L, state, MWL_MPI_COMM);
  mwl_must(L, state, mw_mpi_world(&world->comm));
  return 1;
}

/* mpi_facts(comm) -> rank, size */
static int mpi_facts(lua_State *L) {
  mw_mpi_comm *comm = check_comm(L, mwl_of(L));
  lua_pushinteger(L, mw_mpi_rank(comm));
  lua_pushinteger(L, mw_mpi_size(comm));
  return 2;
}

/* The communicator on top of the stack, or nil if there is none on this rank. */
static int comm_or_nil(lua_State *L, const mwl_mpi *object) {
  if (!object->comm) lua_pushnil(L);
  return 1;
}

/* mpi_split(comm, color, key) -> comm, or nil; the color -1 is none, -2 the machine's */
static int mpi_split(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_comm *comm = check_comm(L, state);
  int color = whole(L, 2), key = whole(L, 3);
  mwl_mpi *part = push(L, state, MWL_MPI_COMM);
  mwl_must(L, state, mw_mpi_split(comm, color, key, &part->comm));
  return comm_or_nil(L, part);
}

/* mpi_dup(comm) -> comm */
static int mpi_dup(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_comm *comm = check_comm(L, state);
  mwl_mpi *copy = push(L, state, MWL_MPI_COMM);
  mwl_must(L, state, mw_mpi_dup(comm, &copy->comm));
  return 1;
}

/* Up to 8 whole numbers of the table at `index`; how many. */
static int numbers(lua_State *L, int index, int out[8]) {
  int count = (int)lua_rawlen(L, index);
  for (int i = 0; i < count && i < 8; i++) {
    lua_rawgeti(L, index, i + 1);
    out[i] = (int)lua_tonumber(L, -1);
    lua_pop(L, 1);
  }
  return count < 8 ? count : 8;
}

/* mpi_cartesian(comm, dims, periods, reorder) -> comm, or nil beyond the grid; periods are 0 or 1 */
static int mpi_cartesian(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_comm *comm = check_comm(L, state);
  int dims[8] = {0}, periods[8] = {0}, rank = numbers(L, 2, dims);
  numbers(L, 3, periods);
  int reorder = lua_toboolean(L, 4);
  mwl_mpi *grid = push(L, state, MWL_MPI_COMM);
  mwl_must(L, state, mw_mpi_cartesian(comm, rank, dims, periods, reorder, &grid->comm));
  return comm_or_nil(L, grid);
}

/* mpi_dims(nodes, dims) -> dims, those that were 0 filled in */
static int mpi_dims(lua_State *L) {
  int dims[8] = {0}, rank = numbers(L, 2, dims);
  mwl_must(L, mwl_of(L), mw_mpi_dims(whole(L, 1), rank, dims));
  lua_createtable(L, rank, 0);
  for (int i = 0; i < rank; i++) {
    lua_pushinteger(L, dims[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static void release(mwl_mpi *object, bool is_comm) {
  if (is_comm)
    mw_mpi_release(object->comm);
  else
    mw_mpi_request_release(object->request);
  *object = (mwl_mpi){0};
}

static int comm_gc(lua_State *L) {
  mwl_mpi *object = mwl_test(L, mwl_of(L), 1, MWL_MPI_COMM);
  if (object) release(object, true);
  return 0;
}

static int request_gc(lua_State *L) {
  mwl_mpi *object = mwl_test(L, mwl_of(L), 1, MWL_MPI_REQUEST);
  if (object) release(object, false);
  return 0;
}

/* mpi_free(comm): collective */
static int mpi_free(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_mpi *object = mwl_check(L, state, 1, MWL_MPI_COMM, "free");
  if (!object->comm) return 0;
  mwl_must(L, state, mw_mpi_free(object->comm));
  release(object, true);
  return 0;
}

/* mpi_abort(comm, status) */
static int mpi_abort(lua_State *L) {
  mw_mpi_abort(check_comm(L, mwl_of(L)), whole(L, 2));
  return 0;
}

/* ---- messages ---- */

/* Wait for the request on top of the stack: pushes whether it is done. */
static int wait_for(lua_State *L, mwl_state *state, mw_mpi_request *request, double seconds) {
  int code = mw_mpi_wait(request, seconds);
  if (code != MW_NOT_READY) mwl_must(L, state, code);
  lua_pushboolean(L, code == MW_SUCCESS);
  return 1;
}

/* mpi_send(comm, array or string, to, tag, seconds) -> request, whether it is done */
static int mpi_send(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_comm *comm = check_comm(L, state);
  size_t size = 0;
  const char *bytes = lua_type(L, 2) == LUA_TSTRING ? lua_tolstring(L, 2, &size) : NULL;
  mwl_array *array = bytes ? NULL : mwl_check_array(L, state, 2, "a message");
  int to = whole(L, 3), tag = whole(L, 4);
  double seconds = luaL_checknumber(L, 5);
  if (array) mwl_settle(L, state, array->device);
  mwl_mpi *object = push(L, state, MWL_MPI_REQUEST);
  mwl_must(L, state, mw_mpi_send(comm, array ? array->handle : NULL, bytes, size, to, tag, &object->request));
  return 1 + wait_for(L, state, object->request, seconds);
}

/* mpi_receive(comm, array or nil, from, tag, seconds) -> request, whether it is done */
static int mpi_receive(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_comm *comm = check_comm(L, state);
  mwl_array *array = lua_isnil(L, 2) ? NULL : mwl_check_array(L, state, 2, "a message");
  int from = whole(L, 3), tag = whole(L, 4);
  double seconds = luaL_checknumber(L, 5);
  if (array) mwl_settle(L, state, array->device);
  mwl_mpi *object = push(L, state, MWL_MPI_REQUEST);
  mwl_must(L, state, mw_mpi_receive(comm, array ? array->handle : NULL, from, tag, &object->request));
  return 1 + wait_for(L, state, object->request, seconds);
}

/* mpi_release(request): what a request that is done holds goes back now, not when it is collected */
static int mpi_release(lua_State *L) {
  mwl_mpi *object = mwl_test(L, mwl_of(L), 1, MWL_MPI_REQUEST);
  if (object) release(object, false);
  return 0;
}

/* mpi_wait(request, seconds) -> whether it is done */
static int mpi_wait(lua_State *L) {
  mwl_state *state = mwl_of(L);
  return wait_for(L, state, check_request(L, state), luaL_checknumber(L, 2));
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
  int source, tag, code = mw_mpi_probe(check_comm(L, state), whole(L, 2), whole(L, 3), &source, &tag);
  if (code == MW_NOT_READY) return 0;
  mwl_must(L, state, code);
  lua_pushinteger(L, source);
  lua_pushinteger(L, tag);
  return 2;
}

/* mpi_watch(where) */
static int mpi_watch(lua_State *L) {
  mwl_must(L, mwl_of(L), mw_mpi_watch(luaL_checkstring(L, 1)));
  return 0;
}

/* ---- collective operations ---- */

/* mpi_agree(comm, what, seconds) -> whether all ranks do; nil: not all of them are there */
static int mpi_agree(lua_State *L) {
  mwl_state *state = mwl_of(L);
  int agrees, code = mw_mpi_agree(check_comm(L, state), luaL_checkstring(L, 2), luaL_checknumber(L, 3), &agrees);
  if (code == MW_NOT_READY) return 0;
  mwl_must(L, state, code);
  lua_pushboolean(L, agrees);
  return 1;
}

/* mpi_compare(comm, what) -> the text of each rank */
static int mpi_compare(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_comm *comm = check_comm(L, state);
  const char *what = luaL_checkstring(L, 2);
  int size = mw_mpi_size(comm);
  char *texts = mwl_plain(L, (size_t)size * MW_MPI_TEXT);
  mwl_must(L, state, mw_mpi_compare(comm, what, texts));
  lua_createtable(L, size, 0);
  for (int i = 0; i < size; i++) {
    lua_pushstring(L, texts + (size_t)i * MW_MPI_TEXT);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* mpi_reduces(array, operator's number) -> whether libmpi reduces its dtype by it */
static int mpi_reduces(lua_State *L) {
  mwl_array *array = mwl_check_array(L, mwl_of(L), 1, "a reduction");
  lua_pushboolean(L, mw_mpi_reduces(array->dtype, (mw_mpi_operator)whole(L, 2)));
  return 1;
}

/* The table of rows of all ranks at `index`, or NULL. */
static const size_t *check_rows(lua_State *L, int index, int size) {
  if (!lua_istable(L, index)) return NULL;
  size_t *rows = mwl_plain(L, (size_t)size * sizeof *rows);
  for (int i = 0; i < size; i++) {
    lua_rawgeti(L, index, i + 1);
    rows[i] = (size_t)lua_tonumber(L, -1);
    lua_pop(L, 1);
  }
  return rows;
}

/* mpi_collect(comm, kind, in, out, operator, root, row, send_rows, receive_rows); what is nil is not there */
static int mpi_collect(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_comm *comm = check_comm(L, state);
  mwl_array *in = lua_isnil(L, 3) ? NULL : mwl_check_array(L, state, 3, "a collective operation");
  mwl_array *out = lua_isnil(L, 4) ? NULL : mwl_check_array(L, state, 4, "a collective operation");
  lua_settop(L, 9);
  mw_mpi_call call = {.kind = (mw_mpi_kind)whole(L, 2),
                      .in = in ? in->handle : NULL,
                      .out = out ? out->handle : NULL,
                      .op = (mw_mpi_operator)whole(L, 5),
                      .root = whole(L, 6),
                      .row = (size_t)luaL_checknumber(L, 7)};
  call.send_rows = check_rows(L, 8, mw_mpi_size(comm));
  call.receive_rows = check_rows(L, 9, mw_mpi_size(comm));
  if (in) mwl_settle(L, state, in->device);
  if (out) mwl_settle(L, state, out->device);
  mwl_must(L, state, mw_mpi_collect(comm, &call));
  return 0;
}

void mwl_open_mpi(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"mpi_report", mpi_report},   {"mpi_world", mpi_world},
                                       {"mpi_facts", mpi_facts},     {"mpi_split", mpi_split},
                                       {"mpi_dup", mpi_dup},         {"mpi_cartesian", mpi_cartesian},
                                       {"mpi_dims", mpi_dims},       {"mpi_free", mpi_free},
                                       {"mpi_abort", mpi_abort},     {"mpi_send", mpi_send},
                                       {"mpi_receive", mpi_receive}, {"mpi_release", mpi_release},
                                       {"mpi_wait", mpi_wait},       {"mpi_received", mpi_received},
                                       {"mpi_place", mpi_place},     {"mpi_probe", mpi_probe},
                                       {"mpi_watch", mpi_watch},     {"mpi_agree", mpi_agree},
                                       {"mpi_compare", mpi_compare}, {"mpi_reduces", mpi_reduces},
                                       {"mpi_collect", mpi_collect}, {NULL, NULL}};
  static const luaL_Reg comms[] = {{"__gc", comm_gc}, {NULL, NULL}};
  static const luaL_Reg requests[] = {{"__gc", request_gc}, {NULL, NULL}};
  mwl_functions(L, functions, state);
  mwl_class_new(L, state, MWL_MPI_COMM, comms, NULL, NULL);
  mwl_class_new(L, state, MWL_MPI_REQUEST, requests, NULL, NULL);
}
