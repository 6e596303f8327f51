/* MPI: windows. */
#include "mpi.h"

static mw_mpi_window *check_window(lua_State *L, mwl_state *state) {
  mwl_mpi *object = mwl_check(L, state, 1, MWL_MPI_WINDOW, "MPI");
  if (!object->window) mwl_closed(L, state, "MPI", "window");
  return object->window;
}

/* mpi_window_new(comm, array) -> window; collective */
static int mpi_window_new(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_comm *comm = mwl_mpi_comm(L, state);
  mwl_array *array = mwl_check_array(L, state, 2, "a window");
  mwl_settle(L, state, array->device);
  mwl_mpi *object = mwl_mpi_push(L, state, MWL_MPI_WINDOW);
  mwl_must(L, state, mw_mpi_window_new(comm, array->handle, &object->window));
  return 1;
}

static int window_gc(lua_State *L) {
  mwl_mpi *object = mwl_test(L, mwl_of(L), 1, MWL_MPI_WINDOW);
  if (!object) return 0;
  mw_mpi_window_release(object->window);
  object->window = NULL;
  return 0;
}

/* mpi_window_free(window): collective */
static int mpi_window_free(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_must(L, state, mw_mpi_window_free(check_window(L, state)));
  return window_gc(L);
}

/* mpi_window_access(window, kind, operator, rank, first from 0, origin, result, compare); what is nil is not there */
static int mpi_window_access(lua_State *L) {
  static const char what[] = "an access to a window";
  mwl_state *state = mwl_of(L);
  mw_mpi_window *window = check_window(L, state);
  lua_settop(L, 8);
  const mw_mpi_access access = {.kind = (mw_mpi_access_kind)mwl_mpi_int(L, 2),
                                .op = (mw_mpi_operator)mwl_mpi_int(L, 3),
                                .rank = mwl_mpi_int(L, 4),
                                .first = (size_t)luaL_checknumber(L, 5),
                                .origin = mwl_mpi_array(L, state, 6, what),
                                .result = mwl_mpi_array(L, state, 7, what),
                                .compare = mwl_mpi_array(L, state, 8, what)};
  mwl_must(L, state, mw_mpi_window_access(window, &access));
  return 0;
}

/* mpi_window_epoch(window, what, list of ranks or nil, seconds) -> whether it is done */
static int mpi_window_epoch(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_window *window = check_window(L, state);
  int count = lua_istable(L, 3) ? (int)lua_rawlen(L, 3) : 0;
  int *ranks = mwl_plain(L, ((size_t)count + 1) * sizeof *ranks);
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, 3, i + 1);
    ranks[i] = (int)lua_tonumber(L, -1);
    lua_pop(L, 1);
  }
  int code = mw_mpi_window_epoch(window, (mw_mpi_epoch)mwl_mpi_int(L, 2), ranks, count, luaL_checknumber(L, 4));
  if (code != MW_NOT_READY) mwl_must(L, state, code);
  lua_pushboolean(L, code == MW_SUCCESS);
  return 1;
}

void mwl_open_mpi_windows(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"mpi_window_new", mpi_window_new},
                                       {"mpi_window_free", mpi_window_free},
                                       {"mpi_window_access", mpi_window_access},
                                       {"mpi_window_epoch", mpi_window_epoch},
                                       {NULL, NULL}};
  static const luaL_Reg windows[] = {{"__gc", window_gc}, {NULL, NULL}};
  mwl_functions(L, functions, state);
  mwl_class_new(L, state, MWL_MPI_WINDOW, windows, NULL, NULL);
}
