/* Tracebacks of Lua 5.4: luaL_traceback looks for the name of each function in all that package.loaded holds, which takes
 * milliseconds an error once moonwarp.runtime and moonwarp.driver are there, with their thousands of names. */
#include "binding.h"

#if LUA_VERSION_NUM >= 502

enum { FIRST = 10, LAST = 11 }; /* levels of a deep stack that are listed */

static int depth_of(lua_State *L) {
  lua_Debug ar;
  int depth = 0;
  while (lua_getstack(L, depth, &ar)) depth++;
  return depth;
}

static void add_level(luaL_Buffer *text, lua_State *L, lua_Debug *ar) {
  char line[256];
  lua_getinfo(L, "Slnt", ar);
  snprintf(line, sizeof line, ar->currentline > 0 ? "\n\t%s:%d: in " : "\n\t%s: in ", ar->short_src, ar->currentline);
  luaL_addstring(text, line);
  if (*ar->namewhat)
    snprintf(line, sizeof line, "%s '%.100s'", ar->namewhat, ar->name);
  else if (*ar->what == 'm')
    snprintf(line, sizeof line, "main chunk");
  else if (*ar->what == 'C')
    snprintf(line, sizeof line, "?");
  else
    snprintf(line, sizeof line, "function <%s:%d>", ar->short_src, ar->linedefined);
  luaL_addstring(text, line);
  if (ar->istailcall) luaL_addstring(text, "\n\t(...tail calls...)");
}

void mwl_traceback(lua_State *L, int level) {
  luaL_Buffer text;
  lua_Debug ar;
  int depth = depth_of(L), left_out = depth - level - FIRST - LAST;
  luaL_buffinit(L, &text);
  luaL_addstring(&text, "\nstack traceback:");
  for (int i = level; lua_getstack(L, i, &ar); i++) {
    if (left_out > 0 && i == level + FIRST) {
      char line[64];
      snprintf(line, sizeof line, "\n\t...\t(skipping %d levels)", left_out);
      luaL_addstring(&text, line);
      i += left_out - 1;
      continue;
    }
    add_level(&text, L, &ar);
  }
  luaL_pushresult(&text);
}

#endif
