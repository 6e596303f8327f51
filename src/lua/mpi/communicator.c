/* MPI: communicators, and what concerns all ranks. Waits return after a while to the Lua layer, which knows where the
 * script is. */
#include "mpi.h"

mwl_mpi *mwl_mpi_push(lua_State *L, mwl_state *state, mwl_class which) {
  mwl_mpi *object = mwl_plain(L, sizeof *object);
  *object = (mwl_mpi){0};
  mwl_set_class(L, state, which);
  return object;
}

mw_mpi_comm *mwl_mpi_comm(lua_State *L, mwl_state *state) {
  mwl_mpi *object = mwl_check(L, state, 1, MWL_MPI_COMM, "MPI");
  if (!object->comm) mwl_closed(L, state, "MPI", "communicator");
  return object->comm;
}

int mwl_mpi_int(lua_State *L, int index) { return (int)luaL_checknumber(L, index); }

mw_array *mwl_mpi_array(lua_State *L, mwl_state *state, int index, const char *what) {
  if (lua_isnil(L, index)) return NULL;
  mwl_array *array = mwl_check_array(L, state, index, what);
  mwl_settle(L, state, array->device);
  return array->handle;
}

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
  mwl_mpi *world = mwl_mpi_push(L, state, MWL_MPI_COMM);
  mwl_must(L, state, mw_mpi_world(&world->comm));
  return 1;
}

/* mpi_facts(comm) -> rank, size */
static int mpi_facts(lua_State *L) {
  mw_mpi_comm *comm = mwl_mpi_comm(L, mwl_of(L));
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
  mw_mpi_comm *comm = mwl_mpi_comm(L, state);
  int color = mwl_mpi_int(L, 2), key = mwl_mpi_int(L, 3);
  mwl_mpi *part = mwl_mpi_push(L, state, MWL_MPI_COMM);
  mwl_must(L, state, mw_mpi_split(comm, color, key, &part->comm));
  return comm_or_nil(L, part);
}

/* mpi_dup(comm) -> comm */
static int mpi_dup(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_comm *comm = mwl_mpi_comm(L, state);
  mwl_mpi *copy = mwl_mpi_push(L, state, MWL_MPI_COMM);
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
  mw_mpi_comm *comm = mwl_mpi_comm(L, state);
  int dims[8] = {0}, periods[8] = {0}, rank = numbers(L, 2, dims);
  numbers(L, 3, periods);
  int reorder = lua_toboolean(L, 4);
  mwl_mpi *grid = mwl_mpi_push(L, state, MWL_MPI_COMM);
  mwl_must(L, state, mw_mpi_cartesian(comm, rank, dims, periods, reorder, &grid->comm));
  return comm_or_nil(L, grid);
}

/* mpi_dims(nodes, dims) -> dims, those that were 0 filled in */
static int mpi_dims(lua_State *L) {
  int dims[8] = {0}, rank = numbers(L, 2, dims);
  mwl_must(L, mwl_of(L), mw_mpi_dims(mwl_mpi_int(L, 1), rank, dims));
  lua_createtable(L, rank, 0);
  for (int i = 0; i < rank; i++) {
    lua_pushinteger(L, dims[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int comm_gc(lua_State *L) {
  mwl_mpi *object = mwl_test(L, mwl_of(L), 1, MWL_MPI_COMM);
  if (!object) return 0;
  mw_mpi_release(object->comm);
  object->comm = NULL;
  return 0;
}

/* mpi_free(comm): collective */
static int mpi_free(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_mpi *object = mwl_check(L, state, 1, MWL_MPI_COMM, "free");
  if (!object->comm) return 0;
  mwl_must(L, state, mw_mpi_free(object->comm));
  mw_mpi_release(object->comm);
  object->comm = NULL;
  return 0;
}

/* mpi_abort(comm, status) */
static int mpi_abort(lua_State *L) {
  mw_mpi_abort(mwl_mpi_comm(L, mwl_of(L)), mwl_mpi_int(L, 2));
  return 0;
}

/* mpi_watch(where) */
static int mpi_watch(lua_State *L) {
  mwl_must(L, mwl_of(L), mw_mpi_watch(luaL_checkstring(L, 1)));
  return 0;
}

/* mpi_agree(comm, what, seconds) -> whether all ranks do; nil: not all of them are there */
static int mpi_agree(lua_State *L) {
  mwl_state *state = mwl_of(L);
  int agrees, code = mw_mpi_agree(mwl_mpi_comm(L, state), luaL_checkstring(L, 2), luaL_checknumber(L, 3), &agrees);
  if (code == MW_NOT_READY) return 0;
  mwl_must(L, state, code);
  lua_pushboolean(L, agrees);
  return 1;
}

/* mpi_compare(comm, what) -> the text of each rank */
static int mpi_compare(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_comm *comm = mwl_mpi_comm(L, state);
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

void mwl_open_mpi(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"mpi_report", mpi_report},
                                       {"mpi_world", mpi_world},
                                       {"mpi_facts", mpi_facts},
                                       {"mpi_split", mpi_split},
                                       {"mpi_dup", mpi_dup},
                                       {"mpi_cartesian", mpi_cartesian},
                                       {"mpi_dims", mpi_dims},
                                       {"mpi_free", mpi_free},
                                       {"mpi_abort", mpi_abort},
                                       {"mpi_watch", mpi_watch},
                                       {"mpi_agree", mpi_agree},
                                       {"mpi_compare", mpi_compare},
                                       {NULL, NULL}};
  static const luaL_Reg comms[] = {{"__gc", comm_gc}, {NULL, NULL}};
  mwl_functions(L, functions, state);
  mwl_class_new(L, state, MWL_MPI_COMM, comms, NULL, NULL);
  mwl_open_mpi_messages(L, state);
  mwl_open_mpi_collectives(L, state);
  mwl_open_mpi_windows(L, state);
  mwl_open_mpi_files(L, state);
}
