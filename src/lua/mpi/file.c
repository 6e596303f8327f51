/* MPI: files. */
#include "mpi.h"

static mw_mpi_file *check_file(lua_State *L, mwl_state *state) {
  mwl_mpi *object = mwl_check(L, state, 1, MWL_MPI_FILE, "MPI");
  if (!object->file) mwl_closed(L, state, "MPI", "file");
  return object->file;
}

/* mpi_file_open(comm, path, mode) -> file; collective */
static int mpi_file_open(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_comm *comm = mwl_mpi_comm(L, state);
  const char *path = luaL_checkstring(L, 2);
  int mode = mwl_mpi_int(L, 3);
  mwl_mpi *object = mwl_mpi_push(L, state, MWL_MPI_FILE);
  mwl_must(L, state, mw_mpi_file_open(comm, path, mode, &object->file));
  return 1;
}

static int file_gc(lua_State *L) {
  mwl_mpi *object = mwl_test(L, mwl_of(L), 1, MWL_MPI_FILE);
  if (!object) return 0;
  mw_mpi_file_release(object->file);
  object->file = NULL;
  return 0;
}

/* mpi_file_close(file): collective */
static int mpi_file_close(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_must(L, state, mw_mpi_file_close(check_file(L, state)));
  return file_gc(L);
}

/* mpi_file_move(file, kind, array, offset) */
static int mpi_file_move(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_file *file = check_file(L, state);
  mw_array *array = mwl_mpi_array(L, state, 3, "a file");
  mwl_must(L, state,
           mw_mpi_file_move(file, (mw_mpi_file_kind)mwl_mpi_int(L, 2), array, (uint64_t)luaL_checknumber(L, 4)));
  return 0;
}

static void numbers(lua_State *L, int index, int count, size_t out[8]) {
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, index, i + 1);
    out[i] = (size_t)lua_tonumber(L, -1);
    lua_pop(L, 1);
  }
}

/* mpi_file_view(file, offset, bytes of an element, shape, first from 0, count): collective; an empty shape: no view */
static int mpi_file_view(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_mpi_file *file = check_file(L, state);
  size_t shape[8] = {0}, first[8] = {0}, count[8] = {0};
  int rank = (int)lua_rawlen(L, 4) < 8 ? (int)lua_rawlen(L, 4) : 8;
  numbers(L, 4, rank, shape);
  numbers(L, 5, rank, first);
  numbers(L, 6, rank, count);
  mwl_must(L, state,
           mw_mpi_file_view(file, (uint64_t)luaL_checknumber(L, 2), (size_t)luaL_checknumber(L, 3), rank, shape, first,
                            count));
  return 0;
}

/* mpi_file_size(file) -> bytes */
static int mpi_file_size(lua_State *L) {
  mwl_state *state = mwl_of(L);
  uint64_t bytes;
  mwl_must(L, state, mw_mpi_file_size(check_file(L, state), &bytes));
  mwl_pushinteger(L, bytes);
  return 1;
}

/* mpi_file_resize(file, bytes): collective */
static int mpi_file_resize(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_must(L, state, mw_mpi_file_resize(check_file(L, state), (uint64_t)luaL_checknumber(L, 2)));
  return 0;
}

/* mpi_file_sync(file): collective */
static int mpi_file_sync(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_must(L, state, mw_mpi_file_sync(check_file(L, state)));
  return 0;
}

void mwl_open_mpi_files(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"mpi_file_open", mpi_file_open}, {"mpi_file_close", mpi_file_close},
                                       {"mpi_file_move", mpi_file_move}, {"mpi_file_view", mpi_file_view},
                                       {"mpi_file_size", mpi_file_size}, {"mpi_file_resize", mpi_file_resize},
                                       {"mpi_file_sync", mpi_file_sync}, {NULL, NULL}};
  static const luaL_Reg files[] = {{"__gc", file_gc}, {NULL, NULL}};
  mwl_functions(L, functions, state);
  mwl_class_new(L, state, MWL_MPI_FILE, files, NULL, NULL);
}
