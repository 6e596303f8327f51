/* Graphs: captured from streams, instantiated, launched. Nodes count from 1 here.
 *
 * The Lua functions of a graph's host nodes stand in a table of the registry, by the graph's handle and in the order of
 * the nodes; an exec keeps a copy of it as its environment. */
#include "binding.h"

static const char functions_key; /* in the registry: light userdata of a graph -> sequence of functions */

static mwl_graph *check_graph(lua_State *L, mwl_state *state, int index, const char *what) {
  mwl_graph *graph = mwl_check(L, state, index, MWL_GRAPH, what);
  if (!graph->handle) mwl_closed(L, state, what, "graph");
  return graph;
}

static mwl_graph_exec *check_exec(lua_State *L, mwl_state *state, const char *what) {
  mwl_graph_exec *exec = mwl_check(L, state, 1, MWL_GRAPH_EXEC, what);
  if (!exec->handle) mwl_closed(L, state, what, "graph");
  return exec;
}

/* Push the functions of a graph. */
static void push_functions(lua_State *L, const mw_graph *graph) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &functions_key);
  lua_rawgetp(L, -1, graph);
  lua_remove(L, -2);
}

void mwl_graph_keep_function(lua_State *L, const mw_graph *graph, int index) {
  push_functions(L, graph);
  if (lua_istable(L, -1)) {
    lua_pushvalue(L, index);
    lua_rawseti(L, -2, (int)lua_rawlen(L, -2) + 1);
  }
  lua_pop(L, 1);
}

/* A new table for the functions of the graph's host nodes. */
static void make_functions(lua_State *L, const mw_graph *graph) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &functions_key);
  lua_newtable(L);
  lua_rawsetp(L, -2, graph);
  lua_pop(L, 1);
}

/* graph_new() -> graph */
static int graph_new(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_graph *graph = mwl_plain(L, sizeof *graph);
  *graph = (mwl_graph){.device = mwl_current(L, state)};
  mwl_set_class(L, state, MWL_GRAPH);
  mwl_must(L, state, mw_graph_new(graph->device->handle, &graph->handle));
  make_functions(L, graph->handle);
  return 1;
}

static int graph_gc(lua_State *L) {
  mwl_graph *graph = mwl_test(L, mwl_of(L), 1, MWL_GRAPH);
  if (!graph || !graph->handle) return 0;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &functions_key);
  lua_pushnil(L);
  lua_rawsetp(L, -2, graph->handle);
  mw_graph_release(graph->handle);
  graph->handle = NULL;
  return 0;
}

/* A node's number at `index`, from 1, as the core counts it. */
static size_t node_at(lua_State *L, mwl_state *state, int index) {
  int64_t node;
  if (!mwl_whole(L, index, &node) || node < 1) mwl_refusal(L, state, "node", "v", index);
  return (size_t)node - 1;
}

/* The nodes in the sequence at `index`, or none; in a userdata left on the stack. */
static const size_t *nodes_at(lua_State *L, mwl_state *state, int index, size_t *count) {
  bool given = lua_type(L, index) == LUA_TTABLE;
  *count = given ? lua_rawlen(L, index) : 0;
  size_t *nodes = mwl_plain(L, (*count + 1) * sizeof *nodes);
  for (size_t i = 0; i < *count; i++) {
    lua_rawgeti(L, index, (int)i + 1);
    nodes[i] = node_at(L, state, -1);
    lua_pop(L, 1);
  }
  return nodes;
}

/* graph_capture(graph, stream, {nodes}, mode): the stream's work becomes nodes after these */
static int graph_capture(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_graph *graph = check_graph(L, state, 1, "a capture");
  mwl_stream *stream = mwl_check_stream(L, state, 2, "a capture");
  mw_capture_mode mode = (mw_capture_mode)luaL_optinteger(L, 4, MW_CAPTURE_GLOBAL);
  size_t count;
  const size_t *nodes = nodes_at(L, state, 3, &count);
  mwl_must(L, state, mw_graph_capture(graph->handle, stream->handle, nodes, count, mode));
  return 0;
}

/* graph_capture_end(stream) -> the last node, or nil */
static int graph_capture_end(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_stream *stream = mwl_check_stream(L, state, 1, "a capture");
  size_t last;
  mwl_must(L, state, mw_graph_capture_end(stream->handle, &last));
  if (last == SIZE_MAX) return 0;
  mwl_pushinteger(L, (int64_t)last + 1);
  return 1;
}

/* stream_capturing(stream) -> whether it captures, whether that has failed */
static int stream_capturing(lua_State *L) {
  int spoilt;
  mw_graph *graph = mw_stream_capturing(mwl_check_stream(L, mwl_of(L), 1, "a capture")->handle, &spoilt);
  lua_pushboolean(L, graph != NULL);
  lua_pushboolean(L, spoilt);
  return 2;
}

static int get_count(lua_State *L) {
  mwl_pushinteger(L, (int64_t)mw_graph_count(check_graph(L, mwl_of(L), 1, "count")->handle));
  return 1;
}

/* g:node(i) -> {kind =, label =, after = {nodes}} */
static int graph_node(lua_State *L) {
  static const char *const kinds[] = {"kernel", "copy", "fill", "host", "empty", "conditional"};
  mwl_state *state = mwl_of(L);
  mwl_graph *graph = check_graph(L, state, 1, "node");
  mw_node_info info;
  mwl_must(L, state, mw_graph_node(graph->handle, node_at(L, state, 2), &info));
  lua_createtable(L, 0, 3);
  lua_pushstring(L, kinds[info.kind]);
  lua_setfield(L, -2, "kind");
  lua_pushstring(L, info.label);
  lua_setfield(L, -2, "label");
  lua_createtable(L, (int)info.after_count, 0);
  for (size_t i = 0; i < info.after_count; i++) {
    mwl_pushinteger(L, (int64_t)info.after[i] + 1);
    lua_rawseti(L, -2, (int)i + 1);
  }
  lua_setfield(L, -2, "after");
  return 1;
}

/* g:empty({nodes}) -> node */
static int graph_empty(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_graph *graph = check_graph(L, state, 1, "empty");
  size_t count, node;
  const size_t *nodes = nodes_at(L, state, 2, &count);
  mwl_must(L, state, mw_graph_add_empty(graph->handle, nodes, count, &node));
  mwl_pushinteger(L, (int64_t)node + 1);
  return 1;
}

/* g:depend(node, on) */
static int graph_depend(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_graph *graph = check_graph(L, state, 1, "depend");
  mwl_must(L, state, mw_graph_depend(graph->handle, node_at(L, state, 2), node_at(L, state, 3)));
  return 0;
}

/* graph_condition(graph, value or nil) -> the condition's handle */
static int graph_condition(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_graph *graph = check_graph(L, state, 1, "condition");
  int64_t value = 0;
  bool assigned = !lua_isnoneornil(L, 2);
  if (assigned && (!mwl_whole(L, 2, &value) || value < 0 || value > UINT32_MAX))
    mwl_refusal(L, state, "size", "sv", "g:condition", 2);
  uint64_t handle;
  mwl_must(L, state, mw_graph_condition_new(graph->handle, (unsigned)value, assigned, &handle));
  mwl_pushinteger(L, (int64_t)handle);
  return 1;
}

/* graph_conditional(graph, {nodes}, kind, condition, count) -> node, {bodies} */
static int graph_conditional(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_graph *graph = check_graph(L, state, 1, "conditional");
  mw_conditional kind = (mw_conditional)luaL_checkinteger(L, 3);
  int64_t handle = 0, bodies = 0;
  if (!mwl_whole(L, 4, &handle)) mwl_refusal(L, state, "size", "sv", "g:conditional", 4);
  if (!mwl_whole(L, 5, &bodies) || bodies < 0 || bodies > UINT16_MAX)
    mwl_refusal(L, state, "size", "sv", "g:conditional", 5);
  size_t count, node;
  const size_t *nodes = nodes_at(L, state, 2, &count);
  mw_graph **made = mwl_plain(L, ((size_t)bodies + 1) * sizeof *made);
  mwl_must(L, state,
           mw_graph_add_conditional(graph->handle, kind, (uint64_t)handle, (size_t)bodies, nodes, count, &node, made));
  mwl_pushinteger(L, (int64_t)node + 1);
  lua_createtable(L, (int)bodies, 0);
  for (int i = 0; i < (int)bodies; i++) {
    mwl_graph *body = mwl_plain(L, sizeof *body);
    *body = (mwl_graph){.device = graph->device};
    mwl_set_class(L, state, MWL_GRAPH);
    body->handle = mw_graph_retain(made[i]);
    make_functions(L, body->handle);
    lua_rawseti(L, -2, i + 1);
  }
  return 2;
}

/* ---- execs ---- */

/* g:instantiate() -> exec */
static int graph_instantiate(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_graph *graph = check_graph(L, state, 1, "instantiate");
  mwl_graph_exec *exec = mwl_userdata(L, sizeof *exec);
  *exec = (mwl_graph_exec){.device = graph->device};
  mwl_set_class(L, state, MWL_GRAPH_EXEC);
  push_functions(L, graph->handle);
  int count = (int)lua_rawlen(L, -1);
  lua_createtable(L, count, 0);
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(L, -2, i);
    lua_rawseti(L, -2, i);
  }
  lua_remove(L, -2);
  mwl_setenv(L, -2);
  mwl_must(L, state, mw_graph_instantiate(graph->handle, &exec->handle));
  return 1;
}

static int exec_gc(lua_State *L) {
  mwl_graph_exec *exec = mwl_test(L, mwl_of(L), 1, MWL_GRAPH_EXEC);
  if (!exec) return 0;
  mw_graph_exec_release(exec->handle);
  exec->handle = NULL;
  return 0;
}

/* e:launch([stream]) -> e */
static int exec_launch(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_graph_exec *exec = check_exec(L, state, "launch");
  lua_settop(L, 2);
  mw_stream *stream =
      lua_isnil(L, 2) ? mwl_stream_in_use(L, state, exec->device) : mwl_check_stream(L, state, 2, "e:launch")->handle;
  size_t count = mw_graph_exec_holds(exec->handle);
  mw_hold **holds = NULL;
  if (count > 0) {
    mw_hold ***places = mwl_plain(L, count * sizeof *places);
    holds = mwl_plain(L, count * sizeof *holds);
    mwl_getenv(L, 1);
    for (size_t i = 0; i < count; i++) {
      lua_rawgeti(L, 5, (int)i + 1);
      places[i] = mwl_queue_call(L, state);
    }
    if (mw_graph_exec_launch(exec->handle, stream, holds) != MW_SUCCESS) {
      mwl_unqueue_calls(L, state, count);
      mwl_raise(L, state);
    }
    for (size_t i = 0; i < count; i++) *places[i] = holds[i];
  } else {
    mwl_must(L, state, mw_graph_exec_launch(exec->handle, stream, NULL));
  }
  exec->device->pending = true;
  lua_settop(L, 1);
  return 1;
}

/* Replace a node by the only node of the graph at stack place 3, and its function if it is a host node. */
static void set_node(lua_State *L, mwl_state *state, mwl_graph_exec *exec, size_t node) {
  mwl_graph *graph = check_graph(L, state, 3, "e:set");
  size_t hold;
  mwl_must(L, state, mw_graph_exec_set_node(exec->handle, node, graph->handle, &hold));
  if (hold == SIZE_MAX) return;
  mwl_getenv(L, 1);
  push_functions(L, graph->handle);
  lua_rawgeti(L, -1, 1);
  lua_rawseti(L, -3, (int)hold + 1);
}

/* e:set(node, bound launch or graph of one node) -> e */
static int exec_set(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_graph_exec *exec = check_exec(L, state, "set");
  size_t node = node_at(L, state, 2);
  if (mwl_test(L, state, 3, MWL_GRAPH)) {
    set_node(L, state, exec, node);
    lua_settop(L, 1);
    return 1;
  }
  mwl_bound *bound = mwl_check(L, state, 3, MWL_BOUND, "e:set");
  if (!bound->launch) return mwl_closed(L, state, "e:set", "bound launch");
  char site[512];
  mwl_must(L, state,
           mw_graph_exec_set_launch(exec->handle, node, bound->launch, mwl_site(L, state, site, sizeof site)));
  lua_settop(L, 1);
  return 1;
}

/* e:update(graph) -> e */
static int exec_update(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_graph_exec *exec = check_exec(L, state, "update");
  mwl_graph *graph = check_graph(L, state, 2, "e:update");
  mwl_must(L, state, mw_graph_exec_update(exec->handle, graph->handle, NULL));
  push_functions(L, graph->handle);
  mwl_getenv(L, 1);
  for (int i = 1, count = (int)lua_rawlen(L, -2); i <= count; i++) {
    lua_rawgeti(L, -2, i);
    lua_rawseti(L, -2, i);
  }
  lua_settop(L, 1);
  return 1;
}

void mwl_open_graph(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"graph_new", graph_new},
                                       {"graph_capture", graph_capture},
                                       {"graph_condition", graph_condition},
                                       {"graph_conditional", graph_conditional},
                                       {"graph_capture_end", graph_capture_end},
                                       {"stream_capturing", stream_capturing},
                                       {NULL, NULL}};
  static const luaL_Reg graph_meta[] = {{"__gc", graph_gc}, {NULL, NULL}};
  static const luaL_Reg graph_methods[] = {{"node", graph_node},
                                           {"empty", graph_empty},
                                           {"depend", graph_depend},
                                           {"instantiate", graph_instantiate},
                                           {NULL, NULL}};
  static const luaL_Reg graph_facts[] = {{"count", get_count}, {NULL, NULL}};
  static const luaL_Reg exec_meta[] = {{"__gc", exec_gc}, {"__close", exec_gc}, {NULL, NULL}};
  static const luaL_Reg exec_methods[] = {
      {"launch", exec_launch}, {"set", exec_set}, {"update", exec_update}, {"free", exec_gc}, {NULL, NULL}};
  mwl_functions(L, functions, state);
  mwl_class_new(L, state, MWL_GRAPH, graph_meta, graph_methods, graph_facts);
  mwl_class_new(L, state, MWL_GRAPH_EXEC, exec_meta, exec_methods, NULL);
  lua_newtable(L);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &functions_key);
}
