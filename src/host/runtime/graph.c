/* Graphs under the runtime API's names. A node's handle stands for a graph and the node's number in it; nodes from a
 * capture get handles when they are first returned. */
#include "graph.h"

void host_node_release(void *object) { free(object); }

void host_graph_release(void *object) {
  graph *g = object;
  for (size_t i = 0; i < g->count; i++) free(host_handle_take(HOST_NODE, g->nodes[i]));
  for (body_list *list = g->bodies, *next; list; list = next) {
    next = list->next;
    for (size_t i = 0; i < list->count; i++) {
      graph *body = host_handle_take(HOST_GRAPH, list->handles[i]);
      if (body) host_graph_release(body);
    }
    free(list);
  }
  mw_graph_release(g->graph);
  free(g->nodes);
  free(g);
}

cudaGraph_t host_graph_enter(unsigned owner, mw_graph *made) {
  graph *g = calloc(1, sizeof *g);
  if (!g) abort();
  g->graph = made;
  g->owner = owner;
  return host_handle_new(HOST_GRAPH, owner, g);
}

int host_graph_get(cudaGraph_t handle, graph **out) {
  *out = host_handle_find(HOST_GRAPH, handle);
  return *out ? MW_SUCCESS : host_fail(MW_INVALID_VALUE, "this is not a graph, or one that was destroyed");
}

int host_node_get(cudaGraphNode_t handle, node **out) {
  *out = host_handle_find(HOST_NODE, handle);
  return *out ? MW_SUCCESS : host_fail(MW_INVALID_VALUE, "this is not a node of a graph, or its graph was destroyed");
}

static int get_exec(cudaGraphExec_t handle, mw_graph_exec **out) {
  *out = host_handle_find(HOST_EXEC, handle);
  return *out ? MW_SUCCESS : host_fail(MW_INVALID_VALUE, "this is not an executable graph, or one that was destroyed");
}

cudaGraphNode_t host_node_handle(graph *g, size_t number) {
  if (g->count < mw_graph_count(g->graph)) {
    size_t count = mw_graph_count(g->graph);
    g->nodes = realloc(g->nodes, count * sizeof *g->nodes);
    if (!g->nodes) abort();
    while (g->count < count) {
      node *n = malloc(sizeof *n);
      if (!n) abort();
      *n = (node){.graph = g, .number = g->count};
      g->nodes[g->count++] = host_handle_new(HOST_NODE, g->owner, n);
    }
  }
  return g->nodes[number];
}

/* ---- capturing ---- */

static int begin_capture(host_context *context, cudaStream_t handle, int mode) {
  mw_stream *stream;
  mw_graph *made;
  int code = host_stream(context, handle, &stream);
  if (code != MW_SUCCESS) return code;
  code = mw_graph_new(context->device, &made);
  if (code == MW_SUCCESS) {
    code = mw_graph_capture(made, stream, NULL, 0, (mw_capture_mode)mode);
    mw_graph_release(made); /* the capture holds a reference */
  }
  mw_stream_release(stream);
  return code;
}

static int end_capture(host_context *context, cudaStream_t handle, cudaGraph_t *out) {
  mw_stream *stream;
  int code = host_stream(context, handle, &stream);
  if (code != MW_SUCCESS) return code;
  mw_graph *made = mw_stream_capturing(stream, NULL);
  if (made) mw_graph_retain(made);
  code = mw_graph_capture_end(stream, NULL);
  cudaGraph_t known = made ? host_capture_target(made) : NULL;
  if (code == MW_SUCCESS) *out = known ? known : host_graph_enter(context->id, made);
  if (code != MW_SUCCESS || known) mw_graph_release(made);
  mw_stream_release(stream);
  return code;
}

static int is_capturing(host_context *context, cudaStream_t handle, enum cudaStreamCaptureStatus *status) {
  mw_stream *stream;
  int spoilt = 0;
  int code = host_stream(context, handle, &stream);
  if (code != MW_SUCCESS) return code;
  bool active = mw_stream_capturing(stream, &spoilt) != NULL;
  *status = spoilt   ? cudaStreamCaptureStatusInvalidated
            : active ? cudaStreamCaptureStatusActive
                     : cudaStreamCaptureStatusNone;
  mw_stream_release(stream);
  return MW_SUCCESS;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  HOST_RUNTIME(begin_capture(context, stream, (int)mode));
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out) {
  HOST_RUNTIME(end_capture(context, stream, out));
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) {
  HOST_RUNTIME(is_capturing(context, stream, status));
}

/* ---- graphs and nodes ---- */

static int create(host_context *context, cudaGraph_t *out, unsigned flags) {
  mw_graph *made;
  if (flags != 0) return host_fail(MW_INVALID_VALUE, "the flags of cudaGraphCreate are 0");
  int code = mw_graph_new(context->device, &made);
  if (code == MW_SUCCESS) *out = host_graph_enter(context->id, made);
  return code;
}

cudaError_t cudaGraphCreate(cudaGraph_t *out, unsigned flags) { HOST_RUNTIME(create(context, out, flags)); }

cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
  graph *g = host_handle_find(HOST_GRAPH, handle);
  if (g && mw_graph_is_body(g->graph))
    return host_end(host_fail(MW_INVALID_VALUE, "the body of a conditional node is destroyed with its graph"));
  g = host_handle_take(HOST_GRAPH, handle);
  if (!g) return host_end(host_fail(MW_INVALID_VALUE, "this is not a graph, or one that was destroyed"));
  host_graph_release(g);
  return host_end(MW_SUCCESS);
}

int host_graph_numbers(cudaGraph_t handle, const cudaGraphNode_t *nodes, size_t count, size_t **numbers) {
  graph *g;
  int code = host_graph_get(handle, &g);
  if (code != MW_SUCCESS) return code;
  *numbers = calloc(count + 1, sizeof **numbers);
  if (!*numbers) abort();
  for (size_t i = 0; i < count && code == MW_SUCCESS; i++) {
    node *n;
    code = host_node_get(nodes[i], &n);
    if (code == MW_SUCCESS && n->graph != g) code = host_fail(MW_INVALID_VALUE, "a node of another graph");
    if (code == MW_SUCCESS) (*numbers)[i] = n->number;
  }
  if (code == MW_SUCCESS) return code;
  free(*numbers);
  *numbers = NULL;
  return code;
}

int host_graph_add(host_context *context, cudaGraphNode_t *out, cudaGraph_t handle, const cudaGraphNode_t *after,
                   size_t count, host_give give, const void *params) {
  graph *g;
  mw_stream *stream = NULL;
  size_t number = SIZE_MAX, *numbers = NULL;
  int code = host_graph_get(handle, &g);
  if (code == MW_SUCCESS) code = host_graph_numbers(handle, after, count, &numbers);
  if (code == MW_SUCCESS && !give) {
    code = mw_graph_add_empty(g->graph, numbers, count, &number);
  } else if (code == MW_SUCCESS) {
    code = mw_stream_new(context->device, MW_STREAM_NON_BLOCKING, 0, &stream);
    if (code == MW_SUCCESS) code = mw_graph_capture(g->graph, stream, numbers, count, MW_CAPTURE_RELAXED);
    if (code == MW_SUCCESS) {
      code = give(context, stream, params);
      int ended = mw_graph_capture_end(stream, &number);
      if (code == MW_SUCCESS) code = ended;
    }
    mw_stream_release(stream);
  }
  free(numbers);
  if (code == MW_SUCCESS && number == SIZE_MAX)
    code = host_fail(MW_INVALID_VALUE, "there is nothing for the node to do");
  if (code == MW_SUCCESS && out) *out = host_node_handle(g, number);
  return code;
}

static int launch_of(host_context *context, const struct cudaKernelNodeParams *p, mw_launch **out) {
  mw_kernel *kernel;
  if (!p) return host_fail(MW_INVALID_VALUE, "a kernel node needs parameters, not NULL");
  const host_geometry geometry = {{p->gridDim.x, p->gridDim.y, p->gridDim.z},
                                  {p->blockDim.x, p->blockDim.y, p->blockDim.z},
                                  p->sharedMemBytes,
                                  false,
                                  false,
                                  {0}};
  int code = host_kernel(context, p->func, &kernel);
  return code ? code : host_launch_pointers(kernel, &geometry, p->kernelParams, out);
}

static int give_kernel(host_context *context, mw_stream *stream, const void *params) {
  mw_launch *launch;
  int code = launch_of(context, params, &launch);
  if (code != MW_SUCCESS) return code;
  code = mw_launch_run_in(launch, stream, NULL);
  mw_launch_release(launch);
  return code;
}

static int give_copy(host_context *context, mw_stream *stream, const void *params) {
  return host_copy(context, stream, params);
}

static int give_fill(host_context *context, mw_stream *stream, const void *params) {
  const struct cudaMemsetParams *p = params;
  size_t height = p->height ? p->height : 1, size = p->elementSize ? p->elementSize : 1;
  return host_fill(context, stream, host_address(p->dst), p->pitch, height, p->value, size, p->width, height, 1);
}

static int give_function(host_context *context, mw_stream *stream, const void *params) {
  const struct cudaHostNodeParams *p = params;
  (void)context;
  return mw_stream_call(stream, p->fn, p->userData);
}

cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *out, cudaGraph_t g, const cudaGraphNode_t *after, size_t count) {
  HOST_RUNTIME(host_graph_add(context, out, g, after, count, NULL, NULL));
}
cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *out, cudaGraph_t g, const cudaGraphNode_t *after, size_t count,
                                   const struct cudaKernelNodeParams *params) {
  HOST_RUNTIME(host_graph_add(context, out, g, after, count, give_kernel, params));
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *out, cudaGraph_t g, const cudaGraphNode_t *after, size_t count,
                                   const struct cudaMemsetParams *params) {
  HOST_RUNTIME(params ? host_graph_add(context, out, g, after, count, give_fill, params)
                      : host_fail(MW_INVALID_VALUE, "a memset node needs parameters, not NULL"));
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *out, cudaGraph_t g, const cudaGraphNode_t *after, size_t count,
                                 const struct cudaHostNodeParams *params) {
  HOST_RUNTIME(params ? host_graph_add(context, out, g, after, count, give_function, params)
                      : host_fail(MW_INVALID_VALUE, "a host node needs parameters, not NULL"));
}
static mw_copy linear_copy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind) {
  return (mw_copy){.target = host_address(dst),
                   .source = host_address(src),
                   .width = bytes,
                   .height = 1,
                   .depth = 1,
                   .direction = (mw_direction)kind};
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *out, cudaGraph_t g, const cudaGraphNode_t *after, size_t count,
                                     void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind) {
  const mw_copy copy = linear_copy(dst, src, bytes, kind);
  HOST_RUNTIME(host_graph_add(context, out, g, after, count, give_copy, &copy));
}

static int give_box(host_context *context, mw_stream *stream, const void *params) {
  return host_copy_3d(context, stream, params);
}

cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *out, cudaGraph_t g, const cudaGraphNode_t *after, size_t count,
                                   const struct cudaMemcpy3DParms *params) {
  HOST_RUNTIME(params ? host_graph_add(context, out, g, after, count, give_box, params)
                      : host_fail(MW_INVALID_VALUE, "a memcpy node needs parameters, not NULL"));
}

static int depend(cudaGraph_t handle, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t count) {
  graph *g;
  node *before, *after;
  int code = host_graph_get(handle, &g);
  for (size_t i = 0; i < count && code == MW_SUCCESS; i++) {
    code = host_node_get(from[i], &before);
    if (code == MW_SUCCESS) code = host_node_get(to[i], &after);
    if (code == MW_SUCCESS && (before->graph != g || after->graph != g))
      code = host_fail(MW_INVALID_VALUE, "a node of another graph");
    if (code == MW_SUCCESS) code = mw_graph_depend(g->graph, after->number, before->number);
  }
  return code;
}

cudaError_t cudaGraphAddDependencies(cudaGraph_t g, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
                                     size_t count) {
  return host_end(depend(g, from, to, count));
}

/* ---- running ---- */

static int instantiate(host_context *context, cudaGraphExec_t *out, cudaGraph_t handle) {
  graph *g;
  mw_graph_exec *exec;
  int code = host_graph_get(handle, &g);
  if (code == MW_SUCCESS) code = mw_graph_instantiate(g->graph, &exec);
  if (code == MW_SUCCESS) *out = host_handle_new(HOST_EXEC, context->id, exec);
  return code;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t g, cudaGraphNode_t *error, char *log, size_t size) {
  if (error) *error = NULL;
  if (log && size) *log = 0;
  HOST_RUNTIME(instantiate(context, exec, g));
}

static int launch(host_context *context, cudaGraphExec_t handle, cudaStream_t where) {
  mw_graph_exec *exec;
  mw_stream *stream;
  int code = get_exec(handle, &exec);
  if (code == MW_SUCCESS) code = host_stream(context, where, &stream);
  if (code != MW_SUCCESS) return code;
  code = mw_graph_exec_launch(exec, stream, NULL);
  mw_stream_release(stream);
  return code;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) { HOST_RUNTIME(launch(context, exec, stream)); }

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
  mw_graph_exec *exec = host_handle_take(HOST_EXEC, handle);
  if (!exec) return host_end(host_fail(MW_INVALID_VALUE, "this is not an executable graph, or one that was destroyed"));
  mw_graph_exec_release(exec);
  return host_end(MW_SUCCESS);
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t handle, cudaGraph_t from, cudaGraphNode_t *error,
                                enum cudaGraphExecUpdateResult *result) {
  graph *g;
  mw_graph_exec *exec;
  size_t differs = SIZE_MAX;
  int code = get_exec(handle, &exec);
  if (code == MW_SUCCESS) code = host_graph_get(from, &g);
  if (code == MW_SUCCESS) {
    code = mw_graph_exec_update(exec, g->graph, &differs);
    bool known = code != MW_SUCCESS && differs < mw_graph_count(g->graph);
    if (error) *error = known ? host_node_handle(g, differs) : NULL;
  }
  if (result) *result = code == MW_SUCCESS ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateError;
  return host_end(code);
}

static int check_node(const node *n) {
  if (!mw_graph_is_body(n->graph->graph)) return MW_SUCCESS;
  return host_fail(MW_NOT_SUPPORTED, "a node in a conditional node is changed by cudaGraphExecUpdate");
}

static int set_params(host_context *context, cudaGraphExec_t handle, cudaGraphNode_t which,
                      const struct cudaKernelNodeParams *params) {
  mw_graph_exec *exec;
  node *n;
  mw_launch *made;
  int code = get_exec(handle, &exec);
  if (code == MW_SUCCESS) code = host_node_get(which, &n);
  if (code == MW_SUCCESS) code = check_node(n);
  if (code == MW_SUCCESS) code = launch_of(context, params, &made);
  if (code != MW_SUCCESS) return code;
  code = mw_graph_exec_set_launch(exec, n->number, made, NULL);
  mw_launch_release(made);
  return code;
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t which,
                                             const struct cudaKernelNodeParams *params) {
  HOST_RUNTIME(set_params(context, exec, which, params));
}

int host_graph_replace(host_context *context, cudaGraphExec_t handle, cudaGraphNode_t which, host_give give,
                       const void *params) {
  mw_graph_exec *exec;
  node *old, *made;
  cudaGraph_t one;
  cudaGraphNode_t only;
  if (!params) return host_fail(MW_INVALID_VALUE, "a node needs parameters, not NULL");
  int code = get_exec(handle, &exec);
  if (code == MW_SUCCESS) code = host_node_get(which, &old);
  if (code == MW_SUCCESS) code = check_node(old);
  if (code == MW_SUCCESS) code = create(context, &one, 0);
  if (code != MW_SUCCESS) return code;
  code = host_graph_add(context, &only, one, NULL, 0, give, params);
  if (code == MW_SUCCESS) code = host_node_get(only, &made);
  if (code == MW_SUCCESS) code = mw_graph_exec_set_node(exec, old->number, made->graph->graph, NULL);
  host_graph_release(host_handle_take(HOST_GRAPH, one));
  return code;
}

cudaError_t cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t which,
                                             const struct cudaMemsetParams *params) {
  HOST_RUNTIME(host_graph_replace(context, exec, which, give_fill, params));
}
cudaError_t cudaGraphExecHostNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t which,
                                           const struct cudaHostNodeParams *params) {
  HOST_RUNTIME(host_graph_replace(context, exec, which, give_function, params));
}
cudaError_t cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t exec, cudaGraphNode_t which,
                                             const struct cudaMemcpy3DParms *params) {
  HOST_RUNTIME(host_graph_replace(context, exec, which, give_box, params));
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t exec, cudaGraphNode_t which, void *dst, const void *src,
                                               size_t bytes, enum cudaMemcpyKind kind) {
  const mw_copy copy = linear_copy(dst, src, bytes, kind);
  HOST_RUNTIME(host_graph_replace(context, exec, which, give_copy, &copy));
}
