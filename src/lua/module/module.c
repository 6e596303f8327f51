/* Module objects: compiling and loading them, and finding what is in them by name.
 *
 * A module's environment caches its kernel and symbol objects by name: m.saxpy is one look-up from the second
 * time on. Methods of the class come before names of the source, so there are few. */
#include "lua/binding.h"

static int module_save(lua_State *L), module_log(lua_State *L), module_kernel(lua_State *L),
    module_symbol(lua_State *L), module_names(lua_State *L);

static const luaL_Reg methods[] = {{"save", module_save},
                                   {"log", module_log},
                                   {"kernel", module_kernel},
                                   {"symbol", module_symbol},
                                   {"names", module_names},
                                   {"dtype", mwl_module_dtype},
                                   {NULL, NULL}};

static mwl_module *push_module(lua_State *L, mwl_state *state) {
  mwl_device *device = mwl_current(L, state);
  mwl_module *module = mwl_userdata(L, sizeof *module);
  *module = (mwl_module){.device = device};
  mwl_set_class(L, state, MWL_MODULE);
  lua_newtable(L);
  mwl_setenv(L, -2);
  return module;
}

static mwl_module *check_module(lua_State *L, mwl_state *state, const char *what) {
  mwl_module *module = mwl_check(L, state, 1, MWL_MODULE, what);
  if (!module->handle) mwl_closed(L, state, what, "module");
  return module;
}

/* Pass the compiler's warnings to the script once: when the module is made, and when an instance added some. */
static void tell_warnings(lua_State *L, mwl_module *module) {
  const char *log = mw_module_log(module->handle);
  if (log == module->told) return;
  if (*log) mwl_tell_warnings(L, log);
  module->told = log;
}

/* ---- compiling ---- */

/* Field `name` of the table at 2 as a string that the table keeps, or NULL. */
static const char *string_field(lua_State *L, const char *name) {
  lua_getfield(L, 2, name);
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
  lua_pop(L, 1);
  return text;
}

/* The sequence in field `name`, as pointers to strings that the table keeps; in a userdata left on the stack. */
static const char *const *string_list(lua_State *L, mwl_state *state, const char *name, size_t *count) {
  lua_getfield(L, 2, name);
  *count = lua_type(L, -1) == LUA_TTABLE ? lua_rawlen(L, -1) : 0;
  const char **list = mwl_plain(L, (*count + 1) * sizeof *list);
  for (size_t i = 0; i < *count; i++) {
    lua_rawgeti(L, -2, (int)i + 1);
    if (lua_type(L, -1) != LUA_TSTRING) mwl_usage(L, state, "%s[%d] is not a string", name, (int)i + 1);
    list[i] = lua_tostring(L, -1);
    lua_pop(L, 1);
  }
  lua_remove(L, -2);
  return list;
}

/* The table of name = text in field `headers`, likewise. */
static const mw_header *header_list(lua_State *L, mwl_state *state, size_t *count) {
  size_t room = 0, used = 0;
  lua_getfield(L, 2, "headers");
  bool given = lua_type(L, -1) == LUA_TTABLE;
  if (given)
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) room++;
  mw_header *list = mwl_plain(L, (room + 1) * sizeof *list);
  if (given) {
    for (lua_pushnil(L); lua_next(L, -3) && used < room; lua_pop(L, 1)) {
      if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING) mwl_refusal(L, state, "headers", "");
      list[used++] = (mw_header){lua_tostring(L, -2), lua_tostring(L, -1)};
    }
  }
  lua_remove(L, -2);
  *count = used;
  return list;
}

/* compile(text, {file =, line =, options = {…}, headers = {name = text}}) -> module */
static int compile(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_source source = {0};
  source.text = luaL_checklstring(L, 1, &source.length);
  luaL_checktype(L, 2, LUA_TTABLE);
  source.file = string_field(L, "file");
  lua_getfield(L, 2, "line");
  source.line = (int)lua_tointeger(L, -1);
  lua_pop(L, 1);
  source.options = string_list(L, state, "options", &source.option_count);
  source.headers = header_list(L, state, &source.header_count);
  mwl_module *module = push_module(L, state);
  int code = mw_module_compile(module->device->handle, &source, &module->handle);
  for (int attempt = 0; code == MW_MEMORY_ALLOCATION && mwl_collect_all(L, state, module->device, attempt); attempt++)
    code = mw_module_compile(module->device->handle, &source, &module->handle);
  mwl_must(L, state, code);
  tell_warnings(L, module);
  return 1;
}

static int text_gc(lua_State *L) {
  char **text = lua_touserdata(L, 1);
  mw_source_text_release(*text);
  *text = NULL;
  return 0;
}

/* source_read(path) -> the text of a file to be compiled */
static int source_read(lua_State *L) {
  const char *path = luaL_checkstring(L, 1);
  size_t length;
  char **text = mwl_plain(L, sizeof *text);
  *text = NULL;
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, text_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  mwl_must(L, mwl_of(L), mw_source_text_read(path, text, &length));
  lua_pushlstring(L, *text, length);
  mw_source_text_release(*text);
  *text = NULL;
  return 1;
}

/* compile_seconds() -> what this process has spent compiling */
static int compile_seconds(lua_State *L) {
  lua_pushnumber(L, mw_compile_seconds());
  return 1;
}

/* load(path) -> module */
static int load(lua_State *L) {
  mwl_state *state = mwl_of(L);
  const char *path = luaL_checkstring(L, 1);
  mwl_module *module = push_module(L, state);
  mwl_must(L, state, mw_module_load(module->device->handle, path, &module->handle));
  module->told = mw_module_log(module->handle); /* its warnings were shown when it was compiled */
  return 1;
}

/* ---- names ---- */

static bool is_method(const char *name) {
  for (const luaL_Reg *method = methods; method->name; method++)
    if (strcmp(method->name, name) == 0) return true;
  return false;
}

/* Leave the object called by the string at stack place 2 on the stack, from the environment or, the first time, from the
   module. Symbols first: asking for a kernel that is not there may start a compilation. */
static void push_named(lua_State *L, mwl_state *state) {
  mwl_module *module = lua_touserdata(L, 1);
  const char *name = lua_tostring(L, 2);
  mwl_getenv(L, 1);
  lua_pushfstring(L, is_method(name) ? "\1%s" : "%s", name); /* m.save stays the method after m:kernel("save") */
  lua_pushvalue(L, -1);
  lua_rawget(L, -3);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    if (!mwl_symbol_push(L, state, 1, name)) {
      mwl_kernel_push(L, state, 1, name, module->device);
      tell_warnings(L, module);
    }
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -2);
    lua_rawset(L, -5);
  }
  lua_replace(L, -3);
  lua_pop(L, 1);
}

static void check_name(lua_State *L, mwl_state *state) {
  if (lua_type(L, 2) != LUA_TSTRING) mwl_refusal(L, state, "name", "v", 2);
}

static int module_index(lua_State *L) {
  mwl_state *state = mwl_of(L);
  check_module(L, state, "a module's field");
  mwl_getenv(L, 1);
  lua_pushvalue(L, 2);
  lua_rawget(L, -2);
  if (lua_isnil(L, -1)) {
    lua_settop(L, 2);
    if (mwl_index_named(L)) return 1;
    lua_settop(L, 2);
    check_name(L, state);
    push_named(L, state);
  }
  if (mwl_test(L, state, -1, MWL_SYMBOL)) return mwl_symbol_get(L, state, lua_gettop(L));
  return 1;
}

static int module_newindex(lua_State *L) {
  mwl_state *state = mwl_of(L);
  check_module(L, state, "a module's field");
  check_name(L, state);
  push_named(L, state);
  if (!mwl_test(L, state, -1, MWL_SYMBOL)) return mwl_refusal(L, state, "assigned_kernel", "v", 2);
  return mwl_symbol_set(L, state, lua_gettop(L), 3);
}

static int by_name(lua_State *L, mwl_class wanted, const char *what) {
  mwl_state *state = mwl_of(L);
  check_module(L, state, what);
  check_name(L, state);
  lua_settop(L, 2);
  push_named(L, state);
  if (!mwl_test(L, state, -1, wanted))
    return mwl_usage(L, state, "'%s' is a %s, not a %s", lua_tostring(L, 2),
                     mwl_class_name(wanted == MWL_KERNEL ? MWL_SYMBOL : MWL_KERNEL), mwl_class_name(wanted));
  return 1;
}

static int module_kernel(lua_State *L) { return by_name(L, MWL_KERNEL, "kernel"); }
static int module_symbol(lua_State *L) { return by_name(L, MWL_SYMBOL, "symbol"); }

static void push_list(lua_State *L, const mw_module *module, const char *(*name)(const mw_module *, size_t)) {
  lua_newtable(L);
  const char *text;
  for (size_t i = 0; (text = name(module, i)) != NULL; i++) {
    lua_pushstring(L, text);
    lua_rawseti(L, -2, (int)i + 1);
  }
}

/* m:names() -> kernels, symbols: two sequences of names */
static int module_names(lua_State *L) {
  mwl_module *module = check_module(L, mwl_of(L), "names");
  push_list(L, module->handle, mw_module_kernel_name);
  push_list(L, module->handle, mw_module_symbol_name);
  return 2;
}

/* ---- the rest ---- */

static int module_save(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_must(L, state, mw_module_save(check_module(L, state, "save")->handle, luaL_checkstring(L, 2)));
  lua_settop(L, 1);
  return 1;
}

static int module_log(lua_State *L) {
  lua_pushstring(L, mw_module_log(check_module(L, mwl_of(L), "log")->handle));
  return 1;
}

static int module_gc(lua_State *L) {
  mwl_module *module = mwl_test(L, mwl_of(L), 1, MWL_MODULE);
  if (!module || !module->handle) return 0;
  mw_module_release(module->handle);
  module->handle = NULL;
  return 0;
}

void mwl_open_module(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"compile", compile},
                                       {"source_read", source_read},
                                       {"load", load},
                                       {"compile_seconds", compile_seconds},
                                       {NULL, NULL}};
  static const luaL_Reg meta[] = {{"__gc", module_gc},
                                  {"__close", module_gc},
                                  {"__index", module_index},
                                  {"__newindex", module_newindex},
                                  {NULL, NULL}};
  mwl_functions(L, functions, state);
  mwl_class_new(L, state, MWL_MODULE, meta, methods, NULL);
}
