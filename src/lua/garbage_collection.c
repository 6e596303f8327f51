/* Accounting of device memory for Lua's garbage collector.
 *
 * For Lua an array is a few dozen bytes, but it may hold gigabytes of device memory, so the collector alone would let
 * dead arrays accumulate. Each allocation therefore requests a proportional amount of collector work: once the memory
 * allocated since the last collection equals the live memory (or a least span, if that is more), the work adds up to a
 * full collection. So device memory in use stays within about twice the live memory, and the cost is spread as for Lua's
 * own memory. Bytes that the script frees itself are subtracted from the next allocations.
 *
 * The span is at least BASE, which keeps temporaries on the CPU device near its caches, and on GPUs a part of their
 * memory, because a collection takes longer than most kernels there. */
#include "binding.h"

#define BASE (32.0 * 1024 * 1024)

#define PART 32 /* of a GPU's memory */

/* The work of a full collection, in Lua heaps: it starts when memory has doubled, and walks all of it. */
#define CYCLE 3.0

/* Generational collections, which lua5.4 begins with, leave garbage that has become old until Lua's own memory has grown.
   So there is a full collection where more memory is live than so many times what the last one left, and spans. */
#define GROWTH 2.5

static bool is_running(lua_State *L) {
#ifdef LUA_GCISRUNNING
  return lua_gc(L, LUA_GCISRUNNING, 0);
#else
  (void)L;
  return true;
#endif
}

void mwl_collect_know(mwl_state *state, mw_device *device) {
  mw_memory memory;
  if (strncmp(mw_device_name(device), "cpu", 3) == 0 || mw_device_memory(device, &memory) != MW_SUCCESS) return;
  if ((double)memory.total / PART > state->span) state->span = (double)memory.total / PART;
}

void mwl_collect_step(lua_State *L, mwl_state *state, size_t bytes) {
  double least = state->span > BASE ? state->span : BASE;
  double span = (double)state->live > least ? (double)state->live : least;
  size_t replaced = bytes < state->freed ? bytes : state->freed;
  state->freed -= replaced;
  bytes -= replaced;
  double share = (double)bytes / span;
  if (share > 1) share = 1;
  if ((double)state->live > GROWTH * ((double)state->kept + least) && is_running(L)) {
    lua_gc(L, LUA_GCCOLLECT, 0);
    state->kept = state->live;
    state->owed = 0;
    return;
  }
  state->owed += share * CYCLE * lua_gc(L, LUA_GCCOUNT, 0);
  /* A step of less than a few KiB costs more than it gains. A collector that the script stopped stays stopped. */
  if (state->owed < 16) return;
  int step = state->owed < 1e9 ? (int)state->owed : 1000000000;
  state->owed = 0;
  if (is_running(L)) lua_gc(L, LUA_GCSTEP, step);
}

/* A failed compilation: the compiler is another process, which gains nothing from a collection. */
static bool is_compilers(void) {
  const mw_error *error = mw_error_last();
  return error && strcmp(error->kind, "compile") == 0;
}

bool mwl_collect_all(lua_State *L, mwl_state *state, mwl_device *device, int attempt) {
  if (attempt > 1 || is_compilers()) return false;
  /* First free unreachable objects; then also wait for memory that only work in flight holds. */
  if (attempt == 1 && device->pending) mwl_settle(L, state, device);
  lua_gc(L, LUA_GCCOLLECT, 0);
  lua_gc(L, LUA_GCCOLLECT, 0); /* objects that finalizers of the first collection released */
  return true;
}
