/* What Lua's collector is told of device memory.
 *
 * An array is a few dozen bytes to Lua and may be gigabytes to the device, so left alone the collector would let dead
 * arrays pile up. Each allocation therefore asks for a share of collector work: by the time the memory allocated since
 * equals what is alive (or BASE, if that is more), the work asked for adds up to a collection. So device memory in use
 * stays within about twice what is alive, and the cost of collecting is spread and bounded as for Lua's own memory. */
#include "binding.h"

#define BASE (32.0 * 1024 * 1024)

/* A collection waits until memory has doubled and then walks all of it: steps worth about three times the Lua heap. */
#define CYCLE 3.0

static bool is_running(lua_State *L) {
#ifdef LUA_GCISRUNNING
  return lua_gc(L, LUA_GCISRUNNING, 0);
#else
  (void)L;
  return true;
#endif
}

void mwl_collect_step(lua_State *L, mwl_state *state, size_t bytes) {
  double span = state->live > BASE ? (double)state->live : BASE;
  double share = (double)bytes / span;
  if (share > 1) share = 1;
  state->owed += share * CYCLE * lua_gc(L, LUA_GCCOUNT, 0);
  /* Below a few KiB a step costs more than it does. A collector that the script stopped stays stopped. */
  if (state->owed < 16) return;
  int step = state->owed < 1e9 ? (int)state->owed : 1000000000;
  state->owed = 0;
  if (is_running(L)) lua_gc(L, LUA_GCSTEP, step);
}

/* The compiler's memory is another process's: collecting gives it none. */
static bool is_compilers(void) {
  const mw_error *error = mw_error_last();
  return error && strcmp(error->kind, "compile") == 0;
}

bool mwl_collect_all(lua_State *L, mwl_state *state, mwl_device *device, int round) {
  if (round > 1 || is_compilers()) return false;
  /* First what Lua no longer reaches; then also what only work in flight still holds. */
  if (round == 1 && device->pending) mwl_settle(L, state, device);
  lua_gc(L, LUA_GCCOLLECT, 0);
  lua_gc(L, LUA_GCCOLLECT, 0); /* objects that the first one's finalizers let go of */
  return true;
}
