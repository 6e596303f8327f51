/* Bytes of files as strings, and what the members of zip files need. */
#include "binding.h"

static int bytes_gc(lua_State *L) {
  char **bytes = lua_touserdata(L, 1);
  mw_bytes_release(*bytes);
  *bytes = NULL;
  return 0;
}

/* bytes_read(path) -> string */
static int bytes_read(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  size_t length;
  char **bytes = mwl_plain(L, sizeof *bytes);
  *bytes = NULL;
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, bytes_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  mwl_must(L, mwl_of(L), mw_bytes_read(path, &length, bytes));
  lua_pushlstring(L, *bytes, length);
  mw_bytes_release(*bytes);
  *bytes = NULL;
  return 1;
}

/* bytes_write(path, string) */
static int bytes_write(lua_State *L) {
  size_t length;
  const char *path = luaL_checkstring(L, 1), *bytes = luaL_checklstring(L, 2, &length);
  mwl_must(L, mwl_of(L), mw_bytes_write(path, bytes, length));
  return 0;
}

/* bytes_checksum(string) -> CRC-32 */
static int bytes_checksum(lua_State *L) {
  size_t length;
  const char *bytes = luaL_checklstring(L, 1, &length);
  lua_pushnumber(L, mw_bytes_checksum(bytes, length));
  return 1;
}

/* bytes_checksum_join(first, second, length) -> the CRC-32 of bytes with the first one and `length` bytes with the second */
static int bytes_checksum_join(lua_State *L) {
  lua_pushnumber(L, mw_bytes_checksum_join((uint32_t)luaL_checknumber(L, 1), (uint32_t)luaL_checknumber(L, 2),
                                           (size_t)luaL_checknumber(L, 3)));
  return 1;
}

/* bytes_inflate(string, size) -> string of so many bytes */
static int bytes_inflate(lua_State *L) {
  mwl_state *state = mwl_of(L);
  size_t length;
  const char *bytes = luaL_checklstring(L, 1, &length);
  size_t size = (size_t)luaL_checknumber(L, 2);
  char *out = mwl_plain(L, size + 1);
  int code = mw_bytes_inflate(bytes, length, size, out);
  if (code == MW_INVALID_VALUE) mwl_raise_as(L, state, "io"); /* the file is at fault, not the script */
  mwl_must(L, state, code);
  lua_pushlstring(L, out, size);
  return 1;
}

void mwl_open_bytes(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"bytes_read", bytes_read},         {"bytes_write", bytes_write},
                                       {"bytes_checksum", bytes_checksum}, {"bytes_checksum_join", bytes_checksum_join},
                                       {"bytes_inflate", bytes_inflate},   {NULL, NULL}};
  mwl_functions(L, functions, state);
}
