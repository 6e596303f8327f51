/* Reading a graph's nodes: their kinds, dependencies and attributes. */
#include "graph.h"

/* `list` (NULL: only count) has room for *count. */
static void list_nodes(graph *g, const size_t *numbers, size_t have, cudaGraphNode_t *list, size_t *count) {
  for (size_t i = 0; list && i < have && i < *count; i++) list[i] = host_node_handle(g, numbers ? numbers[i] : i);
  *count = list && *count < have ? *count : have;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t *nodes, size_t *count) {
  graph *g;
  int code = host_graph_get(handle, &g);
  if (code == MW_SUCCESS) list_nodes(g, NULL, mw_graph_count(g->graph), nodes, count);
  return host_end(code);
}

static int node_info(cudaGraphNode_t handle, node **n, mw_node_info *info) {
  int code = host_node_get(handle, n);
  return code ? code : mw_graph_node((*n)->graph->graph, (*n)->number, info);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t handle, enum cudaGraphNodeType *type) {
  static const enum cudaGraphNodeType types[] = {
      [MW_NODE_KERNEL] = cudaGraphNodeTypeKernel, [MW_NODE_COPY] = cudaGraphNodeTypeMemcpy,
      [MW_NODE_FILL] = cudaGraphNodeTypeMemset,   [MW_NODE_HOST] = cudaGraphNodeTypeHost,
      [MW_NODE_EMPTY] = cudaGraphNodeTypeEmpty,   [MW_NODE_CONDITIONAL] = cudaGraphNodeTypeConditional,
  };
  node *n;
  mw_node_info info;
  int code = node_info(handle, &n, &info);
  if (code == MW_SUCCESS) *type = types[info.kind];
  return host_end(code);
}

cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t handle, cudaGraphNode_t *nodes, size_t *count) {
  node *n;
  mw_node_info info;
  int code = node_info(handle, &n, &info);
  if (code == MW_SUCCESS) list_nodes(n->graph, info.after, info.after_count, nodes, count);
  return host_end(code);
}

static int print_dot(const graph *g, const char *path) {
  mw_node_info info;
  FILE *file = path ? fopen(path, "we") : NULL;
  if (!file) return host_fail(MW_OPERATING_SYSTEM, "cannot write '%s'", path ? path : "(null)");
  fputs("digraph graph_ {\n", file);
  for (size_t i = 0; mw_graph_node(g->graph, i, &info) == MW_SUCCESS; i++) {
    fprintf(file, "  n%zu [label=\"%s\"];\n", i + 1, info.label);
    for (size_t k = 0; k < info.after_count; k++) fprintf(file, "  n%zu -> n%zu;\n", info.after[k] + 1, i + 1);
  }
  fputs("}\n", file);
  return fclose(file) == 0 ? MW_SUCCESS : host_fail(MW_OPERATING_SYSTEM, "cannot write '%s'", path);
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t handle, const char *path, unsigned flags) {
  graph *g;
  (void)flags;
  int code = host_graph_get(handle, &g);
  return host_end(code ? code : print_dot(g, path));
}

/* ---- edges ---- */

/* f(context, from, to) for each edge. */
static void each_edge(const graph *g, void (*f)(void *context, size_t from, size_t to), void *context) {
  mw_node_info info;
  for (size_t to = 0; mw_graph_node(g->graph, to, &info) == MW_SUCCESS; to++)
    for (size_t k = 0; k < info.after_count; k++) f(context, info.after[k], to);
}

/* Nodes collected from the edges that leave `only` (SIZE_MAX: from all edges). */
typedef struct collected {
  graph *g;
  size_t only, count, room;
  cudaGraphNode_t *from, *to;
} collected;

static void collect(void *context, size_t from, size_t to) {
  collected *c = context;
  if (c->only != SIZE_MAX && c->only != from) return;
  if (c->count < c->room && c->from) c->from[c->count] = host_node_handle(c->g, from);
  if (c->count < c->room && c->to) c->to[c->count] = host_node_handle(c->g, to);
  c->count++;
}

static void finish(const collected *c, bool counting, size_t *count) {
  *count = counting || c->count < c->room ? c->count : c->room;
}

cudaError_t cudaGraphGetEdges(cudaGraph_t handle, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count) {
  graph *g;
  int code = host_graph_get(handle, &g);
  if (code != MW_SUCCESS) return host_end(code);
  collected c = {.g = g, .only = SIZE_MAX, .room = *count, .from = from, .to = to};
  each_edge(g, collect, &c);
  finish(&c, !from && !to, count);
  return host_end(MW_SUCCESS);
}

cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t handle, cudaGraphNode_t *nodes, size_t *count) {
  node *n;
  int code = host_node_get(handle, &n);
  if (code != MW_SUCCESS) return host_end(code);
  collected c = {.g = n->graph, .only = n->number, .room = *count, .to = nodes};
  each_edge(n->graph, collect, &c);
  finish(&c, !nodes, count);
  return host_end(MW_SUCCESS);
}

cudaError_t cudaGraphGetRootNodes(cudaGraph_t handle, cudaGraphNode_t *nodes, size_t *count) {
  graph *g;
  mw_node_info info;
  size_t found = 0;
  int code = host_graph_get(handle, &g);
  if (code != MW_SUCCESS) return host_end(code);
  for (size_t i = 0; mw_graph_node(g->graph, i, &info) == MW_SUCCESS; i++) {
    if (info.after_count > 0) continue;
    if (nodes && found < *count) nodes[found] = host_node_handle(g, i);
    found++;
  }
  *count = nodes && *count < found ? *count : found;
  return host_end(MW_SUCCESS);
}

/* ---- attributes of kernel nodes: accepted and reported ---- */

static int attribute_of(cudaGraphNode_t handle, int which, cudaKernelNodeAttrValue **out) {
  node *n;
  mw_node_info info;
  int code = node_info(handle, &n, &info);
  if (code != MW_SUCCESS) return code;
  if (info.kind != MW_NODE_KERNEL) return host_fail(MW_INVALID_VALUE, "this node is not a kernel node");
  if (which != cudaKernelNodeAttributeAccessPolicyWindow && which != cudaKernelNodeAttributeCooperative)
    return host_fail(MW_INVALID_VALUE, "a kernel node has no attribute %d", which);
  *out = which == cudaKernelNodeAttributeCooperative ? &n->cooperative : &n->window;
  return MW_SUCCESS;
}

cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t handle, cudaKernelNodeAttrID attr,
                                            const cudaKernelNodeAttrValue *value) {
  cudaKernelNodeAttrValue *place;
  int code = attribute_of(handle, (int)attr, &place);
  bool window = attr == cudaKernelNodeAttributeAccessPolicyWindow;
  if (code == MW_SUCCESS && window &&
      !(value->accessPolicyWindow.hitRatio >= 0 && value->accessPolicyWindow.hitRatio <= 1))
    code = host_fail(MW_INVALID_VALUE, "the hitRatio of an access-policy window is a number from 0 to 1");
  if (code == MW_SUCCESS && !window && value->cooperative != 0)
    code = host_fail(MW_NOT_SUPPORTED, "whether a kernel node is cooperative is fixed when it is captured");
  if (code == MW_SUCCESS) *place = *value;
  return host_end(code);
}

cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t handle, cudaKernelNodeAttrID attr,
                                            cudaKernelNodeAttrValue *value) {
  cudaKernelNodeAttrValue *place;
  int code = attribute_of(handle, (int)attr, &place);
  if (code == MW_SUCCESS) *value = *place;
  return host_end(code);
}

cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t source, cudaGraphNode_t target) {
  cudaKernelNodeAttrValue *from, *to;
  int code = attribute_of(source, cudaKernelNodeAttributeAccessPolicyWindow, &from);
  if (code == MW_SUCCESS) code = attribute_of(target, cudaKernelNodeAttributeAccessPolicyWindow, &to);
  if (code == MW_SUCCESS) *to = *from;
  return host_end(code);
}
