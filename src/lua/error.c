/* Error objects: the core's failures and the binding's own, as tables with the metatable raw.error.
 *
 * Fields: kind, code (CUDA's name), message, file, line, column, kernel, block, thread (vectors of C's 0-based indices),
 * log (the compiler's output), where ("script.lua:12": the script's line that was running), traceback.
 * What they look like as text is the Lua layer's (error.lua). */
#include "binding.h"

#include <stdarg.h>
#include <stdio.h>

/* In the registry: the metatable of error objects, and the Lua layer's functions for warnings and for refusals. */
static const char error_key, warnings_key, refusals_key;

/* ---- where the script is ---- */

static bool is_own(const mwl_state *state, const char *source) {
  return state->own[0] && strncmp(source, state->own, strlen(state->own)) == 0;
}

/* The level of the innermost function that is the script's, or -1, from a level on: 0 is the binding's own function. */
static int find_caller(lua_State *L, mwl_state *state, int from, lua_Debug *ar) {
  for (int level = from; lua_getstack(L, level, ar); level++) {
    lua_getinfo(L, "Sl", ar);
    if (ar->currentline > 0 && !is_own(state, ar->source)) return level;
  }
  return -1;
}

bool mwl_caller(lua_State *L, mwl_state *state, int from, lua_Debug *ar) {
  return find_caller(L, state, from, ar) >= 0;
}

/* A chunk's name as a person would write it: short_src cuts long paths off. */
static const char *source_name(const lua_Debug *ar) { return ar->source[0] == '@' ? ar->source + 1 : ar->short_src; }

const char *mwl_site(lua_State *L, mwl_state *state, char *out, size_t size) {
  lua_Debug ar;
  if (!mwl_caller(L, state, 1, &ar)) return NULL;
  snprintf(out, size, "%s:%d", source_name(&ar), ar.currentline);
  return out;
}

/* ---- is it still being raised? ---- */

static int depth_of(lua_State *L) {
  lua_Debug ar;
  int depth = 0;
  while (lua_getstack(L, depth, &ar)) depth++;
  return depth;
}

/* The function that runs at `depth`, counted from the bottom of the stack. */
static const void *function_at(lua_State *L, int depth) {
  lua_Debug ar;
  int level = depth_of(L) - depth;
  if (level < 0 || !lua_getstack(L, level, &ar)) return NULL;
  lua_getinfo(L, "f", &ar);
  const void *function = lua_topointer(L, -1);
  lua_pop(L, 1);
  return function;
}

/* Remember where the error object on top of the stack is about to be raised. */
static void note_raise(lua_State *L, mwl_state *state) {
  state->raised = lua_topointer(L, -1);
  state->raised_thread = L;
  state->raised_depth = depth_of(L);
  state->raised_by = function_at(L, state->raised_depth);
}

/* raising(err) -> whether the function that raised err has not returned yet. If so, a message handler is asking, nobody
   caught the error, and its text is the last output of the script. */
static int raising(lua_State *L) {
  mwl_state *state = mwl_of(L);
  bool now = state->raised && lua_topointer(L, 1) == state->raised && L == state->raised_thread &&
             function_at(L, state->raised_depth) == state->raised_by;
  lua_pushboolean(L, now);
  return 1;
}

/* ---- building ---- */

static void set_string(lua_State *L, const char *field, const char *value) {
  if (!value) return;
  lua_pushstring(L, value);
  lua_setfield(L, -2, field);
}

static void set_number(lua_State *L, const char *field, int value) {
  if (value <= 0) return;
  lua_pushinteger(L, value);
  lua_setfield(L, -2, field);
}

static void set_index(lua_State *L, const char *field, const unsigned value[3]) {
  unsigned words[3] = {value[0], value[1], value[2]};
  mwl_push(L, mw_dtype("uint3"), words);
  lua_setfield(L, -2, field);
}

/* Complete the error object on top of the stack: where the script is, and how it got there. */
static void add_position(lua_State *L, mwl_state *state) {
  lua_Debug ar;
  int level = find_caller(L, state, 1, &ar);
  if (level >= 0) {
    lua_pushfstring(L, "%s:%d", source_name(&ar), ar.currentline);
    lua_setfield(L, -2, "where");
    /* Misuse is reported at the script's line. For other kinds, file and line are those of device code, or absent. */
    lua_getfield(L, -1, "kind");
    const char *kind = lua_tostring(L, -1);
    bool misuse = kind && strcmp(kind, "usage") == 0;
    lua_pop(L, 1);
    lua_getfield(L, -1, "file");
    bool placed = !lua_isnil(L, -1);
    lua_pop(L, 1);
    if (misuse && !placed) {
      set_string(L, "file", source_name(&ar));
      set_number(L, "line", ar.currentline);
    }
  }
  mwl_traceback(L, level >= 0 ? level : 0);
  const char *trace = lua_tostring(L, -1);
  if (trace && trace[0] == '\n') { /* before the first line comes the message, which is empty */
    lua_pushstring(L, trace + 1);
    lua_remove(L, -2);
  }
  lua_setfield(L, -2, "traceback");
}

static void new_error(lua_State *L) {
  lua_newtable(L);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &error_key);
  lua_setmetatable(L, -2);
}

static bool stop_collector(lua_State *L) {
#ifdef LUA_GCISRUNNING
  if (!lua_gc(L, LUA_GCISRUNNING, 0)) return false;
#endif
  lua_gc(L, LUA_GCSTOP, 0);
  return true;
}

int mwl_raise(lua_State *L, mwl_state *state) { mwl_raise_as(L, state, NULL); }

int mwl_raise_as(lua_State *L, mwl_state *state, const char *kind) {
  luaL_checkstack(L, 10, "moonwarp: no room for an error message");
  /* The slot's strings live until the thread's next failure, and a finalizer of the script's could cause one. */
  bool stopped = stop_collector(L);
  new_error(L);
  const mw_error *error = mw_error_last();
  if (error) {
    set_string(L, "kind", kind ? kind : error->kind);
    set_string(L, "code", error->name);
    set_string(L, "message", error->message);
    set_string(L, "file", error->file);
    set_number(L, "line", error->line);
    set_number(L, "column", error->column);
    set_string(L, "kernel", error->kernel);
    set_string(L, "log", error->log);
    if (error->has_block) set_index(L, "block", error->block);
    if (error->has_thread) set_index(L, "thread", error->thread);
  } else {
    set_string(L, "kind", "device");
    set_string(L, "code", mw_result_name(MW_UNKNOWN));
    set_string(L, "message", "the library failed without saying why");
  }
  if (stopped) lua_gc(L, LUA_GCRESTART, 0);
  add_position(L, state);
  note_raise(L, state);
  lua_error(L);
  __builtin_unreachable();
}

int mwl_usage_top(lua_State *L, mwl_state *state, const char *kernel) {
  luaL_checkstack(L, 10, "moonwarp: no room for an error message");
  new_error(L);
  lua_insert(L, -2);
  lua_setfield(L, -2, "message");
  set_string(L, "kind", "usage");
  set_string(L, "code", mw_result_name(MW_INVALID_VALUE));
  set_string(L, "kernel", kernel);
  add_position(L, state);
  note_raise(L, state);
  lua_error(L);
  __builtin_unreachable();
}

int mwl_usage(lua_State *L, mwl_state *state, const char *format, ...) {
  char message[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  lua_pushstring(L, message);
  mwl_usage_top(L, state, NULL);
}

/* ---- refusing ---- */

static void push_sentence(lua_State *L, const char *name, const char *kinds, va_list args) {
  int top = lua_gettop(L), given = 1;
  luaL_checkstack(L, 12, "moonwarp: no room for an error message");
  lua_rawgetp(L, LUA_REGISTRYINDEX, &refusals_key);
  lua_pushstring(L, name);
  for (; *kinds; kinds++, given++) {
    if (*kinds == 'v') {
      int index = va_arg(args, int);
      if (index > top) break;
      lua_pushvalue(L, index < 0 ? top + index + 1 : index);
    } else if (*kinds == 'n') {
      lua_pushnumber(L, va_arg(args, double));
    } else if (*kinds == 's') {
      lua_pushstring(L, va_arg(args, const char *));
    } else {
      lua_pushboolean(L, va_arg(args, int));
    }
  }
  lua_call(L, given, 1);
}

void mwl_sentence(lua_State *L, const char *name, const char *kinds, ...) {
  va_list args;
  va_start(args, kinds);
  push_sentence(L, name, kinds, args);
  va_end(args);
}

int mwl_refusal(lua_State *L, mwl_state *state, const char *name, const char *kinds, ...) {
  va_list args;
  va_start(args, kinds);
  push_sentence(L, name, kinds, args);
  va_end(args);
  mwl_usage_top(L, state, NULL);
}

int mwl_closed(lua_State *L, mwl_state *state, const char *what, const char *noun) {
  mwl_usage(L, state, "%s: this %s was closed", what, noun);
}

size_t mwl_check_size(lua_State *L, mwl_state *state, int index, const char *what) {
  int64_t size;
  if (!mwl_whole(L, index, &size) || size < 0) mwl_refusal(L, state, "size", "sv", what, index);
  return (size_t)size;
}

int mwl_raise_table(lua_State *L, mwl_state *state) {
  lua_settop(L, 1);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &error_key);
  lua_setmetatable(L, 1);
  add_position(L, state);
  note_raise(L, state);
  lua_error(L);
  __builtin_unreachable();
}

/* ---- describing values ---- */

static void describe_string(lua_State *L, int index, char *out, size_t size) {
  size_t length;
  const char *text = lua_tolstring(L, index, &length);
  if (length <= 24 && !memchr(text, '\n', length) && strlen(text) == length)
    snprintf(out, size, "the string \"%s\"", text);
  else
    snprintf(out, size, "a string of %zu bytes", length);
}

static void describe_userdata(lua_State *L, mwl_state *state, int index, char *out, size_t size) {
  const mwl_array *array = mwl_test(L, state, index, MWL_ARRAY);
  if (array) {
    snprintf(out, size, array->handle ? "an array of %s" : "an array that was closed",
             array->handle ? mw_type_dtype(array->dtype) : "");
    return;
  }
  for (int i = 0; i < MWL_CLASS_COUNT; i++) {
    if (!mwl_test(L, state, index, (mwl_class)i)) continue;
    const char *name = mwl_class_name((mwl_class)i);
    snprintf(out, size, "%s %s", mwl_article(name), name);
    return;
  }
  snprintf(out, size, "a userdata");
}

const char *mwl_describe(lua_State *L, mwl_state *state, int index, char *out, size_t size) {
  switch (lua_type(L, index)) {
  case LUA_TNONE: snprintf(out, size, "nothing"); break;
  case LUA_TNIL: snprintf(out, size, "nil"); break;
  case LUA_TBOOLEAN: snprintf(out, size, "%s", lua_toboolean(L, index) ? "true" : "false"); break;
  case LUA_TNUMBER:
#if MWL_HAS_INTEGERS
    if (lua_isinteger(L, index)) {
      snprintf(out, size, "the number %lld", (long long)lua_tointeger(L, index));
      break;
    }
#endif
    snprintf(out, size, "the number %.14g", (double)lua_tonumber(L, index));
    break;
  case LUA_TSTRING: describe_string(L, index, out, size); break;
  case LUA_TUSERDATA: describe_userdata(L, state, index, out, size); break;
  default: {
    int64_t value;
    bool is_unsigned;
    if (!mwl_test_int64(L, index, &value, &is_unsigned))
      snprintf(out, size, "a %s", luaL_typename(L, index));
    else if (is_unsigned)
      snprintf(out, size, "the number %llu", (unsigned long long)value);
    else
      snprintf(out, size, "the number %lld", (long long)value);
  }
  }
  return out;
}

/* ---- the raw table ---- */

/* raise{kind =, code =, message =, …}: what the Lua layer finds wrong, raised as the rest is. */
static int raise(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  return mwl_raise_table(L, mwl_of(L));
}

/* describe(value): what it is, in a message. */
static int describe(lua_State *L) {
  char text[64];
  lua_settop(L, 1);
  lua_pushstring(L, mwl_describe(L, mwl_of(L), 1, text, sizeof text));
  return 1;
}

/* caller() -> source, currentline of the script's function that is running, or nil. */
static int caller(lua_State *L) {
  lua_Debug ar;
  if (!mwl_caller(L, mwl_of(L), 1, &ar)) return 0;
  lua_pushstring(L, ar.source);
  lua_pushinteger(L, ar.currentline);
  return 2;
}

/* on_refusal(f): f(name, …) returns the sentence by which values are refused. */
static int on_refusal(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &refusals_key);
  return 0;
}

/* on_warnings(f): f(log) is called when a compiler had something to say, f(nil, kernel, "script.lua:12") of a launch of it
   that was configured there and never made. */
static int on_warnings(lua_State *L) {
  luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &warnings_key);
  return 0;
}

void mwl_tell_warnings(lua_State *L, const char *log) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &warnings_key);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    return;
  }
  lua_pushstring(L, log);
  lua_call(L, 1, 0);
}

void mwl_tell_unused(lua_State *L, const char *kernel, const char *site) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &warnings_key);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    return;
  }
  lua_pushnil(L);
  lua_pushstring(L, kernel);
  lua_pushstring(L, site);
  if (lua_pcall(L, 3, 0, 0)) lua_pop(L, 1);
}

int mwl_library_name(lua_State *L, mwl_state *state, int code, const char *name) {
  if (code == MW_NOT_SUPPORTED) {
    lua_pushnil(L);
    lua_pushstring(L, mw_error_last()->message);
    mw_error_clear();
    return 2;
  }
  mwl_must(L, state, code);
  lua_pushstring(L, name);
  return 1;
}

void mwl_open_error(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"raise", raise},
                                       {"raising", raising},
                                       {"caller", caller},
                                       {"describe", describe},
                                       {"on_warnings", on_warnings},
                                       {"on_refusal", on_refusal},
                                       {NULL, NULL}};
  mwl_functions(L, functions, state);
  lua_newtable(L);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &error_key);
  lua_setfield(L, -2, "error");
}
