/* Kernel objects, and their configurations: k(grid, block[, shared[, stream]]).
 *
 * A configuration is an immutable object, so a loop that launches with the same grid and block gets the same object each
 * time and makes no garbage. A kernel's environment holds its module ("module") and its newest configuration ([1]); it is
 * also the environment of every configuration, which so keep the kernel. */
#include "lua/binding.h"

void mwl_kernel_push(lua_State *L, mwl_state *state, int module_index, const char *name, mwl_device *device) {
  mwl_module *module = lua_touserdata(L, module_index);
  mwl_kernel *kernel = mwl_userdata(L, sizeof *kernel);
  memset(kernel, 0, sizeof *kernel);
  kernel->device = device;
  mwl_set_class(L, state, MWL_KERNEL);
  lua_createtable(L, 1, 2);
  lua_pushvalue(L, module_index);
  lua_setfield(L, -2, "module");
  lua_pushvalue(L, -2);
  lua_setfield(L, -2, "kernel");
  mwl_setenv(L, -2);
  mwl_must(L, state, mw_module_kernel(module->handle, name, &kernel->handle));
}

static mwl_kernel *check_kernel(lua_State *L, mwl_state *state, const char *what) {
  mwl_kernel *kernel = mwl_check(L, state, 1, MWL_KERNEL, what);
  if (!kernel->handle) mwl_closed(L, state, what, "kernel");
  return kernel;
}

/* ---- configurations ---- */

enum { STREAM = 5 }; /* the stack place of k(grid, block, shared, stream) */

static const char *const axes[3] = {"x", "y", "z"};

static unsigned check_size(lua_State *L, mwl_state *state, int index, const char *what, int axis) {
  char where[40];
  int64_t size;
  if (mwl_whole(L, index, &size) && size >= 0 && size <= UINT32_MAX) return (unsigned)size;
  snprintf(where, sizeof where, axis < 0 ? "%s" : "%s.%s", what, axis < 0 ? "" : axes[axis]);
  mwl_refusal(L, state, "launch_size", "sv", where, index);
  return 0;
}

/* A number or {x[, y[, z]]}, by place or by name; what is not given is `missing`. Returns how many were given. */
static int check_sizes(lua_State *L, mwl_state *state, int index, const char *what, unsigned out[3]) {
  out[1] = out[2] = 1;
  if (lua_type(L, index) != LUA_TTABLE) {
    out[0] = check_size(L, state, index, what, -1);
    return 1;
  }
  int given = 0;
  for (int axis = 0; axis < 3; axis++) {
    lua_rawgeti(L, index, axis + 1);
    if (lua_isnil(L, -1)) {
      lua_pop(L, 1);
      lua_pushstring(L, axes[axis]);
      lua_rawget(L, index);
    }
    if (lua_isnil(L, -1) && axis > 0) {
      out[axis] = 1;
    } else {
      out[axis] = check_size(L, state, -1, what, axis);
      given = axis + 1;
    }
    lua_pop(L, 1);
  }
  if (lua_rawlen(L, index) > 3) mwl_refusal(L, state, "launch_sizes", "s", what);
  return given;
}

_Static_assert(sizeof(mwl_config) == 10 * sizeof(unsigned) + 4 * sizeof(size_t), "mwl_config has padding");
static bool same(const mwl_config *a, const mwl_config *b) { return memcmp(a, b, sizeof *a) == 0; }

int mwl_launch_attributes(mw_launch *launch, const mwl_config *config) {
  if (config->cooperative) mw_launch_cooperate(launch);
  if (config->dependent) mw_launch_depend(launch);
  return config->cluster[0] ? mw_launch_cluster(launch, config->cluster) : MW_SUCCESS;
}

/* Configure the kernel's own launch. The core checks it against the device's and the kernel's limits. */
int mwl_kernel_stand_at(mwl_kernel *kernel, const mwl_config *config) {
  int code = MW_SUCCESS;
  if (!kernel->launch)
    code = mw_launch_new(kernel->handle, config->grid, config->block, config->shared, &kernel->launch);
  else if (!same(&kernel->now, config))
    code = mw_launch_configure(kernel->launch, config->grid, config->block, config->shared);
  memset(&kernel->now, 0, sizeof kernel->now); /* no configuration, until it has succeeded */
  if (!code) code = mwl_launch_attributes(kernel->launch, config);
  if (!code) kernel->now = *config;
  return code;
}

/* Push the configuration object of the kernel at stack place 1. */
static int push_launch(lua_State *L, mwl_state *state, mwl_kernel *kernel, const mwl_config *config) {
  mwl_getenv(L, 1);
  if (kernel->last && same(&kernel->last->config, config)) {
    lua_rawgeti(L, -1, 1);
    return 1;
  }
  mwl_must(L, state, mwl_kernel_stand_at(kernel, config));
  const char *site = mwl_call_site(L, state, 1);
  size_t length = site ? strlen(site) : 0;
  mwl_launch *launch = mwl_userdata(L, sizeof *launch + length + 1);
  *launch = (mwl_launch){.kernel = kernel, .config = *config};
  memcpy(launch->site, length ? site : "", length + 1);
  mwl_set_class(L, state, MWL_LAUNCH);
  if (config->stream) {
    lua_createtable(L, 0, 2);
    lua_pushvalue(L, 1);
    lua_setfield(L, -2, "kernel");
    lua_pushvalue(L, STREAM);
    lua_setfield(L, -2, "stream");
  } else {
    lua_pushvalue(L, -2);
  }
  mwl_setenv(L, -2);
  lua_pushvalue(L, -1);
  lua_rawseti(L, -3, 1);
  kernel->last = launch;
  return 1;
}

static int configure(lua_State *L, mwl_config config) {
  mwl_state *state = mwl_of(L);
  mwl_kernel *kernel = check_kernel(L, state, "a launch");
  if (lua_gettop(L) > STREAM) mwl_refusal(L, state, "launch_values", "n", (double)(lua_gettop(L) - 1));
  check_sizes(L, state, 2, "grid", config.grid);
  check_sizes(L, state, 3, "block", config.block);
  int given = lua_gettop(L);
  if (given >= 4 && !lua_isnil(L, 4)) {
    int64_t shared;
    if (!mwl_whole(L, 4, &shared) || shared < 0)
      return mwl_refusal(L, state, "shared", "vs", 4, mw_kernel_describe(kernel->handle)->name);
    config.shared = (size_t)shared;
  }
  if (given >= STREAM && !lua_isnil(L, STREAM) &&
      !(lua_type(L, STREAM) == LUA_TNUMBER && lua_tonumber(L, STREAM) == 0)) {
    if (!mwl_test(L, state, STREAM, MWL_STREAM)) return mwl_refusal(L, state, "launch_stream", "v", STREAM);
    config.stream = mwl_check_stream(L, state, STREAM, "a launch");
    if (config.stream->device != kernel->device)
      return mwl_refusal(L, state, "launch_device", "ss", mw_device_name(kernel->device->handle),
                         mw_device_name(config.stream->device->handle));
  }
  return push_launch(L, state, kernel, &config);
}

static int kernel_call(lua_State *L) { return configure(L, (mwl_config){0}); }
static int kernel_cooperative(lua_State *L) { return configure(L, (mwl_config){.cooperative = 1}); }
static int kernel_dependent(lua_State *L) { return configure(L, (mwl_config){.dependent = 1}); }

/* k:cluster(size, grid, block, …) */
static int kernel_cluster(lua_State *L) {
  mwl_config config = {0};
  mwl_state *state = mwl_of(L);
  check_kernel(L, state, "a launch");
  lua_settop(L, lua_gettop(L) < 2 ? 2 : lua_gettop(L));
  check_sizes(L, state, 2, "cluster", config.cluster);
  if (config.cluster[0] == 0) mwl_refusal(L, state, "launch_size", "sv", "cluster", 2);
  lua_remove(L, 2);
  return configure(L, config);
}

/* kernel_launch(k, flags, cluster or nil, grid, block, …): flags 1: cooperative, 2: dependent */
static int kernel_launch(lua_State *L) {
  mwl_state *state = mwl_of(L);
  lua_Integer flags = luaL_checkinteger(L, 2);
  mwl_config config = {.cooperative = (flags & 1) != 0, .dependent = (flags & 2) != 0};
  check_kernel(L, state, "a launch");
  if (!lua_isnil(L, 3)) check_sizes(L, state, 3, "cluster", config.cluster);
  lua_remove(L, 3);
  lua_remove(L, 2);
  return configure(L, config);
}

/* k:each(n), k:each{nx, ny}: at least one thread for each. Blocks of 256 threads, wide rather than tall: threadIdx.x runs
   along memory. */
static int kernel_each(lua_State *L) {
  static const unsigned wanted[3][3] = {{256, 1, 1}, {32, 8, 1}, {32, 4, 2}};
  mwl_state *state = mwl_of(L);
  mwl_kernel *kernel = check_kernel(L, state, "each");
  mwl_config config = {0};
  unsigned count[3];
  if (lua_gettop(L) > 2) mwl_refusal(L, state, "each", "n", (double)(lua_gettop(L) - 1));
  int axes_given = check_sizes(L, state, 2, "each", count);
  unsigned most = (unsigned)mw_kernel_describe(kernel->handle)->max_threads, threads = 1;
  for (int i = 0; i < 3; i++) {
    unsigned block = wanted[axes_given - 1][i];
    if (block > count[i]) block = count[i] ? count[i] : 1;
    while (block > 1 && most && threads * block > most) block = (block + 1) / 2;
    threads *= block;
    config.block[i] = block;
    config.grid[i] = count[i] / block + (count[i] % block != 0);
    if (!count[i]) config.empty = 1;
  }
  if (config.empty) config.grid[0] = config.grid[1] = config.grid[2] = 1;
  return push_launch(L, state, kernel, &config);
}

/* ---- facts ---- */

static const mw_kernel_info *describe(lua_State *L) {
  return mw_kernel_describe(check_kernel(L, mwl_of(L), "a kernel's field")->handle);
}

static int push_text(lua_State *L, const char *text) {
  if (text)
    lua_pushstring(L, text);
  else
    lua_pushnil(L);
  return 1;
}

static int push_count(lua_State *L, int64_t count) {
  mwl_pushinteger(L, count);
  return 1;
}

static int get_name(lua_State *L) { return push_text(L, describe(L)->name); }
static int get_linkage(lua_State *L) { return push_text(L, describe(L)->linkage); }
static int get_shared_bytes(lua_State *L) { return push_count(L, (int64_t)describe(L)->shared_bytes); }
static int get_local_bytes(lua_State *L) { return push_count(L, (int64_t)describe(L)->local_bytes); }
/* By __cluster_dims__; nil: the launch says. */
static int get_cluster_dims(lua_State *L) {
  const unsigned *cluster = describe(L)->cluster;
  if (cluster[0] == 0) return 0;
  lua_createtable(L, 3, 0);
  for (int i = 0; i < 3; i++) {
    mwl_pushinteger(L, cluster[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int get_max_threads(lua_State *L) { return push_count(L, describe(L)->max_threads); }
static int get_registers(lua_State *L) { return push_count(L, describe(L)->registers); }
static int get_tier(lua_State *L) { return push_text(L, describe(L)->tier); }
static int get_tier_reason(lua_State *L) { return push_text(L, describe(L)->tier_reason); }
static int get_file(lua_State *L) { return push_text(L, describe(L)->file); }
static int get_line(lua_State *L) { return push_count(L, describe(L)->line); }

/* k:signature() -> "saxpy(int n, float a, const float *x, float *y)" */
static int kernel_signature(lua_State *L) {
  const mw_kernel_info *info = mw_kernel_describe(check_kernel(L, mwl_of(L), "signature")->handle);
  size_t size = mw_kernel_signature(info, NULL, 0) + 1;
  char *text = mwl_plain(L, size);
  mw_kernel_signature(info, text, size);
  lua_pushstring(L, text);
  return 1;
}

/* A sequence of what mwl_place_push says. */
static int get_params(lua_State *L) {
  mwl_state *state = mwl_of(L);
  const mwl_kernel *kernel = check_kernel(L, state, "a kernel's field");
  const mw_kernel_info *info = mw_kernel_describe(kernel->handle);
  lua_createtable(L, (int)info->param_count, 0);
  for (size_t i = 0; i < info->param_count; i++) {
    const mw_param *param = &info->params[i];
    mwl_place_push(L, state, param->name, param->type, param->offset, mw_kernel_module(kernel->handle));
    lua_rawseti(L, -2, (int)i + 1);
  }
  return 1;
}

static int get_module(lua_State *L) {
  check_kernel(L, mwl_of(L), "module");
  mwl_getenv(L, 1);
  lua_getfield(L, -1, "module");
  return 1;
}

static int kernel_gc(lua_State *L) {
  mwl_kernel *kernel = mwl_test(L, mwl_of(L), 1, MWL_KERNEL);
  if (!kernel) return 0;
  mw_launch_release(kernel->launch);
  mw_kernel_release(kernel->handle);
  kernel->launch = NULL;
  kernel->handle = NULL;
  return 0;
}

void mwl_open_kernel(lua_State *L, mwl_state *state) {
  static const luaL_Reg meta[] = {{"__gc", kernel_gc}, {"__call", kernel_call}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"each", kernel_each},           {"cooperative", kernel_cooperative},
                                     {"cluster", kernel_cluster},     {"dependent", kernel_dependent},
                                     {"signature", kernel_signature}, {NULL, NULL}};
  static const luaL_Reg facts[] = {{"name", get_name},
                                   {"linkage", get_linkage},
                                   {"params", get_params},
                                   {"module", get_module},
                                   {"shared_bytes", get_shared_bytes},
                                   {"local_bytes", get_local_bytes},
                                   {"cluster_dims", get_cluster_dims},
                                   {"max_threads", get_max_threads},
                                   {"registers", get_registers},
                                   {"tier", get_tier},
                                   {"tier_reason", get_tier_reason},
                                   {"file", get_file},
                                   {"line", get_line},
                                   {NULL, NULL}};
  static const luaL_Reg functions[] = {{"kernel_launch", kernel_launch}, {NULL, NULL}};
  mwl_functions(L, functions, state);
  mwl_class_new(L, state, MWL_KERNEL, meta, methods, facts);
}
