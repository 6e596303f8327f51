/* Graphs under the driver API's names: the runtime API's graphs, with other fields in the nodes' parameters. */
#include "driver.h"

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  HOST_THROUGH(cudaStreamBeginCapture(stream, (enum cudaStreamCaptureMode)mode));
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) { HOST_THROUGH(cudaStreamEndCapture(stream, graph)); }
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
  enum cudaStreamCaptureStatus found = cudaStreamCaptureStatusNone;
  HOST_THROUGH_THEN(cudaStreamIsCapturing(stream, &found), *status = (int)found);
}
CUresult cuGraphCreate(CUgraph *graph, unsigned flags) { HOST_THROUGH(cudaGraphCreate(graph, flags)); }
CUresult cuGraphDestroy(CUgraph graph) { HOST_THROUGH(cudaGraphDestroy(graph)); }
CUresult cuGraphAddEmptyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count) {
  HOST_THROUGH(cudaGraphAddEmptyNode(node, graph, after, count));
}

static struct cudaKernelNodeParams as_runtime(const CUDA_KERNEL_NODE_PARAMS *p) {
  return (struct cudaKernelNodeParams){.func = p->func,
                                       .gridDim = {p->gridDimX, p->gridDimY, p->gridDimZ},
                                       .blockDim = {p->blockDimX, p->blockDimY, p->blockDimZ},
                                       .sharedMemBytes = p->sharedMemBytes,
                                       .kernelParams = p->kernelParams};
}

CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS *params) {
  const struct cudaKernelNodeParams same = as_runtime(params);
  HOST_THROUGH(cudaGraphAddKernelNode(node, graph, after, count, &same));
}

static int give_box(host_context *context, mw_stream *stream, const void *params) {
  return host_copy_3d_driver(context, stream, params);
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                              const CUDA_MEMCPY3D *params, CUcontext where) {
  (void)where; /* always the current one */
  HOST_DRIVER(params ? host_graph_add(context, node, graph, after, count, give_box, params)
                     : host_fail(MW_INVALID_VALUE, "a memcpy node needs parameters, not NULL"));
}
CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS *params, CUcontext where) {
  const struct cudaMemsetParams same = {host_pointer(params->dst), params->pitch, params->value,
                                        params->elementSize,       params->width, params->height};
  (void)where;
  HOST_THROUGH(cudaGraphAddMemsetNode(node, graph, after, count, &same));
}
CUresult cuGraphAddHostNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                            const CUDA_HOST_NODE_PARAMS *params) {
  const struct cudaHostNodeParams same = {params->fn, params->userData};
  HOST_THROUGH(cudaGraphAddHostNode(node, graph, after, count, &same));
}

static CUresult add_node(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                         CUgraphNodeParams *p) {
  if (p && p->type == CU_GRAPH_NODE_TYPE_KERNEL) return cuGraphAddKernelNode(node, graph, after, count, &p->kernel);
  if (p && p->type == CU_GRAPH_NODE_TYPE_MEMCPY)
    return cuGraphAddMemcpyNode(node, graph, after, count, &p->memcpy.copyParams, NULL);
  if (p && p->type == CU_GRAPH_NODE_TYPE_MEMSET)
    return cuGraphAddMemsetNode(node, graph, after, count, &p->memset, NULL);
  if (p && p->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
    struct cudaConditionalNodeParams same = {
        p->conditional.handle, (enum cudaGraphConditionalNodeType)p->conditional.type, p->conditional.size, NULL};
    host_context *context;
    int code = host_context_driver(&context);
    if (code == MW_SUCCESS) code = host_graph_add_conditional(node, graph, after, count, &same);
    p->conditional.phGraph_out = same.phGraph_out;
    return host_end_driver(code);
  }
  if (p && p->type == CU_GRAPH_NODE_TYPE_HOST) return cuGraphAddHostNode(node, graph, after, count, &p->host);
  if (p && p->type == CU_GRAPH_NODE_TYPE_EMPTY) return cuGraphAddEmptyNode(node, graph, after, count);
  return host_end_driver(p ? host_fail(MW_NOT_SUPPORTED, "nodes of type %d are not supported", p->type)
                           : host_fail(MW_INVALID_VALUE, "a node needs parameters, not NULL"));
}

CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                        CUgraphNodeParams *params) {
  return add_node(node, graph, after, count, params);
}
CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, const CUgraphEdgeData *edges,
                           size_t count, CUgraphNodeParams *params) {
  for (size_t i = 0; edges && i < count; i++)
    if (edges[i].from_port || edges[i].to_port || edges[i].type)
      return host_end_driver(host_fail(MW_NOT_SUPPORTED, "programmatic edges between nodes are not supported"));
  return add_node(node, graph, after, count, params);
}
CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle *handle, CUgraph graph, CUcontext where,
                                        unsigned value, unsigned flags) {
  (void)where; /* always the current one */
  HOST_THROUGH(cudaGraphConditionalHandleCreate(handle, graph, value, flags));
}
CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *after,
                                     const CUgraphEdgeData *edges, size_t count, CUstreamCaptureMode mode) {
  HOST_THROUGH(cudaStreamBeginCaptureToGraph(stream, graph, after, edges, count, (enum cudaStreamCaptureMode)mode));
}
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count) {
  HOST_THROUGH(cudaGraphAddDependencies(graph, from, to, count));
}
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
  HOST_THROUGH(cudaGraphGetNodes(graph, nodes, count));
}
CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count) {
  HOST_THROUGH(cudaGraphGetRootNodes(graph, nodes, count));
}
CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count) {
  HOST_THROUGH(cudaGraphGetEdges(graph, from, to, count));
}
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type) {
  enum cudaGraphNodeType found = cudaGraphNodeTypeEmpty;
  HOST_THROUGH_THEN(cudaGraphNodeGetType(node, &found), *type = (int)found);
}
CUresult cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes, size_t *count) {
  HOST_THROUGH(cudaGraphNodeGetDependencies(node, nodes, count));
}
CUresult cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *count) {
  HOST_THROUGH(cudaGraphNodeGetDependentNodes(node, nodes, count));
}

_Static_assert(sizeof(CUkernelNodeAttrValue) == sizeof(cudaKernelNodeAttrValue), "one value under two names");

CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID attr, const CUkernelNodeAttrValue *value) {
  cudaKernelNodeAttrValue same;
  memcpy(&same, value, sizeof same);
  HOST_THROUGH(cudaGraphKernelNodeSetAttribute(node, (cudaKernelNodeAttrID)attr, &same));
}
CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID attr, CUkernelNodeAttrValue *value) {
  cudaKernelNodeAttrValue found;
  HOST_THROUGH_THEN(cudaGraphKernelNodeGetAttribute(node, (cudaKernelNodeAttrID)attr, &found),
                    if (code == MW_SUCCESS) memcpy(value, &found, sizeof found));
}
CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode source, CUgraphNode target) {
  HOST_THROUGH(cudaGraphKernelNodeCopyAttributes(source, target));
}

CUresult cuGraphInstantiate(CUgraphExec *exec, CUgraph graph, CUgraphNode *node, char *log, size_t size) {
  HOST_THROUGH(cudaGraphInstantiate(exec, graph, node, log, size));
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) { HOST_THROUGH(cudaGraphLaunch(exec, stream)); }
CUresult cuGraphExecDestroy(CUgraphExec exec) { HOST_THROUGH(cudaGraphExecDestroy(exec)); }
CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode *node, CUgraphExecUpdateResult *result) {
  enum cudaGraphExecUpdateResult found = cudaGraphExecUpdateSuccess;
  HOST_THROUGH_THEN(cudaGraphExecUpdate(exec, graph, node, &found), if (result) *result = (int)found);
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params) {
  const struct cudaKernelNodeParams same = as_runtime(params);
  HOST_THROUGH(cudaGraphExecKernelNodeSetParams(exec, node, &same));
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D *params,
                                        CUcontext where) {
  (void)where; /* always the current one */
  HOST_DRIVER(host_graph_replace(context, exec, node, give_box, params));
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *params,
                                        CUcontext where) {
  const struct cudaMemsetParams same = {host_pointer(params->dst), params->pitch, params->value,
                                        params->elementSize,       params->width, params->height};
  (void)where;
  HOST_THROUGH(cudaGraphExecMemsetNodeSetParams(exec, node, &same));
}
CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *params) {
  const struct cudaHostNodeParams same = {params->fn, params->userData};
  HOST_THROUGH(cudaGraphExecHostNodeSetParams(exec, node, &same));
}
CUresult cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned flags) {
  HOST_THROUGH(cudaGraphDebugDotPrint(graph, path, flags));
}
