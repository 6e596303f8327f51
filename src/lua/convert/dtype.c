/* Dtypes, the element types of arrays: built-in ones by name, a module's structs as objects, m:dtype("Particle").
 *
 * A struct's description lives as long as its module, so a dtype object holds the module, and so does every array of it. */
#include "lua/binding.h"

typedef struct mwl_dtype {
  const mw_type *type;
  mw_module *module; /* a reference */
} mwl_dtype;

const mw_type *mwl_check_dtype(lua_State *L, mwl_state *state, int index, const char *fallback, mw_module **module) {
  const char *name = fallback;
  *module = NULL;
  if (!fallback || !lua_isnoneornil(L, index)) {
    mwl_dtype *dtype = mwl_test(L, state, index, MWL_DTYPE);
    if (dtype && dtype->module) {
      *module = dtype->module;
      return dtype->type;
    }
    if (lua_type(L, index) != LUA_TSTRING) mwl_refusal(L, state, "dtype", "v", index);
    name = lua_tostring(L, index);
  }
  const mw_type *type = mw_dtype(name);
  if (!type) mwl_refusal(L, state, "dtype", "s", name);
  return type;
}

void mwl_dtype_push(lua_State *L, mwl_state *state, const mw_type *type, mw_module *module) {
  if (!module) {
    lua_pushstring(L, mw_type_dtype(type));
    return;
  }
  mwl_dtype *dtype = mwl_plain(L, sizeof *dtype);
  *dtype = (mwl_dtype){.type = type};
  mwl_set_class(L, state, MWL_DTYPE);
  dtype->module = mw_module_retain(module);
}

void mwl_place_push(lua_State *L, mwl_state *state, const char *name, const mw_type *type, size_t offset,
                    mw_module *module) {
  const mw_type *of = type->kind == MW_TYPE_POINTER ? type->element : type;
  while (of->kind == MW_TYPE_ARRAY) of = of->element;
  lua_createtable(L, 0, 5);
  lua_pushstring(L, name);
  lua_setfield(L, -2, "name");
  mwl_pushinteger(L, offset);
  lua_setfield(L, -2, "offset");
  mwl_pushinteger(L, type->size);
  lua_setfield(L, -2, "size");
  lua_pushstring(L, type->name);
  lua_setfield(L, -2, "type");
  if (of->kind == MW_TYPE_POINTER || of->size == 0) return;
  mwl_dtype_push(L, state, of, of->kind == MW_TYPE_STRUCT ? module : NULL);
  lua_setfield(L, -2, "dtype");
}

/* ---- a module's structs ---- */

/* m:dtype(name) -> the struct of that name, for arrays of it; a built-in type's name where there is no such struct */
int mwl_module_dtype(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_module *module = mwl_check(L, state, 1, MWL_MODULE, "dtype");
  const mw_type *type = NULL;
  if (!module->handle) return mwl_closed(L, state, "dtype", "module");
  const char *name = luaL_checkstring(L, 2);
  mwl_must(L, state, mw_module_type(module->handle, name, &type));
  mwl_dtype_push(L, state, type, type->kind == MW_TYPE_STRUCT ? module->handle : NULL);
  return 1;
}

/* ---- the class ---- */

static mwl_dtype *check_dtype(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_dtype *dtype = mwl_check(L, state, 1, MWL_DTYPE, "a dtype's field");
  if (!dtype->module) mwl_closed(L, state, "a dtype's field", "dtype");
  return dtype;
}

static int dtype_name(lua_State *L) {
  lua_pushstring(L, mw_type_dtype(check_dtype(L)->type));
  return 1;
}

static int dtype_bytes(lua_State *L) {
  mwl_pushinteger(L, check_dtype(L)->type->size);
  return 1;
}

/* A sequence of what mwl_place_push says. */
static int dtype_fields(lua_State *L) {
  const mwl_dtype *dtype = check_dtype(L);
  const mw_type *type = dtype->type;
  lua_createtable(L, (int)type->count, 0);
  for (size_t i = 0; i < type->count; i++) {
    const mw_field *field = &type->fields[i];
    mwl_place_push(L, mwl_of(L), field->name, field->type, field->offset, dtype->module);
    lua_rawseti(L, -2, (int)i + 1);
  }
  return 1;
}

static int dtype_eq(lua_State *L) {
  mwl_state *state = mwl_of(L);
  const mwl_dtype *a = mwl_test(L, state, 1, MWL_DTYPE), *b = mwl_test(L, state, 2, MWL_DTYPE);
  lua_pushboolean(L, a && b && a->type == b->type);
  return 1;
}

static int dtype_gc(lua_State *L) {
  mwl_dtype *dtype = mwl_test(L, mwl_of(L), 1, MWL_DTYPE);
  if (!dtype || !dtype->module) return 0;
  mw_module_release(dtype->module);
  dtype->module = NULL;
  return 0;
}

/* dtype_size(dtype) -> bytes, components (0 for what is no vector), name, whether it is a struct */
static int dtype_size(lua_State *L) {
  mw_module *module;
  const mw_type *type = mwl_check_dtype(L, mwl_of(L), 1, "float", &module);
  mwl_pushinteger(L, type->size);
  mwl_pushinteger(L, type->kind == MW_TYPE_VECTOR ? type->count : 0);
  lua_pushstring(L, mw_type_dtype(type));
  lua_pushboolean(L, module != NULL);
  return 4;
}

void mwl_open_dtype(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"dtype_size", dtype_size}, {NULL, NULL}};
  static const luaL_Reg meta[] = {{"__gc", dtype_gc}, {"__eq", dtype_eq}, {"__tostring", dtype_name}, {NULL, NULL}};
  static const luaL_Reg facts[] = {{"name", dtype_name}, {"size", dtype_bytes}, {"fields", dtype_fields}, {NULL, NULL}};
  mwl_functions(L, functions, state);
  mwl_class_new(L, state, MWL_DTYPE, meta, NULL, facts);
}
