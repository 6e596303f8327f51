/* Conditional nodes, nodes of any kind, and captures into a graph that there is. */
#include "graph.h"

#include <pthread.h>

static int create_condition(cudaGraphConditionalHandle *out, cudaGraph_t handle, unsigned value, unsigned flags) {
  graph *g;
  uint64_t condition;
  int code = host_graph_get(handle, &g);
  if (code == MW_SUCCESS && flags > cudaGraphCondAssignDefault)
    code = host_fail(MW_INVALID_VALUE, "the flags of cudaGraphConditionalHandleCreate are 0 or "
                                       "cudaGraphCondAssignDefault");
  if (code == MW_SUCCESS)
    code = mw_graph_condition_new(g->graph, value, flags == cudaGraphCondAssignDefault, &condition);
  if (code == MW_SUCCESS) *out = condition;
  return code;
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle, cudaGraph_t of, unsigned value,
                                             unsigned flags) {
  return host_end(create_condition(handle, of, value, flags));
}

/* The graphs of the node's bodies, whose handles `g` owns. */
static cudaGraph_t *enter_bodies(graph *g, mw_graph *const *made, size_t count) {
  body_list *list = malloc(sizeof *list + count * sizeof *list->handles);
  if (!list) abort();
  list->next = g->bodies;
  list->count = count;
  g->bodies = list;
  for (size_t i = 0; i < count; i++) list->handles[i] = host_graph_enter(g->owner, mw_graph_retain(made[i]));
  return list->handles;
}

int host_graph_add_conditional(cudaGraphNode_t *out, cudaGraph_t handle, const cudaGraphNode_t *after, size_t count,
                               struct cudaConditionalNodeParams *params) {
  enum { MOST = 1 << 16 };
  graph *g;
  size_t number, *numbers = NULL;
  mw_graph **made = NULL;
  int code = host_graph_get(handle, &g);
  if (code == MW_SUCCESS && params->size > MOST)
    code = host_fail(MW_INVALID_VALUE, "a conditional node with %u bodies", params->size);
  if (code == MW_SUCCESS) code = host_graph_numbers(handle, after, count, &numbers);
  if (code == MW_SUCCESS) {
    made = calloc(params->size + 1, sizeof *made);
    if (!made) abort();
    code = mw_graph_add_conditional(g->graph, (mw_conditional)params->type, params->handle, params->size, numbers,
                                    count, &number, made);
  }
  if (code == MW_SUCCESS) {
    params->phGraph_out = enter_bodies(g, made, params->size);
    if (out) *out = host_node_handle(g, number);
  }
  free(made);
  free(numbers);
  return code;
}

static cudaError_t add(cudaGraphNode_t *out, cudaGraph_t g, const cudaGraphNode_t *after, size_t count,
                       cudaGraphNodeParams *p) {
  if (!p) return host_end(host_fail(MW_INVALID_VALUE, "a node needs parameters, not NULL"));
  switch ((int)p->type) {
  case cudaGraphNodeTypeKernel: return cudaGraphAddKernelNode(out, g, after, count, &p->kernel);
  case cudaGraphNodeTypeMemcpy: return cudaGraphAddMemcpyNode(out, g, after, count, &p->memcpy.copyParams);
  case cudaGraphNodeTypeMemset: return cudaGraphAddMemsetNode(out, g, after, count, &p->memset);
  case cudaGraphNodeTypeHost: return cudaGraphAddHostNode(out, g, after, count, &p->host);
  case cudaGraphNodeTypeEmpty: return cudaGraphAddEmptyNode(out, g, after, count);
  case cudaGraphNodeTypeConditional: return host_end(host_graph_add_conditional(out, g, after, count, &p->conditional));
  }
  return host_end(host_fail(MW_NOT_SUPPORTED, "nodes of type %d are not supported", (int)p->type));
}

cudaError_t cudaGraphAddNode(cudaGraphNode_t *out, cudaGraph_t to, const cudaGraphNode_t *after, size_t count,
                             cudaGraphNodeParams *params) {
  return add(out, to, after, count, params);
}

static int check_edges(const cudaGraphEdgeData *edges, size_t count) {
  for (size_t i = 0; edges && i < count; i++)
    if (edges[i].from_port || edges[i].to_port || edges[i].type)
      return host_fail(MW_NOT_SUPPORTED, "programmatic edges between nodes are not supported");
  return MW_SUCCESS;
}

cudaError_t cudaGraphAddNode_v2(cudaGraphNode_t *out, cudaGraph_t to, const cudaGraphNode_t *after,
                                const cudaGraphEdgeData *edges, size_t count, cudaGraphNodeParams *params) {
  int code = check_edges(edges, count);
  return code ? host_end(code) : add(out, to, after, count, params);
}

/* Captures into graphs that have a handle already. */
typedef struct target {
  struct target *next;
  const mw_graph *graph;
  cudaGraph_t handle;
} target;

static struct {
  pthread_mutex_t lock;
  target *first;
} targets = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void note_target(const mw_graph *to, cudaGraph_t handle) {
  target *new = malloc(sizeof *new);
  if (!new) abort();
  pthread_mutex_lock(&targets.lock);
  *new = (target){targets.first, to, handle};
  targets.first = new;
  pthread_mutex_unlock(&targets.lock);
}

cudaGraph_t host_capture_target(const mw_graph *captured) {
  cudaGraph_t handle = NULL;
  pthread_mutex_lock(&targets.lock);
  target **link = &targets.first;
  while (*link && (*link)->graph != captured) link = &(*link)->next;
  if (*link) {
    target *found = *link;
    handle = found->handle;
    *link = found->next;
    free(found);
  }
  pthread_mutex_unlock(&targets.lock);
  return handle;
}

static int capture_to(host_context *context, cudaStream_t handle, cudaGraph_t to, const cudaGraphNode_t *after,
                      const cudaGraphEdgeData *edges, size_t count, int mode) {
  graph *g;
  mw_stream *stream;
  size_t *numbers = NULL;
  int code = check_edges(edges, count);
  if (code == MW_SUCCESS) code = host_graph_get(to, &g);
  if (code == MW_SUCCESS) code = host_graph_numbers(to, after, count, &numbers);
  if (code == MW_SUCCESS) code = host_stream(context, handle, &stream);
  if (code == MW_SUCCESS) {
    code = mw_graph_capture(g->graph, stream, numbers, count, (mw_capture_mode)mode);
    if (code == MW_SUCCESS) note_target(g->graph, to);
    mw_stream_release(stream);
  }
  free(numbers);
  return code;
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t to, const cudaGraphNode_t *after,
                                          const cudaGraphEdgeData *edges, size_t count,
                                          enum cudaStreamCaptureMode mode) {
  HOST_RUNTIME(capture_to(context, stream, to, after, edges, count, (int)mode));
}
