/* MPI: collective operations. */
#include "mpi.h"

/* mpi_reduces(array, operator's number) -> whether libmpi reduces its dtype by it */
static int mpi_reduces(lua_State *L) {
  mwl_array *array = mwl_check_array(L, mwl_of(L), 1, "a reduction");
  lua_pushboolean(L, mw_mpi_reduces(array->dtype, (mw_mpi_operator)mwl_mpi_int(L, 2)));
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

static const char what[] = "a collective operation";

/* The operation of the arguments from the second on. */
static mw_mpi_call check_call(lua_State *L, mwl_state *state, int size) {
  lua_settop(L, 11);
  mw_mpi_call call = {.kind = (mw_mpi_kind)mwl_mpi_int(L, 2),
                      .in = mwl_mpi_array(L, state, 3, what),
                      .out = mwl_mpi_array(L, state, 4, what),
                      .op = (mw_mpi_operator)mwl_mpi_int(L, 5),
                      .root = mwl_mpi_int(L, 6),
                      .row = (size_t)luaL_checknumber(L, 7)};
  call.send_rows = check_rows(L, 8, size);
  call.receive_rows = check_rows(L, 9, size);
  return call;
}

/* mpi_collect(comm, kind, in, out, operator, root, row, send_rows, receive_rows); what is nil is not there */
static int mpi_collect(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_comm *comm = mwl_mpi_comm(L, state);
  mw_mpi_call call = check_call(L, state, mw_mpi_size(comm));
  mwl_must(L, state, mw_mpi_collect(comm, &call));
  return 0;
}

/* mpi_begin(comm, kind, …, what or nil, where) -> request */
static int mpi_begin(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_comm *comm = mwl_mpi_comm(L, state);
  mw_mpi_call call = check_call(L, state, mw_mpi_size(comm));
  mwl_mpi *object = mwl_mpi_push(L, state, MWL_MPI_REQUEST);
  mwl_must(L, state, mw_mpi_begin(comm, &call, lua_tostring(L, 10), lua_tostring(L, 11), &object->request));
  return 1;
}

void mwl_open_mpi_collectives(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {
      {"mpi_reduces", mpi_reduces}, {"mpi_collect", mpi_collect}, {"mpi_begin", mpi_begin}, {NULL, NULL}};
  mwl_functions(L, functions, state);
}
