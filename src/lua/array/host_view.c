/* Host views: an array's memory as the host sees it, element by element and without a copy, where the device's memory is
 * host memory. A view keeps the array; of an array that was freed it refuses every access. */
#include "lua/binding.h"

typedef struct mwl_host {
  mw_array *handle;  /* a reference */
  mw_buffer *buffer; /* the array's */
  mw_module *module; /* a reference, where the dtype belongs to one */
  const mw_type *dtype;
  unsigned char *bytes;
  size_t count;
} mwl_host;

/* a:host() -> its elements in row order, 1 to count */
static int array_host(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_array *array = mwl_check_array(L, state, 1, "host");
  mwl_host *host = mwl_plain(L, sizeof *host);
  memset(host, 0, sizeof *host);
  mwl_set_class(L, state, MWL_HOST);
  mwl_settle(L, state, array->device);
  void *bytes;
  mwl_must(L, state, mw_array_host(array->handle, &bytes));
  host->dtype = array->dtype;
  host->count = mw_array_count(array->handle);
  host->buffer = mw_array_buffer(array->handle);
  host->bytes = bytes;
  host->module = array->module ? mw_module_retain(array->module) : NULL;
  host->handle = mw_array_retain(array->handle);
  return 1;
}

static mwl_host *check_host(lua_State *L, mwl_state *state) {
  mwl_host *host = mwl_check(L, state, 1, MWL_HOST, "a host view");
  if (!host->handle) mwl_usage(L, state, "this host view was closed");
  return host;
}

/* The element at the key at stack place 2; NULL for the one after the last. */
static unsigned char *check_place(lua_State *L, mwl_state *state, const mwl_host *host) {
  int64_t i;
  if (mw_buffer_is_freed(host->buffer)) mwl_refusal(L, state, "host_view", "");
  if (mwl_whole(L, 2, &i)) {
    if (i >= 1 && (uint64_t)i <= host->count) return host->bytes + (size_t)(i - 1) * host->dtype->size;
    if (i > 0 && (uint64_t)i == host->count + 1) return NULL;
  }
  mwl_refusal(L, state, "index", "vn", 2, (double)host->count);
  return NULL;
}

static int host_index(lua_State *L) {
  if (lua_type(L, 2) == LUA_TSTRING) return mwl_index_rest(L);
  mwl_state *state = mwl_of(L);
  mwl_host *host = check_host(L, state);
  const unsigned char *element = check_place(L, state, host);
  if (!element) return 0;
  mwl_push(L, host->dtype, element);
  return 1;
}

static int host_newindex(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_host *host = check_host(L, state);
  unsigned char *element = check_place(L, state, host);
  if (!element) return mwl_refusal(L, state, "index", "vn", 2, (double)host->count);
  /* Through a copy, so that nothing is written of a value that is refused halfway. */
  _Alignas(32) unsigned char local[4096];
  void *copy = host->dtype->size <= sizeof local ? local : mwl_plain(L, host->dtype->size);
  if (!mwl_pack_number(L, 3, host->dtype, copy)) {
    const mwl_place place = {NULL, "this element", 0};
    const mwl_keeper no_keeper = {0};
    if (!mwl_pack(L, state, 3, host->dtype, copy, &place, &no_keeper)) return mwl_usage_top(L, state, NULL);
  }
  memcpy(element, copy, host->dtype->size);
  return 0;
}

static int host_len(lua_State *L) {
  mwl_pushinteger(L, check_host(L, mwl_of(L))->count);
  return 1;
}

static int get_dtype(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_host *host = check_host(L, state);
  mwl_dtype_push(L, state, host->dtype, host->module);
  return 1;
}

/* The first element's address, as light userdata. */
static int get_pointer(lua_State *L) {
  lua_pushlightuserdata(L, check_host(L, mwl_of(L))->bytes);
  return 1;
}

static int host_gc(lua_State *L) {
  mwl_host *host = mwl_test(L, mwl_of(L), 1, MWL_HOST);
  if (!host || !host->handle) return 0;
  mw_array_release(host->handle);
  mw_module_release(host->module);
  host->handle = NULL;
  return 0;
}

void mwl_open_host(lua_State *L, mwl_state *state) {
  static const luaL_Reg meta[] = {
      {"__gc", host_gc}, {"__index", host_index}, {"__newindex", host_newindex}, {"__len", host_len}, {NULL, NULL}};
  static const luaL_Reg facts[] = {{"count", host_len}, {"dtype", get_dtype}, {"pointer", get_pointer}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"host", array_host}, {NULL, NULL}};
  mwl_class_new(L, state, MWL_HOST, meta, NULL, facts);
  lua_getfield(L, -1, "classes");
  lua_getfield(L, -1, "array");
  mwl_functions(L, methods, state);
  lua_pop(L, 2);
}
