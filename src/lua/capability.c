/* What compute capabilities have, as tables. */
#include "binding.h"

static void set_number(lua_State *L, const char *name, int64_t value) {
  mwl_pushinteger(L, value);
  lua_setfield(L, -2, name);
}

static void set_numbers(lua_State *L, const char *name, const int *values, int count) {
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    mwl_pushinteger(L, values[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, name);
}

#define NUMBER(field)  set_number(L, #field, facts->field)
#define NUMBERS(field) set_numbers(L, #field, facts->field, (int)(sizeof facts->field / sizeof *facts->field))

void mwl_push_textures(lua_State *L, const mw_texture_limits *facts) {
  lua_createtable(L, 0, 20);
  NUMBER(texture_1d);
  NUMBER(texture_1d_linear);
  NUMBERS(texture_1d_layered);
  NUMBERS(texture_2d);
  NUMBERS(texture_2d_linear);
  NUMBERS(texture_2d_gather);
  NUMBERS(texture_2d_layered);
  NUMBERS(texture_3d);
  NUMBER(texture_cubemap);
  NUMBERS(texture_cubemap_layered);
  NUMBER(textures);
  NUMBER(surface_1d);
  NUMBERS(surface_1d_layered);
  NUMBERS(surface_2d);
  NUMBERS(surface_2d_layered);
  NUMBERS(surface_3d);
  NUMBER(surface_cubemap);
  NUMBERS(surface_cubemap_layered);
  NUMBER(surfaces);
}

static void push_capability(lua_State *L, const mw_capability *facts) {
  lua_createtable(L, 0, 28);
  NUMBER(major);
  NUMBER(minor);
  NUMBER(warps);
  NUMBER(blocks);
  NUMBER(registers);
  NUMBER(shared);
  NUMBER(threads_per_block);
  NUMBERS(max_block);
  NUMBER(registers_per_block);
  NUMBER(registers_per_thread);
  NUMBER(shared_per_block);
  NUMBER(shared_per_block_optin);
  NUMBER(banks);
  NUMBER(total_constant);
  NUMBER(parameter_bytes);
  NUMBER(local_bytes);
  NUMBER(register_unit);
  NUMBER(registers_by_block);
  NUMBER(warp_unit);
  NUMBER(shared_unit);
  NUMBER(shared_reserved);
  lua_createtable(L, 3, 0);
  for (int i = 0; i < 3; i++) {
    mwl_pushinteger(L, facts->max_grid[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "max_grid");
  mwl_push_textures(L, &facts->textures);
  lua_setfield(L, -2, "textures");
}

/* capabilities() -> all of them, in order */
static int capabilities(lua_State *L) {
  mw_capability facts;
  lua_newtable(L);
  for (size_t i = 0; mw_capability_list(i, &facts) == MW_SUCCESS; i++) {
    push_capability(L, &facts);
    lua_rawseti(L, -2, (int)i + 1);
  }
  return 1;
}

/* capability("1.1") -> its table */
static int capability(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_capability facts;
  mwl_must(L, state, mw_capability_find(luaL_checkstring(L, 1), &facts));
  push_capability(L, &facts);
  return 1;
}

void mwl_open_capability(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"capability", capability}, {"capabilities", capabilities}, {NULL, NULL}};
  mwl_functions(L, functions, state);
}
