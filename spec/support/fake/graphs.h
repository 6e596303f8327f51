/* The fake driver's graphs: each call is recorded, and nothing runs. */

static char one_graph[64], one_node[64];
static int graphs, nodes;

static CUresult new_node(CUgraphNode *node) {
  *node = (CUgraphNode)&one_node[++nodes % 64];
  return 0;
}

static int graph_number(CUgraph graph) { return (int)((char *)graph - one_graph); }

/* The number of the node that a new one follows. */
static int after_number(const CUgraphNode *after, size_t count) { return count ? (int)((char *)*after - one_node) : 0; }

static CUresult fake_cuGraphCreate(CUgraph *graph, unsigned flags) {
  CALL(cuGraphCreate, "flags %u", flags);
  *graph = (CUgraph)&one_graph[++graphs % 64];
  return 0;
}

static CUresult fake_cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                                          const CUDA_KERNEL_NODE_PARAMS *p) {
  CALL(cuGraphAddKernelNode, "graph %d after %d (%u,%u,%u) (%u,%u,%u)", graph_number(graph), after_number(after, count),
       p->grid[0], p->grid[1], p->grid[2], p->block[0], p->block[1], p->block[2]);
  return new_node(node);
}

static CUresult fake_cuGraphAddMemcpyNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                                          const CUDA_MEMCPY3D *copy, CUcontext context) {
  (void)context;
  CALL(cuGraphAddMemcpyNode, "graph %d after %d bytes %zu", graph_number(graph), after_number(after, count),
       copy->width);
  return new_node(node);
}

static CUresult fake_cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                                          const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context) {
  (void)context;
  CALL(cuGraphAddMemsetNode, "graph %d after %d value %x of %u, %zu x %zu", graph_number(graph),
       after_number(after, count), p->value, p->size, p->width, p->height);
  return new_node(node);
}

static CUresult fake_cuGraphConditionalHandleCreate(uint64_t *handle, CUgraph graph, CUcontext context, unsigned value,
                                                    unsigned flags) {
  (void)context;
  CALL(cuGraphConditionalHandleCreate, "graph %d value %u flags %u", graph_number(graph), value, flags);
  *handle = (uint64_t)++nodes;
  return 0;
}

static CUresult fake_cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t count,
                                    CUgraphNodeParams *p) {
  static CUgraph bodies[64];
  static int used;
  CALL(cuGraphAddNode, "graph %d after %d type %d kind %d bodies %u", graph_number(graph), after_number(after, count),
       p->type, p->of.conditional.kind, p->of.conditional.count);
  p->of.conditional.bodies = &bodies[used];
  for (unsigned i = 0; i < p->of.conditional.count; i++) bodies[used++ % 64] = (CUgraph)&one_graph[++graphs % 64];
  return new_node(node);
}

static CUresult fake_cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags) {
  CALL(cuGraphInstantiateWithFlags, "graph %d flags %llu", graph_number(graph), flags);
  *exec = (CUgraphExec)(void *)graph;
  return 0;
}

static CUresult fake_cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  CALL(cuGraphLaunch, "%d stream %zu", graph_number((CUgraph)(void *)exec), number_of(stream));
  return 0;
}
