/* Queueing messages, and groups.
 *
 * NCCL queues its kernels at the end of a group, so the completions of a group's messages enter their streams there. A
 * message outside of any group is a group of its own. */
#include "nccl.h"

#include <stdlib.h>
#include <string.h>

typedef struct queued {
  nccl_communicator *communicator;
  cuda_stream *stream; /* NULL: the communicator was opened */
  mw_message message;
  char site[CUDA_SITE];
  mw_completion completion;
} queued;

static _Thread_local struct {
  int depth;
  size_t count, capacity;
  queued *list;
} group;

bool nccl_in_group(void) { return group.depth > 0; }

static queued *append(void) {
  if (group.count == group.capacity) {
    size_t capacity = group.capacity ? 2 * group.capacity : 8;
    queued *list = mw_alloc(capacity * sizeof *list);
    if (group.count) memcpy(list, group.list, group.count * sizeof *list);
    free(group.list);
    group.list = list;
    group.capacity = capacity;
  }
  return &group.list[group.count++];
}

void nccl_group_opens(nccl_communicator *c) { *append() = (queued){.communicator = c}; }

static int begin(void) {
  int code = nccl_load();
  if (code != MW_SUCCESS) return code;
  mw_lock(&nccl_lock);
  int result = nccl.ncclGroupStart();
  if (result == NCCL_SUCCESS) nccl_open_groups++;
  mw_unlock(&nccl_lock);
  if (result != NCCL_SUCCESS) return nccl_failed(result, NULL, "a group of messages");
  group.depth++;
  return MW_SUCCESS;
}

/* The message is in its stream. */
static int entered(const queued *q) {
  int code = cuda_stream_enter(q->stream);
  if (code != MW_SUCCESS) {
    if (q->completion.done) q->completion.done(q->completion.context);
    return code;
  }
  cuda_stream_queued(q->stream, &q->completion);
  mw_message message = q->message;
  message.site = q->site;
  nccl_watch(q->communicator, q->stream, &message);
  return MW_SUCCESS;
}

/* Every completion is called in any case; the first failure counts. */
static int end(void) {
  mw_lock(&nccl_lock);
  int result = nccl.ncclGroupEnd(), first = MW_SUCCESS;
  nccl_open_groups--;
  mw_unlock(&nccl_lock);
  if (--group.depth > 0) return result == NCCL_SUCCESS ? MW_SUCCESS : nccl_failed(result, NULL, "a group of messages");
  queued *list = group.list;
  size_t count = group.count;
  memset(&group, 0, sizeof group);
  if (result != NCCL_SUCCESS && result != NCCL_IN_PROGRESS)
    first = nccl_failed(result, count ? list[0].communicator->handle : NULL, "a group of messages");
  for (size_t i = 0; i < count; i++) {
    mw_error *kept = first ? mw_error_copy(mw_error_last()) : NULL;
    int code = first ? MW_SUCCESS : nccl_settle(list[i].communicator, list[i].stream ? "a message" : "a communicator");
    if (code == MW_SUCCESS && list[i].stream)
      code = entered(&list[i]);
    else if (list[i].completion.done)
      list[i].completion.done(list[i].completion.context);
    if (!first) first = code;
    if (kept) mw_error_raise(kept);
    mw_error_free(kept);
  }
  free(list);
  return first;
}

int nccl_group(bool begins) {
  if (begins) return begin();
  return group.depth > 0 ? end() : fail(MW_INVALID_VALUE, "a group of messages ends that was not begun");
}

/* ---- messages ---- */

static int type_of(char scalar) {
  static const char letters[] = "bBiIlLhfdx"; /* in ncclDataType_t's order */
  return (int)(strchr(letters, scalar) - letters);
}

static int call(const nccl_communicator *c, CUstream stream, const mw_message *m) {
  const void *source = (const void *)(uintptr_t)m->source;
  void *target = (void *)(uintptr_t)m->target;
  size_t bytes = m->count * m->size;
  int type = m->scalar ? type_of(m->scalar) : NCCL_UINT8, operation = (int)m->operation; /* in ncclRedOp_t's order */
  switch (m->kind) {
  case MW_MESSAGE_ALLREDUCE: return nccl.ncclAllReduce(source, target, m->count, type, operation, c->handle, stream);
  case MW_MESSAGE_REDUCE: return nccl.ncclReduce(source, target, m->count, type, operation, m->peer, c->handle, stream);
  case MW_MESSAGE_REDUCE_SCATTER:
    return nccl.ncclReduceScatter(source, target, m->count, type, operation, c->handle, stream);
  case MW_MESSAGE_BROADCAST:
    return nccl.ncclBroadcast(source ? source : target, target, bytes, type, m->peer, c->handle, stream);
  case MW_MESSAGE_ALLGATHER: return nccl.ncclAllGather(source, target, bytes, type, c->handle, stream);
  case MW_MESSAGE_SEND: return nccl.ncclSend(source, bytes, type, m->peer, c->handle, stream);
  default: return nccl.ncclRecv(target, bytes, type, m->peer, c->handle, stream);
  }
}

static int queue_in_group(nccl_communicator *c, cuda_stream *stream, const mw_message *message,
                          mw_completion completion) {
  int code = cuda_stream_enter(stream), result = NCCL_SUCCESS;
  if (code == MW_SUCCESS && !c->handle)
    code = fail(MW_UNKNOWN, "rank %d of %d: this communicator was aborted: %s. Make a new one", c->rank, c->size,
                c->reason ? c->reason : "it was not opened");
  if (code == MW_SUCCESS) {
    cuda_stream_inherit_holds(stream);
    mw_lock(&nccl_lock);
    result = call(c, stream->handle, message);
    mw_unlock(&nccl_lock);
  }
  if (result != NCCL_SUCCESS && result != NCCL_IN_PROGRESS) code = nccl_failed(result, c->handle, "a message");
  if (code != MW_SUCCESS) {
    if (completion.done) completion.done(completion.context);
    return code;
  }
  queued *q = append();
  *q = (queued){.communicator = c, .stream = stream, .message = *message, .completion = completion};
  if (message->site) {
    size_t length = strlen(message->site);
    strcpy(q->site, message->site + (length < CUDA_SITE ? 0 : length - CUDA_SITE + 1));
  }
  return MW_SUCCESS;
}

int nccl_queue(void *state, void *stream, const mw_message *message, mw_completion completion) {
  int code = begin();
  if (code != MW_SUCCESS) {
    if (completion.done) completion.done(completion.context);
    return code;
  }
  code = queue_in_group(state, stream, message, completion);
  mw_error *kept = code ? mw_error_copy(mw_error_last()) : NULL;
  int ended = end();
  if (kept) mw_error_raise(kept);
  mw_error_free(kept);
  return code ? code : ended;
}

const mw_driver_collective cuda_collective = {
    .name = nccl_name,
    .id = nccl_id_new,
    .open = nccl_open,
    .split = nccl_split,
    .queue = nccl_queue,
    .group = nccl_group,
    .rank = nccl_rank,
    .limit = nccl_limit,
    .abort = nccl_abort,
    .close = nccl_close,
};
