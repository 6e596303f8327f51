/* Executable graphs.
 *
 * The nodes are distributed over lanes: sequences in which each node depends on the previous one. The first lane is the
 * stream that the graph is launched in, the others are streams of the exec; events connect lanes. So a sequence needs
 * no events, and independent nodes may overlap. Nodes are queued in the order of their numbers, which is a topological
 * order. Consecutive nodes of a lane without an event between them form chains (chain.c) if these accept them. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

typedef struct step {
  mw_work work;
  size_t *after;
  size_t after_count;
  size_t lane;
  bool waits;      /* the first node of a lane other than the first: it waits for the start of the launch */
  mw_event *event; /* recorded after it if another lane waits for it */
  mw_chain *chain; /* that contains it, or NULL */
  bool heads;      /* it is the chain's first node: it owns the chain, which is run in its place */
} step;

struct mw_graph_exec {
  mw_device *device;
  step *steps;
  size_t count, hold_count;
  mw_stream **lanes; /* lanes[0] is NULL: the launch's own */
  mw_event **ends;   /* of each lane except the first */
  size_t lane_count;
  mw_conditions conditions;
  mw_event *begin, *done;
  uint64_t last; /* the id of the stream of the last launch, or 0 */
};

/* ---- making ---- */

/* A lane whose last node so far is a dependency of `s`, or a new lane. */
static size_t lane_for(const step *s, size_t *tails, size_t *lane_count, size_t node) {
  for (size_t i = 0; i < s->after_count; i++)
    for (size_t lane = 0; lane < *lane_count; lane++)
      if (tails[lane] == s->after[i]) {
        tails[lane] = node;
        return lane;
      }
  tails[*lane_count] = node;
  return (*lane_count)++;
}

static int make_event(mw_graph_exec *exec, mw_event **event) {
  return *event ? MW_SUCCESS : mw_event_new(exec->device, MW_EVENT_DISABLE_TIMING, event);
}

static int lay_out(mw_graph_exec *exec) {
  size_t *tails = mw_alloc((exec->count + 1) * sizeof *tails);
  int code = MW_SUCCESS;
  for (size_t i = 0; i < exec->count && code == MW_SUCCESS; i++) {
    step *s = &exec->steps[i];
    size_t known = exec->lane_count;
    s->lane = lane_for(s, tails, &exec->lane_count, i);
    s->waits = s->lane == known && s->lane > 0 && s->after_count == 0;
    for (size_t k = 0; k < s->after_count && code == MW_SUCCESS; k++)
      if (exec->steps[s->after[k]].lane != s->lane) code = make_event(exec, &exec->steps[s->after[k]].event);
  }
  free(tails);
  exec->lanes = mw_alloc((exec->lane_count + 1) * sizeof *exec->lanes);
  exec->ends = mw_alloc((exec->lane_count + 1) * sizeof *exec->ends);
  for (size_t lane = 1; lane < exec->lane_count && code == MW_SUCCESS; lane++) {
    code = mw_stream_new(exec->device, MW_STREAM_NON_BLOCKING, 0, &exec->lanes[lane]);
    if (code == MW_SUCCESS) code = make_event(exec, &exec->ends[lane]);
  }
  if (code == MW_SUCCESS && exec->lane_count > 1) code = make_event(exec, &exec->begin);
  if (code == MW_SUCCESS) code = make_event(exec, &exec->done);
  return code;
}

/* Whether the step waits for another lane. */
static bool is_joined(const mw_graph_exec *exec, const step *s) {
  for (size_t k = 0; k < s->after_count; k++)
    if (exec->steps[s->after[k]].lane != s->lane) return true;
  return s->waits;
}

static void make_chains(mw_graph_exec *exec) {
  step **tails = mw_alloc((exec->lane_count + 1) * sizeof *tails);
  for (size_t i = 0; i < exec->count; i++) {
    step *s = &exec->steps[i], *tail = tails[s->lane];
    tails[s->lane] = s;
    if (!mw_chain_takes(exec->device, &s->work)) continue;
    bool begins = !tail || !tail->chain || tail->event || is_joined(exec, s);
    s->heads = begins;
    s->chain = begins ? mw_chain_new(exec->device) : tail->chain;
    mw_chain_add(s->chain, &s->work);
  }
  free(tails);
}

static int check_conditionals(const mw_graph_exec *exec) {
  int code = MW_SUCCESS;
  for (size_t i = 0; i < exec->conditions.count; i++)
    if (!exec->conditions.all[i].used)
      return fail(MW_INVALID_VALUE,
                  "a condition was made in the graph, and no conditional node has it: add one with g:conditional()");
  for (size_t i = 0; i < exec->count && code == MW_SUCCESS; i++)
    code = mw_conditional_check(exec->device, &exec->steps[i].work);
  return code;
}

int mw_graph_instantiate(const mw_graph *graph, mw_graph_exec **out) {
  if (graph->is_body) return fail(MW_INVALID_VALUE, "the body of a conditional node is instantiated with its graph");
  mw_graph_exec *exec = mw_alloc(sizeof *exec);
  exec->device = mw_device_retain(graph->device);
  exec->count = graph->count;
  exec->steps = mw_alloc((graph->count + 1) * sizeof *exec->steps);
  for (size_t i = 0; i < graph->count; i++) {
    const mw_node *node = &graph->nodes[i];
    step *s = &exec->steps[i];
    s->work = mw_work_copy(&node->work);
    s->after = mw_alloc((node->after_count + 1) * sizeof *s->after);
    s->after_count = node->after_count;
    if (node->after_count) memcpy(s->after, node->after, node->after_count * sizeof *s->after);
    exec->hold_count += s->work.kind == MW_WORK_HOLD;
  }
  mw_conditions_collect(graph, &exec->conditions);
  int code = check_conditionals(exec);
  if (code == MW_SUCCESS) code = lay_out(exec);
  if (code == MW_SUCCESS) {
    make_chains(exec);
    *out = exec;
  } else {
    mw_graph_exec_release(exec);
  }
  return code;
}

void mw_graph_exec_release(mw_graph_exec *exec) {
  if (!exec) return;
  for (size_t i = 0; i < exec->count; i++) {
    if (exec->steps[i].heads) mw_chain_free(exec->steps[i].chain);
    mw_work_free(&exec->steps[i].work);
    mw_event_release(exec->steps[i].event);
    free(exec->steps[i].after);
  }
  for (size_t lane = 1; lane < exec->lane_count; lane++) {
    if (exec->lanes) mw_stream_release(exec->lanes[lane]);
    if (exec->ends) mw_event_release(exec->ends[lane]);
  }
  mw_event_release(exec->begin);
  mw_event_release(exec->done);
  free(exec->lanes);
  free(exec->ends);
  free(exec->steps);
  mw_conditions_free(&exec->conditions);
  mw_device_release(exec->device);
  free(exec);
}

/* ---- running ---- */

size_t mw_graph_exec_holds(const mw_graph_exec *exec) { return exec->hold_count; }

static mw_stream *lane_stream(const mw_graph_exec *exec, size_t lane, mw_stream *stream) {
  return lane ? exec->lanes[lane] : stream;
}

static int run_step(mw_graph_exec *exec, const step *s, mw_stream *stream, mw_hold **hold) {
  mw_stream *own = lane_stream(exec, s->lane, stream);
  int code = s->waits ? mw_stream_wait(own, exec->begin) : MW_SUCCESS;
  for (size_t k = 0; k < s->after_count && code == MW_SUCCESS; k++) {
    const step *before = &exec->steps[s->after[k]];
    if (before->lane != s->lane) code = mw_stream_wait(own, before->event);
  }
  if (code == MW_SUCCESS && s->heads) code = mw_chain_run(s->chain, own);
  if (code == MW_SUCCESS && !s->chain) code = mw_work_run(&s->work, own, hold);
  if (code == MW_SUCCESS && s->event) code = mw_event_record(s->event, own);
  return code;
}

/* The stream waits for the ends of the other lanes; also if a step failed. */
static int join_lanes(mw_graph_exec *exec, mw_stream *stream) {
  int code = MW_SUCCESS;
  for (size_t lane = 1; lane < exec->lane_count && code == MW_SUCCESS; lane++) {
    code = mw_event_record(exec->ends[lane], exec->lanes[lane]);
    if (code == MW_SUCCESS) code = mw_stream_wait(stream, exec->ends[lane]);
  }
  return code;
}

static void release_holds(mw_hold **holds, size_t count) {
  for (size_t i = 0; i < count; i++) {
    mw_hold_release(holds[i]);
    holds[i] = NULL;
  }
}

int mw_graph_exec_launch(mw_graph_exec *exec, mw_stream *stream, mw_hold **holds) {
  if (stream->device != exec->device)
    return fail(MW_INVALID_VALUE, "a graph of %s cannot run in a stream of %s", exec->device->name,
                stream->device->name);
  if (mw_stream_capturing(stream, NULL))
    return fail(MW_NOT_SUPPORTED, "a graph cannot be launched into a stream that is being captured");
  if (exec->hold_count > 0 && !holds)
    return fail(MW_INVALID_VALUE, "the graph has %zu host functions, and no space for their holds was given",
                exec->hold_count);
  int code = MW_SUCCESS;
  size_t held = 0;
  if (exec->last && exec->last != mw_stream_id(stream)) code = mw_stream_wait(stream, exec->done);
  if (code == MW_SUCCESS) code = mw_conditions_assign(&exec->conditions, stream);
  if (code == MW_SUCCESS && exec->begin) code = mw_event_record(exec->begin, stream);
  for (size_t i = 0; i < exec->count && code == MW_SUCCESS; i++) {
    const step *s = &exec->steps[i];
    bool holding = s->work.kind == MW_WORK_HOLD;
    code = run_step(exec, s, stream, holding ? &holds[held] : NULL);
    if (code == MW_SUCCESS) held += holding;
  }
  int joined = join_lanes(exec, stream);
  if (code == MW_SUCCESS) code = joined;
  if (code == MW_SUCCESS) code = mw_event_record(exec->done, stream);
  exec->last = mw_stream_id(stream);
  if (code != MW_SUCCESS && holds) release_holds(holds, held);
  return code;
}

/* ---- changing ---- */

static int refuse_update(size_t node, const char *why) {
  return fail(MW_GRAPH_EXEC_UPDATE_FAILURE, "node %zu (counted from 0) %s: instantiate the graph again", node, why);
}

static int check_node(const mw_graph_exec *exec, size_t node) {
  if (node < exec->count) return MW_SUCCESS;
  return fail(MW_INVALID_VALUE, "there is no node %zu (counted from 0): the graph has %zu", node, exec->count);
}

int mw_graph_exec_set_launch(mw_graph_exec *exec, size_t node, mw_launch *launch, const char *site) {
  int code = check_node(exec, node);
  if (code != MW_SUCCESS) return code;
  mw_work *work = &exec->steps[node].work;
  if (work->kind != MW_WORK_LAUNCH) return refuse_update(node, "is not a kernel");
  if (work->launch->kernel->handle != launch->kernel->handle) return refuse_update(node, "is another kernel");
  mw_launch *copy = mw_launch_copy(launch);
  if (exec->steps[node].chain) mw_chain_spoil(exec->steps[node].chain);
  mw_launch_release(work->launch);
  free(work->site);
  work->launch = copy;
  work->site = mw_strdup(site);
  return MW_SUCCESS;
}

static bool is_other_kernel(const mw_work *work, const mw_work *other) {
  return work->kind == MW_WORK_LAUNCH && work->launch->kernel->handle != other->launch->kernel->handle;
}

static void take_over(step *s, const mw_work *work) {
  if (s->chain) mw_chain_spoil(s->chain);
  mw_work_free(&s->work);
  s->work = mw_work_copy(work);
}

/* Copies and fills may change their form; a host function must stay a C function or a hold. */
int mw_graph_exec_set_node(mw_graph_exec *exec, size_t node, const mw_graph *graph, size_t *hold) {
  int code = check_node(exec, node);
  if (code != MW_SUCCESS) return code;
  if (graph->count != 1)
    return fail(MW_GRAPH_EXEC_UPDATE_FAILURE, "a node can be replaced by a graph of one node, and this graph has %zu",
                graph->count);
  step *s = &exec->steps[node];
  const mw_work *work = &graph->nodes[0].work;
  if (work->kind == MW_WORK_CONDITIONAL) return refuse_update(node, "is a conditional node");
  bool same = mw_work_node_kind(&s->work) == mw_work_node_kind(work) &&
              (s->work.kind == MW_WORK_HOLD) == (work->kind == MW_WORK_HOLD);
  if (!same) return refuse_update(node, "is of another kind");
  if (is_other_kernel(&s->work, work)) return refuse_update(node, "is another kernel");
  take_over(s, work);
  if (!hold) return MW_SUCCESS;
  *hold = s->work.kind == MW_WORK_HOLD ? 0 : SIZE_MAX;
  for (size_t i = 0; i < node && s->work.kind == MW_WORK_HOLD; i++) *hold += exec->steps[i].work.kind == MW_WORK_HOLD;
  return MW_SUCCESS;
}

static const char *work_difference(const mw_work *work, const mw_work *other);

static const char *bodies_difference(const mw_work *work, const mw_work *other) {
  if (work->conditional != other->conditional || work->body_count != other->body_count) return "is of another kind";
  for (size_t i = 0; i < work->body_count; i++) {
    const mw_graph *body = work->bodies[i], *new_body = other->bodies[i];
    if (body->count != new_body->count) return "has other nodes in it";
    for (size_t k = 0; k < body->count; k++)
      if (work_difference(&body->nodes[k].work, &new_body->nodes[k].work)) return "has other nodes in it";
  }
  return NULL;
}

static const char *work_difference(const mw_work *work, const mw_work *other) {
  if (work->kind != other->kind) return "is of another kind";
  if (is_other_kernel(work, other)) return "is another kernel";
  return work->kind == MW_WORK_CONDITIONAL ? bodies_difference(work, other) : NULL;
}

static const char *difference(const step *s, const mw_node *node) {
  const char *why = work_difference(&s->work, &node->work);
  if (why) return why;
  if (s->after_count != node->after_count ||
      (s->after_count && memcmp(s->after, node->after, s->after_count * sizeof *s->after) != 0))
    return "depends on other nodes";
  return NULL;
}

int mw_graph_exec_update(mw_graph_exec *exec, const mw_graph *graph, size_t *node) {
  size_t least = exec->count < graph->count ? exec->count : graph->count;
  const char *why = NULL;
  size_t i = 0;
  while (i < least && !(why = difference(&exec->steps[i], &graph->nodes[i]))) i++;
  if (!why && exec->count != graph->count) why = exec->count < graph->count ? "is new" : "is missing";
  if (why) {
    if (node) *node = i;
    return refuse_update(i, why);
  }
  for (i = 0; i < exec->count; i++) {
    int code = mw_conditional_check(exec->device, &graph->nodes[i].work);
    if (code != MW_SUCCESS) return code;
  }
  for (i = 0; i < exec->count; i++) take_over(&exec->steps[i], &graph->nodes[i].work);
  mw_conditions_free(&exec->conditions);
  mw_conditions_collect(graph, &exec->conditions);
  return MW_SUCCESS;
}
