/* Vector values: float4 and its like as tables of their components, {1, 2, 3, 4}, that answer to x, y, z and w too. */
#include "value.h"

static const char component_names[4][2] = {"x", "y", "z", "w"};
static const char vector_key; /* in the registry: the metatable of vector values */

static int component(const char *name) {
  for (int i = 0; i < 4; i++)
    if (strcmp(name, component_names[i]) == 0) return i + 1;
  return 0;
}

/* Push component i (1-based) of the table at `index`: by place, else by name. */
static void get_component(lua_State *L, int index, int i) {
  lua_rawgeti(L, index, i);
  if (!lua_isnil(L, -1)) return;
  lua_pop(L, 1);
  lua_pushstring(L, component_names[i - 1]);
  lua_rawget(L, index);
}

/* Whether a key of a table, on top of the stack, is that of one of `count` components. */
static bool is_component(lua_State *L, int count) {
  int64_t i = 0;
  if (lua_type(L, -1) == LUA_TSTRING)
    i = component(lua_tostring(L, -1));
  else if (!mwl_whole(L, -1, &i))
    return false;
  return i >= 1 && i <= count;
}

bool mwl_pack_vector(lua_State *L, mwl_state *state, int index, const mw_type *type, unsigned char *out,
                     const mwl_place *place) {
  char what[MWL_PLACE];
  int count = (int)type->count;
  if (lua_type(L, index) != LUA_TTABLE) return mwl_refuse(L, state, index, type, place);
  /* Every key must be a component's: a fifth number or a misspelt name would otherwise pass unseen. */
  lua_pushnil(L);
  while (lua_next(L, index)) {
    lua_pop(L, 1);
    if (is_component(L, count)) continue;
    mw_value_refuse_key(type, lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL, mwl_place_text(place, what));
    return mwl_refused(L);
  }
  for (int i = 1; i <= count; i++) {
    get_component(L, index, i);
    if (lua_isnil(L, -1)) {
      mw_value_missing(type, component_names[i - 1], mwl_place_text(place, what));
      return mwl_refused(L);
    }
    const mwl_place here = {place, component_names[i - 1], 0};
    if (!mwl_pack_number(L, -1, type->element, out)) return mwl_refuse_number(L, state, -1, type->element, &here);
    lua_pop(L, 1);
    out += type->element->size;
  }
  return true;
}

void mwl_push_vector(lua_State *L, const mw_type *type, const unsigned char *bytes) {
  lua_createtable(L, (int)type->count, 0);
  for (size_t i = 0; i < type->count; i++) {
    mwl_push_number(L, type->element, bytes + i * type->element->size);
    lua_rawseti(L, -2, (int)i + 1);
  }
  lua_rawgetp(L, LUA_REGISTRYINDEX, &vector_key);
  lua_setmetatable(L, -2);
}

static int vector_index(lua_State *L) {
  int i = lua_type(L, 2) == LUA_TSTRING ? component(lua_tostring(L, 2)) : 0;
  if (!i) return 0;
  lua_rawgeti(L, 1, i);
  return 1;
}

static int vector_newindex(lua_State *L) {
  int i = lua_type(L, 2) == LUA_TSTRING ? component(lua_tostring(L, 2)) : 0;
  if (i && (size_t)i <= lua_rawlen(L, 1))
    lua_rawseti(L, 1, i);
  else
    lua_rawset(L, 1);
  return 0;
}

static int vector_tostring(lua_State *L) {
  int count = (int)lua_rawlen(L, 1);
  lua_pushliteral(L, "(");
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(L, 1, i);
    if (lua_type(L, -1) == LUA_TBOOLEAN) {
      lua_pushstring(L, lua_toboolean(L, -1) ? "true" : "false");
      lua_remove(L, -2);
    }
    lua_pushstring(L, i < count ? ", " : ")");
    lua_concat(L, 3);
  }
  return 1;
}

void mwl_open_vector(lua_State *L, mwl_state *state) {
  static const luaL_Reg vector[] = {
      {"__index", vector_index}, {"__newindex", vector_newindex}, {"__tostring", vector_tostring}, {NULL, NULL}};
  lua_newtable(L);
  mwl_functions(L, vector, state);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &vector_key);
  lua_setfield(L, -2, "vector");
}
