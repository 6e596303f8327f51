/* Graphs: declarations shared by graph.c (nodes), capture.c (recording streams), exec.c and chain.c (running). */
#ifndef MW_GRAPH_H
#define MW_GRAPH_H

#include "core/launch/launch.h"

/* The work of a node: the arguments of the call that running the node makes. */
typedef enum mw_work_kind {
  MW_WORK_NONE,
  MW_WORK_LAUNCH,
  MW_WORK_BUFFER_COPY,
  MW_WORK_BUFFER_FILL,
  MW_WORK_COPY,
  MW_WORK_BOX,
  MW_WORK_FILL,
  MW_WORK_CALL,
  MW_WORK_HOLD,
  MW_WORK_CONDITIONAL, /* target: the condition's memory */
  MW_WORK_BODY,        /* in a chain, which has a conditional node's bodies after it: the next body begins; they end */
  MW_WORK_END
} mw_work_kind;

typedef struct mw_work {
  mw_work_kind kind;
  mw_launch *launch; /* a private copy */
  char *site;
  mw_buffer *target, *source; /* references, or NULL */
  size_t target_offset, source_offset, bytes;
  void *pattern;
  size_t size, count;
  mw_copy copy;         /* its CUDA arrays are references */
  mw_box_side to, from; /* of a box copy, whose extent is in `copy`; the references to their memory are above */
  mw_fill fill;
  void (*function)(void *);
  void *context;
  mw_conditional conditional;
  mw_graph **bodies; /* references */
  size_t body_count;
} mw_work;

typedef struct mw_node {
  mw_work work;
  char *label;
  size_t *after;
  size_t after_count;
} mw_node;

/* A value that a conditional node tests: 4 bytes of the device's, whose address is its handle. */
typedef struct mw_condition {
  mw_buffer *word; /* a reference */
  unsigned value;
  bool assigned, used; /* a launch begins with `value`; a node has it */
} mw_condition;

typedef struct mw_conditions {
  mw_condition *all;
  size_t count;
} mw_conditions;

struct mw_graph {
  mw_refs refs;
  mw_device *device;
  mw_node *nodes;
  size_t count, capacity;
  mw_conditions conditions;
  bool is_body;
};

/* A capture: shared by the stream that began it and those that joined by waiting. */
struct mw_capture {
  mw_graph *graph; /* a reference */
  mw_stream *origin;
  mw_capture_mode mode;
  pthread_t thread; /* that began it */
  bool meets_legacy;
  atomic_bool spoilt, ended;
  atomic_int refs; /* of streams and events */
};

/* Add `work` as a node after others; the node takes over its references. */
size_t mw_graph_add(mw_graph *graph, const mw_work *work, const size_t *after, size_t after_count);
mw_node_kind mw_work_node_kind(const mw_work *work);
mw_work mw_work_copy(const mw_work *work);
void mw_work_free(mw_work *work);
/* Run it in a stream that is not captured. hold: receives the hold of a host function. */
int mw_work_run(const mw_work *work, mw_stream *stream, mw_hold **hold);

/* conditional.c: the conditions of a graph and its bodies, with references of your own; their end; and giving those that are
   assigned their values, in stream order. */
void mw_conditions_collect(const mw_graph *graph, mw_conditions *out);
void mw_conditions_free(mw_conditions *conditions);
int mw_conditions_assign(const mw_conditions *conditions, mw_stream *stream);
/* A copy of the bodies; and their end. */
void mw_bodies_copy(mw_work *work);
void mw_bodies_free(mw_work *work);
/* Whether a conditional node can run on the device. */
int mw_conditional_check(mw_device *device, const mw_work *work);
/* A conditional node cannot run now; fails. */
int mw_conditional_refuse(const mw_work *work);

/* A copy of the launch, with references of its own. (launch.c) */
mw_launch *mw_launch_copy(const mw_launch *launch);

/* Chains: nodes that run in sequence as one command of a stream, if the driver can lay them out. (chain.c) */
typedef struct mw_chain mw_chain;
mw_chain *mw_chain_new(mw_device *device);
/* Whether such work may be part of a chain. */
bool mw_chain_takes(mw_device *device, const mw_work *work);
/* The same inside a conditional node. */
bool mw_chain_takes_inside(mw_device *device, const mw_work *work);
/* Append it; the work is borrowed: it must not move, and must outlive the chain. What it owns may change, if
   mw_chain_spoil is called. */
void mw_chain_add(mw_chain *chain, const mw_work *work);
/* To be called when work in the chain was changed. */
void mw_chain_spoil(mw_chain *chain);
int mw_chain_run(mw_chain *chain, mw_stream *stream);
/* Runs in flight continue. */
void mw_chain_free(mw_chain *chain);

#endif
