/* Graphs: nodes and their dependencies. A node stores a call, and running the node makes that call: it performs the
 * call's checks, and retains what the call retains, each time. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

/* ---- work ---- */

mw_node_kind mw_work_node_kind(const mw_work *work) {
  switch (work->kind) {
  case MW_WORK_LAUNCH: return MW_NODE_KERNEL;
  case MW_WORK_BUFFER_COPY:
  case MW_WORK_BOX:
  case MW_WORK_COPY: return MW_NODE_COPY;
  case MW_WORK_BUFFER_FILL:
  case MW_WORK_FILL: return MW_NODE_FILL;
  case MW_WORK_CALL:
  case MW_WORK_HOLD: return MW_NODE_HOST;
  case MW_WORK_CONDITIONAL: return MW_NODE_CONDITIONAL;
  default: return MW_NODE_EMPTY;
  }
}

mw_work mw_work_copy(const mw_work *work) {
  mw_work copy = *work;
  if (work->launch) copy.launch = mw_launch_copy(work->launch);
  copy.site = mw_strdup(work->site);
  if (work->target) mw_buffer_retain(work->target);
  if (work->source) mw_buffer_retain(work->source);
  if (work->copy.target_in.array) mw_cuda_array_retain(work->copy.target_in.array);
  if (work->copy.source_in.array) mw_cuda_array_retain(work->copy.source_in.array);
  if (work->pattern) {
    copy.pattern = mw_alloc(work->size);
    memcpy(copy.pattern, work->pattern, work->size);
  }
  if (work->bodies) mw_bodies_copy(&copy);
  return copy;
}

void mw_work_free(mw_work *work) {
  mw_launch_release(work->launch);
  mw_buffer_release(work->target);
  mw_buffer_release(work->source);
  mw_cuda_array_release(work->copy.target_in.array);
  mw_cuda_array_release(work->copy.source_in.array);
  mw_bodies_free(work);
  free(work->site);
  free(work->pattern);
  *work = (mw_work){0};
}

int mw_work_run(const mw_work *work, mw_stream *stream, mw_hold **hold) {
  switch (work->kind) {
  case MW_WORK_LAUNCH: return mw_launch_run_in(work->launch, stream, work->site);
  case MW_WORK_BUFFER_COPY:
    return mw_buffer_copy_in(stream, work->target, work->target_offset, work->source, work->source_offset, work->bytes);
  case MW_WORK_BUFFER_FILL:
    return mw_buffer_fill_in(stream, work->target, work->target_offset, work->pattern, work->size, work->count);
  case MW_WORK_COPY: return mw_memory_copy(stream->device, stream, &work->copy);
  case MW_WORK_BOX:
    return mw_copy_box_in(stream, &work->to, &work->from, work->copy.width, work->copy.height, work->copy.depth);
  case MW_WORK_FILL: return mw_memory_fill(stream->device, stream, &work->fill);
  case MW_WORK_CALL: return mw_stream_call(stream, work->function, work->context);
  case MW_WORK_HOLD: return mw_stream_hold(stream, hold);
  case MW_WORK_CONDITIONAL: return mw_conditional_refuse(work);
  default: return MW_SUCCESS;
  }
}

static char *label_of(const mw_work *work) {
  switch (work->kind) {
  case MW_WORK_LAUNCH: {
    const mw_launch *launch = work->launch;
    return mw_format("%s<<<(%u,%u,%u), (%u,%u,%u)>>>", launch->kernel->info->name, launch->request.grid[0],
                     launch->request.grid[1], launch->request.grid[2], launch->request.block[0],
                     launch->request.block[1], launch->request.block[2]);
  }
  case MW_WORK_BUFFER_COPY: return mw_format("copy of %zu bytes", work->bytes);
  case MW_WORK_BUFFER_FILL: return mw_format("fill of %zu bytes", work->size * work->count);
  case MW_WORK_BOX:
  case MW_WORK_COPY: return mw_format("copy of %zu bytes", work->copy.width * work->copy.height * work->copy.depth);
  case MW_WORK_FILL:
    return mw_format("fill of %zu bytes", work->fill.size * work->fill.width * work->fill.height * work->fill.depth);
  case MW_WORK_CALL:
  case MW_WORK_HOLD: return mw_strdup("host function");
  case MW_WORK_CONDITIONAL: {
    static const char *const kinds[] = {"if", "while", "switch"};
    return mw_strdup(kinds[work->conditional]);
  }
  default: return mw_strdup("empty");
  }
}

/* ---- graphs ---- */

int mw_graph_new(mw_device *device, mw_graph **out) {
  mw_graph *graph = mw_alloc(sizeof *graph);
  mw_refs_init(&graph->refs);
  graph->device = mw_device_retain(device);
  *out = graph;
  return MW_SUCCESS;
}

mw_graph *mw_graph_retain(mw_graph *graph) {
  mw_refs_take(&graph->refs);
  return graph;
}

void mw_graph_release(mw_graph *graph) {
  if (!graph || !mw_refs_drop(&graph->refs)) return;
  for (size_t i = 0; i < graph->count; i++) {
    mw_work_free(&graph->nodes[i].work);
    free(graph->nodes[i].label);
    free(graph->nodes[i].after);
  }
  free(graph->nodes);
  mw_conditions_free(&graph->conditions);
  mw_device_release(graph->device);
  free(graph);
}

size_t mw_graph_count(const mw_graph *graph) { return graph->count; }

static int check_node(const mw_graph *graph, size_t i) {
  if (i < graph->count) return MW_SUCCESS;
  return fail(MW_INVALID_VALUE, "there is no node %zu (counted from 0): the graph has %zu", i, graph->count);
}

int mw_graph_node(const mw_graph *graph, size_t i, mw_node_info *out) {
  int code = check_node(graph, i);
  if (code != MW_SUCCESS) return code;
  const mw_node *node = &graph->nodes[i];
  *out = (mw_node_info){mw_work_node_kind(&node->work), node->label, node->after, node->after_count};
  return MW_SUCCESS;
}

static void depend(mw_node *node, size_t on) {
  for (size_t i = 0; i < node->after_count; i++)
    if (node->after[i] == on) return;
  node->after = mw_realloc(node->after, (node->after_count + 1) * sizeof *node->after);
  node->after[node->after_count++] = on;
}

size_t mw_graph_add(mw_graph *graph, const mw_work *work, const size_t *after, size_t after_count) {
  if (graph->count == graph->capacity) {
    graph->capacity = graph->capacity ? 2 * graph->capacity : 16;
    graph->nodes = mw_realloc(graph->nodes, graph->capacity * sizeof *graph->nodes);
  }
  mw_node *node = &graph->nodes[graph->count];
  *node = (mw_node){.work = *work, .label = label_of(work)};
  for (size_t i = 0; i < after_count; i++) depend(node, after[i]);
  return graph->count++;
}

int mw_graph_add_empty(mw_graph *graph, const size_t *after, size_t after_count, size_t *node) {
  for (size_t i = 0; i < after_count; i++) {
    int code = check_node(graph, after[i]);
    if (code != MW_SUCCESS) return code;
  }
  const mw_work none = {0};
  *node = mw_graph_add(graph, &none, after, after_count);
  return MW_SUCCESS;
}

int mw_graph_depend(mw_graph *graph, size_t node, size_t on) {
  int code = check_node(graph, node);
  if (code == MW_SUCCESS) code = check_node(graph, on);
  if (code != MW_SUCCESS) return code;
  if (on >= node)
    return fail(MW_INVALID_VALUE, "node %zu cannot depend on node %zu: nodes depend on those made before them", node,
                on);
  depend(&graph->nodes[node], on);
  return MW_SUCCESS;
}
