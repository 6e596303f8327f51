/* Vector values: float4 and its like as tables of their components, {1, 2, 3, 4}, that answer to x, y, z and w too.
 * Complex numbers are {re, im} with a metatable of their own, whose functions lua/moonwarp/complex.lua has. */
#include "value.h"

static const char *const vector_names[] = {"x", "y", "z", "w"}, *const complex_names[] = {"re", "im"};
static const char vector_key, complex_key; /* in the registry: the metatables of values */

static int component(const char *name, const char *const *names, size_t count) {
  for (size_t i = 0; i < count && i < 4; i++)
    if (strcmp(name, names[i]) == 0) return (int)i + 1;
  return 0;
}

/* Push component i (1-based) of the table at `index`: by place, else by name. */
static void get_component(lua_State *L, int index, int i, const char *const *names) {
  lua_rawgeti(L, index, i);
  if (!lua_isnil(L, -1)) return;
  lua_pop(L, 1);
  lua_pushstring(L, names[i - 1]);
  lua_rawget(L, index);
}

/* Whether a key of a table, on top of the stack, is that of one of `count` components. */
static bool is_component(lua_State *L, int count, const char *const *names) {
  int64_t i = 0;
  if (lua_type(L, -1) == LUA_TSTRING)
    i = component(lua_tostring(L, -1), names, (size_t)count);
  else if (!mwl_whole(L, -1, &i))
    return false;
  return i >= 1 && i <= count;
}

/* A number is a complex one too: its imaginary part is 0. */
static bool pack_real(lua_State *L, mwl_state *state, int index, const mw_type *type, unsigned char *out,
                      const mwl_place *place) {
  memset(out, 0, type->size);
  return mwl_pack_number(L, index, type->element, out) || mwl_refuse_number(L, state, index, type->element, place);
}

bool mwl_is_complex(lua_State *L, int index) {
  if (lua_type(L, index) != LUA_TTABLE || !lua_getmetatable(L, index)) return false;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &complex_key);
  bool is = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return is;
}

bool mwl_pack_vector(lua_State *L, mwl_state *state, int index, const mw_type *type, unsigned char *out,
                     const mwl_place *place) {
  char what[MWL_PLACE];
  int count = (int)type->count;
  bool is_complex = mw_type_is_complex(type);
  const char *const *names = is_complex ? complex_names : vector_names;
  if (is_complex && lua_type(L, index) == LUA_TNUMBER) return pack_real(L, state, index, type, out, place);
  if (lua_type(L, index) != LUA_TTABLE) return mwl_refuse(L, state, index, type, place);
  /* Every key must be a component's: a fifth number or a misspelt name would otherwise pass unseen. */
  lua_pushnil(L);
  while (lua_next(L, index)) {
    lua_pop(L, 1);
    if (is_component(L, count, names)) continue;
    mw_value_refuse_key(type, lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL, mwl_place_text(place, what));
    return mwl_refused(L);
  }
  for (int i = 1; i <= count; i++) {
    get_component(L, index, i, names);
    if (lua_isnil(L, -1)) {
      mw_value_missing(type, names[i - 1], mwl_place_text(place, what));
      return mwl_refused(L);
    }
    const mwl_place here = {place, names[i - 1], 0};
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
  lua_rawgetp(L, LUA_REGISTRYINDEX, mw_type_is_complex(type) ? &complex_key : &vector_key);
  lua_setmetatable(L, -2);
}

static int vector_index(lua_State *L) {
  int i = lua_type(L, 2) == LUA_TSTRING ? component(lua_tostring(L, 2), vector_names, 4) : 0;
  if (!i) return 0;
  lua_rawgeti(L, 1, i);
  return 1;
}

static int vector_newindex(lua_State *L) {
  int i = lua_type(L, 2) == LUA_TSTRING ? component(lua_tostring(L, 2), vector_names, 4) : 0;
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
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &complex_key);
  lua_setfield(L, -2, "complex");
}
