/* Conditional nodes: nodes with graphs of their own, their bodies, and values that choose among these.
 *
 * A condition is 4 bytes of the device's memory. Its handle is their address, to which cudaGraphSetConditional writes. A node
 * runs as a part of a driver's list (chain.c), so that the device tests the value and no host thread takes part. */
#include "graph.h"
#include "core/array/array.h"

#include <stdlib.h>
#include <string.h>

enum { WORD = 4, BODIES_MOST = 1 << 16 };

/* ---- conditions ---- */

static void add_condition(mw_conditions *conditions, const mw_condition *condition) {
  conditions->all = mw_realloc(conditions->all, (conditions->count + 1) * sizeof *conditions->all);
  conditions->all[conditions->count++] = *condition;
}

int mw_graph_condition_new(mw_graph *graph, unsigned value, int assigned, uint64_t *handle) {
  mw_condition condition = {.value = value, .assigned = assigned};
  if (!graph->device->driver->list_new)
    return fail(MW_NOT_SUPPORTED, "%s has no conditional nodes", graph->device->name);
  int code = mw_buffer_new(graph->device, WORD, &condition.word);
  if (code != MW_SUCCESS) return code;
  add_condition(&graph->conditions, &condition);
  *handle = condition.word->address;
  return MW_SUCCESS;
}

void mw_conditions_collect(const mw_graph *graph, mw_conditions *out) {
  for (size_t i = 0; i < graph->conditions.count; i++) {
    mw_buffer_retain(graph->conditions.all[i].word);
    add_condition(out, &graph->conditions.all[i]);
  }
  for (size_t i = 0; i < graph->count; i++)
    for (size_t k = 0; k < graph->nodes[i].work.body_count; k++)
      mw_conditions_collect(graph->nodes[i].work.bodies[k], out);
}

void mw_conditions_free(mw_conditions *conditions) {
  for (size_t i = 0; i < conditions->count; i++) mw_buffer_release(conditions->all[i].word);
  free(conditions->all);
  *conditions = (mw_conditions){0};
}

int mw_conditions_assign(const mw_conditions *conditions, mw_stream *stream) {
  int code = MW_SUCCESS;
  for (size_t i = 0; i < conditions->count && code == MW_SUCCESS; i++) {
    const mw_condition *condition = &conditions->all[i];
    if (condition->assigned) code = mw_buffer_fill_in(stream, condition->word, 0, &condition->value, WORD, 1);
  }
  return code;
}

/* ---- bodies ---- */

static mw_graph *copy_body(const mw_graph *body) {
  mw_graph *copy;
  mw_graph_new(body->device, &copy);
  copy->is_body = true;
  for (size_t i = 0; i < body->count; i++) {
    const mw_node *node = &body->nodes[i];
    const mw_work work = mw_work_copy(&node->work);
    mw_graph_add(copy, &work, node->after, node->after_count);
  }
  for (size_t i = 0; i < body->conditions.count; i++) {
    mw_buffer_retain(body->conditions.all[i].word);
    add_condition(&copy->conditions, &body->conditions.all[i]);
  }
  return copy;
}

void mw_bodies_copy(mw_work *work) {
  mw_graph **bodies = mw_alloc(work->body_count * sizeof *bodies);
  for (size_t i = 0; i < work->body_count; i++) bodies[i] = copy_body(work->bodies[i]);
  work->bodies = bodies;
}

void mw_bodies_free(mw_work *work) {
  for (size_t i = 0; i < work->body_count; i++) mw_graph_release(work->bodies[i]);
  free(work->bodies);
}

int mw_graph_is_body(const mw_graph *graph) { return graph->is_body; }

/* ---- nodes ---- */

static mw_condition *find_condition(const mw_graph *graph, uint64_t handle) {
  for (size_t i = 0; i < graph->conditions.count; i++)
    if (graph->conditions.all[i].word->address == handle) return &graph->conditions.all[i];
  return NULL;
}

static int check_count(mw_conditional kind, size_t count) {
  switch (kind) {
  case MW_CONDITIONAL_IF:
    if (count == 1 || count == 2) return MW_SUCCESS;
    return fail(MW_INVALID_VALUE, "an if node has one body or two, not %zu", count);
  case MW_CONDITIONAL_WHILE:
    if (count == 1) return MW_SUCCESS;
    return fail(MW_INVALID_VALUE, "a while node has one body, not %zu", count);
  case MW_CONDITIONAL_SWITCH:
    if (count >= 1 && count <= BODIES_MOST) return MW_SUCCESS;
    return fail(MW_INVALID_VALUE, "a switch node has 1 to %d bodies, not %zu", BODIES_MOST, count);
  }
  return fail(MW_INVALID_VALUE, "%d is not a kind of conditional node", (int)kind);
}

int mw_graph_add_conditional(mw_graph *graph, mw_conditional kind, uint64_t handle, size_t count, const size_t *after,
                             size_t after_count, size_t *node, mw_graph **bodies) {
  int code = check_count(kind, count);
  mw_condition *condition = find_condition(graph, handle);
  if (code != MW_SUCCESS) return code;
  if (!condition)
    return fail(MW_INVALID_VALUE, "the condition of a conditional node is made in the graph that the node is in");
  if (condition->used) return fail(MW_INVALID_VALUE, "another conditional node has this condition");
  for (size_t i = 0; i < after_count; i++)
    if (after[i] >= graph->count)
      return fail(MW_INVALID_VALUE, "there is no node %zu (counted from 0): the graph has %zu", after[i], graph->count);
  mw_work work = {.kind = MW_WORK_CONDITIONAL, .conditional = kind, .body_count = count};
  work.target = mw_buffer_retain(condition->word);
  work.bodies = mw_alloc(count * sizeof *work.bodies);
  for (size_t i = 0; i < count; i++) {
    mw_graph_new(graph->device, &work.bodies[i]);
    work.bodies[i]->is_body = true;
    bodies[i] = work.bodies[i];
  }
  condition->used = true;
  *node = mw_graph_add(graph, &work, after, after_count);
  return MW_SUCCESS;
}

/* Whether a kernel in it may end a loop. */
static bool has_kernel(const mw_graph *graph) {
  for (size_t i = 0; i < graph->count; i++) {
    const mw_work *work = &graph->nodes[i].work;
    if (work->kind == MW_WORK_LAUNCH) return true;
    for (size_t k = 0; k < work->body_count; k++)
      if (has_kernel(work->bodies[k])) return true;
  }
  return false;
}

static int refuse_node(const mw_node *node) {
  const mw_launch *launch = node->work.launch;
  const char *why = "work of this device's memory alone";
  if (node->work.kind == MW_WORK_CALL || node->work.kind == MW_WORK_HOLD)
    why = "launches, copies and fills, but no host functions";
  else if (launch && (launch->request.cooperative || launch->request.cluster[0]))
    why = "no cooperative launches and none with clusters";
  else if (launch && launch->kernel->info->reference_count)
    why = "no kernels with texture references: use texture objects";
  return fail(MW_NOT_SUPPORTED, "the body of a conditional node takes %s: '%s'", why, node->label);
}

int mw_conditional_check(mw_device *device, const mw_work *work) {
  int code = MW_SUCCESS;
  if (work->kind == MW_WORK_CONDITIONAL && work->conditional == MW_CONDITIONAL_WHILE && !has_kernel(work->bodies[0]))
    return fail(MW_INVALID_VALUE, "the body of a while node has no kernel that could end the loop");
  for (size_t i = 0; i < work->body_count; i++) {
    const mw_graph *body = work->bodies[i];
    for (size_t k = 0; k < body->count && code == MW_SUCCESS; k++) {
      const mw_node *node = &body->nodes[k];
      code = node->work.kind == MW_WORK_CONDITIONAL       ? mw_conditional_check(device, &node->work)
             : mw_chain_takes_inside(device, &node->work) ? MW_SUCCESS
                                                          : refuse_node(node);
    }
  }
  return code;
}

int mw_conditional_refuse(const mw_work *work) {
  static const char *const kinds[] = {"an if", "a while", "a switch"};
  return fail(MW_INVALID_VALUE,
              "%s node cannot run: memory that its bodies use was freed, or a texture of theirs is not bound",
              kinds[work->conditional]);
}
