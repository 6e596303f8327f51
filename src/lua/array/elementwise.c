/* Elementwise functions, and operators on arrays that dispatch on the types of their arguments.
 *
 * An operator is a Lua function of one to three arrays and numbers. It looks up its elementwise function in a table by
 * the arguments' types; for a missing combination it calls resolve(name, arguments…) in Lua, once. */
#include "lua/binding.h"

#define MOST 32 /* operands, as MW_MAX_OPERANDS */

typedef struct mwl_elementwise {
  mw_elementwise *handle;
  mwl_device *device;
  int count;
  mw_operand_kind kinds[MOST];
  const mw_type *types[MOST];
  mw_module *modules[MOST]; /* that the types belong to, references; or NULL */
} mwl_elementwise;

/* ---- creation ---- */

static const char *const kind_names[] = {"out", "in", "whole", "scalar", NULL};

static const char *field(lua_State *L, int table, const char *name) {
  lua_getfield(L, table, name);
  return lua_tostring(L, -1); /* stays on the stack */
}

/* {name, kind, dtype} at the top, popped. */
static void take_operand(lua_State *L, mwl_state *state, mwl_elementwise *f, mw_operand *operand, int k) {
  int at = lua_gettop(L);
  lua_rawgeti(L, at, 1);
  operand->name = luaL_checkstring(L, -1); /* the operand's table keeps it */
  lua_rawgeti(L, at, 2);
  operand->kind = f->kinds[k] = (mw_operand_kind)luaL_checkoption(L, -1, NULL, kind_names);
  lua_rawgeti(L, at, 3);
  mw_module *module;
  operand->dtype = f->types[k] = mwl_check_dtype(L, state, lua_gettop(L), NULL, &module);
  f->modules[k] = module ? mw_module_retain(module) : NULL;
  f->count = k + 1;
  lua_settop(L, at - 1);
}

/* elementwise_new{name, preamble, body, index, file, line, options, operands = {{name, kind, dtype}, …}} */
static int elementwise_new(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_operand operands[MOST];
  const char *options[MOST];
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  mwl_elementwise *f = mwl_plain(L, sizeof *f);
  memset(f, 0, sizeof *f);
  f->device = mwl_current(L, state);
  mwl_set_class(L, state, MWL_ELEMENTWISE);
  luaL_checkstack(L, 24, NULL);
  mw_elementwise_source source = {.operands = operands, .options = options};
  source.name = field(L, 1, "name");
  source.preamble = field(L, 1, "preamble");
  source.body = field(L, 1, "body");
  source.file = field(L, 1, "file");
  lua_getfield(L, 1, "line");
  source.line = (int)lua_tointeger(L, -1);
  lua_getfield(L, 1, "index");
  source.uses_index = lua_toboolean(L, -1);
  lua_getfield(L, 1, "options");
  for (int i = 1; lua_istable(L, -1) && i <= (int)lua_rawlen(L, -1) && i <= MOST; i++) {
    lua_rawgeti(L, -1, i);
    options[source.option_count++] = luaL_checkstring(L, -1);
    lua_pop(L, 1); /* the table keeps it */
  }
  lua_getfield(L, 1, "operands");
  luaL_checktype(L, -1, LUA_TTABLE);
  size_t count = lua_rawlen(L, -1);
  if (count > MOST) mwl_refusal(L, state, "operands", "nn", (double)count, (double)MOST);
  for (size_t k = 0; k < count; k++) {
    lua_rawgeti(L, -1, (int)k + 1);
    take_operand(L, state, f, &operands[k], (int)k);
  }
  source.operand_count = count;
  mwl_must(L, state, mw_elementwise_new(f->device->handle, &source, &f->handle));
  lua_settop(L, 2);
  return 1;
}

static int elementwise_gc(lua_State *L) {
  mwl_elementwise *f = mwl_test(L, mwl_of(L), 1, MWL_ELEMENTWISE);
  if (!f) return 0;
  mw_elementwise_release(f->handle);
  f->handle = NULL;
  for (int k = 0; k < f->count; k++) {
    mw_module_release(f->modules[k]);
    f->modules[k] = NULL;
  }
  return 0;
}

/* elementwise_text(f) -> CUDA C */
static int elementwise_text(lua_State *L) {
  mwl_elementwise *f = mwl_check(L, mwl_of(L), 1, MWL_ELEMENTWISE, "elementwise_text");
  char *text = mw_elementwise_text(f->handle);
  lua_pushstring(L, text);
  mw_text_release(text);
  return 1;
}

/* sources_begin(): note the CUDA C of launched kernels' modules */
static int sources_begin(lua_State *L) {
  (void)L;
  mw_sources_begin();
  return 0;
}

/* sources_end() -> CUDA C */
static int sources_end(lua_State *L) {
  char *text = mw_sources_end();
  lua_pushstring(L, text);
  mw_text_release(text);
  return 1;
}

/* ---- running ---- */

typedef struct scalar_room {
  _Alignas(32) unsigned char bytes[32];
} scalar_room;

static void take_scalar(lua_State *L, mwl_state *state, const mwl_elementwise *f, int k, int index,
                        mw_operand_value *value, scalar_room *room) {
  const mw_type *type = f->types[k];
  if (type->size <= sizeof room->bytes && mwl_pack_number(L, index, type, room->bytes)) {
    value->bytes = room->bytes;
    return;
  }
  const mwl_place place = {NULL, "a scalar operand", 0};
  const mwl_keeper no_keeper = {0};
  unsigned char *bytes = type->size <= sizeof room->bytes ? room->bytes : mwl_plain(L, type->size);
  if (!mwl_pack(L, state, index, type, bytes, &place, &no_keeper)) mwl_usage_top(L, state, NULL);
  value->bytes = bytes;
}

/* Run f, operand k of which is at stack place places[k] (0: an output to be made), and push its outputs. */
static int run(lua_State *L, mwl_state *state, mwl_elementwise *f, const int *places) {
  mw_operand_value values[MOST];
  scalar_room rooms[MOST];
  mwl_array *made[MOST];
  luaL_checkstack(L, 2 * f->count + 8, NULL);
  size_t most = 0;
  for (int k = 0; k < f->count; k++) {
    values[k] = (mw_operand_value){0};
    made[k] = NULL;
    if (f->kinds[k] == MW_OPERAND_SCALAR) {
      take_scalar(L, state, f, k, places[k], &values[k], &rooms[k]);
    } else if (places[k]) {
      values[k].array = mwl_check_array(L, state, places[k], "a function of elements")->handle;
      size_t bytes = mw_array_bytes(values[k].array);
      most = bytes > most ? bytes : most;
    }
  }
  for (int k = 0; k < f->count; k++) {
    if (f->kinds[k] != MW_OPERAND_OUT || places[k]) continue;
    mwl_collect_step(L, state, most);
    made[k] = mwl_array_push(L, state, f->device);
  }
  const char *site = mwl_call_site(L, state, 1);
  int code = mw_elementwise_run(f->handle, values, site);
  for (int attempt = 0; code == MW_MEMORY_ALLOCATION && mwl_collect_all(L, state, f->device, attempt); attempt++)
    code = mw_elementwise_run(f->handle, values, site);
  mwl_must(L, state, code);
  f->device->pending = true;
  int outputs = 0;
  for (int k = 0; k < f->count; k++)
    if (made[k])
      mwl_array_adopt(state, made[k], values[k].array, f->modules[k], mw_array_bytes(values[k].array)), outputs++;
  return outputs;
}

/* elementwise_run(f, operands…): an array, a scalar, or nil for an output to be made -> the outputs that were made */
static int elementwise_run(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_elementwise *f = mwl_check(L, state, 1, MWL_ELEMENTWISE, "elementwise_run");
  int places[MOST];
  lua_settop(L, f->count + 1);
  for (int k = 0; k < f->count; k++) places[k] = lua_isnil(L, k + 2) ? 0 : k + 2;
  return run(L, state, f, places);
}

/* ---- operators ---- */

enum { CODES = 128, CODE_COMPLEX = 124, CODE_WHOLE = 125, CODE_FRACTION = 126, CODE_BOOLEAN = 127 };

/* The code of an argument's type: the element type of an array, or the kind of a number; -1 for other values. */
static int code_of(lua_State *L, mwl_state *state, int index, const mwl_array **array) {
  int64_t whole;
  switch (lua_type(L, index)) {
  case LUA_TNUMBER: return mwl_whole(L, index, &whole) ? CODE_WHOLE : CODE_FRACTION;
  case LUA_TBOOLEAN: return CODE_BOOLEAN;
  case LUA_TTABLE: return mwl_is_complex(L, index) ? CODE_COMPLEX : -1;
  default: break;
  }
  const mwl_array *given = mwl_test(L, state, index, MWL_ARRAY);
  if (!given || !given->handle) return -1;
  if (!*array) *array = given;
  int code = mw_type_code(given->dtype);
  return code ? code : -1;
}

/* Push the operator's table of functions for the device. */
static void push_functions(lua_State *L, const mwl_device *device) {
  lua_rawgetp(L, lua_upvalueindex(2), device);
  if (lua_istable(L, -1)) return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, lua_upvalueindex(2), device);
}

/* The slow path: call resolve in Lua, and run the function that it returns. Upvalues: state, functions by device,
   resolve. */
static int resolve_and_run(lua_State *L, mwl_state *state, int count, int key, const mwl_array *array) {
  lua_pushvalue(L, lua_upvalueindex(3));
  for (int i = 1; i <= count; i++) lua_pushvalue(L, i);
  lua_call(L, count, LUA_MULTRET);
  mwl_elementwise *f = lua_gettop(L) > count ? mwl_test(L, state, count + 1, MWL_ELEMENTWISE) : NULL;
  if (!f) return lua_gettop(L) - count; /* resolve returned the results themselves */
  if (key >= 0 && array) {
    push_functions(L, array->device);
    lua_pushvalue(L, count + 1);
    lua_rawseti(L, -2, key);
    lua_pop(L, 1);
  }
  int places[4] = {0, 1, 2, 3};
  return run(L, state, f, places);
}

static int operate(lua_State *L) {
  mwl_state *state = mwl_of(L);
  int count = (int)lua_tointeger(L, lua_upvalueindex(4)), key = 0;
  const mwl_array *array = NULL;
  lua_settop(L, count);
  for (int i = 1; i <= count && key >= 0; i++) {
    int code = code_of(L, state, i, &array);
    key = code < 0 ? -1 : key * CODES + code;
  }
  if (key < 0 || !array) return resolve_and_run(L, state, count, -1, NULL);
  push_functions(L, array->device);
  lua_rawgeti(L, -1, key);
  mwl_elementwise *f = mwl_test(L, state, -1, MWL_ELEMENTWISE);
  if (!f) {
    lua_settop(L, count);
    return resolve_and_run(L, state, count, key, array);
  }
  int places[4] = {0, 1, 2, 3};
  return run(L, state, f, places);
}

/* array_operator(count, resolve) -> a function of `count` (1 to 3) arrays and numbers. resolve(arguments…) returns the
   elementwise function for arguments of these types, with one output and `count` inputs or scalars; or it returns the
   results themselves. */
static int array_operator(lua_State *L) {
  lua_settop(L, 2);
  int count = (int)luaL_checkinteger(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  luaL_argcheck(L, count >= 1 && count <= 3, 1, "1 to 3");
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_newtable(L);
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 1);
  lua_pushcclosure(L, operate, 4);
  return 1;
}

void mwl_open_elementwise(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"elementwise_new", elementwise_new},
                                       {"elementwise_text", elementwise_text},
                                       {"elementwise_run", elementwise_run},
                                       {"sources_begin", sources_begin},
                                       {"sources_end", sources_end},
                                       {"array_operator", array_operator},
                                       {NULL, NULL}};
  static const luaL_Reg meta[] = {{"__gc", elementwise_gc}, {NULL, NULL}};
  mwl_functions(L, functions, state);
  mwl_class_new(L, state, MWL_ELEMENTWISE, meta, NULL, NULL);
}
