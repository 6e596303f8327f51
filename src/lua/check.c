/* Checked runs, as raw.check_begin and raw.check_end; lua/moonwarp/watch/ has the public functions. */
#include "binding.h"

static void set_text(lua_State *L, const char *name, const char *text) {
  if (!text) return;
  lua_pushstring(L, text);
  lua_setfield(L, -2, name);
}

static void set_index(lua_State *L, const char *name, const unsigned index[3]) {
  lua_createtable(L, 3, 0);
  for (int i = 0; i < 3; i++) {
    mwl_pushinteger(L, index[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, name);
}

static void set_end(lua_State *L, const mw_finding_end *end) {
  set_text(L, "kernel", end->kernel);
  set_text(L, "file", end->file);
  set_text(L, "access", end->access);
  if (end->line) {
    mwl_pushinteger(L, end->line);
    lua_setfield(L, -2, "line");
  }
  if (!end->has_thread) return;
  set_index(L, "thread", end->thread);
  set_index(L, "block", end->block);
}

static void push_finding(lua_State *L, const mw_finding *finding) {
  lua_createtable(L, 0, 16);
  set_text(L, "kind", finding->kind);
  set_text(L, "array", finding->array);
  set_text(L, "scope", finding->scope);
  set_text(L, "hint", finding->hint);
  set_text(L, "text", finding->text);
  mwl_pushinteger(L, (int64_t)finding->count);
  lua_setfield(L, -2, "count");
  if (finding->has_index) {
    mwl_pushinteger(L, finding->index);
    lua_setfield(L, -2, "index");
  }
  set_end(L, &finding->here);
  if (!finding->has_other) return;
  lua_createtable(L, 0, 6);
  set_end(L, &finding->other);
  lua_setfield(L, -2, "other");
}

/* check_begin(kinds, seed): of the device in use */
static int check_begin(lua_State *L) {
  mwl_state *state = mwl_of(L);
  unsigned kinds = (unsigned)luaL_checkinteger(L, 1);
  uint64_t seed = (uint64_t)luaL_checknumber(L, 2);
  mwl_must(L, state, mw_check_begin(mwl_current(L, state)->handle, kinds, seed));
  return 0;
}

/* check_end() -> a sequence of findings, with the text `unchecked`. What is wrong with filling it leaves the report
   unreleased, and no more. */
static int check_end(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mw_report *report;
  mw_finding finding;
  mwl_must(L, state, mw_check_end(mwl_current(L, state)->handle, &report));
  lua_newtable(L);
  for (size_t i = 0; i < mw_report_count(report) && mw_report_get(report, i, &finding) == MW_SUCCESS; i++) {
    push_finding(L, &finding);
    lua_rawseti(L, -2, (int)i + 1);
  }
  set_text(L, "unchecked", mw_report_unchecked(report));
  mw_report_release(report);
  return 1;
}

void mwl_open_check(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"check_begin", check_begin}, {"check_end", check_end}, {NULL, NULL}};
  mwl_functions(L, functions, state);
}
