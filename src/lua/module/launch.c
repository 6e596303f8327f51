/* Launches: a configuration called with arguments, and bound ones called with none.
 *
 * Arguments are set and the launch run without calling back into Lua, so the kernel's one launch object serves every
 * plain launch; it forgets its arguments afterwards and so keeps nothing alive. */
#include "lua/binding.h"

#define MAX_PARAM 4096 /* bytes of a struct parameter on the C stack; larger ones are in a userdata */

/* ---- the line of the call ---- */

/* The script's "script.lua:12", which asynchronous errors name. Written anew only when it differs from the last
   launch's. The library's own functions, which launch kernels for many lines of a script, are not the script. */
const char *mwl_call_site(lua_State *L, mwl_state *state, int from) {
  lua_Debug ar;
  if (!mwl_caller(L, state, from, &ar)) return NULL;
  if (ar.currentline == state->site_line && ar.currentline > 0 && ar.source == state->site_source &&
      strcmp(ar.short_src, state->site_short) == 0)
    return state->site;
  if (!mwl_site(L, state, state->site, sizeof state->site)) return NULL;
  state->site_source = ar.source;
  state->site_line = ar.currentline;
  memcpy(state->site_short, ar.short_src, sizeof ar.short_src);
  return state->site;
}

/* ---- arguments ---- */

typedef enum outcome { DONE, CORE_FAILED, REFUSED /* a sentence is on top of the stack */ } outcome;

static outcome refuse_count(lua_State *L, const mw_kernel_info *info, int given) {
  char signature[1024];
  mw_kernel_signature(info, signature, sizeof signature);
  mwl_sentence(L, "arguments", "snn", signature, (double)info->param_count, (double)given);
  return REFUSED;
}

/* Through the value conversion: structs, vectors, unsigned 64-bit integers above 2^63, and whatever is a mistake. */
static outcome set_value(lua_State *L, mwl_state *state, mw_launch *launch, const mw_kernel_info *info, size_t i,
                         int index, mwl_device *device) {
  const mw_param *param = &info->params[i];
  _Alignas(32) unsigned char local[MAX_PARAM];
  char what[256];
  if (param->name[0])
    snprintf(what, sizeof what, "parameter %zu '%s' of %s", i + 1, param->name, info->name);
  else
    snprintf(what, sizeof what, "parameter %zu of %s", i + 1, info->name);
  const mwl_place place = {NULL, what, 0};
  const mwl_keeper keeper = {.device = device, .launch = launch};
  void *bytes = param->type->size <= sizeof local ? local : mwl_plain(L, param->type->size);
  if (!mwl_pack(L, state, index, param->type, bytes, &place, &keeper)) return REFUSED;
  return mw_launch_bytes(launch, i, bytes, param->type->size) ? CORE_FAILED : DONE;
}

static outcome set_argument(lua_State *L, mwl_state *state, mw_launch *launch, const mw_kernel_info *info, size_t i,
                            int index, mwl_device *device) {
  const mw_type *type = info->params[i].type;
  int code;
  switch (lua_type(L, index)) {
  case LUA_TNUMBER:
    if (type->kind > MW_TYPE_FLOAT) return set_value(L, state, launch, info, i, index, device);
#if MWL_HAS_INTEGERS
    if (lua_isinteger(L, index)) {
      lua_Integer value = lua_tointeger(L, index);
      if (value < 0 && type->kind == MW_TYPE_UINT && type->size == 8)
        return set_value(L, state, launch, info, i, index, device);
      code = mw_launch_int64(launch, i, value);
      break;
    }
#else
    if (lua_tonumber(L, index) < 0 && type->kind == MW_TYPE_UINT && type->size == 8)
      return set_value(L, state, launch, info, i, index, device);
#endif
    code = mw_launch_number(launch, i, lua_tonumber(L, index));
    break;
  case LUA_TUSERDATA: {
    mwl_array *array = type->kind == MW_TYPE_POINTER ? mwl_test_memory(L, state, index) : NULL;
    mwl_texture *texture = array ? NULL : mwl_test_texture(L, state, index);
    if (texture)
      code = mw_launch_texture(launch, i, texture->handle);
    else if (array && array->handle)
      code = mw_launch_array(launch, i, array->handle);
    else
      return set_value(L, state, launch, info, i, index, device);
    break;
  }
  case LUA_TNIL:
    if (type->kind != MW_TYPE_POINTER) return set_value(L, state, launch, info, i, index, device);
    code = mw_launch_address(launch, i, 0);
    break;
  default: {
    int64_t value;
    bool is_unsigned;
    if (type->kind > MW_TYPE_FLOAT || !mwl_test_int64(L, index, &value, &is_unsigned) || value < 0)
      return set_value(L, state, launch, info, i, index, device);
    code = mw_launch_int64(launch, i, value);
  }
  }
  return code ? CORE_FAILED : DONE;
}

/* Set all arguments, which are at stack places first..top. */
static outcome set_arguments(lua_State *L, mwl_state *state, mw_launch *launch, mwl_device *device, int first) {
  const mw_kernel_info *info = mw_kernel_describe(mw_launch_kernel(launch));
  int given = lua_gettop(L) - first + 1;
  if ((size_t)given != info->param_count) return refuse_count(L, info, given);
  for (size_t i = 0; i < info->param_count; i++) {
    outcome result = set_argument(L, state, launch, info, i, first + (int)i, device);
    if (result != DONE) return result;
  }
  return DONE;
}

static int raise_outcome(lua_State *L, mwl_state *state, outcome result, const mwl_kernel *kernel) {
  if (result != REFUSED) return mwl_raise(L, state);
  return mwl_usage_top(L, state, mw_kernel_describe(kernel->handle)->name);
}

/* ---- configured launches ---- */

static mwl_launch *check_launch(lua_State *L, mwl_state *state) {
  mwl_launch *launch = mwl_check(L, state, 1, MWL_LAUNCH, "a launch");
  launch->used = true;
  if (!launch->kernel->handle) mwl_closed(L, state, "a launch", "kernel");
  return launch;
}

static int run(mw_launch *launch, const mwl_stream *stream, const char *site) {
  return stream ? mw_launch_run_in(launch, stream->handle, site) : mw_launch_run(launch, site);
}

static void check_open(lua_State *L, mwl_state *state, const mwl_stream *stream) {
  if (stream && !stream->handle) mwl_refusal(L, state, "stream_closed", "");
}

/* The launch at stack place 1, its kernel ready to be given arguments. */
static mwl_launch *begin(lua_State *L, mwl_state *state) {
  mwl_launch *launch = check_launch(L, state);
  check_open(L, state, launch->config.stream);
  mwl_must(L, state, mwl_kernel_stand_at(launch->kernel, &launch->config));
  return launch;
}

/* Run the launch if its arguments could be set. */
static int finish(lua_State *L, mwl_state *state, mwl_launch *launch, outcome result) {
  mwl_kernel *kernel = launch->kernel;
  if (result == DONE && !launch->config.empty) {
    kernel->device->pending = true;
    if (run(kernel->launch, launch->config.stream, mwl_call_site(L, state, 1))) result = CORE_FAILED;
  }
  mw_launch_clear(kernel->launch);
  return result == DONE ? 0 : raise_outcome(L, state, result, kernel);
}

static int launch_call(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_launch *launch = begin(L, state);
  return finish(L, state, launch, set_arguments(L, state, launch->kernel->launch, launch->kernel->device, 2));
}

/* A grid's size that a library function has computed. The core refuses what is too large. */
static unsigned size_at(lua_State *L, int index) {
  lua_Number size = lua_tonumber(L, index);
  return size < UINT32_MAX ? (unsigned)size : UINT32_MAX;
}

/* kernel_run(k, site, x, y, z, threads, arguments…): k({x, y, z}, threads)(arguments…), launched at the line that call_site
   found. For the library's own kernels: it makes no object, and several may be launched for one line of a script. */
static int kernel_run(lua_State *L) {
  enum { SITE = 2, GRID, THREADS = 6, ARGUMENTS };
  mwl_state *state = mwl_of(L);
  mwl_kernel *kernel = mwl_check(L, state, 1, MWL_KERNEL, "a launch");
  if (!kernel->handle) mwl_closed(L, state, "a launch", "kernel");
  mwl_config config = {.grid = {size_at(L, GRID), size_at(L, GRID + 1), size_at(L, GRID + 2)},
                       .block = {size_at(L, THREADS), 1, 1}};
  mwl_must(L, state, mwl_kernel_stand_at(kernel, &config));
  outcome result = set_arguments(L, state, kernel->launch, kernel->device, ARGUMENTS);
  if (result == DONE) {
    kernel->device->pending = true;
    if (mw_launch_run(kernel->launch, lua_tostring(L, SITE))) result = CORE_FAILED;
  }
  mw_launch_clear(kernel->launch);
  return result == DONE ? 0 : raise_outcome(L, state, result, kernel);
}

/* call_site(level) -> "script.lua:12", the script's line that is running, or nil. level: of the first function that may be
   the script's, where 1 is the caller's */
static int call_site(lua_State *L) {
  const char *site = mwl_call_site(L, mwl_of(L), (int)luaL_checkinteger(L, 1));
  if (site)
    lua_pushstring(L, site);
  else
    lua_pushnil(L);
  return 1;
}

/* launch_clusters(launch) -> how many of its clusters the device holds, -1: it has no rule of its own */
static int launch_clusters(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_launch *launch = check_launch(L, state);
  int clusters;
  mwl_must(L, state, mwl_kernel_stand_at(launch->kernel, &launch->config));
  mwl_must(L, state, mw_launch_clusters(launch->kernel->launch, &clusters));
  mwl_pushinteger(L, clusters);
  return 1;
}

/* launch_block(launch, block, values): run it with a parameter block as a string, whose bytes hold but for parameters
   that `values` has a value for, by their numbers from 1. (cuParamSetv, CU_LAUNCH_PARAM_BUFFER_POINTER) */
static int launch_block(lua_State *L) {
  mwl_state *state = mwl_of(L);
  size_t bytes;
  const char *block = luaL_checklstring(L, 2, &bytes);
  luaL_checktype(L, 3, LUA_TTABLE);
  mwl_launch *launch = begin(L, state);
  mwl_kernel *kernel = launch->kernel;
  const mw_kernel_info *info = mw_kernel_describe(kernel->handle);
  outcome result = DONE;
  for (size_t i = 0; i < info->param_count && result == DONE; i++) {
    lua_rawgeti(L, 3, (int)i + 1);
    if (!lua_isnil(L, 4)) {
      result = set_argument(L, state, kernel->launch, info, i, 4, kernel->device);
    } else if (mw_launch_from_block(kernel->launch, i, block, bytes)) {
      result = CORE_FAILED;
    }
    if (result == DONE) lua_settop(L, 3);
  }
  return finish(L, state, launch, result);
}

/* A bound launch's, and no other userdata's. */
static const char marked;
static uintptr_t mark_of(const mwl_bound *bound) { return (uintptr_t)bound ^ (uintptr_t)&marked; }

/* launch:bind(arguments) -> an object to call with none */
static int launch_bind(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_launch *launch = check_launch(L, state);
  const mwl_config *config = &launch->config;
  const char *site = mwl_call_site(L, state, 1);
  size_t length = site ? strlen(site) : 0;
  mwl_bound *bound = mwl_userdata(L, sizeof *bound + length + 1);
  *bound = (mwl_bound){.mark = mark_of(bound), .device = launch->kernel->device, .stream = config->stream};
  bound->empty = config->empty;
  memcpy(bound->site, length ? site : "", length + 1);
  mwl_set_class(L, state, MWL_BOUND);
  mwl_getenv(L, 1);
  mwl_setenv(L, -2);
  lua_insert(L, 2);
  mwl_must(L, state,
           mw_launch_new(launch->kernel->handle, config->grid, config->block, config->shared, &bound->launch));
  mwl_must(L, state, mwl_launch_attributes(bound->launch, config));
  outcome result = set_arguments(L, state, bound->launch, bound->device, 3);
  if (result != DONE) return raise_outcome(L, state, result, launch->kernel);
  lua_settop(L, 2);
  return 1;
}

static int push_sizes(lua_State *L, const unsigned sizes[3]) {
  unsigned words[3] = {sizes[0], sizes[1], sizes[2]};
  mwl_push(L, mw_dtype("uint3"), words);
  return 1;
}

static int get_grid(lua_State *L) { return push_sizes(L, check_launch(L, mwl_of(L))->config.grid); }
static int get_block(lua_State *L) { return push_sizes(L, check_launch(L, mwl_of(L))->config.block); }

static int get_shared(lua_State *L) {
  mwl_pushinteger(L, check_launch(L, mwl_of(L))->config.shared);
  return 1;
}

static int get_cooperative(lua_State *L) {
  lua_pushboolean(L, check_launch(L, mwl_of(L))->config.cooperative != 0);
  return 1;
}

static int get_dependent(lua_State *L) {
  lua_pushboolean(L, check_launch(L, mwl_of(L))->config.dependent != 0);
  return 1;
}

/* nil where the launch sets none. */
static int get_cluster(lua_State *L) {
  const mwl_config *config = &check_launch(L, mwl_of(L))->config;
  if (config->cluster[0]) return push_sizes(L, config->cluster);
  lua_pushnil(L);
  return 1;
}

static int get_kernel(lua_State *L) {
  check_launch(L, mwl_of(L));
  mwl_getenv(L, 1);
  lua_getfield(L, -1, "kernel");
  return 1;
}

static int get_stream(lua_State *L) {
  if (!check_launch(L, mwl_of(L))->config.stream) return 0;
  mwl_getenv(L, 1);
  lua_getfield(L, -1, "stream");
  return 1;
}

/* k(grid, block) without the second call launches nothing. That the call is missing is known when the object is
   collected. */
static int launch_gc(lua_State *L) {
  mwl_launch *launch = mwl_test(L, mwl_of(L), 1, MWL_LAUNCH);
  if (!launch || launch->used || !launch->site[0]) return 0;
  launch->used = true;
  const mw_kernel *kernel = launch->kernel->handle;
  mwl_tell_unused(L, kernel ? mw_kernel_describe(kernel)->name : "k", launch->site);
  return 0;
}

/* ---- bound launches ----
 *
 * Between two calls the driver's own code and data have filled the processor's caches, so the cost of a call is the
 * number of cache lines that it touches, in Lua's code as well. A call therefore makes only three calls of Lua's API,
 * and a bound launch is recognised by its mark, not by its class. */

/* Why the call is refused. */
static int refuse_call(lua_State *L) __attribute__((cold, noinline));
static int refuse_call(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_bound *bound = mwl_check(L, state, 1, MWL_BOUND, "a bound launch");
  if (!bound->launch) return mwl_refusal(L, state, "bound_closed", "");
  if (lua_gettop(L) > 1) return mwl_refusal(L, state, "bound_arguments", "");
  check_open(L, state, bound->stream);
  return mwl_raise(L, state);
}

static int bound_call(lua_State *L) {
  mwl_bound *bound = lua_touserdata(L, 1);
  if (!bound || lua_rawlen(L, 1) < sizeof *bound || bound->mark != mark_of(bound)) return refuse_call(L);
  if (!bound->launch || lua_gettop(L) > 1) return refuse_call(L);
  if (bound->empty) return 0;
  if (bound->stream && !bound->stream->handle) return refuse_call(L);
  bound->device->pending = true;
  return run(bound->launch, bound->stream, bound->site) ? refuse_call(L) : 0;
}

static int bound_gc(lua_State *L) {
  mwl_bound *bound = mwl_test(L, mwl_of(L), 1, MWL_BOUND);
  if (!bound || !bound->launch) return 0;
  mw_launch_release(bound->launch);
  bound->launch = NULL;
  return 0;
}

void mwl_open_launch(lua_State *L, mwl_state *state) {
  static const luaL_Reg launch_meta[] = {{"__call", launch_call}, {"__gc", launch_gc}, {NULL, NULL}};
  static const luaL_Reg launch_methods[] = {{"bind", launch_bind}, {NULL, NULL}};
  static const luaL_Reg launch_facts[] = {
      {"grid", get_grid},           {"block", get_block},     {"shared", get_shared},
      {"kernel", get_kernel},       {"stream", get_stream},   {"cooperative", get_cooperative},
      {"dependent", get_dependent}, {"cluster", get_cluster}, {NULL, NULL}};
  static const luaL_Reg bound_meta[] = {
      {"__call", bound_call}, {"__gc", bound_gc}, {"__close", bound_gc}, {NULL, NULL}};
  static const luaL_Reg functions[] = {{"launch_block", launch_block},
                                       {"launch_clusters", launch_clusters},
                                       {"kernel_run", kernel_run},
                                       {"call_site", call_site},
                                       {NULL, NULL}};
  mwl_functions(L, functions, state);
  mwl_class_new(L, state, MWL_LAUNCH, launch_meta, launch_methods, launch_facts);
  mwl_class_new(L, state, MWL_BOUND, bound_meta, NULL, NULL);
}
