/* Graphs, as graph.c (nodes), capture.c (making them from streams) and exec.c (running them) share them. */
#ifndef MW_GRAPH_H
#define MW_GRAPH_H

#include "core/launch/launch.h"

/* What a node does, in the words of the functions that do it: running a node calls one of them. */
typedef enum mw_work_kind {
  MW_WORK_NONE,
  MW_WORK_LAUNCH,
  MW_WORK_BUFFER_COPY,
  MW_WORK_BUFFER_FILL,
  MW_WORK_COPY,
  MW_WORK_BOX,
  MW_WORK_FILL,
  MW_WORK_CALL,
  MW_WORK_HOLD
} mw_work_kind;

typedef struct mw_work {
  mw_work_kind kind;
  mw_launch *launch; /* a copy that nobody else has */
  char *site;
  mw_buffer *target, *source; /* references, or NULL */
  size_t target_offset, source_offset, bytes;
  void *pattern;
  size_t size, count;
  mw_copy copy;         /* its CUDA arrays are references */
  mw_box_side to, from; /* a box of as many bytes, rows and slices as `copy` says; their memory is referenced above */
  mw_fill fill;
  void (*function)(void *);
  void *context;
} mw_work;

typedef struct mw_node {
  mw_work work;
  char *label;
  size_t *after;
  size_t after_count;
} mw_node;

struct mw_graph {
  mw_refs refs;
  mw_device *device;
  mw_node *nodes;
  size_t count, capacity;
};

/* A stream that captures, or took part in it by waiting: the graph, and the nodes that its next one depends on. */
struct mw_capture {
  mw_graph *graph; /* a reference */
  mw_stream *origin;
  mw_capture_mode mode;
  pthread_t thread; /* that began it */
  bool meets_legacy;
  atomic_bool spoilt, ended;
  atomic_int refs; /* of streams and events */
};

/* Take over `work` (whose references become the node's) as a node behind others. */
size_t mw_graph_add(mw_graph *graph, const mw_work *work, const size_t *after, size_t after_count);
mw_node_kind mw_work_node_kind(const mw_work *work);
mw_work mw_work_copy(const mw_work *work);
void mw_work_free(mw_work *work);
/* Do it in a stream that captures nothing. hold: where a hold goes. */
int mw_work_run(const mw_work *work, mw_stream *stream, mw_hold **hold);

/* The same launch again: its own object, with references of its own. (launch.c) */
mw_launch *mw_launch_copy(const mw_launch *launch);

/* Nodes that run one behind the other as one command of a stream, where the driver can lay them out. (batch.c) */
typedef struct mw_chain mw_chain;
mw_chain *mw_chain_new(mw_device *device);
/* Whether such work may stand in a chain. */
bool mw_chain_takes(mw_device *device, const mw_work *work);
/* Append it; it is somebody else's, stays where it is, and outlives the chain. */
void mw_chain_add(mw_chain *chain, const mw_work *work);
/* Work of it was changed. */
void mw_chain_spoil(mw_chain *chain);
int mw_chain_run(mw_chain *chain, mw_stream *stream);
/* Runs in flight go on. */
void mw_chain_free(mw_chain *chain);

#endif
