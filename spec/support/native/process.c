/* Processes and Lua states for specs: functions for Lua that fork the process, and that run code in further states of it.
 * Written against what Lua 5.4 and LuaJIT have in common, as gl.c is; where they differ, against what is there. */
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct lua_State lua_State;
lua_State *luaL_newstate(void);
void luaL_openlibs(lua_State *L);
int luaL_loadstring(lua_State *L, const char *code);
void lua_close(lua_State *L);
void lua_settop(lua_State *L, int index);
const char *lua_tolstring(lua_State *L, int index, size_t *length);
double lua_tonumberx(lua_State *L, int index, int *is_number);
void *lua_touserdata(lua_State *L, int index);
void lua_pushinteger(lua_State *L, ptrdiff_t number);
void lua_pushstring(lua_State *L, const char *text);
void lua_pushlightuserdata(lua_State *L, void *pointer);
#pragma weak lua_pcallk
int lua_pcallk(lua_State *L, int arguments, int results, int handler, intptr_t context, void *continuation);
#pragma weak lua_pcall
int lua_pcall(lua_State *L, int arguments, int results, int handler);

#define PUBLIC(name)                                                                                                   \
  int name(lua_State *L);                                                                                              \
  __attribute__((visibility("default"))) int name(lua_State *L)

static int call(lua_State *L) { return lua_pcallk ? lua_pcallk(L, 0, 1, 0, 0, NULL) : lua_pcall(L, 0, 1, 0); }

/* fork() -> the child's number, and 0 in the child */
PUBLIC(process_fork) {
  lua_pushinteger(L, fork());
  return 1;
}

/* wait(child) -> its exit status, or the negative number of the signal that ended it */
PUBLIC(process_wait) {
  int status = 0;
  waitpid((pid_t)lua_tonumberx(L, 1, NULL), &status, 0);
  lua_pushinteger(L, WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  return 1;
}

/* open() -> a state with the standard libraries */
PUBLIC(process_open) {
  lua_State *state = luaL_newstate();
  luaL_openlibs(state);
  lua_pushlightuserdata(L, state);
  return 1;
}

/* run(state, code) -> the string that the code returns, or that it failed with */
PUBLIC(process_run) {
  lua_State *state = lua_touserdata(L, 1);
  if (luaL_loadstring(state, lua_tolstring(L, 2, NULL)) == 0) call(state);
  const char *result = lua_tolstring(state, -1, NULL);
  lua_pushstring(L, result ? result : "no string");
  lua_settop(state, 0);
  return 1;
}

PUBLIC(process_close) {
  lua_close(lua_touserdata(L, 1));
  return 0;
}
