/* What the files of graphs share: graph.c makes and runs them, graph_nodes.c reads their nodes. */
#ifndef MW_HOST_GRAPH_H
#define MW_HOST_GRAPH_H

#include "host/host.h"

typedef struct node node;

/* The handles of a conditional node's bodies. */
typedef struct body_list {
  struct body_list *next;
  size_t count;
  cudaGraph_t handles[];
} body_list;

typedef struct graph {
  mw_graph *graph;
  cudaGraphNode_t *nodes; /* handles, by number */
  size_t count;
  unsigned owner;
  body_list *bodies;
} graph;

/* A node by its number, with the attributes that were set. */
struct node {
  graph *graph;
  size_t number;
  cudaKernelNodeAttrValue window, cooperative;
};

/* MW_INVALID_VALUE if the handle is not of a graph. */
int host_graph_get(cudaGraph_t handle, graph **out);
int host_node_get(cudaGraphNode_t handle, node **out);
cudaGraphNode_t host_node_handle(graph *g, size_t number);
/* The handle of the graph that an ended capture was to, or NULL: cudaStreamBeginCaptureToGraph. */
cudaGraph_t host_capture_target(const mw_graph *captured);
/* A handle of a graph, whose reference it takes over. */
cudaGraph_t host_graph_enter(unsigned owner, mw_graph *made);

#endif
