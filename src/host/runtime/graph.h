/* What the files of graphs share: graph.c makes and runs them, graph_nodes.c reads their nodes. */
#ifndef MW_HOST_GRAPH_H
#define MW_HOST_GRAPH_H

#include "host/host.h"

typedef struct node node;

typedef struct graph {
  mw_graph *graph;
  cudaGraphNode_t *nodes; /* handles, by number */
  size_t count;
  unsigned owner;
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

#endif
